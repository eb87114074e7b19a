"""The page of running nodes: what it shows is theirs, and its controls reach them."""

import socket

import numpy as np
import pytest

pytest.importorskip("viser")
pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.parameter import Parameter
from visualization_msgs.msg import MarkerArray

from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.nodes.runtime.composition import composed
from robot_dynamics.nodes.runtime.process import Process
from robot_dynamics.nodes.viewer_node import ViewerNode
from robot_dynamics.viewer.live_arm import ball
from ros_system import Peer, lasting_node, wait_for

MEASURED = 0.05  # N m: the slope of velocities over 20 ms against the true acceleration


@pytest.fixture(scope="module")
def nodes(domain):
    with composed("planar_2r", rate=250.0, domain=domain, trajectory_node={"wait": True}) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def viewer(domain, nodes):
    """A viewer_node beside them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = lasting_node("viewer_keeper", domain).context
    given = [Parameter("urdf_path", value="planar_2r"), Parameter("port", value=port)]
    node = ViewerNode(context=context, parameter_overrides=given)
    with Process([node], context) as process:
        process.start()
        yield node


def test_what_is_shown_is_what_the_robot_does(nodes, viewer):
    wait_for(lambda: viewer._states.complete and viewer._desired.complete, "states and reference")
    now = viewer._snapshot()
    np.testing.assert_allclose(now.q, nodes.simulator.plant.q, atol=1e-3)  # it holds still
    residual = now.tau - viewer._page._shown.splitter.split(now.q, now.qd, now.qdd).total
    np.testing.assert_allclose(residual, 0.0, atol=MEASURED)


def test_mode_that_is_chosen_on_the_page_is_the_mode_of_the_controller(nodes, viewer):
    viewer._controls._mode.value = "pd_gravity"
    wait_for(lambda: nodes.controller.parameters.mode == "pd_gravity", "another mode")
    viewer._controls._mode.value = "feedforward"
    wait_for(lambda: nodes.controller.parameters.mode == "feedforward", "the mode before")


def test_heavier_links_of_the_page_are_those_of_the_simulated_robot(nodes, viewer):
    viewer._controls._mass_error.value = 20.0
    wait_for(lambda: nodes.simulator.parameters.mass_factor == pytest.approx(1.2), "heavier links")
    viewer._controls._mass_error.value = 0.0
    wait_for(lambda: nodes.simulator.parameters.mass_factor == 1.0, "links as they were")


def test_payload_of_the_page_is_shown_and_told_to_the_nodes(nodes, viewer):
    viewer._controls._payload.value = 1.5
    wait_for(lambda: viewer._payload is not None and viewer._payload.mass == 1.5, "a payload")
    np.testing.assert_allclose(viewer._payload.about_com, ball(1.5).about_com, atol=1e-12)
    wait_for(lambda: nodes.controller.arm.load.payload.target[0] == 1.5, "a payload that is known")


def test_markers_for_rviz_show_load_reference_and_gravity(nodes, viewer, domain):
    peer = Peer(domain)
    heard = peer.listen(MarkerArray, "markers")
    wait_for(lambda: heard, "markers")
    peer.close()
    markers = {(marker.ns, marker.id): marker for marker in heard[0].markers}
    assert set(markers) == {("load", 0), ("load", 1), ("reference", 0), ("gravity", 0)}
    arrow = markers["gravity", 0].points
    assert arrow[1].z < arrow[0].z
    robot, elbow = viewer.robot, markers["load", 1].pose.position
    placed = link_poses(robot, nodes.simulator.plant.q)["link_2"].translation
    np.testing.assert_allclose([elbow.x, elbow.y, elbow.z], placed, atol=1e-3)  # it holds still
