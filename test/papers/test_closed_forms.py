"""Operation counts of the closed forms beside table 1 of Lee, Lee and Nigam."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from choices import first
from robot_dynamics.papers.counts.closed_forms import (
    LEE_TABLE_1,
    OURS,
    at,
    beside_lee,
    closed_form_count,
    dalembert_steps,
    polynomial_through,
)

PRINTED = json.loads((Path(__file__).parents[1] / "data" / "lee_operation_counts.json").read_text())


@pytest.mark.parametrize("row", LEE_TABLE_1)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_polynomials_have_the_values_of_the_paper(row, n):
    assert [at(polynomial, n) for polynomial in LEE_TABLE_1[row]] == PRINTED[row][str(n)]


@pytest.mark.parametrize("row", LEE_TABLE_1)
def test_polynomials_count_whole_operations_for_any_arm(row):
    """A misread denominator would leave a fraction somewhere."""
    for polynomial in LEE_TABLE_1[row]:
        assert all(at(polynomial, n).denominator == 1 for n in range(1, 60))


@pytest.mark.parametrize("formulation", first(["dalembert"], OURS))
def test_traced_counts_are_the_documented_polynomials(formulation):
    degree = {"dalembert": 3, "lagrange": 4, "lagrange_euler": 4}[formulation]
    sizes = range(3, 5 + degree)  # one more than the degree needs
    counts = {n: closed_form_count(n, formulation) for n in sizes}
    multiplications, additions = OURS[formulation]
    traced = polynomial_through({n: c.multiplications for n, c in counts.items()})
    assert traced == multiplications
    assert polynomial_through({n: c.additions for n, c in counts.items()}) == additions


def test_steps_add_up_to_the_whole_count():
    steps, whole = dalembert_steps(6).values(), closed_form_count(6, "dalembert")
    assert sum(step.multiplications for step in steps) == whole.multiplications
    assert sum(step.additions for step in steps) == whole.additions
    assert sum(step.sines_cosines for step in steps) == whole.sines_cosines == 12


def test_inertia_coefficients_alone_are_of_third_order():
    """The explanation of the leading terms: 7 mult and 6 add for each of n^3/6 choices."""
    steps = {n: dalembert_steps(n) for n in range(3, 8)}
    cubic = {}
    for name in steps[3]:
        m = polynomial_through({n: steps[n][name].multiplications for n in steps})
        a = polynomial_through({n: steps[n][name].additions for n in steps})
        cubic[name] = (m + (Fraction(0),) * 4)[3], (a + (Fraction(0),) * 4)[3]
    assert cubic.pop("(30) D, translation") == (Fraction(4, 6), Fraction(3, 6))
    assert cubic.pop("(30) D, rotation") == (Fraction(3, 6), Fraction(3, 6))
    assert set(cubic.values()) == {(0, 0)}


def test_two_full_products_for_every_choice_are_the_papers_leading_term():
    """128 n^4 / 3: two products of 4 x 4 matrices for every i, k, m and s >= max(i, k)."""
    choices = {n: n * sum(n + 1 - max(i, k) for i in range(1, n + 1) for k in range(1, n + 1))
               for n in range(1, 6)}  # fmt: skip
    products = polynomial_through({n: 2 * 4**3 * count for n, count in choices.items()})
    assert products[4] == LEE_TABLE_1["lagrange_euler"][0][4] == Fraction(128, 3)


@pytest.mark.parametrize("n", range(1, 7))
def test_paper_counts_more_than_is_needed_here(n):
    """Every link alike there, the base at rest known here; see DIFFERENCES."""
    for row, (printed, ours) in beside_lee(n).items():
        assert ours.multiplications < printed.multiplications, row
        assert ours.additions < printed.additions, row


def test_polynomial_through_values_is_exact():
    square = polynomial_through({n: 3 * n * n - 2 * n + 5 for n in range(1, 6)})
    assert square == (5, -2, 3)
