"""The pages of the publications: every function and test that they name exists and is run."""

import ast
import functools
import re
from importlib import import_module
from pathlib import Path

import pytest

TABLE = re.compile(r"^\| (?:[^|]+ \| )+test \|\n(?:\|.*\n)+", re.M)

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmark" / "records" / "publications"
INDEX = ROOT / "docs" / "publications.md"
PAGES = [INDEX, *sorted(FOLDER.glob("*.md"))]

CODE = re.compile(r"`([^`\n]+)`")
TEST = re.compile(r"test_\w+::test_\w+")
FUNCTION = re.compile(r"[a-z]\w*(\.\w+)+|[A-Z]\w+")


def words(page):
    return CODE.findall(page.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=1)
def defined_tests():
    """Names of all test functions by the name of their file, and which of them are never run."""
    found, skipped = {}, set()
    for path in (ROOT / "test").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.setdefault(path.stem, set()).add(node.name)
                marks = " ".join(ast.unparse(mark) for mark in node.decorator_list)
                if re.search(r"mark\.(skip|xfail)\b", marks):
                    skipped.add(f"{path.stem}::{node.name}")
    return found, skipped


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_is_named_exists_and_is_run(page):
    found, skipped = defined_tests()
    named = [word for word in words(page) if "::" in word]
    assert named and all(TEST.fullmatch(word) for word in named)
    missing = [w for w in named if w.split("::")[1] not in found.get(w.split("::")[0], ())]
    assert missing == []
    assert skipped.isdisjoint(named)


def resolves(word):
    """Return whether a name is there from robot_dynamics on."""
    parts = word.split(".")
    for cut in range(len(parts), -1, -1):
        try:
            found = import_module(".".join(["robot_dynamics", *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_function_that_is_named_exists(page):
    named = [word for word in words(page) if FUNCTION.fullmatch(word)]
    assert [word for word in named if not resolves(word)] == []
    assert named or page == INDEX


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_names_a_test(page):
    tables = TABLE.findall(page.read_text(encoding="utf-8"))
    rows = [line for table in tables for line in table.splitlines()[2:]]
    assert rows
    assert [row for row in rows if "::test_" not in row] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_the_pages_leads_somewhere(page):
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_index_has_every_numbered_example_of_the_book():
    text = INDEX.read_text(encoding="utf-8")
    examples = [(2, 4), (3, 2), (4, 2), (5, 5)]  # chapter, examples
    for chapter, last in examples:
        for k in range(1, last + 1):
            assert f"| example {chapter}-{k}" in text


FIGURES = {  # by section of the index: chapters, or "" for the whole paper, and their last figure
    "Asada and Slotine": {"2-": 17, "3-": 9, "4-": 9, "5-": 15},
    "Gupta": {"": 8},
    "Lee, Lee and Nigam": {"": 3},
    "Angeles, Ma and Rojas": {"": 8},
    "Renaud": {"": 6},
}
TABLES = {"Asada and Slotine": ["2-1"], "Gupta": "12", "Angeles, Ma and Rojas": "123"}
TABLES["Lee, Lee and Nigam"] = "1"


def numbers_in(text, kind):
    """Numbers of figures or tables that the first column of a table names, ranges filled in."""
    found = set()
    for cell in re.findall(r"^\| ([^|]+) \|", text, re.M):
        for part in re.findall(rf"{kind}s? ([0-9][0-9, to-]*)", cell):
            for entry in re.findall(r"[\d-]+(?: to [\d-]+)?", part):
                first, _, last = entry.partition(" to ")
                chapter = first[: first.find("-") + 1]
                ends = [int(x.removeprefix(chapter)) for x in (first, last or first)]
                found |= {f"{chapter}{k}" for k in range(ends[0], ends[1] + 1)}
    return found


@pytest.mark.parametrize("section", FIGURES)
def test_the_index_has_every_figure_and_table(section):
    text = INDEX.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    wanted = {f"{c}{k}" for c, last in FIGURES[section].items() for k in range(1, last + 1)}
    assert wanted - numbers_in(text, "figure") == set()
    assert set(TABLES.get(section, ())) - numbers_in(text, "table") == set()
