"""Both nodes behind drivers that publish positions and velocities apart, or no velocities."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics import read_urdf
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
POSE = [0.3, 0.2]
ESTIMATED = "velocities are estimated by positions where joint_states have none, with a lag of "


@pytest.mark.parametrize("driver", ["apart", "without velocities"])
def test_states_of_such_drivers_are_answered(start, peer, driver):
    publisher = peer.node.create_publisher(JointState, "joint_states", 10)
    parts = [{"position": POSE}]
    if driver == "apart":
        parts.append({"velocity": [0.0, 0.0]})

    def publish():
        for part in parts:
            msg = JointState(name=list(ROBOT.joint_names), **part)
            msg.header.stamp = peer.node.get_clock().now().to_msg()
            publisher.publish(msg)

    timer = peer.node.create_timer(0.01, publish)
    commands = peer.listen(Float64MultiArray, "effort_command")
    # A busy machine sends states late, which is not what this is about
    common = {"urdf_path": "planar_2r", "rate": 100.0}
    common |= {"velocity_filter": 30.0} if driver != "apart" else {}
    nodes = [
        start("feedforward_node", common),
        start("controller_node", {**common, "state_timeout": 5.0, "reference_timeout": 5.0}),
    ]
    nodes[0].wait_for_log("ready for trajectories")
    nodes[1].wait_for_log("tracking the reference")
    wait_for(lambda: len(commands) > 50, "commands")
    timer.cancel()
    for node in nodes:
        assert (ESTIMATED in node.log) == (driver != "apart")
        assert "no message has" not in node.log
