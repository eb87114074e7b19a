"""Time of a simulation that runs at any speed, is paused, reset or ended."""

from time import monotonic, sleep

import pytest

from robot_dynamics.nodes.runtime.simulated_time import STANDS_S, TOGETHER_S, SimulatedTime

MS = 1_000_000


class Clock:
    ns = 5_000 * MS

    def __call__(self):
        return self.ns


@pytest.fixture
def clock():
    return Clock()


def test_time_passes_as_the_clock_does_and_never_jumps(clock):
    time = SimulatedTime(clock)
    begun = time()
    clock.ns += 300 * MS
    assert time() - begun == pytest.approx(0.3, abs=1e-9)
    for jump in (-4_000, 100_000):  # ms: it is reset, and set
        clock.ns += jump * MS
        assert time() - begun == pytest.approx(0.3, abs=1e-9)
    clock.ns += 200 * MS
    assert time() - begun == pytest.approx(0.5, abs=1e-9)


def test_a_state_that_comes_before_its_clock_counts_once(clock):
    time = SimulatedTime(clock)
    begun = time()
    time.reaches(clock.ns + 4 * MS)
    assert time() - begun == pytest.approx(0.004, abs=1e-9)
    clock.ns += 4 * MS
    assert time() - begun == pytest.approx(0.004, abs=1e-9)
    time.reaches(clock.ns + 10_000 * MS)  # no time of this simulation
    assert time() - begun == pytest.approx(0.004, abs=1e-9)


def test_time_goes_on_once_the_simulation_has_ended(clock):
    time = SimulatedTime(clock)
    begun, started = time(), monotonic()
    sleep(STANDS_S / 2)
    assert time() == begun
    while monotonic() < started + STANDS_S + 0.2:
        sleep(0.01)
    passed = monotonic() - started - STANDS_S
    assert 0.1 < time() - begun <= passed + 0.05


def test_a_process_that_waits_with_its_simulation_takes_it_for_no_end(clock):
    time = SimulatedTime(clock)
    time.stands = TOGETHER_S
    begun = time()
    sleep(STANDS_S + 0.1)
    assert time() == begun
    clock.ns += 4 * MS
    assert time() - begun == pytest.approx(0.004, abs=1e-9)
