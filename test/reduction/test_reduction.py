"""Reductions: fewer operations, the same torques, and no visible unphysical bodies."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings

from arms import renaud_6r
from oracles import (
    THOROUGH,
    example_folder,
    example_robot,
    example_urdfs,
    examples,
    has_few_joints,
    relative_error,
)
from robot_dynamics.algorithms.composite_body import mass_matrix
from robot_dynamics.compiler.graph.optimize import PASSES, gather_multiples, optimize
from robot_dynamics.compiler.graph.trace import operation_count, trace
from robot_dynamics.formulations import newton_euler
from robot_dynamics.reduction import HARMLESS, reduce, reduce_to_solve
from robot_dynamics.reduction.reduced_robot import change_of
from robot_dynamics.robot.endpoint import wrench_on_link
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.spatial import Inertia, Pose
from strategies import random_inertia, robots, seeds, state_of

# float64; 2000 random trees stay below 1e-12 of the largest torque, a wrong sign gives 1e-1
ROUND_OFF = 1e-10
# URDFs round angles: a right angle of 12 digits is off by 5e-12, torques by a few times as much
SNAPPED = 1e-9


def efforts(reduced, state, wrenches=None):
    return reduced.inverse_dynamics(reduced.robot, *state, wrenches or {})


def count(reduced, passes=PASSES):
    n = len(reduced.robot.joints)
    inputs = dict.fromkeys(("q", "qd", "qdd"), (n,))
    program = trace("inverse", lambda **state: efforts(reduced, state.values()), inputs)
    return operation_count(optimize(program, passes))


def example(urdf):
    folder = example_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    return example_robot(folder / urdf)


def example_text(urdf):
    folder = example_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    return (folder / urdf).read_text()


def panda_with_locked_fingers():
    robot = example("panda_description/urdf/panda.urdf")
    locked = [
        replace(joint, type=JointType.FIXED, mimic=None) if "finger" in joint.name else joint
        for joint in robot.joints
    ]
    return replace(robot, joints=tuple(locked))


ARMS = {
    "renaud": renaud_6r,
    "ur5": lambda: example("ur_description/urdf/ur5_robot.urdf"),
    "kinova": lambda: example("kinova_description/robots/kinova.urdf"),
    "panda": panda_with_locked_fingers,
    "talos": lambda: example("talos_data/robots/talos_reduced.urdf"),
}


@cache
def searched(arm):
    """The result of a search, which several tests look at."""
    return reduce(ARMS[arm](), search=True)


@cache
def searched_again():
    """Return the result of a second search of Renaud's arm, and its reported progress."""
    steps = []
    tell = lambda done, total: steps.append((done, total))  # noqa: E731
    return reduce(renaud_6r(), search=True, progress=tell), steps


# -- the same robot ---------------------------------------------------------------------------


@given(robots(fixed=False), seeds())
def test_quick_reduction_changes_no_torque(tree, seed):
    state = state_of(tree, seed)
    expected = newton_euler.inverse_dynamics(tree, *state, {})
    assert relative_error(efforts(reduce(tree), state), expected) < ROUND_OFF


@settings(max_examples=6)  # each example is a search
@given(robots(max_joints=5), seeds())
def test_search_changes_no_torque(robot, seed):
    tree = merge_fixed(robot)
    state = state_of(tree, seed)
    expected = newton_euler.inverse_dynamics(tree, *state, {})
    # Masses as large as the robot's may be shared at the end of a long lever
    assert relative_error(efforts(reduce(robot, search=True), state), expected) < 100 * ROUND_OFF


SOME = [path for path in example_urdfs()[::3] if merge_fixed(example_robot(path)).joints]


@pytest.mark.parametrize("path", examples(list(filter(has_few_joints, SOME)), SOME))
def test_reduced_example_robots_have_the_same_torques(path):
    tree = merge_fixed(example_robot(path))
    state = state_of(tree, 0)
    expected = newton_euler.inverse_dynamics(tree, *state, {})
    assert relative_error(efforts(reduce(tree), state), expected) < SNAPPED


@given(robots())
def test_what_serves_accelerations_is_not_reduced_again(robot):
    tree = merge_fixed(robot)
    reduced, own = reduce(tree), reduce(tree, accelerations=True)
    found = reduce_to_solve(tree, reduced)
    change = change_of(tree, reduced, accelerations=True)
    assert (found.robot is reduced.robot) == (change <= HARMLESS)
    assert found.torque_residual <= max(HARMLESS, own.torque_residual)


