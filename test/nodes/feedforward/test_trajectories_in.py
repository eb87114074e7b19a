"""Trajectories to one feedforward process over DDS."""

import itertools

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Friction
from robot_dynamics.nodes.ros.messages import duration_msg, nanoseconds, time_msg
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
DYNAMICS = Dynamics(ROBOT)
NAMES = list(ROBOT.joint_names)
START = np.array([0.3, 0.4])
NODE = "feedforward_node"

DURATIONS = itertools.count(1.0, 1e-3)
"""Durations that distinguish the answers to motions, s."""

WAY = 0.15
"""Least way of joint_2 in such a motion, rad: three quarters of that from rest in the middle."""

EXACT = 1e-9  # doubles survive messages; torques below 100 N m


@pytest.fixture(scope="module")
def node(start_for_module, peer):
    parameters = {
        "urdf_path": "planar_2r",
        "rate": 200.0,
        "limits": "scale",
        "empty_trajectory": "stop",
        "rotor.joint_2.inertia": 2e-4,
        "rotor.joint_2.ratio": 50.0,
    }
    node = start_for_module(NODE, parameters)
    states = peer.node.create_publisher(JointState, "joint_states", 1)
    msg = JointState(name=NAMES, position=START.tolist())
    peer.node.create_timer(0.02, lambda: states.publish(msg))
    peer.listen(JointState, "reference")
    node.wait_for_log("ready for trajectories")
    return node


@pytest.fixture(scope="module")
def send(node, peer):
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")

    def send(*points, names=NAMES):
        msg = JointTrajectory(joint_names=list(names))
        for time, q in points:
            msg.points.append(
                JointTrajectoryPoint(positions=list(q), time_from_start=duration_msg(time))
            )
        publisher.publish(msg)

    return send


@pytest.fixture
def reference(peer):
    wait_for(lambda: peer.received["reference"], "references")
    return peer.received["reference"]


def at_rest(msg):
    return not np.any(msg.velocity)


def rests_at(reference, q):
    """Wait until the desired motion has ended at q; the last reference."""
    wait_for(
        lambda: (
            at_rest(reference[-1]) and np.abs(np.array(reference[-1].position) - q).max() < EXACT
        ),
        f"the end at {q}",
    )
    return reference[-1]


def test_when_a_motion_has_ended_the_effort_is_that_of_gravity(send, reference):
    send((0.5, [0.1, 0.6]))
    last = rests_at(reference, [0.1, 0.6])
    np.testing.assert_allclose(last.effort, DYNAMICS.gravity([0.1, 0.6]), atol=EXACT)


def test_a_motion_that_is_too_fast_is_given_more_time(node, send, reference):
    rests_at(reference, reference[-1].position)
    limit = ROBOT.limits.velocity
    goal = np.array(reference[-1].position) - [1.0, 0.0]
    time = 0.5 / limit[0]  # half of what the limit allows on average
    count = len(reference)
    send((time, goal))
    rests_at(reference, goal)
    assert "trajectory slowed down" in node.log
    fastest = np.abs([msg.velocity for msg in reference[count:]]).max(axis=0)
    assert (fastest <= limit * (1.0 + 1e-6)).all()  # the tolerance of the check
    assert fastest[0] > 0.3 * limit[0]  # and it is not slowed down more than it needs


def test_a_motion_that_no_time_can_help_is_refused(node, send, reference):
    outside = ROBOT.limits.upper[0] + 0.5
    before = list(reference[-1].position)
    send((5.0, [outside, 0.0]))
    node.wait_for_log("refused: trajectory: joint 'joint_1' needs position")
    assert list(reference[-1].position) == before


