"""Handover of motions from the planning to the following thread, and their clock."""

import threading

import numpy as np
import pytest

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory import Follower, Waypoints
from robot_dynamics.trajectory.handover import Handover
from robot_dynamics.trajectory.motion_clock import MotionClock
from robot_dynamics.trajectory.motion_plan import PlannedMotion, Rules, plan_motion

NAMES = ("a", "b")
SECOND = 10**9


@pytest.fixture
def follower():
    return Follower(NAMES, np.zeros(2))


@pytest.fixture
def handover(follower):
    return handover_of(follower)


def handover_of(follower, now=0.0):
    return Handover(follower, MotionClock(0, 0.0), lambda: now)


def planned(follower, begin, to=(1.0, 0.5), names=NAMES):
    waypoints = Waypoints(names, [2.0], [to[: len(names)]])
    trajectory = follower.plan(waypoints, now=begin)
    settled = begin + follower.blend
    return PlannedMotion(trajectory, begin, begin, waypoints, follower.followed, settled)


def test_a_motion_is_taken_over_at_its_beginning_and_not_before(follower, handover):
    motion = planned(follower, begin=1.0)
    handover.offer(motion)
    assert handover.take(0.9)
    assert handover.pending and follower.followed is motion.base
    assert handover.take(1.01)
    assert not handover.pending and follower.trajectory is motion.trajectory


def test_a_motion_whose_base_was_replaced_is_dropped_and_reported(follower, handover):
    handover.offer(planned(follower, begin=1.0))
    follower.hold([0.2, 0.2])
    assert not handover.take(1.0)
    assert not handover.pending
    np.testing.assert_array_equal(follower.sample(3.0).q, [0.2, 0.2])


def test_a_stop_forgets_what_was_offered_and_is_pending_until_it_is_taken(follower, handover):
    follower.accept(Waypoints(NAMES, [2.0], [[1.0, 0.5]]), 0.0)
    handover.offer(planned(follower, begin=1.0))
    handover.stop()
    assert handover.pending
    assert handover.take(1.0)  # the motion, due as well, is not reported as dropped
    assert not handover.pending
    assert not follower.sample(1.0 + follower.stop_time + 1e-6).qd.any()


def test_what_is_forgotten_is_never_followed(follower, handover):
    handover.offer(planned(follower, begin=1.0))
    handover.forget()
    assert not handover.pending and handover.take(2.0)
    assert not follower.moving(2.0)


@pytest.mark.parametrize("now", [0.9, 1.2])
def test_the_end_of_the_following_thread_takes_over_what_was_offered(follower, now):
    handover, motion = handover_of(follower, now), planned(follower, begin=1.0)
    handover.offer(motion)
    assert handover.finish()
    assert not handover.pending and follower.trajectory is motion.trajectory
    assert follower.remaining(now) == pytest.approx(motion.trajectory.end - max(now - 1.0, 0.0))
    assert not handover.finish()


def test_the_end_of_the_following_thread_reports_an_offer_that_joins_no_more(follower, handover):
    handover.offer(planned(follower, begin=1.0))
    follower.hold([0.2, 0.2])
    assert handover.finish()
    assert not handover.pending and not follower.moving(1.0)


def test_who_waits_is_woken_when_the_other_thread_takes_over(follower, handover):
    handover.offer(planned(follower, begin=1.0))
    waiting = threading.Thread(target=handover.wait, args=(240.0,))
    waiting.start()
    handover.take(1.0)
    waiting.join(120.0)
    assert not waiting.is_alive()


def test_a_motion_of_some_joints_ends_with_them_though_others_go_on(follower):
    follower.accept(Waypoints(NAMES, [9.0], [[1.0, 0.5]]), 0.0)
    motion = planned(follower, begin=1.0, names=("a",))
    assert motion.end == pytest.approx(3.0)
    assert motion.begin + motion.trajectory.end > 8.0
    assert planned(Follower(NAMES, np.zeros(2)), begin=1.0).end == pytest.approx(3.0)


def plan_with(follower, effort, *, now=lambda: 0.0, **options):
    """Plan a motion of the arm, whose efforts are computed in planning."""
    handover = Handover(follower, MotionClock(0, 0.0), now, **options)
    return handover.planned(Waypoints(NAMES, [2.0], [[1.0, 0.5]]), 0, Rules("ignore", None, effort))


