import difflib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from choices import first
from recorded_motion import heavier
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction
from robot_dynamics.errors import RecordingError, RobotError, UnknownNameError
from robot_dynamics.identification import (
    Drives,
    read_parameters,
    with_identified,
    write_parameters,
    write_urdf,
)
from robot_dynamics.identification.export.parameter_file import TERMS
from robot_dynamics.robot import find_robot, read_urdf

URDF = """<?xml version="1.0"?>
<!-- my arm, do not touch -->
<robot name='arm'  >
  <link name="base"/>
  <link name="upper" ><!-- > of steel -->
    <inertial>
      <inertia iyy='0.2' ixx="0.2" izz="0.02"   ixy="0" ixz="0" iyz="0" />
      <mass   value = "2.0"/>
      <origin rpy="0.3 -0.2 0.1" xyz="0 0 0.2"/>
    </inertial>
    <visual><geometry><mesh filename="a&amp;b.stl"/></geometry></visual>
  </link>
  <link name="lower"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="50" velocity="2"/>
    <dynamics damping="0.5"/></joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/></joint>
  <ros2_control name="x"><joint name="shoulder"/></ros2_control>
</robot>
"""


def changed(robot, friction=(1.5, 2.5)):
    joints = tuple(
        replace(joint, damping=friction[0], friction=friction[1]) if joint.moves else joint
        for joint in robot.joints
    )
    return replace(heavier(robot), joints=joints)


def test_only_numbers_that_changed_are_changed():
    robot = changed(read_urdf(URDF))
    text = with_identified(URDF, robot).decode()
    kept = [
        "<!-- my arm, do not touch -->", "<robot name='arm'  >", "<!-- > of steel -->",
        'rpy="0.3 -0.2 0.1"', '<mesh filename="a&amp;b.stl"/>', '<mass   value = "',
        '<ros2_control name="x"><joint name="shoulder"/></ros2_control>',
    ]  # fmt: skip
    for piece in kept:
        assert piece in text
    matching = difflib.SequenceMatcher(None, URDF.splitlines(), text.splitlines()).ratio()
    assert matching > 0.6


def test_the_same_robot_leaves_every_byte():
    for name in ("ur5", "panda"):
        path = find_robot(name)
        assert with_identified(path, read_urdf(path)) == Path(path).read_bytes()


@pytest.mark.parametrize("source", first([URDF, "panda"], [URDF, "ur10", "panda", "kinova"]))
def test_what_is_written_reads_as_the_robot(source):
    source = source if source.startswith("<") else find_robot(source)
    robot = changed(read_urdf(source))
    again = read_urdf(with_identified(source, robot).decode())
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 20, robot.dof))
    tau = Dynamics(robot).inverse(q, qd, qdd)
    # centre and inertia about it are computed from moments and back: round-off of both
    np.testing.assert_allclose(
        Dynamics(again).inverse(q, qd, qdd), tau, atol=1e-11 * np.abs(tau).max()
    )
    for joint in robot.moving_joints:
        assert (again.joint(joint.name).damping, again.joint(joint.name).friction) == (1.5, 2.5)


def test_a_link_without_inertial_gets_one():
    bare = URDF.replace("</link>\n  <joint name=\"shoulder\"", "</link>\n<link name='tool'/>"
                        "<joint name='weld' type='fixed'><parent link='lower'/>"
                        "<child link='tool'/></joint>\n  <joint name=\"shoulder\"", 1)  # fmt: skip
    robot = read_urdf(bare)
    heavy = replace(
        robot, links=tuple(
            replace(link, inertia=robot.links[1].inertia) if link.name == "tool" else link
            for link in robot.links
        ),
    )  # fmt: skip
    again = read_urdf(with_identified(bare, heavy).decode())
    assert again.links[again.link_index("tool")].inertia.mass == pytest.approx(2.0)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-8-sig"])
def test_a_file_in_another_encoding_is_written_in_utf_8(tmp_path, encoding):
    text = URDF.replace('"1.0"', f'"1.0" encoding="{encoding.removesuffix("-sig")}"')
    path = tmp_path / "arm.urdf"
    path.write_bytes(text.replace("do not touch", "für Übungen").encode(encoding))
    data = with_identified(path, changed(read_urdf(path)))
    assert "<!-- my arm, für Übungen -->" in data.decode()
    assert read_urdf(data.decode()).joint("elbow").damping == 1.5


def test_another_robot_is_refused():
    with pytest.raises(RobotError, match="is not in the URDF to write to"):
        with_identified(URDF, read_urdf(find_robot("planar_2r")))


def test_nothing_is_half_written(tmp_path):
    path = tmp_path / "out.urdf"
    path.write_text("before")
    with pytest.raises(RobotError):
        write_urdf(URDF, read_urdf(find_robot("planar_2r")), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_parameters_of_drives_are_read_as_they_were_written(tmp_path):
    robot, path = read_urdf(URDF), tmp_path / "arm.yaml"
    friction = Friction(
        np.array([1.0, 2.0]), np.array([0.5, 0.1]), np.array([-0.2, 0.3]), np.array([0.4, 0.2]),
        np.array([0.01, 0.0]), np.array([-0.3, 0.2]), np.array([0.02, 0.05]),
    )  # fmt: skip
    write_parameters(path, robot, Drives(friction, np.array([0.1, 0.0])))
    drives = read_parameters(path, robot)
    qd = np.random.default_rng(0).normal(size=(10, 2))
    np.testing.assert_array_equal(drives.friction.smooth(qd), friction.smooth(qd))
    np.testing.assert_array_equal(drives.rotor_inertia, [0.1, 0.0])
    with pytest.raises(UnknownNameError, match="no joint 'shoulder' in robot 'planar_2r'"):
        read_parameters(path, read_urdf(find_robot("planar_2r")))
    path.write_text("mass: 3")
    with pytest.raises(RecordingError, match="is no parameter file"):
        read_parameters(path, robot)


def test_the_nodes_have_a_parameter_for_everything_in_the_file():
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    from robot_dynamics.nodes.ros.node_parameters import describe
    from robot_dynamics.nodes.runtime.drive_parameters import FrictionParameters, RotorParameters

    assert {item.name for item in describe(FrictionParameters)} == set(TERMS)
    assert {item.name for item in describe(RotorParameters)} == {"inertia", "ratio"}
