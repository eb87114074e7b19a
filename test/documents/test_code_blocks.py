"""Python in pages and examples: each block runs alone, and imports public names only."""

import ast
import re
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from oracles import example_folder
from robot_dynamics.errors import MissingPackageError

ROOT = Path(__file__).parents[2]
RUNNABLE = (
    *("array-libraries", "dh-table", "drivers", "elastic-joints", "extending", "first-steps"),
    *("guarantees", "identification", "index", "kernels", "kinematics", "moving-bases"),
    *("own-robot", "studies", "task-space"),
)
SLOW = ("dh-table-1", "array-libraries-2", "identification", "moving-bases", "studies", "elastic")
"""Blocks that take up to a second or two; the first ones of a reader are others."""

OF_DEVELOPERS = ("extending",)
"""Pages whose code imports more than the API."""

HOOKS = (ROOT / "docs" / "site_hooks.py").read_text(encoding="utf-8")
API = set(re.findall(r'^    "(robot_dynamics[\w.]*)",', HOOKS, re.M))
SHIPPED = {"planar_2r"}


def blocks(page):
    """Return the blocks of Python of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r"^( *)```python\n(.*?)^\1```$", text, re.M | re.S)
    return [dedent(code) for _, code in found]


PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
BLOCKS = {f"{page}-{k}": text for page in PAGES for k, text in enumerate(blocks(page), start=1)}
EXAMPLES = {path.name: path.read_text() for path in sorted((ROOT / "examples").glob("*.py"))}
PUBLIC = {
    name: text
    for name, text in {**BLOCKS, **EXAMPLES}.items()
    if not name.startswith(OF_DEVELOPERS) and "robot_dynamics" in text
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=pytest.mark.thorough if x.startswith(SLOW) else ())
        for x in BLOCKS
        if x.rpartition("-")[0] in RUNNABLE
    ],
)
def test_a_block_of_python_runs_alone_and_prints(name, capsys, tmp_path, monkeypatch):
    text = BLOCKS[name]
    if set(re.findall(r'find_robot\("(\w+)"\)', text)) - SHIPPED and example_folder() is None:
        pytest.skip("example-robot-data is not installed")
    for package in re.findall(r"^(?:import|from) (\w+)", text, re.M):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    except MissingPackageError as missing:
        pytest.skip(str(missing))
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", PUBLIC)
def test_pages_and_examples_import_public_names(name):
    private = []
    for node in ast.walk(ast.parse(PUBLIC[name])):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robot_dynamics"):
            exported = getattr(import_module(node.module), "__all__", None)
            names = [one.name for one in node.names if exported and one.name not in exported]
            private += [node.module] * (node.module not in API) + names
        if isinstance(node, ast.Import):
            private += [one.name for one in node.names if one.name.startswith("robot_dynamics")]
    assert private == []
