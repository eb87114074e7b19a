"""Diagnostics: what nodes say of themselves on /diagnostics, and what is made of it."""

from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.diagnostics import CounterDeltas, Fault, Level, in_words, status_msg
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = {"urdf_path": "planar_2r", "rate": 100.0}

LINK = """<link name="{name}"><inertial><mass value="1"/><origin xyz="0.5 0 0"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="to_{name}" type="continuous"><parent link="{parent}"/><child link="{name}"/>
<origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint>"""
UNLIMITED = (
    '<robot name="free"><link name="base"/>'
    + LINK.format(name="upper", parent="base")
    + LINK.format(name="lower", parent="upper")
    + "</robot>"
).replace("\n", " ")
"""Without limits of effort, so that nothing stands between a wild command and the joints."""


# -- without ROS ----------------------------------------------------------------------------


def test_a_status_has_the_level_of_the_worst_fault_and_names_all():
    faults = [
        Fault(Level.WARN, "a bit late"),
        Fault(Level.ERROR, "broken"),
        Fault(Level.STALE, "no news"),
    ]
    msg = status_msg("node", "arm", faults, {"speed": 1.5})
    assert msg.level == DiagnosticStatus.ERROR
    assert msg.message == "broken; no news; a bit late"
    assert (msg.name, msg.hardware_id) == ("node", "arm")
    assert [(value.key, value.value) for value in msg.values] == [("speed", "1.5")]


def test_a_status_without_faults_is_ok():
    msg = status_msg("node", "arm", [], {})
    assert (msg.level, msg.message) == (DiagnosticStatus.OK, "ok")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "none"),
        (True, "true"),
        (3, "3"),
        (1.0 / 3.0, "0.333333"),
        (["elbow", "wrist"], "elbow, wrist"),
        ([], "none"),
        (np.array([0.5, 1.5]), "0.5, 1.5"),
        ({"elbow": 0.25, "wrist": None}, "elbow: 0.25, wrist: none"),
        ("tracking", "tracking"),
    ],
)
def test_values_are_told_in_words(value, words):
    assert in_words(value) == words


def test_a_counter_grows_from_one_look_to_the_next():
    growth = CounterDeltas()
    assert [growth.of("refused", count) for count in (2, 2, 5)] == [2, 0, 3]
    assert growth.of("other", 1) == 1


# -- real nodes -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report_of(peer):
    """Waits for a status of a node for which a condition holds."""
    messages = peer.listen(DiagnosticArray, "/diagnostics")

    def report_of(name, condition, what):
        received = len(messages)

        def found():
            for msg in messages[received:]:
                for status in msg.status:
                    if status.name == name.lstrip("/") and condition(status):
                        return status
            return None

        return wait_for(found, what)

    return report_of


@contextmanager
def sent(peer, publisher, msg):
    """A message goes out fifty times a second: a single one may be lost."""
    timer = peer.node.create_timer(0.02, lambda: publisher.publish(msg))
    try:
        yield
    finally:
        peer.node.destroy_timer(timer)


def test_a_node_without_a_robot_says_that_it_waits(start, peer, report_of, namespace):
    arguments, name = namespace
    start("simulator_node", {"rate": 100.0}, arguments)
    waiting = report_of(f"{name}/simulator_node", lambda s: True, "the first report")
    assert waiting.level == DiagnosticStatus.WARN
    assert waiting.message == "waiting for the robot"
    publisher = peer.publisher(String, f"{name}/robot_description", DESCRIPTION_QOS)
    publisher.publish(String(data=find_robot("planar_2r").read_text()))
    report_of(f"{name}/simulator_node", lambda s: s.hardware_id == "planar_2r", "the robot's name")


def test_the_simulator_reports_its_commands_from_none_to_refused_to_stopped(
    start, peer, report_of, namespace
):
    arguments, name = namespace
    start("simulator_node", {**ROBOT, "command_timeout": 0.3}, arguments)
    node = f"{name}/simulator_node"

    def warns(status):  # where nothing worse is wrong: a busy machine may miss cycles at first
        return status.level == DiagnosticStatus.WARN and "no effort_command yet" in status.message

    status = report_of(node, warns, "the first report")
    values = {value.key: value.value for value in status.values}
    assert values["joints"] == "held by the brakes"
    assert values["effort_command: age (s)"] == "none"

    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    good, bad = Float64MultiArray(data=[0.0, 0.0]), Float64MultiArray(data=[0.0, float("nan")])

    def value(status, key):
        return next(entry.value for entry in status.values if entry.key == key)

    with sent(peer, command, good):
        obeys = report_of(
            node, lambda s: value(s, "joints") == "commanded", "commands that are obeyed"
        )
    assert "effort_command" not in obeys.message
    assert int(value(obeys, "effort_command: messages")) > 0
    assert float(value(obeys, "effort_command: age (s)")) >= 0.0

    with sent(peer, command, bad):
        refusing = report_of(node, lambda s: "refused" in s.message, "the refusals")
    assert "effort_command: effort of joint 'joint_2' is nan" in refusing.message
    assert int(value(refusing, "effort_command: refused")) > 0

    stopped = report_of(
        node, lambda s: s.level == DiagnosticStatus.STALE, "the end of the commands"
    )
    assert stopped.message.startswith("no effort_command for ")
    assert value(stopped, "joints") == "held by the brakes"


