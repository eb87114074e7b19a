"""Any formulation of any robot, as plain NumPy: nothing is traced or compiled.

Fixed links are merged, mimic joints coupled and an endpoint wrench brought to its
link here, so that no formulation needs to know.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.composite_body import elimination_parents, factorise, solve
from robot_dynamics.errors import SingularMassMatrixError
from robot_dynamics.formulations.registry import (
    DEFAULT_FORMULATION,
    InverseDynamics,
    equations_of_motion_named,
    formulation_named,
)
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.foundation.scalars import lifted, lowered
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.robot.endpoint import wrench_argument
from robot_dynamics.robot.free_joints import motion_of, rates_of_twists
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

ROUND_OFF = 1e-13
"""A pivot of the mass matrix below this part of its diagonal entry is zero."""


def inverse_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    *,
    gravity: npt.ArrayLike | None = None,
    wrench: npt.ArrayLike | None = None,
    frame: str | None = None,
    base: BaseMotion | None = None,
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
        gravity: Gravitational acceleration, shape (3,), m/s^2, axes of the root link; by default
            `robot.gravity`.
        wrench: Force (N) and moment (N m) about the origin of `frame` that the robot exerts on
            its surroundings there, shape (6,), in the axes of `frame`.
        frame: Link or named frame where the wrench acts; by default the only tip of the robot.
        base: Motion of the root link, which has gravity, too; by default it stands still.
        formulation: One of `FORMULATIONS`, or a function such as a `SimplifiedModel`.

    Returns:
        Joint efforts tau, shape (n,), N m or N, positive along each joint axis. The effort of a
        joint that others mimic carries theirs, through their multipliers.

    Raises:
        ShapeError: If an argument does not have the shape above.
        ArgumentError: If an entry is not a finite number.
        UnknownNameError: If there is no such formulation or frame.

    Examples:
        >>> from robot_dynamics import read_urdf
        >>> from robot_dynamics.formulations import inverse_dynamics
        >>> from robot_dynamics.robot import find_robot
        >>> planar = read_urdf(find_robot("planar_2r"))
        >>> q, qd, qdd = [0.3, 0.9], [0.7, -1.1], [1.5, -0.4]
        >>> inverse_dynamics(planar, q, qd, qdd, formulation="kane").round(2)
        array([163.62,  22.45])
    """
    equations = formulation_named(formulation)
    if base is not None:
        at, twist, acceleration = np.split(base.numbers(robot), (3, 9))
        tau = inverse_dynamics(
            robot.with_floating_base(),
            np.append([0.0] * 6 + [1.0], q),
            np.append(twist, qd),
            np.append(acceleration, qdd),
            gravity=at,
            wrench=wrench,
            frame=frame,
            formulation=formulation,
        )
        return tau[6:]
    tree = merge_fixed(robot)
    if gravity is not None:
        tree = replace(tree, gravity=vector("gravity", gravity, 3))
    n = robot.dof
    q, qd, qdd = vector("q", q, robot.nq), vector("qd", qd, n), vector("qdd", qdd, n)
    wrenches = wrench_argument(tree, wrench, frame)
    tree, x, xd, xdd = motion_of(tree, q, qd, qdd)
    return lowered(tree.coupling.efforts(equations(tree, x, xd, xdd, wrenches)))


def forward_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    gravity: npt.ArrayLike | None = None,
    wrench: npt.ArrayLike | None = None,
    frame: str | None = None,
    formulation: str | InverseDynamics = DEFAULT_FORMULATION,
) -> Array:
    """Compute the joint accelerations that given efforts produce, uncompiled.

    M and b of tau = M qdd + b come by the route of the formulation, M is factorised along the
    tree. Routes (`registry.FORWARD_ROUTES`): of "zero_reference" the paper's own, (39) to (44); of
    "lagrange", "dalembert" and "lagrange_euler" their own mass matrices, (5-28), (30) and (3), with
    the bias at qdd = 0; "newton_euler", "augmented_body" and "kane" have none in their papers, and
    share the mass matrix of composite bodies beside the bias of their own recursions.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        q: Joint positions, shape (n,), rad (revolute) or m (prismatic).
        qd: Joint velocities, shape (n,), rad/s or m/s.
        tau: Joint efforts, shape (n,), N m or N.
        gravity: As for `inverse_dynamics`.
        wrench: As for `inverse_dynamics`.
        frame: As for `inverse_dynamics`.
        formulation: As for `inverse_dynamics`.

    Returns:
        Joint accelerations qdd, shape (n,), rad/s^2 or m/s^2.

    Raises:
        ShapeError: If an argument does not have the shape above.
        ArgumentError: If an entry is not a finite number.
        UnknownNameError: If there is no such formulation or frame.
        SingularMassMatrixError: If a joint moves no mass, so that its acceleration is undefined.
    """
    equations = equations_of_motion_named(formulation)
    tree = merge_fixed(robot)
    if gravity is not None:
        tree = replace(tree, gravity=vector("gravity", gravity, 3))
    n = robot.dof
    q, qd, tau = vector("q", q, robot.nq), vector("qd", qd, n), vector("tau", tau, n)
    joints, wrenches = tree.coupling, wrench_argument(tree, wrench, frame)
    tree, x, xd = motion_of(tree, q, qd)
    M, b = equations(tree, x, xd, wrenches)
    M, b = joints.square(lifted(M)), joints.efforts(b)
    parents = elimination_parents(tree)
    with np.errstate(divide="ignore", invalid="ignore"):
        L, inverse_D = factorise(M, parents)
    if M.dtype != object:
        _check_regular(tree, M, inverse_D)
    return lowered(rates_of_twists(tree, qd, solve(L, inverse_D, parents, tau - b)))


def _check_regular(tree: Robot, M: Array, inverse_D: Array) -> None:
    """Refuse a pivot that is nothing but the round-off of the terms it is the difference of."""
    with np.errstate(invalid="ignore"):
        regular = np.abs(np.diag(M) * inverse_D) < 1.0 / ROUND_OFF
    if not np.all(regular):
        k = int(np.flatnonzero(~regular)[-1])  # the outermost: elimination starts at the tips
        raise SingularMassMatrixError(
            f"robot '{tree.name}': joint '{tree.joint_names[k]}' moves no inertia, so that its "
            "acceleration has no answer; give a link it carries mass, or lock it"
        )
