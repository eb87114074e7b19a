"""Equations of motion: one publication, one file, one signature.

Every formulation is written once, in plain arithmetic on any scalar, on a tree
of moving joints. The functions here are the door to all of them: they merge
fixed links, couple mimic joints and bring an endpoint wrench to its link, so
that no formulation needs to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import cast

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, ShapeError, check_known
from robot_dynamics.formulations import composite_body
from robot_dynamics.formulations.vectors import Array, Wrenches, cross
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

InverseDynamics = Callable[[Robot, Array, Array, Array, Wrenches], Array]
"""Signature of a formulation: robot without fixed joints, q, qd, qdd, wrenches by link index."""

MassMatrix = Callable[[Robot, Array], Array]
"""Signature of a mass matrix: robot without fixed joints, q."""

FORMULATIONS: Mapping[str, str] = {
    "newton_euler": "Luh, Walker, Paul: recursive Newton-Euler, link axes",
    "augmented_body": "Renaud: Newton-Euler with augmented bodies, link axes",
    "zero_reference": "Gupta: Newton-Euler in the zero reference position, base axes",
    "kane": "Angeles, Ma, Rojas: Kane's equations, partial velocities, link axes",
    "lagrange": "Asada, Slotine: Lagrange's equations in closed form, base axes",
    "dalembert": "Lee, Lee, Nigam: generalized d'Alembert equations, structured closed form",
}
"""Name of every formulation, with the publication in a few words."""


DEFAULT_FORMULATION = "augmented_body"


def formulation_named(formulation: str | InverseDynamics) -> InverseDynamics:
    """The inverse dynamics of one formulation, on a tree without fixed joints.

    Args:
        formulation: One of `FORMULATIONS`; or a function of that signature, such as a
            `simplified.SimplifiedModel`, which is returned as it is.

    Raises:
        UnknownNameError: If there is no formulation of that name.
    """
    if callable(formulation):
        return formulation
    return cast(InverseDynamics, _module(formulation).inverse_dynamics)


def mass_matrix_named(formulation: str | InverseDynamics) -> MassMatrix:
    """The mass matrix of a formulation: its own where it has one, else by composite bodies.

    Raises:
        UnknownNameError: If there is no formulation of that name.
    """
    own = _module(formulation) if isinstance(formulation, str) else composite_body
    return cast(MassMatrix, getattr(own, "mass_matrix", composite_body.mass_matrix))


def _module(name: str) -> ModuleType:
    check_known("formulation", name, "robot_dynamics.formulations", FORMULATIONS)
    return import_module(f"robot_dynamics.formulations.{name}")


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
        UnknownNameError: If there is no such formulation or frame.
    """
    equations = formulation_named(formulation)
    tree = merge_fixed(robot)
    if gravity is not None:
        tree = tree.with_gravity(gravity)
    n = robot.dof
    q, qd, qdd = vector("q", q, n), vector("qd", qd, n), vector("qdd", qdd, n)
    wrenches = {}
    if wrench is not None:
        link, force_moment = wrench_on_link(tree, vector("wrench", wrench, 6), frame)
        wrenches[link] = force_moment
    joints = tree.coupling
    return joints.efforts(
        equations(tree, joints.positions(q), joints.rates(qd), joints.rates(qdd), wrenches)
    )


def vector(name: str, values: npt.ArrayLike, length: int) -> Array:
    """Check that `values` is a vector of that length; symbols pass through.

    Raises:
        ShapeError: If it has another shape.
        ArgumentError: If an entry is not a finite number.
    """
    array = np.asarray(values)
    if array.shape != (length,):
        raise ShapeError(f"{name} must have shape ({length},), got {array.shape}")
    if array.dtype == object:
        return array
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must hold numbers, got {values!r}") from None
    if not np.all(np.isfinite(array)):
        i = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ArgumentError(f"{name}[{i}] is {array[i]}; every entry must be finite")
    return array


def wrench_on_link(
    robot: Robot, wrench: Array, frame: str | None
) -> tuple[int, tuple[Array, Array]]:
    """Bring a wrench at a frame to the origin and axes of the link that the frame is fixed to.

    [AsadaSlotine1986], example 4-2: the force stays, the moment gains r x f.

    Returns:
        Index of the link, and force (3,) and moment (3,) there.

    Raises:
        UnknownNameError: If there is no such frame.
        ArgumentError: If no frame is given and the robot has several tips.
    """
    place = robot.frame(only_tip(robot) if frame is None else frame)
    R, r = place.pose.rotation, place.pose.translation
    force, moment = R @ wrench[:3], R @ wrench[3:]
    return robot.link_index(place.link), (force, moment + cross(r, force))


def only_tip(robot: Robot) -> str:
    """Name of the one link that carries no joint.

    Raises:
        ArgumentError: If the robot has several.
    """
    tips = robot.tips
    if len(tips) != 1:
        raise ArgumentError(
            f"frame: robot '{robot.name}' has {len(tips)} tips ({', '.join(tips)}); "
            "say which frame is meant"
        )
    return tips[0]
