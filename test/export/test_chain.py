"""MoveIt's goals through the chain of an exported package: stock controllers and mock hardware."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest

pytest.importorskip(
    "control_msgs.action",
    reason="the action needs control_msgs, of ROS 2 (ros-<distro>-control-msgs)",
)

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from action_client import Client, moveit_goal
from exported_package import environment, installed_package, missing
from robot_dynamics.robot import find_robot, urdf_text
from ros_system import PATIENCE, Peer, wait_for

LACKING = missing(
    "controller_manager",
    "joint_state_broadcaster",
    "joint_trajectory_controller",
    "robot_state_publisher",
    programs=("cmake", "ros2"),
)
pytestmark = pytest.mark.skipif(
    bool(LACKING), reason=f"needs ros2_control and ros2_controllers; {LACKING} not found"
)

Result = FollowJointTrajectory.Result

CONTROLLER, FOLLOWER = "arm_controller", "joint_trajectory_controller"
WAY = np.array([0.9, -0.9])
MOVING, STILL = 0.02, 1e-3  # rad/s
ACCURACY = 1e-3  # rad; mock hardware goes to every commanded position in the next cycle
RATE = 250  # Hz, which other programs on the machine leave to it


class Chain:
    """The launch file of a package with its client."""

    def __init__(self, prefix, folder, domain):
        self._file = folder / "launch.log"
        with self._file.open("wb") as output:
            self._process = subprocess.Popen(
                ["ros2", "launch", "pkg", "pkg.launch.py"],
                env={
                    **environment(prefix),
                    "ROS_DOMAIN_ID": str(domain),
                    "ROS_HOME": str(folder),  # with the lock of the spawners
                    "RCUTILS_COLORIZED_OUTPUT": "0",
                },
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.peer = Peer(domain)
        self.states = self.peer.listen(JointState, "/joint_states", 1000)
        self.desired = self.peer.listen(
            JointTrajectoryControllerState, f"/{CONTROLLER}/controller_state", 1000
        )

    def begin(self):
        """Wait until it tracks references."""
        self.sees("tracking the reference")
        name = f"/{FOLLOWER}/follow_joint_trajectory"
        self.client = Client(self.peer, FollowJointTrajectory, name)
        wait_for(lambda: self.states and self.desired, "states")
        self.names = list(self.desired[-1].joint_names)

    @property
    def log(self):
        return self._file.read_text()

    def sees(self, text, after=0):
        """Wait for a text in the log, behind its first `after` characters."""

        def found():
            assert self._process.poll() is None, self.log
            return text in self.log[after:]

        wait_for(found, f"'{text}' in the log")

    def state(self):
        """Joint state in the order of the controller."""
        msg = self.states[-1]
        order = [list(msg.name).index(name) for name in self.names]
        position, velocity = (np.array(x)[order] for x in (msg.position, msg.velocity))
        return JointState(name=self.names, position=position.tolist(), velocity=velocity.tolist())

    def at(self):
        return np.array(self.state().position)

    def speed(self):
        return np.abs(self.state().velocity).max()

    def moves(self):
        wait_for(lambda: self.speed() > MOVING, "motion")

    def rests(self):
        """Wait until it stands still, and longer than a moment of turning back; where."""
        since = [time.monotonic()]

        def still():
            if self.speed() > STILL:
                since[0] = time.monotonic()
            return time.monotonic() - since[0] > 0.5

        wait_for(still, "rest")
        return self.at()

    def send(self, way, duration=1.0, **fields):
        goal = moveit_goal(self.state(), way, duration)
        for name, value in fields.items():
            setattr(goal, name, value)
        return self.client.send(goal)

    def goes(self, position):
        """Send a goal that succeeds."""
        status, result = self.send(position - self.at()).end()
        assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
        wait_for(lambda: np.abs(self.at() - position).max() < ACCURACY, f"{position}")

    def close(self):
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self.peer.close()


@pytest.fixture(scope="module")
def chain(domain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain")
    prefix = installed_package(
        urdf_text(find_robot("planar_2r")),
        folder,
        lambda path, text: text.replace("update_rate: 1000", f"update_rate: {RATE}"),
    )
    chain = Chain(prefix, folder, domain)
    try:
        chain.begin()
        yield chain
    finally:
        chain.close()
    assert "Traceback" not in chain.log


@pytest.fixture
def begin(chain):
    """Position of an arm at rest that is away from its limits."""
    chain.goes(np.array([0.3, 0.4]))
    return chain.rests()


def test_a_goal_succeeds_where_it_should(chain, begin):
    sent = chain.send(WAY)
    assert sent.accepted
    status, result = sent.end()
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
    assert np.abs(chain.rests() - begin - WAY).max() < ACCURACY
    assert sent.feedback and list(sent.feedback[-1].joint_names) == chain.names


def test_another_goal_takes_over_in_motion(chain, begin):
    first = chain.send(WAY, 6.0)
    chain.moves()
    second = chain.send(begin + 0.5 * WAY - chain.at())
    replaced = (GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)  # by version
    assert first.end()[0] in replaced
    assert second.end()[0] == GoalStatus.STATUS_SUCCEEDED
    assert np.abs(chain.rests() - begin - 0.5 * WAY).max() < ACCURACY


def test_a_cancelled_goal_leaves_the_arm_at_rest(chain, begin):
    sent = chain.send(WAY, 8.0)
    chain.moves()
    assert sent.cancel()
    assert sent.end()[0] == GoalStatus.STATUS_CANCELED
    assert np.abs(chain.rests() - begin).max() < 0.75 * np.abs(WAY).max()


def test_a_violated_path_tolerance_aborts_and_the_arm_is_held(chain, begin):
    # In motion the state is that of the cycle before: 0.1 rad/s is 4e-4 rad behind
    narrow = [JointTolerance(name=name, position=1e-5) for name in chain.names]
    status, result = chain.send(WAY, path_tolerance=narrow).end()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert np.abs(chain.rests() - begin).max() < 0.1
    assert chain.desired[-1].joint_names and "stopped" not in chain.log


def test_a_goal_of_some_joints_is_followed_only_where_that_is_allowed(chain, begin):
    goal = moveit_goal(chain.state(), WAY)
    goal.trajectory.joint_names = goal.trajectory.joint_names[1:]
    for point in goal.trajectory.points:
        for field in ("positions", "velocities", "accelerations"):
            setattr(point, field, getattr(point, field)[1:])
    assert not chain.client.send(goal).accepted
    assert chain.peer.set_parameter(FOLLOWER, "allow_partial_joints_goal", True).successful
    status, result = chain.client.send(goal).end()
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
    assert np.abs(chain.rests() - begin - [0.0, WAY[1]]).max() < ACCURACY


def test_a_tracking_error_stops_the_arm_until_resume_and_its_goal_is_aborted(chain, begin):
    name = f"limits.{chain.names[0]}.tracking_error"
    usual = chain.peer.get_parameter(CONTROLLER, name)
    before = len(chain.log)
    sent = chain.send(WAY, 6.0)
    chain.moves()
    assert chain.peer.set_parameter(CONTROLLER, name, 1e-5).successful
    chain.sees("stopped", before)
    held = chain.rests()
    status, result = sent.end()
    assert (status, result.error_code) == (
        GoalStatus.STATUS_ABORTED,
        Result.PATH_TOLERANCE_VIOLATED,
    )
    assert np.abs(chain.rests() - held).max() < STILL
    assert np.abs(held - begin).max() < 0.75 * np.abs(WAY).max()
    (line,) = [x for x in chain.log[before:].splitlines() if "stopped" in x]
    assert f"stopped: joint '{chain.names[0]}' is " in line
    assert "rad from its reference, beyond its limit of 1e-05 rad; " in line
    assert line.endswith(f"; call /{CONTROLLER}/resume to go on")
    assert chain.peer.set_parameter(CONTROLLER, name, usual).successful
    assert chain.peer.call(Trigger, f"/{CONTROLLER}/resume", Trigger.Request()).success
    chain.sees("tracking the reference", before)
    assert np.abs(chain.rests() - held).max() < ACCURACY
    chain.goes(begin)
