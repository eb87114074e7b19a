"""A client of controller_manager and of actions, run by the Python of the ROS installation.

python3 ros_client.py switch +controller_to_activate -controller_to_deactivate
python3 ros_client.py goal CONTROLLER TRAJECTORY.json        a goal of follow_joint_trajectory
python3 ros_client.py reference CONTROLLER REFERENCE.json    publish ~/reference until killed
python3 ros_client.py reference CONTROLLER REFERENCE.json stopped    the same, from SIGCONT on
"""

import json
import os
import signal
import sys
import time

import rclpy
from rclpy.action import ActionClient


def switch(node, *words):
    """Switch controllers strictly."""
    from controller_manager_msgs.srv import SwitchController

    client = node.create_client(SwitchController, "controller_manager/switch_controller")
    client.wait_for_service(20.0)
    request = SwitchController.Request(strictness=SwitchController.Request.STRICT)
    request.activate_controllers = [word[1:] for word in words if word[0] == "+"]
    request.deactivate_controllers = [word[1:] for word in words if word[0] == "-"]
    request.timeout.sec = 5
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=20.0)
    sys.exit(0 if future.done() and future.result().ok else 1)


def trajectory(path):
    """Read a trajectory: joint_names, times, positions, and other fields of its points."""
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    with open(path) as file:
        motion = json.load(file)
    names, times = motion.pop("joint_names"), motion.pop("times")
    points = []
    for k, t in enumerate(times):
        sec, nanosec = divmod(round(t * 1e9), 10**9)
        point = JointTrajectoryPoint(**{field: values[k] for field, values in motion.items()})
        point.time_from_start = Duration(sec=sec, nanosec=nanosec)
        points.append(point)
    return JointTrajectory(joint_names=names, points=points)


def goal(node, controller, path):
    """Send a goal, print when it is accepted, and wait for the result."""
    from control_msgs.action import FollowJointTrajectory

    client = ActionClient(node, FollowJointTrajectory, f"{controller}/follow_joint_trajectory")
    client.wait_for_server(20.0)
    future = client.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory(path)))
    rclpy.spin_until_future_complete(node, future)
    print("accepted" if future.result().accepted else "rejected", flush=True)
    rclpy.spin_until_future_complete(node, future.result().get_result_async())


def reference(node, controller, path, *stopped):
    """Publish a motion as ~/reference, point by point at its times."""
    from sensor_msgs.msg import JointState

    motion = trajectory(path)
    if stopped:
        print("stopped", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    publisher = node.create_publisher(JointState, f"{controller}/reference", 10)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    print("publishing", flush=True)
    begin = time.monotonic()
    for point in motion.points:
        due = begin + point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
        time.sleep(max(0.0, due - time.monotonic()))
        msg = JointState(name=motion.joint_names)
        msg.position, msg.velocity = point.positions, point.velocities
        msg.effort = point.effort
        msg.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(msg)


if __name__ == "__main__":
    rclpy.init()
    peer = rclpy.create_node(f"client_{os.getpid()}", enable_rosout=False)
    {"switch": switch, "goal": goal, "reference": reference}[sys.argv[1]](peer, *sys.argv[2:])
