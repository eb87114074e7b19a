"""Numbers in text: one reader for the command line, URDFs and files."""

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.cli import main
from robot_dynamics.errors import ArgumentError, UrdfError
from robot_dynamics.foundation.numbers import counted, number_from, whole_number_from, words_of
from robot_dynamics.foundation.plain_yaml import parse_yaml
from robot_dynamics.foundation.user_files import number
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.study.distributions import distribution_of

DISGUISED = ("1_0", "\u0663", "1\u00a0", "\u20071", "1e-310", "0x10", "1e", "--1", "1 2", "", "१")
"""Texts that `float` reads as a number, or nearly; 1e-310 has lost digits."""


@pytest.mark.parametrize("text", ["0", " 1.5\t", "-.5", "+1.", "1e-3", "2E+4", "-0.0", "1e-307"])
def test_a_decimal_number_is_read_as_python_reads_it(text):
    assert number_from(text) == float(text)


def test_infinity_is_read_where_it_is_meant():
    assert number_from("inf") == number_from("1e400") == np.inf
    assert np.isnan(number_from("nan"))


@pytest.mark.parametrize("text", DISGUISED)
def test_what_is_no_number_is_refused_everywhere(text, capsys):
    with pytest.raises(ValueError):
        number_from(text)
    with pytest.raises(ValueError):
        whole_number_from(text)
    with pytest.raises(ArgumentError, match=r"^cell holds .*; give a number$"):
        number("cell", text, ArgumentError)
    with pytest.raises(ArgumentError):
        distribution_of("payload", text)
    urdf = find_robot("planar_2r").read_text()
    with pytest.raises(UrdfError):
        read_urdf(urdf.replace('<mass value="10"/>', f'<mass value="{text}"/>'))
    assert main(["torque", "planar_2r", f"--q={text},0"]) == 1
    for arguments in (["simulate", "planar_2r", f"--rate={text}"], ["demo", f"--domain={text}"]):
        with pytest.raises(SystemExit):
            main(arguments)
    capsys.readouterr()


def test_a_number_that_is_too_small_says_so():
    urdf = find_robot("planar_2r").read_text()
    with pytest.raises(UrdfError) as refused:
        read_urdf(urdf.replace('<mass value="10"/>', '<mass value="1e-320"/>'))
    assert str(refused.value).endswith(
        "link 'link_1': value=\"1e-320\" of <mass>: '1e-320' is not a finite number; write 0"
    )


def test_numbers_are_separated_by_spaces_alone():
    assert words_of(" 1 2\t3\n") == ["1", "2", "3"]
    assert words_of("1\u00a02 3") == ["1\u00a02", "3"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1_0", "1_0"), ("1:30", "1:30"), ("010", 10.0), ("1e-3", 1e-3), ("0x10", "0x10"), ("-7", -7),
     (".5", 0.5), ("-.inf", -np.inf), ("2026-11-24", "2026-11-24"), ("true", True)],
)  # fmt: skip
def test_yaml_has_decimal_numbers(text, value):
    found = parse_yaml(text, "file", ArgumentError, "numbers")
    assert found == value and type(found) is type(value)


def masked():
    return np.ma.masked_array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize(
    "argument",
    [
        masked,
        lambda: [masked()],
        lambda: (masked(), masked()),
        lambda: [1.0, np.ma.masked],
        lambda: [[1.0, np.ma.masked]],
    ],
)
def test_masked_entries_are_refused_in_lists_too(argument):
    arm = Dynamics(read_urdf(find_robot("planar_2r")))
    expected = "q has masked entries; fill them, or leave those states out"
    for call in (arm.gravity, arm.kernel("gravity")):
        with pytest.raises(ArgumentError) as refused:
            call(argument())
        assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "joint", "0 joints"), (1, "joint", "1 joint"), (2, "entry", "2 entries")],
)
def test_one_thing_is_counted_in_the_singular(count, noun, text):
    assert counted(count, noun) == text
