"""Markers for rviz: load of joints as colour, reference, gravity and wrench."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.robot import Robot, merge_fixed
from robot_dynamics.viewer.scene import FORCE_SCALE, GHOST, GRAVITY, MOMENT_SCALE, WRENCH, tinted
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

NEUTRAL = (205, 210, 216)
"""Colour of a joint without load."""

BALL_M = 0.09
"""Diameter of the ball at a joint."""

GRAVITY_LENGTH = 0.03
"""Length of the gravity arrow per acceleration, m/(m/s^2)."""


def markers(
    robot: Robot, dynamics: Dynamics, now: Snapshot, share: Array, stamp: Time
) -> MarkerArray:
    """Return the markers of one state, in the frame of the root link.

    Args:
        robot: The robot.
        dynamics: Its compiled equations.
        now: The state.
        share: Effort of each joint over its limit, shape (n,); NaN if unknown.
        stamp: Time of the state.
    """
    tree = merge_fixed(robot)
    poses = link_poses(tree, now.q)
    shown = []
    for k, (link, leader) in enumerate(zip(tree.links[1:], tree.coupling.leader, strict=True)):
        load = 0.0 if np.isnan(share[leader]) else float(np.clip(share[leader], 0.0, 1.0))
        ball = _marker(robot, stamp, "load", k, Marker.SPHERE)
        ball.pose.position = _point(poses[link.name].translation)
        ball.scale.x = ball.scale.y = ball.scale.z = BALL_M
        ball.color = _colour(tinted(NEUTRAL, load), 0.9)
        shown.append(ball)
    if now.q_d is not None:
        shown.append(_skeleton(tree, now.q_d, stamp))
    if np.any(robot.gravity):
        start = np.array([-0.5, 0.5, 0.8])
        end = start + GRAVITY_LENGTH * np.array(robot.gravity)
        shown.append(_arrow(_marker(robot, stamp, "gravity", 0, Marker.ARROW), start, end, GRAVITY))
    R, p = dynamics.pose(now.q, tool_frame(robot))
    wrench = np.zeros(6) if now.wrench is None else now.wrench
    for k, (part, scale) in enumerate(((wrench[:3], FORCE_SCALE), (wrench[3:], MOMENT_SCALE))):
        arrow = _marker(robot, stamp, "wrench", k, Marker.ARROW)
        if not part.any():
            arrow.action = Marker.DELETE
        shown.append(_arrow(arrow, p, p + scale * R @ part, (WRENCH, GRAVITY)[k]))
    return MarkerArray(markers=shown)


def _arrow(arrow: Marker, start: Array, end: Array, colour: tuple[int, int, int]) -> Marker:
    arrow.points = [_point(start), _point(end)]
    arrow.scale.x, arrow.scale.y, arrow.scale.z = 0.015, 0.035, 0.06
    arrow.color = _colour(colour, 0.9)
    return arrow


def _skeleton(tree: Robot, q_d: Array, stamp: Time) -> Marker:
    """Return lines from link to link at the reference."""
    poses = link_poses(tree, q_d)
    ghost = _marker(tree, stamp, "reference", 0, Marker.LINE_LIST)
    ghost.scale.x = 0.03
    ghost.color = _colour(GHOST, 0.4)
    for joint in tree.joints:
        ghost.points += [_point(poses[name].translation) for name in (joint.parent, joint.child)]
    return ghost


def _marker(robot: Robot, stamp: Time, kind: str, number: int, shape: int) -> Marker:
    marker = Marker(ns=kind, id=number, type=shape, action=Marker.ADD)
    marker.header.frame_id, marker.header.stamp = robot.links[0].name, stamp
    marker.pose.orientation.w = 1.0
    return marker


def _point(p: Array) -> Point:
    x, y, z = (float(value) for value in p)
    return Point(x=x, y=y, z=z)


def _colour(rgb: tuple[int, int, int], alpha: float) -> ColorRGBA:
    red, green, blue = (value / 255.0 for value in rgb)
    return ColorRGBA(r=red, g=green, b=blue, a=alpha)
