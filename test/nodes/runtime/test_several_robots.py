"""Several simulated robots in one process, distinguished by their namespaces."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import read_urdf
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.nodes.runtime.process import Process
from robot_dynamics.nodes.simulator.simulator_node import SimulatorNode
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation.compiled_plant import fastest_plant
from ros_system import Peer, wait_for

RATE = 100.0
CYCLE = round(NS_PER_S / RATE)
STARTS = {"left": [0.5, 0.1], "right": [-0.3, 0.7]}


def simulator(context, name, **parameters):
    values = {
        "urdf_path": "planar_2r",
        "rate": RATE,
        "initial_positions": STARTS[name],
        **parameters,
    }
    overrides = [Parameter(key, value=value) for key, value in values.items()]
    return SimulatorNode(context=context, namespace=name, parameter_overrides=overrides)


@pytest.fixture
def together(context):
    """Starts the two robots in this process, each with parameters of its own."""
    processes = []

    def together(**own):
        nodes = [simulator(context, name, **own.get(name, {})) for name in STARTS]
        process = Process(nodes, context)
        process.__enter__()
        processes.append(process)
        assert process.start()
        return dict(zip(STARTS, nodes, strict=True))

    yield together
    for process in processes:
        process.__exit__(None, None, None)
    assert [process.failure for process in processes] == [None] * len(processes)


@pytest.fixture
def listener(domain):
    peer = Peer(domain)
    yield peer
    peer.close()


def test_each_robot_obeys_its_own_commands(together, listener):
    states = {name: listener.listen(JointState, f"{name}/joint_states", 1000) for name in STARTS}
    together(left={"lockstep": True}, right={"lockstep": True})
    publishers = {
        name: listener.publisher(Float64MultiArray, f"{name}/effort_command") for name in STARTS
    }
    plants = {
        name: fastest_plant(read_urdf(find_robot("planar_2r")), start, stops=True)
        for name, start in STARTS.items()
    }
    wait_for(lambda: all(states.values()), "both robots")
    for k in range(5):
        for name, sign in (("left", 1.0), ("right", -1.0)):
            efforts = np.array([sign, 0.1 * k])
            for _ in range(10):
                plants[name].step(efforts)
            publishers[name].publish(Float64MultiArray(data=efforts.tolist()))
            expected = plants[name].q.tolist()
            wait_for(
                lambda received=states[name], q=expected: list(received[-1].position) == q,
                f"{name} robot to move as its plant",
            )


def test_one_robot_may_stop_while_the_other_goes_on(together, listener):
    states = {name: listener.listen(JointState, f"{name}/joint_states", 1000) for name in STARTS}
    nodes = together()
    wait_for(lambda: all(states.values()), "both robots")
    nodes["left"].trigger_deactivate()
    count = {name: len(received) for name, received in states.items()}
    wait_for(lambda: len(states["right"]) > count["right"] + 50, "the right robot")
    assert len(states["left"]) <= count["left"] + 2  # what was on its way
    nodes["left"].trigger_activate()
    wait_for(lambda: len(states["left"]) > count["left"] + 50, "the left robot again")


def test_a_robot_that_is_activated_again_is_held_at_rest_until_a_new_command(together, listener):
    states = listener.listen(JointState, "left/joint_states", 1000)
    robot = together(left={"command_timeout": 5.0})["left"]
    command = listener.publisher(Float64MultiArray, "left/effort_command")
    push = Float64MultiArray(data=[20.0, 0.0])
    wait_for(lambda: command.publish(push) or (states and states[-1].velocity[0] > 0.1), "a motion")
    robot.trigger_deactivate()
    sent = listener.listen(Float64MultiArray, "left/effort_command")
    wait_for(lambda: command.publish(push) or sent, "a command that waits unread")
    q = robot.plant.q.tolist()
    received = len(states)
    robot.trigger_activate()
    wait_for(lambda: len(states) > received + 30, "joint_states")
    after = [state for state in states[received:] if list(state.velocity) == [0.0, 0.0]]
    assert len(after) >= 29  # one from before may have been on its way
    assert {tuple(state.position) for state in after} == {tuple(q)}


def test_each_robot_reports_for_itself(together, listener):
    reports = listener.listen(DiagnosticArray, "/diagnostics")
    together(left={"rate": 50.0})
    rates = {}

    def both():
        for msg in list(reports):
            for status in msg.status:
                rate = {entry.key: entry.value for entry in status.values}.get(
                    "requested rate (Hz)"
                )
                if rate is not None:
                    rates[status.name] = float(rate)
        return len(rates) == 2

    wait_for(both, "both reports")
    assert rates == {"left/simulator_node": 50.0, "right/simulator_node": RATE}


def test_the_robot_that_has_no_clock_lives_in_the_time_of_the_one_that_publishes_it(
    together, listener
):
    clock = listener.listen(Clock, "/clock", 1000)
    states = listener.listen(JointState, "right/joint_states", 1000)
    together(left={"publish_clock": True}, right={"use_sim_time": True})
    wait_for(lambda: states and nanoseconds(states[-1].header.stamp) > 0, "simulated time")
    received = len(states)
    wait_for(lambda: len(states) > received + 20, "joint_states")
    stamps = [nanoseconds(state.header.stamp) for state in states[received:]]
    assert all(t % CYCLE == 0 for t in stamps)
    assert stamps == sorted(stamps)
    assert nanoseconds(clock[-1].clock) >= stamps[0]


def test_two_robots_that_both_publish_the_clock_are_noticed(together, listener):
    reports = listener.listen(DiagnosticArray, "/diagnostics")
    together(left={"publish_clock": True}, right={"publish_clock": True})
    line = "2 publishers of /clock; leave only one"
    wait_for(
        lambda: any(line in status.message for msg in list(reports) for status in msg.status),
        "the warning",
    )
