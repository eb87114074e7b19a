"""Names from outside in generated text."""

import ast

import pytest

from robot_dynamics import Dynamics
from robot_dynamics.cli import main
from robot_dynamics.dynamics.exported import Export
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.foundation.names import LONGEST, comment, identifier, plot_text
from robot_dynamics.robot import find_robot, read_urdf


def renamed(name):
    text = find_robot("planar_2r").read_text()
    return read_urdf(text.replace('"planar_2r"', f'"{name}"').replace('"joint_1"', f'"j{name}"'))


@pytest.mark.parametrize("name", ["panda", "ur5_left", "A7"])
def test_an_identifier_stays_as_it_is(name):
    assert identifier(name) == name


def test_names_that_look_alike_stay_different():
    names = ["a b", "a-b", "a_b", "a__b", "_a_b", "a_b_", "a.b", "ä_b", "7", "robot_7", "x" * 90]
    found = [identifier(name, "robot") for name in [*names, "x" * 91]]
    assert len(set(found)) == len(found)
    assert all(text.isidentifier() and len(text) <= LONGEST + 9 for text in found)
    assert found[0].startswith("a_b_") and found[8].startswith("robot_7_")


def test_nothing_in_a_comment_ends_it():
    text = comment('*/ x\\\n/ ??/ """ \u2028 a/b (c)')
    assert text == "%2A/ x%5C%0A/ %3F%3F/ %22%22%22 %E2%80%A8 a/b (c)"
    assert comment("Größe 轴 1, ось_2") == "Größe 轴 1, ось_2"
    assert comment("50%") == "50%25" != comment("50%2525")


def test_pictures_show_dollar_signs():
    assert plot_text("a $x$") == r"a \$x\$"


def test_python_of_a_hostile_robot_is_one_function():
    robot = renamed("&quot;&quot;&quot;; import os; os.abort() #")
    body = ast.parse(Dynamics(robot).python_source()).body
    assert [type(node).__name__ for node in body] == ["Expr", "ImportFrom", "FunctionDef"]


@pytest.mark.parametrize("name", ["*/ int x; /*", "*\\&#10;/", "*??/&#10;/"])
def test_the_comment_of_c_ends_where_it_should(name):
    source = Dynamics(renamed(name)).c_source()
    head, end, _ = source.partition(" */\n#include <math.h>\n")
    assert end and not any(text in head for text in ("*/", "\\", "??"))


def test_a_table_shows_a_name_that_looks_like_a_style(tmp_path, capsys):
    text = find_robot("planar_2r").read_text().replace('"joint_1"', '"a[/b]:smile:"')
    (tmp_path / "arm.urdf").write_text(text)
    assert main(["torque", str(tmp_path / "arm.urdf")]) == 0
    assert "a[/b]:smile:" in capsys.readouterr().out


def test_variants_have_names_of_their_own():
    robot = read_urdf(find_robot("planar_2r"))
    variants = [
        Variant(),
        Variant(gravity=True),
        Variant(payload_at="link_2"),
        Variant(payload_at="link_1"),
        Variant(wrench_at="link_2", payload_at="link_1"),
        Variant(friction=True),
    ]
    names = [Export(robot, "inverse", "kane", variant).name for variant in variants]
    assert names[:3] == [
        "planar_2r_inverse",
        "planar_2r_inverse_gravity",
        "planar_2r_inverse_payload_link_2",
    ]
    assert len(set(names)) == len(names)
