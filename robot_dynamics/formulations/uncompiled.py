"""Any formulation of any robot, as plain NumPy: nothing is traced or compiled.

Fixed links are merged, mimic joints coupled and an endpoint wrench brought to its
link here, so that no formulation needs to know.
"""

from __future__ import annotations

from dataclasses import replace

import numpy.typing as npt

from robot_dynamics.arrays import Array, vector
from robot_dynamics.formulations.registry import (
    DEFAULT_FORMULATION,
    InverseDynamics,
    formulation_named,
)
from robot_dynamics.robot.endpoint import wrench_argument
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.scalars import lowered


def inverse_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    *,
    gravity: npt.ArrayLike | None = None,
    wrench: npt.ArrayLike | None = None,
    frame: str | None = None,
    formulation: str | InverseDynamics = DEFAULT_FORMULATION,
) -> Array:
    """Compute the joint efforts that produce the given accelerations, uncompiled.

    On any scalar: numbers, complex ones too, or symbols of SymPy, CasADi and the like, as lists
    or arrays of objects.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad (revolute) or m (prismatic).
        qd: Joint velocities, shape (n,), rad/s or m/s.
        qdd: Joint accelerations, shape (n,), rad/s^2 or m/s^2.
        gravity: Acceleration of free fall, shape (3,), m/s^2, axes of the root link; by default
            `robot.gravity`.
        wrench: Force (N) and moment (N m) about the origin of `frame` that the robot exerts on
            its surroundings there, shape (6,), in the axes of `frame`.
        frame: Link or named frame where the wrench acts; by default the only tip of the robot.
        formulation: One of `FORMULATIONS`, or a function such as a `SimplifiedModel`.

    Returns:
        Joint efforts tau, shape (n,), N m or N, positive along each joint axis. The effort of a
        joint that others mimic carries theirs, through their multipliers.

    Raises:
        ShapeError: If an argument does not have the shape above.
        ArgumentError: If an entry is not a finite number.
        UnknownNameError: If there is no such formulation or frame.
    """
    equations = formulation_named(formulation)
    tree = merge_fixed(robot)
    if gravity is not None:
        tree = replace(tree, gravity=vector("gravity", gravity, 3))
    n = robot.dof
    q, qd, qdd = vector("q", q, n), vector("qd", qd, n), vector("qdd", qdd, n)
    wrenches = wrench_argument(tree, wrench, frame)
    joints = tree.coupling
    motion = joints.positions(q), joints.rates(qd), joints.rates(qdd)
    return lowered(joints.efforts(equations(tree, *motion, wrenches)))
