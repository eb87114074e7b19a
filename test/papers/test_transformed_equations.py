"""Equations of motion in other coordinates: examples 5-3 to 5-5, gears, endpoints, errors."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles import pin_model
from python_kernel import compile_python
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.errors import (
    ArgumentError,
    RobotError,
    ShapeError,
    SingularCoordinatesError,
    UnknownNameError,
)
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.papers.book_arms import planar_two_link
from robot_dynamics.papers.generalized_coordinates import (
    ENDPOINT,
    absolute_angles,
    endpoint_coordinates,
    remote_drives,
)
from robot_dynamics.papers.transformed_equations import transformed_equations
from robot_dynamics.robot.actuator_coordinates import LinearCoordinates, transmission_coordinates
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link, Mimic
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.transmissions import Transmission
from robot_dynamics.spatial import Inertia, Pose
from strategies import chains, random_state, robots, seeds

PLANAR = json.loads((Path(__file__).parents[1] / "data" / "planar_two_link.json").read_text())
ARM, Q, QD, QDD = (PLANAR["arm"], *(np.array(PLANAR[key]) for key in ("q", "qd", "qdd")))

PRINTED = 1e-13  # relative; a closed form of ten terms in float64
ILL_CONDITIONED = 1e-8  # J up to 1e3 and M up to 1e4 in condition, on both sides; round-off 1e-16


def planar(**changes):
    return planar_two_link(**{**ARM, **changes})


def close(ours, theirs, tolerance):
    """Return whether two results agree to that fraction of the largest entry, or of 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return np.max(np.abs(ours - theirs)) < tolerance * (1.0 + np.max(np.abs(theirs)))


# -- examples 5-3 and 5-4: remote drive and absolute angles ----------------------------------------


def test_remote_drive_of_example_5_3_gives_the_printed_generalized_forces():
    robot = planar()
    drives = remote_drives(robot, {"joint2": "base"})
    motors = np.array([2.0, 3.0])
    Q_ = transformed_equations(robot, drives, Q).joint_efforts(motors)
    assert np.array_equal(Q_, [2.0 + 3.0, 3.0])  # (5-48)


def test_absolute_angles_of_example_5_4_have_the_printed_jacobian():
    angles = absolute_angles(planar())
    assert np.array_equal(np.linalg.inv(angles.matrix), [[1.0, 0.0], [-1.0, 1.0]])  # (5-61)
    assert angles.positions(np.array([0.3, 0.9])) == pytest.approx([0.3, 1.2])  # (5-60)


def test_absolute_angles_of_example_5_4_have_the_printed_inertia():
    e = transformed_equations(planar(), absolute_angles(planar()), Q)
    m1, m2, l1, lc1, lc2 = (ARM[key] for key in ("m1", "m2", "l1", "lc1", "lc2"))
    H12 = m2 * l1 * lc2 * np.cos(Q[1])  # cos(p2 - p1)
    printed = [[m1 * lc1**2 + ARM["I1"] + m2 * l1**2, H12], [H12, m2 * lc2**2 + ARM["I2"]]]
    assert pytest.approx(np.array(printed), rel=PRINTED) == e.H  # (5-59)


def test_absolute_angles_of_example_5_4_have_the_printed_equations_of_motion():
    e = transformed_equations(planar(), absolute_angles(planar()), Q)
    m1, m2, l1, lc1, lc2, g = (ARM[key] for key in ("m1", "m2", "l1", "lc1", "lc2", "g"))
    p1, p2 = Q[0], Q[0] + Q[1]
    p1d, p2d, p1dd, p2dd = 0.7, -0.4, 1.5, 1.1
    s21 = m2 * l1 * lc2 * np.sin(p2 - p1)
    tau1 = e.H[0, 0] * p1dd + e.H[0, 1] * p2dd - s21 * p2d**2  # (5-64)
    tau1 += (m1 * lc1 + m2 * l1) * g * np.cos(p1)
    tau2 = e.H[1, 1] * p2dd + e.H[0, 1] * p1dd + s21 * p1d**2 + m2 * lc2 * g * np.cos(p2)
    ours = e.force(np.array([p1d, p2d]), np.array([p1dd, p2dd]))
    assert ours == pytest.approx([tau1, tau2], rel=PRINTED)


def test_no_coriolis_torque_appears_in_absolute_angles():
    """The remark after (5-64): no product of the two rates, and a constant diagonal of H."""
    robot, angles = planar(), absolute_angles(planar())
    e = transformed_equations(robot, angles, Q)
    assert np.max(np.abs(e.h[:, 0, 1] + e.h[:, 1, 0])) < 1e-15
    other = transformed_equations(robot, angles, Q + [0.4, -1.3])
    assert np.diag(other.H) == pytest.approx(np.diag(e.H), rel=PRINTED)


