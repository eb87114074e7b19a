"""Physically impossible inertias are refused, and robots that differ from their model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import example_id, example_robot, invertible_examples
from robot_dynamics import read_urdf
from robot_dynamics.errors import ArgumentError, RobotError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation import Plant, check_physical, perturbed, with_mass_scaled
from robot_dynamics.spatial import Inertia, Pose
from strategies import random_state, robots

# Examples whose authors wrote such bodies; read_urdf warns of each of them
UNPHYSICAL = {"romeo_small.urdf": "link 'RShoulderYawLink'"}


def swinging(moments, mass=2.0, com=(0.3, 0.0, 0.0), fixed=None):
    """One body on a joint, with another one fixed to it."""
    links = [Link("base"), Link("arm", Inertia.from_com(mass, com, np.diag(moments)))]
    axis = np.array([0.0, 0.0, 1.0])
    joints = [Joint("hinge", JointType.REVOLUTE, "base", "arm", Pose.identity(), axis)]
    if fixed is not None:
        links.append(Link("tool", Inertia.from_com(*fixed)))
        joints.append(Joint("weld", JointType.FIXED, "arm", "tool", Pose.identity()))
    return Robot("swing", tuple(links), tuple(joints))


@pytest.mark.parametrize(
    ("robot", "what"),
    [
        (
            swinging((0.1, 0.1, -0.01)),
            "inertia is not positive definite (smallest eigenvalue -0.01 kg m^2)",
        ),
        (
            swinging((0.1, 0.1, 0.3)),
            "inertia breaks the triangle inequality (principal moments 0.1, 0.1, 0.3 kg m^2)",
        ),
        (swinging((0.1, 0.1, 0.1), mass=-1.0), "mass is -1 kg"),
    ],
)
def test_a_body_that_cannot_be_is_refused_by_name(robot, what):
    with pytest.raises(RobotError) as error:
        check_physical(robot)
    assert str(error.value) == (
        f"link 'arm', with what is fixed to it, cannot be simulated: {what}; correct its "
        "<inertial> (inverse dynamics takes it as it is)"
    )


@pytest.mark.parametrize(
    "moments",
    [(0.1, 0.1, 0.0), (0.0, 0.0, 0.0), (0.1, 0.1, 0.2), (0.1, 0.1, 0.200001)],
    ids=["rod", "point", "plate", "plate of six digits"],
)
def test_thin_bodies_pass(moments):
    check_physical(swinging(moments))


def test_what_counts_is_the_whole_that_moves():
    """A motor written as negative mass in a housing, or a triangle broken by a small part."""
    check_physical(swinging((0.1, 0.1, 0.1), fixed=(1.0, (0.0, 0.0, 0.0), np.diag([0, 0, 0.05]))))


def test_what_does_not_move_is_not_looked_at():
    robot = swinging((0.1, 0.1, 0.1))
    odd = Link("base", Inertia.from_com(1.0, np.zeros(3), np.diag([0.1, 0.1, 9.0])))
    check_physical(Robot("swing", (odd, *robot.links[1:]), robot.joints))


def test_a_body_of_negative_inertia_would_gain_energy():
    """Why it is refused: pushed forward, it moves backward."""
    plant = Plant(swinging((0.1, 0.1, -1.0), com=(0.0, 0.0, 0.0)))
    plant.step(np.array([1.0]))
    assert plant.qd[0] < 0.0


@given(robots(max_joints=5))
def test_random_solid_bodies_pass(robot):
    check_physical(robot)


@pytest.mark.parametrize("path", invertible_examples(), ids=example_id)
def test_example_robots_pass_but_for_those_with_impossible_bodies(path):
    robot = example_robot(path)
    if path.name not in UNPHYSICAL:
        check_physical(robot)
        return
    with pytest.raises(RobotError, match=UNPHYSICAL[path.name]):
        check_physical(robot)


def test_a_robot_that_cannot_be_simulated_still_has_inverse_dynamics():
    robot = read_urdf(
        """<robot name="odd"><link name="base"/><link name="arm"><inertial><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
        <axis xyz="0 0 1"/></joint></robot>"""
    )
    tau = inverse_dynamics(robot, np.zeros(1), np.zeros(1), np.array([2.0]))
    assert tau == pytest.approx([0.6])
    with pytest.raises(RobotError):
        check_physical(robot)


@given(robots(max_joints=4), st.floats(0.1, 5.0), st.integers(0, 1000))
def test_scaling_all_masses_scales_all_efforts(robot, factor, seed):
    state = random_state(robot, seed)
    tau = inverse_dynamics(robot, *state)
    scaled = inverse_dynamics(with_mass_scaled(robot, factor), *state)
    # Linear in the inertias; the scale is that of the largest terms that cancel
    np.testing.assert_allclose(scaled, factor * tau, rtol=1e-9, atol=1e-9 * np.abs(tau).max())


def test_one_link_can_be_made_heavier_alone(pendulum):
    heavy = with_mass_scaled(pendulum, {"bob": 1.5})
    assert heavy.links[1].inertia.mass == pytest.approx(3.0)
    np.testing.assert_allclose(heavy.links[1].inertia.com, pendulum.links[1].inertia.com)


@given(robots(max_joints=5), st.floats(0.0, 0.5), st.integers(0, 100))
def test_a_perturbed_robot_repeats_with_its_seed_and_stays_within_bounds(robot, error, seed):
    one, same = perturbed(robot, error, seed), perturbed(robot, error, seed)
    for link, again, true in zip(one.links, same.links, robot.links, strict=True):
        assert link.inertia.mass == again.inertia.mass
        assert abs(link.inertia.mass / true.inertia.mass - 1.0) <= error + 1e-12


def test_a_factor_that_is_not_positive_is_refused(pendulum):
    with pytest.raises(ArgumentError) as refusal:
        with_mass_scaled(pendulum, {"bob": 0.0})
    assert str(refusal.value) == "mass factor of link 'bob' is 0.0; give a positive number"


def test_a_link_that_does_not_exist_is_named(pendulum):
    with pytest.raises(UnknownNameError, match=r"no link 'bop' .* did you mean 'bob'"):
        with_mass_scaled(pendulum, {"bop": 1.1})


def test_a_spread_of_everything_is_refused(pendulum):
    with pytest.raises(ArgumentError, match=r"^mass_error is 1\.0; give a relative error"):
        perturbed(pendulum, 1.0, seed=0)
