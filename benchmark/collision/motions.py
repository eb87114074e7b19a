"""Random motions of an arm with an exact and a wrong model: what pushes the observer finds.

The states are those of the motion and the efforts those of the true arm, held for a period as a
drive holds them. r is linear in external efforts, so one free motion gives the answer to every
push: the free r plus the push through the low-pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmark.table import Table
from robot_dynamics import Dynamics, Robot
from robot_dynamics.control import Friction, Gains, Model, effort_limits
from robot_dynamics.control.collision import (
    Collision,
    ObserverSettings,
    ObserverState,
    contact_rows,
    identified_thresholds,
    observer_equations,
)
from robot_dynamics.control.friction import FrictionRows
from robot_dynamics.control.limits import default_thresholds, velocity_limits
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification import Recording, identify
from robot_dynamics.simulation import perturbed, with_mass_scaled
from robot_dynamics.trajectory.motions import rest_to_rest, sample_poses

PERIOD_S = 1e-3
SAMPLES = 1500  # periods of a motion
WRONG = 0.1
ROBOTS = 20
"""Robots with wrong masses, of which two have all masses wrong in one direction."""

SPEED_SHARE, EFFORT_SHARE = 0.9, 0.9
"""Largest speed and effort of a motion, relative to the limits; slower where they are exceeded."""

DRY_SHARE, VISCOUS_SHARE = 0.02, 0.02
"""Coulomb friction, and viscous friction at the speed limit, relative to the effort limit."""

UNKNOWN, EFFORT_NOISE = 0.4, 0.02
"""Largest relative error of the masses before identification, and noise of its efforts relative to
the largest."""

FRICTION_ERROR = 0.2
"""Relative error of the friction of the wrong model."""

NOISE = 1e-3
"""Standard deviation of measured velocities, rad/s."""

WAIT_S = 0.1
"""Time within which a push has to be found, s."""

PUSHES = (50.0, 100.0)
"""Forces at the end effector whose detection time is measured, N."""

DIRECTIONS = {f"{sign}{axis}": (k, s) for k, axis in enumerate("xyz") for sign, s in
              (("+", 1.0), ("-", -1.0))}  # fmt: skip


@dataclass
class Findings:
    """Results of the motions of one kind of model; lists of one array per batch.

    Attributes:
        alarms: Number of motions with a false alarm.
        hours: Duration of all motions, h.
        share: Largest free r of each joint relative to its threshold, shape (N, n).
        smallest: Least constant push of each joint that is found, shape (N, 2, n), N m or N.
        time: Time until a push of twice the present threshold is found, shape (N, 2, n), s.
        force: Least force at the end effector that is found, shape (N, 6), N.
        force_time: Time until the forces of `PUSHES` are found, shape (N, 2, 6), s.
    """

    alarms: int = 0
    hours: float = 0.0
    share: list[Array] = field(default_factory=list)
    smallest: list[Array] = field(default_factory=list)
    time: list[Array] = field(default_factory=list)
    force: list[Array] = field(default_factory=list)
    force_time: list[Array] = field(default_factory=list)


def friction_of(robot: Robot) -> Friction:
    """Friction of the model of an arm."""
    limit, speed = effort_limits(robot), velocity_limits(robot)
    return Friction(VISCOUS_SHARE * limit / speed, DRY_SHARE * limit)


@dataclass(frozen=True, eq=False)
class Case:
    """A model, and the true arms that it stands for.

    Args:
        model: The model.
        truths: Equations and friction of the true arms.
        threshold: Constant parts of the thresholds, shape (n,), N m or N.
    """

    model: Model
    truths: list[tuple[Dynamics, Friction]]
    threshold: Array


def cases(robot: Robot) -> dict[str, Case]:
    """The kinds of models by name."""
    none, friction = np.zeros(robot.dof), friction_of(robot)
    model, default = (
        Model(Dynamics(robot), Gains(none, none), friction),
        default_thresholds(robot),
    )
    uneven = [perturbed(robot, WRONG, seed) for seed in range(ROBOTS - 2)]
    wrong = [with_mass_scaled(robot, 1.0 - WRONG), with_mass_scaled(robot, 1.0 + WRONG), *uneven]
    factors = [1.0 + FRICTION_ERROR, 1.0 / (1.0 + FRICTION_ERROR)] * (ROBOTS // 2)
    truths = [
        (Dynamics(true), scaled(friction, factor))
        for true, factor in zip(wrong, factors, strict=True)
    ]
    identified, true, deviation = identified_model(robot, friction)
    return {
        "exact": Case(model, [(model.dynamics, friction)], default),
        "10 % wrong": Case(model, truths, default),
        "identified": Case(identified, [(true, friction)], default),
        "identified, own threshold": Case(
            identified, [(true, friction)], identified_thresholds(robot, deviation)
        ),
    }


def scaled(friction: Friction, factor: float) -> Friction:
    """Friction whose terms of a model are multiplied."""
    return Friction(factor * friction.viscous, factor * friction.coulomb)


def identified_model(robot: Robot, friction: Friction) -> tuple[Model, Dynamics, Array]:
    """A model identified from a motion of an arm whose masses are wrong by up to `UNKNOWN`.

    Returns:
        The model, the true arm, and the standard deviation of the held-out residual, shape (n,).
    """
    true = Dynamics(perturbed(robot, UNKNOWN, 7))
    t, w = np.arange(0.0, 30.0, 4e-3), 2.0 * np.pi / 10.0 * np.arange(1, 6)
    a, b = np.random.default_rng(0).normal(size=(2, len(w), robot.dof)) * 0.4
    a, b = (x / np.sqrt(np.arange(1, 6))[:, None] for x in (a, b))
    S, C = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = S @ a + C @ b, (C * w) @ a - (S * w) @ b, -(S * w**2) @ a - (C * w**2) @ b
    tau = true.inverse(q, qd, qdd) + friction.smooth(qd)
    rng = np.random.default_rng(1)
    tau = tau + EFFORT_NOISE * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
    found = identify(robot, Recording(t, q, qd, tau, "simulated"))
    none = np.zeros(robot.dof)
    model = Model(
        Dynamics(found.robot),
        Gains(none, none),
        found.friction,
        rotor_inertia=found.rotor_inertia,
    )
    return model, true, np.array([fit.rms for fit in found.report.fits])


def random_motions(dynamics: Dynamics, count: int, seed: int) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations at half periods, shape (2 SAMPLES + 1, N, n).

    Minimum-jerk motions between random poses, as fast as speeds and efforts allow, or in 0.5 s.
    """
    robot = dynamics.robot
    rng, limit, speed = np.random.default_rng(seed), effort_limits(robot), velocity_limits(robot)
    poses = sample_poses(robot, 4 * count)
    begin, end = (poses[rng.integers(len(poses), size=count)] for _ in range(2))
    gap = end - begin
    duration = np.maximum(15.0 / 8.0 * np.abs(gap) / (SPEED_SHARE * speed), 0.5).max(axis=1)

    def states(u: Array, T: Array) -> tuple[Array, Array, Array]:
        s, sd, sdd = rest_to_rest(u)
        sd, sdd = sd / T, sdd / T**2
        return begin + gap * s[..., None], gap * sd[..., None], gap * sdd[..., None]

    for _ in range(6):  # a slower motion takes less effort, down to that of gravity
        u = np.linspace(0.0, 1.0, 41)[:, None] * np.ones(count)
        tau = dynamics.inverse(*(x.reshape(-1, robot.dof) for x in states(u, duration)))
        ratio = (np.abs(tau) / limit).reshape(*u.shape, -1).max(axis=(0, 2))
        duration = np.where(ratio > EFFORT_SHARE, 1.3 * duration, duration)
    t = 0.5 * PERIOD_S * np.arange(2 * SAMPLES + 1)[:, None]
    # Long motions begin at a random time, so that all their phases occur
    late = rng.uniform(0.0, 1.0, count) * np.maximum(duration - SAMPLES * PERIOD_S, 0.0)
    return states(np.clip((t + late) / duration, 0.0, 1.0), duration)


