"""Payload, gravity and wrench while the feedforward runs: one process, talked to over DDS."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from sensor_msgs.msg import Imu, JointState

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
Q = np.array([0.3, 0.4])
RAMP = 0.8
NODE = "feedforward_node"

# Doubles survive messages, and the load passes through the same sums: round-off of torques < 100
EXACT = 1e-9


@pytest.fixture(scope="module")
def efforts(start_for_module, peer):
    """References of an arm that rests at Q, as they come."""
    parameters = {
        "urdf_path": "planar_2r",
        "rate": 200.0,
        "load_ramp": RAMP,
        "wrench_ramp": 0.05,
        "wrench_timeout": 1.0,
        "imu_filter": 0.01,
    }
    node = start_for_module(NODE, parameters)
    states = peer.node.create_publisher(JointState, "joint_states", 1)
    msg = JointState(name=list(ROBOT.joint_names), position=Q.tolist())
    peer.node.create_timer(0.02, lambda: states.publish(msg))
    received = peer.listen(JointState, "reference")
    node.wait_for_log("ready for trajectories")
    return node, received


def becomes(received, expected, what):
    """Wait until the effort is what is expected, with one more message to be sure that it stays."""
    wait_for(
        lambda: received and np.abs(np.array(received[-1].effort) - expected).max() < EXACT, what
    )
    count = len(received)
    wait_for(lambda: len(received) > count, "another message")
    np.testing.assert_allclose(received[-1].effort, expected, atol=EXACT)


def gravity(mass=0.0, com=(0.0, 0.0, 0.0), vector=None):
    robot = ROBOT.with_payload("endpoint", mass, com) if mass else ROBOT
    robot = robot if vector is None else robot.with_gravity(vector)
    return Dynamics(robot, cache=False).gravity(Q)


def loaded_at(frame, mass, com):
    return Dynamics(ROBOT.with_payload(frame, mass, com), cache=False).gravity(Q)


def payload_msg(mass, com, frame="endpoint"):
    msg = InertiaStamped()
    msg.header.frame_id = frame
    msg.inertia.m = mass
    msg.inertia.com.x, msg.inertia.com.y, msg.inertia.com.z = com
    return msg


def publish(peer, msg):
    """Publish until the parameters show it: what is sent before both sides have met is lost."""
    publisher = peer.publisher(InertiaStamped, "payload")
    mass = msg.inertia.m
    wait_for(
        lambda: publisher.publish(msg) or peer.get_parameter(NODE, "payload.mass") == mass, "it"
    )


@pytest.fixture
def put_down(peer, efforts):
    """Leave the arm without payload."""
    yield
    assert peer.set_parameters(NODE, {"payload.mass": 0.0}).successful
    becomes(efforts[1], gravity(), "an empty hand")


def test_at_rest_the_effort_is_that_of_gravity(efforts):
    becomes(efforts[1], gravity(), "gravity")


def test_a_payload_message_ramps_the_effort_to_that_of_the_loaded_arm(peer, efforts, put_down):
    _, received = efforts
    becomes(received, gravity(), "an empty hand")
    before = len(received)
    publish(peer, payload_msg(1.5, (0.1, 0.0, 0.02)))
    expected = gravity(1.5, (0.1, 0.0, 0.02))
    becomes(received, expected, "the payload")
    ramp = received[before - 1 :]  # more are received meanwhile
    tau = np.array([msg.effort for msg in ramp])
    t = np.array([nanoseconds(msg.header.stamp) for msg in ramp]) * 1e-9
    # Effort goes on a straight line of RAMP s. A stamp may be 0.3 s older than the ramp's own time
    # where the machine takes the process away between the two; a step would be far beyond that.
    step = np.abs(expected - gravity())
    assert (np.abs(np.diff(tau, axis=0)) <= step * (np.diff(t)[:, None] + 0.3) / RAMP).all()
    assert ((tau - tau[0]) * np.sign(expected - gravity()) > -EXACT).all()


def test_parameters_tell_what_a_message_said(peer, efforts, put_down):
    publish(peer, payload_msg(0.7, (0.0, 0.01, 0.0)))
    becomes(efforts[1], gravity(0.7, (0.0, 0.01, 0.0)), "the payload")
    assert peer.get_parameter(NODE, "payload.mass") == 0.7
    assert list(peer.get_parameter(NODE, "payload.com")) == [0.0, 0.01, 0.0]
    assert peer.get_parameter(NODE, "payload.frame") == "endpoint"


def test_a_payload_is_set_by_parameters_all_or_none(peer, efforts, put_down):
    new = {"payload.mass": 2.0, "payload.com": [0.05, 0.0, 0.0]}
    refused = peer.set_parameters(NODE, {**new, "payload.frame": "tol"})
    assert not refused.successful and "no frame 'tol' in robot 'planar_2r'" in refused.reason
    assert peer.get_parameter(NODE, "payload.mass") == 0.0
    assert peer.set_parameters(NODE, {**new, "payload.frame": "endpoint"}).successful
    becomes(efforts[1], gravity(2.0, (0.05, 0.0, 0.0)), "the payload")


def test_a_payload_may_move_to_another_body_without_a_step(peer, efforts, put_down):
    _, received = efforts
    publish(peer, payload_msg(1.5, (0.1, 0.0, 0.02)))
    becomes(received, gravity(1.5, (0.1, 0.0, 0.02)), "the payload")
    del received[:-1]
    load = {"payload.mass": 1.0, "payload.com": [0.2, 0.0, 0.0], "payload.frame": "link_1"}
    assert peer.set_parameters(NODE, load).successful
    becomes(received, loaded := loaded_at("link_1", 1.0, (0.2, 0.0, 0.0)), "the payload of link_1")
    fade = list(received)  # more are received meanwhile
    tau = np.array([msg.effort for msg in fade])
    t = np.array([nanoseconds(msg.header.stamp) for msg in fade]) * 1e-9
    # A quintic fade of 0.2 s is 15/8 times as steep as a line; 0.05 s of slack for a busy machine
    step = np.abs(loaded - gravity(1.5, (0.1, 0.0, 0.02)))
    assert (
        np.abs(np.diff(tau, axis=0)) <= 15 / 8 * step * (np.diff(t)[:, None] + 0.05) / 0.2
    ).all()
    assert peer.set_parameters(NODE, {"payload.mass": 0.5, "payload.frame": "endpoint"}).successful
    becomes(received, gravity(0.5, (0.2, 0.0, 0.0)), "the payload back in the hand")


@pytest.mark.parametrize(
    ("msg", "reason"),
    [
        (
            payload_msg(-1.0, (0, 0, 0)),
            "payload refused: m is -1 kg; a mass must be zero or positive",
        ),
        (
            payload_msg(float("nan"), (0, 0, 0)),
            "payload refused: m is nan; every number must be finite",
        ),
        (payload_msg(1.0, (0, 0, 0), "hand"), "no frame 'hand' in robot 'planar_2r'"),
        (
            payload_msg(60.0, (0.0, 0.0, 0.3)),
            "payload refused: payload of 60 kg: joint 'joint_1' would need",
        ),
        (payload_msg(500.0, (0.0, 0.0, 0.0)), "payload of 500 kg: joint 'joint_2' would need"),
        (payload_msg(5000.0, (0, 0, 0)), "payload: weighs 5000 kg; is the mass in grams?"),
    ],
)
def test_a_payload_that_cannot_be_is_refused_and_changes_nothing(peer, efforts, msg, reason):
    node, received = efforts
    if msg.inertia.m == 5000.0:
        msg.inertia.ixx = msg.inertia.iyy = msg.inertia.izz = 1.0
    publisher = peer.publisher(InertiaStamped, "payload")
    wait_for(lambda: publisher.publish(msg) or reason in node.log, reason)
    becomes(received, gravity(), "an empty hand")


@pytest.mark.parametrize("frame", ["endpoint", "base_link"])
def test_a_wrench_in_any_frame_adds_the_torque_of_virtual_work(peer, efforts, frame):
    node, received = efforts
    dynamics = Dynamics(ROBOT)
    force, moment = np.array([4.0, 1.0, -3.0]), np.array([0.1, 0.5, -0.2])
    msg = WrenchStamped()
    msg.header.frame_id = frame
    msg.wrench.force.x, msg.wrench.force.y, msg.wrench.force.z = force
    msg.wrench.torque.x, msg.wrench.torque.y, msg.wrench.torque.z = moment
    R, p = dynamics.pose(Q, frame)
    p_end = dynamics.pose(Q, "endpoint")[1]
    at_end = np.concatenate([R @ force, R @ moment + np.cross(p - p_end, R @ force)])
    expected = gravity() + dynamics.jacobian(Q, "endpoint").T @ at_end
    publisher = peer.publisher(WrenchStamped, "wrench")
    timer = peer.node.create_timer(0.02, lambda: publisher.publish(msg))
    # Messages restart the ramp: it nears its end by 0.005 / 0.05 a cycle, and never quite arrives
    wait_for(lambda: np.abs(np.array(received[-1].effort) - expected).max() < 1e-6, "the wrench")
    peer.node.destroy_timer(timer)
    becomes(received, gravity(), "zero wrench after its timeout")
    assert "no wrench for 1 s; returning to zero" in node.log


@pytest.mark.parametrize(
    ("frame", "force_y", "reason"),
    [
        ("hand", 0.0, "wrench refused: no frame 'hand' in robot 'planar_2r'"),
        ("endpoint", float("nan"), "wrench refused: force.y is nan; every number must be finite"),
    ],
)
def test_a_wrench_that_cannot_be_is_refused_and_changes_nothing(
    peer, efforts, frame, force_y, reason
):
    node, received = efforts
    msg = WrenchStamped()
    msg.header.frame_id, msg.wrench.force.x, msg.wrench.force.y = frame, 5.0, force_y
    publisher = peer.publisher(WrenchStamped, "wrench")
    wait_for(lambda: publisher.publish(msg) or reason in node.log, reason)
    becomes(received, gravity(), "no wrench")


def test_gravity_is_a_parameter_of_three_numbers(peer, efforts):
    node, received = efforts
    refused = peer.set_parameter(NODE, "gravity", [1.0, 2.0])
    assert not refused.successful and "'gravity' has 2 entries; give three" in refused.reason
    refused = peer.set_parameter(NODE, "gravity", [0.0, 0.0, -1e5])
    assert refused.reason == "parameter 'gravity' is 1e+05 m/s^2; give 30 m/s^2 at most"
    assert peer.set_parameter(NODE, "gravity", [1.0, -2.0, -9.0]).successful
    becomes(received, gravity(vector=[1.0, -2.0, -9.0]), "the other gravity")
    node.wait_for_log("gravity: 1, -2, -9 m/s^2")
    assert peer.set_parameter(NODE, "gravity", ROBOT.gravity.tolist()).successful
    becomes(received, gravity(), "its own gravity")


@pytest.mark.thorough
def test_gravity_may_come_from_an_imu_that_stands_on_the_root_link(peer, efforts):
    node, received = efforts
    assert peer.set_parameter(NODE, "gravity_from_imu", True).successful
    publisher = peer.publisher(Imu, "imu")
    msg = Imu()
    msg.header.frame_id = "base_link"
    acceleration = msg.linear_acceleration
    acceleration.x, acceleration.y, acceleration.z = 6.0, 0.0, 8.0  # what holds it up
    timer = peer.node.create_timer(0.02, lambda: publisher.publish(msg))
    expected = gravity(vector=[-6.0, 0.0, -8.0])
    # Filtered by the stream of messages as the wrench is; what is left of it is a matter of time
    wait_for(lambda: np.abs(np.array(received[-1].effort) - expected).max() < 1e-3, "the IMU")
    peer.node.destroy_timer(timer)
    acceleration.z = float("nan")
    reason = "imu: linear_acceleration of nan m/s^2 is not within 5 to 20"
    wait_for(lambda: publisher.publish(msg) or reason in node.log, reason)
    assert peer.set_parameter(NODE, "gravity_from_imu", False).successful
    becomes(received, gravity(), "its own gravity")


def test_an_arm_that_holds_its_own_weight_is_given_no_effort_at_rest(peer, efforts, put_down):
    _, received = efforts
    assert peer.set_parameter(NODE, "compensate_gravity", False).successful
    load = {"payload.mass": 1.0, "payload.com": [0.0, 0.0, 0.0], "payload.frame": "endpoint"}
    assert peer.set_parameters(NODE, load).successful
    becomes(received, np.zeros(2), "no effort")
    assert peer.set_parameter(NODE, "compensate_gravity", True).successful
    becomes(received, gravity(1.0), "gravity")


LINK = """<link name="{0}"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}_joint" type="revolute"><parent link="base"/><child link="{0}"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="9"/></joint>"""
TWO_ARMS = f"""<robot name="two_arms"><link name="base"/>{LINK.format("left")}
{LINK.format("right")}{JOINT.format("left")}{JOINT.format("right")}</robot>"""


