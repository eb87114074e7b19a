"""The C++ package of the controllers, built and installed by CMake, and its environment."""

import os
import shutil
import subprocess
from pathlib import Path

from robot_dynamics.export.controllers_package import package_files

PREFIXES = [path for path in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if path]
"""Install prefixes of ROS."""


def missing(*packages, programs=("cmake",)):
    """Names of the programs and packages of ROS that this machine lacks."""
    lacking = [name for name in programs if shutil.which(name) is None]
    for name in packages:
        if not any(Path(prefix, "share", name).is_dir() for prefix in PREFIXES):
            lacking.append(name)
    return ", ".join(lacking)


def missing_of_manager():
    """Names of what this machine lacks for a chain of controllers in controller_manager."""
    return missing(
        "controller_manager",
        "joint_state_broadcaster",
        "joint_trajectory_controller",
        "generate_parameter_library",
        "robot_state_publisher",
        programs=("cmake", "cc", "ros2"),
    )


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


def installed_controllers(top):
    """Install prefix of the controllers, below a folder."""
    for path, text in package_files().items():
        (top / "controllers" / path).parent.mkdir(parents=True, exist_ok=True)
        (top / "controllers" / path).write_text(text, encoding="utf-8")
    prefix = top / "install"
    options = f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DBUILD_TESTING=OFF"
    call("cmake", "--install", built(top / "controllers", *options))
    return prefix


def environment(prefix):
    """Environment in which programs find an installed package."""
    libraries = os.pathsep.join([f"{prefix}/lib", os.environ.get("LD_LIBRARY_PATH", "")])
    ament = os.pathsep.join([str(prefix), *PREFIXES])
    return {**os.environ, "AMENT_PREFIX_PATH": ament, "LD_LIBRARY_PATH": libraries}
