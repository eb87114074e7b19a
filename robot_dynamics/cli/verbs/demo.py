"""Let a simulated robot follow a motion over ROS 2 topics, with feedforward and by PD.

    robot-dynamics demo                                   a Panda
    robot-dynamics demo ur5 --view                        with a page in the browser
    robot-dynamics demo arm.urdf --record run.mcap --duration 4

Simulator, feedforward and controller run as nodes in one process, in real time. The same
motion is followed six times: with feedforward, by PD with gravity compensation and by PD alone,
with the same gains, each on a robot as its URDF says and on one whose links are heavier.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics.cli.arguments import (
    add_motion,
    add_server,
    load_robot,
    new_recording,
    output_folder,
    positive,
    ros_needed,
)
from robot_dynamics.cli.following import follow
from robot_dynamics.cli.output import Printer, add_json, picture_of, print_json
from robot_dynamics.cli.subprocesses import node_subprocess, wait_for_page
from robot_dynamics.cli.tracking_report import CONTROL, Comparison, draw, tracking_table
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.names import identifier
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.robot import Robot
from robot_dynamics.viewer.address import (
    TOKEN_VARIABLE,
    announcement,
    check_free,
    page_token,
)

if TYPE_CHECKING:
    from robot_dynamics.nodes.composition import Composed
    from robot_dynamics.nodes.runtime.loop_statistics import TimingReport

APPROACH_S = 0.3
"""Time from sending a motion to its first point, s."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("robot", nargs="?", default=None, help="name or URDF path (default: panda)")
    parser.add_argument("--robot", dest="named", default=None, help=argparse.SUPPRESS)
    add_motion(parser, mass_error=10.0)
    parser.add_argument(
        "--share",
        type=positive,
        default=0.5,
        help="part of the joints' ranges and speeds that the motion uses (default: 0.5)",
    )
    parser.add_argument(
        "--output", type=output_folder, default="out", help="folder for the picture (default: out)"
    )
    parser.add_argument(
        "--view", action="store_true", help="show it in the browser too, until Ctrl-C"
    )
    add_server(parser)
    parser.add_argument(
        "--record",
        type=new_recording,
        metavar="FILE",
        help="an .mcap to write, for replay, plot, Foxglove, PlotJuggler and ros2 bag",
    )
    parser.add_argument(
        "--domain",
        type=int,
        choices=range(233),
        metavar="0-232",
        default=None,
        help="ROS domain, on this machine only (default: ROS_DOMAIN_ID, or a free one)",
    )
    parser.add_argument(
        "--priority",
        type=int,
        default=20,
        help="real-time priority of the loop where the system allows it, 0 for none (default: 20)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the demonstration.

    Raises:
        RobotDynamicsError: If there is no rclpy.
    """
    with ros_needed():
        from robot_dynamics.nodes.composition import (  # noqa: PLC0415
            composed,
            domain_of_user,
            own_domain,
        )
        from robot_dynamics.nodes.ros.transport import REACH  # noqa: PLC0415

    show = Printer(stderr=arguments.json)
    name = arguments.robot or arguments.named or "panda"
    robot = load_robot(name)
    reach = f"{REACH}={os.environ.setdefault(REACH, 'LOCALHOST')}"
    domain = domain_of_user() if arguments.domain is None else arguments.domain
    domain = own_domain() if domain is None else domain
    _check_unused(domain)
    if arguments.view:
        check_free(arguments.host, arguments.port)
    where = f"ROS_DOMAIN_ID={domain} {reach}"
    show("watch from a second terminal:")
    show.line(f"  {where} {program()} ros echo joint_states")
    show(f"{robot.name}, {counted(robot.dof, 'joint')}; reading, compiling, connecting ...")
    motion = {
        "duration": arguments.duration,
        "share": arguments.share,
        "approach": APPROACH_S,
        "wait": True,
    }
    masses = {
        "masses as in the URDF": 1.0,
        f"every link's mass {arguments.mass_error:+g} %": 1.0 + arguments.mass_error / 100.0,
    }
    with ExitStack() as stack:
        if arguments.view:
            page = {"urdf_path": name, "host": arguments.host, "port": arguments.port}
            token = page_token()
            secret = {TOKEN_VARIABLE: token}
            viewer = stack.enter_context(node_subprocess("viewer_node", domain, secret, **page))
        if arguments.record is not None:
            file = arguments.record.absolute()
            stack.enter_context(node_subprocess("recorder_node", domain, urdf_path=name, file=file))
        nodes = stack.enter_context(
            composed(
                name,
                rate=arguments.rate,
                domain=domain,
                priority=arguments.priority,
                trajectory_node=motion,
            )
        )
        show(f"connected; {nodes.scheduling}")
        if arguments.view:
            wait_for_page(viewer, arguments.host, arguments.port)
            show.line(announcement(arguments.host, arguments.port, token))
        comparisons, timings = _compare(nodes, robot, masses, show)
        rates = _rates(timings)
        picture = arguments.output / f"{identifier(robot.name)}.png"
        drawn = picture_of(lambda: draw(comparisons, robot, picture))
        if arguments.json:
            runs = [comparison.numbers(robot) for comparison in comparisons]
            print_json({"robot": robot.name, "runs": runs, "nodes": rates, "picture": str(picture)})
        tables = (tracking_table(comparison, robot) for comparison in comparisons)
        show(*tables, _rates_table(rates))
        for comparison in comparisons:
            show(f"{comparison.title}: {comparison.summary}")
        show(drawn)
        if arguments.record is not None:
            show(f"recording: {arguments.record}")
        if arguments.view:
            _go_on(nodes, show)
    return 0


def _check_unused(domain: int) -> None:
    """Check that no other node of this domain would be commanded, or would command the robot.

    Raises:
        RobotDynamicsError: If there is one.
    """
    from robot_dynamics.nodes.ros.graph_client import graph_client  # noqa: PLC0415

    with graph_client(domain=domain) as ros:
        if found := ros.nodes_on("effort_command", "joint_states"):
            raise RobotDynamicsError(
                f"{', '.join(found)} uses the topics of the demo in ROS_DOMAIN_ID {domain}; unset "
                "ROS_DOMAIN_ID, or give a free one by --domain"
            )


def program() -> str:
    """Return how this program was called."""
    return sys.argv[0] if Path(sys.argv[0]).name == "robot-dynamics" else "robot-dynamics"


def _compare(
    nodes: Composed, robot: Robot, masses: Mapping[str, float], show: Printer
) -> tuple[list[Comparison], list[dict[str, TimingReport]]]:
    """Follow the motion in every mode of control, on every robot."""
    # Without limits of the tracking error: PD alone lags far behind, which is safe in simulation
    unstopped = {f"limits.{name}.tracking_error": 0.0 for name in robot.joint_names}
    nodes.set(nodes.controller, **unstopped)
    comparisons, timings = [], []
    for title, factor in masses.items():
        nodes.set(nodes.simulator, mass_factor=factor)
        logs = {}
        for mode, name in CONTROL.items():
            nodes.set(nodes.controller, mode=mode)
            logs[mode], timing = follow(nodes, f"{name}, mass x {factor:g}", show)
            timings.append(timing)
        comparisons.append(Comparison(title, **logs))
    nodes.set(nodes.controller, mode="feedforward")  # by PD alone it would sag until the end
    return comparisons, timings


def _go_on(nodes: Composed, show: Printer) -> None:
    """Repeat the motion for the page."""
    nodes.set(nodes.trajectory, repeat=True)
    nodes.trajectory.send()
    show("the motion goes on for the page; Ctrl-C ends it")
    while True:
        nodes.sleep(1.0)


TIMES = ("late_median", "late_p99", "late_max", "busy_median", "busy_p99")
"""Reported times of a cycle, s."""


def _rates(timings: list[dict[str, TimingReport]]) -> dict[str, dict[str, float]]:
    """Return rates and delays of the nodes, the worst over all runs, Hz and s."""
    found: dict[str, dict[str, float]] = {}
    for name in timings[0]:
        reports = [reports[name] for reports in timings]
        found[name] = {
            "requested": reports[0].requested,
            "held": min(report.held for report in reports),
            "cycles": sum(report.cycles for report in reports),
            "missed": sum(report.missed for report in reports),
            **{time: max(getattr(report, time) for report in reports) for time in TIMES},
        }
    return found


def _rates_table(rates: Mapping[str, Mapping[str, float]]) -> TextTable:
    headings = ("requested Hz", "held Hz", "cycles", "missed")
    late = [f"late us {part}" for part in ("median", "99 %", "worst")]
    busy = [f"busy us {part}" for part in ("median", "99 %")]
    table = TextTable("rates, over all runs", ["node"], [*headings, *late, *busy])
    for name, row in rates.items():
        speeds = f"{row['requested']:g}", f"{row['held']:.1f}"
        counts = *speeds, f"{row['cycles']}", f"{row['missed']}"
        table.add_row(name, *counts, *(f"{1e6 * row[time]:.0f}" for time in TIMES))
    return table