# -- example 5-5: endpoint coordinates -------------------------------------------------------------


def unit_arm():
    """Both links of length 1, the tip at the end of the second."""
    return planar(l1=1.0, tip=1.0)


def test_endpoint_coordinates_of_example_5_5_have_the_printed_inverse_jacobian():
    e = transformed_equations(unit_arm(), endpoint_coordinates(unit_arm(), "tip", ["x", "y"]), Q)
    c1, s1, c12, s12 = np.cos(Q[0]), np.sin(Q[0]), np.cos(Q.sum()), np.sin(Q.sum())
    # The print of (5-65) misplaces rows and signs; this is the inverse of (3-34) as a product
    printed = np.array([[c12, s12], [-c1 - c12, -s1 - s12]]) / np.sin(Q[1])
    assert e.J_inverse == pytest.approx(printed, rel=PRINTED)


def test_endpoint_at_the_stretched_arm_is_singular_and_says_so():
    robot = unit_arm()
    endpoint = endpoint_coordinates(robot, "tip", ["x", "y"])
    with pytest.raises(SingularCoordinatesError) as error:
        transformed_equations(robot, endpoint, [0.0, 0.0])
    assert str(error.value) == (
        "the coordinates 'endpoint tip' are singular at q = (0, 0): no joint motion changes +1 x; "
        "take other coordinates or another position"
    )


@given(chains(min_joints=6, max_joints=6, fixed=False, mimic=False), seeds())
@settings(max_examples=25)
def test_endpoint_inertia_and_force_agree_with_pinocchio_in_operational_space(robot, seed):
    oracle = pin_model(robot)
    q, qd, qdd = random_state(robot, seed)
    tip = robot.tips[0]
    J = oracle.frame_jacobian(q, tip)
    assume(np.linalg.cond(J) < 1e3)  # so that round-off stays far below the tolerance
    e = transformed_equations(robot, endpoint_coordinates(robot, tip, ENDPOINT), q)
    M = oracle.mass_matrix(q)
    assert close(e.H, np.linalg.inv(J @ np.linalg.inv(M) @ J.T), ILL_CONDITIONED)
    pin, model, data = oracle.pin, oracle.model, oracle.data
    pin.forwardKinematics(model, data, oracle.positions(q), oracle.E @ qd)
    pin.computeJointJacobiansTimeVariation(model, data, oracle.positions(q), oracle.E @ qd)
    frame = model.getFrameId(tip, pin.FrameType.BODY)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    dJ = pin.getFrameJacobianTimeVariation(model, data, frame, axes) @ oracle.E
    force = np.linalg.solve(J.T, oracle.inverse(q, qd, qdd))
    assert close(e.force(J @ qd, J @ qdd + dJ @ qd), force, ILL_CONDITIONED)


def test_redundant_robot_fills_up_its_endpoint_with_a_joint():
    robot = planar(tip=0.8)
    endpoint = endpoint_coordinates(robot, "tip", ["x", "joint1"])
    e = transformed_equations(robot, endpoint, Q)
    assert np.array_equal(e.J[1], [1.0, 0.0])
    assert endpoint.positions(Q)[1] == Q[0]


@given(robots(max_joints=5), st.data())
def test_derivatives_of_the_endpoint_jacobian_are_exact(robot, data):
    q = random_state(robot, data.draw(seeds()))[0]
    frame = data.draw(st.sampled_from([link.name for link in robot.links]))
    known = (*ENDPOINT, *robot.joint_names)
    names = data.draw(st.permutations(known))[: robot.dof]
    endpoint = endpoint_coordinates(robot, frame, names)
    h = 1e-6
    for k, e in enumerate(np.eye(robot.dof)):
        slope = (endpoint.jacobian(q + h * e) - endpoint.jacobian(q - h * e)) / (2 * h)
        exact = endpoint.jacobian_derivatives(q)[:, :, k]
        assert np.allclose(exact, slope, rtol=0, atol=1e-8)  # h^2 and round-off / h, both 1e-10
        if endpoint.holonomic:
            slope = (endpoint.positions(q + h * e) - endpoint.positions(q - h * e)) / (2 * h)
            assert np.allclose(endpoint.jacobian(q)[:, k], slope, rtol=0, atol=1e-8)


def test_angular_velocities_have_no_positions():
    endpoint = endpoint_coordinates(planar(tip=1.0), "tip", ["x", "wz"])
    with pytest.raises(ArgumentError, match="wx, wy and wz are angular velocities, the rates of"):
        endpoint.positions(Q)


# -- any coordinates -------------------------------------------------------------------------------


def random_linear(robot, seed):
    rng = np.random.default_rng(seed)
    n = robot.dof
    matrix = np.eye(n) + 0.3 * rng.uniform(-1, 1, (n, n)) / n  # far from singular
    names = tuple(f"p{i}" for i in range(n))
    return LinearCoordinates("mixed", names, matrix, rng.normal(size=n))