def observed(
    case: Case, place: int, motion: tuple[Array, Array, Array], seed: int
) -> tuple[Array, Array]:
    """External efforts and thresholds on free motions, shape (SAMPLES + 1, N, n) each.

    Args:
        case: The model.
        place: Index of the true arm.
        motion: From `random_motions`.
        seed: Of the noise.
    """
    truth, friction = case.truths[place % len(case.truths)]
    q, qd, _ = motion
    shape, n = q.shape, q.shape[-1]
    flat = [x.reshape(-1, n) for x in motion]
    tau = (truth.inverse(*flat) + friction.smooth(flat[1])).reshape(shape)
    held = (tau[:-1:2] + 4.0 * tau[1::2] + tau[2::2]) / 6.0  # Simpson's mean of every period
    q, qd = q[::2], qd[::2]
    qd = qd + NOISE * np.random.default_rng(seed).standard_normal(qd.shape)
    moved = case.model.dynamics.momentum(q.reshape(-1, n), qd.reshape(-1, n))
    p, rate = (x.reshape(q.shape) for x in moved)
    model, collision = case.model, Collision(threshold=case.threshold)
    own = model.friction or Friction.none(n)
    settings = ObserverSettings.of(
        FrictionRows(*(getattr(own, name) for name in FrictionRows._fields)),
        model.friction_width,
        0.0 if model.rotor_inertia is None else model.rotor_inertia,
        contact_rows(model, collision),
    )
    effort, band = np.empty((2, *q.shape))
    state = ObserverState(*np.zeros((len(ObserverState._fields), *q[0].shape)))
    given = {"dt": PERIOD_S, "gain": collision.gain, "direction": np.zeros_like(q[0])}
    for k in range(len(q)):
        x = {**given, "p": p[k], "rate": rate[k], "qd": qd[k], "afresh": float(k == 0)}
        x["tau"] = held[max(k - 1, 0)]
        state = observer_equations(x, state, settings)["state"]
        effort[k], band[k] = state.effort, state.band
    return effort, settings.threshold + band


