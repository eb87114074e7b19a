"""Link frames on the joints: the same robot, named frames and wrenches."""

import numpy as np
import pytest
from hypothesis import assume, given

from arms import renaud_6r
from oracles import example_robot, example_urdfs, relative_error
from robot_dynamics.formulations import augmented_body, inverse_dynamics, newton_euler
from robot_dynamics.robot.joint_frames import (
    FrameCandidates,
    Line,
    Placement,
    common_normal,
    in_length_unit,
    joint_frames,
    reframe,
    rotation_zxz,
    snapped,
    zxz_angles,
)
from robot_dynamics.robot.kinematic_tree import Frame, Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed, outward_bodies
from robot_dynamics.spatial import Inertia, Pose
from strategies import random_inertia, random_rotation, robots, seeds, state_of

# float64; 2000 random trees stay below 1e-12 of the largest torque, a wrong sign gives 1e-1
ROUND_OFF = 1e-10
X, Y, Z = np.eye(3)


def placed(rng, tree):
    """Random places for all link frames."""
    directions = [np.cross(joint.axis, rng.normal(size=3)) for joint in tree.joints]
    return [Placement(float(rng.normal()), x) for x in directions]


def robot_of(*joints, gravity=(0.0, 0.0, -9.81), seed=3):
    """Chain of joints given as (type, origin, axis), with some body on every link."""
    rng = np.random.default_rng(seed)
    names = [f"link{k}" for k in range(len(joints) + 1)]
    return Robot(
        "chain",
        (Link("link0"), *(Link(name, random_inertia(rng)) for name in names[1:])),
        tuple(
            Joint(f"joint{k + 1}", kind, names[k], names[k + 1], origin, axis)
            for k, (kind, origin, axis) in enumerate(joints)
        ),
        np.array(gravity),
    )


# -- moving frames ----------------------------------------------------------------------------


@given(robots(fixed=False), seeds())
def test_joint_frames_change_no_torque(tree, seed):
    state = state_of(tree, seed)
    expected = newton_euler.inverse_dynamics(tree, *state, {})
    for places in (None, placed(np.random.default_rng(seed), tree)):
        moved = joint_frames(tree, places)
        ours = newton_euler.inverse_dynamics(moved, *state, {})
        assert relative_error(ours, expected) < ROUND_OFF


@given(robots(), seeds())
def test_wrench_at_any_frame_is_the_same_wrench_in_joint_frames(robot, seed):
    rng = np.random.default_rng(seed)
    tree = merge_fixed(robot)
    moved = joint_frames(tree, placed(rng, tree))
    q, qd, qdd = rng.normal(size=(3, robot.dof))
    for frame in robot.frame_names:
        wrench = rng.normal(size=6)
        if tree.frame(frame).link == robot.links[0].name:
            continue  # fixed to the base
        a, b = (inverse_dynamics(r, q, qd, qdd, wrench=wrench, frame=frame) for r in (robot, moved))
        assert relative_error(a, b) < ROUND_OFF, frame


@given(robots(fixed=False))
def test_joints_turn_about_z_in_joint_frames(tree):
    for joint, parent in zip(joint_frames(tree).joints, tree.parents, strict=True):
        if joint.type.rotates or parent == 0:
            assert np.array_equal(joint.axis, Z)
        else:  # nothing turns between the links
            assert np.array_equal(joint.origin.rotation, np.eye(3))
            assert np.array_equal(joint.origin.translation, np.zeros(3))


def test_names_of_links_stay_as_frames():
    robot = robot_of((JointType.REVOLUTE, Pose(np.eye(3), X), Y))
    robot = Robot(
        "r", robot.links, robot.joints, frames={"tool": Frame("link1", Pose(np.eye(3), Y))}
    )
    moved = joint_frames(robot, [Placement(0.5, X)])
    assert moved.frame_names == ("link0", "link1 (joint frame)", "link1", "tool")
    # The tool is 1 m along y from the old origin, the new origin 0.5 m: along z of the new frame
    at_tool = moved.frame("tool").pose.translation - moved.frame("link1").pose.translation
    assert at_tool == pytest.approx([0.0, 0.0, 1.0])
    assert moved.frame("tool").pose.translation == pytest.approx([0.0, 0.0, 0.5])


def test_frames_that_move_twice_keep_the_old_names():
    robot = robot_of((JointType.REVOLUTE, Pose(np.eye(3), X), Y))
    twice = joint_frames(joint_frames(robot, [Placement(0.5, X)]), [Placement(0.2, X)])
    assert twice.frame_names == ("link0", "link1 (joint frame)", "link1")
    assert twice.frame("link1").pose.translation == pytest.approx([0.0, 0.0, -0.7])


