"""Selection between two values: equal for numbers, arrays, symbols and all back ends."""

import numpy as np
import pytest

from python_kernel import compile_python
from robot_dynamics.compiler.graph.expression import Graph
from robot_dynamics.compiler.graph.operations import SELECT
from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.kernel import compile_program

VALUES = np.array([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0, np.nan, np.inf, -np.inf])


@pytest.fixture
def symbols():
    graph = Graph()
    return [graph.input("x", k) for k in range(4)]


def test_numbers_and_arrays_are_clipped_as_numpy_does():
    np.testing.assert_array_equal(clip(VALUES, -1.0, 1.0), np.clip(VALUES, -1.0, 1.0))
    assert maximum(2.0, 3.0) == 3.0
    assert minimum(2.0, 3.0) == 2.0
    assert np.isnan(clip(np.nan, -1.0, 1.0))


@pytest.mark.parametrize("backend", [None, compile_python])
def test_a_kernel_makes_the_choices_that_numpy_makes(backend):
    def equations(x, y):
        return {
            "clipped": clip(x, -1.0, 1.0),
            "smaller": minimum(x, y),
            "floors": np.floor(x),
            "angles": np.concatenate([np.arccos(y), np.arcsin(y), np.arctan(x)]),
        }

    program = trace("choices", equations, {"x": (9,), "y": (9,)})
    kernel = compile_program(program, backend=backend, use_cache=False)
    y = np.linspace(-1.0, 1.0, 9)
    for lead in ((), (20,)):
        found = kernel(np.broadcast_to(VALUES, (*lead, 9)), np.broadcast_to(y, (*lead, 9)))
        ones = np.ones((*lead, 1))
        np.testing.assert_array_equal(found.clipped, np.clip(VALUES, -1.0, 1.0) * ones)
        np.testing.assert_array_equal(found.smaller, np.minimum(VALUES, y) * ones)
        np.testing.assert_array_equal(found.floors, np.floor(VALUES) * ones)
        exact = np.concatenate([np.arccos(y), np.arcsin(y), np.arctan(VALUES)])
        # two units in the last place of the arctangent, and what the square root adds to them
        np.testing.assert_allclose(found.angles, exact * ones, rtol=1e-15, atol=0.0)


def test_what_is_known_is_chosen_at_once(symbols):
    x, y, a, b = symbols
    assert select(1.0, 2.0, x, y) is x
    assert select(2.0, 1.0, x, y) is y
    assert select(a, a, x, y) is y
    assert select(a, b, x, x) is x


def test_minus_signs_of_both_values_move_outwards_and_those_of_both_sides_away(symbols):
    x, y, a, b = symbols
    assert select(a, b, -x, -y) is -select(a, b, x, y)
    assert select(-a, -b, x, y) is select(b, a, x, y)
    assert select(a, b, x, y).op is SELECT


def test_arrays_of_symbols_choose_elementwise(symbols):
    x = np.array(symbols)
    chosen = clip(x, -1.0, np.array([1.0, 2.0, 3.0, 4.0]))
    assert all(c is clip(s, -1.0, k + 1.0) for k, (c, s) in enumerate(zip(chosen, x, strict=True)))


def test_arctangents_lose_the_sign_of_their_first_argument(symbols):
    y, x, *_ = symbols
    assert np.arctan2(-y, x) is -np.arctan2(y, x)
    assert float(np.arctan2(y * 0.0 - 1.0, -1.0)) == np.arctan2(-1.0, -1.0)
