"""A colcon workspace with CompiledPlant, and the environment of ROS around it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.nodes.processes import ROOT, SystemFailure

HERE = Path(__file__).parent

PLANT = "compiled_plant"

OPTIONS = ("--event-handlers", "console_direct+", "--cmake-args", "-DBUILD_TESTING=OFF")
"""Options of colcon build."""

PACKAGE_XML = """<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>0.0.0</version>
  <description>Part of benchmark.ros2_control of robot_dynamics</description>
  <maintainer email="maintainer@example.com">robot_dynamics</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
{depends}
  <export><build_type>ament_cmake</build_type></export>
</package>
"""

HEAD = """cmake_minimum_required(VERSION 3.16)
project({name} CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(ament_cmake REQUIRED)
"""

PLANT_CMAKE = """
add_library({name} SHARED compiled_plant.cpp)
ament_target_dependencies({name} hardware_interface pluginlib rclcpp rclcpp_lifecycle)
target_include_directories({name} PRIVATE {mujoco}/include)
file(GLOB library {mujoco}/libmujoco.so.*)
set_target_properties({name} PROPERTIES BUILD_RPATH {mujoco} INSTALL_RPATH {mujoco})
target_link_libraries({name} ${{library}} ${{CMAKE_DL_LIBS}})
install(TARGETS {name} DESTINATION lib)
pluginlib_export_plugin_description_file(hardware_interface plugin.xml)
ament_package()
"""

PLANT_PLUGIN = """<library path="compiled_plant">
  <class name="compiled_plant/CompiledPlant" type="compiled_plant::CompiledPlant"
         base_class_type="hardware_interface::SystemInterface">
    <description>Forward dynamics of an arm, compiled</description>
  </class>
</library>
"""


class Workspace:
    """A colcon workspace in which packages are built, and the environment of its programs.

    Args:
        folder: Where it is; packages in its `src` are kept.
        setup: Shell file to source before; by default the environment of this process is used.
    """

    def __init__(self, folder: Path, setup: Path | None = None) -> None:
        self.folder, self.source = folder, folder / "src"
        self.source.mkdir(parents=True, exist_ok=True)
        self._setup = setup
        self._environment: dict[str, str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which programs of ROS and of the workspace run."""
        if self._environment is None:
            installed = self.folder / "install" / "setup.bash"
            files = [file for file in (self._setup, installed) if file and file.exists()]
            self._environment = sourced(files)
        return self._environment

    def program(self, package: str, name: str) -> str:
        """Return the path of a program of a package.

        Raises:
            SystemFailure: If it is not installed.
        """
        for prefix in self.environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
            path = Path(prefix, "lib", package, name)
            if path.is_file():
                return str(path)
        raise SystemFailure(
            f"the program {name} of {package} is not installed; source a ROS 2 installation with "
            "ros2_control and ros2_controllers, or give its setup file by --setup"
        )

    def add(
        self,
        name: str,
        depends: Sequence[str],
        cmake: str,
        files: Mapping[str, str] | None = None,
        sources: Sequence[str] = (),
    ) -> None:
        """Write a package of C++ sources of this folder.

        Args:
            name: Of the package.
            depends: Packages of ROS that it needs.
            cmake: Rest of its CMakeLists.txt, with {name} in place of the name.
            files: Content of further files.
            sources: Files of this folder.
        """
        package = self.source / name
        package.mkdir(exist_ok=True)
        found = "".join(f"find_package({other} REQUIRED)\n" for other in depends)
        tags = "\n".join(f"  <depend>{other}</depend>" for other in depends)
        written = {
            "package.xml": PACKAGE_XML.format(name=name, depends=tags),
            "CMakeLists.txt": HEAD.format(name=name) + found + cmake.format(name=name),
            **(files or {}),
        }
        for file, text in written.items():
            write_if_changed(package / file, text)
        for file in sources:
            write_if_changed(package / file, (HERE / file).read_text())

    def add_plant(self) -> None:
        """Write the package of CompiledPlant."""
        self.add(
            PLANT,
            ["hardware_interface", "pluginlib", "rclcpp", "rclcpp_lifecycle"],
            PLANT_CMAKE.replace("{mujoco}", str(mujoco_folder())),
            {"plugin.xml": PLANT_PLUGIN},
            ["compiled_plant.cpp", *(file.name for file in HERE.glob("*.hpp"))],
        )

    def add_controllers(self) -> None:
        """Copy the package with the model controller into the workspace."""
        self._export("controllers", "-o", str(self.source))

    def write_model(self, description: Path) -> Path:
        """Write the model library of a URDF beside it, and return its path."""
        library = description.with_suffix(".so")
        self._export("model", str(description), "-o", str(library))
        return library

    def identify(self, description: Path, recording: Path) -> str:
        """Return the URDF that is identified from one and a recording."""
        out = recording.with_suffix(".urdf")
        self._call("identify", str(description), str(recording), "--output", str(out))
        return out.read_text()

    def _export(self, *words: str) -> None:
        self._call("export", *words)

    def _call(self, *words: str) -> None:
        """Run a command of the package.

        Raises:
            SystemFailure: With what it says, if it fails.
        """
        done = subprocess.run(
            [sys.executable, "-m", "robot_dynamics", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemFailure(f"{words[0]} failed: {done.stderr.strip()}")

    def build(self) -> None:
        """Build all packages.

        Raises:
            SystemFailure: With the end of the output, if that fails.
        """
        colcon = shutil.which("colcon", path=self.environment.get("PATH"))
        if colcon is None:
            raise SystemFailure("colcon is not installed; pip install colcon-common-extensions")
        done = subprocess.run(
            ["nice", "-n", "10", colcon, "build", *OPTIONS],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemFailure(f"the workspace does not build:\n{done.stdout[-4000:]}")
        self._environment = None


def mujoco_folder() -> Path:
    """Return the folder of MuJoCo's Python package, with its library and headers.

    Raises:
        SystemFailure: If it is not installed.
    """
    found = importlib.util.find_spec("mujoco")
    if found is None or found.origin is None:
        raise SystemFailure("the plant needs MuJoCo; pip install mujoco")
    return Path(found.origin).parent


def sourced(files: Sequence[Path]) -> dict[str, str]:
    """Return the environment after sourcing shell files."""
    words = "; ".join(f"source '{file}' > /dev/null" for file in files)
    done = subprocess.run(
        ["bash", "-c", f"{words + '; ' if words else ''}env -0"],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)


def write_if_changed(path: Path, text: str) -> None:
    """Write a file unless it has that content, so that what is built from it stays."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
