"""robot-dynamics papers: the figures and counts that docs/ shows are those that it writes."""

import re
from pathlib import Path

import pytest

from robot_dynamics.cli import main

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers") / "made by the verb"
    assert main(["papers", "--output", str(folder)]) == 0
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
def test_the_counts_are_those_of_the_page_in_docs(folder):
    # If this fails: python -m benchmark.operation_counts
    page = (DOCS / "operation-counts.md").read_text(encoding="utf-8")
    written = (folder / "printed-counts.md").read_text(encoding="utf-8")
    assert [line for line in written.splitlines() if line not in page] == []
    for author in ("Luh, Walker, Paul", "Angeles, Ma, Rojas", "Gupta", "Lee, Lee, Nigam", "Renaud"):
        assert author in written


def test_a_folder_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["papers", "--output", str(tmp_path / "file" / "in it")]) == 1
    said = "in it: cannot be written (Not a directory); name a folder of yours\n"
    assert capsys.readouterr().err.endswith(said)
