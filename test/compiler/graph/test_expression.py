"""The expression graph: folding, sharing, and operations that symbols refuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs import everything_program
from robot_dynamics.compiler.graph import operations
from robot_dynamics.compiler.graph.expression import Graph, constant_value
from robot_dynamics.compiler.graph.operations import FUNCTIONS
from robot_dynamics.compiler.graph.trace import live_nodes
from robot_dynamics.errors import ArgumentError, TraceError


@pytest.fixture
def graph():
    return Graph()


@pytest.fixture
def x(graph):
    return graph.input("x", 0)


@pytest.fixture
def y(graph):
    return graph.input("y", 0)


# -- sharing ------------------------------------------------------------------------------------


def test_the_same_operation_on_the_same_operands_is_one_node(x, y):
    assert x * y is x * y
    assert np.sin(x) is np.sin(x)


def test_the_order_of_commuting_operands_does_not_matter(x, y):
    assert x * y is y * x
    assert x + y is y + x


def test_a_difference_and_its_opposite_share_a_node(x, y):
    assert (y - x) is -(x - y)


def test_equal_inputs_are_one_node(graph, x):
    assert graph.input("x", 0) is x


# -- folding ------------------------------------------------------------------------------------


def test_zero_and_one_leave_no_operations(x):
    assert x + 0.0 is x
    assert 0.0 + x is x
    assert x - 0.0 is x
    assert 1.0 * x is x
    assert x / 1.0 is x
    assert constant_value(0.0 * x) == 0.0
    assert constant_value(x - x) == 0.0


def test_operations_on_constants_are_done_at_once(graph):
    two, three = graph.constant(2.0), graph.constant(3.0)
    assert constant_value(two * three - two / 4) == 5.5
    assert constant_value(np.cos(graph.constant(0.5))) == math.cos(0.5)


def test_minus_signs_cancel_or_move_outwards(x, y):
    assert (-(-x)) is x  # noqa: B002
    assert (-x) * (-y) is x * y
    assert x * (-y) is -(x * y)
    assert (-x) - y is -(x + y)
    assert x - (-y) is x + y
    assert x * -2.0 is -(2.0 * x)


def test_even_and_odd_functions_lose_the_sign_of_their_argument(x):
    assert np.cos(-x) is np.cos(x)
    assert abs(-x) is abs(x)
    assert np.sin(-x) is -np.sin(x)
    assert np.tanh(-x) is -np.tanh(x)


def test_multiples_of_one_node_are_added_as_numbers(x):
    assert 2.0 * x + 3.0 * x is 5.0 * x
    assert x + x is 2.0 * x
    assert 3.0 * x - x is 2.0 * x
    assert 2.0 * (3.0 * x) is 6.0 * x


def test_a_term_and_its_opposite_cancel_across_sums(x, y):
    assert constant_value(x + (1.0 - x)) == 1.0
    assert (x + y) - x is y
    assert x - (x + y) is -y
    assert (x + 2.0) + 3.0 is x + 5.0


def test_division_by_a_constant_is_a_multiplication(x):
    assert x / 4.0 is 0.25 * x


def test_a_rotation_about_a_coordinate_axis_leaves_only_sine_and_cosine(x):
    u = np.array([0.0, 0.0, 1.0])
    c, s, v = np.cos(x), np.sin(x), 1.0 - np.cos(x)
    Rodrigues = np.array(
        [
            [c + v * u[0] * u[0], v * u[0] * u[1] - s * u[2], v * u[0] * u[2] + s * u[1]],
            [v * u[0] * u[1] + s * u[2], c + v * u[1] * u[1], v * u[1] * u[2] - s * u[0]],
            [v * u[0] * u[2] - s * u[1], v * u[1] * u[2] + s * u[0], c + v * u[2] * u[2]],
        ]
    )
    expected = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    assert all(
        a is b or constant_value(a) == b for a, b in zip(Rodrigues.flat, expected.flat, strict=True)
    )


def test_whole_powers_are_products_and_a_half_is_a_root(x):
    assert x**2 is x * x
    assert x**0.5 is np.sqrt(x)
    assert x**-1 is 1.0 / x
    with pytest.raises(TraceError, match=r"power 1\.5 of a symbol; use whole powers or sqrt"):
        x**1.5


# -- arithmetic with NumPy ------------------------------------------------------------------------


def test_numbers_of_numpy_stand_on_either_side(x):
    assert np.float64(2.0) * x is 2.0 * x
    assert x * np.float32(2.0) is 2.0 * x
    assert np.int64(3) + x is x + 3.0


def test_arrays_work_elementwise_on_either_side(x):
    numbers = np.array([1.0, 2.0])
    for found, expected in ((numbers * x, (x, 2.0 * x)), (x - numbers, (x - 1.0, x - 2.0))):
        assert all(a is b for a, b in zip(found, expected, strict=True))


def test_matrix_products_with_numbers_fold(x, y):
    vector = np.array([x, y])
    assert (np.eye(2) @ vector)[1] is y
    assert (np.array([0.0, 3.0]) @ vector) is 3.0 * y


# -- what a symbol refuses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "branch",
    [
        bool,
        lambda x: x == 0.0,
        lambda x: x != 0.0,
        lambda x: x < 1.0,
        lambda x: x >= 1.0,
        lambda x: max(x, 0.0),
        lambda x: np.sign(np.array([x])),
        float,
        int,
    ],
)
def test_equations_that_branch_on_a_value_are_refused(x, branch):
    with pytest.raises(TraceError, match="equations must not branch on a value: x\\[0\\]"):
        branch(x)


def test_symbols_of_two_traces_do_not_mix(x):
    with pytest.raises(TraceError, match="belongs to another trace"):
        x + Graph().input("x", 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_constants_must_be_finite(graph, value):
    with pytest.raises(ArgumentError, match=r"equations is (nan|-?inf); it must be finite"):
        graph.constant(value)


def test_division_by_zero_is_found_while_tracing(x):
    with pytest.raises(ArgumentError, match="divide by a constant that is zero"):
        x / 0.0


def test_the_root_of_a_negative_constant_is_found_while_tracing(graph):
    with pytest.raises(ArgumentError, match=r"square root of -2\.0"):
        np.sqrt(graph.constant(-2.0))


def test_the_program_of_every_operation_has_every_operation():
    """So that the tests of the back ends, which use it, notice a new one."""
    kinds = {"input", "constant", "negate", "add", "subtract", "multiply", "reciprocal", *FUNCTIONS}
    assert {node.op for node in everything_program().nodes} == kinds
    names = {v for k, v in vars(operations).items() if k.isupper() and isinstance(v, str)}
    assert kinds == names


# -- folding never changes a value --------------------------------------------------------------

NUMBERS = (0.0, 1.0, -1.0, 2.0, -0.5, 3.0)


@st.composite
def formulas(draw, depth=5):
    """A random formula of x, y and numbers, as nested tuples."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(["x", "y", *NUMBERS]))
    op = draw(st.sampled_from(["+", "-", "*", "neg", "sin", "cos", "tanh", "abs"]))
    if op in "+-*":
        return op, draw(formulas(depth - 1)), draw(formulas(depth - 1))
    return op, draw(formulas(depth - 1))


