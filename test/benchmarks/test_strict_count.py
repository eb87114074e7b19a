"""The strict reading: operations counted where they are carried out."""

import numpy as np
import pytest

from benchmark.operation_counts.strict_count import Operand, Tally, strict_count
from robot_dynamics.formulations import FORMULATIONS, formulation_named
from robot_dynamics.papers.counts.closed_forms import closed_form_count
from robot_dynamics.spatial import cross, rotation_about


def operands(tally, *shape, ready=False):
    array = np.empty(shape, dtype=object)
    for where in np.ndindex(shape):
        array[where] = Operand(tally, ready)
    return array


def counted(tally):
    c = tally.count
    return c.multiplications, c.additions, c.sines_cosines, c.divisions


def test_a_term_that_occurs_twice_counts_twice():
    tally = Tally()
    x, y = operands(tally, 2)
    _ = (x * y) + (x * y)
    assert counted(tally) == (2, 1, 0, 0)


def test_zeros_ones_signs_and_constants_are_free():
    tally = Tally()
    (x,), (a, b) = operands(tally, 1), operands(tally, 2, ready=True)
    assert x * 0.0 == 0.0
    _ = -(1.0 * x - 0.0) + a * b * 0.0
    _ = (a * b + 2.0) / a
    assert counted(tally) == (0, 0, 0, 0)
    _ = (a * b) * x
    assert counted(tally) == (1, 0, 0, 0)


def test_a_quotient_is_a_reciprocal_and_a_product():
    tally = Tally()
    x, y = operands(tally, 2)
    _ = x / y
    _ = 1.0 / y
    assert counted(tally) == (1, 0, 0, 2)


def test_products_of_vectors_and_matrices_cost_what_everyone_says():
    tally = Tally()
    cross(operands(tally, 3), operands(tally, 3))
    assert counted(tally) == (6, 3, 0, 0)
    _ = operands(tally, 3, 3) @ operands(tally, 3)
    assert counted(tally) == (6 + 9, 3 + 6, 0, 0)
    _ = operands(tally, 4, 4) @ operands(tally, 4, 4)
    assert counted(tally) == (15 + 64, 9 + 48, 0, 0)  # of (3) and (4) of Lee, Lee and Nigam
    rotation_about(np.array([0.0, 0.0, 1.0]), operands(tally, 1)[0])
    assert counted(tally)[2] == 2


@pytest.mark.parametrize("name", FORMULATIONS)
def test_no_formulation_takes_fewer_operations_than_its_graph(name):
    equations = formulation_named(name)
    strict = strict_count(4, lambda robot, q, qd, qdd: equations(robot, q, qd, qdd, {}))
    graph = closed_form_count(4, name)
    assert strict.multiplications > graph.multiplications
    assert strict.additions > graph.additions
