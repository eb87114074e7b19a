"""Transport: nodes exchange messages by UDP, not through memory shared with a killed process.

Fast DDS keeps mutexes and queues of a process in shared memory. A process that is killed leaves
them as they were, and a publisher of another process may then wait for a second; see
benchmark/records/middleware.md. A participant that offers UDP alone has no shared memory, and any
other participant reaches it by UDP.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation

from robot_dynamics.errors import ArgumentError

REACH = "ROS_AUTOMATIC_DISCOVERY_RANGE"
"""Variable of the range of discovery."""

LOCALHOST_ONLY = "ROS_LOCALHOST_ONLY"
"""Variable of Humble for discovery on this machine; where it is set, it overrides the range."""

PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""Variables that name a file of profiles, before Fast DDS 3.0 and from there on."""

FIRST_WITH_FAST_DDS_3 = 8
"""Major version of rclpy from which ROS 2 has Fast DDS 3: that of Kilted is 9, of Jazzy 7."""

TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
"""Variable of the transports where no profile names them."""

UDP = "UDPv4"
"""Value of TRANSPORTS without shared memory."""

LARGEST_DOMAIN, HIGHEST_DOMAIN = 232, 101
"""Largest ROS domain of the middleware; highest whose ports are below Linux's ephemeral ports."""

DOMAIN_REMEDY = f"set it to a number from 0 to {HIGHEST_DOMAIN}, alike in all shells"

LOG_REMEDY = (
    "set ROS_LOG_DIR, or HOME, to a writable folder, or start with --ros-args "
    "--disable-external-lib-logs"
)

LOCALHOST_PROFILE = Path(__file__).with_name("localhost.xml")
"""Profile of participants on this machine, without shared memory."""


def reach(environment: Mapping[str, str]) -> str:
    """Return the range of discovery."""
    if environment.get(LOCALHOST_ONLY) == "1":
        return "LOCALHOST"
    return (environment.get(REACH) or "SUBNET").upper()


def chosen_transport(environment: Mapping[str, str]) -> str:
    """Return the variable by which the user chooses the transport, with its value; else nothing."""
    for name in (*PROFILES, TRANSPORTS):
        value = environment.get(name, "")
        if value and value not in (UDP, str(LOCALHOST_PROFILE)):
            return f"{name}={value}"
    return ""


def without_shared_memory(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that Fast DDS uses no shared memory.

    Args:
        environment: Present variables; a transport of the user's choice stays.
    """
    if chosen_transport(environment) or any(map(environment.get, PROFILES)):
        return {}
    if reach(environment) != "LOCALHOST":
        return {TRANSPORTS: UDP}
    # On LOCALHOST, the middleware of ROS 2 adds shared memory beside any other setting
    changed = {REACH: "SUBNET", profiles_variable(): str(LOCALHOST_PROFILE)}
    return changed | {LOCALHOST_ONLY: "0"} if LOCALHOST_ONLY in environment else changed


@cache
def profiles_variable() -> str:
    """Return the variable of `PROFILES` that this Fast DDS reads; of the other one it may warn."""
    try:
        major = int(version("rclpy").partition(".")[0])
    except (PackageNotFoundError, ValueError):
        return PROFILES[0]
    return PROFILES[major >= FIRST_WITH_FAST_DDS_3]


def uses_fast_dds() -> bool:
    """Return whether the middleware is Fast DDS."""
    return rclpy.get_rmw_implementation_identifier().startswith("rmw_fastrtps")


def init_rclpy(**options: Any) -> None:
    """Call `rclpy.init`, with the variables of `without_shared_memory` in this process.

    Raises:
        ArgumentError: If the environment or the ROS arguments are wrong.
    """
    domain = os.environ.get("ROS_DOMAIN_ID", "")
    if options.get("domain_id") is None and not is_domain(domain):
        raise ArgumentError(f"ROS_DOMAIN_ID is '{domain}'; {DOMAIN_REMEDY}")
    if uses_fast_dds():
        os.environ.update(without_shared_memory(os.environ))
    try:
        rclpy.init(**options)
    except rclpy_implementation.RCLError as error:
        raise ArgumentError(reason_of(error)) from None


def is_domain(text: str) -> bool:
    """Return whether a value of ROS_DOMAIN_ID is a domain; an empty one is domain 0."""
    return not text or (text.isdigit() and int(text) <= LARGEST_DOMAIN)


def reason_of(error: Exception) -> str:
    """Return the reason of an error of rcl on one line, with its remedy."""
    reason = str(error).split(", at ")[0].strip()  # without lines of rcl's source
    logging = "initialize logging" in reason
    return f"{reason}; {LOG_REMEDY if logging else 'correct --ros-args or the parameter file'}"


def log_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder of logs as rcl chooses it; None where no variable names one."""
    if chosen := environment.get("ROS_LOG_DIR"):
        return Path(chosen)
    if home := environment.get("ROS_HOME"):
        return Path(home, "log")
    home = environment.get("HOME")
    return Path(home, ".ros", "log") if home else None
