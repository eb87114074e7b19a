"""Distributions as users write them."""

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.study import QUANTITIES, Distribution, distribution_of


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


FAMILIES = ("%", "ms", "mm", "deg", "mm/s", "deg/s", "g", "kHz")
OWN = {"s": "ms", "kg": "g", "Hz": "kHz", "m": "mm", "rad": "deg", "1": "%", "m/s": "mm/s",
       "rad/s": "deg/s"}  # fmt: skip


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_quantity_takes_its_own_units_and_no_others(name):
    own = {OWN[unit] for unit in QUANTITIES[name].unit.split(" or ")}
    for unit in FAMILIES:
        if unit in own:
            assert distribution_of(name, f"1..2{unit}").numbers[1] != 2.0
        else:
            with pytest.raises(ArgumentError, match=f"^{name}: unit '{unit}' in '2{unit}' is none"):
                distribution_of(name, f"2{unit}")


def test_a_unit_of_another_quantity_is_refused_with_those_of_this_one():
    with pytest.raises(ArgumentError) as refused:
        distribution_of("--delay", "5kg")
    assert str(refused.value) == (
        "--delay: unit 'kg' in '5kg' is none of --delay (age of a state when the law uses it); "
        "write one of s, ms, us"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("much", "x: 'much' is no distribution; write A..B"),
        ("1..", "x: '1..' is no distribution; write A..B"),
        ("3 miles", "x: unit 'miles' in '3 miles' is not known; write one of %, s, ms"),
        ("3 miles/s", "x: unit 'miles/s' in '3 miles/s' is not known; write one of %, s, ms"),
        ("3..1", "distribution 3..1 runs backwards; give the smaller number first"),
    ],
)
def test_what_is_no_distribution_is_refused(text, message):
    with pytest.raises(ArgumentError) as refused:
        distribution_of("x", text)
    assert str(refused.value).startswith(message)
