"""Motions while a real controller_node refuses the reference."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.nodes.ros.messages import ANSWER_TOPIC, duration_msg
from ros_system import wait_for

NAMES = ["joint_1", "joint_2"]
START, GOAL = [0.3, 0.4], [0.35, 0.4]
"""Shorter than the tolerances that detect an arm standing still."""
HALF_WAY = 0.025
REFUSED = "the reference is not followed: controller_node: "


@pytest.fixture
def system(start, peer):
    """An arm that never moves, the two nodes, how to send it on its way, and to know it read."""
    states = peer.node.create_publisher(JointState, "joint_states", 1)

    def publish():
        stamp = peer.node.get_clock().now().to_msg()
        msg = JointState(name=NAMES, position=START, velocity=[0.0, 0.0])
        msg.header.stamp = stamp
        states.publish(msg)

    timer = peer.node.create_timer(0.01, publish)
    common = {"urdf_path": "planar_2r", "rate": 100.0, "limits.joint_1.velocity": 0.5}
    feedforward = start("feedforward_node", common)
    controller = start("controller_node", common)
    feedforward.wait_for_log("ready for trajectories")
    references = peer.listen(JointState, "reference")
    answers = peer.listen(DiagnosticStatus, ANSWER_TOPIC)
    publisher = peer.publisher(JointTrajectory, "joint_trajectory")
    wait_for(lambda: references, "a reference")

    def send(seconds=0.2):
        """Send the arm to the other one of the two positions."""
        at_start = abs(references[-1].position[0] - START[0]) < HALF_WAY
        goal = GOAL if at_start else START
        point = JointTrajectoryPoint(positions=goal, time_from_start=duration_msg(seconds))
        publisher.publish(JointTrajectory(joint_names=NAMES, points=[point]))

    def read():
        """Wait until feedforward_node has answered all that was sent, in the order of sending."""
        point = JointTrajectoryPoint(positions=[0.0], time_from_start=duration_msg(1.0))
        publisher.publish(JointTrajectory(joint_names=["the last one"], points=[point]))
        wait_for(lambda: answers and "the last one" in answers[-1].message, "the last answer")

    yield feedforward, controller, references, send, read
    peer.node.destroy_timer(timer)


def test_a_motion_is_refused_while_its_controller_says_that_it_moves_no_joint(system, peer):
    feedforward, controller, references, send, _ = system

    def sent(found, what):
        """Send repeatedly: the reason of the controller may be late, and subscribers new."""
        tries = iter(range(10**6))
        wait_for(lambda: found() or (next(tries) % 30 == 0 and send()), what)

    def after(count):
        """Return the reference `count` messages later."""
        count += len(references)
        wait_for(lambda: len(references) > count, "references")
        return np.array(references[-1].position)

    def at_rest():
        """Return whether the last 50 references are equal: a busy node ends motions late."""
        last = [msg.position for msg in references[-50:]]
        return len(last) == 50 and all(position == last[0] for position in last)

    def refused(why):
        begin = len(feedforward.log)
        sent(lambda: REFUSED + why in feedforward.log[begin:], why)
        wait_for(at_rest, "the end of earlier motions")
        rest = after(1)
        send()
        assert np.abs(after(30) - rest).max() < 1e-9
        return rest

    refused("no node subscribes to /effort_command")
    peer.listen(Float64MultiArray, "effort_command")
    controller.wait_for_log("tracking the reference")
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    assert peer.call(ChangeState, "/controller_node/change_state", request).success
    rest = refused("not active")
    # The reason of a stopped node does not count: another controller may follow
    controller.stop()
    sent(lambda: np.abs(np.array(references[-1].position) - rest).max() > HALF_WAY, "the motion")


@pytest.mark.thorough
def test_a_motion_is_limited_by_the_parameters_and_cancelled_when_its_controller_stops(
    system, peer
):
    feedforward, controller, references, send, read = system
    peer.listen(Float64MultiArray, "effort_command")
    controller.wait_for_log("tracking the reference")
    wait_for(lambda: send(0.05) or "needs velocity 1.875" in feedforward.log, "a fast motion")
    assert (
        "refused: trajectory: joint 'joint_1' needs velocity 1.875 rad/s at 0.025 s, beyond its "
        "limit of 0.5 rad/s; slow it down"
    ) in feedforward.log
    limit = {"limits.joint_1.tracking_error": 0.005}  # less than pushes brakes
    assert peer.set_parameters("controller_node", limit).successful
    begin = len(feedforward.log)
    # Seldom: each takes its time. States that a busy machine delays end a motion too, and the next
    # one begins anew
    stop = "stopped: joint 'joint_1' is 0.00"
    tries, line = iter(range(10**6)), f"motion cancelled: controller_node: {stop}"
    wait_for(
        lambda: (next(tries) % 50 == 0 and send(2.0)) or line in feedforward.log[begin:], "a stop"
    )
    assert "rad from its reference, beyond its limit of 0.005 rad" in controller.log
    read()  # a motion that still waited would move the arm after it is resumed
    wait_for(lambda: np.abs(np.array(references[-1].position) - START).max() < 1e-9, "the arm")
    begin = len(controller.log)
    peer.resume("controller_node")
    wait_for(lambda: "tracking the reference" in controller.log[begin:], "tracking")
    count = len(references)
    wait_for(lambda: len(references) > count + 100, "a second")
    assert not any(any(msg.velocity) for msg in references[count:])
