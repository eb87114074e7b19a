"""Parameters of batch members from a model, a plant and a motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.effort_limits import effort_limits
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.model import Model
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.simd.compiled_loop import LoopStructure
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias
from robot_dynamics.spatial import inertial_parameters
from robot_dynamics.trajectory.trajectory import Trajectory

Parameters = dict[str, Array]


def model_parameters(inertias: SymbolicInertias, model: Model) -> Parameters:
    """Return the parameters of the law's model, shared by all members.

    Raises:
        ArgumentError: If the model exerts a wrench, which a compiled loop does not support.
    """
    if model.wrench is not None:
        raise ArgumentError("a compiled loop has no wrench; leave it out of the model")
    robot, n = model.dynamics.robot, model.dynamics.robot.dof
    body = inertias.values(robot)
    if model.payload is not None:
        at = inertias.of_body_at(model.frame or robot.tips[0])
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
    inertias: SymbolicInertias, friction: Friction, *, stops: bool, step: float
) -> Parameters:
    """Return the parameters of the plant as in the URDF, shared by all members; see `Plant`."""
    robot, n = inertias.robot, inertias.tree.dof
    unbounded = np.full(n, np.inf)
    return {
        "body": inertias.values(robot),
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
    model: Model, structure: LoopStructure, motion: Trajectory, t: Array, windows: Array
) -> Array:
    """Return the reference of the law in every step, shape (N, 4 n + 2).

    Args:
        model: The law's model of the robot.
        structure: Only its mode is used.
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
    """Return the efforts that hold the arm at the start of every motion, shape (m, n)."""
    return np.array([model.gravity(np.array(motion.sample(0.0).q)) for motion in motions])
