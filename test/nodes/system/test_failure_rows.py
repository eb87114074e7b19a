"""Common failures of torque control, one by one, on real nodes."""

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, String

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS
from robot_dynamics.robot import find_robot
from ros_system import wait_for

# Same kernels, same numbers, torques below 100 N m: round-off
EXACT = 1e-9


def link(name, inertial="", mass=1.0, moments=(0.01, 0.01, 0.01), com="0.2 0 0"):
    """A link, with an inertial unless the text of one, or of none, is given."""
    xx, yy, zz = moments
    inertial = inertial or (
        f'<inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    return f'<link name="{name}">{inertial}</link>'


def joint(name, parent, child, kind="revolute", rest=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>'
        f'<limit lower="-3" upper="3" effort="100" velocity="10"/>{rest}</joint>'
    )


def urdf(*elements, name="arm"):
    return f'<robot name="{name}"><link name="base"/>{"".join(elements)}</robot>'


ARM = urdf(
    link("upper"),
    link("fore"),
    joint("shoulder", "base", "upper"),
    joint("elbow", "upper", "fore"),
)
TURNING = ARM.replace('name="elbow" type="revolute"', 'name="elbow" type="continuous"')
MASSLESS_TIP = urdf(
    link("upper"),
    link("tip", inertial=" "),
    joint("shoulder", "base", "upper"),
    joint("spin", "upper", "tip"),
)
UNPHYSICAL = urdf(link("upper", moments=(0.01, 0.01, 0.03)), joint("shoulder", "base", "upper"))
ODD = urdf(
    link("massless", inertial=" "),
    link("impossible", moments=(0.01, 0.01, 0.03)),
    link("heavy", mass=9000.0),
    joint("shoulder", "base", "massless"),
    joint("elbow", "massless", "impossible"),
    joint("wrist", "impossible", "heavy"),
)
GRIPPER = urdf(
    link("upper"),
    link("left", mass=0.3),
    link("right", mass=0.3),
    joint("shoulder", "base", "upper"),
    joint("opening", "upper", "left", "prismatic"),
    joint("follower", "upper", "right", "prismatic", '<mimic joint="opening" multiplier="-1"/>'),
)


class Controlled:
    """controller_node on its own, and its joint states."""

    def __init__(self, start, peer, namespace, description, **parameters):
        arguments, self.name = namespace
        self._peer = peer
        self.robot = read_urdf(description)
        self.commands = peer.listen(Float64MultiArray, f"{self.name}/effort_command")
        values = {"robot_description": description, "rate": 100.0, "state_timeout": 10.0}
        self.process = start("controller_node", {**values, **parameters}, arguments)
        self._publisher = peer.publisher(JointState, f"{self.name}/joint_states")

    def send(self, names, position, velocity=None, effort=()):
        """Publish one joint_states, at rest by default."""
        velocity = [0.0] * len(position) if velocity is None else velocity
        self._publisher.publish(
            JointState(
                name=list(names),
                position=list(position),
                velocity=list(velocity),
                effort=list(effort),
                header=Header(stamp=self._peer.node.get_clock().now().to_msg()),
            )
        )

    def answers(self, expected, names, position, **rest):
        """Tell joint states until the command is what is expected: hardware repeats itself."""
        expected = np.asarray(expected)

        def there():
            self.send(names, position, **rest)
            data = self.commands[-1].data if self.commands else ()
            return len(data) == len(expected) and np.abs(np.array(data) - expected).max() < EXACT

        wait_for(there, f"the command {expected}")


@pytest.fixture
def controlled(start, peer, namespace):
    def controlled(description, **parameters):
        return Controlled(start, peer, namespace, description, **parameters)

    return controlled


@pytest.fixture(scope="module")
def arm(start_for_module, peer):
    """A controller of the plain arm that several tests may use."""
    return Controlled(start_for_module, peer, (["-r", "__ns:=/plain"], "/plain"), ARM)


def gravity(robot, **q):
    """Torque of gravity of the independent joints at positions by name."""
    return Dynamics(robot).gravity(np.array([q[name] for name in robot.joint_names]))


# -- a description that cannot be simulated --------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "line"),
    [
        (MASSLESS_TIP, "joint 'spin': moves no inertia about its axis, so no effort determines"),
        (
            UNPHYSICAL,
            "link 'upper', with what is fixed to it, cannot be simulated: inertia breaks the "
            "triangle inequality (principal moments 0.01, 0.01, 0.03 kg m^2); correct its "
            "<inertial> (inverse dynamics takes it as it is)",
        ),
    ],
    ids=["singular mass matrix", "unphysical"],
)
def test_a_robot_that_cannot_be_simulated_is_refused_in_one_line(start, description, line):
    process = start("simulator_node", {"robot_description": description})
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert line in process.log
    assert "Traceback" not in process.log