def test_limits_and_joint_names_stay():
    robot = renaud_6r()
    moved = joint_frames(robot)
    assert moved.joint_names == robot.joint_names
    assert np.array_equal(moved.limits.upper, robot.limits.upper)


@given(robots(fixed=False), seeds())
def test_reframe_takes_any_pose_that_leaves_the_axis_in_place(tree, seed):
    rng = np.random.default_rng(seed)
    poses = []
    for joint in tree.joints:
        along = joint.axis * rng.normal() if joint.type.rotates else rng.normal(size=3)
        poses.append(Pose(random_rotation(rng), along))
    state = state_of(tree, seed)
    ours = newton_euler.inverse_dynamics(reframe(tree, poses), *state, {})
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, *state, {})) < ROUND_OFF


# -- the usual places: modified Denavit-Hartenberg --------------------------------------------


def test_frames_of_renaud_s_arm_are_those_of_his_table():
    # alpha_(i-1), a_(i-1), r_i of the paper's table; signs depend on the choice of x and z
    moved = joint_frames(renaud_6r())
    twists, distances, offsets = [], [], []
    for joint in moved.joints:
        _, alpha, _ = zxz_angles(joint.origin.rotation)
        p = joint.origin.translation
        twists.append(np.round(np.degrees(alpha)))
        distances.append(abs(p[0]))
        offsets.append(np.hypot(p[1], p[2]))
    assert twists == [0, 90, 0, 90, 90, 90]
    assert distances == pytest.approx([0, 0, 0.43, 0, 0, 0], abs=1e-15)
    assert offsets == pytest.approx([0, 0, 0, 0.40, 0, 0], abs=1e-15)


@given(robots(fixed=False, branches=False, mimic=False))
def test_x_lies_on_the_common_normal_to_the_next_joint_of_a_chain(tree):
    assume(all(joint.type.rotates for joint in tree.joints))
    moved = joint_frames(tree)
    for after in moved.joints[1:]:
        z_after = after.origin.rotation @ after.axis
        assert abs(z_after @ X) < 1e-12  # x is across the next axis
        p = after.origin.translation
        if np.linalg.norm(np.cross(Z, z_after)) > 1e-6:
            # and meets it: from the foot on this axis, a along x, then along the next axis
            assert abs(np.cross(z_after, X) @ p) < 1e-9


def test_mass_centre_of_the_last_link_is_in_its_x_z_plane():
    moved = joint_frames(robot_of((JointType.REVOLUTE, Pose(np.eye(3), X), Y)))
    h = moved.links[1].inertia.first_moment
    assert h[1] == pytest.approx(0.0, abs=1e-15)
    assert h[0] > 0.0


def test_slide_along_the_axis_before_it_is_seen_through():
    # SCARA: turn, turn, slide, turn, all vertical; x of the second link still points to the last
    vertical = [
        (JointType.REVOLUTE, Pose(np.eye(3), np.zeros(3)), Z),
        (JointType.REVOLUTE, Pose(np.eye(3), 0.4 * X), Z),
        (JointType.PRISMATIC, Pose(np.eye(3), 0.2 * Y + 0.1 * Z), -Z),
        (JointType.REVOLUTE, Pose(np.eye(3), 0.1 * Y), Z),
    ]
    _, (_, x), _, _ = FrameCandidates(robot_of(*vertical)).default
    assert x == pytest.approx(Y)


def test_common_normal_of_skew_lines():
    normal = common_normal(Z, Line(np.array([3.0, -2.0, 5.0]), X))
    assert normal.foot == pytest.approx(5.0)
    assert normal.direction == pytest.approx(-Y)  # towards the other line


def test_common_normal_of_parallel_lines_has_no_foot():
    normal = common_normal(Z, Line(np.array([3.0, 0.0, 5.0]), -Z))
    assert normal.foot is None
    assert normal.direction == pytest.approx(X)


def test_common_normal_of_one_line_with_itself_has_no_direction():
    normal = common_normal(Z, Line(np.array([0.0, 0.0, 5.0]), Z))
    assert normal.foot is None
    assert normal.direction is None


def test_common_normal_of_lines_that_meet_is_across_both():
    normal = common_normal(Z, Line(np.array([0.0, 0.0, 2.0]), (X + Z) / np.sqrt(2)))
    assert normal.foot == pytest.approx(2.0)
    assert abs(normal.direction @ Y) == pytest.approx(1.0)


@given(robots(fixed=False), seeds())
def test_every_place_that_the_options_offer_gives_the_same_torque(tree, seed):
    options, rng = FrameCandidates(tree), np.random.default_rng(seed)
    places = [
        Placement(rng.choice(offsets), directions[rng.integers(len(directions))])
        for offsets, directions in zip(options.offsets, options.directions, strict=True)
    ]
    state = state_of(tree, seed)
    ours = newton_euler.inverse_dynamics(joint_frames(tree, places), *state, {})
    # Axes that are nearly parallel have a normal far away, which costs digits
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, *state, {})) < 1e4 * ROUND_OFF


