"""The end effector under controller_node and simulator_node: targets and refused ones."""

import math
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arm_system import start_in_step
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control.task_settings import EndEffectorMobility
from robot_dynamics.nodes.ros.task_space_messages import pose_from_msg, pose_msg, twist_msg
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Pose
from ros_system import wait_for

ROBOT = read_urdf(find_robot("ur5"))
DYNAMICS = Dynamics(ROBOT)
START = [0.0, -1.2, 1.6, -1.9, -1.57, 0.0]
NODE, ROOT, END_EFFECTOR, RATE = "controller_node", ROBOT.links[0].name, "tool0", 250.0
COMMON = {"urdf_path": "ur5", "rate": RATE}
CONTROL = {
    "mode": "cartesian_impedance",
    "settling_time": 0.05,
    "state_timeout": 5.0,
}
PLANT = {
    "initial_positions": START,
    "command_timeout": 3600.0,  # it keeps the last command
}

STILL = 1e-3  # m and rad: an arm at rest under friction, far below every motion asked for


class Arm:
    """A simulated UR5 under a controller, in one process, and the targets of its end effector."""

    def __init__(self, start, peer):
        self._start, self.peer = start, peer
        self.node, self.targets = None, {}
        self.poses = peer.listen(PoseStamped, "cartesian_pose")
        self.errors = peer.listen(TwistStamped, "cartesian_error")
        self.commands = peer.listen(Float64MultiArray, "effort_command", 1000)
        self.states = peer.listen(JointState, "joint_states")
        self.restore()
        self.targets = {
            topic: peer.publisher(kind, topic)
            for kind, topic in (
                (PoseStamped, "target_pose"),
                (TwistStamped, "target_twist"),
                (WrenchStamped, "target_wrench"),
                (JointState, "target_posture"),
                (WrenchStamped, "force_torque"),
            )
        }

    def restore(self):
        """Start everything anew, and wait until the end effector is held.

        A failed test may leave the arm stopped, and anywhere.
        """
        assert self.node is None or self.node.stop() is not None
        self.node = start_in_step(self._start, COMMON, {"simulator_node": PLANT, NODE: CONTROL})
        self.node.wait_for_log("holding the end effector: no target asks for motion")
        for topic, target in self.targets.items():
            wait_for(target.get_subscription_count, f"a subscriber of {topic}")

    @property
    def pose(self):
        """The next pose of the end effector."""
        count = len(self.poses)
        wait_for(lambda: len(self.poses) > count, "a pose of the end effector")
        return pose_from_msg(self.poses[-1])

    @property
    def mark(self):
        return len(self.node.log)

    def aim(self, pose, frame=""):
        self.targets["target_pose"].publish(pose_msg(frame, self.now, pose))

    @property
    def now(self):
        return self.peer.node.get_clock().now().to_msg()

    def drive(self, twist, seconds, frame="", period=0.02):
        """Send a stream of twists."""
        for _ in range(round(seconds / period)):
            self.targets["target_twist"].publish(twist_msg(frame, self.now, np.array(twist)))
            time.sleep(period)

    def exert(self, force, frame="", topic="target_wrench"):
        msg = WrenchStamped()
        msg.header.frame_id = frame
        msg.wrench.force.x, msg.wrench.force.y, msg.wrench.force.z = force
        self.targets[topic].publish(msg)

    def reaches(self, pose, frame="", goal=None, within=0.005):
        """Move the end effector to a pose, by default in the root link, and wait for it."""
        fixed, goal, sent = goal is None, goal or pose, 0
        self.aim(pose, frame)

        def there():
            nonlocal sent
            found, sent = self.pose, sent + 1
            if fixed and sent % 100 == 0:  # lost, as a new controller is introduced late
                self.aim(pose, frame)
            gap = np.abs(found.translation - goal.translation).max()
            return max(gap, np.abs(found.rotation - goal.rotation).max()) < within

        wait_for(there, f"the pose {goal}")

    def rests(self):
        """Wait until the end effector rests; where."""
        last = [self.pose]

        def still():
            last.append(self.pose)
            recent = last[-10:]
            spread = np.ptp([pose.translation for pose in recent], axis=0).max()
            return len(recent) == 10 and spread < STILL / 10.0

        wait_for(still, "the end effector at rest")
        return last[-1]

    def use(self, **values):
        values = {name.replace("__", "."): value for name, value in values.items()}
        result = self.peer.set_parameters(NODE, values)
        assert result.successful, result.reason


@pytest.fixture(scope="module")
def arm(start_for_module, peer):
    return Arm(start_for_module, peer)


def test_the_end_effector_is_held_where_it_was(arm):
    expected = DYNAMICS.pose(np.array(START), END_EFFECTOR)
    found = arm.rests()
    assert np.abs(found.translation - expected.position).max() < 5.0 * STILL
    assert arm.poses[-1].header.frame_id == ROOT
    wait_for(lambda: arm.errors, "an error of the end effector")


