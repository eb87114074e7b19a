"""Draw the worked examples of the publications into FOLDER/figures, and write their page.

Run it as `python docs/make_figures.py [FOLDER]`; without FOLDER it writes into docs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from docs.paper_figures.worked_examples import write_worked_examples  # noqa: E402


def main(arguments: Sequence[str]) -> None:
    """Write every file, and print its path."""
    folder = Path(arguments[0]) if arguments else DOCS
    folder.mkdir(parents=True, exist_ok=True)
    write_worked_examples(folder, print)


if __name__ == "__main__":
    main(sys.argv[1:])
