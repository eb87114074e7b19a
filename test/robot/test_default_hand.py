"""The frame that modes in task space control where none is named."""

import pytest

from robot_dynamics import read_urdf
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.endpoint import default_hand, hand_by_rule

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
    ("name", "hand"), [("ur5", "tool0"), ("panda", "panda_hand_tcp"), ("planar_2r", "endpoint")]
)
def test_standard_arms_have_a_hand(name, hand):
    assert default_hand(read_urdf(find_robot(name))) == hand


@pytest.mark.parametrize(
    ("further", "hand"),
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
def test_the_hand_is_what_most_joints_move_without_fingers(further, hand):
    assert default_hand(robot(*ARM, *further)) == hand


def test_tips_that_move_against_each_other_need_a_name():
    arms = robot(*ARM, ("left", "continuous", "fore", "l"), ("right", "continuous", "fore", "r"))
    assert hand_by_rule(arms) is None
    with pytest.raises(ArgumentError) as refusal:
        default_hand(arms)
    assert str(refusal.value) == (
        "robot 'arm' has 2 tips (l, r), and no rule says which one is the hand; name its frame"
    )