def long_enough(above: Array) -> Array:
    """Return which conditions, shape (T, ...), have held for the time of a contact."""
    held = round(Collision().time / PERIOD_S) + 1
    count = np.cumsum(above, axis=0)
    within = count.copy()
    within[held:] -= count[:-held]
    return np.asarray(within == held)


def found_after(found: Array) -> Array:
    """Time of the first True along axis 0, s; infinite if there is none."""
    return np.where(found.any(axis=0), PERIOD_S * np.argmax(found, axis=0), np.inf)


def judge(findings: Findings, effort: Array, threshold: Array, J: Array, at: Array) -> None:
    """Add what one batch shows.

    Args:
        findings: Where to add it.
        effort: Free r, shape (T, N, n).
        threshold: Thresholds, same shape.
        J: Jacobian of the end effector's position at the pushes, shape (N, 3, n).
        at: Index of the period at which each push begins, shape (N,).
    """
    count = effort.shape[1]
    findings.alarms += int(long_enough((np.abs(effort) > threshold).any(axis=2)).any(axis=0).sum())
    findings.hours += count * SAMPLES * PERIOD_S / 3600.0
    findings.share.append((np.abs(effort) / threshold).max(axis=0))
    window = at + np.arange(round(WAIT_S / PERIOD_S) + 1)[:, None]  # (W, N)
    member = np.arange(count)
    r, limit = effort[window, member], threshold[window, member]  # (W, N, n)
    grown = 1.0 - np.exp(-Collision().gain * PERIOD_S * np.arange(len(window)))
    smallest, times = [], []
    for sign in (1.0, -1.0):
        smallest.append((limit - sign * r).mean(axis=0))
        push = sign * 2.0 * limit[0] * grown[:, None, None]
        times.append(found_after(long_enough(np.abs(r + push) > limit)))
    findings.smallest.append(np.stack(smallest, axis=1))
    findings.time.append(np.stack(times, axis=1))

    forces, force_times = [], []
    for axis, sign in DIRECTIONS.values():
        joint = sign * J[:, axis]  # (N, n): efforts per N
        room = (limit - np.sign(joint) * r).mean(axis=0)
        with np.errstate(divide="ignore"):
            forces.append((room / np.abs(joint)).min(axis=1))
        force_times.append(
            [
                found_after(
                    long_enough(
                        (np.abs(r + size * joint * grown[:, None, None]) > limit).any(axis=2)
                    )
                )
                for size in PUSHES
            ]
        )
    findings.force.append(np.stack(forces, axis=1))
    findings.force_time.append(np.array(force_times).transpose(2, 1, 0))


