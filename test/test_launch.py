"""What the launch file starts, and what it answers to arguments that make no sense."""

import importlib.util
import os
import signal
import subprocess
import sys

import pytest

from robot_dynamics.errors import ArgumentError, RobotError
from robot_dynamics.robot.catalogue import share_folder
from ros_system import Peer, wait_for

pytest.importorskip("launch_ros", reason="launch comes only with a ROS 2 installation")

PATH = share_folder() / "launch" / "bringup.launch.py"

LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

path, *given = sys.argv[1:]
source = PythonLaunchDescriptionSource(path)
arguments = [argument.split(":=") for argument in given]
service = LaunchService()
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)])
)
sys.exit(service.run())
"""
"""What `ros2 launch` does."""


def started(**arguments):
    """The nodes that the launch file starts for these arguments."""
    from launch import LaunchContext

    spec = importlib.util.spec_from_file_location("bringup", PATH)
    bringup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bringup)
    context = LaunchContext()
    for name, default, *_ in bringup.ARGUMENTS:
        context.launch_configurations[name] = arguments.get(name, default)
    return bringup.nodes(context)


@pytest.fixture
def launch(monkeypatch):
    """Launch the file in a process group of its own, on a ROS domain; all of it ends here."""
    from ament_index_python import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix("robot_dynamics")
    except PackageNotFoundError:
        pytest.skip("launch finds executables only where a workspace with the package is sourced")
    domain = 1 + os.getpid() % 100
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    processes = []

    def launch(*arguments):
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", LAUNCH, str(PATH), *arguments],
                env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        )
        return processes[-1]

    launch.domain = domain
    yield launch
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.parametrize("composed", ["false", "true"])
def test_an_arm_is_commanded_in_its_namespace_until_ctrl_c_ends_all(launch, composed):
    from sensor_msgs.msg import JointState

    peer = Peer(launch.domain)
    try:
        namespace = f"arm_{composed}"
        commands = peer.listen(JointState, f"/{namespace}/effort_command_named")
        process = launch(
            f"namespace:={namespace}", f"composed:={composed}", "motion:=none", "rate:=100"
        )
        wait_for(lambda: len(commands) > 10, "commands")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, _ = process.communicate(timeout=30)
    finally:
        peer.close()
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert "has died" not in output


def test_of_two_robots_in_simulated_time_one_keeps_the_clock(launch):
    from sensor_msgs.msg import JointState

    peer = Peer(launch.domain)
    try:
        heard = [peer.listen(JointState, f"/{name}/joint_states") for name in ("left", "right")]
        common = ("use_sim_time:=true", "composed:=true", "motion:=none", "rate:=100")
        launch("namespace:=left", *common)
        launch("namespace:=right", "publish_clock:=false", *common)
        wait_for(lambda: all(heard), "states of both")
        assert peer.node.count_publishers("/clock") == 1
    finally:
        peer.close()


def test_by_default_there_is_a_robot_that_can_be_simulated():
    assert len(started()) == 4


@pytest.mark.parametrize("rate", ["abc", "0", "-100", "nan", "inf", "5000"])
def test_a_rate_that_no_node_takes_is_named(rate):
    with pytest.raises(ArgumentError) as refusal:
        started(rate=rate)
    assert str(refusal.value) == f"rate:={rate}: give a finite number from 1 to 2000, in Hz"


def test_a_rate_is_taken():
    assert len(started(rate="250")) == 4


def test_a_parameter_file_that_does_not_exist_is_named():
    with pytest.raises(ArgumentError) as refusal:
        started(config="none.yaml")
    assert str(refusal.value) == "config:=none.yaml: no such file; give a parameter file"


@pytest.mark.parametrize("file", ["", "none.csv"])
def test_a_trajectory_file_that_does_not_exist_is_named(file):
    with pytest.raises(ArgumentError) as refusal:
        started(motion="file", file=file)
    assert str(refusal.value) == f"file:={file}: no such file; give a trajectory file"


def test_a_robot_that_does_not_exist_is_one_line():
    with pytest.raises(RobotError) as refusal:
        started(robot="none.urdf.xacro")
    assert str(refusal.value) == (
        "no such file: none.urdf.xacro; give the path of a URDF, or the name of a robot"
    )


def test_a_description_that_cannot_be_read_is_refused_before_any_node_starts(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text("<robot name='arm'/>")
    with pytest.raises(RobotError) as refusal:
        started(robot=str(path))
    assert str(refusal.value).startswith(f"robot:={path}: <robot_description>:1: ")
    assert "\n" not in str(refusal.value)


def test_only_a_simulator_asks_for_bodies_that_there_can_be():
    with pytest.raises(RobotError, match=r"^robot:=puma_gupta: link 'link_4', .* be simulated"):
        started(robot="puma_gupta")
    assert len(started(robot="puma_gupta", simulation="false")) == 3
