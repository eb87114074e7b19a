"""Arguments of the launch file: their table, and the checks before any node starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rclpy.exceptions import NameValidationException
from rclpy.validate_full_topic_name import validate_full_topic_name
from rclpy.validate_namespace import validate_namespace
from rclpy.validate_topic_name import validate_topic_name

from robot_dynamics.control.laws import ALL_MODES, TASK_MODES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, RobotError
from robot_dynamics.export.driver_checks import check_takes_effort
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.export.drivers import DRIVERS, driver_named
from robot_dynamics.nodes.ros.node_parameters import describe
from robot_dynamics.nodes.ros.parameter_files import check_config, parameter_in
from robot_dynamics.nodes.runtime.robot_node import LoopParameters
from robot_dynamics.robot import Robot, read_urdf, urdf_text
from robot_dynamics.robot.endpoint import default_end_effector
from robot_dynamics.simulation import check_physical
from robot_dynamics.trajectory import read_poses
from robot_dynamics.trajectory.trajectory_files import read_trajectory
from robot_dynamics.version import SITE

TRUE_FALSE = ["true", "false"]

ELSEWHERE = "elsewhere"
"""Value of the argument rviz for an rviz2 that this launch does not start."""

ARGUMENTS: tuple[tuple[str, str, str, list[str] | None], ...] = (
    ("robot", "planar_2r", "Path of a URDF or xacro file, or name of a known robot", None),
    ("robot_args", "", "Arguments of a xacro file: \"name:=ur ur_type:=ur5e\"", None),
    ("driver", "", "Driver of the real arm, of `robot-dynamics drivers`: sets rate, namespace and "
     "joints, and leaves out the efforts that the robot adds itself", ["", *DRIVERS]),
    ("config", "", "Parameter file of the nodes; empty for config/robot_dynamics.yaml", None),
    ("motion", "", "Motion to send; empty: excitation with the simulator, none without: a real arm "
     "holds its position",
     ["", "excitation", "random_poses", "file", "circle", "line", "poses", "none"]),
    ("file", "", "File of motion:=file, or of motion:=poses", None),
    ("frame", "", "The end effector: frame that circle, line, poses and the modes in task space "
     "move; empty: that of the parameter file, else tool0, or the tip that no finger joint moves",
     None),
    ("mode", "", "Control law, instead of that of the parameter file",
     ["", *ALL_MODES]),
    ("rate", "", "Rate of all nodes in Hz, instead of those of the parameter file", None),
    ("simulation", "true", "false: omit the simulator; a robot publishes joint_states. Name what "
     "closes the loop there: arm_controller or joint_trajectory_controller", TRUE_FALSE),
    ("arm_controller", "", "Name of an exported ros2_control controller, which closes the loop and "
     "follows the reference of feedforward_node in place of controller_node: it keeps its "
     "feedback if our nodes die", None),
    ("joint_trajectory_controller", "", "Name of a joint_trajectory_controller with effort "
     "interfaces, which follows the trajectories with our efforts in place of controller_node: it "
     "keeps its feedback if our nodes die. ros2_controllers 4.22 (Jazzy) or newer. It takes no "
     "mode, payload or gravity while a trajectory runs, and gets trajectories for holding and "
     "stopping; activate it first, or it holds without effort and the arm sags to its gains", None),
    ("command_watchdog", "false", "true: the hardware stops by itself when commands become stale, "
     "so that controller_node may command it over a topic; without the simulator it is needed for "
     "that", TRUE_FALSE),
    ("command_topic", "effort_command", "Topic of the commands of controller_node", None),
    ("composed", "false", "Run simulator, feedforward and controller in one process", TRUE_FALSE),
    ("monitor", "false", "Start monitor_node, which warns when the model does not fit; in the same "
     "process with composed:=true", TRUE_FALSE),
    ("repeat", "", "Repeat the motion; empty: in rviz with the simulator", ["", *TRUE_FALSE]),
    ("rviz", "false", "Start rviz2 and what it needs; elsewhere: what it needs, for an rviz2 on "
     "another computer", [*TRUE_FALSE, ELSEWHERE]),
    ("robot_state_publisher", "", "Start one; empty: for rviz, unless simulation is false: a robot "
     "brings its own", ["", *TRUE_FALSE]),
    ("rviz_config", "", "Configuration of rviz2; empty for the shipped one, with frame and view "
     "of the robot", None),
    ("namespace", "", "Namespace of all nodes and topics", None),
    ("use_sim_time", "false", "Take the time from /clock", TRUE_FALSE),
    ("publish_clock", "", "The simulator publishes /clock; empty: if use_sim_time is true; false "
     "if another node does, as a system has only one", ["", *TRUE_FALSE]),
)  # fmt: skip
"""Name, default, meaning and allowed values (None for any)."""


Given = Mapping[str, str]
"""Values of all arguments, by name."""


FOLLOWERS = {
    "arm_controller": ("reference", "reference"),
    "joint_trajectory_controller": ("joint_trajectory_with_effort", "joint_trajectory"),
}
"""Arguments that name a controller in place of controller_node: the topic of feedforward_node that
it follows, and the name of that topic below the name of the controller."""


def replacement(given: Given) -> str:
    """Return the argument that replaces controller_node, or an empty text.

    Raises:
        ArgumentError: If two do, another argument is of controller_node, or nothing stops the
            hardware when controller_node dies.
    """
    found = [name for name in FOLLOWERS if given[name]]
    if len(found) > 1:
        raise ArgumentError(
            " and ".join(f"{name}:={given[name]}" for name in found)
            + " follow the same motion; omit one of them"
        )
    if found:
        for name in ("mode", "composed", "command_watchdog"):
            if given[name] not in ("", "false"):
                raise ArgumentError(
                    f"{name}:={given[name]} is of controller_node, which {found[0]}:="
                    f"{given[found[0]]} replaces; omit one of them"
                )
        return found[0]
    if "false" == given["simulation"] == given["command_watchdog"]:
        raise ArgumentError(
            "simulation:=false: controller_node closes the loop over a topic, and a "
            "forward_command_controller keeps the last command when that node dies; give "
            "arm_controller:=NAME or joint_trajectory_controller:=NAME, or command_watchdog:=true "
            f"if the hardware stops on stale commands ({SITE}/hardware.html)"
        )
    return ""


def check_given(given: Given, config: str, robot: Robot) -> None:
    """Check files, names and the frame that the arguments give.

    Raises:
        ArgumentError: If one of them cannot be used.
        UnknownNameError: If the robot has no frame of that name.
    """
    check_file("config", config, "a parameter file")
    check_config("config:=", config)
    for name, check in CHECKS.items():
        check_name(name, given[name], check)
    if given["rviz_config"]:
        check_file("rviz_config", given["rviz_config"], "a configuration of rviz2")
    check_end_effector(given, config, robot)


def check_motion(motion: str, file: str, robot: Robot) -> None:
    """Check the file of a motion: a fault is one line here, and no node starts.

    Raises:
        ArgumentError: If there is no such file.
        TrajectoryError: If it is no motion of this robot.
    """
    if motion not in ("file", "poses"):
        return
    check_file("file", file, "a trajectory file")
    if motion == "poses":
        read_poses(file)
    else:
        names, speeds = robot.joint_names, robot.limits.velocity
        read_trajectory(file, names, followers=robot.followers, speeds=speeds)


def check_file(argument: str, path: str, what: str) -> None:
    """Check that a file exists.

    Raises:
        ArgumentError: If it does not.
    """
    if not Path(path).is_file():
        raise ArgumentError(f"{argument}:={path}: no such file; give {what}")


def mode_of(given: Given, config: str) -> object:
    """Return the control law of the arguments, or else of the parameter file."""
    return given["mode"] or parameter_in(config, "controller_node", "mode")


def check_end_effector(given: Given, config: str, robot: Robot) -> None:
    """Check that the robot has the end effector that is to move, before any node starts.

    Raises:
        UnknownNameError: If it has no frame of that name.
        ArgumentError: If none is named, and no rule says which one it is.
    """
    named = given["frame"] or parameter_in(config, "controller_node", "task.frame")
    mode = mode_of(given, config)
    if given["frame"]:
        robot.frame(given["frame"])
    elif mode in TASK_MODES and not named:
        try:
            default_end_effector(robot)
        except ArgumentError as error:
            raise ArgumentError(f"mode:={mode}: {error} by frame:=NAME") from None


def check_name(argument: str, value: str, check: Callable[[str], object]) -> None:
    """Check that ROS 2 accepts a name.

    Raises:
        ArgumentError: If it does not.
    """
    try:
        check(value)
    except NameValidationException as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise ArgumentError(f"{argument}:={value}: {reason}") from None


def absolute(check: Callable[[str], object]) -> Callable[[str], object]:
    """Return a check of a name that may be relative or empty."""
    return lambda name: check(name if name.startswith("/") else f"/{name}")


CHECKS = {
    "namespace": absolute(validate_namespace),
    "command_topic": validate_topic_name,
    "arm_controller": lambda name: name and absolute(validate_full_topic_name)(name),
    "joint_trajectory_controller": lambda name: name and absolute(validate_full_topic_name)(name),
}
"""Checks of arguments that are names."""


def robot_of(name: str, simulated: bool) -> tuple[str, Robot]:
    """Return text and robot of the URDF; read here to report a fault once, not by every node.

    Raises:
        RobotDynamicsError: If there is none, or it cannot be read, or simulated if required.
    """
    text = urdf_text(name)
    try:
        robot = read_urdf(text, require_inertia=simulated)
        if simulated:
            check_physical(robot)
    except RobotDynamicsError as error:
        raise RobotError(f"robot:={name}: {error}") from None
    return text, robot


def driver_of(name: str, simulated: bool) -> Driver | None:
    """Return the driver of that name, or None for an empty one.

    Raises:
        ArgumentError: If there is a simulator, or if the driver takes no efforts.
    """
    if not name:
        return None
    if simulated:
        raise ArgumentError(f"driver:={name} is of a real arm; add simulation:=false, or omit it")
    driver = driver_named(name)
    check_takes_effort(driver)
    return driver


def rate_of(text: str) -> float:
    """Return the argument rate as a number.

    Raises:
        ArgumentError: If it is out of range or not a number.
    """
    (rate,) = (item for item in describe(LoopParameters) if item.name == "rate")
    try:
        return rate.checked(float(text))
    except ValueError:  # of float, and ArgumentError
        raise ArgumentError(f"rate:={text}: give {rate.allowed}, in Hz") from None
