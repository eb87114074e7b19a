"""Lagrange's equations of Asada and Slotine: identities, and examples 5-1 and 5-2 in symbols."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from arms import NUMBERS
from oracles import distinct_examples, example_id, example_robot
from python_kernel import compile_python
from robot_dynamics.algorithms import energy
from robot_dynamics.algorithms.base_axes import base_axes
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.source.python import python_source
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.formulations import lagrange, newton_euler
from robot_dynamics.papers.book_arms import planar_two_link
from robot_dynamics.robot.transforms import merge_fixed
from strategies import robots, seeds, state_of

# float64, sums in another order: 2000 random trees stay below 3e-14 of the largest entry, or of 1
# where a term vanishes
ROUND_OFF = 1e-11

PLANAR = json.loads((Path(__file__).parents[1] / "data" / "planar_two_link.json").read_text())


def same(ours, theirs):
    """Return whether two results differ by round-off alone."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    scale = 1.0 + np.max(np.abs(theirs), initial=0.0)
    return np.max(np.abs(ours - theirs), initial=0.0) < ROUND_OFF * scale


def complex_step(function, q):
    """Exact derivatives of an analytic function, last axis k: Im f(q + i h e_k) / h."""
    h = 1e-30
    return np.stack([np.imag(function(q + 1j * h * e)) / h for e in np.eye(len(q))], axis=-1)


# -- identities -----------------------------------------------------------------------------------


@given(robots(), seeds())
def test_derivatives_of_the_inertia_tensor_are_exact(robot, seed):
    tree = merge_fixed(robot)
    q = state_of(tree, seed)[0]
    exact = complex_step(lambda x: lagrange.inertia_tensor(tree, base_axes(tree, x)), q)
    assert same(lagrange.mass_matrix_derivatives(robot, q), exact)


@pytest.mark.parametrize("path", distinct_examples(), ids=example_id)
def test_derivatives_of_the_inertia_tensor_are_exact_on_example(path):
    tree = merge_fixed(example_robot(path))
    rng = np.random.default_rng(8)
    q, v = rng.uniform(-3, 3, (2, len(tree.joints)))
    # along one direction v, so that the largest trees take no longer than the others
    step = lagrange.inertia_tensor(tree, base_axes(tree, q + 1e-30j * v))
    assert same(lagrange.mass_matrix_derivatives(tree, q) @ v, np.imag(step) / 1e-30)


@given(robots(), seeds())
def test_inertia_does_not_depend_on_joints_inward_of_both(robot, seed):
    """H_ij is the same wherever the joints up to the inner one of i and j stand: an exact zero."""
    tree = merge_fixed(robot)
    q = state_of(tree, seed)[0]
    dH = lagrange.mass_matrix_derivatives(robot, q)
    for path in base_axes(tree, q).paths:
        for a, k in enumerate(path):
            outer = list(path[a:])
            assert np.all(dH[np.ix_(outer, outer, [k])] == 0.0)


@given(robots(), seeds())
def test_rate_of_inertia_less_twice_coriolis_is_skew_symmetric(robot, seed):
    q, qd, _ = state_of(merge_fixed(robot), seed)
    rate = lagrange.mass_matrix_derivatives(robot, q) @ qd
    N = rate - 2.0 * lagrange.coriolis_matrix(robot, q, qd)
    assert same(N, -N.T)


@given(robots(), seeds())
def test_coriolis_matrix_and_coefficients_give_the_velocity_efforts(robot, seed):
    tree = merge_fixed(robot)
    q, qd, _ = state_of(tree, seed)
    nothing = np.zeros_like(qd)
    light = tree.with_gravity((0.0, 0.0, 0.0))
    efforts = newton_euler.inverse_dynamics(light, q, qd, nothing, {})
    assert same(lagrange.coriolis_matrix(robot, q, qd) @ qd, efforts)
    assert same(np.einsum("ijk,j,k", lagrange.coriolis_coefficients(robot, q), qd, qd), efforts)


def sum_over_links(tree, q):
    """U of eq. (5-30), with its sign put right and without the base."""
    axes = base_axes(tree, q)
    bodies = enumerate(link.inertia for link in tree.links[1:])
    return -sum(
        body.mass * (tree.gravity @ (axes.p[i] + axes.R[i] @ body.com)) for i, body in bodies
    )


@given(robots(), seeds())
def test_gravity_is_the_derivative_of_the_potential_energy(robot, seed):
    tree = merge_fixed(robot)
    q = state_of(tree, seed)[0]
    assert same(lagrange.gravity(robot, q), complex_step(lambda x: sum_over_links(tree, x), q))


@given(robots(), seeds())
def test_energies_are_those_of_links_one_by_one(robot, seed):
    tree = merge_fixed(robot)
    q, qd, _ = state_of(tree, seed)
    T = 0.5 * qd @ lagrange.mass_matrix(robot, q) @ qd  # eq. (5-27)
    assert same(T, energy.kinetic_energy(tree, q, qd))
    base = tree.links[0].inertia.first_moment  # `energy` counts the weight of the base as well
    assert same(sum_over_links(tree, q), energy.potential_energy(tree, q) + tree.gravity @ base)


@given(robots(), seeds())
def test_power_of_the_efforts_is_the_rate_of_energy(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    tau = lagrange.inverse_dynamics(tree, q, qd, qdd, {})
    H, dH = lagrange.mass_matrix(robot, q), lagrange.mass_matrix_derivatives(robot, q)
    rate_of_T = qd @ H @ qdd + 0.5 * qd @ (dH @ qd) @ qd
    assert same(tau @ qd, rate_of_T + lagrange.gravity(robot, q) @ qd)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: lagrange.mass_matrix(r, [0.0]), "q must have shape (2,), got (1,)"),
        (
            lambda r: lagrange.coriolis_matrix(r, [0.0, 0.0], [0.0, float("inf")]),
            "qd[1] is inf; every entry must be finite",
        ),
    ],
)
def test_bad_state_is_refused_by_name(call, message):
    with pytest.raises((ShapeError, ArgumentError)) as error:
        call(planar_two_link(**PLANAR["arm"]))
    assert str(error.value) == message


