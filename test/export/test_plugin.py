"""An exported package is built by CMake, and its plugin is loaded, where ros2_control is found."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hostile_arm import HOSTILE, hostile_urdf
from robot_dynamics.export.controller_package import PackageRequest, controller_package
from robot_dynamics.robot import read_urdf

PREFIXES = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)

pytestmark = pytest.mark.skipif(
    shutil.which("cmake") is None
    or not any(Path(p, "share", "controller_interface").is_dir() for p in PREFIXES if p),
    reason="needs CMake and ros2_control; source a ROS 2 installation that has both",
)

LOADER = """cmake_minimum_required(VERSION 3.16)
project(loader CXX)
find_package(controller_interface REQUIRED)
find_package(pluginlib REQUIRED)
add_executable(loader {source})
target_link_libraries(loader controller_interface::controller_interface pluginlib::pluginlib)
"""


def call(*words, **options):
    """Standard output of a program that succeeds."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(source, *options):
    """The build folder of a CMake project."""
    folder = source / "build"
    call("cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Debug", *options)
    call("cmake", "--build", folder)
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install prefix, and the program that loads the plugin."""
    top = tmp_path_factory.mktemp("plugin")
    urdf = hostile_urdf()
    request = PackageRequest("pkg", urdf, read_urdf(urdf), {}, None, None)
    for path, text in controller_package(request).files.items():
        (top / "pkg" / path).parent.mkdir(parents=True, exist_ok=True)
        (top / "pkg" / path).write_text(text, encoding="utf-8")
    prefix = top / "install"
    folder = built(top / "pkg", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DBUILD_TESTING=OFF")
    call("cmake", "--install", folder)
    (top / "loader").mkdir()
    source = Path(__file__).with_name("plugin_loader.cpp")
    (top / "loader" / "CMakeLists.txt").write_text(LOADER.format(source=source))
    return prefix, built(top / "loader") / "loader"


def load(installed, urdf):
    """Output of the program: state of the controller, and its command interfaces."""
    prefix, loader = installed
    ament = os.pathsep.join([str(prefix), *PREFIXES])
    libraries = os.pathsep.join([f"{prefix}/lib", os.environ.get("LD_LIBRARY_PATH", "")])
    environment = {**os.environ, "AMENT_PREFIX_PATH": ament, "LD_LIBRARY_PATH": libraries}
    return subprocess.run(
        [loader, "pkg/ArmController", urdf],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_plugin_is_configured_for_its_robot_whatever_the_names(installed):
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
