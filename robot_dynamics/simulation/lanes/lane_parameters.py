"""Parameters of lanes from a model, a plant and a motion: what is a number there is one here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.effort_limits import effort_limits
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.model import Model
from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.lanes.body_letters import BodyLetters
from robot_dynamics.simulation.lanes.compiled_loop import Structure
from robot_dynamics.spatial.rigid_body import inertial_parameters
from robot_dynamics.trajectory.trajectory import Trajectory

Parameters = dict[str, Array]


def model_parameters(letters: BodyLetters, model: Model) -> Parameters:
    """What the law knows, for all lanes.

    Raises:
        ArgumentError: If the model exerts a wrench, which a compiled loop knows nothing of.
    """
    if model.wrench is not None:
        raise ArgumentError("a compiled loop has no wrench; leave it out of the model")
    robot, n = model.dynamics.robot, model.dynamics.robot.dof
    body = letters.values(robot)
    if model.payload is not None:
        at = letters.of_body_at(model.frame or robot.tips[0])
        body = body + at @ inertial_parameters(model.payload)
    gains = model.gains
    return {
        "model_body": body,
        "model_gravity": robot.gravity if model.free_fall is None else model.free_fall,
        "model_rotor": np.zeros(n) if model.rotor_inertia is None else model.rotor_inertia,
        "kp": np.broadcast_to(gains.kp, (n,)),
        "kd": np.broadcast_to(gains.kd, (n,)),
        "ki": np.broadcast_to(gains.ki, (n,)),
        "i_clamp": np.broadcast_to(gains.i_clamp, (n,)),
        "bandwidth": np.array([model.bandwidth]),
        "damping_ratio": np.array([model.damping_ratio]),
    }


def plant_parameters(
    letters: BodyLetters, friction: Friction, *, stops: bool, step: float
) -> Parameters:
    """The plant as the URDF has it, for all lanes; see `Plant`."""
    robot, n = letters.robot, letters.tree.dof
    unbounded = np.full(n, np.inf)
    return {
        "body": letters.values(robot),
        "gravity": robot.gravity,
        "h": np.array([step]),
        "viscous": np.broadcast_to(friction.viscous, (n,)),
        "coulomb": np.broadcast_to(friction.coulomb, (n,)),
        "stiction": np.broadcast_to(friction.stiction, (n,)),
        "stribeck": np.broadcast_to(friction.stribeck, (n,)),
        "lower": robot.limits.lower if stops else -unbounded,
        "upper": robot.limits.upper if stops else unbounded,
        "limit": effort_limits(robot),
        "effort_rate": unbounded,
        "every": np.ones(1),
        **({"load": friction.load, "offset": friction.offset} if friction.is_uneven else {}),
    }


def reference_table(
    model: Model, structure: Structure, motion: Trajectory, t: Array, windows: Array
) -> Array:
    """What the law is told of a motion in every step, shape (N, 4 n + 2).

    Args:
        model: What the law knows.
        structure: The mode counts.
        motion: Desired motion.
        t: Times of the steps, shape (N,), s.
        windows: Two weights of the speed, shape (N, 2): see `STATISTICS`, early and late.
    """
    state = motion.sample(t)
    q, qd, qdd = (np.ascontiguousarray(x) for x in state)
    loaded = model.friction is not None and bool(model.friction.load.any())
    load = model.inverse(q, qd, qdd) if loaded else None
    friction = np.broadcast_to(model.friction_effort(qd, load), qd.shape)
    effort = friction
    if structure.mode == "feedforward":
        effort = model.feedforward(q, qd, qdd)
    return np.concatenate([q, qd, qdd, effort, windows], axis=1)


def first_efforts(model: Model, motions: Sequence[Trajectory]) -> Array:
    """Efforts that hold the arm at the start of every motion, shape (m, n)."""
    return np.array([model.gravity(np.array(motion.sample(0.0).q)) for motion in motions])