def evaluate(formula, values):
    """A formula on floats or symbols."""
    if not isinstance(formula, tuple):
        return values[formula] if isinstance(formula, str) else formula
    op, *operands = formula
    a = [evaluate(f, values) for f in operands]
    if op == "+":
        return a[0] + a[1]
    if op == "-":
        return a[0] - a[1]
    if op == "*":
        return a[0] * a[1]
    if op == "neg":
        return -a[0]
    return abs(a[0]) if op == "abs" else getattr(np, op)(a[0])


def value_of(node, values):
    """The number that a node stands for, straight from its definition."""
    found = {}
    for n in live_nodes([node]):
        a = [found[m.index] for m in n.args]
        if n.op == "input":
            found[n.index] = values[n.value[0]]
        elif n.op == "constant":
            found[n.index] = n.value
        elif n.op in FUNCTIONS:
            found[n.index] = FUNCTIONS[n.op](a[0])
        else:
            found[n.index] = {
                "add": lambda a: a[0] + a[1],
                "subtract": lambda a: a[0] - a[1],
                "multiply": lambda a: a[0] * a[1],
                "negate": lambda a: -a[0],
                "reciprocal": lambda a: 1.0 / a[0],
            }[n.op](a)
    return found[node.index]


@given(formulas(), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_folding_keeps_the_value_of_any_formula(formula, x, y):
    graph = Graph()
    symbols = {"x": graph.input("x", 0), "y": graph.input("y", 0)}
    node = graph.lift(evaluate(formula, symbols))
    values = {"x": x, "y": y}
    # At most 31 operations; a product of 32 factors of at most 3 is the worst that cancellation
    # can lose digits from. One wrong sign changes the first digit.
    expected = float(evaluate(formula, values))
    assert value_of(node, values) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(formulas())
def test_no_stored_operation_has_a_negative_constant_or_a_double_negation(formula):
    graph = Graph()
    node = graph.lift(evaluate(formula, {"x": graph.input("x", 0), "y": graph.input("y", 0)}))
    for n in live_nodes([node]):
        if n.op == "constant":
            assert n.value >= 0.0
        if n.op in ("add", "subtract", "multiply", "negate"):
            assert all(a.op != "negate" for a in n.args)
