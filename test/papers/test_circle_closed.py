"""The circle of Gupta's example, closed in a loop: what goes out by one route comes back by all."""

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.papers.circle_simulation import simulate_circle
from robot_dynamics.papers.paper_arms import puma_type_arm


def test_no_steps_and_a_negative_rate_are_refused():
    for wrong in ({"steps": 0}, {"rate": -1.0}):
        with pytest.raises(ArgumentError, match="steps must be at least 1 and rate from 0 on; got"):
            simulate_circle(puma_type_arm(), **wrong)


@pytest.mark.thorough
def test_a_motion_that_topples_is_returned_up_to_its_divergence(caplog):
    motion = simulate_circle(puma_type_arm("physical"), rate=0.0, steps=90)
    assert len(motion.t) == len(motion.q) == len(motion.qd) < 91
    assert np.isfinite(motion.q).all() and np.isfinite(motion.qd).all()
    (record,) = caplog.records
    assert record.getMessage() == (
        f"the motion diverges after {motion.t[-1]:.4g} s of 9 s and ends there; "
        "use a shorter step, or feedback"
    )
