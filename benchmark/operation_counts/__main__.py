"""Write benchmark/records/operation-counts.md.

python -m benchmark.operation_counts
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmark.operation_counts.counts_page import PAGE, page
from benchmark.progress_bar import spinner


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.operation_counts")
    parser.add_argument("--output", type=Path, default=PAGE, help="file to write")
    output = parser.parse_args(arguments).output
    console = Console()
    with spinner(console) as tell:
        text = page(tell)
    output.write_text(text, encoding="utf-8")
    console.print(f"wrote {output}")


if __name__ == "__main__":
    main()
