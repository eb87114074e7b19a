"""Subproblems of inverse kinematics: their solutions solve the equation that they are of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from robot_dynamics.kinematics.inverse.subproblems import (
    NEAR,
    Turn,
    axis_to_angle,
    circle_and_line,
    dot,
    point_to_point,
    square_and_line,
    turned,
)

COUNT = 1000
FREE = Turn(np.cos(0.3), np.sin(0.3))
ROUND_OFF = 1e-12  # of ten products of numbers up to ten; one wrong sign gives 1


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def units(rng):
    """Random unit vectors, one array for each component."""
    v = rng.normal(size=(3, COUNT))
    return tuple(v / np.linalg.norm(v, axis=0))


def turn_of(angle):
    return Turn(np.cos(angle), np.sin(angle))


def test_a_turn_brings_a_point_to_where_that_turn_had_brought_it(rng):
    h, v = units(rng), tuple(rng.normal(size=(3, COUNT)))
    known = turn_of(rng.uniform(-np.pi, np.pi, COUNT))
    found, size = point_to_point(h, v, turned(h, known, v), FREE)
    assert_allclose([found.c, found.s], [known.c, known.s], rtol=0.0, atol=1e-10)  # of near points
    assert_allclose(size, dot(v, v) - dot(h, v) ** 2, rtol=0.0, atol=ROUND_OFF)


def test_any_turn_serves_a_point_on_the_axis(rng):
    h = units(rng)
    on_axis = tuple(2.0 * np.array(h) + 0.1 * NEAR * np.array(units(rng)))
    found, _ = point_to_point(h, on_axis, on_axis, FREE)
    assert_array_equal([found.c, found.s], np.tile([[FREE.c], [FREE.s]], COUNT))


def test_a_circle_crosses_a_line_twice_or_is_nearest_to_it(rng):
    a, b, d = rng.normal(size=(3, COUNT))
    found = circle_and_line(a, b, d, FREE)
    crosses = np.abs(d) < found.size
    nearest = np.where(crosses, d, np.copysign(found.size, d))
    for turn in found.solutions:
        assert_allclose(a * turn.c + b * turn.s, nearest, rtol=0.0, atol=ROUND_OFF)
        assert_allclose(turn.c**2 + turn.s**2, 1.0, rtol=0.0, atol=ROUND_OFF)
    first, second = found.solutions
    apart = np.abs(first.c - second.c) + np.abs(first.s - second.s) > 1e-6
    assert_array_equal(apart, crosses)


def test_a_vector_turns_to_an_angle_with_another(rng):
    h, k, v, m = (units(rng) for _ in range(4))
    found = axis_to_angle(h, k, v, m, FREE)
    reached = np.abs(found.d) < found.size
    assert reached.sum() > COUNT / 4
    for turn in found.solutions:
        misses = dot(h, turned(k, turn, v)) - dot(h, m)
        assert_allclose(misses[reached], 0.0, rtol=0.0, atol=ROUND_OFF)
        size = np.hypot(turn.c, turn.s)  # a wrong sine goes unnoticed by the equation
        assert_allclose(size[reached], 1.0, rtol=0.0, atol=1e-10)  # of roots near zero


@pytest.mark.parametrize("b", [1.0, -0.5, 0.0])
def test_a_slide_reaches_a_square_or_comes_nearest_to_it(rng, b):
    a, d = rng.normal(size=(2, COUNT))
    found = square_and_line(a, b, d)
    value = [a * x + b * x * x for x in found.solutions]
    reached = np.broadcast_to(np.asarray(found.size) >= 0.0, COUNT)
    assert len(found.solutions) == (1 if b == 0.0 else 2)
    extreme = d if b == 0.0 else np.where(reached, d, -a * a / (4.0 * b))
    assert_allclose(value, np.broadcast_to(extreme, np.shape(value)), rtol=0.0, atol=1e-11)
    assert reached.all() == (b == 0.0)
