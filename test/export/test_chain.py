"""A model controller under controller_manager: goals with mock hardware, and targets of an arm.

The arm of the tests of the end effector is hardware that moves by its forward dynamics.
"""

import os
import signal
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("controller_manager_msgs.srv", reason="needs ros2_control")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState
from geometry_msgs.msg import (
    InertiaStamped,
    PoseStamped,
    TwistStamped,
    Vector3Stamped,
    WrenchStamped,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from action_client import Client, moveit_goal
from controllers_build import built, call, environment, installed_controllers, missing_of_manager
from loaded_model import built as compiled
from loaded_model import request_of
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.export.controllers_config import controllers_config
from robot_dynamics.robot import find_robot, urdf_text
from ros_system import PATIENCE, Peer, free_domain, wait_for

LACKING = missing_of_manager()
pytestmark = pytest.mark.skipif(
    bool(LACKING), reason=f"needs ros2_control and ros2_controllers; {LACKING} not found"
)

Result = FollowJointTrajectory.Result

CONTROLLER, FOLLOWER = "arm_controller", "arm_trajectory_controller"
WAY = np.array([0.9, -0.9])
MOVING, STILL = 0.02, 1e-3  # rad/s
ACCURACY = 1e-3  # rad; mock hardware goes to every commanded position in the next cycle
RATE = 250  # Hz, which other programs on the machine leave to it


class Chain:
    """The launch file of the package with its client."""

    def __init__(self, package, folder, domain, *arguments):
        self._file = folder / "launch.log"
        with self._file.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    "ros2",
                    "launch",
                    "robot_dynamics_controllers",
                    "arm.launch.py",
                    *package.words,
                    *arguments,
                ],
                env={
                    **environment(package.prefix),
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


SIMULATED = """cmake_minimum_required(VERSION 3.16)
project(simulated_arm CXX)
find_package(ament_cmake REQUIRED)
find_package(hardware_interface REQUIRED)
find_package(pluginlib REQUIRED)
find_package(std_msgs REQUIRED)
add_library(simulated_arm SHARED {source})
target_compile_features(simulated_arm PUBLIC cxx_std_17)
target_link_libraries(simulated_arm PRIVATE hardware_interface::hardware_interface
  pluginlib::pluginlib ${{std_msgs_TARGETS}} ${{CMAKE_DL_LIBS}})
pluginlib_export_plugin_description_file(hardware_interface simulated_arm.xml)
install(TARGETS simulated_arm LIBRARY DESTINATION lib)
ament_package()
"""

PACKAGE_XML = """<package format="3"><name>simulated_arm</name><version>0.0.0</version>
<description>An arm</description><maintainer email="arm@example.com">a</maintainer>
<license>none</license>
<export><build_type>ament_cmake</build_type></export></package>"""

PLUGIN_XML = """<library path="simulated_arm">
  <class name="simulated_arm/SimulatedArm" type="simulated_arm::SimulatedArm"
         base_class_type="hardware_interface::SystemInterface"/></library>"""


class Package:
    """The installed controllers, a model, and URDFs for mock and simulated hardware."""

    def __init__(self, folder):
        self.folder, self.prefix = folder, installed_controllers(folder)
        model = compiled(request_of("planar_2r"), folder)
        text = urdf_text(find_robot("planar_2r"))
        (folder / "mock.urdf").write_text(text)
        (folder / "simulated.urdf").write_text(self._simulated(text))
        self._install_hardware()
        robot, config = read_urdf(text), folder / "arm.yaml"
        config.write_text(controllers_config(robot, None, ["effort"], str(model), RATE))
        self.words = [f"robot:={folder / 'mock.urdf'}", f"config:={config}"]

    def simulated(self):
        """Arguments of a launch with the simulated arm."""
        return f"robot:={self.folder / 'simulated.urdf'}", "hardware:=urdf", "chained:=false"

    def _simulated(self, text):
        """A URDF with the simulated arm, which is not stretched."""
        source, library = self.folder / "plant.c", self.folder / "plant.so"
        source.write_text(Dynamics(read_urdf(text)).source("c", "forward", prefix="plant"))
        call("cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-lm")
        root = ElementTree.fromstring(text)
        system = ElementTree.SubElement(root, "ros2_control", name="arm", type="system")
        hardware = ElementTree.SubElement(system, "hardware")
        ElementTree.SubElement(hardware, "plugin").text = "simulated_arm/SimulatedArm"
        ElementTree.SubElement(hardware, "param", name="kernel").text = str(library)
        for name in read_urdf(text).joint_names:
            joint = ElementTree.SubElement(system, "joint", name=name)
            ElementTree.SubElement(joint, "command_interface", name="effort")
            for state in ("position", "velocity"):
                item = ElementTree.SubElement(joint, "state_interface", name=state)
                if state == "position":
                    ElementTree.SubElement(item, "param", name="initial_value").text = "0.8"
        return ElementTree.tostring(root, encoding="unicode")

    def _install_hardware(self):
        folder = self.folder / "simulated_arm"
        folder.mkdir()
        source = Path(__file__).with_name("simulated_arm.cpp")
        (folder / "CMakeLists.txt").write_text(SIMULATED.format(source=source))
        (folder / "package.xml").write_text(PACKAGE_XML)
        (folder / "simulated_arm.xml").write_text(PLUGIN_XML)
        call("cmake", "--install", built(folder, f"-DCMAKE_INSTALL_PREFIX={self.prefix}"))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Return the package, installed, with its model."""
    return Package(tmp_path_factory.mktemp("chain"))


class EndEffector:
    """The end effector of a simulated arm, and what a test sends it."""

    def __init__(self, chain):
        self.chain, peer = chain, chain.peer
        self.poses = peer.listen(PoseStamped, f"/{CONTROLLER}/cartesian_pose", 1000)
        self.external = peer.listen(JointState, f"/{CONTROLLER}/external_effort", 1000)
        self.pose_out = peer.publisher(PoseStamped, f"/{CONTROLLER}/target_pose")
        self.twist_out = peer.publisher(TwistStamped, f"/{CONTROLLER}/target_twist")
        self.wrench_out = peer.publisher(WrenchStamped, f"/{CONTROLLER}/target_wrench")
        self.posture_out = peer.publisher(JointState, f"/{CONTROLLER}/target_posture")
        self.measured_wrench_out = peer.publisher(WrenchStamped, f"/{CONTROLLER}/force_torque")
        self.push_out = peer.publisher(Float64MultiArray, "/push")

    def at(self):
        """Position now."""
        known = len(self.poses)
        wait_for(lambda: len(self.poses) > known + 1, "a pose of the end effector")
        p = self.poses[-1].pose.position
        return np.array([p.x, p.y, p.z])

    def moved(self, x=0.0, y=0.0, z=0.0, frame="", scale=1.0):
        """Target beside the present pose."""
        msg = PoseStamped()
        msg.header.frame_id, msg.pose = frame, self.poses[-1].pose
        p, o = msg.pose.position, msg.pose.orientation
        p.x, p.y, p.z = p.x + x, p.y + y, p.z + z
        o.x, o.y, o.z, o.w = (scale * value for value in (o.x, o.y, o.z, o.w))
        return msg

    def says(self, text, send=lambda: None):
        """Send again and again until the log has a text that it did not have before."""
        before = self.chain.log.count(text)

        def found():
            send()
            time.sleep(0.05)
            return self.chain.log.count(text) > before

        wait_for(found, f"'{text}' in the log:\n{self.chain.log}")

    def push(self, *efforts):
        self.push_out.publish(Float64MultiArray(data=efforts))


@pytest.fixture
def end_effector(package, tmp_path):
    chain = Chain(package, tmp_path, free_domain(), *package.simulated())
    try:
        chain.sees("holding still: no reference comes")
        end_effector = EndEffector(chain)
        for name, value in (
            ("collision.reaction", "stop"),
            ("mode", "cartesian_impedance"),
        ):
            assert chain.peer.set_parameter(CONTROLLER, name, value).successful
        end_effector.at()
        yield end_effector
    finally:
        chain.close()
    assert "Traceback" not in chain.log


def test_the_end_effector_goes_to_a_pose_and_a_push_stops_the_arm(end_effector):
    chain, peer = end_effector.chain, end_effector.chain.peer
    assert chain.log.count("mode 'cartesian_impedance', before 'feedforward'") == 1
    begin = end_effector.at()
    target = end_effector.moved(x=-0.1, z=0.05)
    goal = np.array([getattr(target.pose.position, axis) for axis in "xyz"])
    before = len(chain.log)
    end_effector.says(
        "moving the end effector to its target", lambda: end_effector.pose_out.publish(target)
    )
    wait_for(lambda: np.abs(end_effector.at() - goal).max() < 1e-3, f"{goal} from {begin}")
    chain.sees("holding the end effector: no target asks for motion", before)

    # What is wrong is refused by one line each, and the arm holds
    end_effector.says(
        "target_pose is ignored: the quaternion has the length 2; give one of length 1",
        lambda: end_effector.pose_out.publish(end_effector.moved(scale=2.0)),
    )
    twist, wrench = TwistStamped(), WrenchStamped()
    twist.header.frame_id, wrench.wrench.force.y = "nix", float("nan")
    end_effector.says(
        "target_twist is ignored: no frame 'nix' in robot 'planar_2r' (frames: base_link, link_1, ",
        lambda: end_effector.twist_out.publish(twist),
    )
    end_effector.says(
        "target_wrench is ignored: force.y is nan; give finite numbers",
        lambda: end_effector.wrench_out.publish(wrench),
    )
    end_effector.says(
        "target_posture is ignored: joint 'joint_1' is not named",
        lambda: end_effector.posture_out.publish(JointState(name=["joint_2"], position=[0.0])),
    )
    held = end_effector.at()
    assert np.abs(held - goal).max() < 1e-3
    twist = TwistStamped()
    twist.twist.linear.x = -0.1
    end_effector.says(
        "moving the end effector to its target", lambda: end_effector.twist_out.publish(twist)
    )
    chain.sees("target_twist has ended: the end effector comes to rest")
    assert held[0] - 0.1 < end_effector.at()[0] < held[0]

    # A push of twice the threshold of the first joint
    name = "joint_1"
    threshold = peer.get_parameter(CONTROLLER, f"limits.{name}.external_effort")
    end_effector.says(
        f"stopped: joint '{name}' feels an external ",
        lambda: end_effector.push(2.0 * threshold, 0.0),
    )
    end_effector.push(0.0, 0.0)
    assert max(abs(x.effort[0]) for x in end_effector.external) > threshold
    known = len(end_effector.external)
    wait_for(
        lambda: (
            len(end_effector.external) > known + 1
            and abs(end_effector.external[-1].effort[0]) < 1.0
        ),
        "the end of the push",
    )
    peer.resume(CONTROLLER)
    rest = end_effector.at()
    target = end_effector.moved(x=0.05)
    end_effector.says(
        "moving the end effector to its target", lambda: end_effector.pose_out.publish(target)
    )
    wait_for(lambda: end_effector.at()[0] > rest[0] + 0.045, "motion after the stop")

    # A target beyond the arm, with the reason in the words of the model
    away = end_effector.moved(x=9.0)
    end_effector.says(
        " from its target: it is out of reach: the arm is stretched towards it, and joint motion ",
        lambda: end_effector.pose_out.publish(away),
    )
    end_effector.pose_out.publish(target)
    wait_for(lambda: abs(end_effector.at()[0] - rest[0]) < 0.1, "the way back")

    # A second sender
    other = peer.node.create_publisher(PoseStamped, f"/{CONTROLLER}/target_pose", 10)
    end_effector.says(
        "target_pose is published by /peer and /peer: the end effector follows none of them "
    )
    peer.node.destroy_publisher(other)
    end_effector.says("target_pose has one publisher again")

    # Force feedback, and a force that the joints cannot bear
    answer = peer.set_parameter(CONTROLLER, "task.force_proportional", 1.9)
    assert not answer.successful
    assert answer.reason == (
        "task.force_integral + 0.5 task.force_proportional is 1.2, with which a stiff contact "
        "oscillates; keep it below 1"
    )
    directions = ["motion", "free", "force", "free", "free", "free"]
    assert peer.set_parameter(CONTROLLER, "task.controlled", directions).successful
    assert peer.set_parameter(CONTROLLER, "task.force_feedback", True).successful
    chain.sees("no force_torque for 0.1 s: the end effector presses without feedback")
    wrench_msg = WrenchStamped()
    end_effector.says(
        "force_torque comes: the force is controlled by it",
        lambda: end_effector.measured_wrench_out.publish(wrench_msg),
    )
    end_effector.says("no force_torque for 0.1 s: the end effector presses without feedback")
    wrench_msg.header.frame_id = "link_1"
    end_effector.says(
        "force_torque is ignored: frame 'link_1' moves against '",
        lambda: end_effector.measured_wrench_out.publish(wrench_msg),
    )
    wrench.wrench.force.y, wrench.wrench.force.z = 0.0, -1e4
    end_effector.says(
        "target_wrench is ignored: with gravity it takes ",
        lambda: end_effector.wrench_out.publish(wrench),
    )


@pytest.fixture(scope="module")
def chain(domain, package):
    chain = Chain(package, package.folder, domain)
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


def test_a_load_that_is_no_number_is_refused(chain):
    payload = chain.peer.publisher(InertiaStamped, f"/{CONTROLLER}/payload")
    gravity = chain.peer.publisher(Vector3Stamped, f"/{CONTROLLER}/gravity")
    body, down = InertiaStamped(), Vector3Stamped()
    body.inertia.m = down.vector.z = float("nan")
    payload.publish(body)
    chain.sees("payload refused: (nan) has a number that is not finite")
    gravity.publish(down)
    chain.sees("gravity refused: (0, 0, nan) has a number that is not finite")
    answer = chain.peer.set_parameter(CONTROLLER, "mode", "nix")
    assert not answer.successful
    assert answer.reason.startswith("parameter 'mode' is 'nix'; give one of feedforward, ")


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
    assert chain.peer.set_parameter(CONTROLLER, name, 1e-7).successful
    chain.sees("stopped", before)
    held = chain.rests()
    status, result = sent.end()
    assert status == GoalStatus.STATUS_ABORTED
    # The rest of the way may be shorter than the tolerance of the path, not than that of the goal
    expected = Result.PATH_TOLERANCE_VIOLATED, Result.GOAL_TOLERANCE_VIOLATED
    assert result.error_code in expected, result.error_string
    assert np.abs(chain.rests() - held).max() < STILL
    assert np.abs(held - begin).max() < 0.75 * np.abs(WAY).max()
    (line,) = [x for x in chain.log[before:].splitlines() if "stopped" in x]
    assert f"stopped: joint '{chain.names[0]}' is " in line
    assert "rad from its reference, beyond its limit of 1e-07 rad; " in line
    assert line.endswith(f"; call /{CONTROLLER}/resume to go on")
    assert chain.peer.set_parameter(CONTROLLER, name, usual).successful
    chain.peer.resume(CONTROLLER)
    chain.sees("tracking the reference", before)
    assert np.abs(chain.rests() - held).max() < ACCURACY
    chain.goes(begin)
