"""Who commands where one controller stands by for another, decided without a clock and ROS."""

import pytest

from robot_dynamics.nodes.controller.duty import DEAF_S, Change, Duty

TIMEOUT = 0.03


class Turns:
    """A duty, and what it decides every millisecond."""

    def __init__(self):
        self.duty, self.k = Duty(TIMEOUT), 0
        self.duty.announced("first")

    def run(self, cycles, *, commanded, sees=True):
        """What changes over some cycles, in order."""
        changes = []
        for _ in range(cycles):
            self.k += 1
            if commanded:
                self.duty.commanded(1e-3 * self.k)
            changes.append(self.duty.change(1e-3 * self.k, TIMEOUT, sees=sees))
        return [change for change in changes if change is not None]


def test_it_commands_nothing_before_another_one_has():
    turns = Turns()
    assert turns.run(1000, commanded=False) == []
    assert not turns.duty.on_duty


def test_it_takes_over_once_commands_have_stopped_for_as_long_as_allowed():
    turns = Turns()
    assert turns.run(100, commanded=True) == [Change.STANDS_BY]
    assert turns.run(30, commanded=False) == []
    assert turns.run(2, commanded=False) == [Change.TAKES_OVER]
    assert turns.duty.on_duty and turns.duty.relieved == "first"
    assert turns.run(1000, commanded=False) == []


def test_it_takes_over_only_when_it_sees_the_arm():
    turns = Turns()
    turns.run(100, commanded=True)
    assert turns.run(100, commanded=False, sees=False) == []
    assert turns.run(1, commanded=False) == [Change.TAKES_OVER]


def test_one_that_was_only_kept_waiting_is_told_that_it_is_relieved_and_does_not_get_it_back():
    turns = Turns()
    turns.run(100, commanded=True)
    turns.run(40, commanded=False)
    told = turns.run(200, commanded=True)
    assert set(told) == {Change.INSISTS} and len(told) <= 4  # now and then, not in every cycle
    assert turns.duty.on_duty
    assert turns.run(1000, commanded=False) == []


def test_another_watch_gets_the_commands_at_once():
    turns = Turns()
    turns.run(100, commanded=True)
    turns.run(40, commanded=False)
    turns.duty.announced("second")
    assert turns.run(100, commanded=True) == [Change.YIELDS]
    assert not turns.duty.on_duty
    turns.run(31, commanded=False)
    assert turns.duty.on_duty and turns.duty.relieved == "second"


def test_who_does_not_listen_is_given_way_to():
    turns = Turns()
    turns.run(100, commanded=True)
    turns.run(40, commanded=False)
    told = turns.run(round(1e3 * DEAF_S) + 10, commanded=True)
    assert told[-1] is Change.GIVES_WAY
    assert not turns.duty.on_duty


def test_a_controller_without_a_name_gets_the_commands_back_as_soon_as_it_commands():
    turns = Turns()
    turns.duty.announced("")
    turns.run(100, commanded=True)
    turns.run(40, commanded=False)
    assert turns.run(100, commanded=True) == [Change.YIELDS]


def test_it_knows_after_few_cycles_how_often_they_come_and_a_late_one_teaches_it_nothing():
    turns = Turns()
    turns.run(1, commanded=False)
    before = turns.duty.period
    turns.run(10, commanded=False)
    assert before == 20e-3 and turns.duty.period == pytest.approx(1e-3)  # a cycle of `run`
    turns.k += 50
    turns.run(1, commanded=True)
    assert turns.duty.period == pytest.approx(1e-3)


def test_one_that_is_relieved_itself_stands_by_again_and_takes_over_again():
    turns = Turns()
    turns.run(100, commanded=True)
    turns.run(40, commanded=False)
    turns.duty.announced("another one that stood by")
    turns.duty.relieve(1e-3 * turns.k)
    assert turns.run(1, commanded=False) == [Change.YIELDS]
    assert not turns.duty.on_duty
    assert turns.run(100, commanded=True) == []
    assert turns.run(40, commanded=False) == [Change.TAKES_OVER]
    assert turns.duty.relieved == "another one that stood by"