def batches(case: Case, frame: str, motions: int) -> Iterator[tuple[Array, ...]]:
    """Free r, thresholds, Jacobians and times of the pushes of one kind of model, by batches."""
    dynamics, size = case.model.dynamics, -(-motions // ROBOTS)
    for seed in range(ROBOTS):
        motion = random_motions(dynamics, size, seed)
        effort, threshold = observed(case, seed, motion, seed)
        wait = round(WAIT_S / PERIOD_S) + 1
        at = np.random.default_rng(seed).integers(wait, SAMPLES - wait, size)
        q = motion[0][::2][at, np.arange(size)]
        yield effort, threshold, dynamics.jacobian(q, frame)[:, :3], at


def sensitivity(name: str, robot: Robot, frame: str, motions: int) -> list[Table]:
    """Tables of one robot, by kind of model."""
    found, kinds = {}, cases(robot)
    for kind, case in kinds.items():
        found[kind] = Findings()
        for batch in batches(case, frame, motions):
            judge(found[kind], *batch)
    return [
        *(_joint_table(name, robot, kind, kinds[kind], found[kind]) for kind in found),
        _force_table(name, frame, motions, found),
        _alarm_table(name, found),
    ]


def _joint_table(name: str, robot: Robot, kind: str, case: Case, found: Findings) -> Table:
    smallest, took = np.concatenate(found.smallest), np.concatenate(found.time)
    rows = [
        [
            joint,
            f"{case.threshold[i]:.3g}",
            _pair(smallest[:, 0, i]),
            _pair(smallest[:, 1, i]),
            _times(took[:, 0, i]),
            _times(took[:, 1, i]),
        ]
        for i, joint in enumerate(robot.joint_names)
    ]
    header = ["joint", "constant part", "least push +", "least push -", "found + after, ms",
              "found - after, ms"]  # fmt: skip
    about = (
        f"Pushes on joints, N m, over {len(smallest)} motions: the least constant push that is "
        "found, and the time until one of twice the threshold is found; median / 95 %."
    )
    return Table(f"{name}, {kind}", about, header, rows)


def _force_table(name: str, frame: str, motions: int, found: dict[str, Findings]) -> Table:
    rows = []
    for kind, one in found.items():
        force, times = np.concatenate(one.force), np.concatenate(one.force_time)
        rows += [
            [
                f"{kind}, {direction}",
                _pair(force[:, k]),
                *(_times(times[:, j, k]) for j in range(len(PUSHES))),
            ]
            for k, direction in enumerate(DIRECTIONS)
        ]
    header = ["model, direction", "least force, N", *(f"{f:.0f} N after, ms" for f in PUSHES)]
    about = (
        f"Forces at `{frame}` in axes of the root link, over the same {motions} motions: the least "
        "that is found, and the time until one is found; median / 95 %, and the share that is not "
        f"found within {1e3 * WAIT_S:.0f} ms."
    )
    return Table(f"{name}: forces at the end effector", about, header, rows)


def _alarm_table(name: str, found: dict[str, Findings]) -> Table:
    rows = []
    for kind, one in found.items():
        share = np.concatenate(one.share).max(axis=1)
        rows.append(
            [
                kind,
                f"{one.hours:.2f}",
                str(one.alarms),
                f"{one.alarms / one.hours:.2g}",
                f"{100.0 * np.percentile(share, 99):.0f} %",
                f"{100.0 * share.max():.0f} %",
            ]
        )
    header = ["model", "hours of motion", "false alarms", "per hour", "largest r, 99 % of motions",
              "largest r, all"]  # fmt: skip
    about = "Free motions; the largest r is relative to its threshold."
    return Table(f"{name}: false alarms", about, header, rows)


def _pair(values: Array) -> str:
    return f"{np.median(values):.3g} / {np.percentile(values, 95):.3g}"


def _times(values: Array) -> str:
    """Median and 95 % of times, and the share that is infinite."""
    found = values[np.isfinite(values)]
    lost = 1.0 - len(found) / values.size
    if not len(found):
        return "not found"
    text = f"{1e3 * np.median(found):.0f} / {1e3 * np.percentile(found, 95):.0f}"
    return text + (f", {100.0 * lost:.2g} % not" if lost else "")
