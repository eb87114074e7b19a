import functools
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotError
from robot_dynamics.identification.excitation.excitation_search import excite
from robot_dynamics.identification.excitation.motion_families import KINDS, MotionBounds, family
from robot_dynamics.identification.excitation.surroundings import (
    Surroundings,
    points_of_links,
    segment_distance,
)
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.trajectory.motion_limits import EFFORT_SHARE

ROBOT = read_urdf(find_robot("ur5"))
BOUNDS = MotionBounds.of(ROBOT)


@functools.cache
def found(kind, **given):
    return excite(ROBOT, 10.0, kind=kind, trials=60, **given)


@pytest.mark.parametrize("kind", KINDS)
def test_a_motion_keeps_every_limit_and_rests_at_both_ends(kind):
    motion = found(kind).motion
    q, qd, qdd = motion.positions, motion.velocities, motion.accelerations
    # Peaks lie between the instants where they were looked for
    assert (q > BOUNDS.lower - 1e-3).all() and (q < BOUNDS.upper + 1e-3).all()
    assert (np.abs(qd) < 1.01 * BOUNDS.velocity).all()
    assert (np.abs(qdd) < 1.01 * BOUNDS.acceleration).all()
    effort = Dynamics(ROBOT).inverse(q, qd, qdd)
    assert (np.abs(effort) < 1.05 * EFFORT_SHARE * ROBOT.limits.effort).all()
    np.testing.assert_allclose(qd[[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(q[0], q[-1], atol=1e-9)


@pytest.mark.parametrize("duration", [10.0, 20.0, 30.0])
def test_motions_of_up_to_half_a_minute_have_half_a_hertz(duration):
    """Slower ones show gravity, and little of inertia."""
    assert family("fourier", BOUNDS, duration).k[-1] / duration == pytest.approx(0.5)


def rubbing(friction, damping=5.0):
    joints = (replace(joint, damping=damping, friction=friction) for joint in ROBOT.joints)
    return replace(ROBOT, joints=tuple(joints))


def test_friction_of_the_urdf_counts_in_the_efforts():
    robot = rubbing(10.0)
    motion = excite(robot, 10.0, trials=30).motion
    qd = motion.velocities
    effort = Dynamics(robot).inverse(motion.positions, qd, motion.accelerations)
    effort += 5.0 * qd + 10.0 * np.sign(qd)
    assert (np.abs(effort) < 1.05 * EFFORT_SHARE * robot.limits.effort).all()


def test_a_joint_that_friction_holds_is_named():
    with pytest.raises(RobotError, match="'wrist_1_joint': friction of 25 N m or N holds it"):
        excite(rubbing(25.0), 10.0)


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_and_accelerations_are_derivatives_of_positions(kind):
    one = family(kind, BOUNDS, 10.0)
    time = np.linspace(0.0, 10.0, 20_001)
    states = one.states(np.random.default_rng(0).normal(size=one.size), time)
    inside = slice(2, -2)
    for value, derivative in ((states.q, states.qd), (states.qd, states.qdd)):
        differences = np.gradient(value, time, axis=0)
        size = np.abs(derivative).max()
        # second differences of steps of 0.5 ms; jerk jumps at the poses of a run
        np.testing.assert_allclose(differences[inside], derivative[inside], atol=2e-3 * size)


def test_the_same_seed_gives_the_same_motion_and_another_another():
    again = excite(ROBOT, 10.0, trials=60)
    np.testing.assert_array_equal(again.motion.positions, found("fourier").motion.positions)
    assert (found("fourier", seed=1).motion.positions != again.motion.positions).any()


def test_searching_for_the_condition_number_lowers_it():
    result = found("fourier", criterion="condition")
    assert result.condition < 0.7 * result.first_condition
    assert result.trials == 60 and not result.stopped


def test_searching_by_the_determinant_lowers_the_errors_of_the_parameters():
    one, some, more = (excite(ROBOT, 10.0, trials=trials).gain for trials in (1, 20, 60))
    assert one == 1.0  # the first motion itself
    assert 1.0 < some <= more


def test_links_stay_in_the_box():
    box = ((-0.8, -0.8, -0.2), (0.8, 0.8, 1.1))
    motion = found("fourier", box=box).motion
    points = points_of_links(merge_fixed(ROBOT), motion.positions)[:, 1:]
    assert (points > np.array(box[0]) - 5e-3).all() and (points < np.array(box[1]) + 5e-3).all()


@pytest.mark.thorough
def test_points_of_links_are_where_forward_kinematics_has_them():
    tree = merge_fixed(ROBOT)
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (20, ROBOT.dof))
    points = points_of_links(tree, q)
    for i, name in enumerate([link.name for link in tree.links] + list(tree.tips)):
        np.testing.assert_allclose(points[:, i], Dynamics(ROBOT).pose(q, name)[1], atol=1e-12)


def test_distance_of_segments_is_the_least_over_their_points():
    a, b, c, d = np.random.default_rng(0).normal(size=(4, 50, 3))
    s = np.linspace(0.0, 1.0, 201)
    on_first = a[:, None] + s[:, None] * (b - a)[:, None]
    on_second = c[:, None] + s[:, None] * (d - c)[:, None]
    apart = np.linalg.norm(on_first[:, :, None] - on_second[:, None], axis=-1).min(axis=(1, 2))
    got = segment_distance(a, b, c, d)
    assert (got <= apart + 1e-12).all()
    np.testing.assert_allclose(got, apart, atol=0.02)


def test_an_arm_that_folds_onto_itself_is_too_near():
    kept = Surroundings.of(ROBOT, clearance=0.1)
    open_arm = np.array([[0.0, -1.5, 0.5, 0.0, 1.0, 0.0]])
    folded = np.array([[0.0, -1.5, 2.9, 0.0, 0.0, 0.0]])
    assert kept.violation(open_arm) < 0.0 < kept.violation(folded)


def test_ctrl_c_gives_the_best_so_far():
    def stop(done, _):
        if done == 40:
            raise KeyboardInterrupt

    result = excite(ROBOT, 10.0, trials=500, progress=stop)
    assert result.stopped and result.trials == 40
    assert np.isfinite(result.condition)


def test_a_motion_goes_about_the_pose_that_is_given():
    pose = np.array([0.5, -1.5, 1.0, 0.0, 0.5, 0.0])
    np.testing.assert_allclose(BOUNDS.about(pose).middle, pose)
    with pytest.raises(ArgumentError, match="leaves nowhere to move"):
        BOUNDS.about(np.full(6, 9.0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"duration": 1.0}, "a duration of 1 s is too short; give 5 s or more"),
        ({"kind": "dance"}, "no motion 'dance'; give fourier or points"),
        ({"criterion": "luck"}, "no criterion 'luck'; give determinant or condition"),
        ({"trials": 0}, "0 trials are none"),
        ({"clearance": -1.0}, "clearance is -1 m; give zero or more"),
        ({"box": ((1, 1, 1), (0, 0, 0))}, "box: give the lowest corner first"),
    ],
)
def test_bad_arguments_are_one_line(given, message):
    with pytest.raises(ArgumentError, match=message):
        excite(ROBOT, **given)


def test_a_box_that_holds_no_arm_is_refused():
    with pytest.raises(RobotError, match="none of 1000 poses of the arm is within"):
        excite(ROBOT, 10.0, trials=2, box=((5, 5, 5), (6, 6, 6)))
