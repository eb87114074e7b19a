"""Code and pages use the field's words, and docstrings open with a verb or a noun phrase."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "robot_dynamics"

OLD = {
    r"unseen": "unmeasured delay, dead reckoning or held-out",
    r"swings?\b|swung|swinging": "oscillation",
    r"edges?\b": "stability limit or cutoff frequency",
    r"Stretch(es)?\b(?! the)": "reference segment",
    r"letter(s|ed)\b": "symbolic parameters",
    r"(?<!SIMD )(?<!SIMD_)lanes?\b": "SIMD lanes or batch members",
    r"spread": "distribution or standard deviation",
    r"doubt(s|ful)?\b": "data-quality warnings",
    r"bodies that exist|that no (body|matter) has": "physically (im)possible inertias",
    r"chores?\b": "timer",
    r"(in|out)lets?\b": "subscriber, publisher",
    r"Exchange\b": "intra-process transport",
    r"lacking": "disturbance estimate",
    r"heard\b": "received",
    r"told\b": "reported",
    r"famil(y|ies)\b": "self-motion, branch",
    r"whole turns?\b": "multiples of 2 pi",
    r"free[_ ]fall": "gravity",
    r"Conductor|\bBench\b": "executor, runner",
    r"companions?\b": "subprocess",
    r"rooms?\b": "packages",
    r"(some|no)body\b|(who|what|which)ever\b": "a subject",
}
"""Words that only this project used, and the words to use in their place.

"Written" for "exported" and "member" for a branch of inverse kinematics have ordinary meanings too,
so a pattern cannot tell them.
"""

PUBLIC = re.compile(r"filter_cutoff|motion_families|pad_edge|Automation Letters")
"""Names in which a word has its ordinary meaning, among them one of rich and a journal."""

EXCEPTIONS = {
    "edges?\\b": re.compile(r"compiler/|viewer/|spatial/|reduction/|robot/kinematic_tree"),
    "(?<!SIMD )(?<!SIMD_)lanes?\\b": re.compile(r"compiler/|kernel-experiments|benchmark"),
    "famil(y|ies)\\b": re.compile(r"identification/"),
}
"""Files in which a word has its ordinary meaning: edges of graphs and meshes, SIMD lanes in the
compiler, families of distributions."""

OPENINGS = re.compile(r"(What|Whether|How)\b")

PACKAGES = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
PAGES = [
    page for folder in (".", "docs", "examples") for page in sorted(ROOT.glob(f"{folder}/*.md"))
]


def old_words(path):
    """Lines of a file with an old word, as 'path:line: word -> new word'."""
    name = path.relative_to(ROOT).as_posix()
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = PUBLIC.sub("", line)
        for word, new in OLD.items():
            ordinary = EXCEPTIONS.get(word)
            if ordinary is not None and ordinary.search(name):
                continue
            pattern = word if re.search("[A-Z]", word) else rf"(?i:{word})"
            if match := re.search(rf"(?<![a-z]){pattern}", text):
                found.append(f"{name}:{number}: {match.group()} -> {new}")
    return found


def questions(path):
    """Docstrings of a file that open with a question word."""
    name = path.relative_to(ROOT).as_posix()
    body = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(body) if isinstance(node, kinds)]
    docs = [(getattr(node, "lineno", 1), ast.get_docstring(node) or "") for node in nodes]
    return [f"{name}:{line}: {text[:60]}" for line, text in docs if OPENINGS.match(text)]


def sources(package):
    """The Python files of a package; those of the root for '.'."""
    return sorted(PACKAGE.glob("*.py") if package == "." else (PACKAGE / package).rglob("*.py"))


@pytest.mark.parametrize("package", [".", *PACKAGES])
def test_a_package_uses_the_words_of_the_field(package):
    assert [line for path in sources(package) for line in old_words(path)] == []


@pytest.mark.parametrize("package", [".", *PACKAGES])
def test_a_docstring_opens_with_a_verb_or_a_noun_phrase(package):
    assert [line for path in sources(package) for line in questions(path)] == []


@pytest.mark.parametrize("page", [p.relative_to(ROOT).as_posix() for p in PAGES])
def test_a_page_uses_the_words_of_the_field(page):
    assert old_words(ROOT / page) == []
