"""Control running nodes without the `ros2` command.

    robot-dynamics ros move joint_1=0.8,joint_2=-0.5 --time 2   send a goal
    robot-dynamics ros move joint_1=0.1 --relative              the same from where the joint is
    robot-dynamics ros echo effort_command --count 1            what is commanded
    robot-dynamics ros mode pd_gravity                          another control mode
    robot-dynamics ros payload 1.2 --com 0,0,0.05               report a load
    robot-dynamics ros sign-test arm.urdf joint_2               does it move in the right direction
    robot-dynamics ros set simulator_node mass_factor 1.1
    robot-dynamics ros get controller_node mode
    robot-dynamics ros call simulator_node/reset
    robot-dynamics ros topics
    robot-dynamics ros rviz panda -o panda.rviz                 configure rviz2 for a robot

ROS_DOMAIN_ID and --namespace select the nodes.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.cli.arguments import (
    load_robot,
    number_list,
    output_file,
    positive,
    ros_needed,
    take_negative_lists,
)
from robot_dynamics.control.laws import ALL_MODES, TASK_MODES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import number_from
from robot_dynamics.foundation.units import FULL_TURN
from robot_dynamics.foundation.user_files import write_whole
from robot_dynamics.trajectory import Waypoints, interpolate, polynomial_345
from robot_dynamics.viewer.rviz_config import PREFIXES, mesh_prefixes, rviz_config

if TYPE_CHECKING:
    from robot_dynamics.nodes.ros.graph_client import GraphClient


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("--namespace", default="", help="of the robot (default: none)")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    move = actions.add_parser("move", help="send a goal to feedforward_node")
    move.add_argument(
        "goal", help="joint=position,... in rad or m; continuous joints turn the shorter way"
    )
    move.add_argument("--time", type=positive, default=2.0, help="to get there, s (default: 2)")
    move.add_argument(
        "--relative",
        action="store_true",
        help="positions are changes of the measured ones, also beyond a turn",
    )
    echo = actions.add_parser("echo", help="print messages of a topic")
    echo.add_argument("topic")
    echo.add_argument("--count", type=int, default=0, help="how many (default: until Ctrl-C)")
    actions.add_parser("topics", help="names and types of all topics")
    mode = actions.add_parser("mode", help="set the mode of controller_node")
    mode.add_argument("mode", choices=list(ALL_MODES))
    payload = actions.add_parser("payload", help="report a payload to the nodes; 0 for none")
    payload.add_argument("mass", type=float, help="kg")
    payload.add_argument("--com", default="0,0,0", help="centre of mass, m (default: 0,0,0)")
    payload.add_argument("--frame", default="", help="link or frame (default: the endpoint)")
    take_negative_lists(payload)
    sign_test = actions.add_parser(
        "sign-test", help="push one joint a little: its sign and its place"
    )
    sign_test.add_argument(
        "robot", help="name or URDF path; its joints in the order of the command"
    )
    sign_test.add_argument("joint")
    sign_test.add_argument("--effort", type=float, help="N m or N (default: 2 %% of the limit)")
    sign_test.add_argument(
        "--command-topic", metavar="TOPIC", default="",
        help="of the commands (default: forward_effort_controller/commands or effort_command, "
        "the one that a node reads)",
    )  # fmt: skip
    sign_test.add_argument("--yes", action="store_true", help="push without asking")
    take_negative_lists(sign_test)
    rviz = actions.add_parser("rviz", help="write a configuration of rviz2 that fits a robot")
    rviz.add_argument("robot", help="name or URDF path")
    rviz.add_argument("-o", "--output", type=output_file, help="file (default: print it)")
    rviz.add_argument(
        "--mode", choices=list(ALL_MODES), default="feedforward",
        help="of controller_node (default: feedforward); in task space no ghost is shown",
    )  # fmt: skip
    for name in ("set", "get"):
        action = actions.add_parser(name, help=f"{name} a parameter of a node")
        action.add_argument("node")
        action.add_argument("parameter")
        if name == "set":
            action.add_argument("value", help="true, 0.5, text, or a list such as [1, 2]")
            take_negative_lists(action)
    call = actions.add_parser("call", help="call a service, such as simulator_node/reset")
    call.add_argument("service")
    call.add_argument("data", nargs="?", choices=("true", "false"), help="where it takes one")


def run(arguments: argparse.Namespace) -> int:
    """Perform the action.

    Raises:
        RobotDynamicsError: If there is no rclpy, or no such node.
    """
    if arguments.action == "rviz":
        return _rviz(arguments)
    with ros_needed():
        from robot_dynamics.nodes.ros.graph_client import graph_client  # noqa: PLC0415
    if arguments.action == "sign-test":
        return _sign_test(arguments)
    goal = goal_of(arguments.goal, arguments.time) if arguments.action == "move" else None
    with graph_client(arguments.namespace) as ros:
        if goal is not None:
            if arguments.relative:
                goal = relative_goal(goal, ros.positions(goal.joint_names))
            print(ros.move(goal))
        else:
            _do(ros, arguments)
    return 0


def _rviz(arguments: argparse.Namespace) -> int:
    """Write a configuration of rviz2, and print the call that uses it."""
    robot, ghost = load_robot(arguments.robot, inertia=False), arguments.mode not in TASK_MODES
    text = rviz_config(robot, ghost=ghost)
    if arguments.output is None:
        print(text, end="")
        return 0
    write_whole(arguments.output, text)
    words = ["rviz2", "-d", str(arguments.output)]
    if arguments.namespace:
        words += ["--ros-args", "-r", f"__ns:=/{arguments.namespace.strip('/')}"]
        # Each namespace has its own /tf
        words += [word for name in ("tf", "tf_static") for word in ("-r", f"/{name}:={name}")]
    print(f"{PREFIXES}={shlex.quote(mesh_prefixes())} {shlex.join(words)}")
    return 0


def _sign_test(arguments: argparse.Namespace) -> int:
    """Announce a sign test, ask for it, and push."""
    from robot_dynamics.nodes.ros.graph_client import joined  # noqa: PLC0415
    from robot_dynamics.nodes.ros.sign_test import SignTest, effort_of  # noqa: PLC0415

    robot, joint = load_robot(arguments.robot), arguments.joint
    effort = effort_of(robot, joint, arguments.effort)
    with joined(
        lambda context: SignTest(context, arguments.namespace, robot, arguments.command_topic)
    ) as ros:
        topic = ros.check()
        print(
            f"'{joint}' gets up to {effort:+g} N m or N on {topic} until something moves by "
            "0.01 rad or m, and every other joint none:\nclose their brakes or support the arm, "
            "stay clear, and keep a hand on the emergency stop"
        )
        if not arguments.yes and input(f"type {joint} to push it: ") != joint:
            raise RobotDynamicsError("nothing was pushed")
        print(ros.push(joint, effort))
    return 0


def _do(ros: GraphClient, arguments: argparse.Namespace) -> None:
    from robot_dynamics.nodes.ros.graph_client import in_words, typed_value  # noqa: PLC0415

    action = arguments.action
    if action == "echo":
        for message in ros.echo(arguments.topic, arguments.count):
            print(in_words(message), end="\n---\n", flush=True)
    elif action == "topics":
        for name, kind in ros.topics():
            print(f"{name}  {kind}")
    elif action == "mode":
        ros.set("controller_node", "mode", arguments.mode)
        print(f"accepted by controller_node: mode {arguments.mode}")
    elif action == "payload":
        com = number_list("--com", arguments.com, ("x", "y", "z"))
        print(ros.carry(arguments.mass, com.tolist(), arguments.frame))
    elif action == "set":
        value = typed_value(arguments.value, arguments.parameter)
        ros.set(arguments.node, arguments.parameter, value)
    elif action == "get":
        print(ros.get(arguments.node, arguments.parameter))
    else:
        data = None if arguments.data is None else arguments.data == "true"
        print(ros.call(arguments.service, data))


def relative_goal(change: Waypoints, start: Array) -> Waypoints:
    """Return the goal of a change of positions from `start`, shape (n,), rad or m.

    Points less than half a turn apart, of the motion of least jerk, go beyond a turn.
    """
    count = max(1, int(np.ceil(np.abs(change.positions).max() / (0.25 * FULL_TURN))))
    motion = interpolate(polynomial_345(change.joint_names, 0 * start, change.positions[0], 1.0))
    s = np.linspace(0.0, 1.0, count + 1)[1:]
    return Waypoints(change.joint_names, change.duration * s, start + motion.sample(s).q)


def goal_of(text: str, seconds: float) -> Waypoints:
    """Parse a goal, "elbow=0.2,wrist=1", for some joints or all.

    Raises:
        ArgumentError: If the text has another form.
    """
    names, positions = [], []
    for entry in text.split(","):
        name, equals, number = entry.partition("=")
        try:
            positions.append(number_from(number))
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise ArgumentError(f"goal: '{entry}' is not JOINT=POSITION; give elbow=0.2,wrist=1")
        names.append(name.strip())
    return Waypoints(tuple(names), np.array([seconds]), np.array([positions]))
