"""Limits of the controller: one process, fed with states and references over DDS."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import effort_limits
from robot_dynamics.control.stability import stability_limit
from robot_dynamics.foundation.numbers import short_number
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory.motions import middle_pose
from ros_system import SteppedClock, wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
DYNAMICS = Dynamics(ROBOT)
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, 0.4])
NODE = "controller_node"
VELOCITY = 0.5  # rad/s, of joint_1
LED = np.array([0.4, 1.5])  # rad/s: at which the arm is led from one pose to another
ACCELERATION = 4.0  # rad/s^2, of the arm
NEAR = 2e-3  # rad: where an arm that is led stops

# Same kernels, same numbers, torques below 100 N m: round-off
EXACT = 1e-9


PERIOD = 0.01  # s, of states and references


class Arm:
    """Joint states and references that the test sets, and the commands that answer them."""

    def __init__(self, peer, node):
        self.q, self.qd = Q, np.zeros(2)
        self.q_d, self.qd_d, self.tau = Q, np.zeros(2), DYNAMICS.gravity(Q)
        self.node, self._peer, self._clock = node, peer, SteppedClock(peer, PERIOD)
        self.stamps, self.seen = [], True
        self.commands, self.arrivals = [], []
        self.goal, self.speed = None, 0.0  # to which the reference moves, rad/s
        self.push = np.zeros(2)  # velocities that the arm reaches, rad/s
        self.place = None  # to which it is led
        self._states = peer.node.create_publisher(JointState, "joint_states", 1)
        self._reference = peer.node.create_publisher(JointState, "reference", 1)
        peer.node.create_timer(PERIOD, self._publish)
        peer.node.create_subscription(Float64MultiArray, "effort_command", self._on_command, 1000)

    def _publish(self):
        self._clock.step()
        stamp = self._clock.stamp
        self.stamps.append(stamp)
        if self.place is not None:
            left = self.place - self.q
            near = np.abs(left) < NEAR
            self.q = np.where(near, self.place, self.q)
            speed = np.minimum(LED, np.sqrt(2 * ACCELERATION * np.abs(left)))
            self.push = np.where(near, 0.0, np.sign(left) * speed)
        before, most = self.qd, ACCELERATION * PERIOD
        self.qd = before + np.clip(self.push - before, -most, most)
        self.q = self.q + PERIOD * (before + self.qd) / 2
        if self.goal is not None:
            step = np.clip(self.goal - self.q_d, -PERIOD * self.speed, PERIOD * self.speed)
            self.q_d, self.qd_d = self.q_d + step, step / PERIOD
        for publisher, q, qd, tau in (
            (self._states, self.q, self.qd, np.zeros(2)),
            (self._reference, self.q_d, self.qd_d, self.tau),
        ):
            if publisher is self._states and not self.seen:
                continue
            msg = JointState(name=NAMES, position=q.tolist(), velocity=qd.tolist())
            msg.effort = tau.tolist()
            msg.header.stamp = stamp
            publisher.publish(msg)

    def _on_command(self, msg):
        self.arrivals.append(self._clock.seconds)
        self.commands.append(msg)

    def becomes(self, expected, what):
        """Wait until the command is what is expected."""
        wait_for(
            lambda: (
                self.commands and np.abs(np.array(self.commands[-1].data) - expected).max() < EXACT
            ),
            what,
        )

    def goes_to(self, q):
        """Lead the arm to a pose, as fast as its joints may move."""
        self.place = q
        wait_for(lambda: np.array_equal(self.q, q) and not self.qd.any(), f"the arm at {q}")
        self.place = None

    def moves(self, p):
        """Move a little, as joints with closed brakes do not, and come to rest at Q."""
        self.q = Q + 1e-3
        self.becomes(DYNAMICS.gravity(Q) - 1e-3 * p, "the effort of PD")
        self.q = Q
        self.becomes(DYNAMICS.gravity(Q), "rest")

    def use(self, **values):
        """Set parameters, __ for a dot."""
        values = {name.replace("__", "."): value for name, value in values.items()}
        result = self._peer.set_parameters(NODE, values)
        assert result.successful, result.reason


@pytest.fixture(scope="module")
def running(start_for_module, peer):
    parameters = {
        "urdf_path": "planar_2r",
        "rate": 200.0,
        "use_sim_time": True,
        # What states bear that come at 100 Hz and late, on a busy machine
        "gains.joint_1.p": 60.0,
        "gains.joint_1.d": 40.0,
        "gains.joint_2.p": 6.0,
        "gains.joint_2.d": 4.0,
        "fade": 0.05,
        "limits.joint_1.velocity": VELOCITY,
        "state_timeout": 10.0,  # a busy machine may let this process wait
        "reference_timeout": 10.0,
    }
    node = start_for_module(NODE, parameters)
    arm = Arm(peer, node)
    node.wait_for_log("tracking the reference")
    arm.default_rates = [peer.get_parameter(NODE, f"limits.{n}.effort_rate") for n in NAMES]
    return arm


@pytest.fixture
def arm(running, peer):
    """The arm at rest on its reference, without limits."""
    running.goal = None
    running.q_d, running.qd_d, running.tau = Q, np.zeros(2), DYNAMICS.gravity(Q)
    running.goes_to(Q)
    off = {
        f"limits.{name}.{limit}": 0.0
        for name in NAMES
        for limit in ("effort_rate", "soft_margin", "tracking_error")
    }
    assert peer.set_parameters(NODE, {**off, "mode": "feedforward"}).successful
    running.becomes(DYNAMICS.gravity(Q), "rest")
    log = running.node.log
    if log.rfind("stopped: ") > log.rfind("tracking the reference"):  # where it was led from
        peer.resume(NODE)
        running.node.wait_for_log("tracking the reference", len(log))
    return running


def gains(peer, term):
    return np.array([peer.get_parameter(NODE, f"gains.{name}.{term}") for name in NAMES])


def test_commands_end_with_one_line_when_states_have_not_come_for_long_and_begin_again(arm):
    before = len(arm.node.log)
    arm.use(state_timeout=0.1, open_loop_timeout=0.2)
    arm.seen = False
    arm.node.wait_for_log("commanding nothing: no valid joint states come", before)
    sent = len(arm.stamps)
    wait_for(lambda: len(arm.stamps) > sent + 50, "what was on its way")
    received = len(arm.commands)
    wait_for(lambda: len(arm.stamps) > sent + 100, "half a second of references")
    assert len(arm.commands) == received
    arm.use(state_timeout=10.0, open_loop_timeout=1.0)
    arm.seen = True
    arm.becomes(DYNAMICS.gravity(Q), "rest")
    wait_for(lambda: "tracking" in arm.node.log[before:], "tracking")
    assert arm.node.log[before:].count("commanding nothing") == 1
    assert "waiting for" not in arm.node.log[before:]  # all joints have been named


def test_the_joint_whose_states_are_not_numbers_is_named_when_the_arm_comes_to_rest(arm):
    before = len(arm.node.log)
    arm.use(state_timeout=0.1, open_loop_timeout=20.0)
    arm.q = np.array([Q[0], np.nan])
    open_loop = "coming to rest open-loop: no valid joint states come"
    arm.node.wait_for_log(f"{open_loop}: joint_states: position of joint 'joint_2' is nan", before)
    arm.q = Q
    arm.node.wait_for_log("tracking", before)
    arm.use(state_timeout=10.0, open_loop_timeout=1.0)
    arm.becomes(DYNAMICS.gravity(Q), "rest")


@pytest.mark.parametrize("topic", ["joint_states", "reference"])
def test_a_second_publisher_of_what_the_arm_follows_is_named(arm, peer, topic):
    import rclpy

    before = len(arm.node.log)
    other = rclpy.create_node("left_over", context=peer.context)
    try:
        publisher = other.create_publisher(JointState, topic, 1)
        msg = JointState(name=NAMES, position=Q.tolist(), velocity=[0.0, 0.0])

        def named():
            msg.header.stamp = arm.stamps[-1]
            publisher.publish(msg)
            return any(
                "/left_over" in line and f"publish {topic}" in line.replace("/joint_", "joint_")
                for line in arm.node.log[before:].splitlines()
            )

        wait_for(named, "the name of the other publisher")
    finally:
        other.destroy_node()


def test_the_effort_rate_is_limited_by_default(arm):
    np.testing.assert_allclose(arm.default_rates, 2.0 * 20.0 * effort_limits(ROBOT), rtol=EXACT)


def test_efforts_change_no_faster_than_their_limit(arm, peer):
    rate = 1.5
    arm.use(limits__joint_1__effort_rate=rate, limits__joint_2__effort_rate=rate)
    arm.node.wait_for_log(
        "limits.joint_1.effort_rate of 1.5 is reached by the feedback of an error"
    )
    arm.node.wait_for_log(
        "limits.joint_2: effort_rate 1.5, soft_margin 0, tracking_error 0, external_effort 20"
    )
    arm.moves(gains(peer, "p"))
    since = len(arm.commands)
    arm.q_d = Q + 0.05
    error = 0.05 * gains(peer, "p")
    arm.becomes(DYNAMICS.gravity(Q) + error, "the effort of PD")
    tau = np.array([msg.data for msg in arm.commands[since:]])
    t = np.array(arm.arrivals[since : since + len(tau)])
    change = tau - DYNAMICS.gravity(Q)  # the first command may belong to the change
    begin = t[np.argmax(change[:, 0] > 0.001 * error[0])]
    end = t[np.argmax(change[:, 0] > 0.999 * error[0])]
    # Without the limit it takes the 0.05 s of the fade; the rest is for a machine that is busy
    # between the time of the law and the arrival of its command
    assert error[0] / rate > 1.0
    assert end - begin > 0.8 * error[0] / rate
    # On a busy machine a state is late now and then, and feedback fades meanwhile
    assert (np.diff(tau, axis=0) >= -0.1 * error).all()


def test_a_joint_in_its_soft_margin_is_pushed_back(arm):
    lower = ROBOT.limits.lower[1]
    assert np.isfinite(lower)
    margin, inside = 0.1, 0.04  # rad: of the margin, and how far into it
    arm.use(limits__joint_2__soft_margin=margin, mode="gravity_compensation")
    arm.goes_to(np.array([0.3, lower + margin - inside]))
    # The spring reaches the effort limit at the stop
    push = effort_limits(ROBOT)[1] * inside / margin
    expected = DYNAMICS.gravity(arm.q) + np.array([0.0, push])
    arm.becomes(np.clip(expected, -effort_limits(ROBOT), effort_limits(ROBOT)), "the push")


def test_a_joint_above_its_velocity_limit_is_braked(arm, peer):
    arm.use(mode="gravity_compensation")
    arm.node.wait_for_log("mode 'gravity_compensation', before 'feedforward'")
    arm.becomes(DYNAMICS.gravity(Q), "gravity at rest")
    speed = 1.16 * VELOCITY  # beyond 1.2 times its limit it is stopped
    arm.push = np.array([-speed, 0.0])
    brake = gains(peer, "d")[0] * (speed - VELOCITY)  # N m
    # Gravity of the pose of an earlier state, which is up to three states old
    wait_for(
        lambda: abs(arm.commands[-1].data[0] - DYNAMICS.gravity(arm.q)[0] - brake) < 0.4 * brake,
        "the brake",
    )
    arm.push = np.zeros(2)


def test_a_joint_far_above_its_velocity_limit_is_stopped(arm, peer):
    begin = len(arm.node.log)
    arm.use(mode="gravity_compensation")
    arm.push = np.array([-1.6 * VELOCITY, 0.0])
    arm.node.wait_for_log("stopped: joint 'joint_1' moves at 0.", begin)
    arm.goes_to(Q)
    arm.use(mode="feedforward")
    peer.resume(NODE)
    wait_for(lambda: "tracking the reference" in arm.node.log[begin:], "tracking")


def test_a_reference_faster_than_a_joint_may_move_is_not_followed(arm, peer):
    begin, arm.qd_d = len(arm.node.log), np.array([0.8, 0.0])
    line = (
        "stopped: the reference of joint 'joint_1' moves at 0.8 rad/s, beyond its limit of 0.5 "
        "rad/s; slow the motion down, and give all nodes the same limits; call "
        "controller_node/resume to go on"
    )
    arm.node.wait_for_log(line, begin)
    arm.becomes(DYNAMICS.gravity(Q), "gravity where it stands")
    arm.qd_d = np.zeros(2)
    peer.resume(NODE)
    wait_for(lambda: "tracking the reference" in arm.node.log[begin:], "tracking")


def test_an_arm_that_does_not_respond_is_reported_and_pushed_with_little(arm, peer):
    arm.use(limits__joint_1__tracking_error=0.01)
    arm.goal, arm.speed = Q + [0.02, 0.0], 0.05
    arm.node.wait_for_log("stopped: joint 'joint_1' is 0.01")
    arm.goal, arm.q_d, arm.qd_d = None, arm.q, np.zeros(2)
    arm.use(limits__joint_1__tracking_error=0.0)
    received, count = len(arm.node.log), len(arm.commands)
    peer.resume(NODE)
    wait_for(lambda: "tracking the reference" in arm.node.log[received:], "tracking")
    arm.goal, arm.speed = Q + [0.9, 0.0], 0.45  # 54 N m of 500
    line = "no joint moves although joint 'joint_1' is pushed with "
    rest = "is what receives the commands active? The controller keeps trying"
    arm.node.wait_for_log(line, received)
    assert rest in arm.node.log[received:]
    wait_for(lambda: len(arm.commands) > count + 400, "another push")
    pushes = [msg.data[0] - DYNAMICS.gravity(Q)[0] for msg in arm.commands[count:]]
    # A busy machine may be late to see that 0.2 s are over, while the push grows
    assert 0.1 < max(pushes) / effort_limits(ROBOT)[0] < 1.0
    assert arm.node.log[received:].count(line) == 1

    arm.goal, arm.q_d, arm.qd_d = None, arm.q, np.zeros(2)

    def moves():
        arm.q = arm.q_d = arm.q + [5e-4, 0.0]
        return "the joints move" in arm.node.log[received:]

    wait_for(moves, "the report that the joints move")


def test_a_lost_reference_stops_the_arm_until_it_is_resumed(arm, peer):
    arm.use(limits__joint_2__tracking_error=0.1)
    arm.goal, arm.speed = Q + np.array([0.0, 0.2]), 0.3
    # On a busy machine the states come late, and the line gives their times in place of a question
    line = " rad from its reference, beyond its limit of 0.1 rad; "
    arm.node.wait_for_log(line)
    reason = arm.node.log.split(line)[-1].splitlines()[0]
    question = (
        "is the joint blocked, the model wrong, or does its drive hold a position of its own?"
    )
    assert reason.startswith((question, "states come every "))
    assert reason.endswith("; call controller_node/resume to go on")
    arm.becomes(DYNAMICS.gravity(Q), "gravity where it stands")
    arm.goal, arm.qd_d = None, np.zeros(2)
    before = len(arm.node.log)
    peer.resume(NODE)
    arm.node.wait_for_log("holding still until the reference comes to the arm", before)
    count = len(arm.commands)
    wait_for(lambda: len(arm.commands) > count + 20, "commands")
    assert "tracking the reference" not in arm.node.log.split(line)[-1]  # not by itself
    arm.q_d = Q
    wait_for(lambda: "tracking the reference" in arm.node.log.split(line)[-1], "tracking")
    assert not peer.call(Trigger, f"/{NODE}/resume", Trigger.Request()).success


def test_gains_that_would_make_a_joint_unstable_are_refused_with_the_whole_set(arm, peer):
    p, d = gains(peer, "p"), gains(peer, "d")
    new = {"gains.joint_1.p": 1.1 * p[0], "gains.joint_2.i": 1e6}
    refused = peer.set_parameters(NODE, new)
    assert not refused.successful
    assert "gains.joint_2: i of 1e+06 makes the joint unstable; keep it below p d / inertia" in (
        refused.reason
    )
    np.testing.assert_array_equal(gains(peer, "p"), p)
    np.testing.assert_array_equal(gains(peer, "d"), d)


@pytest.mark.parametrize("d", [1e9, 2e4])
def test_a_velocity_gain_beyond_the_stability_limit_is_refused_with_the_limit(arm, peer, d):
    p = gains(peer, "p")[0]
    refused = peer.set_parameters(NODE, {"gains.joint_1.d": d})
    inertia = DYNAMICS.mass_matrix(middle_pose(ROBOT))[0, 0]
    most = inertia * stability_limit(p / d, 1e-3, 2e-3)  # states of 1 kHz, and 1 ms on the way
    assert refused.reason == (
        f"gains.joint_1: d of {short_number(d)} makes the joint unstable at this update rate; "
        f"keep it below {short_number(most, 4)}; states come every 1 ms, 2 ms late"
    )
    unstable = peer.set_parameters(NODE, {"gains.joint_1.p": 1e9}).reason
    assert unstable.startswith("gains.joint_1: p of 1e+09 makes the joint unstable at this ")


def test_modes_that_use_the_model_carry_the_payload(arm, peer):
    arm.use(mode="pd_gravity", payload__mass=1.2, payload__frame="endpoint")
    loaded = ROBOT.with_payload("endpoint", 1.2)
    arm.becomes(Dynamics(loaded, cache=False).gravity(Q), "gravity with payload")
    arm.use(payload__mass=0.0)


def test_a_payload_that_the_arm_cannot_hold_is_refused_with_numbers(arm, peer):
    heavy = {"payload.mass": 60.0, "payload.com": [0.0, 0.0, 0.3], "payload.frame": "endpoint"}
    refused = peer.set_parameters(NODE, heavy)
    loaded = Dynamics(ROBOT.with_payload("endpoint", 60.0, (0.0, 0.0, 0.3)), cache=False)
    i = int(np.argmax(np.abs(loaded.gravity(Q)) / effort_limits(ROBOT)))
    assert refused.reason == (
        f"payload of 60 kg: joint '{NAMES[i]}' would need {loaded.gravity(Q)[i]:.4g} N m here, "
        f"beyond its limit of {effort_limits(ROBOT)[i]:.4g} N m; give a lighter load, or move to "
        "another pose first"
    )
    arm.becomes(DYNAMICS.gravity(Q), "gravity without payload")


def test_another_node_that_commands_the_same_joints_is_named_once(arm, peer):
    publisher = peer.node.create_publisher(Float64MultiArray, "effort_command", 1)
    line = "/peer publishes /effort_command too; stop one of us"
    arm.node.wait_for_log(line)
    count = len(arm.commands)
    wait_for(lambda: len(arm.commands) > count + 150, "commands")  # more than one look
    assert arm.node.log.count(line) == 1
    peer.node.destroy_publisher(publisher)
