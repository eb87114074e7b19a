"""Code on pages and in examples imports what the API reference documents."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INSIDE = {"extending.md"}  # shows how to add to the package

CODE = re.compile(r"^( *)```python\n(.*?)^ *```", re.M | re.S)


def documented():
    """Modules that have a page of the API reference."""
    tree = ast.parse((DOCS / "site_hooks.py").read_text(encoding="utf-8"))
    (api,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "API"
    )
    return ast.literal_eval(api)


MODULES = documented()
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if page.name not in INSIDE and CODE.search(page.read_text(encoding="utf-8"))
]


def imported(code):
    """Modules and names of the package that a piece of code imports from."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robot_dynamics"):
            for alias in node.names:
                yield node.module, alias.name


def is_public(module, name):
    """Return whether the API reference documents a name of a module, or the name as a module."""
    if f"{module}.{name}" in MODULES:
        return True
    found = import_module(module)
    return module in MODULES and name in getattr(found, "__all__", dir(found))


def strange(codes):
    """Return what pieces of code import beside the public API."""
    return [f"{m}.{n}" for code in codes for m, n in imported(code) if not is_public(m, n)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_imports_public_names(page):
    found = CODE.findall(page.read_text(encoding="utf-8"))
    assert strange(re.sub(f"^{indent}", "", code, flags=re.M) for indent, code in found) == []


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_an_example_imports_public_names(path):
    assert strange([path.read_text(encoding="utf-8")]) == []