def test_an_empty_trajectory_stops_the_motion_and_gravity_is_held(node, send, reference):
    start = np.array(reference[-1].position)
    goal = start + [0.0, -1.0]
    send((4.0, goal))
    wait_for(lambda: abs(reference[-1].velocity[1]) > 0.1, "motion")
    send(names=[])
    node.wait_for_log("stopping: received a trajectory without points")
    wait_for(lambda: at_rest(reference[-1]), "rest")
    last = reference[-1]
    # 1 rad in 4 s is stopped in half a second: far from both ends
    assert goal[1] + 0.2 < last.position[1] < start[1] - 0.01
    np.testing.assert_allclose(last.effort, DYNAMICS.gravity(last.position), atol=EXACT)


@pytest.mark.parametrize("gap", [0.0, 1e-8])
def test_a_point_at_time_zero_and_the_present_position_stops_the_motion(send, reference, gap):
    send((0.5, [0.2, 0.3]))
    at = rests_at(reference, [0.2, 0.3])
    there = np.array(at.position) + gap
    send((0.0, there))
    rests_at(reference, there)
    send((0.5, [0.1, 0.6]))  # the node goes on
    rests_at(reference, [0.1, 0.6])


def test_a_trajectory_that_comes_right_after_a_stop_is_followed(send, reference):
    goal = np.array(reference[-1].position) + [0.1, 0.3]
    send((4.0, goal - 1.0))
    wait_for(lambda: not at_rest(reference[-1]), "motion")
    for _ in range(5):
        send(names=[])
        send((0.5, goal))
    rests_at(reference, goal)


def seconds(point):
    """Time of a point from the start of its trajectory, s."""
    return nanoseconds(point.time_from_start) * 1e-9


@pytest.fixture
def with_effort(peer, node, send, reference):
    """A trajectory of joint_2 as the node fills it in: q, qd, qdd and tau, shape (N, 2) each."""
    filled = peer.listen(JointTrajectory, "joint_trajectory_with_effort")
    wait_for(lambda: peer.node.count_publishers("joint_trajectory_with_effort"), "the publisher")

    def with_effort():
        durations = []

        def answers(msg):
            """Return whether the motion is the one sent now."""
            begin, *_, end = msg.points
            asked = any(seconds(end) == pytest.approx(duration) for duration in durations)
            return asked and abs(end.positions[1] - begin.positions[1]) > WAY

        def send_again():  # efforts are filled in once the node has found the subscriber
            durations.append(next(DURATIONS))
            q = 0.2 if reference[-1].position[1] < 0.0 else -0.2
            send((durations[-1], [0.2, q]))
            return next(filter(answers, filled), None)

        answer = wait_for(send_again, "the trajectory with effort")
        return [
            np.array([getattr(point, field) for point in answer.points])
            for field in ("positions", "velocities", "accelerations", "effort")
        ]

    return with_effort


def test_rotors_add_their_reflected_inertia_until_it_is_switched_off(peer, with_effort):
    def assert_inertia_beyond_that_of_the_links(expected):
        q, qd, qdd, tau = with_effort()
        assert np.abs(qdd[:, 1]).max() > 0.5
        np.testing.assert_allclose(tau - DYNAMICS.inverse(q, qd, qdd), expected * qdd, atol=1e-8)

    # 2e-4 kg m^2 at the motor, 50 turns a turn: 0.5 kg m^2 at the joint
    assert_inertia_beyond_that_of_the_links(np.array([0.0, 0.5]))
    assert peer.set_parameter(NODE, "compensate_rotor_inertia", False).successful
    assert_inertia_beyond_that_of_the_links(np.zeros(2))


