"""Section 3 of [Lee1982] on six joints: its simplified models on the circle of [Gupta1986]."""

from __future__ import annotations

import functools

import numpy as np

from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.papers.simplified_models import (
    ModelComparison,
    compare_models,
    recommended_models,
)


@functools.cache
def compare_on_the_circle() -> ModelComparison:
    """Compare the models of Gupta's arm along his circle with the full equations."""
    zero = puma_type_arm()
    motion = circle_motion(zero, np.linspace(0.0, CIRCLE_TIME_S, 181))
    return compare_models(zero.robot, recommended_models(zero.robot), *motion)
