"""Processor and versions of a measurement, without names of machines or owners."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "robot_dynamics",
    "numpy",
    "llvmlite",
    "pin",
    "mujoco",
    "dynibo",
    "roboticstoolbox-python",
)


def processor() -> str:
    """Model of the processor and number of cores that this process may use."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return f"{model}, {cores} cores, {platform.system()} {platform.machine()}"


def versions() -> list[str]:
    """Python and the packages that were compared."""
    return installed(PACKAGES)


def installed(packages: Iterable[str]) -> list[str]:
    """Python and the versions of packages."""
    found = [f"Python {sys.version.split()[0]}"]
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            if package == "robot_dynamics":
                from robot_dynamics import __version__

                found.append(f"{package} {__version__}")
            else:
                found.append(f"{package} not installed")
    return found
