"""The configuration of rviz2 fits the robot."""

import numpy as np
import pytest
import yaml

from robot_dynamics import read_urdf
from robot_dynamics.cli import main
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory.motions import sample_poses
from robot_dynamics.viewer.rviz_config import rviz_config

ROBOTS = ("planar_2r", "puma_gupta")


def manager(robot, **options):
    return yaml.safe_load(rviz_config(robot, **options))["Visualization Manager"]


def display(robot, name, **options):
    (found,) = [one for one in manager(robot, **options)["Displays"] if one["Name"] == name]
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_all_links_are_in_view_in_every_pose(name):
    robot = read_urdf(find_robot(name))
    view = manager(robot)["Views"]["Current"]
    focus = np.array([view["Focal Point"][axis] for axis in "XYZ"])
    for q in sample_poses(robot, 500):
        for pose in link_poses(robot, q).values():
            off = np.linalg.norm(pose.translation - focus)
            # The camera sees 45 degrees of height, so a ball of this radius from any side
            assert off < view["Distance"] * np.sin(np.radians(22.5))


def test_the_ghost_is_shown_where_a_law_follows_the_reference():
    robot = read_urdf(find_robot("planar_2r"))
    assert display(robot, "Reference")["Enabled"] is True
    assert display(robot, "Reference", ghost=False)["Enabled"] is False


def test_the_verb_shows_no_ghost_in_task_space(capsys):
    for mode, shown in (("computed_torque", True), ("cartesian_impedance", False)):
        assert main(["ros", "rviz", "planar_2r", "--mode", mode]) == 0
        displays = yaml.safe_load(capsys.readouterr().out)["Visualization Manager"]["Displays"]
        assert [one["Enabled"] for one in displays if one["Name"] == "Reference"] == [shown]


def test_the_verb_writes_the_configuration_and_prints_the_call(tmp_path, capsys):
    path = tmp_path / "arm.rviz"
    assert main(["ros", "rviz", "planar_2r", "-o", str(path)]) == 0
    written = capsys.readouterr().out
    assert written.startswith("AMENT_PREFIX_PATH=") and written.endswith(f" rviz2 -d {path}\n")
    assert main(["ros", "rviz", "planar_2r"]) == 0
    assert capsys.readouterr().out == path.read_text()
    assert yaml.safe_load(path.read_text())["Visualization Manager"]["Global Options"] == {
        "Background Color": "255; 255; 255",
        "Fixed Frame": "base_link",
        "Frame Rate": 30,
    }


def test_the_call_finds_a_robot_in_a_namespace(tmp_path, capsys):
    path = tmp_path / "arm.rviz"
    assert main(["ros", "--namespace", "left", "rviz", "planar_2r", "-o", str(path)]) == 0
    options = "--ros-args -r __ns:=/left -r /tf:=tf -r /tf_static:=tf_static"
    assert capsys.readouterr().out.endswith(f" rviz2 -d {path} {options}\n")