def test_friction_that_parameters_know_is_compensated_until_it_is_switched_off(peer, with_effort):
    given = {"viscous": 2.0, "coulomb": 1.5, "stiction": 0.5, "stribeck": 0.1}
    given |= {"load": 0.1, "offset": -0.3, "width": 0.05}
    friction = Friction(
        *([0.0, value] for value in (2.0, 1.5, 0.5)), stribeck=[1.0, 0.1],
        load=[0.0, 0.1], offset=[0.0, -0.3], width=[0.0, 0.05],
    )  # fmt: skip
    rotors = peer.get_parameter(NODE, "compensate_rotor_inertia")
    usual = {
        name: peer.get_parameter(NODE, f"friction.joint_2.{name}")
        for name in ("viscous", "coulomb")
    }
    assert peer.set_parameter(NODE, "compensate_rotor_inertia", False).successful
    for values, expected in (
        ({f"friction.joint_2.{name}": value for name, value in given.items()}, friction),
        ({"compensate_friction": False}, Friction.none(2)),
        # Back to the defaults: the URDF knows no friction
        (
            {
                "compensate_friction": True,
                "friction.joint_2.viscous": usual["viscous"],
                "friction.joint_2.coulomb": usual["coulomb"],
                "friction.joint_2.stiction": 0.0,
                "friction.joint_2.load": 0.0,
                "friction.joint_2.offset": 0.0,
            },
            Friction.none(2),
        ),
    ):
        assert peer.set_parameters(NODE, values).successful
        # The fade of what the arm is given does not reach what is planned
        q, qd, qdd, tau = with_effort()
        assert np.abs(qd[:, 1]).max() > 0.2
        rigid = DYNAMICS.inverse(q, qd, qdd)
        np.testing.assert_allclose(tau - rigid, expected.smooth(qd, tau=rigid), atol=1e-8)
    assert peer.set_parameter(NODE, "compensate_rotor_inertia", rotors).successful


def test_partial_trajectories_and_those_that_end_in_motion_are_a_matter_of_parameters(
    node, peer, send
):
    received = peer.received["reference"]
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    assert peer.set_parameter(NODE, "allow_partial_joints_goal", False).successful
    send((0.5, [0.1]), names=NAMES[:1])
    node.wait_for_log("give all of them, or set allow_partial_joints_goal")
    assert peer.set_parameter(NODE, "allow_partial_joints_goal", True).successful

    msg = JointTrajectory(joint_names=NAMES)
    end = JointTrajectoryPoint(positions=[0.2, 0.2], velocities=[0.3, 0.0])
    end.time_from_start = duration_msg(0.5)
    msg.points.append(end)
    publisher.publish(msg)
    node.wait_for_log("end at rest, or set allow_nonzero_velocity_at_trajectory_end")
    assert peer.set_parameter(NODE, "allow_nonzero_velocity_at_trajectory_end", True).successful
    publisher.publish(msg)
    wait_for(
        lambda: abs(received[-1].position[0] - 0.2) < 0.05 and any(received[-1].velocity), "motion"
    )
    wait_for(lambda: not any(received[-1].velocity), "rest")  # brought to rest beyond its end
    assert received[-1].position[0] > 0.2


def test_a_stream_of_points_is_one_motion_that_ends_at_the_last_of_them(peer, reference, node):
    rests_at(reference, reference[-1].position)
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    start, count = np.array(reference[-1].position), len(reference) - 1
    now = nanoseconds(peer.node.get_clock().now().to_msg())
    for k in range(5):  # 40 ms apart, each for a time 0.45 s after its stamp, as all come at once
        msg = JointTrajectory(joint_names=NAMES)
        msg.header.stamp = time_msg(now + k * 40_000_000)
        end = JointTrajectoryPoint(positions=(start - [0.02 * k, 0.0]).tolist())
        end.time_from_start = duration_msg(0.45)
        msg.points.append(end)
        publisher.publish(msg)
    last = start - [0.08, 0.0]
    # It passes this point with the velocity of the stream; alone, each is reached at rest
    beyond = last[0] - 1e-3
    wait_for(
        lambda: min(msg.position[0] for msg in reference[count:]) < beyond,
        "motion beyond the last point",
    )
    rests_at(reference, last)
    assert np.array([msg.position[1] for msg in reference[count:]]).max() <= start[1] + EXACT