@pytest.mark.parametrize(
    ("description", "line"),
    [
        (MASSLESS_TIP, "/robot_description: <robot_description>:1: joint 'spin': moves no inertia"),
        (UNPHYSICAL, "/robot_description: link 'upper', with what is fixed to it, cannot be simul"),
    ],
    ids=["singular mass matrix", "unphysical"],
)
def test_the_simulator_waits_for_a_better_description_when_one_comes_by_topic(
    start, peer, namespace, description, line
):
    arguments, name = namespace
    process = start("simulator_node", {"rate": 100.0}, arguments)
    publisher = peer.publisher(String, f"{name}/robot_description", DESCRIPTION_QOS)
    publisher.publish(String(data=description))
    process.wait_for_log(line)
    publisher.publish(String(data=ARM))
    process.wait_for_log("simulating robot 'arm'")


def test_inverse_dynamics_goes_on_with_warnings_that_name_the_links(controlled):
    node = controlled(ODD)
    for line in (
        "link 'massless': moves but has no mass; give it an <inertial>",
        "link 'impossible': inertia breaks the triangle inequality: the largest of the principal",
        "link 'heavy': weighs 9000 kg; are the masses in grams?",
    ):
        node.process.wait_for_log(line)
    limit = node.robot.limits.effort
    q = {"shoulder": 0.3, "elbow": 0.2, "wrist": 0.1}
    node.answers(np.clip(gravity(node.robot, **q), -limit, limit), q, q.values())


# -- messages --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "position", "line"),
    [
        (
            ["shoulder", "shoulder"],
            [1.0, 2.0],
            "joint_states: joint 'shoulder' stands twice; name each joint once",
        ),
        (
            ["shoulder", "elbow"],
            [1.0],
            "joint_states: position has 1 entry for 2 names; give one per name",
        ),
    ],
    ids=["duplicate", "short"],
)
def test_states_with_duplicate_names_or_short_arrays_change_no_effort(arm, names, position, line):
    node = arm
    good = gravity(node.robot, shoulder=0.3, elbow=0.4)
    node.answers(good, ("shoulder", "elbow"), [0.3, 0.4])
    wait_for(lambda: node.send(names, position) or line in node.process.log, "the refusal")
    received = len(node.commands)
    node.answers(good, ("shoulder", "elbow"), [0.3, 0.4])
    wait_for(lambda: len(node.commands) > received, "commands")
    assert all(np.abs(np.array(msg.data) - good).max() < EXACT for msg in node.commands[received:])


def test_a_continuous_joint_reported_2_pi_further_gets_the_same_effort(controlled):
    node = controlled(TURNING, state_timeout=10.0, reference_timeout=10.0)
    q = {"shoulder": 0.3, "elbow": 3.1}
    node.answers(gravity(node.robot, **q), q, q.values())
    received = len(node.commands)
    turned = [0.3, 3.1 - 2.0 * np.pi]
    for _ in range(20):  # as an encoder does that is read from -pi to pi
        node.send(q, turned)
        node.answers(gravity(node.robot, **q), q, turned)
    # PD would answer a jump of one turn with hundreds of N m
    efforts = np.array([msg.data for msg in node.commands[received:]])
    assert np.abs(efforts - gravity(node.robot, **q)).max() < 1e-6


def test_efforts_that_joint_states_show_are_not_fed_back(arm):
    """Some drivers put motor currents there: an arm that trusted them would fall or jump."""
    node = arm
    expected = gravity(node.robot, shoulder=0.3, elbow=0.4)
    for currents in ([400.0, -7.0], [np.nan, np.inf], ()):
        received = len(node.commands)
        for _ in range(10):
            node.send(("shoulder", "elbow"), [0.3, 0.4], effort=currents)
            node.answers(expected, ("shoulder", "elbow"), [0.3, 0.4], effort=currents)
        assert all(
            np.abs(np.array(m.data) - expected).max() < EXACT for m in node.commands[received:]
        )


UNLIMITED = ARM.replace('effort="100"', 'effort="0"')


