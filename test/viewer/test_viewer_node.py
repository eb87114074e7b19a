"""The page of running nodes: what it shows is theirs, and its controls reach them."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser")
pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

import rclpy
from geometry_msgs.msg import InertiaStamped, PoseStamped, WrenchStamped
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from websockets.exceptions import InvalidStatus

from browser import unused_port
from page_client import CAMERA, message_bytes, page_socket, update
from robot_dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.composition import composed
from robot_dynamics.nodes.runtime.process import Process
from robot_dynamics.nodes.viewer_node import ViewerNode
from robot_dynamics.nodes.viewer_requests import SHARE, ViewerRequests
from robot_dynamics.robot import find_robot, read_urdf, urdf_text
from robot_dynamics.spatial import Pose
from robot_dynamics.viewer.controls import OFF, UNCHANGED
from robot_dynamics.viewer.effort_causes import CAUSES
from robot_dynamics.viewer.live_arm import BY_HAND, EXCITATION, STILL, ball
from ros_system import Peer, lasting_node, wait_for

SLIDER_STEP = 0.02  # rad: a five hundredth of a range of two turns is 0.025, and it rounds

MEASURED = 0.05  # N m: the slope of velocities over 20 ms against the true acceleration


@pytest.fixture(scope="module")
def nodes(domain):
    with composed("planar_2r", rate=250.0, domain=domain, trajectory_node={"wait": True}) as nodes:
        # PD alone lags, and more where other tests take the processors; no stop is tested here
        limits = {
            f"limits.{name}.tracking_error": 0.0 for name in nodes.simulator.robot.joint_names
        }
        nodes.set(nodes.controller, **limits)
        yield nodes


@pytest.fixture(scope="module")
def viewer(domain, nodes):
    """A viewer_node beside them."""
    nodes.set(nodes.simulator, mass_factor=1.15)
    context = lasting_node("viewer_keeper", domain).context
    given = [Parameter("urdf_path", value="planar_2r"), Parameter("port", value=unused_port())]
    node = ViewerNode(context=context, parameter_overrides=given)
    with Process([node], context) as process:
        process.start()
        yield node


def enable(viewer):
    """Let the page move the arm, as a person does on it."""
    wait_for(lambda: viewer.driven, "states")
    wait_for(lambda: viewer._visits % 2 == 0, "browsers of other tests that have left")
    viewer._controls.enable.value = True
    wait_for(lambda: viewer._enabled, "motion that is enabled")


@pytest.fixture
def enabled(viewer):
    """The same viewer_node, whose page may move the arm."""
    enable(viewer)
    yield viewer
    viewer._controls.enable.value = False
    wait_for(lambda: not viewer._enabled, "motion that is disabled")


def test_page_shows_the_mass_factor_of_the_simulated_robot_from_the_start(nodes, viewer):
    slider = viewer._controls.mass_error
    wait_for(lambda: slider.value == 15.0, "the mass factor that the simulator has had before")
    nodes.set(nodes.simulator, mass_factor=1.0)
    wait_for(lambda: slider.value == 0.0, "masses as in the URDF")
    assert viewer._controls._simulated.visible
    viewer._controls.show_mass_factor(3.0)  # beyond the slider's own range
    assert (slider.value, slider.max) == (200.0, 200.0)
    wait_for(lambda: slider.value == 0.0, "the true mass factor again")


def test_what_is_shown_is_what_the_robot_does(nodes, viewer):
    wait_for(lambda: viewer._states.complete and viewer._desired.complete, "states and reference")

    def true():  # as soon as it holds still
        now = viewer._measured()
        residual = now.tau - viewer._page._shown.splitter.split(now).total
        far = np.abs(now.q - nodes.simulator.plant.q).max()
        return far < 1e-3 and np.abs(residual).max() < MEASURED

    wait_for(true, "the robot as it is")


@pytest.mark.parametrize(
    ("control", "value"),
    [("motion", EXCITATION), ("motion", BY_HAND), ("payload", 2.0), ("mode", "pd"),
     ("feedforward", False), ("mass_error", 20.0), ("pause", True)],
)  # fmt: skip
def test_until_motion_is_enabled_controls_return_to_their_values_and_say_why(
    nodes, viewer, domain, control, value
):
    wait_for(lambda: viewer.driven and viewer._controls._simulated.visible, "states")
    peer = Peer(domain)
    sent = [
        peer.listen(JointTrajectory, "joint_trajectory"),
        peer.listen(InertiaStamped, "payload"),
    ]
    handle = getattr(viewer._controls, control)
    before, mode = handle.value, nodes.controller.parameters.mode
    masses = nodes.simulator.parameters.mass_factor
    viewer._controls.message.say("")
    with page_socket(viewer._page.address) as browser:
        browser.send(message_bytes(update(handle, value)))
        wait_for(lambda: viewer._controls.message.text == OFF, "the reason on the page")
    assert handle.value == before
    shown = viewer._page._moments
    wait_for(lambda: viewer._page._moments > shown + 5, "a page that goes on")
    assert not any(sent)
    assert nodes.controller.parameters.mode == mode
    assert nodes.simulator.parameters.mass_factor == masses
    peer.close()


def test_hold_still_stops_the_arm_without_enabling(nodes, viewer, domain):
    wait_for(lambda: viewer.driven, "states")
    peer = Peer(domain)
    sent = peer.listen(JointTrajectory, "joint_trajectory")
    wait_for(lambda: viewer.count_subscribers("joint_trajectory") > 1, "a second subscriber")
    viewer._controls.motion.value = STILL
    wait_for(lambda: len(sent) == 1, "a stop")
    viewer._controls.motion.value = UNCHANGED
    peer.close()
    (point,) = sent[0].points
    np.testing.assert_allclose(point.positions, nodes.simulator.plant.q, atol=1e-3)


def test_enabling_is_logged_and_ends_where_another_browser_connects(nodes, viewer, capfd):
    enable(viewer)
    desired, before = viewer._desired, viewer._desired.position.copy()
    viewer._controls.motion.value = EXCITATION
    wait_for(lambda: np.abs(desired.position - before).max() > 0.02, "motion")
    with page_socket(viewer._page.address) as browser:
        browser.send(message_bytes(CAMERA))
        wait_for(lambda: not viewer._enabled, "motion that is switched off")
        wait_for(lambda: not desired.velocity.any(), "rest")
    assert not viewer._controls.enable.value
    assert viewer._controls.motion.value == STILL
    assert viewer._controls.message.text == "motion is off: a browser connected or left"
    log = capfd.readouterr().err
    assert "the page may move the arm: motion was enabled on it" in log
    assert "the page may not move the arm: a browser connected or left" in log
    viewer._controls.motion.value = UNCHANGED


def test_arm_that_the_page_moves_stops_where_motion_is_switched_off(nodes, viewer):
    enable(viewer)
    desired, before = viewer._desired, viewer._desired.position.copy()
    viewer._controls.motion.value = EXCITATION
    wait_for(lambda: np.abs(desired.position - before).max() > 0.02, "motion")
    viewer._controls.enable.value = False
    wait_for(lambda: viewer._controls.motion.value == STILL, "a stop")
    wait_for(lambda: not desired.velocity.any(), "rest")
    viewer._controls.motion.value = UNCHANGED


def test_foreign_page_reaches_neither_the_controls_nor_the_arm(viewer, domain):
    peer = Peer(domain)
    sent = peer.listen(JointTrajectory, "joint_trajectory")
    address = viewer._page.address
    wait_for(lambda: viewer._page.visits % 2 == 0, "browsers of other tests that have left")
    visits = viewer._page.visits
    for origin, headers in (
        ("http://evil.example", None),
        ("http://evil.example", {"Host": "evil.example"}),
        (None, {"Host": "evil.example"}),
    ):
        with pytest.raises(InvalidStatus, match="403"):
            page_socket(address, origin=origin, headers=headers)
    with pytest.raises(InvalidStatus, match="403"):
        page_socket(address[: address.index("/", 8) + 1])
    shown = viewer._page._moments
    wait_for(lambda: viewer._page._moments > shown + 5, "a page that goes on")
    assert viewer._page.visits == visits
    assert not sent
    peer.close()


def test_mode_that_is_chosen_on_the_page_is_the_mode_of_the_controller(nodes, viewer, enabled):
    viewer._controls.mode.value = "pd_gravity"
    wait_for(lambda: nodes.controller.parameters.mode == "pd_gravity", "another mode")
    viewer._controls.mode.value = "feedforward"
    wait_for(lambda: nodes.controller.parameters.mode == "feedforward", "the mode before")


def test_feedforward_off_is_pd_alone_and_on_is_feedforward_again(nodes, viewer, enabled):
    viewer._controls.feedforward.value = False
    wait_for(lambda: nodes.controller.parameters.mode == "pd", "PD alone")
    viewer._controls.feedforward.value = True
    wait_for(lambda: nodes.controller.parameters.mode == "feedforward", "feedforward")


def test_heavier_links_of_the_page_are_those_of_the_simulated_robot(nodes, viewer, enabled):
    viewer._controls.mass_error.value = 20.0
    wait_for(lambda: nodes.simulator.parameters.mass_factor == pytest.approx(1.2), "heavier links")
    viewer._controls.mass_error.value = 0.0
    wait_for(lambda: nodes.simulator.parameters.mass_factor == 1.0, "links as they were")


def test_payload_of_the_page_is_shown_and_sent_to_the_nodes(nodes, viewer, enabled):
    viewer._controls.payload.value = 1.5
    wait_for(
        lambda: viewer._load.payload is not None and viewer._load.payload.mass == 1.5, "a payload"
    )
    np.testing.assert_allclose(viewer._load.payload.about_com, ball(1.5).about_com, atol=1e-12)
    wait_for(lambda: nodes.controller.arm.load.payload.target[0] == 1.5, "a payload that is known")


# What the arm is to do, and not what it does: that is another test's on a machine that keeps up
def test_motion_that_is_chosen_on_the_page_is_followed_until_it_is_to_hold_still(
    nodes, viewer, enabled
):
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


def test_sliders_lead_the_arm_while_it_is_moved_by_hand(nodes, viewer, enabled):
    sliders, desired = viewer._controls.sliders, viewer._desired
    viewer._controls.motion.value = BY_HAND
    wait_for(lambda: sliders.visible, "sliders")
    np.testing.assert_allclose(sliders.positions, viewer._states.position, atol=SLIDER_STEP)
    aim = sliders.positions + [0.2, 0.0]
    sliders.move(aim)
    wait_for(lambda: np.abs(desired.position - aim).max() < SLIDER_STEP, "arrival")
    viewer._controls.motion.value = UNCHANGED
    wait_for(lambda: not sliders.visible, "no sliders")


@pytest.fixture
def leading(nodes, viewer):
    """The same viewer_node beside a controller in a mode of the end effector."""
    enable(viewer)
    viewer._controls.mode.value = "cartesian_impedance"
    wait_for(lambda: viewer._gizmo._handle.visible, "a handle at the end effector")
    yield viewer
    viewer._controls.mode.value = "feedforward"
    wait_for(lambda: not viewer._gizmo._handle.visible, "no handle in a mode of joints")
    viewer._controls.enable.value = False
    wait_for(lambda: viewer._task_space._out is None, "no publisher of targets")


def drag(viewer, pose):
    """Drag the end effector to a pose, as a browser does."""
    wxyz = np.roll(Rotation.from_matrix(pose.rotation).as_quat(), 1)
    handle = viewer._gizmo._handle
    handle.wxyz, handle.position = wxyz, pose.translation
    dragging = viewer._gizmo._on_drag(SimpleNamespace(target=handle))
    asyncio.run_coroutine_threadsafe(dragging, viewer._page.server._event_loop).result()


def test_hand_is_led_where_its_handle_is_dragged_until_motion_is_switched_off(
    nodes, viewer, leading
):
    task = nodes.controller.controller.task
    assert viewer.count_publishers("target_pose") == 0  # of others alone, until the first drag
    at = viewer._task_space._measured
    np.testing.assert_allclose(viewer._gizmo._handle.position, at.translation, atol=1e-2)
    drag(viewer, Pose(at.rotation, at.translation + [-0.4, 0.0, 0.2]))
    wait_for(lambda: np.any(task.target.twist), "a target that moves")
    viewer._controls.enable.value = False
    wait_for(lambda: not viewer._enabled, "motion that is disabled")
    wait_for(lambda: not task.field("given") and not task.target.twist.any(), "rest")
    assert np.linalg.norm(task.target.position - at.translation) < 0.3  # short of its goal
    assert not viewer._gizmo._handle.visible
    enable(viewer)
    wait_for(lambda: viewer._gizmo._handle.visible, "a handle at the end effector")


def test_hold_still_holds_the_end_effector_that_the_page_leads(nodes, viewer, leading):
    task, at = nodes.controller.controller.task, viewer._task_space._measured
    drag(viewer, Pose(at.rotation, at.translation + [-0.2, 0.0, 0.2]))
    wait_for(lambda: np.any(task.target.twist), "a target that moves")
    viewer._controls.motion.value = STILL
    wait_for(lambda: not task.field("given") and not task.target.twist.any(), "rest")
    viewer._controls.motion.value = UNCHANGED


def test_drag_while_motion_is_off_or_in_a_mode_of_joints_publishes_nothing(nodes, viewer, enabled):
    wait_for(lambda: viewer._task_space.pose is None, "no poses of the end effector")
    for enable_motion in (True, False):
        viewer._controls.enable.value = enable_motion
        wait_for(lambda wanted=enable_motion: viewer._enabled == wanted, "the switch")
        drag(viewer, Pose.identity())
        wait_for(lambda: viewer._gizmo._dragged is None, "a drag that is dropped")
        assert viewer._task_space._out is None


def test_external_efforts_are_read_only_while_links_are_coloured_by_them(nodes, viewer):
    asked = viewer._controls.contact
    assert nodes.controller.external.subscriber_count == 0
    asked.value = True
    wait_for(lambda: viewer._external_in, "a subscription")
    wait_for(lambda: viewer._contact(True) is not None, "external efforts")
    field = nodes.controller.controller.field

    def as_observed():  # they change while the arm settles, and are read at different moments
        effort, threshold = viewer._contact(True)
        gap = max(
            np.abs(effort - field("external")).max(), np.abs(threshold - field("threshold")).max()
        )
        return gap < MEASURED

    wait_for(as_observed, "the efforts and thresholds of the controller")
    wait_for(lambda: ", threshold " in viewer._controls.contacts.text, "efforts in numbers")
    asked.value = False
    wait_for(lambda: not viewer._external_in, "no subscription")
    wait_for(lambda: viewer._controls.contacts.text == "", "no numbers")
    wait_for(lambda: nodes.controller.external.subscriber_count == 0, "no subscriber")


def test_pose_of_the_end_effector_in_another_frame_is_refused_by_name(viewer):
    msg = PoseStamped()
    msg.header.frame_id = "camera"
    with pytest.raises(ArgumentError) as error:
        viewer._task_space.read(msg)
    assert str(error.value) == "cartesian_pose is ignored: it is in 'camera', not in 'base_link'"


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
        alone._controls.enable.value = True
        text = "motion is off: no joint_states arrive"
        wait_for(lambda: alone._controls.message.text == text, "a page that may move nothing")
        assert not alone._controls.enable.value
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
        alone._controls.enable.value = True
        wait_for(lambda: publisher.publish(msg) or alone._enabled, "motion that is enabled")
        wait_for(lambda: alone._controls.message.text == text, "motion that ends with the states")
        assert not alone._controls.enable.value
        peer.close()
    np.testing.assert_allclose(now.q, q, atol=SLIDER_STEP)
    np.testing.assert_allclose(now.tau, Dynamics(alone.robot).gravity(now.q), atol=1e-9)
    puma = read_urdf(find_robot("puma_gupta"))
    np.testing.assert_allclose(other.tau, Dynamics(puma).gravity(other.q), atol=1e-9)


@pytest.mark.thorough
def test_wrench_that_the_arm_is_to_exert_is_shown_and_counted(nodes, viewer, domain):
    peer = Peer(domain)
    publisher = peer.node.create_publisher(WrenchStamped, "wrench", 1)
    msg = WrenchStamped()
    msg.wrench.force.x = 30.0
    wait_for(lambda: publisher.publish(msg) or viewer._load.wrench is not None, "a wrench")
    wait_for(lambda: np.isfinite(viewer._measured().q).all(), "a state")
    now = viewer._measured()
    peer.close()
    np.testing.assert_array_equal(now.wrench, [30.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    caused = viewer._page._shown.splitter.split(now).by_cause[CAUSES.index("wrench")]
    J = Dynamics(viewer.robot).jacobian(now.q)
    force = Dynamics(viewer.robot).pose(now.q).rotation[:, 0] * 30.0
    np.testing.assert_allclose(caused, J[:3].T @ force, atol=1e-9)
