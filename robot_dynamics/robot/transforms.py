"""Robot -> Robot functions: each returns an equivalent or deliberately changed robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import RobotError, shown
from robot_dynamics.foundation.arrays import Array, numbers
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.robot.kinematic_tree import (
    Frame,
    Joint,
    JointLimits,
    JointType,
    KinematicTree,
    Link,
    Spring,
    elementary_joints,
    joint_pose,
)
from robot_dynamics.spatial import (
    Inertia,
    Pose,
    body_of,
    homogeneous,
    pseudo_inertia,
    rotation_from_rpy,
)

AnyRobot = TypeVar("AnyRobot", bound=KinematicTree)
"""A robot; the result has the same type."""

# -- equivalent robots --------------------------------------------------------------------------


def merge_fixed(robot: AnyRobot) -> AnyRobot:
    """Merge links across fixed joints; merged links remain as named frames.

    The torques of the moving joints do not change. Floating and planar joints become their
    `elementary_joints`. A robot with neither these nor fixed joints is returned unchanged.

    Args:
        robot: Any robot.

    Returns:
        The robot without fixed joints.
    """
    if all(joint.moves and not joint.type.free for joint in robot.joints):
        return robot
    # Pose of every link in the link that it becomes part of, root to tips
    kept: dict[str, Frame] = {robot.links[0].name: Frame(robot.links[0].name, Pose.identity())}
    inertia = {robot.links[0].name: robot.links[0].inertia}
    joints: list[Joint] = []
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        carrier = kept[joint.parent]
        X = carrier.pose @ joint.origin
        if joint.moves:
            kept[link.name] = Frame(link.name, Pose.identity())
            placed = elementary_joints(replace(joint, parent=carrier.link, origin=X))
            inertia |= {part.child: Inertia.zero() for part in placed[:-1]}
            inertia[link.name] = link.inertia
            joints += placed
        else:
            kept[link.name] = Frame(carrier.link, X)
            inertia[carrier.link] = inertia[carrier.link] + link.inertia.expressed_in(X)
    frames = {name: place for name, place in kept.items() if place.link != name}
    for name, place in robot.frames.items():
        carrier = kept[place.link]
        frames[name] = Frame(carrier.link, carrier.pose @ place.pose)
    links = tuple(
        Link(name, inertia[name])
        for name in [robot.links[0].name] + [joint.child for joint in joints]
    )
    return replace(robot, links=links, joints=tuple(joints), frames=frames)


CLEARABLE: Mapping[str, Callable[[Array], float]] = MappingProxyType(
    {
        "hx": lambda J: J[0, 3],
        "hy": lambda J: J[1, 3],
        "Sxx": lambda J: J[0, 0],
        "Syy": lambda J: J[1, 1],
        "Sxy": lambda J: J[0, 1],
        "Sxz": lambda J: J[0, 2],
        "Syz": lambda J: J[1, 2],
        "Sxx-Syy": lambda J: J[0, 0] - J[1, 1],
    }
)
"""Entries of a link's pseudo-inertia J that a point mass left in its child can set to zero: first
moments h and second moments S."""


def regroup(robot: AnyRobot, shared: Mapping[int, str] | None = None) -> AnyRobot:
    """Move the inertial parameters that each joint cannot move to its parent link, tips to base.

    As pseudo-inertias, bodies transform by J' = T J T^T, and the part of J that a joint cannot
    move is a projection: for a revolute joint the mass on its axis (a massive line: m, h_z, S_zz),
    for a prismatic joint the block S, because the link does not rotate in its parent. Moving it to
    the parent, link by link, completes the augmented body of Renaud ([Renaud1987], conclusion).

    Args:
        robot: Tree without fixed joints.
        shared: A mass on a revolute joint may belong to either of its links. For a joint (by
            index), a name of `CLEARABLE`: the mass left in the child, at its origin, is the one
            that clears that quantity in the parent. Ignored if that takes more than the mass of
            the robot.

    Returns:
        A robot with the same joint efforts, mass matrix and energy. Without shared masses its
        moving links have at most seven (revolute) or four (prismatic) inertial parameters. Its
        bodies are not physical.
    """
    shared = {} if shared is None else shared
    T = [homogeneous(joint.origin) for joint in robot.joints]
    J = [pseudo_inertia(link.inertia) for link in robot.links]
    for i in reversed(range(1, len(robot.links))):
        if robot.joints[i - 1].part_of:
            continue  # together such joints move every part of J
        for c, quantity in shared.items():
            if robot.parents[c] == i:
                mass_point = _point_mass(J[i], T[c], CLEARABLE[quantity], _total_mass(robot))
                J[c + 1] = J[c + 1] + mass_point
                J[i] = J[i] - T[c] @ mass_point @ T[c].T
        P = _immovable(robot.joints[i - 1])
        moved = P @ J[i] @ P
        parent = robot.parents[i - 1]
        J[i] = J[i] - moved
        J[parent] = J[parent] + T[i - 1] @ moved @ T[i - 1].T
    links = [Link(link.name, body_of(J_i)) for link, J_i in zip(robot.links, J, strict=True)]
    return replace(robot, links=tuple(links))


def _immovable(joint: Joint) -> Array:
    """Return the projection P, shape (4, 4): the joint does not move P J P, child axes."""
    P = np.zeros((4, 4))
    if joint.type.rotates:
        P[:3, :3] = np.outer(joint.axis, joint.axis)
        P[3, 3] = 1.0
    else:
        P[:3, :3] = np.eye(3)
    return P


def _point_mass(J: Array, T: Array, quantity: Callable[[Array], float], largest: float) -> Array:
    """Return the pseudo-inertia of the mass at the child's origin with the same `quantity` as J.

    It is zero if that takes more than the mass `largest`. T is the child's pose in the link of J.
    """
    at_origin = np.zeros((4, 4))
    of_one_kilogram = quantity(T @ _UNIT_MASS @ T.T)
    if abs(quantity(J)) <= largest * abs(of_one_kilogram):
        at_origin[3, 3] = quantity(J) / of_one_kilogram if of_one_kilogram != 0.0 else 0.0
    return at_origin


_UNIT_MASS = np.diag([0.0, 0.0, 0.0, 1.0])


def _total_mass(robot: KinematicTree) -> float:
    return float(sum(link.inertia.mass for link in robot.links))


def outward_bodies(robot: KinematicTree) -> list[Inertia]:
    """Combine each link with all outward links to one rigid body, at joint positions zero.

    Parameters of a link are negligible relative to those of these bodies.
    """
    bodies = [link.inertia for link in robot.links]
    for k in reversed(range(len(robot.joints))):
        parent = robot.parents[k]
        bodies[parent] = bodies[parent] + bodies[k + 1].expressed_in(robot.joints[k].origin)
    return bodies


# -- changed robots -------------------------------------------------------------------------------


def lock(robot: AnyRobot, positions: Mapping[str, float]) -> AnyRobot:
    """Fix joints at given positions; their links keep their mass.

    Args:
        robot: Any robot.
        positions: Position of every joint to fix, rad or m, by name. Joints that mimic one of them
            are fixed with it, at the position of the coupling.

    Returns:
        The robot without these joints.

    Raises:
        UnknownNameError: If there is no such joint.
        RobotError: If the joint is already fixed or follows another, a position is not finite, or
            `positions` is not a mapping.
    """
    if not isinstance(positions, Mapping):
        raise RobotError(
            "positions must be given by the name of the joint, such as {'elbow': 0.5}, got "
            + shown(positions)
        )
    for name, position in positions.items():
        joint = robot.joint(name)
        if not joint.moves:
            raise RobotError(f"joint '{name}' is fixed already; leave it out")
        if joint.type.free:
            raise RobotError(
                f"joint '{name}' is {joint.type.value} and has no single position; weld it with "
                "robot.with_fixed_base"
            )
        if joint.mimic is not None:
            raise RobotError(
                f"joint '{name}' follows '{joint.mimic.joint}' and cannot be locked on its own; "
                f"lock '{joint.mimic.joint}', and it is locked too"
            )
        if not isinstance(position, Real) or not np.isfinite(position):
            at = shown(position) if isinstance(position, str) else position
            raise RobotError(f"joint '{name}' cannot be locked at {at}; give a finite number")

    def locked(joint: Joint) -> Joint:
        if joint.mimic is not None and joint.mimic.joint in positions:
            leader = positions[joint.mimic.joint]
            position = joint.mimic.multiplier * leader + joint.mimic.offset
        elif joint.name in positions:
            position = positions[joint.name]
        else:
            return joint
        origin = joint_pose(joint, position)
        fixed = replace(joint, type=JointType.FIXED, origin=origin, limits=JointLimits())
        return replace(fixed, mimic=None, spring=None)

    return replace(robot, joints=tuple(locked(joint) for joint in robot.joints))


def with_limits(
    robot: AnyRobot, velocity: Mapping[str, float], effort: Mapping[str, float]
) -> AnyRobot:
    """Lower limits of joints, or give those that are unknown.

    Args:
        robot: Any robot.
        velocity: New velocity limits, rad/s or m/s, by name of the joint.
        effort: New effort limits, N m or N, by name of the joint.

    Raises:
        UnknownNameError: If there is no such joint.
        RobotError: If a limit is not positive, or above that of the robot.
    """
    joints = {joint.name: joint for joint in robot.joints}
    for quantity, given in (("velocity", velocity), ("effort", effort)):
        for name, limit in given.items():
            before = getattr(robot.joint(name).limits, quantity)
            if not 0.0 < limit <= (before or np.inf):  # zero means unknown
                raise RobotError(
                    f"{quantity} limit of joint '{name}' is {limit:g}, not within 0 to the "
                    f"{before:g} of its URDF; give a lower one, or change the URDF"
                )
            limits = replace(joints[name].limits, **{quantity: float(limit)})
            joints[name] = replace(joints[name], limits=limits)
    return replace(robot, joints=tuple(joints.values()))


def with_joint_elasticity(
    robot: AnyRobot,
    stiffness: Mapping[str, float] | npt.ArrayLike,
    damping: Mapping[str, float] | npt.ArrayLike = 0.0,
) -> AnyRobot:
    """Put a spring and a damper between the motor and the link of joints: [Spong1987].

        M(q) qdd + b(q, qd) = K (theta - q) + D (theta' - q') and
        B theta'' + K (theta - q) + D (theta' - q') = tau

    q are the positions of the links, theta those of the motors, seen at the joints. B is the
    rotor inertia, which plants and models take beside the robot. The equations of motion of the
    links do not change.

    Args:
        robot: Any robot.
        stiffness: K by name of the joint, N m/rad or N/m; or one number for all independent
            joints, or n in the order of `robot.joint_names`. Infinite for a rigid joint. Joints
            that are not named stay as they are.
        damping: D in the same form, N m s/rad or N s/m.

    Raises:
        UnknownNameError: If there is no such joint.
        RobotError: If a stiffness is not positive, a damping is negative or not finite, or a joint
            is fixed, floating, planar or follows another.
    """
    K, D = _by_joint(robot, "stiffness", stiffness), _by_joint(robot, "damping", damping)
    joints = {joint.name: joint for joint in robot.joints}
    for name, k in K.items():
        joint, d = robot.joint(name), D.get(name, 0.0)
        if not joint.moves or joint.type.free or joint.mimic is not None:
            raise RobotError(
                f"joint '{name}' has no motor of its own and cannot be elastic; give joints among "
                + ", ".join(robot.joint_names)
            )
        if not k > 0.0:
            raise RobotError(f"stiffness of joint '{name}' is {k:g}; give a positive number")
        if not (np.isfinite(d) and d >= 0.0):
            raise RobotError(f"damping of joint '{name}' is {d:g}; give zero or more")
        joints[name] = replace(joint, spring=Spring(k, d) if np.isfinite(k) else None)
    if isinstance(damping, Mapping) and D.keys() - K.keys():
        name = min(D.keys() - K.keys())
        raise RobotError(f"damping of joint '{name}' is given without its stiffness; give both")
    return replace(robot, joints=tuple(joints.values()))


def _by_joint(
    robot: KinematicTree, what: str, values: Mapping[str, float] | npt.ArrayLike
) -> dict[str, float]:
    """Return values by the name of the joint, of those given."""
    if isinstance(values, Mapping):
        return {name: float(value) for name, value in values.items()}
    rows = np.asarray(values, dtype=np.float64)
    if rows.shape not in ((), (1,), (robot.dof,)) or np.isnan(rows).any():
        raise RobotError(
            f"{what} has shape {rows.shape} for {counted(robot.dof, 'joint')}; give one number, "
            "one per joint, or numbers by the name of the joint"
        )
    rows = np.broadcast_to(rows, (robot.dof,))
    return dict(zip(robot.joint_names, rows.tolist(), strict=True))


def with_payload(
    robot: AnyRobot,
    frame: str,
    mass: float,
    com: npt.ArrayLike = (0.0, 0.0, 0.0),
    inertia: npt.ArrayLike | None = None,
) -> AnyRobot:
    """Attach a rigid body to a link.

    Args:
        robot: Any robot.
        frame: Link or named frame that the body is attached to.
        mass: Mass of the body, kg.
        com: Its mass centre in `frame`, shape (3,), m.
        inertia: Its rotational inertia about its mass centre, in the axes of `frame`, shape
            (3, 3), kg m^2; by default zero, a point mass.

    Returns:
        The robot that carries the body.

    Raises:
        UnknownNameError: If there is no such frame.
        RobotError: If mass and inertia are physically impossible.
    """
    place = robot.frame(frame)
    m = float(numbers("payload: mass", mass, ()))
    c = numbers("payload: com", com, (3,))
    I_C = np.zeros((3, 3)) if inertia is None else numbers("payload: inertia", inertia, (3, 3))
    if m < 0.0:
        raise RobotError(f"payload: mass must be zero or positive, got {mass} kg")
    moments = np.linalg.eigvalsh(I_C)
    tolerance = 1e-9 * abs(moments[2])  # round-off of the given matrix
    if np.max(np.abs(I_C - I_C.T)) > tolerance:
        raise RobotError("payload: inertia must be symmetric; check ixy, ixz, iyz")
    if moments[0] < -tolerance or moments[0] + moments[1] < moments[2] - tolerance:
        printed = ", ".join(f"{moment:.4g}" for moment in moments)
        raise RobotError(
            f"payload: principal moments {printed} kg m^2 are physically impossible; none may be "
            "negative or exceed the sum of the others"
        )
    body = Inertia.from_com(m, c, I_C).expressed_in(place.pose)
    links = tuple(
        replace(link, inertia=link.inertia + body) if link.name == place.link else link
        for link in robot.links
    )
    return replace(robot, links=links)


def with_gravity(robot: AnyRobot, gravity: npt.ArrayLike) -> AnyRobot:
    """Set another gravity vector, shape (3,), m/s^2, in axes of the root link.

    Raises:
        RobotError: If it is anything but three finite numbers.
    """
    return replace(robot, gravity=numbers("gravity", gravity, (3,)))


def with_free_base(robot: AnyRobot, kind: JointType) -> AnyRobot:
    """Put a robot on a floating or planar joint; gravity is in axes of the new root "world".

    Raises:
        RobotError: If the robot has such a base already.
    """
    present = [joint for joint in robot.joints if joint.type.free and joint.parent == robot.root]
    if present:
        raise RobotError(
            f"robot '{robot.name}' is on the {present[0].type.value} joint '{present[0].name}' "
            "already; take it as it is, or weld it with robot.with_fixed_base first"
        )
    taken = {*robot.frame_names, *(joint.name for joint in robot.joints)}
    name, world = (_untaken(given, taken) for given in (f"{kind.value}_base", "world"))
    axis = np.array([0.0, 0.0, 1.0])
    base = Joint(name, kind, world, robot.root, Pose.identity(), axis)
    return replace(robot, links=(Link(world), *robot.links), joints=(base, *robot.joints))


def _untaken(name: str, taken: set[str]) -> str:
    return name if name not in taken else _untaken(f"{name}_", taken)


def weld_base(robot: AnyRobot) -> AnyRobot:
    """Fix all floating and planar joints at zero."""
    return replace(
        robot,
        joints=tuple(
            replace(joint, type=JointType.FIXED) if joint.type.free else joint
            for joint in robot.joints
        ),
    )


def subchain(robot: AnyRobot, base: str, tip: str) -> AnyRobot:
    """Cut out the part of a robot from one link to an outward one.

    The result has the links on the path and the links fixed to them. It omits moving branches
    (lock their joints first to keep their mass), everything inward of `base`, and everything
    attached to `tip`. Gravity is that of the joints inward of `base` at position zero.

    Args:
        robot: Any robot.
        base: Link that becomes the root.
        tip: Link where the chain ends.

    Returns:
        The robot of this chain.

    Raises:
        UnknownNameError: If there is no such link.
        RobotError: If `base` does not carry `tip`, or a joint follows one that is left out.
    """
    path = [robot.joints[k] for k in robot.path_to(tip)]
    below = [robot.joints[k] for k in robot.path_to(base)]
    if path[: len(below)] != below or len(path) == len(below):
        links = ", ".join([robot.links[0].name] + [joint.child for joint in path])
        raise RobotError(
            f"link '{base}' does not carry link '{tip}' in robot '{robot.name}' "
            f"(the way to '{tip}': {links}); choose a base on that way"
        )
    on_path = {joint.name for joint in path[len(below) :]}
    carriers = {base}
    joints: list[Joint] = []
    for joint in robot.joints:
        branches_off = joint.moves or joint.parent == tip
        if joint.name in on_path or (joint.parent in carriers and not branches_off):
            joints.append(joint)
            carriers.add(joint.child)
    names = {joint.name for joint in joints}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in names:
            raise RobotError(
                f"joint '{joint.name}' follows '{joint.mimic.joint}', which is not between "
                f"'{base}' and '{tip}'; lock '{joint.mimic.joint}' first"
            )
    X = Pose.identity()
    for joint in below:
        at_zero = 0.0 if joint.mimic is None else joint.mimic.offset
        X = X @ joint_pose(joint, at_zero)
    return replace(
        robot,
        links=tuple(link for link in robot.links if link.name in carriers),
        joints=tuple(joints),
        gravity=X.rotation.T @ robot.gravity,
        frames={name: place for name, place in robot.frames.items() if place.link in carriers},
        tips=(tip,),
    )


def mount(robot: AnyRobot, orientation: npt.ArrayLike | Pose) -> AnyRobot:
    """Rotate the root link in the world, for example to mount a robot on a wall.

    Only gravity changes, which is a vector in the axes of the root link.

    Args:
        robot: Any robot, in its present orientation.
        orientation: Orientation of the root link in its present axes: roll, pitch, yaw as in a
            URDF, shape (3,), rad; or a rotation matrix, shape (3, 3); or a pose, whose translation
            has no effect.

    Returns:
        The robot in that orientation.

    Raises:
        RobotError: If it is none of these.
    """
    if isinstance(orientation, Pose):
        R = orientation.rotation
    elif _is_matrix(orientation):
        R = numbers("orientation", orientation, (3, 3))
    else:
        R = rotation_from_rpy(numbers("orientation", orientation, (3,)))
    if np.max(np.abs(R.T @ R - np.eye(3))) > 1e-6 or np.linalg.det(R) < 0.0:
        raise RobotError("orientation is not a rotation matrix; its columns must be orthonormal")
    return replace(robot, gravity=R.T @ robot.gravity)


def _is_matrix(values: npt.ArrayLike) -> bool:
    try:
        return np.shape(values) == (3, 3)
    except ValueError:  # rows of different length
        return False
