"""A table: on the terminal, and as Markdown."""

from __future__ import annotations

from rich.table import Table as RichTable

from robot_dynamics.papers.counting.markdown_table import MarkdownTable


class Table(MarkdownTable):
    """One table: a title, a sentence, a header and rows of text."""

    def rich(self) -> RichTable:
        """For the terminal."""
        table = RichTable(title=self.title, title_justify="left", caption_justify="left")
        for i, text in enumerate(self.header):
            table.add_column(text, justify="left" if i == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        return table
