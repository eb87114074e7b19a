"""A table: on the terminal, and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.table import Table as RichTable

END = "<!-- end -->\n"
"""Line after a part of a page that a program writes."""


@dataclass(frozen=True)
class Table:
    """One table: a title, a sentence, a header and rows of text."""

    title: str
    about: str
    header: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Return the table as a section of a Markdown page."""
        lines = [f"## {self.title}", "", self.about, ""]
        lines.append("| " + " | ".join(self.header) + " |")
        lines.append("| --- |" + " ---: |" * (len(self.header) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines)

    def rich(self) -> RichTable:
        """Return the table for the terminal."""
        table = RichTable(title=self.title, title_justify="left", caption_justify="left")
        for i, text in enumerate(self.header):
            table.add_column(text, justify="left" if i == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        return table


def replace_part(page: Path, mark: str, lines: list[str]) -> None:
    """Replace the part of a page between a mark and the end."""
    begin = f"<!-- {mark} -->\n"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    head, _, rest = before.partition(begin)
    text = head + begin + "\n".join(lines) + "\n" + END + rest.partition(END)[2]
    page.write_text(text, encoding="utf-8")
