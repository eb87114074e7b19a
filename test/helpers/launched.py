"""The launch as a user starts it, in a process group of its own."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from robot_dynamics.robot.catalogue import share_folder

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
"""Program equivalent to `ros2 launch`."""


def launcher(domain):
    """Launch with arguments on a ROS domain; all of it ends with the generator.

    Where `launch` cannot start the package, its nodes start by themselves, wired in the same way.
    """
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    program = [str(Path(__file__).with_name("bringup_program.py"))]
    if find_spec("launch_ros") and is_in_workspace():
        program = ["-c", LAUNCH, str(PATH)]
    processes = []

    def launch(*arguments):
        processes.append(
            subprocess.Popen(
                [sys.executable, *program, *arguments],
                env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        )
        return processes[-1]

    launch.domain = domain
    try:
        yield launch
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def is_in_workspace():
    """Whether `launch` finds the executables of the package, in a workspace that is sourced."""
    from ament_index_python import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix("robot_dynamics")
    except PackageNotFoundError:
        return False
    return True
