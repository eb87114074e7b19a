"""A client of FollowJointTrajectory like MoveIt, and an arm that echoes the reference."""

import time
from types import SimpleNamespace

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.messages import duration_msg, nanoseconds
from robot_dynamics.robot import find_robot
from ros_system import PATIENCE, wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
DYNAMICS = Dynamics(ROBOT)
NAMES = list(ROBOT.joint_names)
START = np.array([0.3, 0.4])
NODE = "feedforward_node"
ACTION = f"/{NODE}/follow_joint_trajectory"

EXACT = 1e-9  # doubles survive messages; torques below 100 N m


PERIOD = 0.01  # s, of the arm's states
BEHIND = 4
"""Periods by which a reference may be older than the clock before the clock waits for it."""
QUIET = 50
"""Periods after which a node that publishes no reference is waited for no longer: half a second."""


class EchoingArm:
    """An arm at `reference` plus `error`, or where it is `led`; mute while not `talking`.

    Its clock waits for the node, whose time it is: on a busy machine neither finds the other late.

    Args:
        peer: Node that publishes.
        prefix: Namespace of the topics, with a slash at its end.
        clock: SteppedClock of a node with use_sim_time.
    """

    def __init__(self, peer, prefix="", clock=None):
        self.error, self.talking, self.led = np.zeros(2), True, None
        self.references = peer.listen(JointState, f"{prefix}reference")
        self._states = peer.node.create_publisher(JointState, f"{prefix}joint_states", 1)
        self.clock, self._count, self._waited = clock, 0, QUIET
        peer.node.create_timer(PERIOD, self._publish)

    def _publish(self):
        if self.clock is not None:
            if not self._keeps_up():
                return
            self.clock.step()
        q, qd = START, np.zeros(2)
        if self.references:
            q, qd = self.references[-1].position, self.references[-1].velocity
        if self.led is not None:
            q, qd = self.led, np.zeros(2)
        if self.talking:
            self._states.publish(
                JointState(name=NAMES, position=list(q + self.error), velocity=list(qd))
            )

    def _keeps_up(self):
        """Return whether the node publishes at the pace of the clock, or not at all for long."""
        count = len(self.references)
        self._waited = 0 if count > self._count else self._waited + 1
        self._count = count
        if self._waited >= QUIET:
            return True
        last = 1e-9 * nanoseconds(self.references[-1].header.stamp)
        return self.clock.seconds - last < (BEHIND - 0.5) * PERIOD

    def at(self):
        """Return its desired positions, shape (n,), rad."""
        wait_for(lambda: self.references, "a reference")
        return np.array(self.references[-1].position)

    def rests(self):
        """Wait until the reference is at rest; return it."""
        wait_for(lambda: not np.any(self.references[-1].velocity), "rest")
        return self.references[-1]


class Client:
    """Sends goals and waits for their results."""

    def __init__(self, peer, action, name):
        from rclpy.action import ActionClient

        self._client, self._peer = ActionClient(peer.node, action, name), peer
        self._action = action
        wait_for(lambda: self._client.wait_for_server(0.1), f"the action {name}")

    def goal(self, *points, names=NAMES, **tolerances):
        """A goal of (time, positions); tolerances as (joint, position) or numbers."""
        from control_msgs.msg import JointTolerance

        goal = self._action.Goal()
        goal.trajectory.joint_names = list(names)
        for moment, q in points:
            goal.trajectory.points.append(
                JointTrajectoryPoint(
                    positions=[float(x) for x in q],
                    velocities=[0.0] * len(q),
                    time_from_start=duration_msg(moment),
                )
            )
        for kind in ("path", "goal"):
            for joint, tolerance in tolerances.get(kind, ()):
                one = JointTolerance(name=joint, position=tolerance)
                getattr(goal, f"{kind}_tolerance").append(one)
        goal.goal_time_tolerance = duration_msg(tolerances.get("time", 0.0))
        return goal

    def ends(self, goal_now):
        """Send a goal, again while the controller cannot follow; return status and result.

        A machine that leaves a controller no processor for a second makes it stop.
        """
        end = time.monotonic() + PATIENCE
        while True:
            sent = self.send(goal_now())
            status, result = sent.end() if sent.accepted else (None, None)
            tried = result is None or result.error_string.startswith("controller_node: ")
            if not tried or time.monotonic() > end:
                return status, result
            time.sleep(0.1)

    def send(self, goal):
        """Send a goal; whether it was accepted, feedback so far, and how to wait and cancel."""
        feedback = []
        # In the thread that takes answers, or rclpy may take this one before it knows the question
        answer = self._peer.done_by_executor(
            lambda: self._client.send_goal_async(goal, lambda msg: feedback.append(msg.feedback))
        )
        wait_for(answer.done, "an answer to the goal")
        handle = answer.result()
        asked = self._peer.done_by_executor
        coming = asked(handle.get_result_async) if handle.accepted else None

        def end():
            wait_for(coming.done, "the result of the goal")
            return coming.result().status, coming.result().result

        def cancel():
            cancelled = asked(handle.cancel_goal_async)
            wait_for(cancelled.done, "an answer to the cancelling")
            return len(cancelled.result().goals_canceling) == 1

        return SimpleNamespace(
            accepted=handle.accepted,
            feedback=feedback,
            end=end,
            cancel=cancel,
            ended=lambda: coming.done(),  # noqa: PLW0108  # a rejected goal has none
        )


MOVEIT_STEP = 0.1
"""Time at which MoveIt resamples what it has timed, s."""


def moveit_goal(state, way, duration=2.0):
    """A goal as MoveIt sends it: everything at every step, from here; no stamp, no tolerances."""
    from control_msgs.action import FollowJointTrajectory

    goal = FollowJointTrajectory.Goal()
    goal.trajectory.header.frame_id = "world"
    goal.trajectory.joint_names = list(state.name)
    begin = np.array(state.position)
    for t in np.arange(0.0, duration + MOVEIT_STEP / 2.0, MOVEIT_STEP):
        s = t / duration
        share = 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
        rate = (30.0 * s**2 - 60.0 * s**3 + 30.0 * s**4) / duration
        slope = (60.0 * s - 180.0 * s**2 + 120.0 * s**3) / duration**2
        goal.trajectory.points.append(
            JointTrajectoryPoint(
                positions=(begin + share * way).tolist(),
                velocities=(rate * way).tolist(),
                accelerations=(slope * way).tolist(),
                time_from_start=duration_msg(t),
            )
        )
    return goal


def largest_jump(references):
    """Return the largest difference of positions from the integral of velocities, rad.

    The trapezoidal rule leaves dt^3/12 of the jerk: at 0.02 s and 300 rad/s^3, 2e-4 rad.
    """
    t = np.array([nanoseconds(msg.header.stamp) * 1e-9 for msg in references])
    q = np.array([msg.position for msg in references])
    qd = np.array([msg.velocity for msg in references])
    near = np.diff(t) < 0.02
    steps = np.diff(q, axis=0) - (qd[1:] + qd[:-1]) / 2.0 * np.diff(t)[:, None]
    return np.abs(steps[near]).max()


JUMP = 2e-3  # rad: ten times the above; errors on purpose are 0.05 rad and more
