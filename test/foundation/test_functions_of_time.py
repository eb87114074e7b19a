"""Functions of time that a user writes."""

import math

import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.functions_of_time import LONGEST, function_of_time


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3.0),
        (" -1e-3 ", -1e-3),
        ("5*sin(2*t)", 5.0 * math.sin(1.4)),
        ("-(t - 1)**2 / +4 + pi", -((0.7 - 1.0) ** 2) / 4.0 + math.pi),
        ("abs(cos(pi*t)) - exp(-t) + sqrt(t) + log(t) + tan(t)",
         abs(math.cos(math.pi * 0.7)) - math.exp(-0.7) + math.sqrt(0.7) + math.log(0.7)
         + math.tan(0.7)),
    ],
)  # fmt: skip
def test_arithmetic_of_t_is_evaluated(text, value):
    assert function_of_time("--efforts", text)(0.7) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["", "sin", "sin(t, t)", "q", "t.real", "True", "'a'", "1j", "t if t else 0", "[t]", "t;t",
     "__import__('os').system('true')", "(lambda: t)()", "1e999x", "(" * 100, "-" * (LONGEST + 1)],
)  # fmt: skip
def test_nothing_else_is(text):
    with pytest.raises(ArgumentError, match=r"is no number and no expression; use t, pi, sin"):
        function_of_time("--efforts", text)


@pytest.mark.parametrize("text", ["1/t", "log(t)", "1e308*10", "9**9**9**9", "(t-1)**0.5"])
def test_a_value_that_is_no_finite_number_is_refused_with_its_time(text):
    with pytest.raises(ArgumentError) as error:
        function_of_time("--efforts", text)(0.0)
    assert str(error.value) == f"--efforts: '{text}' is no finite number at 0 s"
