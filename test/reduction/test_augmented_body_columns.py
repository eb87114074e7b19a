"""The recursion on a column of b, for any tree in joint frames and all options."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arms import renaud_6r
from oracles import relative_error
from python_kernel import compile_python
from robot_dynamics.compiler.graph.trace import operation_count, trace
from robot_dynamics.errors import RobotError
from robot_dynamics.formulations import augmented_body, newton_euler
from robot_dynamics.reduction.augmented_body_columns import (
    Angle,
    RecursionOptions,
    from_column,
    inertial_moment,
    inverse_dynamics,
)
from robot_dynamics.robot.joint_frames import joint_frames
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import regroup
from robot_dynamics.spatial import Pose, second_mass_moment, to_child, to_parent
from strategies import random_inertia, random_rotation, random_wrenches, robots, seeds, state_of

# float64; 2000 random trees stay below 1e-12 of the largest torque, a wrong sign gives 1e-1
ROUND_OFF = 1e-10

OPTIONS = [
    RecursionOptions(unrotated, diagonal)
    for unrotated in (False, True)
    for diagonal in ("", "xx", "yy")
]


def parallel_run(signs, seed):
    """A chain of revolute joints about one direction, back and forth, and one across at the end."""
    rng = np.random.default_rng(seed)
    joints, links = [], [Link("base")]
    for k, sign in enumerate([*signs, 0]):
        flip = np.diag([1.0, sign, sign]) if sign else np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
        origin = Pose(np.asarray(flip, float), rng.normal(size=3))
        kind, z = JointType.REVOLUTE, np.array([0.0, 0.0, 1.0])
        joints.append(Joint(f"q{k}", kind, links[-1].name, f"link{k}", origin, z))
        links.append(Link(f"link{k}", random_inertia(rng)))
    return Robot("run", tuple(links), tuple(joints), rng.normal(size=3))


@given(robots(fixed=False), seeds(), st.data())
def test_agrees_with_newton_euler_however_it_is_written(tree, seed, data):
    options = [data.draw(st.sampled_from(OPTIONS)) for _ in tree.joints]
    framed, state, wrenches = joint_frames(tree), state_of(tree, seed), random_wrenches(tree, seed)
    ours = inverse_dynamics(framed, *state, wrenches, options)
    expected = newton_euler.inverse_dynamics(framed, *state, wrenches)
    assert relative_error(ours, expected) < ROUND_OFF


@given(st.lists(st.sampled_from([1, -1]), min_size=2, max_size=4), seeds(), st.data())
def test_runs_of_parallel_joints_may_have_unrotated_axes(signs, seed, data):
    run = parallel_run(signs, seed)
    options = [RecursionOptions(data.draw(st.booleans())) for _ in run.joints]
    state, wrenches = state_of(run, seed), random_wrenches(run, seed)
    ours = inverse_dynamics(run, *state, wrenches, options)
    expected = newton_euler.inverse_dynamics(run, *state, wrenches)
    assert relative_error(ours, expected) < ROUND_OFF


@given(robots(fixed=False), seeds())
def test_regrouped_bodies_give_the_same_torques(tree, seed):
    framed, state, wrenches = joint_frames(tree), state_of(tree, seed), random_wrenches(tree, seed)
    ours = inverse_dynamics(regroup(framed), *state, wrenches)
    expected = newton_euler.inverse_dynamics(framed, *state, wrenches)
    assert relative_error(ours, expected) < ROUND_OFF


@given(seeds())
def test_gravity_may_be_a_symbol(seed):
    robot, state = joint_frames(renaud_6r()), np.random.default_rng(seed).normal(size=(3, 6))
    g = np.random.default_rng(seed + 1).normal(size=3)

    def equations(q, qd, qdd, gravity_vector):
        tilted = Robot(robot.name, robot.links, robot.joints, gravity_vector)
        return inverse_dynamics(tilted, q, qd, qdd, {})

    inputs = {"q": (6,), "qd": (6,), "qdd": (6,), "gravity_vector": (3,)}
    ours = compile_python(trace("inverse", equations, inputs))(*state, g)
    expected = newton_euler.inverse_dynamics(robot.with_gravity(g), *state, {})
    assert relative_error(ours, expected) < ROUND_OFF


def test_axis_that_is_not_z_is_refused_with_the_remedy():
    y = np.array([0.0, 1.0, 0.0])
    joint = Joint("elbow", JointType.REVOLUTE, "base", "arm", Pose.identity(), y)
    robot = Robot("r", (Link("base"), Link("arm")), (joint,))
    with pytest.raises(RobotError) as error:
        inverse_dynamics(robot, np.zeros(1), np.zeros(1), np.zeros(1), {})
    assert str(error.value) == (
        "joint 'elbow' does not turn about the z axis of its link; "
        "use robot_dynamics.robot.joint_frames.joint_frames first"
    )


# -- its pieces -------------------------------------------------------------------------------


@pytest.mark.parametrize("diagonal", ["", "xx", "yy"])
@given(seed=seeds())
def test_column_of_b_determines_angular_acceleration_and_b(diagonal, seed):
    omega, a = np.random.default_rng(seed).normal(size=(2, 3))
    b = augmented_body.tensor_b(a, np.outer(omega, omega))
    found_a, found_b = from_column(b[:, 2], omega, a[2], diagonal)
    assert found_a == pytest.approx(a, abs=1e-13)
    assert found_b == pytest.approx(b, abs=1e-13)


@given(seeds())
def test_column_of_b_on_a_joint_does_not_depend_on_the_joint(seed):
    # b_i z = R^T b_(i-1) z for a revolute joint about z, for any rate and acceleration
    rng = np.random.default_rng(seed)
    z = np.array([0.0, 0.0, 1.0])
    omega, a = rng.normal(size=(2, 3))
    qd, qdd = rng.normal(size=2)
    before = augmented_body.tensor_b(a, np.outer(omega, omega))
    omega_i, a_i = omega + qd * z, a + qdd * z + qd * np.cross(omega, z)
    after = augmented_body.tensor_b(a_i, np.outer(omega_i, omega_i))
    assert after @ z == pytest.approx(before @ z, abs=1e-13)


@given(seeds())
def test_inertial_moment_is_that_of_euler(seed):
    rng = np.random.default_rng(seed)
    omega, a = rng.normal(size=(2, 3))
    body = random_inertia(rng)
    b = augmented_body.tensor_b(a, np.outer(omega, omega))
    expected = body.second_moment @ a + np.cross(omega, body.second_moment @ omega)
    assert inertial_moment(b, omega, second_mass_moment(body)) == pytest.approx(expected, abs=1e-12)


@given(seeds())
def test_turning_out_undoes_turning_in(seed):
    rng = np.random.default_rng(seed)
    turns = Angle(variable=rng.normal(), varies=True).about_z()
    v = rng.normal(size=3)
    assert to_child(turns, to_parent(turns, v)) == pytest.approx(v, abs=1e-14)


@given(seeds())
def test_tensor_in_unrotated_axes_turns_like_a_tensor(seed):
    rng = np.random.default_rng(seed)
    S, angle = rng.normal(size=(3, 3)), rng.normal()
    S = S + S.T
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    turned = Angle(variable=angle, varies=True).turn_tensor(S)
    assert turned == pytest.approx(R @ S @ R.T, abs=1e-13)


def test_right_angles_cost_nothing():
    def quarter(q):
        return np.array(Angle(0.0, 1.0, q[0], True).cos_sin())

    count = operation_count(trace("quarter", quarter, {"q": (1,)}))
    assert (count.arithmetic, count.sines_cosines) == (0, 2)


@given(seeds())
def test_first_axis_turns_gravity_away_from_y(seed):
    # On the base any axes may stand before the joint; gravity then costs two products
    rng = np.random.default_rng(seed)
    z = np.array([0.0, 0.0, 1.0])
    origin = Pose(random_rotation(rng), rng.normal(size=3))
    bob = Link("bob", random_inertia(rng))
    joint = Joint("pivot", JointType.REVOLUTE, "base", "bob", origin, z)
    robot = Robot("pendulum", (Link("base"), bob), (joint,), rng.normal(size=3))

    def at_rest(q):
        return inverse_dynamics(regroup(robot), q, np.zeros(1), np.zeros(1), {})

    count = operation_count(trace("gravity", at_rest, {"q": (1,)}))
    assert count.multiplications <= 4  # two for gravity, two for the first moment


@given(seeds())
def test_slide_in_other_axes_than_its_unrotated_parent(seed):
    # joint_frames never leaves this, but the equations do not ask where frames come from
    rng = np.random.default_rng(seed)
    z = np.array([0.0, 0.0, 1.0])
    kinds = [JointType.REVOLUTE, JointType.REVOLUTE, JointType.PRISMATIC, JointType.REVOLUTE]
    joints, links = [], [Link("base")]
    for k, kind in enumerate(kinds):
        origin = Pose(random_rotation(rng), rng.normal(size=3))
        joints.append(Joint(f"q{k}", kind, links[-1].name, f"link{k}", origin, z))
        links.append(Link(f"link{k}", random_inertia(rng)))
    tree = Robot("arm", tuple(links), tuple(joints), rng.normal(size=3))
    state, wrenches = state_of(tree, seed), random_wrenches(tree, seed)
    ours = inverse_dynamics(tree, *state, wrenches, [RecursionOptions(unrotated=True)] * 4)
    expected = newton_euler.inverse_dynamics(tree, *state, wrenches)
    assert relative_error(ours, expected) < ROUND_OFF
