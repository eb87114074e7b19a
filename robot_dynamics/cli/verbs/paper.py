"""Reproduce the tables, numbers and figures of the publications: printed values beside ours.

    robot-dynamics paper                              the publications
    robot-dynamics paper gupta                        what it prints, an item each
    robot-dynamics paper gupta table-2                printed, ours, and the difference
    robot-dynamics paper kane figure-8 --plot 8.png   the figure, redrawn

What a formula gives for chosen numbers counts as printed, too. Reasons of differences stand below
the table, and what is lost or was chosen.
"""

from __future__ import annotations

import argparse
import operator
from collections.abc import Callable
from pathlib import Path

import numpy as np

from robot_dynamics.cli.arguments import output_file, say
from robot_dynamics.cli.output import Printer, add_json, check_picture, print_json, save_picture
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.papers.items import PUBLICATIONS, publication
from robot_dynamics.papers.items.item import Item, Publication, Row

ZERO = 1e-9
"""Largest number that may be round-off and is shown as zero."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("publication", nargs="?", help="one of: " + ", ".join(PUBLICATIONS))
    parser.add_argument("item", nargs="?", help="table, number or figure (default: list them)")
    parser.add_argument(
        "--plot",
        nargs="?",
        const="",
        metavar="FILE",
        help="draw the figure (default: <publication>_<item>.png here)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the publications or the items of one, or reproduce an item."""
    if arguments.publication is None:
        return _list_publications(arguments.json)
    paper = publication(arguments.publication)
    if arguments.item is None:
        if arguments.plot is not None:
            raise ArgumentError("--plot draws the figure of an item; name one")
        return _list_items(arguments.publication, paper, arguments.json)
    check_known("item", arguments.item, paper.title, paper.items)
    item = paper.items[arguments.item]
    picture = None
    if arguments.plot is not None:
        picture = output_file(arguments.plot or f"{arguments.publication}_{item.name}.png")
        _draw(paper, item, picture)
    say("computing")
    rows = list(item.rows())
    if arguments.json:
        print_json({"publication": paper.title, **_described(item), "rows": map(_values, rows)})
    else:
        _show(paper, item, rows)
        if picture is not None:
            print(f"picture: {picture}")
    return 0 if all(row.agrees for row in rows) else 1


def _list_publications(as_json: bool) -> int:
    if as_json:
        print_json(PUBLICATIONS)
        return 0
    table = TextTable(None, ["name", "publication"])
    for name, title in PUBLICATIONS.items():
        table.add_row(name, title)
    Printer()(table, "robot-dynamics paper NAME lists what it prints")
    return 0


def _list_items(name: str, paper: Publication, as_json: bool) -> int:
    if as_json:
        items = map(_described, paper.items.values())
        print_json({"publication": paper.title, "items": items})
        return 0
    table = TextTable(paper.title, ["item", "what it is", "equations", "function", "picture"])
    for item in paper.items.values():
        picture = "--plot" if item.figure else ""
        table.add_row(item.name, item.title, item.equations, item.function, picture)
    Printer()(table, f"robot-dynamics paper {name} ITEM prints one beside ours")
    return 0


def _described(item: Item) -> dict[str, str | None]:
    fields = ("name", "title", "equations", "function", "about", "figure")
    return {name: getattr(item, name) for name in fields}


def _values(row: Row) -> dict[str, object]:
    return {**row._asdict(), "difference": row.difference, "agrees": row.agrees}


def _draw(paper: Publication, item: Item, path: Path) -> None:
    if item.figure is None:
        drawn = ", ".join(one.name for one in paper.items.values() if one.figure)
        raise ArgumentError(f"item '{item.name}' has no figure to draw; these have: {drawn or '-'}")
    check_picture(path)
    from robot_dynamics.papers.figures.worked_examples import paper_figure  # noqa: PLC0415

    say("drawing")
    save_picture(paper_figure(item.figure), path)


def _show(paper: Publication, item: Item, rows: list[Row]) -> None:
    title = f"{paper.title.partition(']')[0]}] {item.title}"
    columns: dict[str, Callable[[Row], Array]] = {"difference": lambda row: row.difference}
    for name in ("explained", "unexplained"):
        if any(np.any(getattr(row, name)) for row in rows):
            columns[name] = operator.attrgetter(name)
    table = TextTable(title, ["quantity", "printed", "ours"], [*columns, "tolerance"])
    for row in rows:
        values = (_text(x, row.within) for x in (row.printed, row.ours))
        parts = (_difference(of(row), row.within) for of in columns.values())
        table.add_row(row.quantity, *values, *parts, f"{row.within:.1g}")
    show = Printer()
    show(table)
    for row in rows:
        if row.reasons:
            show(f"{row.quantity}:", *(f"  {reason}" for reason in row.reasons))
    show(f"equations: {item.equations}", f"function: robot_dynamics.{item.function}")
    if item.about:
        show(item.about)
    apart = [row.quantity for row in rows if not row.agrees]
    whole = "all agree" if "unexplained" not in columns else "all agree but for the unexplained"
    show(f"apart by more than is stated: {'; '.join(apart)}" if apart else whole)


def _text(values: Array, within: float) -> str:
    """Return numbers; round-off instead of zero is shown as zero."""
    bound = min(within, ZERO)
    return ", ".join(f"{0.0 if abs(x) <= bound else x:.6g}" for x in values)


def _difference(values: Array, within: float) -> str:
    """Return the difference of each count, or the largest one of other numbers."""
    if within == 0.0:
        return ", ".join(f"{x + 0.0:g}" for x in values) if np.any(values) else "0"
    largest = float(values[np.argmax(np.abs(values))])
    return f"{largest:.2g}" if largest else "0"
