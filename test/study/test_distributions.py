"""Distributions as users write them."""

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.study import Distribution, distribution_of


@pytest.mark.parametrize(
    ("text", "kind", "numbers"),
    [
        ("0..3", "uniform", (0.0, 3.0)),
        ("0..5ms", "uniform", (0.0, 5e-3)),
        ("-1mm..2m", "uniform", (-1e-3, 2.0)),
        ("1+-0.2", "normal", (1.0, 0.2)),
        ("90±10deg", "normal", (np.pi / 2, np.pi / 18)),
        ("1,2,5 kg", "values", (1.0, 2.0, 5.0)),
        ("1e-5", "values", (1e-5,)),
    ],
)
def test_a_distribution_is_read(text, kind, numbers):
    found = distribution_of("x", text)
    assert found.kind == kind
    assert found.numbers == pytest.approx(numbers)


def test_one_number_stands_for_both_signs_where_it_is_an_error():
    assert distribution_of("x", "20%", symmetric=True) == Distribution("uniform", (-0.2, 0.2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("much", "x: 'much' is no distribution; write A..B"),
        ("1..", "x: '1..' is no distribution; write A..B"),
        ("3 miles", "x: unit 'miles' in '3 miles' is not known; write one of %, s, ms"),
        ("3..1", "distribution 3..1 runs backwards; give the smaller number first"),
    ],
)
def test_what_is_no_distribution_is_refused(text, message):
    with pytest.raises(ArgumentError) as refused:
        distribution_of("x", text)
    assert str(refused.value).startswith(message)
