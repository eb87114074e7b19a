"""Identification from less than a full excitation: gravity of static poses, friction of sweeps.

Static poses show masses times mass centres as far as gravity feels them, but no inertia and no
friction. Sweeps of one joint at a time show its friction, but only those inertias and moments
that its own motion feels. Each result says what it determines and what it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from robot_dynamics.control.friction import Friction
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.progress import Progress, quiet
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.identification.estimation import (
    Identification,
    IdentifiedParameter,
    identify,
    with_friction,
)
from robot_dynamics.identification.least_squares import (
    Problem,
    estimate,
    held_out,
    normal,
    undetermined,
)
from robot_dynamics.identification.link_inertias import LinkInertias, Quadratic, consistent
from robot_dynamics.identification.regimes import AT_REST, MOVING
from robot_dynamics.identification.validation import GOOD, USABLE, own_regimes
from robot_dynamics.recordings.data_quality import checked_motion, still
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import recordings_of, signals
from robot_dynamics.robot.robot import Robot

STANDS = 0.01
"""Speed below which a joint stands in a pose, rad/s; in m/s, a tenth of it."""

SHORTEST_POSE_S = 0.5
"""Shortest time in a pose that counts, s."""

SETTLES_S = 0.2
"""Time at the start of a pose that does not count, s."""

FEWEST_POSES = 4
"""Poses below which nothing is identified."""

HELD = 0.05
"""Effort that friction may hold in a pose, over the effort limit: no verdict is built on less."""

TIMES_ALONE = 0.7
"""Share of its moving samples in which a swept joint moves alone."""


@dataclass(frozen=True, eq=False)
class GravityFit:
    """Masses and mass centres as far as gravity feels them.

    Args:
        robot: The robot with physically consistent bodies, its friction as it was.
        offset: Constant effort of every joint, shape (n,), N m or N.
        poses: Number of static poses.
        residual: Measured less predicted efforts of every pose, by a fit of the others, (N, n).
        tau: Measured efforts of every pose, shape (N, n).
        parameters: Base parameters that gravity feels.
        hidden: Names of those that no pose shows apart from others or from offsets.
        missed: Names of those that other poses would show.
    """

    robot: Robot
    offset: Array
    poses: int
    residual: Array
    tau: Array
    parameters: tuple[IdentifiedParameter, ...]
    hidden: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def rms(self) -> Array:
        """Rms of the residual, shape (n,), N m or N."""
        return np.asarray(np.sqrt(np.mean(self.residual**2, axis=0)))

    @property
    def relative(self) -> Array:
        """Residual over effort, rms, shape (n,)."""
        return self.rms / np.maximum(np.sqrt(np.mean(self.tau**2, axis=0)), 1e-12)

    @property
    def good(self) -> bool:
        """True if every joint is predicted to 15 % of its effort, or as far as friction lets."""
        return bool(np.all(self._within(GOOD)))

    @property
    def usable(self) -> bool:
        """True if the model is better than none."""
        return bool(np.all(self._within(USABLE)))

    def _within(self, share: float) -> Array:
        limit = self.robot.limits.effort
        held = np.where(np.isfinite(limit), HELD * limit, 0.0)
        return np.asarray((self.relative <= share) | (self.rms <= held))

    def __str__(self) -> str:
        known = [p for p in self.parameters if np.isfinite(p.deviation)]
        robot = self.robot
        lines = [
            f"{robot.name}: gravity of {self.poses} static poses, "
            + ("good" if self.good else "usable with care" if self.usable else "do not use"),
            f"  determined: {counted(len(known), 'base parameter')}, of masses and mass centres: "
            + (", ".join(f"{p.name} {p.value:.4g} +- {p.deviation:.1g}" for p in known) or "none"),
        ]
        if self.missed:
            lines.append(f"  not determined, but by other poses: {', '.join(self.missed)}")
        if self.hidden:
            lines.append(f"  no static pose shows: {', '.join(self.hidden)}")
        lines += [
            "  not determined by poses at rest: inertias, rotor inertia and friction, which stay "
            "as the URDF has them; friction holds each pose with an effort of its own, so take "
            "every pose from both sides",
        ]
        table = TextTable(None, ["joint"], ["residual", "N m or N", "of limit", "offset"])
        for name, part, rms, limit, offset in zip(
            robot.joint_names, self.relative, self.rms, robot.limits.effort, self.offset,
            strict=True,
        ):  # fmt: skip
            of_limit = f"{100 * rms / limit:.1f} %" if 0.0 < limit < np.inf else "-"
            table.add_row(name, f"{100 * part:.1f} %", f"{rms:.3g}", of_limit, f"{offset:.3g}")
        return "\n".join([*lines, str(table)])


def identify_gravity(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    cutoff: float | None = None,
    progress: Progress = quiet,
) -> GravityFit:
    """Identify what gravity shows in static poses.

    Args:
        robot: Robot of the URDF.
        recording: Motions that stand still in several poses, or a recording of each pose.
        cutoff: Of the low-pass, Hz; by default from the motion.
        progress: Called with the stage and the share of the work done.

    Returns:
        Robot with identified masses and mass centres, and what could not be determined.

    Raises:
        RecordingError: If there are too few poses.
        MissingPackageError: If cvxpy is not installed.
    """
    recordings = recordings_of(recording)
    progress("finding poses", 0.0)
    found = [pose for one in recordings for pose in static_poses(robot, one, cutoff)]
    if len(found) < FEWEST_POSES:
        source = ", ".join(one.source for one in recordings)
        raise RecordingError(
            f"{source}: {counted(len(found), 'static pose')} of {SHORTEST_POSE_S:g} s or more; "
            f"gravity needs {FEWEST_POSES}, and 20 or more to average friction: let the arm "
            "stand for a second in poses all over its range"
        )
    q, tau = (np.array(x) for x in zip(*found, strict=True))
    dynamics, links = Dynamics(robot), LinkInertias.of(robot)
    n, names = robot.dof, [b.name for b in links.base]
    problem = _gravity_problem(dynamics, q, tau)
    progress("least squares", 0.4)
    fit = estimate(problem)
    # Poses are independent of each other
    fit = replace(fit, independent=np.ones(n))
    progress("consistent inertias", 0.5)
    pi, offset = consistent(Quadratic.of(*normal(problem, fit.sample_weight)), links, [])
    left = held_out(problem, fit, [np.array([k]) for k in range(len(q))])
    observable = [i for i in range(len(names)) if np.abs(problem.X[:, :, i]).max() > 1e-9]
    hidden = _never(dynamics, robot, n)[: len(names)]
    base = links.K @ pi
    parameters = tuple(
        IdentifiedParameter(
            names[i], float(fit.z[i]), float(fit.deviation[i]), links.base[i].value, float(base[i])
        )
        for i in observable
    )
    lost = [i for i in observable if not np.isfinite(fit.deviation[i])]
    return GravityFit(
        links.with_parameters(pi), offset, len(q), left, tau, parameters,
        tuple(names[i] for i in lost if hidden[i]),
        tuple(names[i] for i in lost if not hidden[i]),
    )  # fmt: skip


def _gravity_problem(dynamics: Dynamics, q: Array, tau: Array) -> Problem:
    n = dynamics.robot.dof
    Y = dynamics.regressor(q, np.zeros_like(q), np.zeros_like(q))
    offsets = np.broadcast_to(np.eye(n), (len(q), n, n))
    X = np.concatenate([Y, offsets], axis=2)
    prior = np.array([*(b.value for b in dynamics.base_parameters), *np.zeros(n)])
    every = np.ones_like(tau, dtype=bool)
    return Problem(X, tau, prior, every, every)


def _never(dynamics: Dynamics, robot: Robot, n: int, count: int = 1000) -> Array:
    """Return which columns no pose of a robot determines, shape (p + n,)."""
    limits = np.clip([robot.limits.lower, robot.limits.upper], -np.pi, np.pi)
    q = np.random.default_rng(0).uniform(limits.min(axis=0), limits.max(axis=0), (count, n))
    problem = _gravity_problem(dynamics, q, np.zeros_like(q))
    return undetermined(normal(problem, np.ones_like(q))[0])


def static_poses(
    robot: Robot, recording: Recording, cutoff: float | None = None
) -> Iterator[tuple[Array, Array]]:
    """Yield positions and mean efforts, shape (n,) each, of every pose in which an arm stands."""
    motion = signals(recording, cutoff, thinned=False)
    slowest = STANDS * np.where([j.type.rotates for j in robot.independent_joints], 1.0, 0.1)
    stands = np.all(np.abs(motion.qd) < slowest, axis=1)
    changes = np.flatnonzero(np.diff(stands) | (np.diff(motion.part) != 0)) + 1
    for rows in np.split(np.arange(len(stands)), changes):
        if not stands[rows[0]] or motion.time[rows[-1]] - motion.time[rows[0]] < SHORTEST_POSE_S:
            continue
        settled = rows[motion.time[rows] >= motion.time[rows[0]] + SETTLES_S]
        yield motion.q[settled].mean(axis=0), motion.raw[settled].mean(axis=0)


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """Friction of joints that were swept one at a time.

    Args:
        robot: The robot with the friction that a URDF holds; bodies as they were.
        friction: Of all joints: that of the URDF where a joint was not swept.
        swept: Which joints were swept, shape (n,).
        speed: Highest speed of each joint, shape (n,), rad/s or m/s.
        notes: What was determined of each joint, and what was not.
        found: The fit of motions and efforts; its inertias are only those that the sweeps feel.
    """

    robot: Robot
    friction: Friction
    swept: Array
    speed: Array
    notes: tuple[str, ...]
    found: Identification

    def __str__(self) -> str:
        count = f"{int(self.swept.sum())} of {counted(len(self.swept), 'joint')}"
        lines = [f"{self.robot.name}: friction of {count}"]
        lines += [f"  - {note}" for note in self.notes]
        lines.append(
            "  not determined by sweeps: inertias, rotor inertia and gravity beyond these motions, "
            "which stay as the URDF has them"
        )
        return "\n".join(lines)


def identify_friction(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    cutoff: float | None = None,
    progress: Progress = quiet,
) -> FrictionFit:
    """Identify friction from sweeps of one joint at a time, to and fro at several speeds.

    What the bodies add is fitted beside friction, so that wrong inertias of the URDF do no harm.

    Args:
        robot: Robot of the URDF.
        recording: Sweeps, of one joint or of several in turn.
        cutoff: Of the low-pass, Hz; by default from the motion.
        progress: Called with the stage and the share of the work done.

    Returns:
        Robot and friction, and what could not be determined.

    Raises:
        RecordingError: If no joint is swept.
    """
    motion, _ = checked_motion(robot, recording, cutoff)
    regime = own_regimes(robot, motion)
    moving = regime == MOVING
    swept = (np.ptp(motion.q, axis=0) > still(robot)) & moving.any(axis=0)
    if not swept.any():
        raise RecordingError("no joint is swept; move one at a time to and fro, at several speeds")
    found = identify(
        robot, recording, cutoff=cutoff, rotor_inertia=False, physical=False, progress=progress
    )
    speed = np.abs(motion.qd).max(axis=0)
    of_urdf = Friction.of(robot)
    mixed = {
        term.name: np.where(swept, getattr(found.friction, term.name), getattr(of_urdf, term.name))
        for term in fields(Friction)
    }
    friction = Friction(**mixed)
    notes = []
    for j, name in enumerate(robot.joint_names):
        if not swept[j]:
            notes.append(f"joint '{name}': not swept; its friction stays as the URDF has it")
            continue
        turns = int(np.sum(np.diff(np.sign(motion.qd[moving[:, j], j])) != 0))
        others = np.delete(regime, j, axis=1)
        alone = np.sum(np.all(others == AT_REST, axis=1) & moving[:, j]) / moving[:, j].sum()
        fit = found.report.fits[j].regimes[-1].filtered
        note = (
            f"joint '{name}': viscous {friction.viscous[j]:.3g}, Coulomb "
            f"{friction.coulomb[j]:.3g}, offset {friction.offset[j]:.3g}, up to {speed[j]:.2g} "
            f"rad/s or m/s, {turns} reversals; {fit.rms:.2g} N m or N rms stay unexplained"
        )
        if turns < 2:
            note += "; it turns back too seldom to tell Coulomb friction from an offset"
        if alone < TIMES_ALONE:
            note += "; other joints move with it, which a full identification takes better"
        notes.append(note)
    rubbing = with_friction(robot, friction, np.eye(robot.dof))
    return FrictionFit(rubbing, friction, swept, speed, tuple(notes), found)
