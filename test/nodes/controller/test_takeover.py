"""Takeover by a standby controller, decided without a clock and ROS."""

import pytest

from robot_dynamics.nodes.controller.standby import (
    IGNORED_S,
    LONGEST_TIMEOUT_S,
    RETURN_S,
    RETURNED,
    SHORTEST_TIMEOUT_S,
    Takeover,
    Transition,
)

TIMEOUT = 0.03
TRIAL = round(1e3 * (TIMEOUT + RETURN_S)) + 2
"""Cycles without a command until the lease of the other controller is revoked."""


class Cycles:
    """A takeover, updated every millisecond."""

    def __init__(self):
        self.takeover, self.k = Takeover(), 0
        self.takeover.lease_announced("first")

    def run(self, cycles, *, commanded, has_states=True):
        """Return the transitions over some cycles, in order."""
        transitions = []
        for _ in range(cycles):
            self.k += 1
            if commanded:
                self.takeover.command_received(1e-3 * self.k)
            transitions.append(self.takeover.update(1e-3 * self.k, TIMEOUT, has_states=has_states))
        return [transition for transition in transitions if transition is not None]


def test_it_commands_nothing_before_another_one_has():
    loop = Cycles()
    assert loop.run(1000, commanded=False) == []
    assert not loop.takeover.commanding


def test_it_takes_over_once_commands_have_stopped_for_as_long_as_allowed():
    loop = Cycles()
    assert loop.run(100, commanded=True) == [Transition.STAND_BY]
    assert loop.run(30, commanded=False) == []
    assert loop.run(2, commanded=False) == [Transition.TRY]
    assert loop.takeover.commanding and loop.takeover.revoked_lease == ""
    assert loop.run(TRIAL, commanded=False) == [Transition.TAKE_OVER]
    assert loop.takeover.commanding and loop.takeover.revoked_lease == "first"
    assert loop.run(1000, commanded=False) == []


def test_its_reason_counts_from_the_last_command_before_the_trial():
    """A command that comes on trial ends no silence: it had been said to last 0 ms."""
    loop = Cycles()
    loop.run(100, commanded=True)
    assert loop.run(32, commanded=False) == [Transition.TRY]
    assert loop.takeover.silence("/effort_command", 0.132) == "no /effort_command for 32 ms"
    loop.run(147, commanded=False)
    loop.run(1, commanded=True)
    assert loop.run(5, commanded=False) == [Transition.TAKE_OVER]
    assert loop.takeover.silence("/effort_command", 0.28) == "only 1 /effort_command for 180 ms"


def test_it_takes_over_only_while_states_arrive():
    loop = Cycles()
    loop.run(100, commanded=True)
    assert loop.run(100, commanded=False, has_states=False) == []
    assert loop.run(1, commanded=False) == [Transition.TRY]


def test_a_controller_that_returns_in_time_goes_on_under_its_lease():
    loop = Cycles()
    loop.run(100, commanded=True)
    for _ in range(3):
        assert loop.run(49, commanded=False) == [Transition.TRY]
        assert loop.run(RETURNED - 1, commanded=True) == []
        assert loop.run(1, commanded=True) == [Transition.RETURN]
        assert not loop.takeover.commanding and loop.takeover.revoked_lease == ""
    assert loop.run(1000, commanded=True) == []


def test_the_timeout_grows_with_the_jitter_of_commands_within_bounds():
    loop = Cycles()
    loop.run(100, commanded=True)
    assert loop.takeover.timeout(0.0) == SHORTEST_TIMEOUT_S
    loop.run(13, commanded=False)
    loop.run(1, commanded=True)
    assert loop.takeover.timeout(0.0) == pytest.approx(3 * 14e-3)
    loop.run(25, commanded=False)
    loop.run(1, commanded=True)
    assert loop.takeover.timeout(0.0) == LONGEST_TIMEOUT_S
    assert loop.takeover.timeout(0.5) == 0.5
    loop.takeover.lease_announced("second")
    loop.run(200_000, commanded=True)
    assert loop.takeover.timeout(0.0) == SHORTEST_TIMEOUT_S


def test_one_that_only_paused_is_revoked_again_and_does_not_get_the_commands_back():
    loop = Cycles()
    loop.run(100, commanded=True)
    loop.run(TRIAL, commanded=False)
    repeated = loop.run(200, commanded=True)
    assert (
        set(repeated) == {Transition.REVOKE_AGAIN} and len(repeated) <= 4
    )  # now and then, not in every cycle
    loop.run(TRIAL, commanded=False)
    assert loop.takeover.commanding
    assert loop.run(1000, commanded=False) == []


def test_a_new_lease_gets_the_commands_at_once():
    loop = Cycles()
    loop.run(100, commanded=True)
    loop.run(TRIAL, commanded=False)
    loop.takeover.lease_announced("second")
    assert loop.run(100, commanded=True) == [Transition.YIELD]
    assert not loop.takeover.commanding
    loop.run(TRIAL, commanded=False)
    assert loop.takeover.commanding and loop.takeover.revoked_lease == "second"


def test_it_gives_way_to_a_controller_that_ignores_the_revocation():
    loop = Cycles()
    loop.run(100, commanded=True)
    loop.run(TRIAL, commanded=False)
    repeated = loop.run(round(1e3 * IGNORED_S) + 10, commanded=True)
    assert repeated[-1] is Transition.GIVE_WAY
    assert not loop.takeover.commanding


def test_a_controller_without_a_lease_gets_the_commands_back_as_soon_as_it_commands():
    loop = Cycles()
    loop.takeover.lease_announced("")
    loop.run(100, commanded=True)
    loop.run(TRIAL, commanded=False)
    assert loop.run(100, commanded=True) == [Transition.YIELD]


def test_it_knows_the_period_after_few_cycles_and_a_late_one_does_not_change_it():
    loop = Cycles()
    loop.run(1, commanded=False)
    before = loop.takeover.period
    loop.run(10, commanded=False)
    assert before == 20e-3 and loop.takeover.period == pytest.approx(1e-3)  # a cycle of `run`
    loop.k += 50
    loop.run(1, commanded=True)
    assert loop.takeover.period == pytest.approx(1e-3)


def test_one_whose_own_lease_is_revoked_stands_by_again_and_takes_over_again():
    loop = Cycles()
    loop.run(100, commanded=True)
    loop.run(TRIAL, commanded=False)
    loop.takeover.lease_announced("another standby")
    loop.takeover.own_lease_revoked(1e-3 * loop.k)
    assert loop.run(1, commanded=False) == [Transition.YIELD]
    assert not loop.takeover.commanding
    assert loop.run(100, commanded=True) == []
    assert loop.run(TRIAL, commanded=False) == [Transition.TRY, Transition.TAKE_OVER]
    assert loop.takeover.revoked_lease == "another standby"