@given(robots(), seeds())
def test_motion_and_force_are_the_same_in_any_linear_coordinates(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    mixed = random_linear(robot, seed)
    e = transformed_equations(robot, mixed, q)
    tau = inverse_dynamics(robot, q, qd, qdd)
    force = e.force(mixed.matrix @ qd, mixed.matrix @ qdd)
    assert close(force, e.generalized_force(tau), 1e-11)
    assert close(e.joint_efforts(force), tau, 1e-11)
    assert close(mixed.joint_positions(mixed.positions(q)), q, 1e-13)


@given(chains(min_joints=3, max_joints=4, fixed=False, mimic=False), seeds(), st.integers(1, 3))
@settings(max_examples=25)
def test_coefficients_by_5_52_give_the_force_that_needs_no_positions(robot, seed, places):
    """(5-52) for coordinates that are functions of q, against pdd = J qdd + dJ/dt qd."""
    q, qd, _ = random_state(robot, seed)
    names = ("x", "y", "z")[:places] + robot.joint_names[places:]
    endpoint = endpoint_coordinates(robot, robot.tips[0], names)
    assume(np.linalg.cond(endpoint.jacobian(q)) < 1e3)
    by_positions = transformed_equations(robot, endpoint, q)
    by_rates = transformed_equations(robot, replace(endpoint, holonomic=False), q)
    pd = endpoint.jacobian(q) @ qd
    assert close(by_positions.bias(pd), by_rates.bias(pd), ILL_CONDITIONED)


@given(robots(), seeds())
def test_kinetic_energy_is_the_same_in_any_coordinates(robot, seed):
    q, qd, _ = random_state(robot, seed)
    mixed = random_linear(robot, seed)
    pd = mixed.matrix @ qd
    e = transformed_equations(robot, mixed, q)
    assert close(pd @ e.H @ pd, qd @ pin_model(robot).mass_matrix(q) @ qd, 1e-11)  # (5-50)


@pytest.mark.parametrize("names", [("x", "y"), ("y", "joint1"), ("x", "wz")])
def test_traced_endpoint_equations_compute_what_the_numbers_give(names):
    robot = planar(tip=0.8)
    endpoint = endpoint_coordinates(robot, "tip", names)

    def force(q, pd, pdd):
        return transformed_equations(robot, endpoint, q).force(pd, pdd)

    kernel = compile_python(trace("force", force, dict.fromkeys(("q", "pd", "pdd"), (2,))))
    assert close(kernel(Q, QD, QDD), force(Q, QD, QDD), PRINTED)


def test_symbols_of_coordinates_that_never_move_are_refused_by_name():
    robot = planar(tip=0.8)
    endpoint = endpoint_coordinates(robot, "tip", ["x", "z"])  # the arm is planar: z stays

    def H(q):
        return transformed_equations(robot, endpoint, q).H

    with pytest.raises(SingularCoordinatesError) as error:
        trace("inertia", H, {"q": (2,)})
    assert str(error.value) == (
        "the coordinates 'endpoint tip' are singular everywhere: det J = 0; take other coordinates"
    )


def gears(*reductions):
    """Motor angles behind gears of the two joints."""
    return LinearCoordinates("gears", ("joint1", "joint2"), np.diag(reductions), np.zeros(2))


def test_coordinates_of_another_robot_are_refused():
    lift = Robot(
        "lift",
        (Link("base"), Link("cage", Inertia.from_com(1.0, np.zeros(3), np.zeros((3, 3))))),
        (Joint("slide", JointType.PRISMATIC, "base", "cage", Pose.identity(), (0.0, 0.0, 1.0)),),
    )
    with pytest.raises(ShapeError) as error:
        transformed_equations(lift, gears(1.0, 1.0), [0.0])
    assert str(error.value) == (
        "the coordinates 'gears' are 2 for robot 'lift' of 1 joint; give as many coordinates as "
        "joints"
    )


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (
            ["x", "roll"],
            UnknownNameError,
            "no coordinate 'roll' in frame 'tip' of 'planar' (coordinates: x, y, z, wx, wy, wz, "
            "joint1, joint2)",
        ),
        (
            ["x"],
            ArgumentError,
            "the endpoint of robot 'planar' has 2 joints behind it and got the coordinates x; give "
            "2 different ones of x, y, z, wx, wy, wz, joint1, joint2",
        ),
    ],
)
def test_wrong_endpoint_names_say_which_are_possible(names, kind, message):
    with pytest.raises(kind) as error:
        endpoint_coordinates(planar(tip=1.0), "tip", names)
    assert str(error.value) == message


# -- gears, transmissions and other drives ---------------------------------------------------------


