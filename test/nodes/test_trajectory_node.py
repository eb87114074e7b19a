"""trajectory_node: what it says before it starts, and that its motion is not lost."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import KeyValue
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import Dynamics
from robot_dynamics.control.friction import Friction
from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.nodes.ros.messages import UNFOLLOWED_TOPIC
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS
from robot_dynamics.nodes.trajectory_node import MOTIONS, TrajectoryNode, TrajectoryParameters
from robot_dynamics.papers.paper_arms import thomas_tesar_arm
from robot_dynamics.papers.paper_motions import line_motion
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation.start_pose import start_pose
from robot_dynamics.trajectory import Trajectory, interpolate
from robot_dynamics.trajectory.follower import Followed
from robot_dynamics.trajectory.motion_plan import Rules, plan_motion
from ros_system import wait_for

ROBOT = {"urdf_path": "planar_2r"}
MOTION = {**ROBOT, "duration": 4.0, "share": 0.2}  # within the limits of effort


@pytest.mark.parametrize("robot", ["planar_2r", "kinova", "allegro_right_hand"])
def test_the_default_motion_is_within_the_limits_from_the_default_start(context, robot):
    given = [Parameter("urdf_path", value=robot), Parameter("wait", value=True)]
    node = TrajectoryNode(context=context, parameter_overrides=given)
    node.configure()
    arm, friction = node.robot, Friction.of(node.robot)
    inverse = Dynamics(arm).inverse
    rules = Rules("reject", arm, lambda s: inverse(*s) + friction.smooth(s.qd))
    still = Followed(Trajectory.hold(arm.joint_names, start_pose(arm)), 0.0)
    assert plan_motion(still, node.waypoints, 1.0, 0.0, rules).end > 8.0
    node.destroy_node()


def test_the_motion_of_a_file_needs_the_name_of_a_file(context):
    with pytest.raises(ArgumentError) as refusal:
        TrajectoryNode(context=context, parameter_overrides=[Parameter("motion", value="file")])
    assert str(refusal.value) == (
        "parameter 'motion' is 'file' but parameter 'file' is empty; give the path of a .yaml or "
        ".csv file in 'file'"
    )


def test_a_line_leaves_directions_free_that_are_not_selected():
    """Orientation and y of an arm of two joints in the x-z plane."""
    arm, ends = read_urdf(find_robot("planar_2r")), np.array([[1.2, 9.0, 0.6], [0.6, 9.0, 1.2]])
    line_start, line_end = ((*p, 0.3, 0.2, 0.1) for p in ends)
    given = TrajectoryParameters(
        motion="line",
        near=(0.0, 1.0),
        line_start=line_start,
        line_end=line_end,
        selection=(1.0, 0.0, 1.0, 0.0, 0.0, 0.0),
    )
    q = MOTIONS["line"](arm, given).waypoints.positions
    found = np.array([frame_pose(arm, x, "endpoint").translation for x in q])[:, [0, 2]]
    assert found[[0, -1]] == pytest.approx(ends[:, [0, 2]], abs=1e-9)
    assert found.sum(axis=1) == pytest.approx(1.8, abs=1e-9)  # on the line from end to end


def test_the_line_and_the_circle_of_the_publications_are_as_printed():
    arm = read_urdf(find_robot("thomas_tesar"))
    found = MOTIONS["line"](arm, TrajectoryParameters(near=(0.0, 1.6, -2.4, 0.8, 1.6, 1.6)))
    times = found.waypoints.times
    assert times[-1] == 1.0
    expected = line_motion(times, "normal_spline").q
    turns = 2.0 * np.pi * np.round((expected - found.waypoints.positions) / (2.0 * np.pi))
    assert found.waypoints.positions + turns == pytest.approx(expected, abs=1e-8)
    states = interpolate(found.waypoints).sample(np.linspace(0.0, 1.0, 101))
    assert np.abs(states[1] / arm.limits.velocity).max() < 1.0
    efforts = np.array([inverse_dynamics(arm, *state) for state in zip(*states, strict=True)])
    assert np.abs(efforts / arm.limits.effort).max() < 1.0
    other = TrajectoryParameters(line_end=(1.33, 0.9, 1.8, 0.0, np.pi / 2.0, 0.0))
    assert MOTIONS["line"](arm, other).waypoints.times[-1] == 8.0
    circle = MOTIONS["circle"](read_urdf(find_robot("puma_gupta")), TrajectoryParameters())
    assert circle.waypoints.times[-1] == 9.0


def test_a_recorder_does_not_swallow_the_motion(start, peer, namespace):
    arguments, name = namespace
    recorded = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    references = peer.listen(JointState, f"{name}/reference")
    sender = start("trajectory_node", MOTION, arguments)
    sender.wait_for_log(
        f"waiting for feedforward_node with joint_states to follow {name}/joint_trajectory, but "
        "only /peer subscribes to it"
    )
    assert not recorded
    start("simulator_node", {**ROBOT, "rate": 100.0}, arguments)
    start("feedforward_node", {**ROBOT, "rate": 100.0}, arguments)
    sender.wait_for_log("'excitation' is followed")
    wait_for(lambda: references and max(map(abs, references[-1].velocity)) > 0.01, "the motion")
    assert len(recorded) == 1


@pytest.mark.thorough
def test_a_motion_that_is_never_acknowledged_is_given_up_with_a_warning(start, peer, namespace):
    arguments, name = namespace
    sent = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    # Reads and would answer, but never does, as a node that refuses every motion
    peer.node.create_publisher(JointTrajectory, f"{name}/joint_trajectory_with_effort", 10)
    sender = start("trajectory_node", MOTION, arguments)
    sender.wait_for_log("/peer has not accepted 'excitation' in 5 attempts; see its log")
    received = len(sent)
    assert 1 < received <= 5  # the first is lost where we were found before we had found the sender
    answer = peer.call(Trigger, f"{name}/trajectory_node/send", Trigger.Request())
    assert (answer.success, answer.message) == (True, "sent to /peer")
    wait_for(lambda: len(sent) > received, "another attempt")


def test_only_the_same_motion_counts_as_taken(start, peer, namespace):
    arguments, name = namespace
    sent = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    answers = peer.node.create_publisher(
        JointTrajectory, f"{name}/joint_trajectory_with_effort", 10
    )
    sender = start("trajectory_node", MOTION, arguments)
    wait_for(lambda: sent, "the motion")
    other = JointTrajectory(joint_names=sent[0].joint_names)
    other.points = [JointTrajectoryPoint(positions=[q + 0.1 for q in sent[0].points[-1].positions])]
    answers.publish(other)
    wait_for(lambda: len(sent) > 1, "another attempt")
    answers.publish(sent[0])
    sender.wait_for_log("'excitation' is followed")


def test_a_stock_controller_gets_the_motion_once(start, peer, namespace):
    arguments, name = namespace
    sender = start("trajectory_node", {**MOTION, "acknowledged": False}, arguments)
    sender.wait_for_log(f"waiting for a node to follow {name}/joint_trajectory")
    sent = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    sender.wait_for_log("sent 'excitation'")
    wait_for(lambda: sent, "the motion")
    answer = peer.call(Trigger, f"{name}/trajectory_node/send", Trigger.Request())
    assert answer.message == "sent to /peer"
    wait_for(lambda: len(sent) == 2, "the motion again")


def test_a_motion_waits_until_its_controller_follows_references(start, peer, namespace):
    arguments, name = namespace
    sent = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    peer.node.create_publisher(JointTrajectory, f"{name}/joint_trajectory_with_effort", 10)
    announced = peer.node.create_publisher(KeyValue, f"{name}/{UNFOLLOWED_TOPIC}", DESCRIPTION_QOS)
    sender = start("trajectory_node", {**MOTION, "controller": "servo"}, arguments)
    sender.wait_for_log("waiting for servo to follow references: it is not there yet")
    announced.publish(KeyValue(key="another", value=""))
    announced.publish(KeyValue(key="servo", value="waiting for joint states"))
    sender.wait_for_log("waiting for servo to follow references: waiting for joint states")
    answer = peer.call(Trigger, f"{name}/trajectory_node/send", Trigger.Request())
    assert (answer.success, "nothing sent: waiting for servo" in answer.message) == (False, True)
    assert not sent
    announced.publish(KeyValue(key="servo", value=""))
    wait_for(lambda: sent, "the motion")


# -- paths of the end effector
# ----------------------------------------------------------------------------


def end_effector_positions(robot, msg, frame="hand"):
    """Return the position of the end effector at every point of a message, shape (N, 3), m."""
    assert tuple(msg.joint_names) == robot.joint_names
    return np.array([frame_pose(robot, p.positions, frame).translation for p in msg.points])


def test_the_end_effector_goes_round_the_papers_circle(start, peer, namespace):
    arguments, name = namespace
    sent = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    alone = {"acknowledged": False, "approach": 0.0, "log_urdf_warnings": False}
    start("trajectory_node", {"urdf_path": "puma_gupta", "motion": "circle", **alone}, arguments)
    wait_for(lambda: sent, "the motion")
    end_effector = end_effector_positions(read_urdf(find_robot("puma_gupta")), sent[0])
    assert end_effector[:, 0] == pytest.approx(0.8636, abs=1e-8)
    assert np.hypot(end_effector[:, 1], end_effector[:, 2]) == pytest.approx(
        0.1524, abs=1e-8
    )  # 6 in
    assert end_effector[-1] == pytest.approx(end_effector[0], abs=1e-8)


def test_the_end_effector_passes_the_poses_of_a_file(start, peer, namespace, tmp_path):
    arguments, name = namespace
    poses = tmp_path / "poses.csv"
    poses.write_text(
        "time,x,y,z,roll,pitch,yaw\n0,0.6,0.1,-0.1,3.14,0,1.57\n2,0.6,0.3,-0.1,3.14,0,1.57\n"
        "4,0.5,0.3,0.1,3.14,0,1.57\n"
    )
    sent = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    motion = {"motion": "poses", "file": str(poses), "acknowledged": False, "approach": 0.0}
    start("trajectory_node", {"urdf_path": "puma_gupta", **motion}, arguments)
    wait_for(lambda: sent, "the motion")
    end_effector = end_effector_positions(read_urdf(find_robot("puma_gupta")), sent[0])
    assert end_effector[0] == pytest.approx([0.6, 0.1, -0.1], abs=1e-8)
    assert end_effector[len(end_effector) // 2] == pytest.approx([0.6, 0.3, -0.1], abs=1e-8)
    assert end_effector[-1] == pytest.approx([0.5, 0.3, 0.1], abs=1e-8)


def test_the_end_effector_moves_along_the_papers_line_without_turning(start, peer, namespace):
    arguments, name = namespace
    sent = peer.listen(JointTrajectory, f"{name}/joint_trajectory")
    motion = {"motion": "line", "duration": 3.0, "acknowledged": False, "approach": 0.0}
    start("trajectory_node", {"urdf_path": "thomas_tesar", **motion}, arguments)
    wait_for(lambda: sent, "the motion")
    robot = thomas_tesar_arm()
    end_effector = end_effector_positions(robot, sent[0], "tool")
    assert end_effector[:, [0, 2]] == pytest.approx(
        np.tile([1.33, 1.8], (len(end_effector), 1)), abs=1e-8
    )
    assert end_effector[[0, -1], 1] == pytest.approx([-1.0, 1.0], abs=1e-8)
    first, *others = (frame_pose(robot, p.positions, "tool").rotation for p in sent[0].points)
    assert max(np.abs(R - first).max() for R in others) < 1e-8


def test_a_line_out_of_reach_ends_the_node_in_one_line(start, namespace):
    arguments, _ = namespace
    node = start("trajectory_node", {"urdf_path": "puma_gupta", "motion": "line"}, arguments)
    node.wait_for_log("pose at t = 0 s: ")
