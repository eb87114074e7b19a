"""Replacement of running motions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curves import steps
from robot_dynamics.errors import ArgumentError, ShapeError, TrajectoryError
from robot_dynamics.trajectory import Follower, Waypoints, interpolate

NAMES = ("shoulder", "elbow", "wrist")

# A replaced motion is the old one expanded about another time: six terms of powers of times near
# 10 s, coefficients near 10^3; worst of 300 random replacements 2e-14, 4e-13 and 2e-11
ROUND_OFF = (1e-10, 1e-9, 1e-7)


def follower(**options):
    return Follower(NAMES, [0.0, 1.0, -0.5], **options)


def move(seed, first=0.5, names=NAMES, velocities=False, points=3):
    rng = np.random.default_rng(seed)
    times = first + np.cumsum(np.concatenate(([0.0], rng.uniform(0.2, 1.0, points - 1))))
    q = rng.uniform(-2.0, 2.0, (points, len(names)))
    return Waypoints(names, times, q, rng.uniform(-1.0, 1.0, q.shape) if velocities else None)


def assert_same(state, other):
    for value, wanted, atol in zip(state, other, ROUND_OFF, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=0.0, atol=atol)


def assert_continuous(trajectory, orders=3):
    # Pieces of at least 0.1 ms: round-off of positions over the square of that
    for order in range(orders):
        assert steps(trajectory, order) < 1e-10 * 1e3**order


def test_it_holds_until_it_receives_a_motion():
    f = follower()
    for now in (0.0, 17.0, 1e9):
        assert f.sample(now).q.tolist() == [0.0, 1.0, -0.5]
        assert not f.sample(now).qd.any()
        assert not f.moving(now)


def test_a_motion_is_followed_from_the_moment_it_comes():
    f = follower()
    w = move(1)
    f.accept(w, now=100.0)
    assert f.moving(100.1)
    np.testing.assert_allclose(f.sample(100.0 + w.times[1]).q, w.positions[1], atol=1e-9)
    np.testing.assert_allclose(f.sample(200.0).q, w.positions[-1], atol=1e-9)
    assert f.remaining(100.0) == pytest.approx(w.duration)
    assert not f.moving(200.0)


def test_a_stop_near_the_end_of_a_range_ends_within_it_and_the_other_joints_take_their_time():
    ends = (np.full(3, -1.5), np.array([1.5, 1.02, 1.5]))
    f = follower(within=ends)
    f.accept(Waypoints(NAMES, [1.0], [[1.0, 1.04, 0.5]]), now=0.0)
    assert f.sample(0.45).q[1] < 1.02
    free = follower()
    free.accept(Waypoints(NAMES, [1.0], [[1.0, 1.04, 0.5]]), now=0.0)
    for each in (f, free):
        each.stop(0.45)
        assert_continuous(each.trajectory)
    t = np.linspace(0.0, 1.0, 1001)
    path, usual = f.trajectory.sample(t).q, free.trajectory.sample(t).q
    assert usual[-1, 1] > 1.02
    assert path[:, 1].max() < 1.02 + 1e-9
    assert np.diff(path[:, 1]).min() > -1e-9  # and not back
    np.testing.assert_allclose(path[:, [0, 2]], usual[:, [0, 2]], atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    first=st.sampled_from([0.0, 0.3]),
    velocities=st.booleans(),
    names=st.sampled_from([NAMES, ("wrist", "shoulder"), ("elbow",)]),
    stamp=st.sampled_from(["now", "past", "future"]),
)
def test_replacing_a_running_motion_makes_no_step(seed, first, velocities, names, stamp):
    f = follower()
    f.accept(move(seed), now=0.0)
    now = 0.4
    w = move(seed + 1, first, names, velocities)
    when = {"now": 0.0, "past": now - 0.6 * w.duration, "future": now + 0.25}[stamp]
    old = f.trajectory
    trajectory = f.accept(w, now, when)
    assert_same(trajectory.sample(0.0), old.sample(now))
    if stamp == "future":
        assert_same(trajectory.sample(0.2), old.sample(now + 0.2))
    assert_continuous(trajectory, orders=2 if velocities else 3)  # cubics have steps of their own
    at_end = f.sample(now + 10.0)
    columns = [NAMES.index(name) for name in names]
    if not velocities:
        np.testing.assert_allclose(at_end.q[columns], w.positions[-1], rtol=0.0, atol=1e-9)


@given(
    moving=st.booleans(),
    time=st.sampled_from([0.0, 1e-12, 1e-10, 1e-9, 2e-9, 1e-8, 1e-6, 1e-3]),
    gap=st.sampled_from([0.0, 1e-10, 1e-8, 2e-8, 1e-6]),
    stamped=st.booleans(),
    later=st.sampled_from([0.0, 1e-9, 0.1]),
)
def test_a_single_point_at_the_present_position_holds_the_arm_there(
    moving, time, gap, stamped, later
):
    now, f = 0.9, follower()
    if moving:
        f.accept(move(7), now=0.0)
    there = f.sample(now).q + gap
    f.accept(Waypoints(NAMES, np.array([time]), there[None]), now, now if stamped else 0.0)
    after = now + max(f.blend, f.stop_time) + 0.1
    assert not f.moving(after)
    np.testing.assert_allclose(f.sample(after).q, there, rtol=0.0, atol=1e-9)
    f.ahead(now + later)
    f.stop(now + later)
    assert all(np.isfinite(x).all() for x in f.sample(now + later))


def test_joints_that_a_new_motion_does_not_name_go_on_with_the_old_one():
    f = follower()
    first = move(3)
    f.accept(first, now=0.0)
    f.accept(move(4, names=("elbow",)), now=0.4)
    alone = follower()
    alone.accept(first, now=0.0)
    for now in np.linspace(0.4, 4.0, 19):
        ours, old = f.sample(float(now)), alone.sample(float(now))
        np.testing.assert_allclose(ours.q[[0, 2]], old.q[[0, 2]], rtol=0.0, atol=1e-9)


def test_a_motion_stamped_in_the_past_is_joined_where_it_is_now():
    f = follower(blend=0.2)
    w = move(5, first=0.0)
    f.accept(w, now=10.0, stamp=10.0 - 0.5)
    alone = interpolate(w)
    np.testing.assert_allclose(
        f.sample(10.25).q, alone.sample(0.75).q, rtol=0.0, atol=1e-9
    )  # after the blend


def test_a_motion_stamped_in_the_past_with_points_still_to_come_goes_straight_to_them():
    f = follower()
    w = move(6, first=1.0)
    trajectory = f.accept(w, now=10.0, stamp=9.5)
    np.testing.assert_allclose(trajectory.sample(0.5).q, w.positions[0], rtol=0.0, atol=1e-9)
    assert_continuous(trajectory)


def test_a_motion_stamped_in_the_future_starts_then():
    f = follower()
    w = move(7, first=0.0)
    f.accept(w, now=10.0, stamp=12.0)
    assert f.sample(11.9).q.tolist() == [0.0, 1.0, -0.5]
    np.testing.assert_allclose(f.sample(12.0 + w.duration).q, w.positions[-1], atol=1e-9)


def test_a_motion_that_is_over_is_refused_and_the_present_one_goes_on():
    f = follower()
    f.accept(move(8), now=0.0)
    due = f.sample(0.7)
    with pytest.raises(TrajectoryError) as refusal:
        f.accept(Waypoints(NAMES, [0.0, 1.0], np.zeros((2, 3))), now=0.7, stamp=-2.0)
    assert str(refusal.value) == (
        "trajectory: it ended 1.700 s ago; send it earlier, or with stamp zero to start on "
        "arrival, and let all nodes use the same clock"
    )
    assert_same(f.sample(0.7), due)


@pytest.mark.parametrize(("duration", "stamp"), [(2.0**31, 0.0), (1.0, 2.0**31)])
def test_a_motion_that_ends_in_years_is_refused_and_the_present_one_goes_on(duration, stamp):
    arm = follower()
    years = Waypoints(NAMES, [duration], [[1.0, 0.0, 0.0]])
    with pytest.raises(
        TrajectoryError, match=r"^trajectory: it would end in 214748364\d s, later "
    ):
        arm.accept(years, 0.0, stamp)
    assert_same(arm.sample(1.0), follower().sample(1.0))


def test_planning_changes_nothing():
    f = follower()
    f.plan(move(9), now=0.0)
    assert not f.moving(0.1)


def test_five_hundred_replacements_a_second_never_stall_and_never_grow():
    f = follower()
    goal = np.array([1.0, -1.0, 0.5])
    most = 0
    for k in range(1000):
        now = 0.002 * k
        state = f.sample(now)
        # As a model-predictive controller does it: a short plan from here, ten times a horizon
        steps = np.linspace(0.02, 0.2, 10)
        q = state.q + (goal - state.q) * (1.0 - np.exp(-6.0 * steps))[:, None]
        v = 6.0 * (goal - state.q) * np.exp(-6.0 * steps)[:, None]
        f.accept(Waypoints(NAMES, steps, q, v), now)
        most = max(most, len(f.trajectory.breaks))
    assert most < 20
    np.testing.assert_allclose(f.sample(2.0).q, goal, atol=1e-3)


def test_a_motion_that_ends_while_moving_is_brought_to_rest():
    f = follower(stop=0.4)
    f.accept(Waypoints(NAMES, [0.5, 1.0], np.zeros((2, 3)), np.ones((2, 3))), now=0.0)
    np.testing.assert_allclose(f.sample(1.0).qd, 1.0, atol=1e-9)
    trajectory = f.trajectory
    assert trajectory.end == pytest.approx(1.4)
    np.testing.assert_allclose(trajectory.sample(1.4 - 1e-12).qd, 0.0, atol=1e-9)
    # Velocity falls from 1 to 0 in 0.4 s by a cubic with the acceleration a that it starts with:
    # its integral is v T / 2 + a T^2 / 12
    a = trajectory.sample(1.0 + 1e-12).qdd
    np.testing.assert_allclose(
        trajectory.sample(1.4).q - trajectory.sample(1.0).q, 0.2 + a * 0.4**2 / 12.0, atol=1e-9
    )


@given(st.integers(0, 1000))
def test_stop_comes_to_rest_in_the_time_given_without_a_step(seed):
    f = follower(stop=0.5)
    f.accept(move(seed), now=0.0)
    due = f.sample(0.6)
    f.stop(0.6)
    assert_same(f.sample(0.6), due)
    assert f.remaining(0.6) == pytest.approx(0.5)
    rest = f.sample(1.1 + 1e-9)
    assert not rest.qd.any() and not rest.qdd.any()
    np.testing.assert_allclose(f.sample(1.1 - 1e-9).qd, 0.0, atol=1e-6)


def test_a_clock_that_jumps_back_forgets_the_motion_and_comes_to_rest():
    f = follower()
    f.accept(move(11), now=1000.0)
    due = f.sample(1000.6)
    f.clock_jumped(before=1000.6, after=3.0)
    assert_same(f.sample(3.0), due)
    assert not f.sample(3.6).qd.any()
    assert not f.moving(3.6)


@pytest.mark.parametrize("turns", [-3, -1, 0, 1, 2])
def test_a_continuous_joint_takes_the_nearest_turn_when_joining_a_motion_in_progress(turns):
    f = Follower(("spin",), [0.2], continuous=[True], blend=0.1)
    around = 2 * np.pi * turns
    w = Waypoints(("spin",), [0.0, 1.0], [[around], [around + 4 * np.pi]])
    f.accept(w, now=5.0, stamp=4.5)  # half way: one whole turn on
    assert f.sample(5.0).q[0] == pytest.approx(0.2)
    assert abs(f.sample(5.1).q[0] - 0.2) < np.pi
    assert np.cos(f.sample(6.0).q[0]) == pytest.approx(1.0)


def test_holding_elsewhere_forgets_the_motion():
    f = follower()
    f.accept(move(12), now=0.0)
    f.hold([1.0, 2.0, 3.0])
    assert f.sample(0.5).q.tolist() == [1.0, 2.0, 3.0]


def test_a_position_that_is_no_number_cannot_be_held():
    with pytest.raises(ArgumentError, match=r"q\[1\] is nan"):
        follower().hold([0.0, np.nan, 0.0])
    with pytest.raises(ShapeError, match=r"q must have shape \(3,\), got \(2,\)"):
        follower().hold([0.0, 0.0])


def test_what_is_ahead_is_the_rest_of_the_motion_and_after_it_the_place_where_it_ended():
    arm = follower()
    arm.accept(move(3), 10.0)
    end = arm.trajectory.end
    for now in (10.0, 10.4, 10.0 + 0.9 * end):
        ahead = arm.ahead(now)
        assert ahead.end == pytest.approx(10.0 + end - now)
        for t in np.linspace(0.0, ahead.end, 20):
            assert_same(ahead.sample(t), arm.sample(now + t))
    over = arm.ahead(11.0 + end)
    assert over.end == 0.0
    assert_same(over.sample(1.0), arm.sample(11.0 + end))
