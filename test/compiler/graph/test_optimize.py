"""Graph passes: fewer operations, the same values."""

import numpy as np
import pytest
from hypothesis import given, settings

from programs import chain, everything_program, inverse_program, random_inputs
from python_kernel import compile_python
from robot_dynamics.compiler.graph.optimize import (
    PASSES,
    factor_sums,
    gather_multiples,
    optimize,
    share_products,
    share_sums,
)
from robot_dynamics.compiler.graph.trace import operation_count, trace
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.robot.transforms import merge_fixed
from strategies import robots, seeds

# Passes change the order of additions: round-off of sums of tens of terms, relative to the
# largest result. Random trees of this size differ by up to 2e-14; a lost term by 1e-3 or more.
ROUND_OFF = 1e-12


def of(x):
    """A program of one output from a function of five symbols."""
    return trace("f", lambda v: np.array(x(*v)), {"v": (5,)})


def results(program, arguments):
    """All outputs of a program as one vector."""
    answer = compile_python(program)(*arguments)
    return np.concatenate(
        [np.ravel(a) for a in (answer if isinstance(answer, tuple) else [answer])]
    )


def assert_same_values(before, after):
    arguments = random_inputs(before.inputs, seed=1)
    expected = results(before, arguments)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(results(after, arguments), expected, rtol=0, atol=ROUND_OFF * scale)


@pytest.mark.parametrize("one", dict.fromkeys(PASSES), ids=lambda p: p.__name__)
@settings(max_examples=10)
@given(robot=robots(max_joints=5, mimic=False), seed=seeds())
def test_a_pass_does_not_change_inverse_dynamics(one, robot, seed):
    before = inverse_program(merge_fixed(robot).with_gravity((0.1, 0.2, -9.0)))
    assert_same_values(before, one(before))


@pytest.mark.parametrize("one", dict.fromkeys(PASSES), ids=lambda p: p.__name__)
def test_a_pass_handles_every_operation(one):
    before = everything_program()
    assert_same_values(before, one(before))


def test_common_factors_of_a_sum_are_taken_out():
    before = of(lambda a, b, c, d, e: [a * b + c * d - a * e])
    assert operation_count(factor_sums(before)) == OperationCount(multiplications=2, additions=2)


def test_what_a_sum_contains_several_times_is_gathered():
    before = of(lambda a, b, c, d, e: [(a + b) + a, (a - c) - (c - d), (e + a) - e])
    after = gather_multiples(before)
    assert operation_count(before) == OperationCount(additions=5)
    assert operation_count(after) == OperationCount(multiplications=2, additions=3)
    assert_same_values(before, after)


def test_beside_a_product_multiples_are_not_gathered():
    before = of(lambda a, b, c, d, e: [(a + b * c) + a])
    assert operation_count(gather_multiples(before)) == operation_count(before)


def test_multiples_are_gathered_only_while_multiplications_do_not_increase():
    sums = of(lambda a, b, c, d, e: [(a + b) + a])
    assert operation_count(optimize(sums)) == OperationCount(additions=2)
    saved = of(lambda a, b, c, d, e: [(a + b) + a, c * d + c * e])
    assert operation_count(optimize(saved)) == OperationCount(multiplications=2, additions=2)


def test_a_constant_factor_is_taken_out_too():
    before = of(lambda a, b, c, d, e: [3.0 * a + 3.0 * b - 3.0 * c])
    assert operation_count(factor_sums(before)) == OperationCount(multiplications=1, additions=2)


def test_factors_inside_longer_products_are_found():
    before = of(lambda a, b, c, d, e: [(2.0 * a) * b + (a * c) * d])
    assert operation_count(factor_sums(before)) == OperationCount(multiplications=3, additions=1)


def test_a_product_that_something_else_needs_is_not_taken_apart():
    before = of(lambda a, b, c, d, e: [a * b + a * c, a * b, a * c])
    after = operation_count(factor_sums(before))
    assert after == operation_count(before)


def test_a_pair_that_several_sums_contain_is_added_once():
    before = of(lambda a, b, c, d, e: [(a + c) + b, (a + d) + b, (b + e) + a])
    assert operation_count(share_sums(before)) == OperationCount(additions=4)


def test_a_pair_is_found_with_opposite_signs():
    before = of(lambda a, b, c, d, e: [(a - c) - b, (b + d) - a])
    assert operation_count(share_sums(before)) == OperationCount(additions=3)


def test_a_pair_that_several_products_contain_is_multiplied_once():
    before = of(lambda a, b, c, d, e: [(a * c) * b, (a * d) * b])
    assert operation_count(share_products(before)) == OperationCount(multiplications=3)


def test_squares_inside_products_are_kept():
    before = of(lambda a, b, c, d, e: [(a * b) * a, (a * c) * a])
    after = share_products(before)
    assert operation_count(after) == OperationCount(multiplications=3)
    assert_same_values(before, after)


def test_all_passes_together_never_add_an_operation():
    for joints in (2, 5, 8):
        before = inverse_program(chain(joints))
        after = optimize(before)
        assert operation_count(after).arithmetic <= operation_count(before).arithmetic


def test_a_pass_that_saves_nothing_leaves_the_program_alone():
    program = of(lambda a, b, c, d, e: [a * b + c])
    assert optimize(program) is program
