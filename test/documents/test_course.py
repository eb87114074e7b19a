"""The course: its instructor's sheet prints what the page says, and its units exist."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "course.md"


@pytest.mark.thorough
def test_the_instructors_sheet_prints_the_results_of_the_page():
    text = PAGE.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.S))
    sheet = doctest.DocTestParser().get_doctest(code, {}, PAGE.name, str(PAGE), 0)
    assert len(sheet.examples) > 20
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(sheet)
    assert runner.summarize(verbose=False).failed == 0


def test_the_course_has_every_notebook():
    linked = set(re.findall(r"\(\.\./examples/(\w+\.ipynb)\)", PAGE.read_text(encoding="utf-8")))
    assert linked == {path.name for path in (ROOT / "examples").glob("*.ipynb")}
