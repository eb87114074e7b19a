"""The table of statuses: what a controller does, and where a motion starts."""

import numpy as np
import pytest

from robot_dynamics.control import Settings, Status
from robot_dynamics.control.status import (
    AT_REST,
    TABLE,
    TRACKING_ERROR,
    Start,
    Stop,
    Supervisor,
    start_of,
)


def test_every_status_has_one_row_but_that_of_a_controller_that_commands_nothing():
    rows = [row.status for row in TABLE]
    assert len(set(rows)) == len(rows)
    assert set(Status) - set(rows) == {Status.WAITING}


def supervisor(**conditions):
    """At time 1 s, everything in order, save for what is given."""
    made = Supervisor(2, Settings(tracking_limit=0.1, resume_by_itself=False))
    if "silent" in conditions:
        made.states.feed(-1.0)
    else:
        made.states.feed(0.5 if "blind" in conditions else 1.0)
    made.references.feed(0.5 if "unled" in conditions else 1.0)
    made.paused = "paused" in conditions
    made.stopped_by = Stop(0, TRACKING_ERROR, 0.2, 0.1) if "stopped" in conditions else None
    made.returning = "resumed" in conditions
    made.halted = "halted" in conditions
    if "settling" in conditions:
        made.settle(1.0)
    return made


CONDITIONS = {
    "silent": Status.SILENT,
    "blind": Status.BLIND,
    "stopped": Status.STOPPED,
    "unled": Status.HOLDING,
    "paused": Status.PAUSED,
    "resumed": Status.RESUMED,
    "settling": Status.SETTLING,
}


@pytest.mark.parametrize("first", CONDITIONS)
def test_the_first_row_whose_condition_holds_decides_whatever_holds_below_it(first):
    order = list(CONDITIONS)
    below = order[order.index(first) :]
    assert [row.status for row in TABLE][:-1] == list(CONDITIONS.values())
    for conditions in ([first], below):
        near = "resumed" not in conditions
        status = supervisor(**dict.fromkeys(conditions)).next_status(1.0, None, near)
        assert status is CONDITIONS[first]


def test_it_tracks_when_nothing_keeps_it_from_that_and_holds_once_halted():
    assert supervisor().next_status(1.0, None) is Status.TRACKING
    assert supervisor(halted=None).next_status(1.0, None) is Status.HOLDING


def test_a_tracking_error_beyond_its_limit_names_the_joint_until_resumed():
    made = supervisor()
    made.enter(Status.TRACKING, np.zeros(2), np.zeros(2))
    assert made.watches_tracking
    assert made.next_status(1.0, np.array([0.0, 0.2])) is Status.STOPPED
    assert made.stopped_by == Stop(1, TRACKING_ERROR, 0.2, 0.1)
    assert made.resume()
    assert made.next_status(1.0, None, near=False) is Status.RESUMED
    assert made.next_status(1.0, np.array([0.0, 0.05])) is Status.TRACKING


@pytest.mark.parametrize("before", Status)
@pytest.mark.parametrize("after", Status)
def test_a_motion_goes_on_from_where_the_arm_was_to_be_only_if_feedback_kept_it_there(
    before, after
):
    start = start_of(before, after, by_hand=False)
    if after is Status.BLIND:
        assert start is Start.PREDICTED
    elif after is Status.STOPPED:
        assert start is Start.MEASURED
    elif before in AT_REST:
        assert start is Start.DESIRED
        assert start_of(before, after, by_hand=True) is Start.MEASURED