@pytest.mark.parametrize("kind", ["feedforward_node", "controller_node"])
def test_a_payload_from_the_start_needs_a_frame_where_there_are_several_tips(
    start, namespace, tmp_path, kind
):
    urdf = tmp_path / "two_arms.urdf"
    urdf.write_text(TWO_ARMS)
    parameters = {"urdf_path": urdf, "rate": 100.0, "payload.mass": 1.0}
    process = start(kind, parameters, namespace[0])
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert (
        f"{kind}: robot 'two_arms' has 2 tips (left, right); name the frame that carries the load "
        "in the parameter payload.frame"
    ) in process.log
    process = start(kind, {**parameters, "payload.frame": "left"}, namespace[0])
    process.wait_for_log("gravity 0, 0, -9.81 m/s^2")


def test_leaving_gravity_out_is_said_in_log_and_diagnostics(start, peer, namespace):
    from diagnostic_msgs.msg import DiagnosticArray

    arguments, name = namespace
    reports = peer.listen(DiagnosticArray, "/diagnostics")
    parameters = {"urdf_path": "planar_2r", "rate": 100.0, "compensate_gravity": False}
    for kind in ("feedforward_node", "controller_node"):
        process = start(kind, parameters, arguments)
        process.wait_for_log("compensate_gravity is false")

        def reported(kind=kind):
            return any(
                {"compensate_gravity": "false", "gravity": "0, 0, 0 m/s^2"}.items()
                <= {value.key: value.value for value in status.values}.items()
                for report in reports
                for status in report.status
                if status.name == f"{name.lstrip('/')}/{kind}"
            )

        wait_for(reported, f"the report of {kind}")
