"""URDF text of robots: read again it has the same torques, limits and tips, and shapes to see."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from lxml import etree
from numpy.testing import assert_allclose

from refusals import refusal
from robot_dynamics.cli import main
from robot_dynamics.errors import RobotError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.robot import Inertia, JointLimits, JointType, find_robot, read_urdf, urdf_of
from robot_dynamics.robot.denavit_hartenberg import DHRow, Table
from robot_dynamics.spatial import rotation_from_rpy, rpy_from_rotation
from strategies import random_rotation, random_state, robots, seeds

ROUND_OFF = 1e-12  # of the largest torque: rotations pass roll, pitch and yaw; worst seen 2e-14


def assert_same_torques(ours, theirs, seed=1):
    state = random_state(theirs, seed)
    tau = inverse_dynamics(theirs, *state)
    again = inverse_dynamics(ours, *state)
    assert_allclose(again, tau, rtol=0, atol=ROUND_OFF * max(1.0, np.abs(tau).max()))


@given(robots(free=True), seeds())
def test_a_robot_that_is_written_and_read_has_the_same_torques(robot, seed):
    again = read_urdf(urdf_of(robot), require_inertia=False)
    assert again.joint_names == robot.joint_names
    assert_allclose(again.gravity, robot.gravity, rtol=0)
    assert_same_torques(again, robot, seed)


def test_what_was_done_to_a_robot_is_written():
    whole = read_urdf(find_robot("puma_gupta"))
    robot = whole.with_payload("hand", 2.0, (0.0, 0.1, 0.05), np.diag((0.01, 0.02, 0.025)))
    robot = robot.with_locked({"joint_5": 0.7}).with_gravity((1.0, -2.0, -9.0))
    again = read_urdf(urdf_of(robot))
    assert again.joint_names == robot.joint_names == tuple(f"joint_{k}" for k in (1, 2, 3, 4, 6))
    assert again.tips == ("hand",)
    assert_same_torques(again, robot)
    assert_allclose(
        frame_pose(again, np.ones(5), "hand").translation,
        frame_pose(robot, np.ones(5), "hand").translation,
        atol=1e-15,
    )


def test_limits_that_are_not_known_stay_unknown_without_a_warning(caplog):
    body = Inertia.from_com(1.0, (0.1, 0.0, 0.0), 0.01 * np.eye(3))
    limits = JointLimits(lower=0.0), JointLimits(upper=2.0, effort=3.0, acceleration=4.0)
    rows = [
        DHRow("revolute", 0.3, 1.0, 0.1, 0.2, body),
        DHRow("prismatic", 0.0, 0.5, 0.1, 0.2, body, limits=limits[0]),
        DHRow("revolute", 0.3, 1.0, 0.1, 0.2, body, limits=limits[1]),
    ]
    again = read_urdf(urdf_of(Table(rows).to_robot()))
    assert [joint.limits for joint in again.moving_joints] == [JointLimits(), *limits]
    assert again.joints[0].type is JointType.CONTINUOUS
    assert again.tips == ("tool",)
    assert caplog.records == []


def test_names_and_comments_survive_what_xml_forbids():
    robot = read_urdf(find_robot("planar_2r"))
    odd = replace(robot.joints[0], name='a<b>&"c"\'d')
    robot = replace(robot, name="two < three", joints=(odd, *robot.joints[1:]))
    text = urdf_of(robot, comment="from <a> -- to\n--> b")
    again = read_urdf(text)
    assert (again.name, again.joint_names[0]) == ("two < three", odd.name)


def test_every_part_of_an_arm_can_be_seen():
    robot = read_urdf(find_robot("puma_gupta"))
    root = etree.fromstring(urdf_of(robot).encode())
    colours = {material.get("name") for material in root.findall("material")}
    assert {used.get("name") for used in root.iterfind("link/visual/material")} == colours
    seen = {link.get("name") for link in root.iterfind("link") if link.find("visual") is not None}
    assert seen == {link.name for link in robot.links} - {"base_link", "hand"}  # without extent
    rods = {  # the upper arm from its joint to the next one, 17 in along x
        (rod.find("origin").get("xyz"), rod.find("geometry/cylinder").get("length"))
        for rod in root.iterfind("link[@name='link_3']/visual")
    }
    assert ("0.2159 0 0", "0.4318") in rods
    assert "visual" not in urdf_of(robot, visuals=False)


def test_the_rail_of_a_slide_starts_at_the_link_that_holds_it():
    limits = JointLimits(0.3, 0.9)
    robot = Table((DHRow("prismatic", 0.0, 0.0, 0.0, 0.0, limits=limits),)).to_robot()
    rail = etree.fromstring(urdf_of(robot).encode()).find("link[@name='base']/visual")
    assert rail.find("origin").get("xyz") == "0 0 0.45"
    assert rail.find("geometry/cylinder").get("length") == "0.9"


def test_what_a_urdf_cannot_hold_is_refused():
    import sympy  # here: every worker imports this file, and this takes 0.3 s

    robot = read_urdf(find_robot("planar_2r"))
    negative = Inertia(-1.0, np.zeros(3), np.eye(3))
    bad = replace(robot, links=(*robot.links[:-1], replace(robot.links[-1], inertia=negative)))
    assert refusal(lambda: urdf_of(bad), RobotError) == (
        f"link '{robot.links[-1].name}' has a mass of -1 kg, which no URDF holds; "
        "give each link the mass of a body"
    )
    stuck = replace(robot.joints[0], limits=JointLimits(0.0, 0.0))
    bad = replace(robot, joints=(stuck, *robot.joints[1:]))
    assert refusal(lambda: urdf_of(bad), RobotError) == (
        "joint 'joint_1' has limits of zero, which a URDF takes for no limits; fix the joint, or "
        "give other limits"
    )
    symbolic = Table((DHRow("revolute", sympy.Symbol("l"), 0, 0, 0),), name="arm").to_robot()
    assert refusal(lambda: urdf_of(symbolic), RobotError) == (
        "robot 'arm' has symbols for numbers; a URDF holds numbers alone"
    )


@pytest.mark.parametrize("pitch", [0.0, 0.4, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.5])
def test_roll_pitch_and_yaw_give_the_rotation_back_at_every_pitch(pitch):
    rng = np.random.default_rng(5)
    turns = [rotation_from_rpy((a, pitch, b)) for a, b in rng.uniform(-3, 3, (50, 2))]
    for R in [*turns, *(random_rotation(rng) for _ in range(50))]:
        assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, atol=8 * sys.float_info.epsilon)


def test_the_verb_writes_a_urdf_of_the_joints_that_are_left(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    assert main(["urdf", "puma_gupta", "--lock", "joint_6=0.3", "-o", str(path)]) == 0
    robot = read_urdf(find_robot("puma_gupta")).with_locked({"joint_6": 0.3})
    assert_same_torques(read_urdf(path), robot)
    assert main(["urdf", "puma_gupta", "--lock", "joint_6=0.3"]) == 0
    assert capsys.readouterr().out == path.read_text()
