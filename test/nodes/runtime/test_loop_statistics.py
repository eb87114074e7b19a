"""Loop statistics: what is reported of cycles whose times are known, and of inputs."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.runtime.loop_statistics import (
    WINDOW_CYCLES,
    Input,
    Timing,
    stale_inputs,
    timing_faults,
)

MS, US = 1_000_000, 1_000


def timing(cycles, missed=0, begin=0):
    result = Timing(1000.0)
    run(result, cycles, missed, begin)
    return result


def run(timing, cycles, missed=0, begin=0, late=10 * US):
    for k in range(cycles):
        timing.record((begin + k) * MS, late, busy=20 * US)
    timing.missed += missed


def test_nothing_recorded_is_reported_as_nothing():
    report = Timing(1000.0).report()
    assert (report.cycles, report.missed, report.held, report.late_max) == (0, 0, 0.0, 0.0)


def test_the_rate_held_is_that_of_the_cycles():
    timing = Timing(1000.0)
    for k in range(11):
        timing.record(k * 2 * MS, late=0, busy=0)
    assert timing.report().held == pytest.approx(500.0)


def test_delays_are_reported_as_median_percentile_and_maximum():
    timing = Timing(1000.0)
    for k in range(1000):
        timing.record(k * MS, late=(k + 1) * US, busy=2 * (k + 1) * US)
    report = timing.report()
    assert report.late_median == pytest.approx(501e-6)
    assert report.late_p99 == pytest.approx(991e-6)
    assert report.late_max == pytest.approx(1e-3)
    assert report.busy_max == pytest.approx(2e-3)


def test_the_maximum_outlives_the_window_of_the_percentiles():
    timing = Timing(1000.0)
    timing.record(0, late=7 * MS, busy=0)
    for k in range(1, WINDOW_CYCLES + 10):
        timing.record(k * MS, late=US, busy=0)
    report = timing.report()
    assert report.late_max == pytest.approx(7e-3)
    assert report.late_p99 == pytest.approx(1e-6)
    assert report.cycles == WINDOW_CYCLES + 10


def test_reset_forgets_everything():
    timing = Timing(1000.0)
    timing.record(0, late=7 * MS, busy=MS)
    timing.missed = 3
    timing.reset()
    assert timing.report() == Timing(1000.0).report()


def test_a_recent_report_leaves_out_what_was_before():
    timing = Timing(1000.0)
    for k in range(100):
        timing.record(k * MS, late=7 * MS, busy=5 * MS)
    timing.missed = 4
    timing.recent()
    for k in range(100, 111):
        timing.record(k * 2 * MS - 100 * MS, late=(k - 99) * US, busy=US)
    timing.missed = 5
    report = timing.recent()
    assert (report.cycles, report.missed) == (11, 1)
    assert report.late_median == pytest.approx(6e-6)
    assert report.late_max == pytest.approx(11e-6)
    assert report.busy_max == pytest.approx(1e-6)
    # 11 periods: the first from the last cycle before, 1 ms, and ten of 2 ms
    assert report.held == pytest.approx(11 / 21e-3)


def test_the_report_is_one_line_for_a_log():
    timing = Timing(1000.0)
    for k in range(3):
        timing.record(k * MS, late=50 * US, busy=100 * US)
    timing.missed = 2
    assert str(timing.report()) == (
        "1000.0 Hz held of 1000.0 Hz, 2 of 5 cycles missed, late 50 us (99 %: 50, worst 50), "
        "busy 100 us (99 %: 100, worst 100)"
    )


def test_a_task_is_reported_from_one_look_to_the_next():
    task = Timing(1000.0)
    assert task.recent() is None
    run(task, 1)
    assert task.recent() is None  # one cycle has no rate
    run(task, 499, missed=3, late=9 * MS, begin=1)
    report = task.recent()
    assert (report.cycles, report.missed) == (500, 3)
    run(task, 200, missed=1, begin=500)
    report = task.recent()
    assert (report.cycles, report.missed) == (200, 1)
    assert report.held == pytest.approx(1000.0)
    assert report.late_max == pytest.approx(10e-6)  # the 9 ms are of before


def test_a_task_that_was_counted_anew_is_reported_from_there():
    task = timing(500, missed=7)
    task.recent()
    task.reset()
    run(task, 1, begin=899)
    assert task.recent() is None
    task.reset()
    run(task, 20, begin=900)
    report = task.recent()
    assert (report.cycles, report.missed) == (20, 0)
    assert report.held == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("cycles", "missed", "expected"),
    [
        (100, 0, []),
        (100, 1, []),
        (90, 10, [Fault(Level.WARN, "10 of 100 cycles missed")]),
        (40, 60, [Fault(Level.ERROR, "60 of 100 cycles missed; lower the parameter rate")]),
    ],
)
def test_missed_cycles_are_a_fault_when_they_are_many(cycles, missed, expected):
    assert timing_faults(timing(cycles, missed).report()) == expected


def test_a_loop_that_had_run_and_stands_still_is_an_error():
    task = timing(100)
    task.recent()
    assert timing_faults(task.recent()) == [Fault(Level.ERROR, "the loop stands still")]


def test_a_loop_that_has_not_started_is_no_fault():
    assert timing_faults(Timing(1000.0).recent()) == []


def test_an_input_that_never_came_is_not_silent():
    assert stale_inputs([Input("joint_states")]) == []
