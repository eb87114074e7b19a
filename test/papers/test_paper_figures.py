"""The torque curves of the redrawn figures are those of Pinocchio."""

import numpy as np
import pytest

from oracles import pin_model
from robot_dynamics.papers.figures.angeles_1989 import STANFORD, THOMAS_TESAR
from robot_dynamics.papers.figures.gupta_1986 import CIRCLE
from robot_dynamics.papers.figures.worked_examples import WORKED_EXAMPLES
from robot_dynamics.papers.items import PUBLICATIONS, publication
from robot_dynamics.papers.paper_arms import (
    POUND_INCH,
    puma_type_arm,
    stanford_arm,
    thomas_tesar_arm,
)
from robot_dynamics.papers.paper_motions import (
    CIRCLE_TIME_S,
    LINE_TIME_S,
    STANFORD_TIME_S,
    circle_motion,
    line_motion,
    stanford_motion,
)

POINTS = 7

# float64 on both sides, of torques up to thousands; a wrong sign gives 1e-2 of the largest
ROUND_OFF = 1e-9


def figure_named(example, name):
    (found,) = [drawn.figure for drawn in example.figures(POINTS) if name in drawn.name]
    return found


def pinocchio_torques(robot, motion):
    oracle = pin_model(robot)
    return np.array([oracle.inverse(*state) for state in zip(*motion, strict=True)])


@pytest.mark.parametrize("example", WORKED_EXAMPLES, ids=lambda example: example.title)
def test_an_example_draws_the_figures_that_it_names(example):
    assert tuple(drawn.name for drawn in example.figures(POINTS)) == example.names


def test_every_figure_of_an_item_is_one_that_is_drawn():
    known = {name for example in WORKED_EXAMPLES for name in example.names}
    items = [item for name in PUBLICATIONS for item in publication(name).items.values()]
    assert {item.figure for item in items if item.figure} == known


def test_the_puma_type_arm_on_its_circle():
    arm = puma_type_arm()
    motion = circle_motion(arm, np.linspace(0.0, CIRCLE_TIME_S, POINTS))
    expected = pinocchio_torques(arm.robot, motion) / POUND_INCH
    figure = figure_named(CIRCLE, "torques")
    drawn = np.array([line.get_ydata() for axis in figure.axes for line in axis.lines]).T
    assert np.abs(drawn - expected).max() < ROUND_OFF * np.abs(expected).max()


@pytest.mark.parametrize(
    ("example", "arm", "readings", "motion_of", "duration"),
    [
        (STANFORD, stanford_arm, ("legible", "classic"), stanford_motion, STANFORD_TIME_S),
        (THOMAS_TESAR, thomas_tesar_arm, ("printed", "distal"), line_motion, LINE_TIME_S),
    ],
    ids=["stanford", "thomas_tesar"],
)
def test_both_readings_of_an_arm(example, arm, readings, motion_of, duration):
    motion = motion_of(np.linspace(0.0, duration, POINTS))
    figure = figure_named(example, "torques")
    for k, reading in enumerate(readings):
        expected = pinocchio_torques(arm(reading), motion)
        drawn = np.array([axis.lines[k].get_ydata() for axis in figure.axes]).T
        assert np.abs(drawn - expected).max() < ROUND_OFF * np.abs(expected).max()
