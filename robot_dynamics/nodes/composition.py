"""Composition: simulator, feedforward and controller in one process.

Runs the nodes of `control_nodes`, as the launch file does: for programs by `composed`, and by the
executable `composed_nodes`, for one robot or for several, each in a namespace of its own.
The nodes share one loop and one executor.
"""

from __future__ import annotations

import argparse
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import Any

from rclpy.context import Context
from rclpy.logging import LoggingSeverity
from rclpy.parameter import Parameter

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.progress import Progress, quiet
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.bringup.wiring import control_nodes
from robot_dynamics.nodes.controller.controller_node import ControllerNode
from robot_dynamics.nodes.feedforward.feedforward_node import FeedforwardNode
from robot_dynamics.nodes.monitor_node import MonitorNode
from robot_dynamics.nodes.ros.transport import REACH, init_rclpy
from robot_dynamics.nodes.run_collector import RunCollector
from robot_dynamics.nodes.runtime.loop_statistics import TimingReport
from robot_dynamics.nodes.runtime.process import Process, own_arguments, run
from robot_dynamics.nodes.runtime.robot_node import RobotNode
from robot_dynamics.nodes.runtime.simulated_time import TOGETHER_S
from robot_dynamics.nodes.simulator.simulator_node import SimulatorNode
from robot_dynamics.nodes.trajectory_node import TrajectoryNode
from robot_dynamics.simulation import Log

__all__ = ["Composed", "composed", "domain_of_user", "main", "own_domain"]

SAFE_DOMAINS = range(1, 102)
"""Domains other than the default one whose ports are below the ephemeral ports of Linux."""

MOST_PARTICIPANTS = 120
"""Participants that a domain has ports for."""

SETTLE_S = 2.0
"""Time to come to rest before a motion, s."""

REFRESH_S = 0.25
"""Time between two reports of the progress, s: drawing it costs the nodes processor time."""

KINDS: dict[str, type[RobotNode[Any]]] = {
    kind.NAME: kind for kind in (SimulatorNode, FeedforwardNode, ControllerNode)
}
"""Nodes that move an arm, by name."""

_claims: list[socket.socket] = []

Values = Mapping[str, Any]


