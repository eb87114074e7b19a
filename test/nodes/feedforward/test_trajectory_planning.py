"""Preparation of trajectories: log lines, and a clock that stands still."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import read_urdf
from robot_dynamics.nodes.ros.messages import duration_msg, time_msg
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
NAMES = list(ROBOT.joint_names)
NODE = "feedforward_node"


@pytest.fixture
def states(peer, namespace):
    """Publishes that the arm rests, until the test ends."""
    publisher = peer.node.create_publisher(JointState, f"{namespace[1]}/joint_states", 1)
    timer = peer.node.create_timer(
        0.02, lambda: publisher.publish(JointState(name=NAMES, position=[0.3, 0.4]))
    )
    yield
    timer.cancel()


def to(moment, q):
    point = JointTrajectoryPoint(positions=q, time_from_start=duration_msg(moment))
    return JointTrajectory(joint_names=NAMES, points=[point])


def test_that_a_motion_is_slowed_down_is_said_once_although_planning_took_several_attempts(
    start, peer, namespace, states
):
    # Without any time for preparation, the first attempt is always too late
    parameters = {
        "urdf_path": "planar_2r",
        "rate": 200.0,
        "preparation": 0.0,
        "limits": "scale",
    }
    node = start(NODE, parameters, namespace[0])
    node.wait_for_log("ready for trajectories")
    publisher = peer.publisher(JointTrajectory, f"{namespace[1]}/joint_trajectory")
    publisher.publish(to(0.3 / ROBOT.limits.velocity[0], [1.3, 0.4]))
    node.wait_for_log("following a trajectory")
    assert node.log.count("trajectory slowed down") == 1


def test_while_the_clock_stands_the_node_goes_on_answering(start, peer, namespace, states):
    clock = peer.node.create_publisher(Clock, "/clock", 10)
    tick = peer.node.create_timer(0.02, lambda: clock.publish(Clock(clock=time_msg(5 * 10**9))))
    node = start(
        NODE, {"urdf_path": "planar_2r", "rate": 200.0, "use_sim_time": True}, namespace[0]
    )
    node.wait_for_log("ready for trajectories")
    publisher = peer.publisher(JointTrajectory, f"{namespace[1]}/joint_trajectory")
    for _ in range(2):
        publisher.publish(to(1.0, [0.5, 0.5]))
    node.wait_for_log("the previous one has not begun, because the clock stands still")
    name = f"{namespace[1]}/{NODE}".lstrip("/")
    assert peer.get_parameter(name, "preparation") == 0.01
    tick.cancel()
    ticks = iter(range(1, 10**6))
    go_on = peer.node.create_timer(
        0.005, lambda: clock.publish(Clock(clock=time_msg(5 * 10**9 + next(ticks) * 5 * 10**6)))
    )
    references = peer.listen(JointState, f"{namespace[1]}/reference")
    # The first one is followed once time goes on
    wait_for(lambda: references and references[-1].position[0] > 0.499, "the end of the motion")
    go_on.cancel()
