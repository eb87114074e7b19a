"""Friction that follows monitor_node: faulty scales are refused, and others act without a step."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from arm_system import series
from robot_dynamics import Dynamics
from robot_dynamics.control.friction import HELD
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.runtime.friction_input import ScaleReader
from robot_dynamics.robot import find_robot, read_urdf
from ros_system import SteppedClock, wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
NAMES = ROBOT.joint_names
GRAVITY = Dynamics(ROBOT).gravity


def scales(dry=(1.0, 1.0), viscous=(1.0, 1.0), names=NAMES):
    return JointState(name=list(names), position=list(dry), velocity=list(viscous))


FIRST, SECOND = NAMES
WRONG = {
    "no number": (
        scales(dry=(np.nan, 1.0)),
        f"friction_scale: position of joint '{FIRST}' is nan",
    ),
    "a foreign joint": (
        scales(names=(FIRST, "knee")),
        "friction_scale: this robot has no joint 'knee'",
    ),
    "a joint twice": (scales(names=(FIRST, FIRST)), f"friction_scale: joint '{FIRST}'"),
    "a missing joint": (
        scales((1.0,), (1.0,), (FIRST,)),
        f"friction_scale: joint '{SECOND}' is missing",
    ),
    "dry parts only": (
        scales(viscous=()),
        "friction_scale: velocity has 0 entries for 2 names; give one per name",
    ),
    "a scale that no tracker gives": (
        scales(viscous=(1.0, 40.0)),
        f"friction_scale: viscous friction of joint '{SECOND}' is 40 times that of the model, "
        "not 0.3 to 3",
    ),
    "a negative one": (
        scales(dry=(-1.0, 1.0)),
        f"friction_scale: dry friction of joint '{FIRST}' is -1 times that of the model, "
        "not 0.3 to 3",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_faulty_scale_is_refused_in_one_line(what):
    msg, line = WRONG[what]
    with pytest.raises(RobotDynamicsError) as error:
        ScaleReader(NAMES).scale(msg, ["/monitor_node"])
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_scales_come_in_any_order_from_one_publisher():
    reader = ScaleReader(NAMES)
    found = reader.scale(scales((0.5, 0.6), (0.7, 0.8), (SECOND, FIRST)), ["/monitor_node"])
    np.testing.assert_array_equal(found, [[0.6, 0.8], [0.5, 0.7]])
    with pytest.raises(RobotDynamicsError) as error:
        reader.scale(scales(), ["/a", "/b"])
    assert str(error.value) == "friction_scale: /a and /b publish it; stop all but one"


Q = np.array([0.3, 0.4])
STEP = 0.01  # rad, far more than the slip distance
COULOMB, RAMP_S, LEAST = 5.0, 1.0, 0.4  # N m, s
DRIVES = {
    f"friction.{name}.{term}": value
    for name in NAMES
    for term, value in {"coulomb": COULOMB, "memory": 1.0, "slip": 1e-4}.items()
}
FOLLOW = {
    f"friction_scale.{name}": value
    for name, value in {"follow": True, "least": LEAST, "ramp": RAMP_S, "timeout": 2.0}.items()
}
PATIENT = {"mode": "impedance", "state_timeout": 30.0, "reference_timeout": 30.0}
NODES = ("feedforward_node", "controller_node")
APART = ["-r", "reference:=asked", "-r", "reference/unfollowed:=asked/unfollowed"]
SLACK_S = 0.3  # between stamp and cycle on a busy machine; a step would be as a second of the ramp
PERIOD = 0.02  # s, of states


class Arm:
    """A robot that is where its reference is, without a plant: at rest, after steps ahead."""

    def __init__(self, peer):
        self.q, self._clock = Q, SteppedClock(peer, PERIOD)
        self._outputs = [
            peer.node.create_publisher(JointState, topic, 1) for topic in ("joint_states", "asked")
        ]
        self._trajectories = peer.node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        self.efforts = {NODES[0]: peer.listen(JointState, "reference", 1000), NODES[1]: []}
        peer.node.create_subscription(Float64MultiArray, "effort_command", self._on_command, 1000)
        peer.node.create_timer(PERIOD, self._publish)

    def _publish(self):
        self._clock.step()
        msg = JointState(name=list(NAMES), position=self.q.tolist(), velocity=[0.0, 0.0])
        msg.effort, msg.header.stamp = [1.0, 1.0], self._clock.stamp
        for output in self._outputs:
            output.publish(msg)

    def _on_command(self, msg):
        """Keep a command with the time of its arrival."""
        command = JointState(effort=msg.data)
        command.header.stamp = self._clock.stamp
        self.efforts[NODES[1]].append(command)

    def friction(self, name):
        """Effort of a node beyond gravity where the arm is, shape (n,), N m."""
        messages = self.efforts[name]
        return np.array(messages[-1].effort) - GRAVITY(self.q) if messages else np.full(2, np.nan)

    def becomes(self, scale, what):
        for name in NODES:
            expected = HELD * COULOMB * np.array(scale)
            # A reference of JointState has the numbers of the node; gravity is of another kernel
            wait_for(
                lambda name=name, expected=expected: np.allclose(
                    self.friction(name), expected, atol=1e-3 if name == NODES[1] else 1e-6
                ),
                f"{what} in {name}",
            )

    def moves(self):
        """Go ahead by a step, which builds friction up."""
        self.q = self.q + STEP
        point = JointTrajectoryPoint(positions=self.q.tolist(), velocities=[0.0, 0.0])
        point.time_from_start.nanosec = 500_000_000
        wait_for(self._trajectories.get_subscription_count, "feedforward_node")
        self._trajectories.publish(JointTrajectory(joint_names=list(NAMES), points=[point]))


@pytest.mark.thorough
def test_friction_follows_a_tracker_without_a_step_until_the_nodes_are_deactivated(start, peer):
    arm = Arm(peer)
    reports = peer.listen(DiagnosticArray, "/diagnostics", 100)
    common = {"urdf_path": "planar_2r", "rate": 100.0, "use_sim_time": True, **DRIVES, **FOLLOW}
    ahead = start(NODES[0], common)
    control = start(NODES[1], {**common, **PATIENT}, APART)

    def ready(after=(0, 0)):
        ahead.wait_for_log("ready for trajectories", after[0])
        control.wait_for_log("tracking the reference", after[1])

    ready()
    arm.becomes((0.0, 0.0), "an effort without friction")
    arm.moves()
    arm.becomes((1.0, 1.0), "friction of the model")

    scale = peer.publisher(JointState, "friction_scale")
    wait_for(lambda: scale.get_subscription_count() == len(NODES), "both followers")
    begun = {name: len(arm.efforts[name]) for name in NODES}
    scale.publish(scales((0.6, 0.8)))
    arm.becomes((0.6, 0.8), "friction of the message")
    scale.publish(scales((0.3, 1.5)))
    arm.becomes((LEAST, 1.5), "friction at its bound")
    for name in NODES:
        t, tau = series(arm.efforts[name][begun[name] :], "effort")
        fastest = HELD * COULOMB * 0.7 / RAMP_S
        assert (np.abs(np.diff(tau, axis=0)).max(axis=1) < fastest * (np.diff(t) + SLACK_S)).all()

    for msg, line in WRONG.values():
        scale.publish(msg)
        for node in (ahead, control):
            node.wait_for_log(line)
    second = peer.publisher(JointState, "friction_scale")
    line = "friction_scale: /peer and /peer publish it; stop all but one"
    for node in (ahead, control):
        wait_for(
            lambda node=node: scale.publish(scales((LEAST, 1.5))) or line in node.log,
            "the discovery of a second publisher",
        )
    peer.node.destroy_publisher(scale)
    peer.node.destroy_publisher(second)

    def stale(name):
        found = [s.message for msg in reports[-9:] for s in msg.status if s.name == name]
        return any("friction keeps the last scale" in text for text in found)

    for name in NODES:
        wait_for(lambda name=name: stale(name), f"a stale report of {name}")
    arm.becomes((LEAST, 1.5), "the last scale of a silent tracker")

    heard = peer.listen(JointState, "friction_scale")
    tracker = {
        "urdf_path": "planar_2r",
        "use_sim_time": True,
        "track_friction": True,
        "filter_cutoff": 1.0,
        **DRIVES,
    }
    monitor = start("monitor_node", tracker)
    wait_for(lambda: heard, "a scale of monitor_node")
    assert tuple(heard[-1].name) == NAMES
    arm.becomes((1.0, 1.0), "the scale of monitor_node")
    monitor.end()
    wait_for(lambda: not peer.node.count_publishers("friction_scale"), "its end")

    scale = peer.publisher(JointState, "friction_scale")
    everyone = len(NODES) + 1  # the peer listens too
    wait_for(lambda: scale.get_subscription_count() == everyone, "both followers again")
    scale.publish(scales((0.6, 0.8)))
    arm.becomes((0.6, 0.8), "friction of the message again")
    logged = len(ahead.log), len(control.log)
    for name in NODES:
        for label in ("deactivate", "activate"):
            request = ChangeState.Request()
            request.transition.label = label
            assert peer.call(ChangeState, f"{name}/change_state", request).success
    ready(logged)
    arm.moves()
    arm.becomes((1.0, 1.0), "friction of the model after the activation")
    scale.publish(scales((0.6, 0.8)))
    arm.becomes((0.6, 0.8), "another scale")
    for name in NODES:
        assert peer.set_parameter(name, "friction_scale.follow", False).successful
    arm.becomes((1.0, 1.0), "friction of the model")
