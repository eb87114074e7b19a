"""simulator_node obeys commands of joints and of actuators, and notices other robots."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import read_urdf
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation.compiled_plant import fastest_plant
from ros_system import wait_for

RATE = 100.0
CYCLE = round(NS_PER_S / RATE)
START = [0.5, 0.1]
ROBOT = {"urdf_path": "planar_2r", "rate": RATE, "initial_positions": START}
JOINTS = ["joint_1", "joint_2"]


def stamp(state):
    return nanoseconds(state.header.stamp)


def command(*efforts):
    return Float64MultiArray(data=list(efforts))


class Simulated:
    """A simulator that runs, the topic of its commands, and what it says."""

    def __init__(self, start, peer, namespace, **parameters):
        arguments, self.name = namespace
        self.states = peer.listen(JointState, f"{self.name}/joint_states", 1000)
        self._reports = peer.listen(DiagnosticArray, "/diagnostics")
        self.process = start("simulator_node", {**ROBOT, **parameters}, arguments)
        self.commands = peer.publisher(Float64MultiArray, f"{self.name}/effort_command")
        wait_for(lambda: self.states, "the first state")

    def next(self, after):
        """The first state with a stamp later than that of `after`."""
        wait_for(lambda: stamp(self.states[-1]) > stamp(after), "the next state")
        return next(state for state in self.states if stamp(state) > stamp(after))

    def report_of(self, condition, what):
        """Values of a report, from now on, for which a condition holds, and its text."""
        received = len(self._reports)

        def found():
            for msg in self._reports[received:]:
                for status in msg.status:
                    if status.name == f"{self.name}/simulator_node"[1:]:
                        values = {entry.key: entry.value for entry in status.values}
                        values["message"] = status.message
                        if condition(values):
                            return values
            return None

        return wait_for(found, what)


@pytest.fixture
def simulated(start, peer, namespace):
    def simulated(**parameters):
        return Simulated(start, peer, namespace, **parameters)

    return simulated


@pytest.fixture
def plant():
    """Expected motion in lockstep, to the last bit: the same kernel and numbers."""
    return fastest_plant(read_urdf(find_robot("planar_2r")), START, stops=True)


def moved(plant, efforts):
    """Positions after one cycle of 10 ms under joint efforts."""
    for _ in range(10):
        plant.step(np.array(efforts))
    return plant.q.tolist()


@pytest.mark.parametrize(("given", "frame"), [({}, "endpoint"), ({"frame_id": "cell"}, "cell")])
def test_states_say_in_which_frame_they_are_so_that_rviz_shows_efforts(simulated, given, frame):
    assert simulated(**given).states[0].header.frame_id == frame


def test_two_nodes_that_command_the_robot_are_noticed(simulated, peer):
    import rclpy

    robot = simulated()
    robot.report_of(lambda values: "publishers" not in values["message"], "one node")
    other = rclpy.create_node("other", context=peer.context)
    try:
        other.create_publisher(Float64MultiArray, f"{robot.name}/effort_command", 1)
        line = "2 publishers of effort_command; leave only one of /other, /peer"
        robot.report_of(lambda values: line in values["message"], "the warning")
    finally:
        other.destroy_node()
    robot.report_of(lambda values: "publishers" not in values["message"], "the end of it")


# -- other robots on joint_states ------------------------------------------------------------------

TOO = "publish {}/joint_states, two of them the same joints; stop all but one of these"


def test_a_gripper_may_publish_joint_states_too(simulated, peer):
    import rclpy

    robot = simulated()
    topic = f"{robot.name}/joint_states"
    listeners = peer.node.count_subscribers(topic)
    gripper = rclpy.create_node("gripper", context=peer.context)
    try:
        publisher = gripper.create_publisher(JointState, topic, 10)
        msg = JointState(name=["finger"], position=[0.0])
        wait_for(
            lambda: publisher.publish(msg) or peer.node.count_subscribers(topic) > listeners,
            "a look at the messages",
        )
        wait_for(
            lambda: publisher.publish(msg) or peer.node.count_subscribers(topic) == listeners,
            "the end of it",
        )
        line = TOO.format(robot.name)
        robot.report_of(lambda values: line not in values["message"], "a report without a warning")
    finally:
        gripper.destroy_node()


def test_another_robot_of_the_same_joints_is_warned_of(simulated, peer):
    import rclpy

    robot = simulated()
    line = TOO.format(robot.name)
    other = rclpy.create_node("other", context=peer.context)
    try:
        publisher = other.create_publisher(JointState, f"{robot.name}/joint_states", 10)
        msg = JointState(name=["joint_2", "wheel"], position=[0.0, 0.0])
        for _ in range(3):
            robot.report_of(
                lambda values: publisher.publish(msg) or line in values["message"], "the warning"
            )
        assert robot.process.log.count(line) == 1
        named = next(x for x in robot.process.log.splitlines() if line in x)
        assert "/other" in named
        assert f"{robot.name}/simulator_node" in named
    finally:
        other.destroy_node()
    robot.report_of(lambda values: line not in values["message"], "the end of it")


def test_two_simulators_of_one_name_notice_each_other(simulated):
    first, second = simulated(), simulated()
    name = first.name
    line = f"{name}/simulator_node, {name}/simulator_node {TOO.format(name)}"
    for robot in (first, second):
        robot.process.wait_for_log(line)


def test_a_publisher_that_sends_nothing_is_no_other_robot(simulated, peer):
    """The middleware lists a simulator that was killed for 20 s more."""
    import rclpy

    robot = simulated()
    topic = f"{robot.name}/joint_states"
    listeners = peer.node.count_subscribers(topic)
    silent = rclpy.create_node("silent", context=peer.context)
    try:
        silent.create_publisher(JointState, topic, 10)
        wait_for(lambda: peer.node.count_subscribers(topic) > listeners, "a look at the messages")
        reports = [robot.report_of(lambda values: True, "a report")["message"] for _ in range(3)]
        assert not any(TOO.format(robot.name) in report for report in reports)
    finally:
        silent.destroy_node()


# -- actuators -------------------------------------------------------------------------------------

REMOTE = "[1.0, 0.0, 1.0, 1.0]"
"""Both motors on the base: p1 = q1, p2 = q1 + q2, so tau = (f1 + f2, f2)."""


def test_efforts_of_actuators_move_the_joints_that_they_drive(simulated, plant):
    robot = simulated(lockstep=True, actuator_space=True, actuator_coupling=REMOTE)
    state = robot.states[-1]
    robot.commands.publish(command(0.5, 2.0))
    state = robot.next(state)
    assert list(state.position) == moved(plant, [2.5, 2.0])
    assert list(state.effort) == [2.5, 2.0]  # joint_states stay those of the joints
    robot.process.wait_for_log(
        "commands are efforts of actuators, in the order joint_1_actuator, joint_2_actuator"
    )
    report = robot.report_of(lambda values: True, "a report")
    assert report["actuator_space"] == "true"
    assert report["order of effort_command"] == "joint_1_actuator, joint_2_actuator"


def test_a_robot_without_transmissions_cannot_be_commanded_by_actuators(start, namespace):
    process = start("simulator_node", {**ROBOT, "actuator_space": True}, namespace[0])
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert (
        "simulator_node: no <transmission> of robot 'planar_2r' drives joints 'joint_1', "
        "'joint_2'; add one to the URDF, or give the coupling matrix"
    ) in process.log
