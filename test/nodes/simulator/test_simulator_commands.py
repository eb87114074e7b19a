"""simulator_node obeys commands by name and in order, of joints and of actuators, each once."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from joint_messages import named_effort_msg
from robot_dynamics import read_urdf
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import nanoseconds, time_msg
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


def plain(*efforts):
    return Float64MultiArray(data=list(efforts))


def named(efforts, answers=0, names=JOINTS):
    """Command with the stamp of a state, ns, or with none."""
    return named_effort_msg(names, np.array(efforts), time_msg(answers))


class Simulated:
    """A simulator that runs, both topics of commands, and what it says."""

    def __init__(self, start, peer, namespace, **parameters):
        arguments, self.name = namespace
        self.states = peer.listen(JointState, f"{self.name}/joint_states", 1000)
        self._reports = peer.listen(DiagnosticArray, "/diagnostics")
        self.process = start("simulator_node", {**ROBOT, **parameters}, arguments)
        self.plain = peer.publisher(Float64MultiArray, f"{self.name}/effort_command")
        self.named = peer.publisher(JointState, f"{self.name}/effort_command_named")
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

    def keeps_publishing(self, peer, publisher, make):
        """Publish `make()` 50 times a second until the timer that is returned is destroyed."""
        return peer.node.create_timer(0.02, lambda: publisher.publish(make()))


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


# -- by name, in lockstep --------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "frame"), [({}, "endpoint"), ({"frame_id": "cell"}, "cell")])
def test_states_say_in_which_frame_they_are_so_that_rviz_shows_efforts(simulated, given, frame):
    assert simulated(**given).states[0].header.frame_id == frame


def test_named_efforts_reach_their_joints_in_any_order(simulated, plant):
    robot = simulated(lockstep=True)
    state = robot.states[-1]
    for efforts in ([1.0, -2.0], [3.0, 0.5], [-1.0, 1.0]):
        robot.named.publish(named(efforts[::-1], stamp(state), JOINTS[::-1]))
        state = robot.next(state)
        assert list(state.position) == moved(plant, efforts)
        assert list(state.effort) == plant.tau.tolist()


def test_a_state_that_is_answered_by_name_and_in_order_is_answered_once(simulated, plant):
    robot = simulated(lockstep=True)
    state = first = robot.states[-1]
    count = 30
    for k in range(count):
        efforts = [np.sin(k), np.cos(k)]
        answers = [(robot.plain, plain(*efforts)), (robot.named, named(efforts, stamp(state)))]
        for publisher, msg in answers if k % 2 else answers[::-1]:
            publisher.publish(msg)
        robot.named.publish(named(efforts, stamp(state)))
        state = robot.next(state)
        assert stamp(state) == stamp(first) + (k + 1) * CYCLE
        assert list(state.position) == moved(plant, efforts)
    report = robot.report_of(lambda values: True, "a report")
    # Whether a plain command of the first cycles came first is up to the middleware
    assert int(report["states answered twice"]) >= count
    assert "refused" not in report["message"]
    assert stamp(robot.states[-1]) == stamp(first) + count * CYCLE


def test_an_answer_to_another_state_does_not_move_the_robot(simulated, plant):
    robot = simulated(lockstep=True)
    state = robot.states[-1]
    robot.named.publish(named([5.0, 5.0], stamp(state) + 3 * CYCLE))
    robot.process.wait_for_log(
        "effort_command_named: stamp is 0.03 s after that of the last joint_states; the message "
        "is ignored; in lockstep copy the stamp of the joint_states that it answers, or leave it "
        "zero"
    )
    robot.named.publish(named([1.0, 0.0]))  # not stamped: answers the last state
    state = robot.next(state)
    assert list(state.position) == moved(plant, [1.0, 0.0])


def test_an_answer_to_a_state_before_a_reset_does_not_move_the_robot(simulated, peer):
    robot = simulated(lockstep=True)
    old = robot.states[-1]
    robot.named.publish(named([5.0, 5.0], stamp(old)))
    state = robot.next(old)
    assert list(state.position) != START
    assert peer.call(Trigger, f"{robot.name}/simulator_node/reset", Trigger.Request()).success
    placed = robot.next(state)
    robot.named.publish(named([5.0, 5.0], stamp(state)))
    received = len(robot.states)
    wait_for(lambda: len(robot.states) > received, "the same state again")
    assert {stamp(state) for state in robot.states[received:]} == {stamp(placed)}
    assert list(robot.states[-1].position) == START


# -- by name, in real time -------------------------------------------------------------------------


def test_while_commands_come_by_name_those_in_order_do_not_count(simulated, peer):
    robot = simulated(command_timeout=2.0)  # longer than this process may have to wait
    in_order = robot.keeps_publishing(peer, robot.plain, lambda: plain(1.0, 0.0))
    wait_for(lambda: robot.states[-1].effort[0] == 1.0, "the plain command")
    report = robot.report_of(lambda values: values["joints"] == "commanded", "a report")
    assert report["commands"] == "effort_command, in order"
    by_name = robot.keeps_publishing(
        peer, robot.named, lambda: named([2.0, 0.0], stamp(robot.states[-1]))
    )
    wait_for(lambda: robot.states[-1].effort[0] == 2.0, "the named command")
    received = len(robot.states)
    report = robot.report_of(lambda values: "by name" in values["commands"], "a report")
    assert report["commands"] == "effort_command_named, by name"
    wait_for(lambda: len(robot.states) > received + 50, "joint_states")
    assert {state.effort[0] for state in robot.states[received:]} == {2.0}
    peer.node.destroy_timer(by_name)
    wait_for(lambda: robot.states[-1].effort[0] == 1.0, "the plain command again")
    peer.node.destroy_timer(in_order)
    # Two topics, but one node that publishes them: nothing to be warned of
    assert "publishers" not in report["message"]


def test_when_both_stop_the_last_plain_one_is_not_mistaken_for_news(simulated, peer):
    """It waited unread while named ones came: obeyed then, it would move the arm once more."""
    robot = simulated(command_timeout=1.0)  # longer than this process may have to wait

    def publish():
        robot.plain.publish(plain(9.0, 0.0))
        return named([2.0, 0.0], stamp(robot.states[-1]))

    timer = robot.keeps_publishing(peer, robot.named, publish)
    wait_for(lambda: robot.states[-1].effort[0] == 2.0, "the named command")
    received = len(robot.states)
    wait_for(lambda: len(robot.states) > received + 30, "plain commands that wait")
    peer.node.destroy_timer(timer)
    robot.process.wait_for_log("no effort_command for 1 s; holding the joints until one arrives")
    before = len(robot.states)
    wait_for(lambda: len(robot.states) > before + 60, "joint_states")
    assert {state.effort[0] for state in robot.states[received:]} == {2.0, 0.0}


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda state: named([1.0], stamp(state), JOINTS[:1]),
            "effort_command_named: names joint_1, but not joint_2; the message is ignored; command "
            "all of joint_1, joint_2 together",
        ),
        (
            lambda state: named([1.0, np.nan], stamp(state)),
            "effort_command_named: effort of 'joint_2' is nan; the message is ignored",
        ),
        (
            lambda state: named([1.0, 1.0], stamp(state), ["joint_1", "joint_1"]),
            "effort_command_named: 'joint_1' stands twice; the message is ignored; name each joint "
            "once",
        ),
        (
            lambda state: named([1.0, 1.0], 5 * NS_PER_S),
            "before that of the last joint_states; the message is ignored; copy the stamp of the "
            "joint_states that it answers, and set use_sim_time alike in all nodes",
        ),
    ],
    ids=["partial", "nan", "twice", "stale"],
)
def test_a_faulty_named_command_is_refused_and_counted(simulated, peer, make, line):
    robot = simulated()
    timer = robot.keeps_publishing(peer, robot.named, lambda: make(robot.states[-1]))
    robot.process.wait_for_log(line)
    report = robot.report_of(lambda values: "effort_command_named: refused" in values, "a report")
    peer.node.destroy_timer(timer)
    assert int(report["effort_command_named: refused"]) >= 1
    assert report["joints"] == "held by the brakes"
    assert report["commands"] == "none yet"


def test_two_nodes_that_command_the_robot_are_noticed_though_each_has_a_topic(simulated, peer):
    import rclpy

    robot = simulated()
    robot.report_of(
        lambda values: "publishers" not in values["message"], "one node with both topics"
    )
    other = rclpy.create_node("other", context=peer.context)
    try:
        other.create_publisher(JointState, f"{robot.name}/effort_command_named", 1)
        line = "2 publishers of effort_command; leave only one of /other, /peer"
        robot.report_of(lambda values: line in values["message"], "the warning")
    finally:
        other.destroy_node()
    robot.report_of(lambda values: "publishers" not in values["message"], "the end of it")


# -- other robots on joint_states ------------------------------------------------------------------

TOO = "publishes {}/joint_states too; if it moves the same joints, stop one of the nodes"


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
    line = f"/other {TOO.format(robot.name)}"
    other = rclpy.create_node("other", context=peer.context)
    try:
        publisher = other.create_publisher(JointState, f"{robot.name}/joint_states", 10)
        msg = JointState(name=["joint_2", "wheel"], position=[0.0, 0.0])
        for _ in range(3):
            robot.report_of(
                lambda values: publisher.publish(msg) or line in values["message"], "the warning"
            )
        assert robot.process.log.count(line) == 1
    finally:
        other.destroy_node()
    robot.report_of(lambda values: line not in values["message"], "the end of it")


def test_two_simulators_of_one_name_notice_each_other(simulated):
    first, second = simulated(), simulated()
    name = first.name
    line = f"another {name}/simulator_node {TOO.format(name)}"
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


@pytest.mark.parametrize("by_name", [True, False])
def test_efforts_of_actuators_move_the_joints_that_they_drive(simulated, plant, by_name):
    robot = simulated(lockstep=True, actuator_space=True, actuator_coupling=REMOTE)
    state = robot.states[-1]
    if by_name:
        motors = ["joint_2_actuator", "joint_1_actuator"]
        robot.named.publish(named([2.0, 0.5], stamp(state), motors))
    else:
        robot.plain.publish(plain(0.5, 2.0))
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
