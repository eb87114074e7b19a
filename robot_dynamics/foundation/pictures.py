"""Pictures: a Matplotlib figure as the bytes of a file."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from robot_dynamics.errors import MissingPackageError
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
