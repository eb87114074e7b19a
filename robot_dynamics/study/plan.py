"""The plan of a study: one robot, its motions and laws, the variation and the limits."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.loop.normals import mixed
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.gains import Gains
from robot_dynamics.control.laws import ALL_MODES, TASK_MODES
from robot_dynamics.control.settings import CONTROLLER, DRIVE, FEEDBACK
from robot_dynamics.control.task_settings import TaskSettings
from robot_dynamics.control.two_masses import ENCODERS, LINK, check_motors
from robot_dynamics.dynamics.compiled_robot import robot_digest
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.robot.endpoint import default_end_effector, end_effector_by_rule
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.base_motions import Poses, Sine
from robot_dynamics.simulation.drive_loop import drive_step
from robot_dynamics.simulation.simd.law_stages import BATCH_INTEGRATORS, KNOWN_BASES
from robot_dynamics.study.distributions import SAMPLINGS, Distribution, unit_samples
from robot_dynamics.study.quantities import QUANTITIES, check_values, elastic_joints
from robot_dynamics.trajectory.interpolation import interpolate
from robot_dynamics.trajectory.motions import (
    excitation,
    middle_pose,
    polynomial_345,
    random_poses,
)
from robot_dynamics.trajectory.trajectory import Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

MOTIONS = ("quintic", "excitation", "random", "hold")
"""Motions for any robot, by name."""


GAINS = ("fitted", "ideal")
"""Sources of gains, by name."""


@dataclass(frozen=True)
class RunLimits:
    """Limits that a run must respect.

    Args:
        error: Largest position error of any joint, rad or m.
        saturation: Largest share of the periods in which the effort of a joint is saturated.
        end_effector_position: Largest position error of the end effector, m.
        end_effector_rotation: Largest rotation error of the end effector, rad.
    """

    error: float = 0.05
    saturation: float = 1.0
    end_effector_position: float = np.inf
    end_effector_rotation: float = np.inf

    def __post_init__(self) -> None:
        for name in ("error", "end_effector_position", "end_effector_rotation"):
            if not getattr(self, name) > 0.0:
                raise ArgumentError(
                    f"{name} limit is {getattr(self, name)}; give a positive number"
                )
        if not 0.0 <= self.saturation <= 1.0:
            raise ArgumentError(f"saturation limit is {self.saturation}; give a share from 0 to 1")


@dataclass(frozen=True)
class StudyPlan:
    """All inputs on which the results of a study depend.

    Args:
        robot: The nominal robot.
        runs: Number of runs of every mode.
        motions: Names of `MOTIONS`, or the motions themselves; runs take them in turn.
        modes: Names of `control.ALL_MODES`; every run is repeated with each.
        vary: Distributions by the names of `QUANTITIES`.
        sampling: One of `SAMPLINGS`.
        seed: The same seed gives the same study.
        duration: Duration of a run, s.
        rest: Final share of the duration in which the arm must stand still.
        rate: Control rate, Hz, unless it varies.
        step: Step of the plant, s; by default the control period, or a part of it that is at most
            the period of drives that close the loop.
        integrator: "semi_implicit_euler" or "runge_kutta".
        bandwidth: Bandwidth of the feedback, rad/s.
        feedback: One of `FEEDBACK`: "controller", or "drive" for drives that close the loop, with
            the gains themselves.
        gains: "fitted" for the default gains of a controller, which are reduced where the sampled
            loop requires it; "ideal" for the gains of the bandwidth without reduction; or the
            gains themselves.
        integral: Ratio ki / kp for "fitted" and "ideal", 1/s.
        effort_rate: Largest rate of change of the effort of a joint, N m/s or N/s.
        end_effector: Link or frame whose error is measured and which modes in task space lead; by
            default the first tip.
        task: Settings of modes in task space; by default those of the bandwidth.
        frame: Frame that carries the payload; by default the end effector by
            `end_effector_by_rule`, or else the first tip.
        known_payload: Load at that frame in the law's model, kg.
        friction: Friction of the joints, such as an identified one; by default that of the URDF.
        rotor_inertia: Of the rotors at the joints, shape (n,), kg m^2 or kg; by default none.
        elasticity_known: Whether the law knows the springs of elastic joints, in its reference and
            its gains.
        encoders: Side of elastic joints that is measured, one of `two_masses.ENCODERS`.
        base_motion: Motion of the root link; by default it stands.
        known_base: One of `KNOWN_BASES`: what the law's model knows of that motion.
        stops: Whether joints stop at their position limits.
        limits: Limits that a run must respect.

    Raises:
        ArgumentError: If a number is out of range, or a quantity is unknown.
        UnknownNameError: If a motion, mode, sampling or integrator is unknown.
    """

    robot: Robot
    runs: int = 1000
    motions: tuple[str | Waypoints, ...] = ("quintic",)
    modes: tuple[str, ...] = ("feedforward",)
    vary: Mapping[str, Distribution] = field(default_factory=dict)
    sampling: str = "sobol"
    seed: int = 0
    duration: float = 5.0
    rest: float = 0.2
    rate: float = 1000.0
    step: float | None = None
    integrator: str = "semi_implicit_euler"
    bandwidth: float = 20.0
    feedback: str = CONTROLLER
    gains: str | Gains = "fitted"
    integral: float = 0.0
    effort_rate: float = np.inf
    end_effector: str | None = None
    task: TaskSettings | None = None
    frame: str | None = None
    known_payload: float = 0.0
    friction: Friction | None = None
    rotor_inertia: Array | None = None
    elasticity_known: bool = True
    encoders: str = LINK
    base_motion: Sine | Poses | None = None
    known_base: str = "motion"
    stops: bool = True
    limits: RunLimits = field(default_factory=RunLimits)

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ArgumentError(f"runs is {self.runs}; a study takes at least one")
        for name in ("duration", "rate", "bandwidth"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise ArgumentError(f"{name} is {value}; give a positive number")
        if self.step is not None and not 0.0 < self.step <= (1.0 + 1e-9) / self.rate:
            raise ArgumentError(
                f"step is {self.step:g} s; give one above zero and up to the period of control, "
                f"{1.0 / self.rate:g} s"
            )
        if not 0 <= self.seed < 2**64:
            raise ArgumentError(f"seed is {self.seed}; give one from 0 to 2^64 - 1")
        if not self.effort_rate > 0.0:
            raise ArgumentError(f"effort_rate is {self.effort_rate}; give a positive number")
        if not 0.0 <= self.known_payload < np.inf:
            raise ArgumentError(
                f"known_payload is {self.known_payload} kg; give a finite mass of zero or more"
            )
        if not 0.0 <= self.rest < 1.0:
            raise ArgumentError(f"rest is {self.rest}; give a share of the run, from 0 to below 1")
        for mode in self.modes:
            check_known("mode", mode, "robot_dynamics.control", ALL_MODES)
        for motion in self.motions:
            if isinstance(motion, str):
                check_known("motion", motion, "robot_dynamics.study", MOTIONS)
        for name in self.vary:
            if name not in QUANTITIES:
                close = difflib.get_close_matches(name, QUANTITIES, n=1)
                hint = f"; did you mean '{close[0]}'?" if close else ""
                known = ", ".join(QUANTITIES)
                raise ArgumentError(f"nothing called '{name}' can vary (known: {known}){hint}")
        self._check_gains()
        self._check_springs()
        check_known("knowledge of the base", self.known_base, "robot_dynamics.study", KNOWN_BASES)
        if self.base_motion is not None and "tilt" in self.vary:
            raise ArgumentError("tilt turns the base that base_motion moves; leave one out")
        check_known("sampling", self.sampling, "robot_dynamics.study", SAMPLINGS)
        check_known("integrator", self.integrator, "a compiled loop", BATCH_INTEGRATORS)
        for frame in (self.frame, self.end_effector_frame):
            if frame is not None:
                self.robot.frame(frame)  # refuses an unknown name
        if self.steps < 1:
            raise ArgumentError(f"duration is {self.duration} s, shorter than a step of the plant")

    def _check_gains(self) -> None:
        check_known("feedback", self.feedback, "robot_dynamics.study", FEEDBACK)
        if self.by_drives and isinstance(self.gains, str):
            raise ArgumentError(f"gains are {self.gains}; with feedback by drives give theirs")
        if isinstance(self.gains, str):
            check_known("kind of gains", self.gains, "robot_dynamics.study", GAINS)
            return
        count, dof = self.gains.kp.size, self.robot.dof
        if count not in (1, dof):
            raise ArgumentError(f"gains are of {counted(count, 'joint')} and the robot has {dof}")
        if self.integral:
            raise ArgumentError("integral is given beside gains; give it as ki of the gains")

    def _check_springs(self) -> None:
        check_known("encoders", self.encoders, "robot_dynamics.study", ENCODERS)
        if not self.robot.elastic_joints:
            for name in self.vary:
                if QUANTITIES[name].parts is elastic_joints:
                    raise ArgumentError(f"{name}: robot '{self.robot.name}' has no elastic joint")
            return
        rotors = np.zeros(self.robot.dof) if self.rotor_inertia is None else self.rotor_inertia
        check_motors(self.robot, rotors)
        if self.integrator != "semi_implicit_euler":
            raise ArgumentError("elastic joints are studied with semi_implicit_euler alone")
        if self.by_drives:
            raise ArgumentError("elastic joints are not studied with feedback by drives")

    @property
    def end_effector_frame(self) -> str:
        """Name of the frame whose error is measured."""
        if self.end_effector is not None:
            return self.end_effector
        found = end_effector_by_rule(self.robot)
        return (
            default_end_effector(self.robot) if self.in_task_space else found or self.robot.tips[0]
        )

    @property
    def by_drives(self) -> bool:
        """True if drives close the loop."""
        return self.feedback == DRIVE

    @property
    def in_task_space(self) -> bool:
        """True if a mode leads the end effector."""
        return any(mode in TASK_MODES for mode in self.modes)

    @property
    def payload_frame(self) -> str:
        """Name of the frame that carries the payload."""
        if self.frame is not None:
            return self.frame
        return end_effector_by_rule(self.robot) or self.robot.tips[0]

    @property
    def joint_friction(self) -> Friction:
        """Friction of the joints."""
        return Friction.of(self.robot) if self.friction is None else self.friction

    @cached_property
    def plant_step(self) -> float:
        """Step of the plant, s."""
        if self.step is not None:
            return self.step
        if self.by_drives and isinstance(self.gains, Gains):
            return drive_step(Dynamics(self.robot), self.gains.kd, self.rate, self.rotor_inertia)
        return 1.0 / self.rate

    @property
    def steps(self) -> int:
        """Steps of a run."""
        return int(np.floor(self.duration / self.plant_step + 1e-9))

    def dimensions(self) -> list[str]:
        """Return the names of all dimensions that vary."""
        return [
            column for name in self.vary for column in QUANTITIES[name].columns(name, self.robot)
        ]

    def values(self) -> dict[str, Array]:
        """Return the values of every run by quantity, shape (runs, dimensions) each.

        Raises:
            ArgumentError: If a distribution reaches an invalid value.
        """
        points = unit_samples(self.sampling, self.runs, len(self.dimensions()), self.seed)
        found, at = {}, 0
        for name, distribution in self.vary.items():
            columns = QUANTITIES[name].columns(name, self.robot)
            found[name] = distribution.at(points[:, at : at + len(columns)])
            check_values(name, columns, found[name])
            at += len(columns)
        return found

    @property
    def count(self) -> int:
        """Number of runs of every mode: `runs`, or the number of points of a grid."""
        points = unit_samples(self.sampling, self.runs, len(self.dimensions()), self.seed)
        return len(points)

    def keys(self, start: int, stop: int) -> Array:
        """Return the keys of the noise streams of runs.

        Args:
            start: First run.
            stop: One past the last run.

        Returns:
            64-bit integers, shape (stop - start,).
        """
        first = mixed(np.array([self.seed], dtype=np.uint64))
        with np.errstate(over="ignore"):
            return mixed(first + mixed(np.arange(start, stop, dtype=np.uint64)))

    def trajectories(self) -> list[Trajectory]:
        """Return the desired motions, which end before the resting share of the run.

        Raises:
            ArgumentError: If the joints of a motion are not those of the robot.
        """
        return [self._trajectory(motion) for motion in self.motions]

    def _trajectory(self, motion: str | Waypoints) -> Trajectory:
        robot, moving = self.robot, self.duration * (1.0 - self.rest)
        smoothness = 4 if robot.elastic_joints else 2
        if not isinstance(motion, str):
            if motion.joint_names != robot.joint_names:
                raise ArgumentError(
                    f"a motion has joints {', '.join(motion.joint_names)} but the robot "
                    f"{', '.join(robot.joint_names)}; give both the same, in the same order"
                )
            return interpolate(motion, smoothness=smoothness)
        if motion == "hold":
            return Trajectory.hold(robot.joint_names, middle_pose(robot))
        if motion == "excitation":
            return interpolate(excitation(robot, moving), smoothness=smoothness)
        if motion == "random":
            return interpolate(random_poses(robot, seed=self.seed), smoothness=smoothness)
        return interpolate(quintic(robot, moving), smoothness=smoothness)

    def digest(self) -> str:
        """Return a fingerprint of all inputs of the results, 16 hex digits."""
        friction, limits = self.joint_friction, self.robot.limits
        own = (limits.lower, limits.upper, limits.velocity, limits.effort)
        parts: list[Any] = [robot_digest(self.robot)]
        parts += [x.tolist() for x in (*own, *self.robot.joint_elasticity)]
        parts += [getattr(friction, item.name).tolist() for item in fields(friction)]
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "motions":
                value = [
                    m if isinstance(m, str) else [m.times.tolist(), m.positions.tolist()]
                    for m in value
                ]
            if isinstance(value, Gains | TaskSettings | Sine | Poses):
                value = [np.asarray(getattr(value, part.name)).tolist() for part in fields(value)]
            if isinstance(value, np.ndarray):
                value = value.tolist()
            if item.name not in ("robot", "friction"):
                parts.append((item.name, value))
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def with_bandwidth(self, bandwidth: float) -> StudyPlan:
        """Return the same study with another bandwidth of the feedback.

        Args:
            bandwidth: Natural frequency, rad/s.

        Returns:
            The plan.

        Raises:
            ArgumentError: If the bandwidth is not positive.
        """
        return replace(self, bandwidth=bandwidth)


def quintic(robot: Robot, duration: float, share: float = 0.5) -> Waypoints:
    """Move all joints at once between two poses by the minimum-jerk polynomial.

    The poses lie symmetrically about the middle of each joint's range, with alternating signs.
    Their distance uses at most half the velocity limit and at most `share` of the range.

    Args:
        robot: Any robot.
        duration: Duration of the motion, s.
        share: Share of the range.
    """
    c = middle_pose(robot)
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    half = np.where(bounded, (upper - lower) / 2.0, 1.0) * share
    # 15/8 is the peak of the polynomial's speed over its mean
    fastest = np.where(np.isfinite(robot.limits.velocity), robot.limits.velocity, 2.0)
    half = np.minimum(half, 0.5 * fastest * duration / (2.0 * 1.875))
    away = half * np.where(np.arange(robot.dof) % 2, -1.0, 1.0)
    return polynomial_345(robot.joint_names, c - away, c + away, duration)


def names_of(motions: Sequence[str | Waypoints]) -> list[str]:
    """Return the names of motions in a table."""
    return [m if isinstance(m, str) else f"motion {k}" for k, m in enumerate(motions)]