def test_what_loses_digits_of_accelerations_is_reduced_again():
    tree = merge_fixed(renaud_6r())
    reduced = reduce(tree)
    *links, finger = reduced.robot.links
    spoiled = replace(finger, inertia=finger.inertia + Inertia(1e-9, np.zeros(3), np.eye(3) * 1e-9))
    worse = replace(reduced, robot=replace(reduced.robot, links=(*links, spoiled)))
    found = reduce_to_solve(tree, worse)
    assert change_of(tree, worse, accelerations=True) > HARMLESS
    assert change_of(tree, found, accelerations=True) <= HARMLESS


SEARCHES = [pytest.param(arm, marks=() if arm == "ur5" else THOROUGH) for arm in ARMS]
"""That of talos takes most of a minute."""


@pytest.mark.parametrize("arm", SEARCHES)
def test_searched_arms_have_the_same_torques(arm):
    tree = merge_fixed(ARMS[arm]())
    state = state_of(tree, 0)
    expected = newton_euler.inverse_dynamics(tree, *state, {})
    assert relative_error(efforts(searched(arm), state), expected) < SNAPPED


@given(robots(), seeds())
def test_wrench_at_a_named_frame_is_where_it_was(robot, seed):
    tree, rng = merge_fixed(robot), np.random.default_rng(seed)
    reduced, state = reduce(robot), state_of(tree, seed)
    for frame in robot.frame_names:
        if tree.frame(frame).link == robot.links[0].name:
            continue
        wrench = rng.normal(size=6)
        ours = efforts(reduced, state, dict([wrench_on_link(reduced.robot, wrench, frame)]))
        wrenches = dict([wrench_on_link(tree, wrench, frame)])
        expected = newton_euler.inverse_dynamics(tree, *state, wrenches)
        assert relative_error(ours, expected) < ROUND_OFF, frame


@given(robots(fixed=False), seeds())
def test_load_may_be_added_to_a_reduced_robot(tree, seed):
    rng = np.random.default_rng(seed)
    load, state = random_inertia(rng), state_of(tree, seed)
    at = int(rng.integers(1, len(tree.links)))

    def loaded(robot):
        place = robot.frame(tree.links[at].name)
        links = list(robot.links)
        i = robot.link_index(place.link)
        links[i] = replace(links[i], inertia=links[i].inertia + load.expressed_in(place.pose))
        return replace(robot, links=tuple(links))

    reduced = reduce(tree)
    ours = reduced.inverse_dynamics(loaded(reduced.robot), *state, {})
    assert relative_error(ours, newton_euler.inverse_dynamics(loaded(tree), *state, {})) < ROUND_OFF


@given(robots(fixed=False), seeds())
def test_gravity_of_a_reduced_robot_may_change(tree, seed):
    reduced, state = reduce(tree), state_of(tree, seed)
    g = np.random.default_rng(seed).normal(size=3)
    ours = reduced.inverse_dynamics(reduced.robot.with_gravity(g), *state, {})
    expected = newton_euler.inverse_dynamics(tree.with_gravity(g), *state, {})
    # A load that gravity alone supported is a difference of large numbers
    assert relative_error(ours, expected) < ROUND_OFF


@given(robots(fixed=False), seeds())
def test_mass_matrix_of_the_reduced_robot_is_the_robots(tree, seed):
    q = state_of(tree, seed)[0]
    assert relative_error(mass_matrix(reduce(tree).robot, q), mass_matrix(tree, q)) < ROUND_OFF


def test_the_robot_itself_keeps_its_bodies():
    robot = renaud_6r()
    masses = [link.inertia.mass for link in robot.links]
    reduced = reduce(robot)
    assert [link.inertia.mass for link in robot.links] == masses
    assert reduced.robot.links[-1].inertia.mass == 0.0  # given to the links before it


@pytest.mark.thorough
def test_reduction_is_repeatable():
    first, (second, _) = searched("renaud"), searched_again()
    assert first.options == second.options
    assert first.length_unit == second.length_unit
    for a, b in zip(first.robot.links, second.robot.links, strict=True):
        assert np.array_equal(a.inertia.second_moment, b.inertia.second_moment)


