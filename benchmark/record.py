"""Records of measurements: the folder of their pages, what each states, and what documents quote.

`records/quoted.yaml` names numbers of the pages, so that documents state them by name and cannot
disagree with each other or with a later run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import yaml

from benchmark.machine import processor

RECORDS = Path(__file__).parent / "records"

NUMBER = re.compile(r"\{\{ (1/)?([\w-]+)\.(\w+) \}\}")


def conditions() -> str:
    """Return the date and the processor of a measurement, for its page."""
    return f"{date.today().isoformat()}, {processor()}"


def with_numbers(text: str, quoted: Mapping[str, Mapping[str, str]]) -> str:
    """Replace `{{ record.name }}` by that number, and `{{ 1/record.name }}` by its reciprocal.

    Args:
        text: A page.
        quoted: What `quoted_numbers` returns.

    Returns:
        The page; reciprocals have two significant digits.

    Raises:
        KeyError: If a number has no entry in `quoted.yaml`.
    """

    def number(match: re.Match[str]) -> str:
        reciprocal, record, name = match.groups()
        value = quoted[record][name]
        return f"{float(f'{1.0 / float(value):.2g}'):g}" if reciprocal else value

    return NUMBER.sub(number, text)


def quoted_numbers(folder: Path = RECORDS) -> dict[str, dict[str, str]]:
    """Return every quoted number by record and name, and its `command` and `date`."""
    found: dict[str, dict[str, str]] = {}
    entries = yaml.safe_load((folder / "quoted.yaml").read_text(encoding="utf-8"))
    for record, numbers in entries.items():
        text = (folder / f"{record}.md").read_text(encoding="utf-8")
        found[record] = {
            name: place if isinstance(place, str) else cell(text, *place)
            for name, place in numbers.items()
        }
        dates = re.search(r"\d{4}-\d{2}-\d{2}", text)
        if dates:
            found[record]["date"] = dates.group()
    return found


def cell(text: str, section: str, row: str, column: str, part: str = "") -> str:
    """Return a number of the first table of a section.

    Args:
        text: A page.
        section: Heading of the section.
        row: First cell of the row.
        column: Heading of the column.
        part: `brackets` for the number in brackets behind the first one.

    Returns:
        The number as the page has it.

    Raises:
        KeyError: If the page has no such section, row, column or number.
    """
    body = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    lines = re.findall(r"^\|(.*)\|$", body.group(1), re.M) if body else []
    table = [[entry.strip() for entry in line.split("|")] for line in lines]
    rows = [entries for entries in table if entries[0] == row]
    if not rows or column not in table[0]:
        raise KeyError(f"no cell {column!r} of {row!r} in section {section!r}")
    entry = rows[0][table[0].index(column)]
    pattern = r"\(([\d.e+-]+)\)" if part == "brackets" else r"([\d.e+-]+)"
    number = re.search(pattern, entry)
    if not number:
        raise KeyError(f"no number {part} in {entry!r}, {column!r} of {row!r}")
    return number.group(1)
