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
    ObserverState,
    default_thresholds,
    observer_equations,
    observer_settings,
)
from robot_dynamics.control.limits import velocity_limits
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation import perturbed, with_mass_scaled
from robot_dynamics.trajectory.motions import sample_poses

PERIOD_S = 1e-3
SAMPLES = 1500  # periods of a motion
WRONG = 0.1
ROBOTS = 20
"""Robots with wrong masses, of which two have all masses wrong in one direction."""

SPEED_SHARE, EFFORT_SHARE = 0.9, 0.9
"""Largest speed and effort of a motion, relative to the limits; slower where they are exceeded."""

DRY_SHARE, VISCOUS_SHARE = 0.02, 0.02
"""Coulomb friction, and viscous friction at the speed limit, relative to the effort limit."""

FRICTION_ERROR = 0.2
"""Relative error of the friction of the wrong model."""

NOISE = 1e-3
"""Standard deviation of measured velocities, rad/s."""

WAIT_S = 0.1
"""Time within which a push has to be found, s."""

PUSHES = (50.0, 100.0)
"""Forces at the hand whose detection time is measured, N."""

DIRECTIONS = {f"{sign}{axis}": (k, s) for k, axis in enumerate("xyz") for sign, s in
              (("+", 1.0), ("-", -1.0))}  # fmt: skip


