"""Markers of running nodes for rviz and Foxglove."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from visualization_msgs.msg import MarkerArray

from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.nodes.composition import composed
from robot_dynamics.nodes.marker_node import MarkerNode
from robot_dynamics.nodes.runtime.process import Process
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
    names = {("load", 0), ("load", 1), ("reference", 0), ("gravity", 0)}
    assert set(markers) == names | {("wrench", 0), ("wrench", 1)}
    assert {marker.header.frame_id for marker in markers.values()} == {"base_link"}
    assert markers["wrench", 0].action == markers["wrench", 1].action == 2  # none: deleted
    arrow = markers["gravity", 0].points
    assert arrow[1].z < arrow[0].z
