"""Columns, settings and units of table files: what a reader and a writer of them agree on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

AXES = ("x", "y", "z")

INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
"""Entries of an inertia, in the order of a list of them."""

_MILLI = 1e-3
_INCH, _POUND, _LBF = 0.0254, 0.45359237, 4.4482216152605

UNITS: Mapping[str, Mapping[str, float]] = {
    "length": {"m": 1.0, "cm": 1e-2, "mm": _MILLI, "in": _INCH},
    "angle": {"rad": 1.0, "deg": np.pi / 180.0},
    "mass": {"kg": 1.0, "g": _MILLI, "lb": _POUND},
    "inertia": {
        "kg m^2": 1.0,
        "kg cm^2": 1e-4,
        "kg mm^2": 1e-6,
        "g mm^2": 1e-9,
        "lb in^2": _POUND * _INCH**2,
        "lbf in s^2": _LBF * _INCH,
    },
}
"""Units by quantity, with their size in SI units."""

Columns = Mapping[str, str]
"""Quantity of each column: one of `UNITS`, "motion" (angle or length of the joint), or ""."""


def _vector(name: str, quantity: str) -> dict[str, str]:
    return {f"{name}_{axis}": quantity for axis in AXES}


_CLASSIC = {"a": "length", "alpha": "angle", "d": "length", "theta": "angle"}

HARTENBERG_DENAVIT, ZERO = "hartenberg-denavit", "zero-reference"

GEOMETRY: Mapping[str, Columns] = {
    "classic": _CLASSIC,
    "modified": _CLASSIC,
    HARTENBERG_DENAVIT: {"a": "length", "alpha": "angle", "b": "length", "theta": "angle"},
    ZERO: _vector("u", "") | _vector("b", "length"),
}
"""Columns that every row needs, by convention."""

LIMITS = ("lower", "upper", "velocity", "effort", "acceleration")

_JOINT = {"lower": "motion", "upper": "motion", "velocity": "motion", "effort": "",
          "acceleration": "motion", "damping": "", "friction": ""}  # fmt: skip

TEXTS = ("joint", "link", "type")
"""Columns of text."""

SETTINGS = ("robot", "source", "convention", "units", "gravity", "base", "tool", "hand")
"""Settings of a table, beside its rows."""


def centre(convention: str) -> str:
    """Return the name of the vector to the mass centre of a link."""
    return "s" if convention == ZERO else "com"


def number_columns(convention: str) -> Columns:
    """Return all columns of numbers of a convention, in the order in which they are printed."""
    body = {"mass": "mass", **_vector(centre(convention), "length")}
    return {**GEOMETRY[convention], **body, **dict.fromkeys(INERTIA, "inertia"), **_JOINT}


def vectors(convention: str) -> dict[str, tuple[str, ...]]:
    """Return the columns that a list in YAML stands for, by its name."""
    names = ("u", "b", "s") if convention == ZERO else ("com",)
    return {**{name: tuple(_vector(name, "")) for name in names}, "inertia": INERTIA}
