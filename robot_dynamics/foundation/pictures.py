"""Pictures: a Matplotlib figure as the bytes of a file."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.errors import MissingPackageError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(**options: Any) -> Figure:
    """Return an empty figure, with the options of Matplotlib.

    Raises:
        MissingPackageError: If Matplotlib is not installed, or has no folder for its files.
    """
    try:
        figure: Figure = needed("matplotlib.figure", "a picture", "cli").Figure(**options)
    except OSError:
        raise MissingPackageError(
            "Matplotlib has no folder that it can write; name one by the variable MPLCONFIGDIR"
        ) from None
    return figure


GAP = 5.0
"""Distance of samples, in usual ones, over which no line is drawn."""


def with_gaps(time: Array) -> Callable[[Array], Array]:
    """Return a function that puts NaN where samples at these times, shape (N,), have gaps.

    Applied to the times and to values, shape (N, ...), it leaves lines out of a plot.
    """
    steps = np.diff(time)
    joins = np.flatnonzero(steps > GAP * (np.median(steps) if len(steps) else 0.0)) + 1
    return lambda values: np.insert(np.asarray(values, dtype=float), joins, np.nan, axis=0)


def picture_bytes(figure: Figure, kind: str) -> bytes:
    """Return the bytes of a picture file.

    Args:
        figure: The figure.
        kind: Its format, such as "png".
    """
    content = io.BytesIO()
    with warnings.catch_warnings():
        # Advice to programmers: slow legends of long recordings, glyphs of foreign names
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(content, format=kind)
    return content.getvalue()
