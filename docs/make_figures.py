"""Draw the worked examples of the publications into FOLDER/figures, and write their page.

Run it as `python docs/make_figures.py [FOLDER]`; without FOLDER it writes into docs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl

from robot_dynamics.papers.figures.curves import WorkedExample
from robot_dynamics.papers.figures.worked_examples import POINTS, STYLE, WORKED_EXAMPLES

DOCS = Path(__file__).resolve().parent

INTRODUCTION = """\
# The worked examples of three publications

`python docs/make_figures.py` redraws them in the layout of the printed figures. The publications
print curves and no numbers, and the copies at hand have lost the curves. The curves drawn here are
those that the tests check against other computations (torques against Pinocchio, and against
Lagrange's equations differentiated automatically), and those that the texts describe. Lee, Lee and
Nigam, and Renaud, print no curves. The notebooks of [the course](course.md) work all five
publications out."""


def write_worked_examples(folder: Path, tell: Callable[[Path], None], points: int = POINTS) -> None:
    """Draw every figure into `folder`/figures and write the page worked-examples.md beside them.

    Args:
        folder: Exists.
        tell: Hears of every file once it is there.
        points: Of each curve.
    """
    (folder / "figures").mkdir(exist_ok=True)
    page, sections = folder / "worked-examples.md", [INTRODUCTION]
    for example in WORKED_EXAMPLES:
        sections.append(_write(example, folder, tell, points))
    page.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    tell(page)


def _write(example: WorkedExample, folder: Path, tell: Callable[[Path], None], points: int) -> str:
    rows = ["| figure | |", "| --- | --- |"]
    with mpl.rc_context(STYLE):
        for number, title, name, figure in example.figures(points):
            file = folder / "figures" / f"{name}.png"
            # without the version of matplotlib in the file, the same curves give the same bytes
            figure.savefig(file, dpi=100, metadata={"Software": ""})
            tell(file)
            rows.append(f"| {number}, {title} | ![{title}](figures/{name}.png) |")
    return "\n\n".join((f"## {example.title}", example.about, "\n".join(rows)))


def main(arguments: Sequence[str]) -> None:
    """Write every file, and print its path."""
    folder = Path(arguments[0]) if arguments else DOCS
    folder.mkdir(parents=True, exist_ok=True)
    write_worked_examples(folder, print)


if __name__ == "__main__":
    main(sys.argv[1:])
