"""Markers of running nodes for rviz and Foxglove."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from geometry_msgs.msg import PoseStamped, TwistStamped
from visualization_msgs.msg import MarkerArray

from robot_dynamics.control.target_motion import pose_error
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.nodes.composition import composed
from robot_dynamics.nodes.marker_node import MarkerNode, moved_by
from robot_dynamics.nodes.runtime.process import Process
from robot_dynamics.spatial import Pose
from ros_system import Peer, lasting_node, wait_for


@pytest.fixture(scope="module")
def nodes(domain):
    with composed("planar_2r", rate=250.0, domain=domain, trajectory_node={"wait": True}) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def marker_node(domain, nodes):
    """A marker_node beside them."""
    from rclpy.parameter import Parameter

    context = lasting_node("marker_keeper", domain).context
    given = [Parameter("urdf_path", value="planar_2r")]
    node = MarkerNode(context=context, parameter_overrides=given)
    with Process([node], context) as process:
        process.start()
        yield node


def test_markers_show_load_reference_and_gravity_where_the_arm_is(nodes, marker_node, domain):
    peer = Peer(domain)
    heard = peer.listen(MarkerArray, "markers")

    def elbow_is_shown():  # within 1 mm, once the arm holds still
        if not heard:
            return False
        shown = next(m.pose.position for m in heard[-1].markers if (m.ns, m.id) == ("load", 1))
        elbow = link_poses(marker_node.robot, nodes.simulator.plant.q)["link_2"].translation
        return np.abs(np.array([shown.x, shown.y, shown.z]) - elbow).max() < 1e-3

    wait_for(elbow_is_shown, "markers where the arm is")
    peer.close()
    markers = {(marker.ns, marker.id): marker for marker in heard[-1].markers}
    names = {
        ("load", 0),
        ("load", 1),
        ("effort", 0),
        ("effort", 1),
        ("reference", 0),
        ("gravity", 0),
        ("gravity", 1),
    }
    names |= {("wrench", k) for k in range(4)} | {("target", k) for k in range(3)}
    assert set(markers) == names
    assert markers["gravity", 1].text == "gravity"
    assert {marker.header.frame_id for marker in markers.values()} == {"base_link"}
    assert markers["wrench", 0].action == markers["wrench", 1].action == 2  # none: deleted
    arrow = markers["gravity", 0].points
    assert arrow[1].z < arrow[0].z


def test_the_target_of_the_end_effector_is_shown_while_a_controller_reports_the_end_effector(
    nodes, marker_node, domain
):
    peer = Peer(domain)
    heard = peer.listen(MarkerArray, "markers")
    end_effector, error = (
        peer.publisher(PoseStamped, "cartesian_pose"),
        peer.publisher(TwistStamped, "cartesian_error"),
    )
    pose, offset = PoseStamped(), TwistStamped()
    pose.pose.position.x, pose.pose.orientation.w = 0.5, 1.0
    offset.twist.linear.y = 0.02

    def label():
        last = heard[-1].markers if heard else []
        return next((m.text for m in last if (m.ns, m.id) == ("target", 2) and not m.action), "")

    def is_shown():
        error.publish(offset)
        end_effector.publish(pose)
        return label() == "target: 20 mm, 0 deg"

    wait_for(is_shown, "the target")
    wait_for(lambda: not label(), "no target without a controller of the end effector")
    peer.close()


@given(st.integers(0, 2**32 - 1))
def test_a_pose_moved_by_the_way_to_another_is_that_one(seed):
    rng = np.random.default_rng(seed)
    turns = Rotation.random(2, rng=rng).as_matrix()
    start, end = (Pose(R, rng.normal(size=3)) for R in turns)
    moved = moved_by(start, pose_error(start, end))
    np.testing.assert_allclose(moved.rotation, end.rotation, atol=1e-7)  # half a turn is singular
    np.testing.assert_allclose(moved.translation, end.translation, atol=1e-12)