# -- examples 5-1 and 5-2: the planar arm in symbols ----------------------------------------------


def test_planar_arm_has_the_torque_of_the_printed_equations():
    robot = planar_two_link(**PLANAR["arm"])
    state = [np.array(PLANAR[key]) for key in ("q", "qd", "qdd")]
    tau = lagrange.inverse_dynamics(robot, *state, {})
    assert tau == pytest.approx(PLANAR["tau"], rel=1e-11)  # stored with 12 digits


def printed(l1, lc1, lc2, m1, m2, I1, I2, g, q):
    """Eqs. (5-12), (5-43) and (5-44): coefficients of the arm as the book prints them."""
    c1, c2, c12, s2 = np.cos(q[0]), np.cos(q[1]), np.cos(q[0] + q[1]), np.sin(q[1])
    h = m2 * l1 * lc2 * s2
    return {
        "H11": m1 * lc1**2 + I1 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * c2) + I2,
        "H12": m2 * l1 * lc2 * c2 + m2 * lc2**2 + I2,
        "H22": m2 * lc2**2 + I2,
        "h111": 0.0,
        "h122": -h,
        "h112+h121": -2 * h,
        "h211": h,
        "h222": 0.0,
        "h212+h221": 0.0,
        "G1": m1 * lc1 * g * c1 + m2 * g * (lc2 * c12 + l1 * c1),
        "G2": m2 * lc2 * g * c12,
    }


@pytest.fixture(scope="module")
def planar_program():
    """Every coefficient of the arm, traced with all of its numbers as symbols."""

    def coefficients(q, **numbers):
        # 0-d arrays of symbols: [()] takes the symbol out
        robot = planar_two_link(**{name: array[()] for name, array in numbers.items()})
        H, h = lagrange.mass_matrix(robot, q), lagrange.coriolis_coefficients(robot, q)
        G = lagrange.gravity(robot, q)
        terms = {
            "H11": H[0, 0],
            "H12": H[0, 1],
            "H22": H[1, 1],
            "h111": h[0, 0, 0],
            "h122": h[0, 1, 1],
            "h112_h121": h[0, 0, 1] + h[0, 1, 0],
            "h211": h[1, 0, 0],
            "h222": h[1, 1, 1],
            "h212_h221": h[1, 0, 1] + h[1, 1, 0],
            "G1": G[0],
            "G2": G[1],
        }
        return {name: np.array(term, dtype=object) for name, term in terms.items()}

    return trace("planar_arm", coefficients, {"q": (2,), **dict.fromkeys(NUMBERS, ())})


def evaluated(program, numbers, q):
    results = compile_python(program)(q, *[numbers[name] for name in NUMBERS])
    return {name: float(getattr(results, name.replace("+", "_"))) for name in TERMS}


TERMS = tuple(printed(**PLANAR["arm"], q=PLANAR["q"]))


@pytest.mark.parametrize("term", TERMS)
def test_traced_coefficient_of_the_planar_arm_is_the_printed_one(planar_program, term):
    """Equal at random values of every symbol, so equal as polynomials in them."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        numbers = dict(zip(NUMBERS, rng.uniform(0.5, 2.0, len(NUMBERS)), strict=True))
        q = rng.uniform(-3, 3, 2)
        ours, book = evaluated(planar_program, numbers, q)[term], printed(**numbers, q=q)[term]
        assert ours == pytest.approx(book, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("left", ["m1", "I1", "m2", "I2"])
def test_each_body_contributes_the_terms_that_the_book_gives_it(planar_program, left):
    """With one mass or inertia left, only the monomials of (5-12) that hold it remain."""
    numbers = {**PLANAR["arm"], **dict.fromkeys({"m1", "I1", "m2", "I2"} - {left}, 0.0)}
    ours = evaluated(planar_program, numbers, np.array(PLANAR["q"]))
    book = printed(**numbers, q=PLANAR["q"])
    assert ours == pytest.approx(book, rel=1e-13, abs=1e-13)


def test_coefficients_that_the_book_prints_as_zero_cost_nothing(planar_program):
    """h111, h222 and h212 + h221 fold to the constant 0 while they are traced."""
    for name in ("h111", "h222", "h212_h221"):
        (entry,) = planar_program.outputs[name].entries
        assert float(entry) == 0.0


def test_text_of_the_planar_arm_names_its_symbols(planar_program):
    source = python_source(planar_program)
    assert all(name in source for name in (*NUMBERS, "cos", "sin"))
    compile(source, "planar_arm.py", "exec")


def test_centrifugal_and_coriolis_torques_of_the_planar_arm_are_those_of_the_moving_masses():
    """Eqs. (5-17) and (5-19), with the sign of a torque that the motor has to give."""
    a = PLANAR["arm"]
    robot = planar_two_link(**{**a, "g": 0.0})
    q = np.array(PLANAR["q"])
    force = a["m2"] * a["l1"] * a["lc2"] * np.sin(q[1])
    one, both = np.array([2.0, 0.0]), np.array([2.0, 3.0])
    h = lagrange.coriolis_matrix(robot, q, one) @ one
    assert h[1] == pytest.approx(force * 2.0**2, rel=1e-14)
    h = lagrange.coriolis_matrix(robot, q, both) @ both
    assert h[0] == pytest.approx(-force * 3.0**2 - 2.0 * force * 2.0 * 3.0, rel=1e-14)
