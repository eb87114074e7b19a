"""The table of statuses: the first row whose condition holds decides."""

import pytest

from robot_dynamics.control import Status
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.guard import Flaw
from robot_dynamics.control.status import SENTENCES, TABLE, WORDS, Cause, next_status
from robot_dynamics.foundation.numbers import short_number

IN_ORDER = {
    "seen": 1.0,
    "age": 0.0,
    "state_timeout": 0.1,
    "open_loop_timeout": 1.0,
    "stop": 0.3,
    "without_states": 0.0,
    "cause": 0.0,
    "halted": 0.0,
    "refused": 0.0,
    "commanded": 1.0,
    "paused": 0.0,
    "comes": 0.0,
    "now": 5.0,
    "settled_at": 0.0,
}

CONDITIONS = {
    Status.WAITING: {"seen": 0.0},
    Status.SILENT: {"age": 2.0, "without_states": 1.0},
    Status.OPEN_LOOP: {"without_states": 1.0},
    Status.STOPPED: {"cause": float(Cause.SATURATION)},
    Status.HOLDING: {"commanded": 0.0},
    Status.PAUSED: {"paused": 1.0},
    Status.RESUMED: {"comes": 1.0},
    Status.SETTLING: {"settled_at": 6.0},
}


def status(*conditions):
    """The status where everything is in order, save for what is given."""
    return Status(int(next_status(Facts(IN_ORDER, *conditions))))


def test_every_status_has_one_row_and_words():
    rows = [row.status for row in TABLE]
    assert sorted(rows) == sorted(Status) == sorted(WORDS)


def test_every_cause_but_none_has_a_sentence_with_joint_and_value():
    assert set(SENTENCES) == set(Cause) - {Cause.NONE}
    for sentence in SENTENCES.values():
        assert "{joint}" in sentence.text and "{value}" in sentence.text and sentence.remedy


@pytest.mark.parametrize("first", CONDITIONS)
def test_the_first_row_whose_condition_holds_decides_whatever_holds_below_it(first):
    order = list(CONDITIONS)
    assert [row.status for row in TABLE] == [*order, Status.TRACKING]
    below = [CONDITIONS[one] for one in order[order.index(first) :]]
    assert status(CONDITIONS[first]) is first
    assert status(*below) is first


@pytest.mark.parametrize("why", ["halted", "refused"])
def test_it_tracks_when_nothing_keeps_it_from_that_and_holds_once_it_is_told(why):
    assert status() is Status.TRACKING
    assert status({why: 1.0}) is Status.HOLDING


@pytest.mark.parametrize("names", [Status, Cause, Flaw])
def test_numbers_of_names_are_their_places_in_tables(names):
    assert [int(name) for name in names] == list(range(len(names)))


def test_numbers_have_no_exponent_below_a_million():
    numbers = [short_number(x) for x in (0.25, 999.4, 999.7, 3000.0, 2e6)]
    assert numbers == ["0.25", "999", "1000", "3000", "2e+06"]


def test_a_sentence_names_the_joint_and_gives_its_numbers_with_units(arm):
    assert SENTENCES[Cause.SATURATION].words(arm.robot, 1, 0.25, 15.0) == (
        "joint 'elbow' moves at 0.25 rad/s against its reference, with its effort at its limit of "
        "15 N m"
    )
