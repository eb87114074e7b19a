"""Stiffness of elastic joints from their resonances, in a recording of one side.

In a small motion about one pose, with the mass matrix M of that pose, the efforts S of the springs
and friction linearised as F, the frequency domain has

    theta = C S - M^-1 S / w^2,    q = -M^-1 S / w^2,    tau = (j w F - w^2 B) theta + S

where C is diagonal with 1 / (K + j w D). Nonlinear least squares of the measured side, which the
efforts predict, gives K, D, B and F of all joints at once, and a delay of the efforts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control.two_masses import LINK, MOTOR
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.identification.joint_stiffness import BLOCKS, DEVIATIONS, spring_text
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.robot.robot import Robot

SIDES = (MOTOR, LINK)

LOWEST_HZ = 3.0
"""Lowest frequency of the fit, Hz: below it, gravity and friction prevail."""

HIGHEST_HZ, HIGHEST_SHARE = 100.0, 0.3
"""Highest frequency of the fit, Hz, and relative to the sampling rate."""

SEGMENT_S = 2.0
"""Duration of a windowed segment, s: several times that of a resonance dying out."""

LARGEST_MOTION = 0.1
"""Largest distance from the mean position, rad or m: the mass matrix is that of one pose."""

SOFTEST, STIFFEST, TRIED = 3e2, 3e6, 13
"""Stiffnesses between which the fit begins with the best, N m/rad, and their number."""

ROTORS, LIGHTEST = (0.1, 0.3, 1.0, 3.0), 0.05
"""Rotor inertias with which the fit begins, relative to that of the link, of which a light one
counts as that share of the heaviest."""

SLOWEST_LAG_S = 0.02
"""Largest ratio of damping to stiffness, s."""

LONGEST_DELAY_S = 0.01
"""Largest delay of the efforts, either way, s: drives hold them, and recorders stamp them late."""

TOLERANCE = 1e-5
"""Relative change of cost and unknowns at which the fit ends."""

ROUNDS, THINNED = 2, 3
"""Rounds over the joints to find where the fit begins, at one frequency of so many."""


class ResonanceFit(NamedTuple):
    """Elasticity and rotors that the resonances tell, shape (n,) each.

    Attributes:
        elasticity: Stiffness and damping; infinite and zero where a joint does not bend measurably.
        deviation: Standard errors of the stiffness, N m/rad or N/m; NaN where it is infinite.
        rotor_inertia: Inertia of motors and gears at the joints, kg m^2 or kg.
        rotor_deviation: Its standard errors.
        explained: Share of the variance of the motion that the efforts explain.
    """

    elasticity: JointElasticity
    deviation: Array
    rotor_inertia: Array
    rotor_deviation: Array
    explained: Array

    def table(self, robot: Robot) -> str:
        """Print the fit as a line for every joint.

        Args:
            robot: The robot, for the names of its joints.

        Returns:
            Lines of text.
        """
        lines = []
        for name, K, D, error, B, B_error, share in zip(
            robot.joint_names, *self.elasticity, *self[1:], strict=True
        ):
            rotor = f"rotor inertia {B:.3g} +- {2.0 * B_error:.2g}"
            spring = spring_text(K, error, D)
            lines.append(f"  {name}: {spring}, {rotor}, explains {share:.1%}")
        return "\n".join(lines)


def identify_resonance(robot: Robot, recording: Recording, side: str = MOTOR) -> ResonanceFit:
    """Identify stiffness, damping and rotors from the resonances of one side.

    Args:
        robot: The robot with its inertias; see `identify`.
        recording: Motion of a few mrad about one pose with all frequencies up to twice the
            resonances, such as a chirp or noise, and its efforts, at 200 Hz or more.
        side: Side of the joints whose positions were recorded, one of `SIDES`.

    Returns:
        Stiffness, damping and rotor inertia with standard errors.

    Raises:
        RecordingError: If the motion is too large, or too short.
        UnknownNameError: If `side` is none of them.
    """
    check_known("side", side, "robot_dynamics.identification", SIDES)
    away = np.abs(recording.q - recording.q.mean(axis=0)).max(axis=0)
    if (away > LARGEST_MOTION).any():
        worst = int(np.argmax(away))
        raise RecordingError(
            f"{recording.source}: joint '{robot.joint_names[worst]}' moves by {away[worst]:.2g}, "
            f"and a resonance is of one pose; record a motion of less than {LARGEST_MOTION:g}"
        )
    M = Dynamics(robot).mass_matrix(recording.q.mean(axis=0))
    spectra = _Spectra.of(recording)
    fit = _Fit(spectra, M, side)
    best, error = fit.solved(_Fit(spectra.thinned(THINNED), M, side).start())
    compliance, lag, rotor, _ = best[:-1].reshape(4, -1)
    softness_error, _, rotor_error, _ = error[:-1].reshape(4, -1)
    bends = compliance > DEVIATIONS * softness_error
    with np.errstate(divide="ignore"):
        K = np.where(bends, 1.0 / compliance, np.inf)
    deviation = np.full(len(K), np.nan)
    deviation[bends] = K[bends] ** 2 * softness_error[bends]
    damping = np.zeros(len(K))
    damping[bends] = lag[bends] * K[bends]
    return ResonanceFit(
        JointElasticity(K, damping), deviation, rotor, rotor_error, fit.explained(best)
    )


class _Spectra(NamedTuple):
    """Windowed segments of a recording in the frequency domain.

    Attributes:
        w: Frequencies, shape (f,), rad/s.
        x: Positions, shape (segments, f, n).
        tau: Efforts, same shape.
    """

    w: Array
    x: Array
    tau: Array

    def thinned(self, every: int) -> _Spectra:
        """Return one frequency of so many."""
        return _Spectra(self.w[::every], self.x[:, ::every], self.tau[:, ::every])

    @classmethod
    def of(cls, recording: Recording) -> _Spectra:
        rate = recording.rate
        size = round(SEGMENT_S * rate)
        time = np.arange(recording.time[0], recording.time[-1], 1.0 / rate)
        if len(time) < 2 * size:
            raise RecordingError(
                f"{recording.source}: lasts {recording.duration:.2g} s; record "
                f"{2.0 * SEGMENT_S:g} s or more"
            )
        spline = imported("scipy.interpolate").CubicSpline
        window = np.hanning(size)[:, None]
        w = 2.0 * np.pi * np.fft.rfftfreq(size, 1.0 / rate)
        highest = min(HIGHEST_HZ, HIGHEST_SHARE * rate)
        kept = (w > 2.0 * np.pi * LOWEST_HZ) & (w < 2.0 * np.pi * highest)
        found = []
        for values in (recording.q, recording.tau):
            rows = spline(recording.time, values - values.mean(axis=0))(time)
            starts = range(0, len(time) - size + 1, size // 2)
            found.append(
                [np.fft.rfft(window * rows[at : at + size], axis=0)[kept] for at in starts]
            )
        return cls(w[kept], *(np.array(x) for x in found))


class _Fit:
    """Least squares of the measured side.

    The unknowns are compliance, damping over stiffness, rotor inertia and linear friction of each
    joint, and the delay of the efforts, shape (4 n + 1,).
    """

    def __init__(self, spectra: _Spectra, M: Array, side: str) -> None:
        self._of, self._side, self._n = spectra, side, len(M)
        self._inertia = inertia = np.diag(M)
        n = self._n
        columns = np.full(n, 1e-4), np.full(n, 1e-3), inertia, 10.0 * inertia, [1e-3]
        self._size = np.concatenate(columns)  # typical numbers
        most = (1.0 / SOFTEST, SLOWEST_LAG_S, np.inf, np.inf)
        self._upper = np.append(np.repeat(most, n), LONGEST_DELAY_S)
        self._lower = np.concatenate([np.zeros(4 * n), [-LONGEST_DELAY_S]])
        self._inverse = np.linalg.inv(M)
        # Joints count by their own size
        self._scale = np.sqrt(np.mean(np.abs(spectra.x) ** 2, axis=(0, 1)))

    def _predicted(self, unknowns: Array) -> Array:
        """Return the positions that the efforts predict, shape (segments, f, n)."""
        compliance, lag, rotor, rubs = unknowns[:-1].reshape(4, -1)
        w = self._of.w[:, None]
        acting = self._of.tau * np.exp(-1j * w * unknowns[-1])
        eye = np.eye(self._n)
        links = -self._inverse / w[:, :, None] ** 2
        springs = eye * (compliance / (1.0 + 1j * w * lag))[:, None, :]
        drives = eye * (1j * w * rubs - w * w * rotor)[:, None, :]
        # theta = (C + L) S and tau = Z theta + S, thus tau = (Z (C + L) + 1) S
        motors = springs + links
        borne = np.linalg.solve(
            drives @ motors + eye, np.moveaxis(acting, 0, -1)
        )  # (f, n, segments)
        moved = (motors if self._side == MOTOR else links) @ borne
        return np.asarray(np.moveaxis(moved, -1, 0))

    def _residual(self, unknowns: Array) -> Array:
        """Return what is left of each segment, shape (segments, m)."""
        off = ((self._predicted(unknowns) - self._of.x) / self._scale).reshape(len(self._of.x), -1)
        return np.concatenate([off.real, off.imag], axis=1)

    def solved(self, start: Array) -> tuple[Array, Array]:
        """Return the unknowns and their standard errors."""
        size = self._size
        found = imported("scipy.optimize").least_squares(
            lambda x: self._residual(x * size).ravel(),
            np.clip(start / size, self._lower / size + 1e-9, self._upper / size),
            bounds=(self._lower / size, self._upper / size),
            ftol=TOLERANCE,
            xtol=TOLERANCE,
        )
        # Leaving out some segments in turn, by one step of Newton's method
        left, count = self._residual(found.x * size), len(self._of.x)
        slopes = found.jac.reshape(*left.shape, -1)
        parts = np.array_split(np.arange(count), min(BLOCKS, count))
        steps = []
        for part in parts:
            kept = np.setdiff1d(np.arange(count), part)
            J = slopes[kept].reshape(-1, len(size))
            steps.append(np.linalg.lstsq(J.T @ J, J.T @ left[kept].ravel(), rcond=1e-12)[0])
        error = np.sqrt((len(parts) - 1.0) * np.var(steps, axis=0))
        return found.x * size, error * size

    def start(self) -> Array:
        """Return the best of a grid: of all joints alike, then joint by joint."""
        typical = self._inertia + LIGHTEST * self._inertia.max()
        found = np.zeros((4, self._n))
        found[1], found[3] = 3e-3, 1.0
        grid = [
            np.array([1.0 / K, share])
            for K in np.geomspace(SOFTEST, STIFFEST, TRIED)
            for share in ROTORS
        ]

        def pick(joints: Array) -> None:
            costs = []
            for compliance, share in grid:
                found[0, joints], found[2, joints] = compliance, share * typical[joints]
                costs.append(np.sum(self._residual(np.append(found.ravel(), 0.0)) ** 2))
            compliance, share = grid[int(np.argmin(costs))]
            found[0, joints], found[2, joints] = compliance, share * typical[joints]

        heaviest_first = np.argsort(-self._inertia)
        pick(heaviest_first)
        for _ in range(ROUNDS):
            for i in heaviest_first:
                pick(np.array([i]))
        return np.append(found.ravel(), 0.0)

    def explained(self, unknowns: Array) -> Array:
        """Return the share of the variance of each joint that is explained, shape (n,)."""
        left = np.mean(np.abs(self._predicted(unknowns) - self._of.x) ** 2, axis=(0, 1))
        return np.asarray(1.0 - left / self._scale**2)
