"""simulator_node as a robot that is not perfect: sensors, losses, models, and missing commands."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import read_urdf
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.nodes.simulator.plant_setup import check_in_range
from robot_dynamics.nodes.simulator.simulator_node import SimulatorNode
from robot_dynamics.robot.catalogue import find_robot
from robot_dynamics.simulation import Imperfections, Reading, Sensor, perturbed
from robot_dynamics.simulation.compiled_plant import fastest_plant
from ros_system import wait_for

RATE = 100.0
START = [0.5, 0.1]
ROBOT = {"urdf_path": "planar_2r", "rate": RATE, "initial_positions": START}


def cycle(state):
    """Number of the cycle that a state was measured in, where time starts at zero."""
    return round(nanoseconds(state.header.stamp) * RATE / NS_PER_S)


def test_noise_and_losses_are_those_of_the_seed(start, peer, namespace):
    arguments, name = namespace
    sigma = {"position_noise": 1e-3, "velocity_noise": 0.02, "effort_noise": 0.3}
    states = peer.listen(JointState, f"{name}/joint_states")
    start(
        "simulator_node",
        {**ROBOT, **sigma, "loss": 0.3, "noise_seed": 11, "publish_clock": True},
        arguments,
    )
    wait_for(lambda: len(states) > 40, "joint_states")
    received = list(states)
    # The joints are held at the start, so a sensor with the same seed tells what must come
    sensor = Sensor(Imperfections(**sigma, loss=0.3, seed=11))
    still = Reading(np.array(START), np.zeros(2), np.zeros(2))
    expected = {k: sensor.read(still) for k in range(1, cycle(received[-1]) + 1)}
    lost = {k for k, reading in expected.items() if reading is None}
    assert lost
    assert not lost & {cycle(state) for state in received}
    for state in received:
        reading = expected[cycle(state)]
        assert list(state.position) == reading.q.tolist()
        assert list(state.velocity) == reading.qd.tolist()
        assert list(state.effort) == reading.tau.tolist()


def test_noise_can_be_switched_on_and_off_while_the_robot_runs(start, peer, namespace):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states")
    start("simulator_node", ROBOT, arguments)
    node = f"{name[1:]}/simulator_node"
    wait_for(lambda: states, "joint_states")
    assert list(states[-1].position) == START
    assert peer.set_parameter(node, "position_noise", 0.01).successful
    wait_for(lambda: list(states[-1].position) != START, "noise")
    assert peer.set_parameter(node, "position_noise", 0.0).successful
    wait_for(lambda: list(states[-1].position) == START, "silence")


def test_the_seed_of_the_masses_chooses_the_robot(start, peer, namespace):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states")
    start(
        "simulator_node",
        {**ROBOT, "lockstep": True, "mass_error": 0.2, "mass_seed": 3},
        arguments,
    )
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    wait_for(lambda: states, "the first state")
    command.publish(Float64MultiArray(data=[1.0, 0.5]))
    wait_for(lambda: list(states[-1].position) != START, "motion")
    heavy = perturbed(read_urdf(find_robot("planar_2r")), 0.2, 3)
    plant = fastest_plant(heavy, START, stops=True)
    for _ in range(10):
        plant.step(np.array([1.0, 0.5]))
    assert list(states[-1].position) == plant.q.tolist()


def test_when_commands_stop_the_effort_can_be_zero_instead(start, peer, namespace):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states")
    process = start(
        "simulator_node",
        {**ROBOT, "command_timeout": 0.2, "on_command_timeout": "zero_effort"},
        arguments,
    )
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    wait_for(
        lambda: (
            command.publish(Float64MultiArray(data=[1.0, 0.0]))
            or (states and states[-1].effort[0] == 1.0)
        ),
        "the effort of the command",
    )
    process.wait_for_log("no effort_command for 0.2 s; zero effort until one arrives")
    wait_for(lambda: states[-1].effort[0] == 0.0, "zero effort")
    received = len(states)
    wait_for(lambda: len(states) > received + 10, "joint_states")
    assert states[-1].velocity[0] != 0.0  # not braked: gravity has it now
    assert states[-1].position[0] < START[0]
    command.publish(Float64MultiArray(data=[1.0, 0.0]))
    wait_for(lambda: states[-1].effort[0] == 1.0, "a command that is obeyed again")


@pytest.mark.parametrize("stops", [True, False])
def test_efforts_are_cut_at_their_limit_and_joints_stop_at_theirs(start, peer, namespace, stops):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states", 1000)
    reports = peer.listen(DiagnosticArray, "/diagnostics")
    start("simulator_node", {**ROBOT, "lockstep": True, "joint_stops": stops}, arguments)
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    wait_for(lambda: states, "the first state")
    limits = read_urdf(find_robot("planar_2r")).limits
    for _ in range(100):  # 1 s: at full effort it takes less to get there
        received = len(states)
        command.publish(Float64MultiArray(data=[0.0, 1e6]))
        wait_for(lambda received=received: len(states) > received, "the next state")
        if states[-1].position[1] >= limits.upper[1]:
            break
    assert states[-1].effort[1] == limits.effort[1]
    if stops:
        assert states[-1].position[1] == pytest.approx(limits.upper[1], abs=1e-12)
    else:
        assert states[-1].position[1] > limits.upper[1] + 1e-6
    wait_for(
        lambda: any(
            (value.key, value.value) == ("effort cut at the limit", "joint_2")
            for msg in list(reports)
            for status in msg.status
            for value in status.values
        ),
        "the joint in diagnostics",
    )


@pytest.mark.parametrize("stops", [True, False])
def test_a_start_beyond_the_stops_is_refused(start, namespace, stops):
    beyond = {**ROBOT, "initial_positions": "[90.0, 45.0]", "joint_stops": stops}
    process = start("simulator_node", beyond, namespace[0])
    if not stops:
        process.wait_for_log("held until the first effort_command")
        return
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert process.log.splitlines() == [
        "simulator_node: parameter 'initial_positions': joint 'joint_1' at 90 rad is outside its "
        "range, -3.141593 to 3.141593 rad; give rad, not degrees"
    ]


SLIDE_AND_WHEEL = """
<robot name="cart">
  <link name="base"/><link name="slide"/><link name="finger"/><link name="wheel"/>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="slide"/>
    <limit lower="0" upper="0.5" velocity="1" effort="9"/></joint>
  <joint name="follower" type="prismatic"><parent link="base"/><child link="finger"/>
    <limit lower="0" upper="0.1" velocity="1" effort="9"/><mimic joint="rail"/></joint>
  <joint name="axle" type="continuous"><parent link="slide"/><child link="wheel"/>
    <limit velocity="1" effort="9"/></joint>
</robot>
"""


def test_a_start_is_in_range_by_the_joints_that_have_stops():
    robot = read_urdf(SLIDE_AND_WHEEL, require_inertia=False)
    check_in_range(robot, np.array([0.0, 1000.0]))
    check_in_range(robot, np.array([0.5, 0.0]))  # the follower has no stop of its own
    with pytest.raises(ArgumentError) as error:
        check_in_range(robot, np.array([20.0, 1.0]))
    assert str(error.value) == (
        "parameter 'initial_positions': joint 'rail' at 20 m is outside its range, 0 to 0.5 m; "
        "start within, or set joint_stops to false"
    )


def test_what_happens_when_commands_stop_is_one_of_two(context):
    node = SimulatorNode(context=context)
    try:
        (refused,) = node.set_parameters([Parameter("on_command_timeout", value="relax")])
        assert not refused.successful
        assert "give one of hold, zero_effort" in refused.reason
        assert node.parameters.on_command_timeout == "hold"
    finally:
        node.destroy_node()
