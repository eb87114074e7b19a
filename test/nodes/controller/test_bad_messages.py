"""Messages and parameters that are wrong in one field: refused in one line, and nothing ends."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState

from robot_dynamics import read_urdf
from robot_dynamics.robot import find_robot
from ros_system import wait_for

PANDA = read_urdf(find_robot("panda"))  # has two fingers, and so two tips


@pytest.fixture(scope="module", params=["feedforward_node", "controller_node"])
def node(request, start_for_module, peer):
    node = start_for_module(request.param, {"urdf_path": "panda", "rate": 100.0})
    publisher = peer.node.create_publisher(JointState, "joint_states", 1)
    msg = JointState(name=list(PANDA.joint_names), position=[0.01] * PANDA.dof)
    msg.velocity = [0.0] * PANDA.dof
    timer = peer.node.create_timer(0.01, lambda: publisher.publish(msg))
    node.wait_for_log("holding")
    yield node
    timer.cancel()
    node.end()


def payload(frame, mass=1.0, com=(0.0, 0.0, 0.1), diagonal=(0.0, 0.0, 0.0)):
    msg = InertiaStamped()
    msg.header.frame_id = frame
    msg.inertia.m = mass
    msg.inertia.com.x, msg.inertia.com.y, msg.inertia.com.z = com
    msg.inertia.ixx, msg.inertia.iyy, msg.inertia.izz = diagonal
    return msg


WRONG = {
    "a frame that there is not": (payload("nowhere"), "no frame 'nowhere'"),
    "no frame": (payload(""), "name the frame that carries the load"),
    "a mass that is negative": (payload("panda_hand", -1.0), "mass"),
    "a mass that is no number": (payload("panda_hand", float("nan")), "nan"),
    "a centre that is infinite": (
        payload("panda_hand", 1.0, (float("inf"), 0.0, 0.0)),
        "inf",
    ),
    "a centre that no arm reaches": (
        payload("panda_hand", 1.0, (1e308, 0.0, 0.0)),
        "com.x is 1e+308; give 100000 at most",
    ),
    "a physically impossible inertia": (
        payload("panda_hand", 1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        "payload",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_payload_with_one_field_wrong_is_refused_in_one_line(node, peer, what):
    msg, line = WRONG[what]
    publisher = peer.publisher(InertiaStamped, "payload")

    def refused():
        publisher.publish(msg)  # again: who has matched us may not be matched by us yet
        return any("payload refused" in each and line in each for each in node.log.splitlines())

    wait_for(refused, f"a refusal that says '{line}'")
    assert "Traceback" not in node.log
    assert peer.get_parameter(node.name, "payload.mass") == 0.0
    peer.node.destroy_publisher(publisher)


@pytest.mark.parametrize(
    "values",
    [
        {"payload.frame": "nowhere"},
        {"payload.mass": 1.0, "payload.frame": "nowhere"},
        {"payload.mass": 1.0},
        {"payload.mass": float("nan")},
        {"payload.com": [1.0]},
        {"payload.inertia": [1.0] * 5},
        {"payload.mass": 1e308, "payload.frame": "panda_hand"},
        {"gravity": [1.0]},
        {"gravity": [0.0, 0.0, -1e308]},
        {"friction.panda_joint1.viscous": float("inf")},
        {"rotor.panda_joint1.ratio": float("nan")},
    ],
    ids=str,
)
def test_a_parameter_that_is_wrong_is_refused_and_the_node_goes_on(node, peer, values):
    result = peer.set_parameters(node.name, values)
    assert not result.successful
    assert result.reason and "\n" not in result.reason
    assert "Traceback" not in node.log
    wait_for(lambda: node.running, "the node")
    assert peer.get_parameter(node.name, "payload.frame") == ""
