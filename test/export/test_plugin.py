"""An exported package is built by CMake, and its plugin is loaded, where ros2_control is found."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from exported_package import built, environment, installed_package, missing
from hostile_arm import HOSTILE, hostile_urdf
from robot_dynamics.spatial import Inertia

pytestmark = pytest.mark.skipif(
    bool(missing("controller_interface")),
    reason="needs CMake and ros2_control; source a ROS 2 installation that has both",
)

LOADER = """cmake_minimum_required(VERSION 3.16)
project(loader CXX)
find_package(controller_interface REQUIRED)
find_package(pluginlib REQUIRED)
add_executable(loader {source})
target_link_libraries(loader controller_interface::controller_interface pluginlib::pluginlib)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install prefix, and the program that loads the plugin."""
    top = tmp_path_factory.mktemp("plugin")
    load = Inertia.from_com(0.5, [0.0, 0.0, 0.1], 1e-3 * np.eye(3))
    prefix = installed_package(hostile_urdf(), top, payload=load)
    (top / "loader").mkdir()
    source = Path(__file__).with_name("plugin_loader.cpp")
    (top / "loader" / "CMakeLists.txt").write_text(LOADER.format(source=source))
    return prefix, built(top / "loader") / "loader"


def load(installed, urdf):
    """Output of the program: state of the controller, and its command interfaces."""
    prefix, loader = installed
    return subprocess.run(
        [loader, "pkg/ArmController", urdf],
        env=environment(prefix),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_plugin_is_configured_for_its_robot_whatever_the_names_and_its_payload(installed):
    done = load(installed, installed[0] / "share" / "pkg" / "urdf" / "pkg.urdf")
    interfaces = "\n".join(f"{name}/effort" for name in HOSTILE)
    assert done.stdout == f"inactive\n{interfaces}\n", done.stderr


def test_another_robot_is_refused_by_one_line(installed, tmp_path):
    text = (installed[0] / "share" / "pkg" / "urdf" / "pkg.urdf").read_text()
    assert '<mass value="' in text
    other = tmp_path / "other.urdf"
    other.write_text(text.replace('<mass value="', '<mass value="1'))
    done = load(installed, other)
    assert done.stdout.splitlines()[0] == "unconfigured"
    (line,) = [x for x in done.stderr.splitlines() if "robot_description differs" in x]
    assert "export the package again with: robot-dynamics export controller" in line
