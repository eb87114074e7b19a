"""Which messages come from the publisher that is followed."""

from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.nodes.runtime.one_source import KEPT_AFTER, SILENT_NS, OneSource

PERIOD = 4_000_000  # ns


def feed(source, number, at, whole=True):
    """Give a message to the source; whether it is refused."""
    refused = source.refuses(number, at)
    if not refused:
        source.take(number, at, whole)
    return refused


def followed(first=10**9 + 1):
    """A source that follows a publisher, and the number and time of its next message."""
    source = OneSource()
    for k in range(KEPT_AFTER):
        assert not feed(source, first + k, k * PERIOD)
    return source, first + KEPT_AFTER, KEPT_AFTER * PERIOD


@given(st.lists(st.tuples(st.integers(1, 900), st.lists(st.integers(1, 10**9), max_size=3))))
def test_of_several_publishers_one_is_followed_whatever_it_loses(messages):
    source, number, at = followed()
    for lost, others in messages:
        assert all(feed(source, other, at) for other in others)
        number, at = number + lost, at + PERIOD
        assert not feed(source, number, at)


@given(st.integers(1, 10**9))
def test_another_is_followed_once_it_is_silent(number):
    source, _, at = followed()
    last = at - PERIOD
    assert feed(source, number, last + SILENT_NS)
    assert not feed(source, number + 1, last + SILENT_NS + 1)


@given(st.integers(2, KEPT_AFTER), st.integers(1, 10**8))
def test_nobody_is_refused_while_publishers_take_turns(turn, number):
    source = OneSource()
    for k in range(20 * KEPT_AFTER):
        other = k % turn == 0
        assert not feed(source, number + k if other else 10**9 + k - k // turn, k * PERIOD)


@given(st.integers(1, 10**9))
def test_parts_of_states_come_from_anybody(number):
    source = OneSource()
    for k in range(3 * KEPT_AFTER):
        assert not feed(source, 10**9 + 1 + k, k * PERIOD, whole=False)
        assert not feed(source, number + k, k * PERIOD, whole=False)


def test_without_numbers_nothing_is_refused():
    source = OneSource()
    assert not any(feed(source, None, k * PERIOD) for k in range(3 * KEPT_AFTER))