class Composed:
    """A simulated robot and its control in this process. Built by `composed`.

    Args:
        context: Context of rclpy of all nodes.
        common: Parameters that every node gets that has them.
        own: Further parameters by node name.

    Attributes:
        simulator: Simulates the robot.
        feedforward: Follows trajectories.
        controller: Closes the loop.
        trajectory: Sends the motion on `send`.
        collector: Collects what happens between `start` and `stop`.
    """

    def __init__(self, context: Context, common: Values, **own: Values) -> None:
        def made(kind: type[RobotNode[Any]]) -> Any:
            accepted = {field.name for field in fields(kind.PARAMETERS)}
            values = {name: value for name, value in common.items() if name in accepted}
            values.update(own.get(kind.NAME, {}))
            overrides = [Parameter(name, value=value) for name, value in values.items()]
            node = kind(context=context, parameter_overrides=overrides)
            node.get_logger().set_level(LoggingSeverity.WARN)
            return node

        self.simulator: SimulatorNode = made(SimulatorNode)
        self.feedforward: FeedforwardNode = made(FeedforwardNode)
        self.controller: ControllerNode = made(ControllerNode)
        self.trajectory: TrajectoryNode = made(TrajectoryNode)
        self.collector: RunCollector = made(RunCollector)
        # This order answers a state within the cycle that published it
        nodes = (self.simulator, self.feedforward, self.controller, self.collector, self.trajectory)
        if self.simulator.parameters.publish_clock:
            for node in nodes[1:]:
                node.get_clock().handle.set_ros_time_override_is_enabled(True)
                node.read_clock()
            _share_time(self.simulator, nodes[1:])
        self.process = Process(nodes, context)

    @property
    def timings(self) -> dict[str, TimingReport]:
        """Timing of every node with a rate since `reset_timings`."""
        return {
            name: timing.report()
            for name, timing in self.process.loop.timings.items()
            if name != RunCollector.NAME
        }

    def reset_timings(self) -> None:
        """Count cycles anew."""
        for timing in self.process.loop.timings.values():
            timing.reset()

    @property
    def scheduling(self) -> str:
        """Scheduling of the loop, in words."""
        return self.process.loop.scheduling

    def set(self, node: RobotNode[Any], **values: Any) -> None:
        """Set parameters of a node atomically.

        Args:
            node: One of the nodes.
            **values: New values by name of the parameter.

        Raises:
            ArgumentError: If the node refuses.
        """
        changes = [Parameter(name, value=value) for name, value in values.items()]
        result = node.set_parameters_atomically(changes)
        if not result.successful:
            raise ArgumentError(result.reason)

    def sleep(self, seconds: float) -> None:
        """Let the nodes run for some time.

        Args:
            seconds: Time of the clock of the machine, s.

        Raises:
            BaseException: The failure that stopped the nodes, if any.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            time.sleep(min(left, 0.05))
            if self.process.failure is not None:
                raise self.process.failure

    def follow(self, progress: Progress = quiet) -> Log:
        """Follow the motion of trajectory_node once, from rest.

        Args:
            progress: Called with the stage, "settling" or "moving", and its share that is done.

        Returns:
            Record of the motion, in the time of the nodes.

        Raises:
            RobotDynamicsError: If the nodes publish no states or references.
        """
        self._wait(SETTLE_S, progress, "settling")
        self.reset_timings()
        self.collector.start()
        self.trajectory.send()
        self._wait(self.trajectory.waypoints.duration, progress, "moving")
        return self.collector.stop()

    def _wait(self, seconds: float, progress: Progress, stage: str) -> None:
        """Wait in the time of the nodes, which may be simulated."""
        clock, passed = self.trajectory.get_clock(), 0.0
        begin = clock.now().nanoseconds
        while passed < seconds:
            progress(stage, passed / seconds)
            self.sleep(min(REFRESH_S, seconds - passed))
            passed = min(seconds, (clock.now().nanoseconds - begin) / NS_PER_S)

    def wait_until_holding(self, timeout: float = 60.0) -> None:
        """Wait until feedforward and controller hold the robot.

        This takes a second, and longer for large robots or on a busy machine.

        Args:
            timeout: Longest time to wait, s.

        Raises:
            RobotDynamicsError: If this takes longer than `timeout` seconds.
        """
        end = time.monotonic() + timeout
        while not self.simulator.commanded:
            if time.monotonic() > end:
                raise RobotDynamicsError(
                    f"no effort_command reached simulator_node within {timeout:g} s; is another "
                    "process using the same topics on this ROS_DOMAIN_ID?"
                )
            self.sleep(0.05)


def _share_time(simulator: SimulatorNode, nodes: Sequence[RobotNode[Any]]) -> None:
    """Have a simulator set the clocks of other nodes within the cycle that its time begins."""
    for node in nodes:
        node._time_source.detach_node()  # /clock itself comes later, when that time has passed
        if node.simulated is not None:
            node.simulated.stands = TOGETHER_S
    simulator.clocks = [node.get_clock() for node in nodes]


def _share_times(nodes: Sequence[RobotNode[Any]]) -> None:
    """Have the simulators of a process that publish /clock set the clocks that follow it.

    Two of them set none: a node says that both publish.
    """
    publishing = [
        node for node in nodes if isinstance(node, SimulatorNode) and node.parameters.publish_clock
    ]
    if len(publishing) == 1:
        others = [node for node in nodes if node is not publishing[0]]
        followers = [node for node in others if node.get_parameter("use_sim_time").value]
        _share_time(publishing[0], followers)


def domain_of_user() -> int | None:
    """Return ROS_DOMAIN_ID, or None if it is not set.

    Raises:
        ArgumentError: If it is no domain.
    """
    given = os.environ.get("ROS_DOMAIN_ID", "")
    if given and not (given.isascii() and given.isdigit() and int(given) < 233):
        raise ArgumentError(f"ROS_DOMAIN_ID is '{given}'; give a whole number from 0 to 232")
    return int(given) if given else None


def own_domain() -> int:
    """Return a ROS domain that no other process of this machine uses.

    Raises:
        RobotDynamicsError: If none is free.
    """
    for k in range(len(SAFE_DOMAINS)):
        domain = SAFE_DOMAINS[(os.getpid() + k) % len(SAFE_DOMAINS)]
        if _claim(domain):
            return domain
    raise RobotDynamicsError("no ROS domain from 1 to 101 is free; end other processes")


def _claim(domain: int) -> bool:
    """Claim a domain until this process ends, unless another one has claimed or uses it.

    The claim is the TCP port of the number at which the UDP ports of the domain begin, so that two
    processes that start at the same moment take different ones.
    """
    first, claim = 7400 + 250 * domain, socket.socket()
    try:
        claim.bind(("127.0.0.1", first))
        for participant in range(MOST_PARTICIPANTS):
            with socket.socket(type=socket.SOCK_DGRAM) as probe:
                probe.bind(("", first + 10 + 2 * participant))
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


@contextmanager
def composed(
    robot: str, *, rate: float = 1000.0, domain: int | None = None, priority: int = 0, **own: Values
) -> Iterator[Composed]:
    """Run simulator, feedforward, controller and trajectory node in this process.

    Args:
        robot: Name of a known robot, or path of a URDF.
        rate: Rate of all nodes, Hz.
        domain: ROS domain; by default that of `own_domain`.
        priority: Real-time priority of the loop, 1 to 99, where the system allows it; 0 for none.
        own: Further parameters by node name; `publish_clock` of simulator_node puts all nodes on
            simulated time, which a busy machine makes slower, not coarser.

    Yields:
        The nodes, running.
    """
    os.environ.setdefault(REACH, "LOCALHOST")
    if domain is None:
        domain = own_domain()
    context = Context()
    init_rclpy(context=context, domain_id=domain)
    try:
        common = {"urdf_path": robot, "rate": rate, "realtime_priority": priority}
        wired = {**own, **control_nodes(simulated=True, own=own)}
        nodes = Composed(context, common, **wired)
        with nodes.process as process:
            process.start()
            nodes.wait_until_holding()
            yield nodes
    finally:
        context.try_shutdown()


def main() -> int:
    """Run the nodes of one robot or of several in this process, until SIGINT or SIGTERM.

    Returns:
        Exit status, as of `run`.
    """
    parser = argparse.ArgumentParser(
        prog="composed_nodes",
        description="Simulator, feedforward and controller in one process; parameters as for the "
        "single nodes, after --ros-args.",
    )
    parser.add_argument(
        "--namespaces", nargs="+", default=[""], metavar="NAME", help="one robot in each"
    )
    parser.add_argument(
        "--hardware", action="store_true", help="omit the simulator: the robots are real"
    )
    parser.add_argument(
        "--monitor", action="store_true", help="add monitor_node, which checks the model"
    )
    options = parser.parse_args(own_arguments("composed_nodes"))
    kinds = [KINDS[name] for name in control_nodes(simulated=not options.hardware)]
    kinds += [MonitorNode] if options.monitor else []
    made = [partial(kind, namespace=name) for name in options.namespaces for kind in kinds]
    return run(*made, prepare=_share_times)
