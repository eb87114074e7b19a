"""Robots as values: compared, hashed, copied, pickled and printed by content."""

import copy
import pickle

import pytest
from lxml import etree

from robot_dynamics.robot import merge_fixed, read_urdf

GRIPPER = """<robot name="gripper"><link name="base"/>
  <link name="finger"><inertial><origin xyz="0.1 0 0"/><mass value="0.2"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="pad"/><link name="camera"/>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="finger"/>
    <axis xyz="0 0 1"/><limit lower="0" upper="0.04" velocity="0.2" effort="20"/></joint>
  <joint name="glue" type="fixed"><parent link="finger"/><child link="pad"/></joint>
  <joint name="bracket" type="fixed"><parent link="base"/><child link="camera"/></joint>
</robot>"""


def values_of(robot):
    return robot, robot.joints[0], robot.joints[0].origin, robot.links[1], robot.links[1].inertia


def test_two_readings_of_one_urdf_are_equal_and_hash_alike():
    for one, other in zip(*(values_of(read_urdf(GRIPPER)) for _ in range(2)), strict=True):
        assert one is not other and one == other and hash(one) == hash(other)
    robot = read_urdf(GRIPPER)
    for changed in (
        robot.with_gravity((0.0, 0.0, -1.62)),
        robot.with_payload("pad", 1e-9),
        robot.with_locked({"slide": 0.0}),
        read_urdf(GRIPPER.replace("0.04", "0.05")),
        merge_fixed(robot),
    ):
        assert changed != robot and hash(changed) != hash(robot)
    assert robot != "gripper"


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["copy", "pickle"],
)
def test_a_robot_is_copied_and_pickled_as_what_it_is(copied):
    robot = merge_fixed(read_urdf(GRIPPER))  # with frames, in a mapping that cannot be changed
    assert robot.limits.upper == [0.04]  # what is worked out once is no part of it
    again = copied(robot)
    assert again == robot and again.limits == robot.limits
    with pytest.raises(ValueError, match="read-only"):
        again.links[1].inertia.first_moment[0] = 1.0
    with pytest.raises(TypeError):
        again.frames["top"] = None


def test_tips_are_what_a_joint_moves_and_stay_tips_when_links_are_merged():
    robot = read_urdf(GRIPPER)
    assert robot.tips == merge_fixed(robot).tips == ("pad",)
    assert robot.subchain("base", "finger").tips == ("finger",)


def test_a_robot_is_shown_in_one_line_and_in_notebooks_as_a_table():
    robot = read_urdf(GRIPPER)
    assert repr(robot) == (
        "<Robot 'gripper': 4 links, 0.2 kg, 1 independent joint (slide), tips pad>"
    )
    rows = etree.fromstring(robot._repr_html_()).xpath("//tbody/tr")
    assert [[cell.text for cell in row] for row in rows] == [
        ["slide", "prismatic", "base", "finger", "0", "0.04", "0.2", "20"]
    ]
