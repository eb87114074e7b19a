"""The circle of Gupta's example, closed in a loop: what goes out by one route comes back by all."""

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.papers.circle_simulation import simulate_circle
from robot_dynamics.papers.paper_arms import INCH, puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S
from robot_dynamics.trajectory.motions import circle_law


@pytest.fixture(scope="module")
def travelled():
    """Joints at every 25 ms by the paper's predictor-corrector, and the poses of the hand."""
    zero = puma_type_arm()
    motion = simulate_circle(zero)
    return motion, *Dynamics(zero.robot).pose(motion.q, "hand")


def test_the_hand_is_on_the_circle_all_the_way(travelled):
    motion, _, hand = travelled
    assert motion.t[[0, -1]] == pytest.approx([0.0, CIRCLE_TIME_S])
    psi = circle_law(motion.t).angle
    circle = INCH * np.column_stack((34.0 + 0 * psi, 6.0 * np.sin(psi), 6.0 * np.cos(psi)))
    # 4th order at 25 ms, with a jump of the jerk at 3 s and 6 s: 3e-7, a tenth of it at 12.5 ms
    assert np.abs(hand - circle).max() < 1e-6  # m, on a circle of 0.15 m


def test_the_hand_is_back_where_it_started_and_joint_4_has_made_a_turn(travelled):
    motion, R, hand = travelled
    assert hand[-1] == pytest.approx(hand[0], abs=1e-7)
    assert R[-1] == pytest.approx(R[0], abs=1e-6)
    turned = motion.q[-1] - motion.q[0]
    assert np.abs(turned) == pytest.approx([0, 0, 0, 2 * np.pi, 0, 0], abs=1e-6)


def test_no_steps_and_a_negative_rate_are_refused():
    for wrong in ({"steps": 0}, {"rate": -1.0}):
        with pytest.raises(ArgumentError, match="steps must be at least 1 and rate from 0 on; got"):
            simulate_circle(puma_type_arm(), **wrong)


def test_a_motion_that_topples_is_returned_up_to_its_divergence(caplog):
    motion = simulate_circle(puma_type_arm("physical"), rate=0.0, steps=90)
    assert len(motion.t) == len(motion.q) == len(motion.qd) < 91
    assert np.isfinite(motion.q).all() and np.isfinite(motion.qd).all()
    (record,) = caplog.records
    assert record.getMessage() == (
        f"the motion diverges after {motion.t[-1]:.4g} s of 9 s and ends there; "
        "use a shorter step, or feedback"
    )