@dataclass
class Findings:
    """What the motions of one kind of model show; lists of one array per batch.

    Attributes:
        alarms: Number of motions with a false alarm.
        hours: Duration of all motions, h.
        share: Largest free r of each joint relative to its threshold, shape (N, n).
        smallest: Least constant push of each joint that is found, shape (N, 2, n), N m or N.
        time: Time until a push of twice the threshold is found, shape (N, 2, n), s.
        force: Least force at the hand that is found, shape (N, 6), N.
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


def true_robots(robot: Robot, wrong: bool) -> list[Robot]:
    """The arms that the model describes exactly, or with wrong masses."""
    if not wrong:
        return [robot]
    uneven = [perturbed(robot, WRONG, seed) for seed in range(ROBOTS - 2)]
    return [with_mass_scaled(robot, 1.0 - WRONG), with_mass_scaled(robot, 1.0 + WRONG), *uneven]


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
        s = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        sd = 30.0 * (u * (1.0 - u)) ** 2 / T
        sdd = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / T**2
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


def observed(model: Model, truth: Dynamics, motion: tuple[Array, Array, Array], seed: int,
             friction: Friction) -> tuple[Array, Array]:  # fmt: skip
    """External efforts and thresholds on free motions, shape (SAMPLES + 1, N, n) each."""
    q, qd, _ = motion
    shape, n = q.shape, q.shape[-1]
    flat = [x.reshape(-1, n) for x in motion]
    tau = (truth.inverse(*flat) + friction.smooth(flat[1])).reshape(shape)
    held = (tau[:-1:2] + 4.0 * tau[1::2] + tau[2::2]) / 6.0  # Simpson's mean of every period
    q, qd = q[::2], qd[::2]
    qd = qd + NOISE * np.random.default_rng(seed).standard_normal(qd.shape)
    p, rate = (x.reshape(q.shape) for x in model.momentum(q.reshape(-1, n), qd.reshape(-1, n)))
    collision = Collision()
    settings = observer_settings(model, default_thresholds(model.dynamics.robot))
    state = np.zeros((len(ObserverState._fields), *q.shape[1:]))
    effort, band = np.empty((2, *q.shape))
    for k in range(len(q)):
        fresh = k == 0
        scalars = np.array((1.0 if fresh else PERIOD_S, collision.gain, float(fresh)))
        x = {
            "p": p[k],
            "rate": rate[k],
            "qd": qd[k],
            "tau": held[max(k - 1, 0)],
            "state": state,
            "scalars": scalars,
            "settings": settings,
        }
        state = observer_equations(x)["state"]
        effort[k], band[k] = state[3], state[4]
    return effort, settings[-1] + band


def long_enough(above: Array) -> Array:
    """Whether each of the conditions, shape (T, ...), has held for the time of a contact."""
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
        J: Jacobian of the hand's position at the pushes, shape (N, 3, n).
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
    base = default_thresholds_of(threshold)
    smallest, times = [], []
    for sign in (1.0, -1.0):
        smallest.append((limit - sign * r).mean(axis=0))
        push = sign * 2.0 * base * grown[:, None, None]
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


def default_thresholds_of(threshold: Array) -> Array:
    """Least threshold of each joint in a batch, shape (n,), N m or N."""
    return np.asarray(threshold.min(axis=(0, 1)))


def batches(robot: Robot, frame: str, motions: int, wrong: bool) -> Iterator[tuple[Array, ...]]:
    """Free r, thresholds, Jacobians and times of the pushes of one kind of model, by batches."""
    dynamics, friction = Dynamics(robot), friction_of(robot)
    none, truths = np.zeros(robot.dof), true_robots(robot, wrong)
    model = Model(dynamics, Gains(none, none), friction)
    error = 1.0 + FRICTION_ERROR if wrong else 1.0
    size = -(-motions // ROBOTS)
    for seed in range(ROBOTS):
        truth = Dynamics(truths[seed % len(truths)])
        factor = error if seed % 2 else 1.0 / error
        true_friction = Friction(factor * friction.viscous, factor * friction.coulomb)
        motion = random_motions(dynamics, size, seed)
        effort, threshold = observed(model, truth, motion, seed, true_friction)
        wait = round(WAIT_S / PERIOD_S) + 1
        at = np.random.default_rng(seed).integers(wait, SAMPLES - wait, size)
        q = motion[0][::2][at, np.arange(size)]
        yield effort, threshold, dynamics.jacobian(q, frame)[:, :3], at


def sensitivity(name: str, robot: Robot, frame: str, motions: int) -> list[Table]:
    """Tables of one robot, with an exact and a wrong model."""
    found = {}
    for kind in ("exact", "10 % wrong"):
        found[kind] = Findings()
        for batch in batches(robot, frame, motions, kind != "exact"):
            judge(found[kind], *batch)
    return [
        _joint_table(name, robot, motions, found),
        _force_table(name, frame, motions, found),
        _alarm_table(name, motions, found),
    ]


def _joint_table(name: str, robot: Robot, motions: int, found: dict[str, Findings]) -> Table:
    rows = []
    for i, joint in enumerate(robot.joint_names):
        row = [joint, f"{default_thresholds(robot)[i]:.3g}"]
        for one in found.values():
            least = np.concatenate(one.smallest)[:, :, i]
            took = np.concatenate(one.time)[:, :, i]
            row += [_pair(least[:, 0]), _pair(least[:, 1]), _times(took)]
        rows.append(row)
    header = ["joint", "constant part, N m"]
    for kind in found:
        header += [f"{kind}: push +, N m", "push -, N m", "time, ms"]
    about = (
        f"{motions} motions each. Least constant push on a joint that is found, median / 95 %; "
        f"time until a push of twice the least threshold is found, median / 95 %."
    )
    return Table(f"{name}: pushes on joints", about, header, rows)


def _force_table(name: str, frame: str, motions: int, found: dict[str, Findings]) -> Table:
    rows = []
    for k, direction in enumerate(DIRECTIONS):
        row = [direction]
        for one in found.values():
            row.append(_pair(np.concatenate(one.force)[:, k]))
            times = np.concatenate(one.force_time)
            row += [_times(times[:, j, k]) for j in range(len(PUSHES))]
        rows.append(row)
    header = ["direction"]
    for kind in found:
        header += [f"{kind}: least force, N", *(f"{size:.0f} N: time, ms" for size in PUSHES)]
    about = (
        f"Forces at `{frame}` in axes of the root link, over the same {motions} motions. Least "
        f"force that is found, median / 95 %; time until a force is found, median / 95 %, and the "
        f"share that is not found within {1e3 * WAIT_S:.0f} ms."
    )
    return Table(f"{name}: forces at the hand", about, header, rows)


def _alarm_table(name: str, motions: int, found: dict[str, Findings]) -> Table:
    rows = []
    for kind, one in found.items():
        share = np.concatenate(one.share)
        worst = share.max(axis=0)
        rows.append(
            [
                kind,
                f"{one.hours:.2f}",
                str(one.alarms),
                f"{one.alarms / one.hours:.2g}",
                f"{100.0 * np.percentile(share.max(axis=1), 99):.0f} %",
                f"{100.0 * worst.max():.0f} %",
            ]
        )
    header = ["model", "hours of motion", "false alarms", "per hour",
              "largest r of its threshold, 99 % of motions", "of all motions"]  # fmt: skip
    about = "Free motions at the default threshold."
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
