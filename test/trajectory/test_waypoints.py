"""Accepted and refused motions, with the full text of the errors."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.robot.kinematic_tree import Mimic
from robot_dynamics.trajectory import Point, State, Waypoints, interpolate, read_points

ROBOT = ("shoulder", "elbow", "wrist")
NAN, INF = float("nan"), float("inf")


def points(*times, n=3, **fields):
    return [Point(t, [0.1 * k] * n, **fields) for k, t in enumerate(times)]


GOOD = points(0.0, 1.0, 2.0)

# name: (joint names, points, options, message), in the order in which faults are looked for
REFUSED = {
    "too many joints": (
        [*ROBOT, "tool"],
        GOOD,
        {},
        "trajectory: 4 joints (shoulder, elbow, wrist, tool) for the 3 of the robot "
        "(shoulder, elbow, wrist); name each joint once",
    ),
    "too few joints": (
        ["elbow"],
        GOOD,
        {"allow_partial": False},
        "trajectory: 1 joint (elbow) for the 3 of the robot (shoulder, elbow, wrist); "
        "give all of them, or set allow_partial_joints_goal",
    ),
    "no names": (
        [],
        GOOD,
        {},
        "trajectory: joint_names is empty; name the joint of every column",
    ),
    "a name twice": (
        ["elbow", "wrist", "elbow"],
        GOOD,
        {},
        "trajectory: joint 'elbow' stands twice; name each joint once",
    ),
    "no points": (
        ROBOT,
        [],
        {},
        "trajectory: no points; to stop, send one point at the present position",
    ),
    "an unknown joint": (
        ["shoulder", "elbo"],
        points(0.0, n=2),
        {},
        "trajectory: no joint 'elbo' (trajectory: shoulder, elbo; robot: shoulder, elbow, wrist)"
        "; did you mean 'elbow'?",
    ),
    "no positions": (
        ROBOT,
        [Point(0.0, [])],
        {},
        "trajectory point 0: positions has 0 entries for 3 joints; "
        "give one per joint, positions are required",
    ),
    "too few velocities": (
        ROBOT,
        [Point(0.0, [0.0] * 3, [0.0] * 2)],
        {},
        "trajectory point 0: velocities has 2 entries for 3 joints; "
        "give one per joint or leave the field empty",
    ),
    "too many efforts": (
        ROBOT,
        points(0.0, 1.0, effort=[0.0] * 4),
        {},
        "trajectory point 0: effort has 4 entries for 3 joints; "
        "give one per joint or leave the field empty",
    ),
    "a velocity at the end": (
        ROBOT,
        points(0.0, 1.0, velocities=[0.0, 0.2, 0.0]),
        {},
        "trajectory point 1: joint 'elbow' still moves at 0.2 at the end; "
        "end at rest, or set allow_nonzero_velocity_at_trajectory_end",
    ),
    "a negative time": (
        ROBOT,
        points(-0.5, 1.0),
        {},
        "trajectory point 0: time is -0.5 s; give finite times from 0 s on",
    ),
    "a time that is no number": (
        ROBOT,
        points(0.0, NAN),
        {},
        "trajectory point 1: time is nan s; give finite times from 0 s on",
    ),
    "a time twice": (
        ROBOT,
        points(0.0, 1.0, 1.0),
        {},
        "trajectory point 2: time 1 s is not after the 1 s of point 1; times must increase",
    ),
    "a position that is no number": (
        ROBOT,
        [Point(0.0, [0.0, NAN, 0.0])],
        {},
        "trajectory point 0: positions of joint 'elbow' is nan; every number must be finite",
    ),
    "an infinite acceleration": (
        ROBOT,
        [Point(0.0, [0.0] * 3, [0.0] * 3, [0.0, 0.0, INF])],
        {},
        "trajectory point 0: accelerations of joint 'wrist' is inf; every number must be finite",
    ),
    "a velocity at the end that is no number": (
        ROBOT,
        points(0.0, velocities=[0.0, NAN, 0.0]),
        {},
        "trajectory point 0: velocities of joint 'elbow' is nan; every number must be finite",
    ),
    "efforts that are all no number": (
        ROBOT,
        points(0.0, effort=[NAN] * 3),
        {},
        "trajectory point 0: effort are all nan; every number must be finite",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_faulty_motion_is_refused_in_one_line(case):
    names, faulty, options, message = REFUSED[case]
    with pytest.raises(TrajectoryError) as refusal:
        read_points(names, faulty, ROBOT, **options)
    assert str(refusal.value) == message


FOLLOWERS = {"tip": Mimic("wrist", -0.5, 0.1)}


@given(st.floats(-1.0, 1.0), st.floats(-1e-3, 1e-3), st.permutations([*ROBOT, "tip"]))
def test_a_joint_that_follows_another_may_be_named_with_its_position(wrist, off, names):
    at = {"shoulder": 0.3, "elbow": 0.2, "wrist": wrist, "tip": 0.1 - 0.5 * wrist + off}
    row = [at[name] for name in names]
    read = read_points(names, [Point(1.0, row, row)], ROBOT, followers=FOLLOWERS,
                       allow_end_velocity=True)  # fmt: skip
    assert read.joint_names == tuple(name for name in names if name != "tip")
    for given_row in (read.positions, read.velocities):
        assert given_row[0].tolist() == [at[name] for name in read.joint_names]


@pytest.mark.parametrize(
    ("names", "row", "message"),
    [
        (
            ["wrist", "tip"],
            [1.0, 0.1],
            "trajectory point 0: joint 'tip' follows 'wrist' (times -0.5, plus 0.1), but is to be "
            "at 0.1 instead of -0.4; leave it out",
        ),
        (
            ["tip"],
            [0.1],
            "trajectory: joint 'tip' follows 'wrist' (times -0.5, plus 0.1); name 'wrist' in its "
            "place",
        ),
        (
            ["wrist", "tip"],
            [1.0],
            "trajectory point 0: positions has 1 entry for 2 joints; give one per joint, "
            "positions are required",
        ),
    ],
)
def test_a_joint_that_follows_another_is_refused_elsewhere_and_alone(names, row, message):
    with pytest.raises(TrajectoryError) as refusal:
        read_points(names, [Point(1.0, row)], ROBOT, followers=FOLLOWERS)
    assert str(refusal.value) == message


@pytest.mark.parametrize("limit", [None, 1e-3, 0.2, 3.0, np.inf])
def test_a_motion_that_ends_with_the_round_off_of_a_planner_ends_at_rest(limit):
    speeds = None if limit is None else [3.0, limit, 3.0]
    slow = {1e-3: 1e-4, 0.2: 2e-4, 3.0: 3e-3}.get(limit, 1e-3)  # a thousandth of the limit
    for left in (slow, -slow):
        ending = points(0.0, 1.0, velocities=[0.0, 0.999 * left, 0.0])
        assert not read_points(ROBOT, ending, ROBOT, speeds=speeds).velocities[-1].any()
        ending = points(0.0, 1.0, velocities=[0.0, 1.001 * left, 0.0])
        with pytest.raises(TrajectoryError, match="joint 'elbow' still moves at"):
            read_points(ROBOT, ending, ROBOT, speeds=speeds)


def test_the_round_off_of_each_joint_is_its_own_in_any_order_of_the_joints():
    ending = points(0.0, 1.0, velocities=[2e-3, 0.0, 0.0])
    read = read_points(["wrist", "elbow", "shoulder"], ending, ROBOT, speeds=[0.1, 0.1, 3.0])
    assert not read.velocities[-1].any()


def test_the_first_fault_in_the_order_of_joint_trajectory_controller_is_named():
    faulty = [Point(0.0, [0.0] * 2, [1.0] * 2), Point(0.0, [NAN] * 2, [1.0] * 2)]
    with pytest.raises(TrajectoryError, match="no joint 'knee'"):
        read_points(["elbow", "knee"], faulty, ROBOT)
    with pytest.raises(TrajectoryError, match="still moves at 1 at the end"):
        read_points(["elbow", "wrist"], faulty, ROBOT)
    with pytest.raises(TrajectoryError, match="times must increase"):
        read_points(["elbow", "wrist"], faulty, ROBOT, allow_end_velocity=True)
    short = [Point(0.0, [0.0]), *faulty]
    with pytest.raises(TrajectoryError, match="no joint 'knee'"):
        read_points(["elbow", "knee"], short, ROBOT)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (
            Point(1.0, [0.0] * 3, [1.0]),
            "velocities has 1 entry for 3 joints; give one per joint or leave the field empty",
        ),
        (
            Point(1.0, [], [1.0] * 3),
            "positions has 0 entries for 3 joints; give one per joint, positions are required",
        ),
    ],
)
def test_a_velocity_at_the_end_is_no_joint_s_where_a_length_is_wrong(last, message):
    with pytest.raises(TrajectoryError) as refusal:
        read_points(ROBOT, [Point(0.0, [0.0] * 3), last], ROBOT)
    assert str(refusal.value) == f"trajectory point 1: {message}"


def test_what_passes_keeps_order_and_numbers():
    given_points = [
        Point(0.5, [1.0, 2.0], [0.1, 0.2], [0.3, 0.4], [5.0, 6.0]),
        Point(1.5, [3.0, 4.0], [0.0, 0.0], [0.5, 0.6], [7.0, 8.0]),
    ]
    w = read_points(["wrist", "elbow"], given_points, ROBOT)
    assert w.joint_names == ("wrist", "elbow")
    assert w.times.tolist() == [0.5, 1.5]
    assert w.positions.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert w.velocities.tolist() == [[0.1, 0.2], [0.0, 0.0]]
    assert w.accelerations.tolist() == [[0.3, 0.4], [0.5, 0.6]]
    assert w.effort.tolist() == [[5.0, 6.0], [7.0, 8.0]]


def test_a_field_that_no_point_gives_is_none_and_one_that_some_give_has_rows_of_nan():
    w = read_points(
        ["elbow"], [Point(0.0, [0.0]), Point(1.0, [1.0], [0.5]), Point(2.0, [2.0])], ROBOT
    )
    assert w.accelerations is None
    np.testing.assert_array_equal(w.velocities, [[NAN], [0.5], [NAN]])


def test_a_velocity_at_the_end_passes_where_it_is_allowed():
    moving = points(0.0, 1.0, velocities=[0.0, 0.2, 0.0])
    assert read_points(ROBOT, moving, ROBOT, allow_end_velocity=True).velocities[1, 1] == 0.2


def test_waypoints_made_by_hand_are_checked_too():
    with pytest.raises(TrajectoryError) as refusal:
        Waypoints(("a", "b"), [0.0, 1.0], [[0.0], [1.0]])
    assert str(refusal.value) == (
        "trajectory: positions has shape (2, 1) for 2 points of 2 joints; "
        "give one row per point and one column per joint"
    )


def test_waypoints_cannot_be_written_to():
    w = Waypoints(("a",), [0.0, 1.0], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="read-only"):
        w.positions[0, 0] = 1.0


def test_slowing_down_stretches_time_and_divides_rates():
    w = Waypoints(("a",), [0.0, 1.0], [[0.0], [1.0]], [[0.0], [3.0]], [[2.0], [0.0]])
    slow = w.slowed(2.0)
    assert slow.times.tolist() == [0.0, 2.0]
    assert slow.velocities.tolist() == [[0.0], [1.5]]
    assert slow.accelerations.tolist() == [[0.5], [0.0]]


NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=32)
LISTS = st.lists(NUMBERS, max_size=4)


@given(
    names=st.lists(st.sampled_from([*ROBOT, "", "Elbow"]), max_size=4),
    rows=st.lists(st.tuples(NUMBERS, LISTS, LISTS, LISTS, LISTS), max_size=4),
)
def test_anything_at_all_is_either_refused_in_one_line_or_finite(names, rows):
    try:
        w = read_points(names, [Point(*row) for row in rows], ROBOT)
    except TrajectoryError as refusal:
        assert "\n" not in str(refusal)
    else:
        assert np.isfinite(w.times).all() and np.isfinite(w.positions).all()
        for values in (w.velocities, w.accelerations, w.effort):
            if values is not None:
                absent = np.isnan(values).all(axis=1)
                assert np.isfinite(values[~absent]).all()


ZIGZAG = Waypoints(
    ("a", "b"),
    [1.0, 1.5, 3.0, 3.2, 5.0],
    [[0.0, 0.0], [1.0, 0.2], [1.0, 0.3], [0.2, 1.9], [0.5, 2.0]],
)


def test_points_that_are_passed_without_overshoot_bound_the_motion_between_them():
    path = interpolate(ZIGZAG.without_overshoot())
    for (t0, q0), (t1, q1) in itertools.pairwise(zip(ZIGZAG.times, ZIGZAG.positions, strict=True)):
        q = path.sample(np.linspace(t0, t1, 500)).q
        assert np.all(q >= np.minimum(q0, q1) - 1e-12)
        assert np.all(q <= np.maximum(q0, q1) + 1e-12)
    smooth = interpolate(ZIGZAG).sample(np.linspace(1.0, 5.0, 2000)).q
    assert smooth[:, 0].max() > 1.05  # what a spline does


@given(
    st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=8),
    st.lists(st.floats(0.05, 2.0), min_size=8, max_size=8),
)
def test_no_points_at_all_are_overshot(positions, gaps):
    t = np.cumsum(gaps[: len(positions)])
    points = Waypoints(("a",), t, np.array(positions)[:, None])
    path = interpolate(points.without_overshoot())
    for k in range(len(t) - 1):
        q = path.sample(np.linspace(t[k], t[k + 1], 50)).q[:, 0]
        low, high = sorted(positions[k : k + 2])
        assert low - 1e-9 <= q.min() and q.max() <= high + 1e-9


def test_a_motion_that_arrives_at_rest_at_its_first_point_goes_straight_there():
    at_rest = State(*(np.array(x) for x in ([-0.5, 0.0], [0.0, 0.0], [0.0, 0.0])))
    path = interpolate(ZIGZAG.arriving_at_rest(), start=at_rest)
    first = path.sample(1.0)
    np.testing.assert_allclose(first.q, ZIGZAG.positions[0], atol=1e-12)
    np.testing.assert_allclose(first.qd, 0.0, atol=1e-12)
    on_the_way = path.sample(np.linspace(0.0, 1.0, 300)).q[:, 0]
    assert on_the_way.min() >= -0.5 - 1e-12 and on_the_way.max() <= 1e-12
    given = ZIGZAG.without_overshoot()
    assert given.arriving_at_rest() is given
    assert given.without_overshoot() is given


def test_numbers_whose_powers_overflow_are_refused():
    for points, message in (
        ([Point(0.0, [0.0]), Point(1.0, [1e300])], "point 1: positions exceed 1e+12; every number"),
        ([Point(0.0, [0.0]), Point(1e300, [0.0])], "point 1: time is 1.0000000000000001e+300 s; "),
    ):
        with pytest.raises(TrajectoryError) as refused:
            read_points(["a"], points, ["a"])
        assert str(refused.value).startswith(f"trajectory {message}")
