"""Gains of elastic joints: PD that keeps the resonances of motors, springs and links stable.

The linearised arm, its springs, the sampling, the delay and PD are one discrete system whose
eigenvalues tell whether errors die out. Feedback of the links is out of phase beyond the resonance,
so that its gain there must stay below the damping of the spring: about w < zeta_r w_r / zeta.
Feedback of the motors is in phase until sampling and delay turn it. See docs/elastic-joints.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.stability import GAIN_MARGIN
from robot_dynamics.control.two_masses import LINK, MOTOR, TwoMasses
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported

if TYPE_CHECKING:
    from robot_dynamics.control.gains import Gains
    from robot_dynamics.control.model import Model

POSES = 10
"""Poses in which the whole arm is stable."""

SHARES = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)
"""Delays, relative to the greatest one, with which it is stable: it turns the phase of a fast
resonance by any angle."""

SLOWEST_SHARE = 1.0 / 64.0
"""Least share of its natural frequency that a joint keeps."""

STEPS = 8
"""Steps of bisection of the logarithm of a share."""

LOWERED = 0.99
"""Share of its natural frequency below which the feedback of a joint is lower than wanted."""

DECAY = 1e-9
"""Least decay of an eigenvalue from cycle to cycle, against round-off."""


class SpringLoop(NamedTuple):
    """An arm at rest under PD by sampled encoders.

    Attributes:
        masses: Its coordinates.
        stiffness: Of all joints, shape (n,), infinite where rigid.
        damping: Shape (n,).
        rotors: Rotor inertia at the joints, shape (n,).
        encoders: One of `two_masses.ENCODERS`.
    """

    masses: TwoMasses
    stiffness: Array
    damping: Array
    rotors: Array
    encoders: str

    @staticmethod
    def of(model: Model) -> SpringLoop:
        """Return the loop of a model; an elastic joint whose motor is unknown counts as rigid."""
        stiffness, damping = model.elasticity or model.dynamics.robot.joint_elasticity
        n = len(stiffness)
        rotors = np.zeros(n) if model.rotor_inertia is None else model.rotor_inertia
        stiffness = np.where(rotors > 0.0, stiffness, np.inf)
        masses = TwoMasses(n, tuple(np.flatnonzero(np.isfinite(stiffness)).tolist()))
        return SpringLoop(masses, stiffness, damping, rotors, model.encoders)

    def joint(self, i: int) -> SpringLoop:
        """Return the loop of one joint alone."""
        K, D, B = (row[i : i + 1] for row in (self.stiffness, self.damping, self.rotors))
        return SpringLoop(TwoMasses(1, (0,) if np.isfinite(K[0]) else ()), K, D, B, self.encoders)

    def resonance(self, inertia: Array) -> Array:
        """Return the natural frequencies of the joints, rad/s, infinite where rigid.

        Args:
            inertia: Of their links, shape (n,).
        """
        with np.errstate(divide="ignore"):
            return np.sqrt(self.stiffness * (1.0 / inertia + 1.0 / self.rotors))

    def rest(self, M: Array) -> tuple[Array, Array, Array, Array]:
        """Return A and B of x' = A x + B tau, and the rows of measured positions and velocities.

        Args:
            M: Mass matrices of the links, shape (N, n, n).
        """
        masses, elastic = self.masses, list(self.masses.joints)
        n, size, count = masses.n, masses.size, len(M)
        K, D = (masses.coupling(row[elastic]) for row in (self.stiffness, self.damping))
        rigid = np.where(np.isfinite(self.stiffness), 0.0, self.rotors)
        inverse = np.zeros((count, size, size))
        inverse[:, :n, :n] = np.linalg.inv(M + np.diag(rigid))
        inverse[:, range(n, size), range(n, size)] = 1.0 / self.rotors[elastic]
        A = np.zeros((count, 2 * size, 2 * size))
        A[:, :size, size:] = np.eye(size)
        A[:, size:, :size], A[:, size:, size:] = -inverse @ K, -inverse @ D
        B = np.zeros((count, 2 * size, n))
        B[:, size:] = inverse[:, :, masses.drives]
        q, qd = np.zeros((2, n, 2 * size))
        q[range(n), masses.drives if self.encoders == MOTOR else range(n)] = 1.0
        of_rate = range(n) if self.encoders == LINK else masses.drives
        qd[range(n), [size + i for i in of_rate]] = 1.0
        return A, B, q, qd

    def sampled(self, M: Array, sampling: Sampling) -> list[SampledArm]:
        """Return the loop from sample to sample, for every one of `SHARES` of the delay."""
        A, B, q, qd = self.rest(M)
        found = []
        for share in SHARES:
            delay = share * sampling.delay
            whole = int(delay / sampling.period)
            late = delay - whole * sampling.period
            first, pushed = _held(A, B, late)
            rest, held = _held(A, B, sampling.period - late)
            found.append(SampledArm(rest @ first, rest @ pushed, held, q, qd, whole))
        return found


class SampledArm(NamedTuple):
    """An arm from sample to sample: x + late u_(k-whole-1) + now u_(k-whole).

    Attributes:
        step: Shape (N, m, m).
        late: Effect of the older effort, shape (N, m, n).
        now: Effect of the newer one.
        q: Rows of measured positions, shape (n, m).
        qd: Rows of measured velocities.
        whole: Whole periods of delay.
    """

    step: Array
    late: Array
    now: Array
    q: Array
    qd: Array
    whole: int

    def is_stable(self, kp: Array, kd: Array) -> bool:
        """Return whether PD is stable in all poses.

        Args:
            kp: Gains, shape (n,), or matrices of them by pose, shape (N, n, n).
            kd: In the same form.
        """
        count, m, n = self.now.shape
        if kp.ndim == 1:
            kp, kd = np.diag(kp), np.diag(kd)
        feedback = -(kp @ self.q + kd @ self.qd)
        waiting = (self.whole + 1) * n  # u_(k-1), u_(k-2) and so on
        F = np.zeros((count, m + waiting, m + waiting))
        F[:, :m, :m] = self.step
        F[:, m : m + n, :m] = feedback
        F[:, range(m + n, m + waiting), range(m, m + waiting - n)] = 1.0
        F[:, :m, m + waiting - n :] += self.late
        if self.whole:
            F[:, :m, m + waiting - 2 * n : m + waiting - n] += self.now
        else:
            F[:, :m, :m] += self.now @ feedback
        return bool(np.abs(np.linalg.eigvals(F)).max() < 1.0 - DECAY)


def _held(A: Array, B: Array, time: float) -> tuple[Array, Array]:
    """Return the step of x and the effect of a held effort after a time, shape (N, ...)."""
    count, m, n = B.shape
    whole = np.zeros((count, m + n, m + n))
    whole[:, :m, :m], whole[:, :m, m:] = A * time, B * time
    step = imported("scipy.linalg").expm(whole)
    return step[:, :m, :m], step[:, :m, m:]


def fitted(model: Model, inverses: Array, sampling: Sampling) -> Model:
    """Return a model whose feedback keeps the resonances of its elastic joints stable.

    The natural frequency of each joint is reduced until the joint alone is stable at its least and
    greatest inertia, with twice its gains; then those of all joints until the whole arm is. Where
    that leaves less than wanted, the mode feedforward uses the mass matrix, at a bandwidth that is
    stable: with gravity at the measured positions a soft arm does not fall. `resonance_share` of
    the model limits both further.

    Args:
        model: The arm with gains that fit its sampling.
        inverses: Inverses of mass matrices in many poses, shape (N, n, n).
        sampling: Of the loop.
    """
    loop, gains = SpringLoop.of(model), model.gains
    M = np.linalg.inv(inverses)
    moved = np.diagonal(M, axis1=1, axis2=2)
    free = 1.0 / np.diagonal(inverses, axis1=1, axis2=2)
    shares, slowest = np.ones(len(gains.kp)), np.inf
    for i in loop.masses.joints:
        inertia = np.array([free[:, i].min(), free[:, i].max(), moved[:, i].max()])
        if model.resonance_share:
            lowest = model.resonance_share * loop.resonance(moved.max(axis=0))[i]
            own = np.sqrt(gains.kp[i] / (inertia[-1] + loop.rotors[i]))
            shares[i], slowest = min(lowest / own, 1.0), min(lowest, slowest)
        alone = loop.joint(i).sampled(inertia[:, None, None], sampling)
        kp, kd = (x[i : i + 1] for x in (gains.kp * shares**2, gains.kd * shares))
        shares[i] *= _largest_share(alone, kp, kd)
    some = M[:: max(len(M) // POSES, 1)]
    together = loop.sampled(some, sampling)
    shares = shares * _largest_share(together, gains.kp * shares**2, gains.kd * shares)
    if (shares == 1.0).all():
        return replace(model, inertia_weighted=False, softened=None)
    moved_by_motors, w = some + np.diag(loop.rotors), min(model.bandwidth, slowest)
    damping = 2.0 * model.damping_ratio * w * moved_by_motors
    bandwidth = w * _largest_share(together, w * w * moved_by_motors, damping)
    hertz = loop.resonance(moved.max(axis=0)) / (2.0 * np.pi)
    own = (shares < LOWERED) & np.isfinite(hertz)
    coupled = hertz[own].min() if own.any() and bandwidth < LOWERED * model.bandwidth else 0.0
    kp, kd, ki = gains.kp * shares**2, gains.kd * shares, gains.ki * shares**3
    return replace(
        model,
        gains=replace(gains, kp=kp, kd=kd, ki=ki),
        bandwidth=bandwidth,
        fastest=min(model.fastest, bandwidth),
        inertia_weighted=True,
        softened=np.where(own, hertz, coupled),
    )


def _largest_share(loops: list[SampledArm], kp: Array, kd: Array) -> float:
    """Return the share of the natural frequency with which all loops are stable, at most one."""

    def fits(share: float) -> bool:
        more = GAIN_MARGIN * share
        return all(loop.is_stable(more * share * kp, more * kd) for loop in loops)

    if fits(1.0):
        return 1.0
    low, high = np.log(SLOWEST_SHARE), 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if fits(float(np.exp(middle))) else (low, middle)
    return float(np.exp(low))


def lowered_joints(model: Model, wanted: Gains, inverses: Array) -> str:
    """Return the joints whose gains are lower than wanted, with their resonances; empty if none is.

    Args:
        model: A model of `fitted`.
        wanted: Gains without elasticity.
        inverses: As of `fitted`.
    """
    loop = SpringLoop.of(model)
    inertia = np.diagonal(np.linalg.inv(inverses), axis1=1, axis2=2).max(axis=0)
    hertz = loop.resonance(inertia) / (2.0 * np.pi)
    names = model.dynamics.robot.joint_names
    found = [
        f"{names[i]} to {model.gains.kp[i] / wanted.kp[i]:.2g} of p (resonance {hertz[i]:.3g} Hz)"
        for i in loop.masses.joints
        if model.gains.kp[i] < 0.99 * wanted.kp[i]
    ]
    return ", ".join(found)
