"""Numbers that documents quote from the records of measurements."""

import re
from pathlib import Path

import pytest

from benchmark.record import NUMBER, RECORDS, cell, quoted_numbers, with_numbers

DOCS = Path(__file__).parents[2] / "docs"
PAGE = """# Times

- 2026-01-31, a processor

## Calls

| us | UR5 | Panda |
| --- | ---: | ---: |
| ours | 0.5 (0.125) | 0.75 (0.1) |

## Batches

| ns | UR5 |
| --- | ---: |
| ours | 12 |
"""


def test_a_cell_is_found_by_section_row_and_column():
    assert cell(PAGE, "Calls", "ours", "Panda") == "0.75"
    assert cell(PAGE, "Calls", "ours", "UR5", "brackets") == "0.125"
    assert cell(PAGE, "Batches", "ours", "UR5") == "12"


@pytest.mark.parametrize(
    "place",
    [
        ("Call", "ours", "UR5"),
        ("Calls", "theirs", "UR5"),
        ("Batches", "ours", "Panda"),
        ("Batches", "ours", "UR5", "brackets"),
    ],
)
def test_a_cell_that_is_not_there_is_named(place):
    with pytest.raises(KeyError, match=re.escape(repr(place[1])) if len(place) < 4 else "brackets"):
        cell(PAGE, *place)


def test_a_page_states_numbers_of_its_record(tmp_path):
    (tmp_path / "times.md").write_text(PAGE)
    (tmp_path / "quoted.yaml").write_text(
        "times:\n  command: measure\n  call: [Calls, ours, UR5, brackets]\n"
    )
    quoted = quoted_numbers(tmp_path)
    assert quoted["times"] == {"command": "measure", "call": "0.125", "date": "2026-01-31"}
    text = "{{ times.call }} of the time, {{ 1/times.call }} times faster ({{ times.date }})"
    assert with_numbers(text, quoted) == "0.125 of the time, 8 times faster (2026-01-31)"
    with pytest.raises(KeyError, match="batch"):
        with_numbers("{{ times.batch }}", quoted)


def test_every_number_that_documents_quote_is_in_a_record():
    quoted = quoted_numbers(RECORDS)
    pages = [path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")]
    assert any(NUMBER.search(page) for page in pages)
    for page in pages:
        assert not re.search(r"\{\{ [\w/.-]+ \}\}", with_numbers(page, quoted))
