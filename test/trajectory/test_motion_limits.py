"""Limits of a motion, and slowing it down to keep them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.robot.kinematic_tree import JointLimits
from robot_dynamics.trajectory import (
    Follower,
    State,
    Waypoints,
    excitation,
    interpolate,
    polynomial_345,
)
from robot_dynamics.trajectory.motion_limits import (
    EFFORT_SHARE,
    check_limits,
    shrunk_to_fit,
    slowed_to_fit,
    usable_effort,
    violations,
)

NAMES = ("shoulder", "elbow")


def accelerating_at_most(robot, most):
    joints = (
        replace(joint, limits=replace(joint.limits, acceleration=most)) for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))


def efforts_of(robot):
    dynamics = Dynamics(robot)
    return lambda state: dynamics.inverse(*state)


def motion(shoulder, elbow, duration):
    return interpolate(polynomial_345(NAMES, [0.0, 0.0], [shoulder, elbow], duration))


def test_a_motion_within_all_limits_passes(planar):
    trajectory = motion(1.0, -1.0, 2.0)
    assert violations(trajectory, planar, efforts_of(planar)) == []
    check_limits(trajectory, planar, efforts_of(planar))


def test_a_position_out_of_range_is_named_with_its_time(planar):
    with pytest.raises(TrajectoryError) as refusal:
        check_limits(motion(1.0, 1.6, 2.0), planar)
    assert str(refusal.value) == (
        "trajectory: joint 'elbow' needs position 1.6 rad at 2.000 s, beyond its limit of 1.5 rad; "
        "stay within the joint range"
    )


def test_too_high_a_speed_is_named_with_its_time(planar):
    # The 3-4-5 polynomial is fastest half way, at 15/8 of its mean speed: 1.875 * 2 / 1.2
    with pytest.raises(TrajectoryError) as refusal:
        check_limits(motion(-2.0, 0.0, 1.2), planar)
    assert str(refusal.value) == (
        "trajectory: joint 'shoulder' needs velocity -3.125 rad/s at 0.600 s, "
        "beyond its limit of 3 rad/s; slow it down"
    )


def test_too_high_an_acceleration_is_named_with_its_time(planar):
    # The largest acceleration is 10 / sqrt(3) of the way over the time squared
    robot = accelerating_at_most(planar, 1.0)
    assert check_limits(motion(1.0, 0.0, 2.41), robot) is None
    with pytest.raises(TrajectoryError, match=r"'shoulder' needs acceleration -?1\.443 rad/s\^2"):
        check_limits(motion(1.0, 0.0, 2.0), robot)


@given(st.floats(0.2, 5.0), st.floats(0.1, 1.0))
def test_excitation_keeps_a_share_of_accelerations(planar, most, share):
    w = excitation(accelerating_at_most(planar, most), 5.0, speed_share=share)
    found = violations(interpolate(w), accelerating_at_most(planar, share * most))
    assert [one for one in found if one.ratio > 1.002] == []  # the peak lies between two points


def test_too_high_an_effort_is_named_with_its_time(planar):
    trajectory = motion(-1.5, 0.0, 0.5)
    found = violations(trajectory, planar, efforts_of(planar))
    shoulder = next(one for one in found if (one.quantity, one.joint) == ("effort", "shoulder"))
    tau = efforts_of(planar)(trajectory.sample(np.linspace(0.0, 0.5, 101)))[:, 0]
    worst = int(np.argmax(np.abs(tau)))
    assert shoulder.value == pytest.approx(tau[worst])
    assert str(shoulder) == (
        f"trajectory: joint 'shoulder' needs effort {tau[worst]:.4g} N m at {0.005 * worst:.3f} s, "
        f"beyond its limit of 20 N m; slow it down"
    )


def test_every_joint_and_quantity_is_listed_and_of_each_the_earliest_is_named_first(planar):
    w = Waypoints(NAMES, [0.0, 1.0, 2.0], [[0.0, 0.0], [0.0, 1.7], [2.5, 0.0]])
    found = violations(interpolate(w), planar)
    assert [(one.quantity, one.joint) for one in found] == [
        ("position", "elbow"),
        ("position", "shoulder"),
        ("velocity", "shoulder"),
    ]
    assert found[0].time < found[2].time < found[1].time
    with pytest.raises(TrajectoryError, match=rf"\(and {len(found) - 1} more\)$"):
        check_limits(interpolate(w), planar)


def test_a_position_out_of_range_is_named_before_speeds_and_efforts_that_are_earlier(planar):
    trajectory, effort = motion(100.0, 0.0, 2.0), efforts_of(planar)
    found = violations(trajectory, planar, effort)
    assert [one.quantity for one in found[:2]] == ["position", "velocity"]
    assert {one.quantity for one in found[2:]} == {"effort"}
    assert min(one.time for one in found) < found[0].time
    with pytest.raises(TrajectoryError) as refusal:
        check_limits(trajectory, planar, effort)
    assert str(refusal.value) == (
        "trajectory: joint 'shoulder' needs position 100 rad at 2.000 s, beyond its limit of 2 rad"
        f"; stay within the joint range (and {len(found) - 1} more)"
    )


def test_an_excursion_between_waypoints_is_found(planar):
    # The points keep the range; the curve through them swings out of it in between
    w = Waypoints(NAMES, [0.0, 1.0, 1.2, 2.2], [[0.0, 0.0], [1.95, 0.0], [1.95, 0.0], [0.0, 0.0]])
    assert np.all(w.positions <= planar.limits.upper)
    assert violations(interpolate(w), planar)[0].joint == "shoulder"


@pytest.mark.parametrize("side", [1, -1])
def test_a_joint_that_starts_outside_its_range_may_come_back(planar, side):
    back = interpolate(polynomial_345(NAMES, [2.3 * side, 0.0], [1.0 * side, 0.0], 2.0))
    assert violations(back, planar) == []
    further = interpolate(polynomial_345(NAMES, [2.3 * side, 0.0], [2.4 * side, 0.0], 2.0))
    assert violations(further, planar)[0].joint == "shoulder"


def test_an_effort_limit_of_zero_is_unknown_and_not_a_limit(planar):
    joints = tuple(
        replace(joint, limits=JointLimits(-2.0, 2.0, 3.0, 0.0)) for joint in planar.joints
    )
    unknown = replace(planar, joints=joints)
    assert violations(motion(1.0, -1.0, 2.0), unknown, efforts_of(planar)) == []


@given(st.floats(0.1, 1.5), st.floats(0.5, 2.0))
def test_time_scaling_finds_a_motion_within_all_limits(planar, duration, reach):
    w = polynomial_345(NAMES, [0.0, 0.0], [reach, -1.0], duration)
    effort = efforts_of(planar)

    def check(trajectory):
        return violations(trajectory, planar, effort)

    trajectory, factor = slowed_to_fit(w, interpolate, check)
    assert check(trajectory) == []
    assert trajectory.duration == pytest.approx(factor * duration)
    if factor > 1.2:  # and not slower than need be
        assert check(interpolate(w.slowed(factor / 1.2))) != []


@given(st.floats(0.5, 5.0))
def test_time_scaling_keeps_accelerations(planar, most):
    w = polynomial_345(NAMES, [0.0, 0.0], [1.0, -1.0], 0.6)
    robot = accelerating_at_most(planar, most)
    trajectory, _ = slowed_to_fit(w, interpolate, lambda motion: violations(motion, robot))
    fastest = abs(trajectory.sample(np.linspace(0.0, trajectory.end, 2000)).qdd).max()
    assert 0.9 * most < fastest < 1.001 * most or trajectory.duration == pytest.approx(0.6)


def test_time_scaling_works_while_another_motion_runs(planar):
    follower = Follower(NAMES, [0.0, 0.0])
    follower.accept(polynomial_345(NAMES, [0.0, 0.0], [1.0, 0.5], 2.0), now=0.0)
    w = Waypoints(NAMES, [0.2], [[-1.0, -1.0]])
    trajectory, factor = slowed_to_fit(
        w, lambda w: follower.plan(w, now=1.0), lambda t: violations(t, planar)
    )
    assert factor > 1.0
    due = follower.sample(1.0)
    np.testing.assert_allclose(trajectory.sample(0.0).qd, due.qd, atol=1e-9)


def test_time_scaling_cannot_help_a_position_out_of_range(planar):
    w = polynomial_345(NAMES, [0.0, 0.0], [2.5, 0.0], 1.0)
    with pytest.raises(TrajectoryError, match=r"^trajectory: joint 'shoulder' needs position 2\.5"):
        slowed_to_fit(w, interpolate, lambda t: violations(t, planar))


def test_time_scaling_gives_up_where_gravity_alone_is_too_much(planar):
    w = polynomial_345(NAMES, [0.0, 0.0], [0.5, 0.0], 1.0)

    def heavy(state):
        return 3.0 * efforts_of(planar)(state)

    with pytest.raises(TrajectoryError) as refusal:
        slowed_to_fit(w, interpolate, lambda t: violations(t, planar, heavy))
    assert "joint 'shoulder' needs effort" in str(refusal.value)
    assert str(refusal.value).endswith("(slowing down 20 times did not help)")


def test_a_motion_shrinks_about_the_middle_pose_until_its_efforts_fit(planar):
    effort, given = efforts_of(planar), excitation(planar, 1.0)
    needed = np.abs(effort(interpolate(given).sample(given.times))).max(axis=0)
    held = np.abs(effort(State(*np.zeros((3, 2)))))
    tight = limited(planar, (held + 0.5 * (needed - held)) / EFFORT_SHARE)
    fitting = shrunk_to_fit(given, tight, effort)
    assert (np.abs(effort(interpolate(fitting).sample(given.times))) <= usable_effort(tight)).all()
    ratio = np.ptp(fitting.positions, axis=0) / np.ptp(given.positions, axis=0)
    assert ratio == pytest.approx(ratio[0]) and ratio[0] < 1.0
    np.testing.assert_allclose(fitting.positions[0], given.positions[0])


def limited(robot, efforts):
    joints = list(robot.joints)
    for joint, effort in zip(robot.independent_joints, efforts, strict=True):
        limits = replace(joint.limits, effort=float(effort))
        joints[joints.index(joint)] = replace(joint, limits=limits)
    return replace(robot, joints=tuple(joints))
