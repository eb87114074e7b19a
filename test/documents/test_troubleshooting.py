"""The lines of the page on troubleshooting are those that the nodes print."""

import ast
import re
from pathlib import Path

import pytest

import robot_dynamics

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"
PACKAGE = Path(robot_dynamics.__file__).parent
GAP = "…"
"""Placeholder of a name or a number."""


def lines():
    """The lines in the first column of the tables."""
    cells = re.findall(r"^\| (`[^|]+`) \|", PAGE.read_text(encoding="utf-8"), re.M)
    return [line for cell in cells for line in re.findall(r"`([^`]+)`", cell)]


def printed():
    """Yield the texts of the package, with a gap for each value that is filled in."""
    for folder in ("control", "nodes", "trajectory"):
        for file in sorted((PACKAGE / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(
                        part.value if isinstance(part, ast.Constant) else GAP
                        for part in node.values
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield re.sub(r"\{\w+\}", GAP, node.value)


@pytest.fixture(scope="module")
def texts():
    """All texts of the package."""
    return list(printed())


@pytest.mark.parametrize("line", lines())
def test_a_line_of_the_page_is_printed(line, texts):
    pattern = re.compile(".*".join(map(re.escape, line.split(GAP))))
    assert any(pattern.search(text) for text in texts)
