"""No command moves a simulated joint before the order of its entries is known."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ros_system import wait_for

START = {"joint_1": 0.3, "joint_2": 0.4}
COMMON = {"urdf_path": "planar_2r", "rate": 200.0}
FORWARD, BACKWARD = ["joint_1", "joint_2"], ["joint_2", "joint_1"]

# What is left of exact gravity is round-off; efforts in another order move the arm by 0.2 rad
STANDS = 1e-6


def listed(names):
    return f"[{', '.join(names)}]"


@pytest.fixture
def simulated(start, peer, namespace):
    """Simulate the arm from START with joints in an order; its process, and its states."""

    def simulated(joints, **parameters):
        states = peer.listen(JointState, f"{namespace[1]}/joint_states", 1000)
        places = {"joints": listed(joints), "initial_positions": str([START[j] for j in joints])}
        process = start("simulator_node", {**COMMON, **places, **parameters}, namespace[0])
        return process, states

    return simulated


@pytest.fixture
def controlled(start, namespace):
    """Start the controller with joints in an order."""

    def controlled(joints, **parameters):
        values = {**COMMON, "joints": listed(joints), **parameters}
        return start("controller_node", values, namespace[0])

    return controlled


def farthest(states):
    """Largest distance of a state from START, rad."""
    off = (
        abs(q - START[name])
        for state in list(states)
        for name, q in zip(state.name, state.position, strict=True)
    )
    return max(off)


@pytest.mark.parametrize("lockstep", [True, False], ids=["lockstep", "free"])
def test_commands_in_another_order_move_nothing_and_are_one_line(simulated, controlled, lockstep):
    process, states = simulated(BACKWARD, lockstep=lockstep)
    controlled(FORWARD)
    process.wait_for_log(
        "effort_command: efforts are of joints: joint_1, joint_2, but simulator_node obeys joints: "
        "joint_2, joint_1; the message is ignored; set the parameters 'joints' and "
        "'actuator_space' alike on both sides"
    )
    received = len(states)
    wait_for(lambda: len(states) > received + 3, "states after commands")  # 0.5 s in lockstep
    assert farthest(states) == 0.0
    assert process.log.count("efforts are of joints") == 1


@pytest.mark.parametrize("joints", [FORWARD, BACKWARD], ids=["forward", "backward"])
def test_commands_in_one_order_hold_the_arm(simulated, controlled, joints):
    process, states = simulated(joints, lockstep=True)
    controlled(joints)
    wait_for(lambda: len(states) > 200, "cycles")
    assert np.any(states[-1].effort)
    assert farthest(states) < STANDS
    assert "names no joints" not in process.log


def test_efforts_of_joints_move_no_actuators_of_the_same_names(simulated, controlled):
    """Names alone would not tell them apart."""
    coupled = {"actuator_space": True, "actuator_coupling": "[1.0, 0.0, 1.0, 1.0]"}
    process, states = simulated(FORWARD, **coupled)
    controlled(FORWARD)
    process.wait_for_log(
        "effort_command: efforts are of joints: joint_1, joint_2, but simulator_node obeys "
        "actuators: joint_1_actuator, joint_2_actuator; the message is ignored"
    )
    received = len(states)
    wait_for(lambda: len(states) > received + 100, "states")
    assert farthest(states) == 0.0


def test_a_command_without_names_is_taken_in_the_order_of_the_simulator(simulated, peer, namespace):
    process, states = simulated(BACKWARD, lockstep=True)
    wait_for(lambda: states, "the first state")
    commands = peer.publisher(Float64MultiArray, f"{namespace[1]}/effort_command")
    wait_for(commands.get_subscription_count, "the simulator")
    commands.publish(Float64MultiArray(data=[2.0, 1.0]))
    wait_for(lambda: any(states[-1].effort), "a cycle")
    assert dict(zip(states[-1].name, states[-1].effort, strict=True)) == {
        "joint_1": 1.0,
        "joint_2": 2.0,
    }
    process.wait_for_log(
        "effort_command names no joints; its efforts are taken in the order of this node: "
        "joint_2, joint_1"
    )


def test_a_command_without_names_is_refused_beside_commands_with_names(
    simulated, controlled, peer, namespace
):
    process, states = simulated(FORWARD, lockstep=True)
    controlled(FORWARD)
    wait_for(lambda: states and any(states[-1].effort), "a command that is obeyed")
    commands = peer.publisher(Float64MultiArray, f"{namespace[1]}/effort_command")
    line = "effort_command: a message without names comes between others that name their entries"
    wait_for(
        lambda: commands.publish(Float64MultiArray(data=[50.0, 0.0])) or line in process.log, line
    )
    assert farthest(states) < STANDS
