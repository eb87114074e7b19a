"""The worked examples whose figures are redrawn, and one figure of them by its name."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from robot_dynamics.papers.figures.angeles_1989 import STANFORD, THOMAS_TESAR
from robot_dynamics.papers.figures.asada_slotine_1986 import SINGULAR_TRACK
from robot_dynamics.papers.figures.curves import WorkedExample
from robot_dynamics.papers.figures.gupta_1986 import CIRCLE

WORKED_EXAMPLES: tuple[WorkedExample, ...] = (SINGULAR_TRACK, CIRCLE, STANFORD, THOMAS_TESAR)

POINTS = 361
"""Points of a curve."""

STYLE: dict[Any, Any] = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def paper_figure(name: str, points: int = POINTS) -> Figure:
    """Draw one figure of a worked example.

    Args:
        name: A `PaperFigure.name`.
        points: Of each curve.
    """
    example = next(one for one in WORKED_EXAMPLES if name in one.names)
    with mpl.rc_context(STYLE):
        return next(one.figure for one in example.figures(points) if one.name == name)
