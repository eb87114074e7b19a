"""Link frames that leave few operations behind: z along the joint, x on a common normal.

A URDF puts link frames where its author found them convenient. The equations of
motion are shortest where the z axis of a link lies on the joint that carries it
and the x axis on the common normal to the next joint, as Craig and Renaud place
them (modified Denavit-Hartenberg frames). A frame is a choice that no torque
depends on, so all of this is Robot -> Robot.

`reframe` moves link frames, `joint_frames` chooses them, `snapped` removes the
last digits that a URDF has from angles like 1.5707963.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.robot.robot import Array, Frame, Inertia, Joint, Link, Pose, Robot

SUFFIX = " (joint frame)"
"""Marks the name of a link whose frame has moved; the old name stays as a named frame."""

PARALLEL = 1e-9
"""Sine of the angle below which two axes count as parallel: URDFs round angles."""


# -- moving frames ---------------------------------------------------------------------------


def reframe(robot: Robot, poses: Sequence[Pose]) -> Robot:
    """Give every link but the root another frame; the motion of the robot stays.

    Args:
        robot: Tree without fixed joints.
        poses: Pose X_LN of the new frame N in the present frame L, for links[1:]. The origin of
            the frame of a revolute joint must stay on its axis.

    Returns:
        The same robot in new frames. Links get the suffix " (joint frame)"; their old names
        remain as named frames, so that a wrench or a tool is where it was.
    """
    X = [Pose.identity(), *poses]
    names = [robot.links[0].name] + [joint_frame_name(link.name) for link in robot.links[1:]]
    renamed = {link.name: name for link, name in zip(robot.links, names, strict=True)}
    new_in_old = dict(zip((link.name for link in robot.links), X, strict=True))

    frames = {
        link.name: Frame(renamed[link.name], X_LN.inverse())
        for link, X_LN in zip(robot.links, X, strict=True)
        if renamed[link.name] != link.name
    }
    for name, frame in robot.frames.items():
        frames[name] = Frame(renamed[frame.link], new_in_old[frame.link].inverse() @ frame.pose)
    joints = [
        replace(
            joint,
            parent=renamed[joint.parent],
            child=renamed[joint.child],
            origin=new_in_old[joint.parent].inverse() @ joint.origin @ new_in_old[joint.child],
            axis=new_in_old[joint.child].rotation.T @ joint.axis,
        )
        for joint in robot.joints
    ]
    links = [
        Link(name, link.inertia.expressed_in(X_LN.inverse()))
        for name, link, X_LN in zip(names, robot.links, X, strict=True)
    ]
    return replace(robot, links=tuple(links), joints=tuple(joints), frames=frames)


def joint_frame_name(link: str) -> str:
    """Name of a link after its frame has moved."""
    return link if link.endswith(SUFFIX) else link + SUFFIX
