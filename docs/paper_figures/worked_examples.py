"""The page of the worked examples: every figure drawn into a folder, and what was chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

from docs.paper_figures.angeles_1989 import STANFORD, THOMAS_TESAR
from docs.paper_figures.asada_slotine_1986 import SINGULAR_TRACK
from docs.paper_figures.curves import WorkedExample
from docs.paper_figures.gupta_1986 import CIRCLE

WORKED_EXAMPLES = (SINGULAR_TRACK, CIRCLE, STANFORD, THOMAS_TESAR)

POINTS = 361
"""Points of a curve."""

STYLE: dict[Any, Any] = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}

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
