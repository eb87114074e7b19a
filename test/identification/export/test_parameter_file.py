"""Parameter files of identified drives, from anyone."""

import numpy as np
import pytest
import yaml

from robot_dynamics import read_urdf
from robot_dynamics.control import Friction
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.export.parameter_file import (
    Drives,
    read_parameters,
    write_parameters,
)
from robot_dynamics.robot import find_robot


@pytest.mark.parametrize(
    "friction", ["{joint_1: ab}", "{joint_1: [a]}", "{joint_1: 3}", "[1, 2]", "text"]
)
def test_what_is_no_parameter_file_is_refused_in_one_line(tmp_path, friction):
    path = tmp_path / "drives.yaml"
    path.write_text(f"/**: {{ros__parameters: {{friction: {friction}}}}}\n")
    with pytest.raises(RecordingError, match="is no parameter file of identified drives; give"):
        read_parameters(path, read_urdf(find_robot("planar_2r")))


def test_thresholds_of_external_efforts_are_five_deviations_and_a_hundredth_of_the_limit(tmp_path):
    robot, path = read_urdf(find_robot("planar_2r")), tmp_path / "drives.yaml"  # 500 and 200 N m
    drives = Drives(Friction.none(2), np.zeros(2))
    write_parameters(path, robot, drives, np.array([0.7, 1.2345678]))
    own = yaml.safe_load(path.read_text())["/**/controller_node"]["ros__parameters"]
    limits = {"joint_1": {"external_effort": 5.0}, "joint_2": {"external_effort": 6.173}}
    assert own == {"limits": limits}
    np.testing.assert_array_equal(read_parameters(path, robot).rotor_inertia, 0.0)


def test_friction_with_memory_is_read_as_it_was_written_and_older_files_have_none(tmp_path):
    robot, path = read_urdf(find_robot("planar_2r")), tmp_path / "drives.yaml"
    friction = Friction(
        np.array([1.0, 2.0]), np.array([3.0, 4.0]),
        memory=np.array([0.75, 0.0]), slip=np.array([2e-3, 1e-3]), slip_ratio=4.0, elastic=0.5,
    )  # fmt: skip
    write_parameters(path, robot, Drives(friction, np.zeros(2)))
    again = read_parameters(path, robot).friction
    for name in ("memory", "slip", "slip_ratio", "elastic"):
        np.testing.assert_array_equal(getattr(again, name), getattr(friction, name))
    new = ("memory", "slip", "slip_ratio", "elastic")
    content = yaml.safe_load(path.read_text())
    for own in content["/**"]["ros__parameters"]["friction"].values():
        for name in new:
            del own[name]
    path.write_text(yaml.safe_dump(content))
    older = read_parameters(path, robot).friction
    assert not older.has_memory
    np.testing.assert_array_equal(older.coulomb, friction.coulomb)


def test_elasticity_is_read_as_it_was_written_for_the_joints_that_have_it(tmp_path):
    robot, path = read_urdf(find_robot("planar_2r")), tmp_path / "drives.yaml"
    soft = robot.with_joint_elasticity({"joint_2": 8e3}, {"joint_2": 4.0})
    drives = Drives(Friction.none(2), np.array([0.1, 0.2]), elasticity=soft.joint_elasticity)
    write_parameters(path, robot, drives)
    assert read_parameters(path, robot).robot(robot) == soft
    write_parameters(path, robot, Drives(Friction.none(2), np.zeros(2)))
    assert read_parameters(path, robot).robot(robot) == robot