def test_its_default_stiffness_is_that_of_the_bandwidth(arm):
    found = arm.peer.listen(DiagnosticArray, "/diagnostics")

    def stiffness():
        for status in (status for msg in found for status in msg.status if status.name == NODE):
            for entry in status.values:
                if entry.key == "stiffness (N/m and N m/rad)":
                    return [float(x) for x in entry.value.split(", ")]
        return None

    wait_for(stiffness, "diagnostics")
    expected = EndEffectorMobility(DYNAMICS, END_EFFECTOR).defaults(20.0).stiffness.diagonal()
    assert stiffness() == pytest.approx(expected, rel=1e-3)  # diagnostics have 6 digits


def test_a_pose_is_reached_in_the_frame_that_names_it(arm):
    begin, start = arm.mark, arm.rests()
    goal = Pose(start.rotation, start.translation + [0.0, 0.05, 0.05])
    arm.reaches(goal, ROOT)
    arm.node.wait_for_log("moving the end effector to its target", begin)
    arm.node.wait_for_log("holding the end effector: no target asks for motion", begin)
    back = Pose(np.eye(3), np.array([0.0, 0.0, -0.05]))
    arm.reaches(back, END_EFFECTOR, arm.rests() @ back, within=0.01)


def test_twists_move_the_end_effector_until_they_end(arm):
    arm.use(task__twist_timeout=0.5)  # a busy machine may let this process wait
    begin, start = arm.mark, arm.rests()
    arm.drive([0.0, -0.1, 0.0, 0.0, 0.0, 0.0], 0.6)
    arm.node.wait_for_log("target_twist has ended: the end effector comes to rest", begin)
    moved = arm.rests().translation - start.translation
    # A speed of 0.1 m/s for 0.6 s and the timeout, late by what a busy machine takes
    assert -0.3 < moved[1] < -0.03
    assert np.abs(moved[[0, 2]]).max() < 0.01
    assert arm.node.log[begin:].count("target_twist has ended") == 1
    arm.node.wait_for_log("holding the end effector: no target asks for motion", begin)


def test_a_posture_moves_the_joints_that_the_task_leaves_free(arm):
    begin, start = arm.mark, arm.rests()
    # The last joint turns the end effector about itself
    arm.use(task__controlled=[*["motion"] * 3, *["free"] * 3], task__posture_frequency=10.0)
    state = arm.states[-1]
    before = dict(zip(state.name, state.position, strict=True))
    goal = before | {"wrist_3_joint": before["wrist_3_joint"] + 0.5}

    def turned():
        arm.targets["target_posture"].publish(
            JointState(name=list(goal), position=list(goal.values()))
        )
        now = dict(zip(arm.states[-1].name, arm.states[-1].position, strict=True))
        return abs(now["wrist_3_joint"] - goal["wrist_3_joint"]) < 0.02

    wait_for(turned, "the posture")
    assert np.abs(arm.rests().translation - start.translation).max() < 5.0 * STILL
    arm.targets["target_posture"].publish(JointState(name=["wrist_3_joint"], position=[0.0]))
    missing = ", ".join(ROBOT.joint_names[:-1])
    arm.node.wait_for_log(f"target_posture is ignored: it does not name {missing}", begin)
    arm.use(task__controlled=["motion"] * 6, task__posture_frequency=2.0)


@pytest.mark.thorough
def test_a_wrench_pushes_a_free_direction_and_ends(arm):
    start = arm.rests()
    farthest = 0.0

    def pushed():  # 10 N at the default stiffness of 2.6 kN/m, or at a lower one of late states
        nonlocal farthest
        arm.exert([10.0, 0.0, 0.0])
        farthest = max(farthest, (arm.pose.translation - start.translation)[0])
        return farthest > 3.0 * STILL

    wait_for(pushed, "a push")
    assert farthest < 0.2
    wait_for(
        lambda: np.abs(arm.pose.translation - start.translation).max() < 2.0 * STILL,
        "the end of the push",
    )


def test_a_wrench_that_the_joints_cannot_exert_is_refused_with_the_share_that_they_can(arm):
    begin, start = arm.mark, arm.rests()
    for _ in range(3):
        arm.exert([0.0, 0.0, -1000.0])
    arm.node.wait_for_log("target_wrench is ignored: with gravity it takes ", begin)
    line = next(line for line in arm.node.log[begin:].splitlines() if "with gravity" in line)
    J, g = DYNAMICS.jacobian(np.array(START), END_EFFECTOR), DYNAMICS.gravity(np.array(START))
    tau = -1000.0 * J[2]
    limit = ROBOT.limits.effort
    shares = (limit - np.sign(tau) * g) / np.maximum(np.abs(tau), 1e-3)
    i = int(np.argmin(shares))
    most = 100.0 * shares[i]
    assert f"N m of joint '{ROBOT.joint_names[i]}'; " in line
    share = float(line.split("'; ")[1].split(" %")[0])
    assert share == pytest.approx(most, rel=0.1)  # the pose is near that of the start
    assert np.abs(arm.rests().translation - start.translation).max() < 5.0 * STILL
    assert arm.node.log[begin:].count("is ignored") == 1


