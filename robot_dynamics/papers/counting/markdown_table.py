"""A table as Markdown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MarkdownTable:
    """One table: a title, a sentence, a header and rows of text."""

    title: str
    about: str
    header: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """A section of its own."""
        lines = [f"## {self.title}", "", self.about, ""]
        lines.append("| " + " | ".join(self.header) + " |")
        lines.append("| --- |" + " ---: |" * (len(self.header) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines)
