"""Names of exported packages, which are names of C++ namespaces, CMake targets and files too."""

from __future__ import annotations

import ctypes
import hashlib
import re

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.names import LONGEST, identifier

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)
_SUFFIX = "_controllers"

KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false final float for friend goto if import inline int long module mutable namespace new
    noexcept not not_eq nullptr operator or or_eq override private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof union
    unsigned using virtual void volatile wchar_t while xor xor_eq
"""
"""Keywords of C and C++."""

RESERVED = """
    all ament assert builtin class_loader clean control_msgs controller_interface
    controller_manager depend diagnostic_msgs edit_cache errno geometry_msgs hardware_interface
    help install kernels launch lifecycle_msgs linux list_install_components main package
    pluginlib posix rclcpp rclcpp_lifecycle rebuild_cache ros2_control ros2_controllers
    rosidl_runtime_cpp sensor_msgs std std_msgs std_srvs stderr stdin stdout test uninstall
    unix
"""
"""Names of macros, of CMake's targets, and of the packages and namespaces that a package uses."""


def check_package_name(name: str) -> str:
    """Return the name of a package.

    Raises:
        ArgumentError: If it cannot be the name of a ROS package, a C++ namespace and a CMake
            target.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"package name '{name}': give lower-case alphanumeric ASCII characters and "
            "single underscores, one of a to z first, and no underscore last"
        )
    if len(name) > LONGEST:
        raise ArgumentError(
            f"package name '{name}': {len(name)} characters; give {LONGEST} at most"
        )
    if name in f"{KEYWORDS} {RESERVED}".split() or _in_c_library(name):
        raise ArgumentError(
            f"package name '{name}': means something else to C++, CMake or ROS; give another name, "
            f"such as '{name}{_SUFFIX}'"
        )
    return name


def package_name_of(robot_name: str) -> str:
    """Return the default name of the package of a robot, different for different names."""
    plain = identifier(robot_name, "arm").lower()
    if len(plain) > LONGEST - len(_SUFFIX):
        digest = hashlib.sha256(robot_name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        plain = f"{plain[: LONGEST - len(_SUFFIX) - len(digest) - 1].strip('_')}_{digest}"
    return f"{plain}{_SUFFIX}"


def _in_c_library(name: str) -> bool:
    """Return whether a function has the name, which a namespace then cannot have."""
    try:
        return hasattr(ctypes.CDLL(None), name)
    except (OSError, TypeError):  # no such library on this system
        return False