def test_rounded_angles_are_snapped_and_the_change_is_reported():
    text = example_text("ur_description/urdf/ur5_robot.urdf")
    assert "1.57079632679" in text  # taken as a right angle when it is read; so a coarser one:
    reduced = reduce(read_urdf(text.replace("1.57079632679", "1.57079632675")))
    assert 4.4e-11 < reduced.residual.angle < 4.6e-11
    assert 0.0 < reduced.torque_residual < HARMLESS


def test_angles_that_change_torques_are_not_snapped():
    # A hinge that is vertical but for 5e-10 rad: within the loosest tolerance, but all its load
    tilt = 5e-10
    axis = np.array([0.0, -np.sin(tilt), np.cos(tilt)])
    R = np.array([[1, 0, 0], [0, axis[2], axis[1]], [0, -axis[1], axis[2]]])
    hinge = Joint(
        "hinge", JointType.REVOLUTE, "frame", "door", Pose(R, np.zeros(3)), np.array([0, 0, 1.0])
    )
    door = Link("door", Inertia(20.0, np.array([8.0, 0.0, 0.0]), np.zeros((3, 3))))
    reduced = reduce(Robot("door", (Link("frame"), door), (hinge,)))
    tau = efforts(reduced, (np.zeros(1), np.zeros(1), np.zeros(1)))
    assert tau == pytest.approx(np.cross([8.0, 0, 0], [0, 0, 9.81]) @ axis, rel=1e-6)


def test_axes_that_are_nearly_parallel_keep_their_digits():
    # 1.5708 for a right angle leaves axes that meet 100 km away; moments about there are useless
    tilt = 1.5708 - np.pi / 2
    R = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    rng, z = np.random.default_rng(1), np.array([0.0, 0.0, 1.0])
    joints, links = [], [Link("base")]
    for k in range(4):
        origin = Pose(R, np.array([0.4, 0.1, 0.0]))
        joints.append(Joint(f"q{k}", JointType.REVOLUTE, links[-1].name, f"link{k}", origin, z))
        links.append(Link(f"link{k}", random_inertia(rng)))
    tree = Robot("arm", tuple(links), tuple(joints), np.array([1.0, 2.0, -9.0]))
    state = state_of(tree, 1)
    expected = newton_euler.inverse_dynamics(tree, *state, {})
    for search in (False, True):
        assert relative_error(efforts(reduce(tree, search), state), expected) < 1e-13


# -- fewer operations -------------------------------------------------------------------------

QUICK = {
    # multiplications and additions of a prototype with frames, regrouping and column trick
    "renaud": (141, 119),
    "ur5": (151, 128),
    "kinova": (229, 200),
    "panda": (294, 291),
    "talos": (1460, 1445),
}


@pytest.mark.parametrize("arm", QUICK)
def test_quick_reduction_takes_no_more_operations_than_the_prototype(arm):
    reduced = reduce(ARMS[arm]())
    multiplications, additions = QUICK[arm]
    ours = count(reduced, [one for one in PASSES if one is not gather_multiples])
    assert ours.multiplications <= multiplications
    assert ours.additions <= additions
    # x + y + x becomes 2 x + y: a multiplication for an addition, and no more than that
    assert count(reduced).arithmetic <= ours.arithmetic


SEARCHED = {
    # multiplications and additions of the prototype with all that it could do
    "renaud": (128, 100),
    "ur5": (117, 101),
    "kinova": (216, 192),
    "panda": (264, 264),
    "talos": (1357, 1338),
}
ANGLE_SUMS = {"renaud": 1, "ur5": 2, "kinova": 1}
"""Additions of joint angles, as in cos(q2 + q3): the prototype did not count them."""


@pytest.mark.parametrize("arm", SEARCHES)
def test_search_takes_no_more_operations_than_the_prototype(arm):
    ours = count(searched(arm))
    multiplications, additions = SEARCHED[arm]
    assert ours.arithmetic <= multiplications + additions
    assert ours.multiplications <= multiplications
    if arm != "renaud":  # 101 without the sum of angles, and ten multiplications less
        assert ours.additions <= additions + ANGLE_SUMS.get(arm, 0)


def test_renauds_arm_takes_less_than_he_found_by_hand():
    ours = count(searched("renaud"))
    assert ours.multiplications < 164
    assert ours.additions < 115


@pytest.mark.thorough
def test_progress_goes_from_the_first_step_to_the_last():
    _, steps = searched_again()
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(steps))
    assert steps[0][0] == 1
    assert steps[-1][0] == steps[-1][1]
    assert len({total for _, total in steps}) == 1