def test_gear_multiplies_angle_and_divides_torque():
    robot = planar()
    e = transformed_equations(robot, gears(1.0, 50.0), Q)
    plain = transformed_equations(robot, gears(1.0, 1.0), Q)
    assert pytest.approx(np.diag([1.0, 50.0])) == e.J
    assert e.H[1, 1] == pytest.approx(plain.H[1, 1] / 50.0**2, rel=PRINTED)
    assert e.generalized_force(np.array([10.0, 100.0])) == pytest.approx([10.0, 2.0], rel=PRINTED)


def test_gear_of_ratio_zero_is_singular_and_names_the_joint():
    with pytest.raises(SingularCoordinatesError) as error:
        gears(1.0, 0.0)
    assert str(error.value) == (
        "the coordinates 'gears' are singular everywhere: no joint motion changes +1 joint2; take "
        "other coordinates or another position"
    )


def test_four_bar_transmission_is_the_remote_drive_of_example_5_3():
    robot = planar()
    box = Transmission("belt", ("joint1", "joint2"), ("motor1", "motor2"), [[1, 0], [1, 1]], [0, 0])
    coordinates = transmission_coordinates(robot, [box])
    assert coordinates.names == ("motor1", "motor2")
    assert np.array_equal(coordinates.matrix, remote_drives(robot, {"joint2": "base"}).matrix)


def leg(axes, types=None):
    """Chain of joints with the given axes in their parents, 0.2 m apart."""
    types = types or [JointType.REVOLUTE] * len(axes)
    body = Inertia.from_com(1.0, [0.1, 0.0, 0.0], np.diag([0.01, 0.01, 0.01]))
    links = [Link("base")] + [Link(f"link{k + 1}", body) for k in range(len(axes))]
    place = Pose(np.eye(3), np.array([0.2, 0.0, 0.0]))
    joints = [
        Joint(
            f"j{k + 1}", kind, links[k].name, links[k + 1].name, place, np.array(axis, dtype=float)
        )
        for k, (axis, kind) in enumerate(zip(axes, types, strict=True))
    ]
    return Robot("leg", tuple(links), tuple(joints))


def test_absolute_angles_count_antiparallel_joints_backwards_and_stop_at_another_direction():
    y, z = (0, 1, 0), (0, 0, 1)
    robot = leg([z, y, (0, -1, 0), y])
    assert np.array_equal(
        absolute_angles(robot).matrix,
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, -1, 1, 0], [0, 1, -1, 1]],
    )


def test_absolute_angles_look_past_sliding_joints():
    z = (0, 0, 1)
    kinds = [JointType.REVOLUTE, JointType.PRISMATIC, JointType.REVOLUTE]
    robot = leg([z, (1, 0, 0), z], kinds)
    assert np.array_equal(absolute_angles(robot).matrix, [[1, 0, 0], [0, 1, 0], [1, 0, 1]])


def test_absolute_angles_follow_a_mimic_joint():
    """j2 turns half as far as j1, so link 3 turns by 1.5 q1 + q3, less the offset."""
    z = (0, 0, 1)
    robot = leg([z, z, z])
    joints = list(robot.joints)
    joints[1] = replace(joints[1], mimic=Mimic("j1", 0.5, 0.1))
    robot = replace(robot, joints=tuple(joints))
    angles = absolute_angles(robot)
    assert np.array_equal(angles.matrix, [[1.0, 0.0], [1.5, 1.0]])
    assert angles.positions(np.zeros(2)) == pytest.approx([0.0, 0.1])


@pytest.mark.parametrize(
    ("joint", "link", "message"),
    [
        (
            "j3",
            "base",
            "the drive of joint 'j3' from link 'base' passes joint 'j1', which is not parallel to "
            "it; give the matrix of this drive to LinearCoordinates",
        ),
        (
            "j1",
            "link3",
            "the motor of joint 'j1' cannot stand on link 'link3', which does not lie between the "
            "joint and the base; name a link that carries the joint",
        ),
        (
            "j4",
            "base",
            "joint 'j4' slides: a chain that passes other joints turns; give the matrix of this "
            "drive to LinearCoordinates",
        ),
    ],
)
def test_impossible_remote_drive_says_why(joint, link, message):
    y, z = (0, 1, 0), (0, 0, 1)
    robot = leg([z, y, y, y], [JointType.REVOLUTE] * 3 + [JointType.PRISMATIC])
    with pytest.raises(RobotError) as error:
        remote_drives(robot, {joint: link})
    assert str(error.value) == message


def test_remote_drive_of_an_unknown_joint_or_link_is_refused():
    with pytest.raises(UnknownNameError, match="no joint 'elbow'"):
        remote_drives(planar(), {"elbow": "base"})
    with pytest.raises(UnknownNameError, match="no frame 'floor'"):
        remote_drives(planar(), {"joint2": "floor"})