def test_a_measured_wrench_gives_way_in_directions_of_force_and_its_end_is_reported(arm):
    begin, start = arm.mark, arm.rests()
    arm.use(task__controlled=["force", *["motion"] * 5], task__force_feedback=True)
    arm.node.wait_for_log(
        "no force_torque for 0.1 s: the end effector presses without feedback", begin
    )
    arm.exert([5.0, 0.0, 0.0], "upper_arm_link", "force_torque")
    arm.node.wait_for_log(
        "force_torque is ignored: frame 'upper_arm_link' moves against 'tool0'", begin
    )

    def gives_way():  # a push along x, given in the axes of the end effector
        force = arm.pose.rotation.T @ [8.0, 0.0, 0.0]
        arm.exert(force.tolist(), END_EFFECTOR, "force_torque")
        return arm.pose.translation[0] > start.translation[0] + 0.02

    wait_for(gives_way, "the end effector to give way")
    arm.node.wait_for_log("force_torque comes: the force is controlled by it", begin)
    assert np.abs((arm.pose.translation - start.translation)[1:]).max() < 5.0 * STILL
    arm.rests()
    # Each end has its line; a busy machine may interrupt the wrench more than once
    without = arm.node.log[begin:].count("presses without feedback")
    assert without == arm.node.log[begin:].count("the force is controlled by it") + 1 >= 2
    reason = arm.peer.set_parameters(NODE, {"task.force_proportional": 2.0}).reason
    assert reason == (
        "task.force_proportional is 2 and integral 0.25, with which a stiff contact oscillates; "
        "keep 0.5 proportional + integral below 1"
    )
    arm.use(task__controlled=["motion"] * 6, task__force_feedback=False)
    arm.reaches(start)


def turn(w=1.0, x=0.0, position=0.0, frame=""):
    msg = PoseStamped()
    msg.header.frame_id = frame
    msg.pose.position.x = position
    msg.pose.orientation.w, msg.pose.orientation.x = w, x
    return msg


def bad(kind, part, value, frame=""):
    msg = kind()
    msg.header.frame_id = frame
    inner = msg.twist if kind is TwistStamped else msg.wrench
    getattr(inner, part).z = value
    return msg


# In any order: the lines of a topic differ in more than numbers, so that the log has all of them
@pytest.mark.parametrize(
    ("topic", "msg", "line"),
    [
        ("target_pose", turn(w=math.nan), "orientation.w is nan; every number must be finite"),
        ("target_pose", turn(w=2.0), "the quaternion has the length 2; give one of length 1"),
        ("target_pose", turn(position=math.inf), "position.x is inf; every number must be finite"),
        ("target_pose", turn(frame="map"), "no frame 'map' in robot 'ur5' (frames: "),
        (
            "target_twist",
            bad(TwistStamped, "linear", math.nan),
            "linear.z is nan; every number must be finite",
        ),
        (
            "target_twist",
            bad(TwistStamped, "linear", 0.1, "wrist_3_lnk"),
            "no frame 'wrist_3_lnk' in robot 'ur5' (frames: ",
        ),
        (
            "target_wrench",
            bad(WrenchStamped, "force", math.nan),
            "force.z is nan; every number must be finite",
        ),
        (
            "target_wrench",
            bad(WrenchStamped, "force", 1e9),
            "force.z is 1e+09; give 100000 at most, in SI units",
        ),
    ],
)
def test_impossible_targets_are_refused_in_one_line_and_the_end_effector_is_held(
    arm, topic, msg, line
):
    begin, start = arm.mark, arm.rests()
    for _ in range(3):
        arm.targets[topic].publish(msg)
    arm.node.wait_for_log(f"{topic} is ignored: {line}", begin)
    assert np.abs(arm.rests().translation - start.translation).max() < 5.0 * STILL
    assert arm.node.log[begin:].count("is ignored") == 1


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"task.stiffness": [-1.0] + [1.0] * 5},
            "task.stiffness has the eigenvalue -1; give a positive semidefinite matrix",
        ),
        (
            {"task.stiffness": [1.0] * 5},
            "task.stiffness has shape (5,); give six or 6 x 6 finite numbers",
        ),
        (
            {"task.stiffness": [math.nan] * 6},
            "parameter 'task.stiffness' is [nan, nan, nan, nan, nan, nan]; give a list, each a "
            "finite number from -1e+09 to 1e+09 (Stiffness in x, y, z, rx, ry, rz, or all 36 of a "
            "matrix row by row, N/m, N and N m/rad; empty for twice the bandwidth at typical "
            "inertia, or what the joints can exert)",
        ),
        ({"task.controlled": ["motion"] * 5}, "task.controlled has 5 entries; give six"),
        ({"task.speed": [0.0, 1.0]}, "task.speed is 0, 1; give two positive numbers"),
    ],
)
def test_impossible_settings_are_refused_in_one_line(arm, values, reason):
    assert arm.peer.set_parameters(NODE, values).reason == reason


