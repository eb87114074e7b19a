"""Every table, number and figure that the verb `paper` reproduces agrees with what is printed."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.cli import main
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.papers.items import PUBLICATIONS, publication
from robot_dynamics.papers.items.item import ROUND_OFF, row

ITEMS = [(name, item) for name in PUBLICATIONS for item in publication(name).items.values()]
NAMES = [f"{name} {item.name}" for name, item in ITEMS]
SLOW = ("gupta section-4", "lee section-3")  # a second each
INDEX = (Path(__file__).parents[2] / "docs" / "publications.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "item"),
    [
        pytest.param(name, item, marks=pytest.mark.thorough if long in SLOW else (), id=long)
        for long, (name, item) in zip(NAMES, ITEMS, strict=True)
    ],
)
def test_what_is_printed_and_ours_agree(name, item):
    rows = list(item.rows())
    assert rows
    # the bound of each row is round-off, half a printed digit, or what is stated beside it
    assert [r.quantity for r in rows if not r.agrees] == []
    assert all(np.isfinite([r.printed, r.ours]).all() for r in rows)
    module, _, function = item.function.rpartition(".")
    assert callable(getattr(import_module(f"robot_dynamics.{module}"), function))


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_the_index_has_the_command_of_every_item_and_no_other(name):
    named = {line.split("`")[0] for line in INDEX.split(f"`paper {name} ")[1:]}
    assert named == set(publication(name).items)


def test_a_difference_that_is_not_stated_is_noticed():
    assert row("pi", 3.1416, np.pi, 5e-5).agrees
    assert not row("pi", 3.1417, np.pi, 5e-5).agrees
    assert row("pi", 3.0, np.pi, 5e-5, explained=0.1416).agrees
    assert not row("vector", [1.0, 2.0], [1.0, 2.1], ROUND_OFF).agrees


def test_an_unknown_publication_is_named():
    with pytest.raises(UnknownNameError, match="no publication 'kanes'"):
        publication("kanes")


# -- the verb ---------------------------------------------------------------------------------


def test_the_verb_lists_publications_and_their_items(capsys):
    assert main(["paper"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in PUBLICATIONS)
    assert main(["paper", "kane"]) == 0
    printed = capsys.readouterr().out
    assert all(item in printed for item in publication("kane").items)


def test_the_verb_shows_the_printed_number_beside_ours_and_why_they_differ(capsys):
    assert main(["paper", "renaud", "table-2"]) == 0
    printed = capsys.readouterr().out
    (total,) = [
        line.split() for line in printed.splitlines() if line.startswith("total (mult, add) ")
    ]
    assert total[3:] == ["181,", "127", "179,", "127", "-2,", "0", "-2,", "0", "0"]
    assert "products of that rate" in printed and "compare_renaud" in printed
    assert printed.endswith("all agree\n")


def test_the_verb_draws_a_figure(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "6.png"
    assert main(["paper", "kane", "figure-6", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"picture: {picture}" in capsys.readouterr().out


def test_a_figure_without_a_file_is_named_after_its_item(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["paper", "kane", "figure-6", "--plot"]) == 0
    assert capsys.readouterr().out.endswith("picture: kane_figure-6.png\n")
    assert [path.name for path in tmp_path.iterdir()] == ["kane_figure-6.png"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["kane", "figure-11"], "no item 'figure-11' in [Angeles1989]"),
        (["kane", "table-1", "--plot", "x.png"], "item 'table-1' has no figure to draw"),
        (["kane", "figure-6", "--plot", "x.abc"], "x.abc: no kind of picture"),
        (["kane", "--plot", "x.png"], "--plot draws the figure of an item; name one"),
    ],
)
def test_a_wrong_command_ends_in_one_line(words, said, capsys):
    assert main(["paper", *words]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
