"""The page of running nodes: what it shows is theirs, and its controls reach them."""

import socket

import numpy as np
import pytest

pytest.importorskip("viser")
pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from robot_dynamics import Dynamics
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.nodes.runtime.composition import composed
from robot_dynamics.nodes.runtime.process import Process
from robot_dynamics.nodes.viewer_node import ViewerNode
from robot_dynamics.nodes.viewer_requests import SHARE, ViewerRequests
from robot_dynamics.robot import find_robot, read_urdf, urdf_text
from robot_dynamics.viewer.controls import UNCHANGED
from robot_dynamics.viewer.effort_causes import CAUSES
from robot_dynamics.viewer.live_arm import BY_HAND, EXCITATION, STILL, ball
from ros_system import Peer, lasting_node, wait_for

SLIDER_STEP = 0.02  # rad: a five hundredth of a range of two turns is 0.025, and it rounds

MEASURED = 0.05  # N m: the slope of velocities over 20 ms against the true acceleration


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def nodes(domain):
    with composed("planar_2r", rate=250.0, domain=domain, trajectory_node={"wait": True}) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def viewer(domain, nodes):
    """A viewer_node beside them."""
    context = lasting_node("viewer_keeper", domain).context
    given = [Parameter("urdf_path", value="planar_2r"), Parameter("port", value=unused_port())]
    node = ViewerNode(context=context, parameter_overrides=given)
    with Process([node], context) as process:
        process.start()
        yield node


def test_what_is_shown_is_what_the_robot_does(nodes, viewer):
    wait_for(lambda: viewer._states.complete and viewer._desired.complete, "states and reference")
    now = viewer._measured()
    np.testing.assert_allclose(now.q, nodes.simulator.plant.q, atol=1e-3)  # it holds still
    residual = now.tau - viewer._page._shown.splitter.split(now).total
    np.testing.assert_allclose(residual, 0.0, atol=MEASURED)


def test_mode_that_is_chosen_on_the_page_is_the_mode_of_the_controller(nodes, viewer):
    viewer._controls.mode.value = "pd_gravity"
    wait_for(lambda: nodes.controller.parameters.mode == "pd_gravity", "another mode")
    viewer._controls.mode.value = "feedforward"
    wait_for(lambda: nodes.controller.parameters.mode == "feedforward", "the mode before")


def test_feedforward_off_is_pd_alone_and_on_is_feedforward_again(nodes, viewer):
    viewer._controls.feedforward.value = False
    wait_for(lambda: nodes.controller.parameters.mode == "pd", "PD alone")
    viewer._controls.feedforward.value = True
    wait_for(lambda: nodes.controller.parameters.mode == "feedforward", "feedforward")


def test_heavier_links_of_the_page_are_those_of_the_simulated_robot(nodes, viewer):
    viewer._controls.mass_error.value = 20.0
    wait_for(lambda: nodes.simulator.parameters.mass_factor == pytest.approx(1.2), "heavier links")
    viewer._controls.mass_error.value = 0.0
    wait_for(lambda: nodes.simulator.parameters.mass_factor == 1.0, "links as they were")


def test_payload_of_the_page_is_shown_and_sent_to_the_nodes(nodes, viewer):
    viewer._controls.payload.value = 1.5
    wait_for(
        lambda: viewer._load.payload is not None and viewer._load.payload.mass == 1.5, "a payload"
    )
    np.testing.assert_allclose(viewer._load.payload.about_com, ball(1.5).about_com, atol=1e-12)
    wait_for(lambda: nodes.controller.arm.load.payload.target[0] == 1.5, "a payload that is known")


# What the arm is to do, and not what it does: that is another test's on a machine that keeps up
def test_motion_that_is_chosen_on_the_page_is_followed_until_it_is_to_hold_still(nodes, viewer):
    desired = viewer._desired
    before = desired.position.copy()
    viewer._controls.motion.value = EXCITATION
    wait_for(lambda: np.abs(desired.position - before).max() > 0.02, "motion")
    viewer._controls.motion.value = STILL
    wait_for(lambda: not desired.velocity.any(), "rest")


def test_motion_of_the_page_gives_an_arm_that_is_far_away_the_time_to_its_start(domain):
    peer, robot = Peer(domain), read_urdf(find_robot("planar_2r"))
    asker = rclpy.create_node("asker", context=peer.context, namespace="far")
    heard = peer.listen(JointTrajectory, "far/joint_trajectory")
    requests = ViewerRequests(asker, robot.tips[0], lambda _: None)
    wait_for(lambda: asker.count_subscribers("joint_trajectory"), "a subscriber")
    requests.choose(EXCITATION, robot, np.zeros(2))
    requests.keep_moving(np.array([0.0, 40.0]), robot)
    wait_for(lambda: heard, "a motion")
    peer.close()
    asker.destroy_node()
    start = heard[0].points[0].time_from_start
    way = abs(40.0 - heard[0].points[0].positions[1])
    assert start.sec + 1e-9 * start.nanosec >= way / (SHARE * robot.limits.velocity[1]) - 1e-9