def test_the_end_effector_is_that_of_the_rule_and_is_logged(arm):
    assert f"the end effector is '{END_EFFECTOR}'; task.frame names another" in arm.node.log


def test_unknown_end_effectors_are_refused_by_name(arm):
    refused = arm.peer.set_parameters(NODE, {"task.frame": "tool"}).reason
    assert refused.startswith("no frame 'tool' in robot 'ur5' (frames: ")
    assert refused.endswith("; did you mean 'tool0'?")


def test_targets_of_two_publishers_are_followed_by_neither(arm):
    begin, start = arm.mark, arm.rests()
    other = arm.peer.node.create_publisher(PoseStamped, "target_pose", 10)
    goal = Pose(start.rotation, start.translation + [0.0, 0.0, 0.05])
    line = (
        "target_pose is published by /peer and /peer: the end effector follows none of them until "
        "one is left"
    )
    arm.node.wait_for_log(line, begin)
    for _ in range(3):
        arm.aim(goal)
    assert np.abs(arm.rests().translation - start.translation).max() < 5.0 * STILL
    assert arm.node.log[begin:].count("is published by") == 1
    arm.peer.node.destroy_publisher(other)
    arm.node.wait_for_log("target_pose has one publisher and is followed again", begin)
    arm.reaches(goal)


def test_targets_in_modes_of_joints_are_refused_with_the_mode_to_set(arm):
    start = arm.rests()
    arm.use(mode="feedforward")
    begin = arm.mark
    for _ in range(3):  # the first one may come before the mode
        arm.aim(Pose(start.rotation, start.translation + [0.0, 0.0, 0.1]))
        time.sleep(0.05)
    arm.node.wait_for_log(
        "target_pose is ignored: mode 'feedforward' controls the joints; set the parameter mode to "
        "cartesian_impedance or operational_space",
        begin,
    )
    arm.use(mode="cartesian_impedance")
    assert np.abs(arm.rests().translation - start.translation).max() < 5.0 * STILL


@pytest.mark.thorough
def test_stiffness_changes_without_a_step_of_effort(arm):
    """10 N on the end effector deflect it, so that a step of stiffness would be one of effort."""
    rates = [arm.peer.get_parameter(NODE, f"limits.{n}.effort_rate") for n in ROBOT.joint_names]
    for stiffness in ([300.0] * 3 + [10.0] * 3, []):
        for _ in range(4):
            arm.exert([0.0, 0.0, 10.0])
            time.sleep(0.1)
        count = len(arm.commands)
        arm.use(task__stiffness=stiffness)
        for _ in range(4):
            arm.exert([0.0, 0.0, 10.0])
            time.sleep(0.1)
        tau = np.array([msg.data for msg in arm.commands[count:]])
        # Cycles may be late on a busy machine: 5 periods count for the rate
        assert (np.abs(np.diff(tau, axis=0)).max(axis=0) < 5.0 / RATE * np.array(rates)).all()
        # 7 N m in a step; faded over 0.2 s, 4 N m are more than a busy machine makes of it
        assert np.abs(np.diff(tau, axis=0)).max() < 4.0
    assert arm.peer.get_parameter(NODE, "task.stiffness") == []


@pytest.mark.thorough
def test_modes_of_the_end_effector_change_while_it_moves(arm):
    start = arm.rests()
    goal = Pose(start.rotation, start.translation + [0.0, 0.1, 0.0])
    arm.use(mode="operational_space")
    arm.reaches(goal, within=0.01)
    arm.use(mode="cartesian_impedance", task__axes="frame")
    arm.use(task__axes="root")


@pytest.mark.thorough
def test_an_unreachable_pose_stretches_the_arm_with_one_line(arm):
    begin, start = arm.mark, arm.rests()
    arm.aim(Pose(start.rotation, np.array([1.3, 0.0, 0.3])))
    arm.node.wait_for_log("it is out of reach: the arm is stretched towards it", begin)
    late = len(arm.commands)
    arm.rests()
    tau = np.array([msg.data for msg in arm.commands[late:]])
    assert np.ptp(tau[-100:], axis=0).max() < 2.0  # N m: no shaking
    assert arm.node.log[begin:].count("out of reach") == 1
    arm.reaches(start, within=0.02)
