"""The robots in urdf/, compared with the papers that they come from."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.errors import RobotError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.robot.catalogue import find_robot, shipped_robots
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.simulation.perturbed_robot import check_physical

DATA = Path(__file__).parents[1] / "data"
INCH, POUND = 0.0254, 0.45359237  # m, kg
POUND_INCH = 4.4482216152605 * INCH  # lbf in in N m


@pytest.mark.parametrize("name", shipped_robots())
def test_a_shipped_robot_can_be_read_and_drawn(name):
    path = find_robot(name)
    robot = read_urdf(path)
    assert robot.name == name
    assert np.all(np.isfinite(robot.limits.effort))
    assert "<mesh" not in path.read_text()  # so that rviz needs no other file


# -- planar_2r ----------------------------------------------------------------------------------


def planar_torques(q, qd, qdd):
    """[AsadaSlotine1986], equations (5-11) and (5-12), with the numbers of the URDF."""
    m1, m2, l1, lc1, lc2, I1, I2, g = 10.0, 8.0, 1.0, 0.5, 0.5, 0.9, 0.7, 9.81
    (t1, t2), (w1, w2), (a1, a2) = q, qd, qdd
    H11 = m1 * lc1**2 + I1 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * np.cos(t2)) + I2
    H12 = m2 * l1 * lc2 * np.cos(t2) + m2 * lc2**2 + I2
    H22 = m2 * lc2**2 + I2
    h = m2 * l1 * lc2 * np.sin(t2)
    G2 = m2 * lc2 * g * np.cos(t1 + t2)
    G1 = m1 * lc1 * g * np.cos(t1) + m2 * g * l1 * np.cos(t1) + G2
    return np.array(
        [
            H11 * a1 + H12 * a2 - h * w2**2 - 2 * h * w1 * w2 + G1,
            H22 * a2 + H12 * a1 + h * w1**2 + G2,
        ]
    )


def test_the_planar_arm_has_the_torques_of_its_closed_form():
    robot = read_urdf(find_robot("planar_2r"))
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, qd, qdd = rng.uniform(-3.0, 3.0, (3, 2))
        theirs = planar_torques(q, qd, qdd)
        # Round-off of about twenty terms of some 100 N m
        assert_allclose(inverse_dynamics(robot, q, qd, qdd), theirs, atol=1e-12 * 400)


def test_the_planar_arm_has_the_torques_of_the_worked_state():
    robot = read_urdf(find_robot("planar_2r"))
    tau = inverse_dynamics(robot, (0.3, 0.9), (0.7, -1.1), (1.5, -0.4))
    assert_allclose(tau, (163.6217159346, 22.4538988382), atol=5.1e-11)  # as many digits as given


def test_the_planar_arm_needs_no_torque_when_it_hangs_straight_down():
    robot = read_urdf(find_robot("planar_2r"))
    tau = inverse_dynamics(robot, (-np.pi / 2, 0.0), np.zeros(2), np.zeros(2))
    assert_allclose(tau, np.zeros(2), atol=1e-13)  # the cosine of pi/2 is 6e-17


def test_the_planar_arm_is_read_without_a_warning(caplog):
    read_urdf(find_robot("planar_2r"))
    assert caplog.records == []


# -- puma_gupta ---------------------------------------------------------------------------------

# [Gupta1986] tables 1 and 2: u, s (in), b (in), weight (lbf), Ixx, Iyy, Izz (lbf in s^2)
TABLES = [
    ((0, 0, 1), (0, 5, 0), (0, 10, 0), 10, (0.230, 0.005, 0.230)),
    ((0, 1, 0), (8, 2, 0), (17, 0, 0), 16, (0.069, 1.453, 1.394)),
    ((0, 1, 0), (0, 0, -9), (0, 0, -17), 12, (1.405, 1.385, 0.034)),  # printed: 1.585
    ((0, 0, 1), (0, 0, -1), (0, 0, 0), 1, (0.001, 0.001, 0.0001)),
    ((0, -1, 0), (0, -1, 0), (0, 0, 0), 1, (0.001, 0.0001, 0.001)),
    ((0, 0, -1), (0, 0, -3), (0, 0, -5), 6, (0.069, 0.069, 0.01)),
]


def test_the_puma_has_the_tables_of_its_paper():
    robot = merge_fixed(read_urdf(find_robot("puma_gupta")))
    origins = [joint.origin.translation for joint in robot.joints[1:]]
    origins.append(robot.frames["hand"].pose.translation)
    for k, (u, s, b, weight, moments) in enumerate(TABLES):
        joint, body = robot.joints[k], robot.links[k + 1].inertia
        assert_allclose(joint.axis, u, atol=0)
        assert_allclose(joint.origin.rotation, np.eye(3), atol=0)
        assert_allclose(origins[k], np.array(b) * INCH, atol=1e-16)  # decimals against products
        assert_allclose(body.com, np.array(s) * INCH, atol=1e-16)
        assert_allclose(body.mass, weight * POUND, rtol=1e-15)
        # Brought to the joint and back: round-off of m s^2, up to 0.35 kg m^2
        assert_allclose(body.about_com, np.diag(moments) * POUND_INCH, atol=1e-15)


def reference_states():
    reference = json.loads((DATA / "puma_gupta_torques.json").read_text())
    columns = ("q", "qd", "qdd", "tau")
    return reference["gravity"], [[s[name] for name in columns] for s in reference["samples"]]


def test_the_puma_as_printed_has_the_torques_of_two_independent_computations():
    gravity, states = reference_states()
    robot = puma_type_arm("printed").to_robot().with_gravity(gravity)
    for q, qd, qdd, theirs in states:
        tau = inverse_dynamics(robot, q, qd, qdd)
        # float64 on both sides: worst sample 4e-16 of the largest torque of all joints
        assert_allclose(tau, theirs, rtol=0, atol=1e-13 * np.max(np.abs(theirs)))


def test_the_shipped_puma_is_the_physical_reading_and_has_bodies_that_there_can_be(caplog):
    robot = read_urdf(find_robot("puma_gupta"))
    assert caplog.records == []
    check_physical(robot)
    with pytest.raises(RobotError, match=r"link 'link_4', .* cannot be simulated"):
        check_physical(puma_type_arm("printed").robot)
    state = np.random.default_rng(3).normal(size=(3, 6))
    table = puma_type_arm("physical").to_robot().with_gravity(robot.gravity)
    ours = inverse_dynamics(table, *state)
    # Decimals in the file against products of inches: round-off
    assert_allclose(inverse_dynamics(robot, *state), ours, atol=1e-13 * np.abs(ours).max())


def test_the_readings_of_the_puma_differ_by_little_on_its_circle():
    gravity, states = reference_states()
    physical = read_urdf(find_robot("puma_gupta")).with_gravity(gravity)
    change = max(
        np.max(np.abs(inverse_dynamics(physical, q, qd, qdd) - printed))
        for q, qd, qdd, printed in states
    )
    assert 0.0 < change < 0.008  # N m, as the comment in the URDF says
