"""Verdicts on an arm by its messages."""

import numpy as np
import pytest

from robot_dynamics.nodes.observed_motion import ObservedMotion
from robot_dynamics.robot import find_robot, read_urdf

MS = 1_000_000  # ns
SPEED = 0.5  # rad/s
STILL = np.zeros(2)


@pytest.fixture
def motion():
    return ObservedMotion(read_urdf(find_robot("planar_2r")))


def desired(stamp):
    return np.full(2, SPEED * stamp * 1e-9)


def test_a_state_is_compared_with_the_reference_of_its_time(motion):
    """A reference 40 ms ahead of the latest state is no error of 0.02 rad."""
    for k in range(50):
        motion.add_reference((40 + 4 * k) * MS, desired((40 + 4 * k) * MS), STILL)
        at = (41 + 4 * k) * MS  # between two references
        motion.add_state(at, desired(at), STILL)
    assert motion.error < 1e-12  # round-off


def test_the_largest_error_is_that_of_the_worst_joint_and_moment(motion):
    for k in range(50):
        motion.add_state(4 * k * MS, desired(4 * k * MS) - [0.0, 0.37 * (k == 20)], STILL)
        motion.add_reference(4 * k * MS, desired(4 * k * MS), STILL)
        motion.add_command(4e-3 * k)
    assert motion.error == pytest.approx(0.37)
    assert motion.fault(0.2) == "'joint_2' is 0.37 rad or m off its reference"


def test_commands_that_stop_are_silent_until_the_end(motion):
    motion.begin(10.0)
    motion.add_command(10.02)
    assert motion.fault(10.1) == ""
    assert motion.silence(10.97) == pytest.approx(0.95)
    assert motion.fault(10.97) == "no command for 0.95 s"
    motion.add_command(10.97)
    assert motion.fault(10.98) == "no command for 0.95 s"  # a gap in the middle counts as well


def test_a_joint_beyond_its_speed_races(motion):
    motion.add_state(0, STILL, np.array([0.0, 100.0]))
    assert motion.fault(0.0) == "'joint_2' races"
