"""The figures and counts that docs/ shows are those that its programs write."""

import re
from pathlib import Path

import pytest

from benchmark.operation_counts.count_tables import compared_counts
from docs.make_figures import main

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers") / "made by the program"
    main([str(folder)])
    return folder


@pytest.mark.thorough
def test_the_page_of_worked_examples_is_the_one_in_docs(folder):
    # If this fails: python docs/make_figures.py
    written = (folder / "worked-examples.md").read_text(encoding="utf-8")
    assert written == (DOCS / "worked-examples.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_every_figure_of_the_page_is_drawn_and_shipped(folder):
    linked = re.findall(r"\(figures/([\w.]+)\)", (folder / "worked-examples.md").read_text())
    assert len(linked) == 11
    drawn = {path.name for path in (folder / "figures").iterdir()}
    assert drawn == set(linked)
    assert drawn <= {path.name for path in (DOCS / "figures").iterdir()}


@pytest.mark.thorough
def test_the_counts_are_those_of_the_page_in_docs():
    # If this fails: python -m benchmark.operation_counts
    page = (DOCS.parent / "benchmark" / "records" / "operation-counts.md").read_text(
        encoding="utf-8"
    )
    written = "\n".join(compared_counts())
    assert [line for line in written.splitlines() if line not in page] == []
    for author in ("Luh, Walker, Paul", "Angeles, Ma, Rojas", "Gupta", "Lee, Lee, Nigam", "Renaud"):
        assert author in written
