"""The load at a link, from a motion with it and a model of the arm without it.

A load adds to the base parameters of the arm what its ten parameters gather there, so that
efforts beyond those of the arm alone are linear in them. What a motion does not show of a
load (its inertia at slow speed, or all but its mass on an arm in a plane) is made as small
as a body can be.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.identification.effort_model import EffortModel, regressor_at_drives
from robot_dynamics.identification.least_squares import Problem, estimate, normal, undetermined
from robot_dynamics.identification.link_inertias import (
    PAIRS,
    Quadratic,
    carried_at,
    columns_by_entry,
)
from robot_dynamics.identification.regimes import moves
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import at_random, joint_signals, recordings_of
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import PARAMETERS, body_with

ROUNDS = 3
"""Friction that grows with the load is found in turns with the load."""

UNDETERMINED = 1e-3
"""Weight of directions that the data do not determine, relative to those that they do."""


SURE = 3.0
"""Standard deviations by which a load must differ from none."""


@dataclass(frozen=True, eq=False)
class Payload:
    """An identified load.

    Args:
        frame: Link or frame that it is fastened to.
        mass: kg.
        com: Mass centre in `frame`, shape (3,), m.
        inertia: About the mass centre in axes of `frame`, shape (3, 3), kg m^2.
        deviation: Standard deviations by name of the ten `PARAMETERS` about the origin of the
            frame; infinite where the motion does not show one.
        hidden: Names of those that no motion of the arm shows.
    """

    frame: str
    mass: float
    com: Array
    inertia: Array
    deviation: dict[str, float]
    hidden: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """True if the mass, or the first moment without it, exceeds its uncertainty."""
        names = ("m",) if np.isfinite(self.deviation["m"]) else PARAMETERS[1:4]
        values = dict(zip(PARAMETERS, (self.mass, *self.mass * self.com), strict=False))
        return any(abs(values[name]) > SURE * self.deviation[name] for name in names)

    def on(self, robot: Robot) -> Robot:
        """Put the load on a robot.

        Args:
            robot: The robot without it.

        Returns:
            The robot that carries it.

        Raises:
            UnknownNameError: If the robot has no such frame.
            RobotError: If the load is physically impossible.
        """
        return robot.with_payload(self.frame, self.mass, self.com, self.inertia)


def identify_payload(
    robot: Robot,
    model: EffortModel,
    recording: Recording | Sequence[Recording],
    frame: str,
    *,
    cutoff: float | None = None,
) -> Payload:
    """Find the load of an arm.

    Args:
        robot: The arm that the model is of.
        model: Efforts without the load: `Identification.model`, or `EffortModel.of`.
        recording: Motion with the load.
        frame: Link or frame that carries it.
        cutoff: Of the low-pass, Hz; by default from the motion.

    Returns:
        The load with standard deviations.

    Raises:
        UnknownNameError: If there is no such frame.
        RobotError: If no joint moves the frame.
        RecordingError: If the recording cannot be used.
    """
    motion = joint_signals(recordings_of(recording), cutoff)
    B = carried_at(robot, frame)
    X = regressor_at_drives(model.dynamics, motion, model.drive) @ B
    tau = motion.tau @ np.linalg.inv(model.drive)
    moving, pi = moves(motion, model.drive), np.zeros(len(PARAMETERS))
    for _ in range(ROUNDS):
        loaded = replace(model, base=model.base + B @ pi)
        rest = tau - loaded.drive_efforts(motion) + X @ pi
        problem = Problem(X, rest, np.zeros(len(pi)), np.ones_like(rest, dtype=bool), moving)
        fit = estimate(problem)
        pi = _nearest_body(Quadratic.of(*normal(problem, fit.sample_weight)))
    deviation = dict(zip(PARAMETERS, map(float, fit.deviation), strict=True))
    anywhere = at_random(robot, motion)
    X = regressor_at_drives(model.dynamics, anywhere, model.drive) @ B
    gram, _ = normal(replace(problem, X=X, tau=anywhere.tau), np.ones_like(anywhere.tau))
    hidden = tuple(x for x, lost in zip(PARAMETERS, undetermined(gram), strict=True) if lost)
    if pi[0] <= 1e-6:
        return Payload(frame, 0.0, np.zeros(3), np.zeros((3, 3)), deviation, hidden)
    body = body_with(pi)
    return Payload(frame, float(body.mass), body.com, body.about_com, deviation, hidden)


def _nearest_body(data: Quadratic) -> Array:
    """Return the smallest body among those that fit the data best, shape (10,)."""
    cp = needed("cvxpy", "payload identification", "identification")
    T = columns_by_entry(np.eye(4))
    J = cp.Variable((4, 4), PSD=True)
    entries = cp.hstack([J[a, b] for a, b in PAIRS])
    size = max(float(np.abs(data.d).max()), 1e-9)  # keeps the solver accurate
    fit = (data.R @ T @ entries - data.d) / size
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(fit) + (UNDETERMINED / size) ** 2 * cp.trace(J))
    )
    with warnings.catch_warnings():  # of accuracy, where there is no load
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL)
    if J.value is None:
        raise RecordingError(f"payload: the solver says {problem.status}; record another motion")
    return np.asarray(T @ np.array([J.value[a, b] for a, b in PAIRS]))
