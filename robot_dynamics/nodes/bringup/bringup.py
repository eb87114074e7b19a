"""Bringup: arguments in, nodes with parameters and remappings out.

`launch/bringup.launch.py` starts these nodes.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from xml.etree import ElementTree

from robot_dynamics.control.laws import TASK_MODES
from robot_dynamics.errors import RobotError
from robot_dynamics.export.controllers_config import node_parameters
from robot_dynamics.export.driver_checks import check_efforts, joints_left_out
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.nodes.bringup.arguments import (
    FOLLOWERS,
    Given,
    check_given,
    check_motion,
    driver_of,
    mode_of,
    rate_of,
    replacement,
    robot_of,
)
from robot_dynamics.nodes.bringup.displays import displays
from robot_dynamics.nodes.bringup.wiring import File, StartedNode, control_nodes
from robot_dynamics.nodes.ros.parameter_files import parameters_text
from robot_dynamics.nodes.runtime.robot_description import moved
from robot_dynamics.robot import Robot, share_folder
from robot_dynamics.robot.catalogue import with_arguments
from robot_dynamics.robot.urdf.ros2_control import Hardware, read_hardware


@dataclass(frozen=True)
class Bringup:
    """The nodes that a launch starts, and the lines that it prints.

    Attributes:
        nodes: The nodes, those of other packages first: where one is missing, the launch fails
            before it starts an arm.
        notes: Lines of the log.
    """

    nodes: tuple[StartedNode, ...]
    notes: tuple[str, ...]


def bringup(arguments: Given) -> Bringup:
    """Return what a launch with these arguments starts and says.

    Args:
        arguments: Value of each of `ARGUMENTS`, by name.

    Raises:
        RobotDynamicsError: If an argument does not fit the robot or another argument.
    """
    given = dict(arguments)
    simulated = given["simulation"] == "true"
    words = shlex.split(given["robot_args"])
    description, robot = robot_of(with_arguments(given["robot"], words), simulated)
    driver = driver_of(given["driver"], simulated)
    hardware = () if simulated else read_hardware(description)
    robot, left_out = _moved_joints(given["robot"], robot, hardware, driver)
    if driver is not None:
        check_efforts(f"robot:={given['robot']}", robot, driver)
        if driver.namespace is not None:
            given["namespace"] = given["namespace"] or driver.namespace.value
    config = given["config"] or str(share_folder() / "config" / "robot_dynamics.yaml")
    check_given(given, config, robot)
    motion = given["motion"] or ("excitation" if simulated else "none")
    check_motion(motion, given["file"], robot)
    use_sim_time = {"use_sim_time": given["use_sim_time"] == "true"}
    # Ignored parts of the URDF are logged by the launch, not by every node
    described = {"robot_description": description, "log_urdf_warnings": False}
    chosen = {"joints": list(robot.joint_names)} if left_out else {}
    common = (config, use_sim_time, described | chosen)

    replaced = replacement(given)
    remapped = [("effort_command", given["command_topic"])]
    if replaced:
        topic, target = FOLLOWERS[replaced]
        remapped.append((topic, f"{given[replaced]}/{target}"))

    def node(
        executable: str,
        *parameters: File | dict[str, object],
        name: str = "",
        arguments: tuple[str, ...] = (),
    ) -> StartedNode:
        return StartedNode(
            executable,
            name=name,
            namespace=given["namespace"],
            parameters=(*common, *parameters),
            remappings=tuple(remapped),
            arguments=arguments,
        )

    own = _own_parameters(given, simulated, replaced, robot, driver, hardware)
    monitored, shown = given["monitor"] == "true", given["rviz"] != "false"
    if given["composed"] == "true":
        options = [] if simulated else ["--hardware"]
        options += ["--monitor"] if monitored else []
        # A process gets one set of parameters, so each node has its part of a file
        parts = {name: values for name, values in own.items() if values}
        files = (File(parameters_text(parts)),) if parts else ()
        started = [node("composed_nodes", *files, arguments=tuple(options))]
    else:
        names = [*own, *(["monitor_node"] if monitored else [])]
        started = [node(name, own.get(name, {}), name=name) for name in names]
    if motion != "none":
        path: dict[str, object] = {"motion": motion, "file": given["file"]}
        path |= {"frame": given["frame"]} if given["frame"] else {}
        if (given["repeat"] or str(shown and simulated).lower()) == "true":
            path["repeat"] = True
        if "controller_node" in own:  # which compiles longer than feedforward_node
            path["controller"] = "controller_node"
        started.append(node("trajectory_node", path, name="trajectory_node"))
    if shown:
        started.append(node("marker_node", name="marker_node"))
    reference = dict(remapped).get("reference", "reference")
    in_joints = mode_of(given, config) not in TASK_MODES
    notes = [f"left out: {name} ({why})" for name, why in left_out.items()]
    notes += [*_silent_hardware(description), *(() if driver is None else driver.questions)]
    shows = displays(given, description, robot, reference, in_joints)
    return Bringup((*shows, *started), tuple(notes))


def _moved_joints(
    argument: str, robot: Robot, hardware: tuple[Hardware, ...], driver: Driver | None
) -> tuple[Robot, dict[str, str]]:
    """Return the robot with the joints that take efforts, and the reasons of the other joints.

    Raises:
        RobotError: If no joint takes efforts.
    """
    left_out = joints_left_out(robot.joint_names, hardware, driver)
    if len(left_out) == robot.dof:
        why = "; ".join({*left_out.values()})
        raise RobotError(
            f"robot:={argument}: every joint is left out ({why}); are the joints of "
            "<ros2_control> those of the robot?"
        )
    if left_out:
        robot, _ = moved(robot, [name for name in robot.joint_names if name not in left_out])
    return robot, left_out


def _own_parameters(
    given: Given,
    simulated: bool,
    replaced: str,
    robot: Robot,
    driver: Driver | None,
    hardware: tuple[Hardware, ...],
) -> dict[str, dict[str, object]]:
    """Return the nodes that move the arm, with the parameters that the arguments give each."""
    pace = {"rate": rate_of(given["rate"])} if given["rate"] else {}  # not of monitor_node
    known = {} if driver is None else node_parameters(robot, driver, hardware)
    own = control_nodes(simulated=simulated, follower=replaced, own=known, common=pace)
    if given["mode"]:
        own["controller_node"]["mode"] = given["mode"]
    if given["frame"] and not replaced:
        own["controller_node"]["task.frame"] = given["frame"]
    # The simulator keeps the time
    if simulated and (given["publish_clock"] or given["use_sim_time"] == "true"):
        own["simulator_node"]["publish_clock"] = given["publish_clock"] != "false"
    return own


def _silent_hardware(description: str) -> list[str]:
    """Return a warning for every topic-based hardware of a URDF that withholds equal commands."""
    name, lines = "trigger_joint_command_threshold", []
    for hardware in ElementTree.fromstring(description).iterfind("ros2_control/hardware"):
        if "topic" not in hardware.findtext("plugin", ""):
            continue
        given = [item.text for item in hardware.iterfind("param") if item.get("name") == name]
        if not given or not str(given[0]).strip().startswith("-"):
            lines.append(
                f"warning: {hardware.findtext('plugin')} publishes no command while the effort is "
                f"steady; set its parameter {name} to -1"
            )
    return lines
