"""What the launch file answers to arguments that make no sense."""

import importlib.util

import pytest

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.robot.library import share_folder

pytest.importorskip("launch_ros", reason="launch comes only with a ROS 2 installation")


def started(**arguments):
    """The nodes that the launch file starts for these arguments."""
    from launch import LaunchContext

    path = share_folder() / "launch" / "bringup.launch.py"
    spec = importlib.util.spec_from_file_location("bringup", path)
    bringup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bringup)
    context = LaunchContext()
    for name, default, *_ in bringup.ARGUMENTS:
        context.launch_configurations[name] = arguments.get(name, default)
    return bringup.nodes(context)


@pytest.mark.parametrize("rate", ["abc", "0", "-100", "nan", "inf"])
def test_a_rate_that_is_none_is_named(rate):
    with pytest.raises(ArgumentError) as refusal:
        started(robot="planar_2r", rate=rate)
    assert str(refusal.value) == (
        f"rate:={rate}: not a positive number; give Hz, such as rate:=500"
    )


def test_a_rate_is_taken():
    assert len(started(robot="planar_2r", rate="250")) == 4


def test_a_parameter_file_that_does_not_exist_is_named():
    with pytest.raises(ArgumentError) as refusal:
        started(robot="planar_2r", config="none.yaml")
    assert str(refusal.value) == "config:=none.yaml: no such file; give a parameter file"


def test_a_robot_that_does_not_exist_is_one_line():
    with pytest.raises(RobotDynamicsError) as refusal:
        started(robot="none.urdf.xacro")
    assert "\n" not in str(refusal.value)