def test_two_publishers_of_commands_are_noticed(start, peer, report_of, namespace):
    arguments, name = namespace
    start("simulator_node", ROBOT, arguments)
    publishers = [peer.publisher(Float64MultiArray, f"{name}/effort_command") for _ in range(2)]
    line = "2 publishers of effort_command; leave only one"
    report_of(f"{name}/simulator_node", lambda s: line in s.message, "the warning")
    peer.node.destroy_publisher(publishers.pop())
    report_of(f"{name}/simulator_node", lambda s: line not in s.message, "one that is left")


def test_a_clock_that_does_not_come_is_logged_once_and_reported(start, report_of, namespace):
    arguments, name = namespace
    process = start("simulator_node", {**ROBOT, "use_sim_time": True}, arguments)
    line = "use_sim_time is set but no /clock comes; start what publishes it, or unset it"
    for _ in range(2):
        status = report_of(f"{name}/simulator_node", lambda s: line in s.message, "a report")
        assert status.hardware_id == "planar_2r"
        assert status.level == DiagnosticStatus.ERROR
    assert process.log.count(line) == 1


def test_a_motion_that_diverges_is_an_error(start, peer, report_of, namespace):
    arguments, name = namespace
    start(
        "simulator_node",
        {"robot_description": UNLIMITED, "rate": 100.0, "command_timeout": 10.0},
        arguments,
    )
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    line = "the motion diverged; back at the start"
    with sent(peer, command, Float64MultiArray(data=[1e150, 0.0])):
        status = report_of(f"{name}/simulator_node", lambda s: line in s.message, "the error")
    assert status.level == DiagnosticStatus.ERROR


def test_a_loop_reports_the_rate_that_it_was_asked_for(start, report_of, namespace):
    arguments, name = namespace
    start("simulator_node", {**ROBOT, "publish_clock": True, "real_time_factor": 0.5}, arguments)

    def values(status):
        return {value.key: value.value for value in status.values}

    status = report_of(
        f"{name}/simulator_node", lambda s: "rate held (Hz)" in values(s), "a report of the loop"
    )
    assert values(status)["requested rate (Hz)"] == "50"  # cycles per second of real time
    assert float(values(status)["rate held (Hz)"]) > 0.0
    assert float(values(status)["jitter, worst (us)"]) >= 0.0
    assert int(values(status)["cycles missed"]) >= 0


def keys(status):
    return {value.key for value in status.values}


def test_every_node_reports_from_one_process(start, report_of):
    start("composed_nodes", ROBOT)
    for node in ("simulator_node", "feedforward_node", "controller_node"):
        status = report_of(
            node, lambda s: "rate held (Hz)" in keys(s), f"a report of {node}'s loop"
        )
        assert status.hardware_id == "planar_2r"
        assert "requested rate (Hz)" in keys(status)


def test_a_controller_that_nobody_listens_to_says_so_and_does_not_push(
    start, peer, report_of, namespace
):
    arguments, name = namespace
    process = start("controller_node", ROBOT, arguments)
    states = peer.publisher(JointState, f"{name}/joint_states")
    references = peer.publisher(JointState, f"{name}/reference")
    names, rest = ["joint_1", "joint_2"], [0.0, 0.0]
    state = JointState(name=names, position=[0.3, 0.4], velocity=rest)
    wanted = JointState(name=names, position=[0.3, 0.4], velocity=rest, effort=rest)
    line = f"no node subscribes to {name}/effort_command"
    with sent(peer, states, state), sent(peer, references, wanted):
        status = report_of(f"{name}/controller_node", lambda s: line in s.message, "the warning")
        assert status.level >= DiagnosticStatus.WARN
        assert "tracking" not in process.log
        commands = peer.listen(Float64MultiArray, f"{name}/effort_command")
        process.wait_for_log("tracking the reference")
        report_of(f"{name}/controller_node", lambda s: line not in s.message, "the end of it")
        gravity = Dynamics(read_urdf(find_robot("planar_2r"))).gravity([0.3, 0.4])
        np.testing.assert_allclose(commands[0].data, gravity, atol=10.0)


def test_an_imu_that_does_not_come_is_reported(start, report_of, namespace):
    arguments, name = namespace
    for node in ("feedforward_node", "controller_node"):
        start(node, {**ROBOT, "gravity_from_imu": True}, arguments)
        status = report_of(
            f"{name}/{node}", lambda s: "no imu for" in s.message, f"a report of {node}"
        )
        assert "gravity keeps the direction of the parameter" in status.message


def test_a_quality_of_service_that_does_not_match_is_logged_with_the_remedy(start, peer, namespace):
    arguments, name = namespace
    node = start("feedforward_node", {"rate": 100.0}, arguments)
    publisher = peer.node.create_publisher(String, f"{name}/robot_description", 1)  # not latched
    node.wait_for_log(
        f"{name}/robot_description: another node's durability is incompatible, so no "
        "message passes; publish it as reliable, transient_local"
    )
    peer.node.destroy_publisher(publisher)
