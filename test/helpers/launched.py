"""The launch file as a user starts it, in a process group of its own."""

import os
import signal
import subprocess
import sys

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
    """Launch the file, with its arguments, on a ROS domain; all of it ends with the generator."""
    pytest.importorskip("launch_ros", reason="launch comes only with a ROS 2 installation")
    from ament_index_python import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix("robot_dynamics")
    except PackageNotFoundError:
        pytest.skip("launch finds executables only where a workspace with the package is sourced")
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