def test_a_real_arm_without_effort_limits_is_refused_unless_parameters_give_them(start, namespace):
    parameters = {"robot_description": UNLIMITED, "rate": 100.0}
    process = start("controller_node", parameters, namespace[0])
    wait_for(lambda: not process.running, "the end")
    assert process.stop() == 1
    assert (
        "controller_node: robot 'arm' has no effort limit for shoulder, elbow; set "
        "limits.shoulder.effort and so on, or <limit effort> in the URDF, or "
        "require_effort_limits: false for a simulation"
    ) in process.log
    given = {f"limits.{name}.effort": 100.0 for name in ("shoulder", "elbow")}
    start("controller_node", {**parameters, **given}, namespace[0]).wait_for_log("control of robot")


def test_an_effort_limit_of_zero_is_unknown_to_the_controller_of_a_simulation(controlled):
    node = controlled(UNLIMITED, require_effort_limits=False)
    node.answers(gravity(node.robot, shoulder=0.2, elbow=0.1), ("shoulder", "elbow"), [0.2, 0.1])
    node.process.wait_for_log("no effort limit in the URDF for shoulder, elbow; not saturated")


def test_a_root_link_with_inertia_is_taken_without_a_word(controlled):
    node = controlled(ARM.replace('<link name="base"/>', link("base", mass=20.0)))
    node.answers(
        gravity(read_urdf(ARM), shoulder=0.2, elbow=0.1), ("shoulder", "elbow"), [0.2, 0.1]
    )
    said = [line for line in node.process.log.splitlines() if "inertia" in line or "link" in line]
    assert said == []  # of the robot; that states came late it may say on a busy machine


# -- grippers --------------------------------------------------------------------------------------


def test_a_finger_that_follows_is_part_of_the_effort_of_the_one_that_leads(controlled):
    node = controlled(GRIPPER)
    names, position = ("shoulder", "opening", "follower"), [0.2, 0.03, -0.03]
    tau = gravity(node.robot, shoulder=0.2, opening=0.03)
    assert len(tau) == 2
    node.answers(tau, names, position)


def test_a_gripper_that_is_left_out_still_weighs(controlled):
    node = controlled(GRIPPER, joints="[shoulder]")
    whole = node.robot.with_locked({"opening": 0.0})  # the middle of its range
    bare = read_urdf(urdf(link("upper"), joint("shoulder", "base", "upper")))
    node.answers(gravity(whole, shoulder=0.2), ("shoulder",), [0.2])
    assert abs(gravity(whole, shoulder=0.2) - gravity(bare, shoulder=0.2))[0] > 1.0


# -- gravity ---------------------------------------------------------------------------------------


def test_every_node_says_at_its_start_which_way_is_down(start, namespace):
    arguments, _ = namespace
    wall = {"gravity": "[0.0, 9.81, 0.0]"}
    said = {}
    for node, values in (
        ("simulator_node", wall),
        ("feedforward_node", wall),
        ("controller_node", {}),
    ):
        process = start(node, {"urdf_path": "planar_2r", "rate": 100.0, **values}, arguments)
        process.wait_for_log("m/s^2")
        (said[node],) = re.findall(r"gravity (.*) m/s\^2", process.log)
    assert said["simulator_node"] == said["feedforward_node"] == "0, 9.81, 0"
    assert said["controller_node"] == "0, 0, -9.81"


def test_the_simulated_arm_falls_where_its_gravity_points(start, peer, namespace):
    """On a wall: x is down."""
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states", 1000)
    reports = peer.listen(DiagnosticArray, "/diagnostics")
    down = [9.81, 0.0, 0.0]
    start(
        "simulator_node",
        {
            "urdf_path": "planar_2r",
            "rate": 100.0,
            "lockstep": True,
            "initial_positions": "[0.5, 0.0]",
            "gravity": str(down),
        },
        arguments,
    )
    command = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    wait_for(lambda: states, "the first state")
    first = states[-1]
    robot = read_urdf(find_robot("planar_2r")).with_gravity(down)
    held = Dynamics(robot).gravity(np.array([0.5, 0.0]))
    for _ in range(3):
        received = len(states)
        command.publish(Float64MultiArray(data=held.tolist()))
        wait_for(lambda received=received: len(states) > received, "a state")
    wait_for(lambda: states[-1].effort[0] == held[0], "the effort that holds it")
    # Effort and gravity cancel: what is left is round-off of 50 N m on 1 kg m^2 over 30 ms
    np.testing.assert_allclose(states[-1].position, first.position, atol=1e-12)
    wait_for(
        lambda: any(
            ("gravity", "9.81, 0, 0 m/s^2") in [(v.key, v.value) for v in status.values]
            for msg in list(reports)
            for status in msg.status
            if status.name == f"{name[1:]}/simulator_node"
        ),
        "the direction in diagnostics",
    )
