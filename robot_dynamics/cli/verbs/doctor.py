"""List what this machine lacks for ROS 2 and for real-time control.

robot-dynamics doctor
robot-dynamics doctor --realtime      status 1 as well where something for real time is missing
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.runtime.machine import Finding, cache_findings, realtime_findings
from robot_dynamics.version import SITE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="end with status 1 as well where something for real time is missing",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; 1 if something is missing that the nodes need."""
    needed = [*_ros_findings(), *cache_findings()]
    realtime = realtime_findings()
    if arguments.json:
        print_json({"ros": needed, "real_time": realtime})
    else:
        _print("ROS 2", needed)
        _print(f"Real time ({SITE}/realtime.html)", realtime)
    wanted = [*needed, *realtime] if arguments.realtime else needed
    return int(any(finding.missing for finding in wanted))


def _ros_findings() -> list[Finding]:
    """Return the findings on the installation of ROS 2."""
    try:
        from robot_dynamics.nodes.runtime.installation import ros_findings  # noqa: PLC0415
    except ModuleNotFoundError as error:
        remedy = "source a ROS 2 installation, or pip install 'robot_dynamics[ros]'"
        return [Finding("rclpy", f"no Python module '{error.name}'", remedy, missing=True)]
    except ImportError as error:
        raise RobotDynamicsError(f"rclpy cannot be imported: {error}; repair ROS 2") from None
    return ros_findings()


def _print(title: str, findings: Sequence[Finding]) -> None:
    show = Printer()
    show(title)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "missing" if finding.missing else "advice" if finding.remedy else "ok"
        line = f"  {mark:<8}{finding.name:<{width}}  {finding.found}"
        show(f"{line}; {finding.remedy}" if finding.remedy else line)