def test_sliders_lead_the_arm_while_it_is_moved_by_hand(nodes, viewer):
    sliders, desired = viewer._controls.sliders, viewer._desired
    viewer._controls.motion.value = BY_HAND
    wait_for(lambda: sliders.visible, "sliders")
    np.testing.assert_allclose(sliders.positions, viewer._states.position, atol=SLIDER_STEP)
    aim = sliders.positions + [0.2, 0.0]
    sliders.move(aim)
    wait_for(lambda: np.abs(desired.position - aim).max() < SLIDER_STEP, "arrival")
    viewer._controls.motion.value = UNCHANGED
    wait_for(lambda: not sliders.visible, "no sliders")


def test_new_description_of_the_robot_is_shown_while_it_moves(viewer):
    wait_for(lambda: viewer.driven, "states")
    heavier = urdf_text("planar_2r").replace('<mass value="8"/>', '<mass value="9"/>')
    (done,) = viewer.set_parameters([Parameter("robot_description", value=heavier)])
    assert done.successful, done.reason
    wait_for(lambda: viewer._page._shown.scene._robot.links[2].inertia.mass == 9.0, "a new robot")
    shown = viewer._page._moments
    wait_for(lambda: viewer._page._moments > shown + 5, "a page that goes on")


def test_without_joint_states_a_robot_is_chosen_and_placed_until_somebody_moves_ours(domain):
    context = lasting_node("viewer_keeper", domain).context
    given = [Parameter("urdf_path", value="planar_2r"), Parameter("port", value=unused_port())]
    alone = ViewerNode(context=context, parameter_overrides=given, namespace="alone")
    with Process([alone], context) as process:
        process.start()
        wait_for(lambda: alone.active and alone._controls.sliders.visible, "sliders")
        alone._controls.sliders.move(q := np.array([0.3, -0.4]))
        now = alone._placed()
        alone._controls.robot.value = "puma_gupta"
        wait_for(lambda: len(alone._controls.sliders.positions) == 6, "another robot")
        other = alone._placed()
        peer = Peer(domain)
        publisher = peer.node.create_publisher(JointState, "alone/joint_states", 1)
        msg = JointState(name=list(alone.robot.joint_names), position=[0.1, 0.2])
        wait_for(
            lambda: publisher.publish(msg) or len(alone._controls.sliders.positions) == 2,
            "the robot that has states",
        )
        peer.close()
    np.testing.assert_allclose(now.q, q, atol=SLIDER_STEP)
    np.testing.assert_allclose(now.tau, Dynamics(alone.robot).gravity(now.q), atol=1e-9)
    puma = read_urdf(find_robot("puma_gupta"))
    np.testing.assert_allclose(other.tau, Dynamics(puma).gravity(other.q), atol=1e-9)


def test_wrench_that_the_arm_is_to_exert_is_shown_and_counted(nodes, viewer, domain):
    peer = Peer(domain)
    publisher = peer.node.create_publisher(WrenchStamped, "wrench", 1)
    msg = WrenchStamped()
    msg.wrench.force.x = 30.0
    wait_for(lambda: publisher.publish(msg) or viewer._load.wrench is not None, "a wrench")
    now = viewer._measured()
    peer.close()
    np.testing.assert_array_equal(now.wrench, [30.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    caused = viewer._page._shown.splitter.split(now).by_cause[CAUSES.index("wrench")]
    J = Dynamics(viewer.robot).jacobian(now.q)
    force = Dynamics(viewer.robot).pose(now.q).rotation[:, 0] * 30.0
    np.testing.assert_allclose(caused, J[:3].T @ force, atol=1e-9)


def test_markers_for_rviz_show_load_reference_and_gravity(nodes, viewer, domain):
    peer = Peer(domain)
    heard = peer.listen(MarkerArray, "markers")

    def elbow_is_shown():  # within 1 mm, once the arm holds still
        if not heard:
            return False
        shown = next(m.pose.position for m in heard[-1].markers if (m.ns, m.id) == ("load", 1))
        elbow = link_poses(viewer.robot, nodes.simulator.plant.q)["link_2"].translation
        return np.abs(np.array([shown.x, shown.y, shown.z]) - elbow).max() < 1e-3

    wait_for(elbow_is_shown, "markers where the arm is")
    peer.close()
    markers = {(marker.ns, marker.id): marker for marker in heard[-1].markers}
    names = {("load", 0), ("load", 1), ("reference", 0), ("gravity", 0)}
    assert set(markers) == names | {("wrench", 0), ("wrench", 1)}
    arrow = markers["gravity", 0].points
    assert arrow[1].z < arrow[0].z
