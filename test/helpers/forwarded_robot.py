"""A robot behind a forward_command_controller of ros2_control: it forgets no command."""

import numpy as np

from robot_dynamics.simulation import Plant


class ForwardedRobot:
    """Obeys the last `effort_command` for ever, as forward_command_controller does.

    No watchdog, no brakes, no names: when commands stop, the last efforts act on. It stands still
    until the first command. A message of another length, or with a value that is not finite, is
    dropped. It publishes `joint_states` and moves by real time, even if its timer is late.

    Args:
        peer: The `Peer` whose executor it lives in.
        robot: The robot.
        q: Where it starts, shape (n,), rad or m.
        namespace: That of its topics, such as "/n3".
        rate: Of joint_states, Hz.
        options: Of `Plant`.

    Attributes:
        plant: Position, velocity and effort as they are now.
        command: The efforts that act, shape (n,), N m or N; None before the first.
        commands: How many were obeyed.
    """

    def __init__(self, peer, robot, q, namespace="", rate=200.0, **options):
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self.plant = Plant(robot, q, **options)
        self.command, self.commands = None, 0
        self._node, self._names = peer.node, list(robot.joint_names)
        self._kind = JointState
        self._publisher = self._node.create_publisher(JointState, f"{namespace}/joint_states", 10)
        self._subscription = self._node.create_subscription(
            Float64MultiArray, f"{namespace}/effort_command", self._on_command, 10
        )
        self._moved_at = self._node.get_clock().now()
        self._timer = self._node.create_timer(1.0 / rate, self._on_timer)

    def close(self):
        """Take it out of the system."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._subscription)
        self._node.destroy_publisher(self._publisher)

    def _on_command(self, msg):
        efforts = np.array(msg.data, dtype=float)
        if len(efforts) == len(self._names) and np.isfinite(efforts).all():
            self.command = efforts
            self.commands += 1

    def _on_timer(self):
        now = self._node.get_clock().now()
        if self.command is None:
            self._moved_at = now
        step = self.plant.step_time
        while (now - self._moved_at).nanoseconds * 1e-9 >= step:
            self.plant.step(self.command)
            self._moved_at += self._duration(step)
        plant = self.plant
        msg = self._kind(name=self._names, position=plant.q, velocity=plant.qd, effort=plant.tau)
        msg.header.stamp = now.to_msg()
        self._publisher.publish(msg)

    @staticmethod
    def _duration(seconds):
        from rclpy.duration import Duration

        return Duration(seconds=seconds)
