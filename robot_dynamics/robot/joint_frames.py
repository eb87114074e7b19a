"""Link frames that save operations: z along the joint, x on a common normal.

A URDF has link frames where its author found them convenient. The equations of
motion are shortest if the z axis of a link lies on the joint that carries it and
the x axis on the common normal to the next joint, as in Craig and Renaud (modified
Denavit-Hartenberg frames). No torque depends on the choice of frames, so all these
functions are Robot -> Robot.

`joint_frames` places the frames, `in_frames` and `reframe` move any link frame, `snapped` rounds
angles like 1.5707963 to the exact ones, and `in_length_unit` changes the length unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.joint_axes import FrameCandidates, perpendicular
from robot_dynamics.robot.kinematic_tree import Frame, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, Pose, first_moment_size, second_mass_moment

SUFFIX = " (joint frame)"
"""Suffix of a link whose frame has moved; the old name remains as a named frame."""


# -- moving frames ---------------------------------------------------------------------------


def in_frames(robot: Robot, poses: Sequence[Pose]) -> Robot:
    """Give every link except the root another frame; names and motion of the robot do not change.

    Args:
        robot: Tree without fixed joints.
        poses: Pose X_LN of the new frame N in the present frame L, for links[1:]. The origin of
            the frame of a revolute joint must stay on its axis.
    """
    X_LN = dict(zip((link.name for link in robot.links[1:]), poses, strict=True))
    X_LN[robot.links[0].name] = Pose.identity()
    X_NL = {name: X.inverse() for name, X in X_LN.items()}
    joints = [
        replace(
            joint,
            origin=X_NL[joint.parent] @ joint.origin @ X_LN[joint.child],
            axis=X_NL[joint.child].rotation @ joint.axis,
        )
        for joint in robot.joints
    ]
    links = [
        replace(link, inertia=link.inertia.expressed_in(X_NL[link.name])) for link in robot.links
    ]
    frames = {
        name: Frame(frame.link, X_NL[frame.link] @ frame.pose)
        for name, frame in robot.frames.items()
    }
    return replace(robot, links=tuple(links), joints=tuple(joints), frames=frames)


def reframe(robot: Robot, poses: Sequence[Pose]) -> Robot:
    """Give every link except the root another frame; the motion of the robot does not change.

    Args:
        robot: Tree without fixed joints.
        poses: Pose X_LN of the new frame N in the present frame L, for links[1:]. The origin of
            the frame of a revolute joint must stay on its axis.

    Returns:
        The same robot in new frames. The links get the suffix " (joint frame)", and their old
        names remain as named frames, so that wrenches and tools keep their place.
    """
    moved = in_frames(robot, poses)
    new_name = {link.name: joint_frame_name(link.name) for link in robot.links[1:]}
    links = [replace(link, name=new_name.get(link.name, link.name)) for link in moved.links]
    joints = [
        replace(joint, parent=new_name.get(joint.parent, joint.parent), child=new_name[joint.child])
        for joint in moved.joints
    ]
    frames = {
        link.name: Frame(new_name[link.name], X_LN.inverse())
        for link, X_LN in zip(robot.links[1:], poses, strict=True)
        if new_name[link.name] != link.name
    }
    for name, frame in moved.frames.items():
        frames[name] = replace(frame, link=new_name.get(frame.link, frame.link))
    return replace(moved, links=tuple(links), joints=tuple(joints), frames=frames)


def joint_frame_name(link: str) -> str:
    """Return the name of a link after its frame has moved."""
    return link if link.endswith(SUFFIX) else link + SUFFIX


# -- joint frames ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Placement:
    """Placement of a link frame on its joint axis, which becomes its z axis.

    Args:
        offset: Position of the new origin along the joint axis, from the present origin, m.
        x: Direction of the x axis in present axes, perpendicular to the joint axis, shape (3,).
    """

    offset: float
    x: Array


def joint_frames(robot: Robot, places: Sequence[Placement] | None = None) -> Robot:
    """Re-express the link frames with z along the joints.

    A revolute joint rotates about the z axis of its link. A link on a prismatic joint has the axes
    of its parent and, at joint position zero, its origin, because it does not rotate in the parent.
    Only a prismatic joint on the base, where any axes are possible, moves along its own z axis.

    Args:
        robot: Tree without fixed joints.
        places: One per joint, unused for prismatic joints except on the base; by default modified
            Denavit-Hartenberg frames (`FrameCandidates.usual`).

    Returns:
        The same robot in new frames (see `reframe`).
    """
    if places is None:
        places = [Placement(offset, x) for offset, x in FrameCandidates(robot).usual]
    poses = [Pose.identity()]
    for joint, place, parent in zip(robot.joints, places, robot.parents, strict=True):
        if joint.type.rotates or parent == 0:
            z = joint.axis
            x = perpendicular(place.x, z)
            x = x / np.linalg.norm(x)
            poses.append(Pose(np.column_stack([x, np.cross(z, x), z]), place.offset * z))
        else:
            poses.append(joint.origin.inverse() @ poses[parent])
    moved = reframe(robot, poses[1:])
    # Set exactly: z axes by construction, and frames kept from the parent
    joints = []
    for joint, parent in zip(moved.joints, moved.parents, strict=True):
        if joint.type.rotates or parent == 0:
            joints.append(replace(joint, axis=np.array([0.0, 0.0, 1.0])))
        else:
            joints.append(replace(joint, origin=Pose.identity()))
    return replace(moved, joints=tuple(joints))


# -- constants -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Residual:
    """The largest changes by snapping.

    Args:
        angle: Of an angle between the axes of neighbouring links, rad.
        length: Of a coordinate of an origin, m.
        inertia: Of a mass, first or second moment, relative to the bodies that the joint carries.
    """

    angle: float
    length: float
    inertia: float


def snapped(robot: Robot, tolerance: float, sizes: Sequence[Inertia]) -> tuple[Robot, Residual]:
    """Replace nearly exact constants by exact ones.

    They are angles of a joint origin Rz(gamma) Rx(alpha) Rz(theta) within `tolerance` (rad) of a
    right angle, lengths within `tolerance` (m) of zero, inertial parameters smaller than
    `tolerance` times those of `sizes`, and nearly equal second moments about x and y.

    Args:
        robot: Tree without fixed joints in joint frames, as numbers.
        tolerance: Largest change, rad, m, or relative; 0 changes only signs of zero.
        sizes: For every link the bodies that its joint carries (`transforms.outward_bodies`).

    Returns:
        The robot with exact constants, and the largest changes made.
    """
    largest = {"angle": 0.0, "length": 0.0, "inertia": 0.0}

    def snap(kind: str, values: Array, exact: Array, size: float = 1.0) -> Array:
        """Return `exact` where it is within the tolerance of `values`, otherwise `values`."""
        change = np.abs(values - exact)
        near = change <= tolerance * size
        largest[kind] = max(largest[kind], float(np.max(change[near], initial=0.0) / size))
        return np.where(near, exact, values)

    def snap_origin(X: Pose) -> Pose:
        angles = zxz_angles(X.rotation, tolerance)
        right = 0.5 * np.pi * np.round(angles / (0.5 * np.pi))
        return Pose(
            rotation_zxz(snap("angle", angles, right)),
            snap("length", X.translation, np.zeros(3)),
        )

    def snap_body(body: Inertia, carried: Inertia) -> Inertia:
        mass, moment = abs(carried.mass), abs(np.trace(second_mass_moment(carried)))
        if mass == 0.0 or moment == 0.0:
            return body
        S = snap("inertia", second_mass_moment(body), np.zeros((3, 3)), moment)
        S[1, 1] = snap("inertia", S[1:2, 1], S[0:1, 0], moment)[0]
        return Inertia(
            float(snap("inertia", np.array([body.mass]), np.zeros(1), mass)[0]),
            snap("inertia", body.first_moment, np.zeros(3), first_moment_size(carried)),
            np.trace(S) * np.eye(3) - S,
        )

    joints = []
    for joint in robot.joints:
        axis = snap("angle", joint.axis, np.zeros(3))
        axis = axis / np.linalg.norm(axis)
        joints.append(replace(joint, origin=snap_origin(joint.origin), axis=axis))
    links = [
        Link(link.name, snap_body(link.inertia, size))
        for link, size in zip(robot.links, sizes, strict=True)
    ]
    g = robot.gravity
    gravity = snap("angle", g, np.zeros(3), float(np.linalg.norm(g)) or 1.0)
    exact = replace(robot, joints=tuple(joints), links=tuple(links), gravity=gravity)
    return exact, Residual(**largest)


def zxz_angles(R: Array, tolerance: float = 0.0) -> Array:
    """Return the angles (gamma, alpha, theta) of R = Rz(gamma) Rx(alpha) Rz(theta), (3,), rad.

    alpha is in [0, pi]. If the z axes are parallel within `tolerance` (rad), gamma is 0.
    """
    sine = float(np.hypot(R[0, 2], R[1, 2]))
    alpha = np.arctan2(sine, R[2, 2])
    if sine <= max(tolerance, 1e-15):
        return np.array([0.0, alpha, np.arctan2(np.sign(R[2, 2]) * R[1, 0], R[0, 0])])
    return np.array([np.arctan2(R[0, 2], -R[1, 2]), alpha, np.arctan2(R[2, 0], R[2, 1])])


def rotation_zxz(angles: Array) -> Array:
    """Return Rz(gamma) Rx(alpha) Rz(theta), shape (3, 3); exact for right angles."""
    R = np.eye(3)
    for angle, (i, j) in zip(angles, ((0, 1), (1, 2), (0, 1)), strict=True):
        quarters = angle / (0.5 * np.pi)
        c, s = np.cos(angle), np.sin(angle)
        if quarters == np.round(quarters):
            c, s = np.round(c), np.round(s)
        turn = np.eye(3)
        turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
        R = R @ turn
    return R


def in_length_unit(robot: Robot, unit: float) -> Robot:
    """Express the lengths of a robot in another unit.

    Masses are scaled by unit^2, so that torques (mass times length squared over time squared) keep
    their values. Computed forces are multiplied by `unit`, and positions of prismatic joints must
    be divided by it.

    Args:
        robot: Any robot.
        unit: The new unit, m.
    """
    if unit == 1.0:
        return robot

    def rescaled(X: Pose) -> Pose:
        return Pose(X.rotation, X.translation / unit)

    joints = [replace(joint, origin=rescaled(joint.origin)) for joint in robot.joints]
    links = [
        Link(
            link.name,
            Inertia(
                link.inertia.mass * unit**2,
                link.inertia.first_moment * unit,
                link.inertia.second_moment,
            ),
        )
        for link in robot.links
    ]
    frames = {name: Frame(frame.link, rescaled(frame.pose)) for name, frame in robot.frames.items()}
    return replace(
        robot,
        joints=tuple(joints),
        links=tuple(links),
        gravity=robot.gravity / unit,
        frames=frames,
    )
