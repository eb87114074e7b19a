"""The frame that modes in task space control where none is named."""

import pytest

from robot_dynamics import read_urdf
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.endpoint import default_end_effector, end_effector_by_rule

LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
    'iyz="0"/></inertial></link>'
)


def robot(*joints):
    """A robot of joints (name, type, parent, child)."""
    names = dict.fromkeys(name for *_, parent, child in joints for name in (parent, child))
    text = "".join(LINK.format(name) for name in names)
    for name, kind, parent, child in joints:
        text += (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            '<axis xyz="0 1 0"/></joint>'
        )
    return read_urdf(f'<robot name="arm">{text}</robot>')


ARM = (("shoulder", "continuous", "base", "upper"), ("elbow", "continuous", "upper", "fore"))


@pytest.mark.parametrize(
    ("name", "end_effector"),
    [("ur5", "tool0"), ("panda", "panda_hand_tcp"), ("planar_2r", "endpoint")],
)
def test_standard_arms_have_an_end_effector(name, end_effector):
    assert default_end_effector(read_urdf(find_robot(name))) == end_effector


@pytest.mark.parametrize(
    ("further", "end_effector"),
    [
        ([("a", "fixed", "fore", "flange"), ("b", "fixed", "fore", "tool0")], "tool0"),
        ([("a", "fixed", "fore", "flange"), ("b", "fixed", "fore", "sensor")], "flange"),
        ([("a", "fixed", "fore", "camera"), ("b", "fixed", "fore", "the_tcp")], "the_tcp"),
        ([("a", "fixed", "fore", "tool"), ("b", "fixed", "upper", "camera")], "tool"),
        ([("a", "fixed", "fore", "tcp"), ("finger_1", "continuous", "fore", "tip")], "tcp"),
        ([("jaw", "continuous", "fore", "moving_jaw")], "fore"),
        ([("a", "fixed", "fore", "camera_optical_frame"), ("jaw", "continuous", "fore", "moving")],
         "fore"),
        ([("a", "fixed", "fore", "camera")], "camera"),
        ([("finger_1", "continuous", "fore", "left"), ("finger_2", "continuous", "fore", "right")],
         "fore"),
    ],
)  # fmt: skip
def test_the_end_effector_is_what_most_joints_move_without_fingers(further, end_effector):
    assert default_end_effector(robot(*ARM, *further)) == end_effector


def test_tips_that_move_against_each_other_need_a_name():
    arms = robot(*ARM, ("left", "continuous", "fore", "l"), ("right", "continuous", "fore", "r"))
    assert end_effector_by_rule(arms) is None
    with pytest.raises(ArgumentError) as refusal:
        default_end_effector(arms)
    assert str(refusal.value) == (
        "robot 'arm' has 2 tips (l, r), and no rule says which one is the end effector; name its "
        "frame"
    )