def test_planning_that_takes_too_long_is_done_again_from_further_ahead(follower):
    time, begins = [0.0], []

    def effort(state):
        begins.append(time[0])
        time[0] += 0.05
        return np.zeros_like(state.q)

    motion = plan_with(follower, effort, now=lambda: time[0])
    assert len(begins) == 2
    assert motion.begin >= time[0] > motion.begin - 0.1


def test_a_motion_is_planned_again_if_what_it_joins_was_stopped_meanwhile(follower):
    efforts = []

    def effort(state):
        if not efforts:
            follower.hold([0.2, 0.2])
        efforts.append(np.zeros_like(state.q))
        return efforts[-1]

    motion = plan_with(follower, effort)
    assert motion.base is follower.followed
    assert len(efforts) == 2


def test_nothing_is_planned_for_a_node_that_ends(follower):
    with pytest.raises(TrajectoryError, match="shutting down"):
        plan_with(follower, None, going=lambda: False)


def spun(times, positions, *, at=0.2):
    """Plan a motion of a continuous and a revolute joint, both at rest."""
    arm = Follower(("spin", "hinge"), [at, at], continuous=[True, False])
    waypoints = Waypoints(arm.joint_names, times, positions)
    rules = Rules("ignore", None, lambda state: np.zeros_like(state.q), arm.continuous)
    motion = plan_motion(arm.followed, waypoints, 1.0, 0.0, rules)
    return motion, motion.trajectory.sample(motion.trajectory.end).q


def test_a_goal_beyond_a_turn_is_taken_as_the_nearest_equivalent_angle_and_says_so():
    motion, end = spun([5.0], [[4 * np.pi, 4 * np.pi]])
    np.testing.assert_allclose(end, [0.0, 4 * np.pi], atol=1e-9)
    assert motion.remark == (
        "joint 'spin': 12.57 rad is taken as 0 rad, because the first point is taken as the "
        "nearest equivalent angle; to turn further, begin less than half a turn from the joint"
    )


@pytest.mark.parametrize(
    ("times", "positions"),
    [([1.0, 5.0], [[1.0, 0.0], [20.0, 0.0]]), ([0.0, 5.0], [[0.2, 0.2], [-20.0, 0.0]])],
    ids=["less than half a turn away", "at the joint"],
)
def test_a_path_that_begins_near_the_joint_keeps_its_turns(times, positions):
    motion, end = spun(times, positions)
    np.testing.assert_allclose(end, positions[-1], atol=1e-9)
    assert motion.remark == ""


def test_a_path_from_where_a_driver_counts_other_turns_goes_as_far_without_a_remark():
    motion, end = spun([0.0, 5.0], [[0.2, 0.2], [20.2, 0.2]], at=0.2 + 2 * np.pi)
    assert end[0] == pytest.approx(20.2 + 2 * np.pi)
    assert motion.remark == ""


def test_a_clock_goes_on_as_the_other_does_and_back():
    clock = MotionClock(5 * SECOND, 0.0)
    assert clock.tick(5 * SECOND + 10**6, 1e-3) == 0.0
    assert clock.now == pytest.approx(1e-3)
    assert clock.nanoseconds(clock.seconds(123456789)) == 123456789


def test_a_forward_jump_is_ignored_and_a_backward_one_is_reported():
    clock = MotionClock(0, 0.0)
    clock.tick(SECOND, 1.0)
    assert clock.tick(100 * SECOND, 1.001) == pytest.approx(99.0)
    assert clock.now == pytest.approx(1.0)
    assert clock.tick(100 * SECOND + 10**6, 1.002) == 0.0
    assert clock.now == pytest.approx(1.001)
    assert clock.tick(50 * SECOND, 1.003) == pytest.approx(-50.001)
    assert clock.now == pytest.approx(-49.0)


def test_a_clock_that_is_corrected_or_fast_has_not_jumped():
    clock = MotionClock(0, 0.0)
    assert clock.tick(90 * SECOND, 1.0) == 0.0  # ninety times as fast
    assert clock.tick(90 * SECOND - 5 * 10**7, 1.001) == 0.0  # 50 ms back
