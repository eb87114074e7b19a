"""Names in backticks in docstrings: the files, modules and identifiers that they cite exist."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

import pytest

import robot_dynamics

PACKAGE = Path(robot_dynamics.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
CITED = re.compile(r"`([A-Za-z_][\w/]*(?:\.\w+)*)`")
WORD = re.compile(r"[A-Za-z_]\w*")
ELSEWHERE = {
    *("METH_FASTCALL", "METH_KEYWORDS", "PyObject", "PyArrayObject"),  # C APIs of Python and NumPy
    "splat",  # LLVM
    "transmission_interface",  # ros2_control
    *("config", "launch"),  # folders beside the package
    *("fer_joint1", "panda_joint1", "gains", "elbow_velocity", "q_0"),  # examples of names
}
"""First parts of names that the code of the package does not have."""


def docstrings(tree):
    """Yield the nodes of all docstrings, those of constants included."""
    for node in ast.walk(tree):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if alone and isinstance(node.value.value, str):
            yield node.value


@pytest.fixture(scope="module")
def modules():
    """Source text by name of a module or folder of the package."""
    texts = defaultdict(str)
    for file in FILES:
        for name in (file.stem, file.parent.name):
            texts[name] += f"{file.stem}\n{file.read_text()}\n"
    return texts


@pytest.fixture(scope="module")
def identifiers(modules):
    """All words of the code of the package, docstrings and comments excluded."""
    found = set(modules)
    for file in FILES:
        text = file.read_text()
        alone = {(node.lineno, node.col_offset) for node in docstrings(ast.parse(text))}
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.COMMENT and token.start not in alone:
                found.update(WORD.findall(token.string))
    return found


def missing(name, modules, identifiers):
    """Return whether a cited name is neither a file nor a name in the code of the package."""
    first, *rest = re.split(r"[./]", name.removeprefix("robot_dynamics."))
    if first in ELSEWHERE:
        return False
    if name.endswith(".py"):
        return not any(str(file).endswith(f"/{name}") for file in FILES)
    if first in modules and rest:
        return not re.search(rf"\b{rest[0]}\b", modules[first])
    return first not in identifiers


@pytest.mark.thorough
def test_names_in_backticks_exist(modules, identifiers):
    wrong = {}
    for file in FILES:
        texts = (node.value for node in docstrings(ast.parse(file.read_text())))
        cited = {name for text in texts for name in CITED.findall(text)}
        if names := [name for name in sorted(cited) if missing(name, modules, identifiers)]:
            wrong[str(file.relative_to(PACKAGE))] = names
    assert wrong == {}
