"""Efforts of actuators: virtual work, gear boxes of two joints, and the URDFs of real robots."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import example_folder
from robot_dynamics import read_urdf
from robot_dynamics.control import Actuators
from robot_dynamics.errors import ArgumentError, RobotError, ShapeError, SingularCoordinatesError
from robot_dynamics.robot.urdf.transmissions import Transmission, read_transmissions
from strategies import seeds

# Matrices of condition below 1e3 here: sixteen digits less three, with room
ROUND_OFF = 1e-11

JOINTS = ("shoulder", "elbow")


@pytest.fixture(scope="module")
def robot(arm):
    """Two joints: shoulder and elbow."""
    return arm.robot


def differential(reductions=(2.0, 3.0, 5.0, 7.0), joints=JOINTS):
    """A differential as ros2_control has it: reductions of the actuators, then of the joints."""
    a1, a2, j1, j2 = reductions
    matrix = [[a1 * j1, a1 * j2], [a2 * j1, -a2 * j2]]
    return Transmission("differential", joints, ("left", "right"), matrix, [0.0, 0.0])


@given(st.integers(1, 8), seeds())
def test_actuators_do_the_work_of_the_joints(n, seed):
    """f . dp = tau . dq for every motion: what makes f the efforts of the actuators."""
    random = np.random.default_rng(seed)
    J = random.uniform(-2.0, 2.0, (n, n)) + 3.0 * np.eye(n)
    assume(np.linalg.cond(J) < 1e3)
    actuators = Actuators.of_coupling([f"j{i}" for i in range(n)], J.ravel())
    tau, qd = random.uniform(-100.0, 100.0, (2, n))
    f = actuators.from_joints(tau)
    assert f @ (J @ qd) == pytest.approx(tau @ qd, rel=ROUND_OFF, abs=ROUND_OFF * 1e4)
    np.testing.assert_allclose(actuators.to_joints(f), tau, rtol=ROUND_OFF, atol=ROUND_OFF * 1e4)


def test_a_gear_divides_the_effort(robot):
    gear = Transmission("gear", ("elbow",), ("motor",), [[-50.0]], [0.3])
    direct = Transmission("direct", ("shoulder",), ("drive",), [[1.0]], [0.0])
    actuators = Actuators.of_transmissions(robot, [gear, direct])
    assert actuators.names == ("drive", "motor")  # in the places of their joints
    assert actuators.from_joints(np.array([3.0, 100.0])).tolist() == [3.0, -2.0]


def test_motors_of_a_differential_share_both_efforts(robot):
    """With all reductions 1: p1 = q1 + q2, p2 = q1 - q2, so tau1 = f1 + f2, tau2 = f1 - f2."""
    actuators = Actuators.of_transmissions(robot, [differential((1.0, 1.0, 1.0, 1.0))])
    assert actuators.names == ("left", "right")
    assert actuators.to_joints(np.array([5.0, 2.0])) == pytest.approx([7.0, 3.0], rel=ROUND_OFF)
    assert actuators.from_joints(np.array([7.0, 3.0])) == pytest.approx([5.0, 2.0], rel=ROUND_OFF)


def test_the_second_motor_of_a_four_bar_linkage_loads_the_first_joint(robot):
    """It stands on the base: p2 = q1 + q2, so its effort turns both joints (example 5-3)."""
    linkage = Transmission("bars", JOINTS, ("upper", "lower"), [[1.0, 0.0], [1.0, 1.0]], [0, 0])
    actuators = Actuators.of_transmissions(robot, [linkage])
    assert actuators.to_joints(np.array([0.0, 4.0])) == pytest.approx([4.0, 4.0])
    assert actuators.from_joints(np.array([10.0, 4.0])) == pytest.approx([6.0, 4.0])


def test_a_transmission_may_list_its_joints_in_another_order_than_the_robot(robot):
    there = Actuators.of_transmissions(robot, [differential()])
    back = Actuators.of_transmissions(robot, [differential(joints=JOINTS[::-1])])
    assert back.names == there.names[::-1]
    tau = np.array([3.0, 8.0])
    assert back.from_joints(tau[::-1]) == pytest.approx(there.from_joints(tau)[::-1], rel=ROUND_OFF)


def test_actuators_follow_their_joints_into_another_order(robot):
    actuators = Actuators.of_transmissions(robot, [differential()])
    turned = actuators.in_order(("elbow", "shoulder"))
    assert turned.names == ("right", "left")
    tau = np.array([3.0, 8.0])
    assert turned.from_joints(tau[::-1]) == pytest.approx(actuators.from_joints(tau)[::-1])
    with pytest.raises(ArgumentError) as error:
        actuators.in_order(("elbow",))
    assert str(error.value) == (
        "actuators drive joints 'shoulder', 'elbow', not joint 'elbow'; give the same joints"
    )


def test_many_efforts_are_taken_at_once(robot):
    actuators = Actuators.of_transmissions(robot, [differential()])
    tau = np.random.default_rng(3).normal(size=(4, 5, 2))
    one_by_one = [[actuators.from_joints(row) for row in block] for block in tau]
    np.testing.assert_allclose(actuators.from_joints(tau), one_by_one, rtol=ROUND_OFF)


def test_actuators_of_a_matrix_are_named_after_their_joints():
    actuators = Actuators.of_coupling(JOINTS, [1.0, 0.0, 1.0, 1.0])
    assert actuators.names == ("shoulder_actuator", "elbow_actuator")
    assert actuators.matrix.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert Actuators.of_coupling(JOINTS, np.eye(2), ("a", "b")).names == ("a", "b")


def test_a_joint_without_transmission_is_refused_by_name(robot):
    gear = Transmission("gear", ("elbow",), ("motor",), [[50.0]], [0.0])
    with pytest.raises(RobotError) as error:
        Actuators.of_transmissions(robot, [gear])
    assert str(error.value) == (
        "no <transmission> of robot 'arm' drives joint 'shoulder'; add one to the URDF, or give "
        "the coupling matrix"
    )


def test_half_a_differential_drives_nothing(robot):
    """With the elbow locked its two motors cannot be told apart any more."""
    with pytest.raises(RobotError, match="drives joint 'shoulder'"):
        Actuators.of_transmissions(robot.with_locked({"elbow": 0.0}), [differential()])


def test_a_singular_coupling_says_what_does_not_move():
    with pytest.raises(SingularCoordinatesError) as error:
        Actuators.of_coupling(JOINTS, [1.0, 2.0, 2.0, 4.0])
    assert "'actuators' are singular everywhere: no joint motion changes" in str(error.value)
    assert "shoulder_actuator" in str(error.value)


def test_a_coupling_of_another_size_is_refused():
    with pytest.raises(ShapeError) as error:
        Actuators.of_coupling(JOINTS, [1.0, 0.0, 1.0])
    assert str(error.value) == (
        "the coupling of 2 joints and their actuators has 3 entries; give 2 x 2 of them, row by "
        "row: one row per actuator"
    )


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda: Actuators.of_coupling(JOINTS, [1.0, np.nan, 0.0, 1.0]),
            "matrix[1] is nan",
        ),
        (
            lambda: Actuators.of_coupling(JOINTS, np.eye(2), ("motor", "motor")),
            "actuator 'motor' stands twice; name each actuator once",
        ),
        (
            lambda: Actuators.of_coupling(JOINTS, np.eye(2), ("motor",)),
            "1 actuator for 2 joints; name one per joint",
        ),
    ],
)
def test_what_is_no_set_of_actuators_is_refused(make, line):
    with pytest.raises(ArgumentError) as error:
        make()
    assert line in str(error.value)


# -- real robots ---------------------------------------------------------------------------------


def example(name):
    """Path of a URDF of example-robot-data."""
    if example_folder() is None:
        pytest.skip("example-robot-data is not installed")
    (path, *_) = sorted(example_folder().rglob(name))
    return path


def reductions(path):
    """Reduction of every simple transmission, straight from the document: by joint."""
    found = {}
    for element in ElementTree.parse(path).getroot().iter("transmission"):
        if (element.findtext("type") or "").endswith("SimpleTransmission"):
            number = element.find("actuator").findtext("mechanicalReduction") or "1"
            found[element.find("joint").get("name")] = float(number)
    return found


@pytest.mark.parametrize("name", ["hyq_no_sensors.urdf", "xarm7.urdf", "so101.urdf"])
def test_geared_robots_need_the_effort_of_the_joint_over_its_reduction(name):
    path = example(name)
    robot = read_urdf(path, require_inertia=False)
    actuators = Actuators.of_transmissions(robot, read_transmissions(path))
    ratio = np.array([reductions(path)[joint] for joint in robot.joint_names])
    tau = np.random.default_rng(5).normal(size=robot.dof)
    np.testing.assert_allclose(actuators.from_joints(tau), tau / ratio, rtol=ROUND_OFF)


def test_the_wrist_of_talos_is_a_differential():
    path = example("talos_left_arm.urdf")
    robot = read_urdf(path)
    actuators = Actuators.of_transmissions(robot, read_transmissions(path))
    wrist = [robot.joint_names.index(f"arm_left_{k}_joint") for k in (6, 7)]
    tau = np.zeros(robot.dof)
    tau[wrist] = 1.0, 0.0
    f = actuators.from_joints(tau)
    assert np.count_nonzero(f) == 2  # both motors bend the wrist, and no other motor
    np.testing.assert_allclose(actuators.to_joints(f), tau, atol=ROUND_OFF)
    # Motors of the two sides push alike for one joint and against each other for the other
    other = np.zeros(robot.dof)
    other[wrist] = 0.0, 1.0
    assert np.prod(f[wrist]) * np.prod(actuators.from_joints(other)[wrist]) < 0.0
