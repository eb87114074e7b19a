"""Stiffness of elastic joints, from a recording of their motors and their links.

The model of the links gives the efforts tau_J that the springs bear. The twist theta - q is then

    theta - q = tau_J / K - (D / K) (theta' - q') + offset

with an offset between the zeros of the two encoders. Least squares of the twist, which has the
noise of the encoders, gives 1 / K and D / K of each joint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import signals
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.robot.robot import Robot

BLOCKS = 10
"""Consecutive parts of a recording; their estimates tell how sure the whole one is."""

DEVIATIONS = 3.0
"""Standard errors by which a compliance must exceed zero, or the joint counts as rigid."""


class ElasticityFit(NamedTuple):
    """Elasticity that was identified, shape (n,) each.

    Attributes:
        elasticity: Stiffness and damping; infinite and zero where a joint does not bend measurably.
        deviation: Standard errors of the stiffness, N m/rad or N/m; NaN where it is infinite.
        damping_deviation: Standard errors of the damping, N m s/rad or N s/m.
        explained: Share of the variance of the twist that the springs explain.
        offset: Motor minus link position without load, rad or m.
    """

    elasticity: JointElasticity
    deviation: Array
    damping_deviation: Array
    explained: Array
    offset: Array

    def table(self, robot: Robot) -> str:
        """Print the fit as a line for every joint.

        Args:
            robot: The robot, for the names of its joints.

        Returns:
            Lines of text.
        """
        lines = []
        rows = zip(robot.joint_names, *self.elasticity, self.deviation, self.explained, strict=True)
        for name, K, D, error, share in rows:
            explains = f", explains {share:.1%}" if np.isfinite(K) else ""
            lines.append(f"  {name}: {spring_text(K, error, D)}{explains}")
        return "\n".join(lines)


def spring_text(stiffness: float, error: float, damping: float) -> str:
    """Print the spring of a joint, its stiffness with twice the standard error."""
    if not np.isfinite(stiffness):
        return "does not bend measurably"
    return f"stiffness {stiffness:.4g} +- {2.0 * error:.2g}, damping {damping:.3g}"


def identify_elasticity(
    robot: Robot, links: Recording, motors: Recording, *, cutoff: float | None = None
) -> ElasticityFit:
    """Identify stiffness and damping between motors and links.

    Args:
        robot: The robot with its inertias; see `identify`.
        links: Motion of the links; its efforts are not used.
        motors: Motion of the motors at the same times, as seen at the joints.
        cutoff: Of the low-pass, Hz; by default from the motion. A higher one, up to the resonance,
            tells more of the damping.

    Returns:
        Stiffness and damping with standard errors.

    Raises:
        RecordingError: If the recordings are not of the same times, or cannot be used.
    """
    if not np.array_equal(links.time, motors.time):
        raise RecordingError(
            f"{motors.source}: its times are not those of {links.source}; record both sides at once"
        )
    link = signals(links, cutoff)
    motor = signals(replace(motors, tau=links.tau), link.cutoff)
    if not np.array_equal(link.time, motor.time):
        raise RecordingError(f"{motors.source}: has other gaps than {links.source}")
    borne = Dynamics(robot).inverse(link.q, link.qd, link.qdd)
    twist, rate = motor.q - link.q, motor.qd - link.qd
    fits = [_fit(*columns) for columns in zip(borne.T, rate.T, twist.T, strict=True)]
    stiffness, damping, deviation, damping_deviation, explained, offset = np.array(fits).T
    return ElasticityFit(
        JointElasticity(stiffness, damping), deviation, damping_deviation, explained, offset
    )


def _fit(borne: Array, rate: Array, twist: Array) -> tuple[float, ...]:
    """Return stiffness, damping, their standard errors, explained share and offset of a joint."""
    columns = np.column_stack([borne, -rate, np.ones(len(twist))])
    scale = np.maximum(np.abs(columns).max(axis=0), np.finfo(float).tiny)

    def solve(rows: Array) -> Array:
        found = np.linalg.lstsq(columns[rows] / scale, twist[rows], rcond=None)[0]
        return np.asarray(found / scale)

    every = np.arange(len(twist))
    compliance, lag, offset = solve(every)
    # Leaving out one block in turn: the errors within a block belong together
    without = np.array([solve(np.setdiff1d(every, one)) for one in np.array_split(every, BLOCKS)])
    error = np.sqrt((BLOCKS - 1.0) * without.var(axis=0))
    left = twist - columns @ np.array([compliance, lag, offset])
    explained = 1.0 - left.var() / max(twist.var(), np.finfo(float).tiny)
    if compliance <= DEVIATIONS * error[0]:
        return np.inf, 0.0, np.nan, np.nan, explained, offset
    K = 1.0 / compliance
    return (
        K,
        max(lag * K, 0.0),
        K * K * error[0],
        K * error[1],
        explained,
        offset,
    )