# -- constants --------------------------------------------------------------------------------


def test_rounded_right_angles_become_exact_and_the_residual_says_by_how_much():
    angle = 1.5707963  # 2.7e-8 short of a right angle
    robot = robot_of(
        (JointType.REVOLUTE, Pose(rotation_zxz(np.array([0.0, angle, 0.0])), 1e-9 * X), Z)
    )
    exact, residual = snapped(robot, 1e-7, outward_bodies(robot))
    assert np.array_equal(exact.joints[0].origin.rotation, [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    assert np.array_equal(exact.joints[0].origin.translation, np.zeros(3))
    assert residual.angle == pytest.approx(np.pi / 2 - angle, rel=1e-6)
    assert residual.length == pytest.approx(1e-9)


def test_angles_beyond_the_tolerance_stay():
    angle = 1.5707  # 1e-4 short: may be meant
    robot = robot_of(
        (JointType.REVOLUTE, Pose(rotation_zxz(np.array([0.0, angle, 0.0])), np.zeros(3)), Z)
    )
    exact, residual = snapped(robot, 1e-9, outward_bodies(robot))
    R = exact.joints[0].origin.rotation
    assert pytest.approx(robot.joints[0].origin.rotation, abs=1e-15) == R
    assert residual.angle < 1e-15


def test_small_bodies_of_a_large_robot_are_not_negligible():
    # A finger of 10 g on an arm of 100 kg: its inertia is compared with what its joint carries
    finger = Inertia.from_com(0.01, 0.01 * X, 1e-7 * np.diag([1.0, 2.0, 3.0]))
    robot = robot_of(
        (JointType.REVOLUTE, Pose(np.eye(3), X), Z), (JointType.REVOLUTE, Pose(np.eye(3), X), Y)
    )
    heavy = Link("link1", Inertia.from_com(100.0, X, 10.0 * np.eye(3)))
    robot = Robot("r", (robot.links[0], heavy, Link("link2", finger)), robot.joints)
    kept = snapped(robot, 1e-9, outward_bodies(robot))[0].links[2].inertia
    assert kept.second_moment == pytest.approx(finger.second_moment, rel=1e-12)


@given(robots(fixed=False), seeds())
def test_snapping_random_robots_changes_nothing(tree, seed):
    framed = joint_frames(tree)
    exact, _ = snapped(framed, 1e-9, outward_bodies(framed))
    state = state_of(tree, seed)
    ours = augmented_body.inverse_dynamics(exact, *state, {})
    assert relative_error(ours, newton_euler.inverse_dynamics(framed, *state, {})) < ROUND_OFF


@given(seeds())
def test_angles_of_turns_about_z_x_and_z_give_back_the_rotation(seed):
    R = random_rotation(np.random.default_rng(seed))
    assert rotation_zxz(zxz_angles(R)) == pytest.approx(R, abs=1e-14)


@pytest.mark.parametrize("alpha", [0.0, np.pi])
def test_parallel_axes_have_all_their_turn_in_theta(alpha):
    R = rotation_zxz(np.array([0.3, alpha, 0.5]))
    gamma, found, theta = zxz_angles(R, 1e-12)
    assert (gamma, found) == (0.0, pytest.approx(alpha))
    assert rotation_zxz(np.array([0.0, alpha, theta])) == pytest.approx(R, abs=1e-15)


# -- the length unit --------------------------------------------------------------------------


@given(robots(fixed=False), seeds())
def test_torques_do_not_depend_on_the_length_unit(tree, seed):
    unit = 0.37
    per_unit = np.array([1.0 if j.type.rotates else 1.0 / unit for j in tree.joints])
    q, qd, qdd = state_of(tree, seed)
    motion = q * per_unit, qd * per_unit, qdd * per_unit
    ours = newton_euler.inverse_dynamics(in_length_unit(tree, unit), *motion, {}) * per_unit
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, q, qd, qdd, {})) < ROUND_OFF


@pytest.mark.parametrize("path", example_urdfs()[::4], ids=lambda path: path.stem)
def test_joint_frames_of_example_robots_change_no_torque(path):
    tree = merge_fixed(example_robot(path))
    state = state_of(tree, 0)
    ours = newton_euler.inverse_dynamics(joint_frames(tree), *state, {})
    # 1e-9 is what is promised; axes rounded to 1e-6 have common normals far away
    assert relative_error(ours, newton_euler.inverse_dynamics(tree, *state, {})) < 1e-9
