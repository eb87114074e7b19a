"""Robot -> Robot: each function returns an equivalent or deliberately changed robot."""

from __future__ import annotations

from dataclasses import replace

from robot_dynamics.robot.robot import Frame, Joint, Link, Pose, Robot


def merge_fixed(robot: Robot) -> Robot:
    """Join links across fixed joints; the links that disappear stay as named frames.

    The torques of the moving joints do not change. A robot without fixed
    joints is returned as it is.
    """
    if all(joint.moves for joint in robot.joints):
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
            inertia[link.name] = link.inertia
            joints.append(replace(joint, parent=carrier.link, origin=X))
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
