"""A plot in a report: its file, its heading, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # no display needed

import matplotlib.pyplot as plt

plt.rcParams.update({"font.size": 10, "axes.grid": True, "grid.alpha": 0.3})


@dataclass(frozen=True)
class Picture:
    """One plot: its file beside the report, a title and a sentence."""

    path: Path
    title: str
    about: str

    def markdown(self) -> str:
        """For the report."""
        return f"## {self.title}\n\n{self.about}\n\n![{self.title}]({self.path.name})"


def save(figure: plt.Figure, path: Path) -> None:
    """Write a figure and let go of it."""
    # without the version of matplotlib in the file, the same curves give the same bytes
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)
