"""Launches of real nodes, with the wiring of bringup."""

import os
import signal

import numpy as np
import pytest

from choices import first
from robot_dynamics import read_urdf
from robot_dynamics.robot.catalogue import find_robot
from ros_system import PATIENCE, Peer, wait_for

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory


@pytest.mark.parametrize("composed", first(["false"], ["false", "true"]))
def test_an_arm_is_commanded_in_its_namespace_until_ctrl_c_ends_all(
    launch, composed, tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    peer = Peer(launch.domain)
    try:
        namespace = f"arm_{composed}"
        commands = peer.listen(Float64MultiArray, f"/{namespace}/effort_command")
        process = launch(
            f"namespace:={namespace}", f"composed:={composed}", "motion:=none", "rate:=100"
        )
        wait_for(lambda: len(commands) > 10, "commands")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, _ = process.communicate(timeout=PATIENCE)
    finally:
        peer.close()
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert "has died" not in output
    assert list(tmp_path.iterdir()) == []  # parameter files, also those of launch_ros


@pytest.mark.thorough
def test_of_two_robots_in_simulated_time_one_keeps_the_clock(launch):
    peer = Peer(launch.domain)
    try:
        heard = [peer.listen(JointState, f"/{name}/joint_states") for name in ("left", "right")]
        common = ("use_sim_time:=true", "composed:=true", "motion:=none", "rate:=100")
        launch("namespace:=left", *common)
        launch("namespace:=right", "publish_clock:=false", *common)
        wait_for(lambda: all(heard), "states of both")
        assert peer.node.count_publishers("/clock") == 1
    finally:
        peer.close()


@pytest.mark.thorough
@pytest.mark.parametrize("composed", ["false", "true"])
def test_the_model_is_watched_if_asked_for_at_a_rate_of_its_own(launch, composed):
    peer = Peer(launch.domain)
    try:
        residuals = peer.listen(JointState, "/effort_residual", 100)
        states = peer.listen(JointState, "/joint_states", 100)
        launch(f"composed:={composed}", "monitor:=true", "motion:=none", "rate:=200")
        wait_for(lambda: residuals, "residuals")
        begin = len(states), len(residuals)
        wait_for(lambda: len(states) > begin[0] + 400, "two seconds")
        assert len(residuals) - begin[1] < 0.5 * 400  # 50 Hz, and never the rate of the others
    finally:
        peer.close()


@pytest.mark.thorough
def test_the_circle_of_a_publication_is_sent(launch):
    peer = Peer(launch.domain)
    try:
        sent = peer.listen(JointTrajectory, "/joint_trajectory")
        # A robot whose fourth link no simulator takes
        launch("robot:=puma_gupta", "simulation:=false", "motion:=circle", "arm_controller:=arm")
        wait_for(lambda: peer.node.count_subscribers("/joint_states"), "a node that wants states")
        names = list(read_urdf(find_robot("puma_gupta")).joint_names)
        zero = JointState(name=names, position=[0.0] * 6, velocity=[0.0] * 6)
        publisher = peer.publisher(JointState, "/joint_states")

        def told():
            zero.header.stamp = peer.node.get_clock().now().to_msg()
            publisher.publish(zero)
            return sent

        wait_for(told, "the motion")
        first, last = (np.array(sent[0].points[i].positions) for i in (0, -1))
        # Once round: the end effector is where it was, and each joint there or a turn further, to
        # round-off
        np.testing.assert_allclose(np.cos(last - first), 1.0, atol=1e-9)
        assert max(np.ptp([point.positions for point in sent[0].points], axis=0)) > 1.0
    finally:
        peer.close()


@pytest.mark.parametrize("text", first(["<xml"], ["", "<xml", "no URDF\n", "<sdf version='1.7'/>"]))
def test_a_file_that_is_no_urdf_is_one_line_of_the_launch(launch, tmp_path, text):
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    process = launch(f"robot:={path}")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "Traceback" not in output
    lines = [line for line in output.splitlines() if str(path) in line]
    assert len(lines) == 1, output


@pytest.mark.thorough
def test_what_a_urdf_has_that_is_ignored_is_logged_once(launch, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(find_robot("planar_2r").read_text().replace("</robot>", "<antenna/></robot>"))
    process = launch(f"robot:={path}", "motion:=none", "rate:=100")
    peer = Peer(launch.domain)
    try:
        commands = peer.listen(Float64MultiArray, "/effort_command")
        wait_for(lambda: len(commands) > 10, "commands")
    finally:
        peer.close()
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert output.count("antenna") == 1, output
