"""JSON output of a verb, for programs: one object instead of tables.

Units are SI and radians, orders those of the joints; null stands for no limit and for no answer.
Errors and warnings go to stderr as ever, and a verb that fails with an error prints no object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of every verb that a program might ask."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object, in SI units and rad"
    )


def print_json(content: Mapping[str, Any]) -> None:
    """Print an object: arrays and iterators as lists, records as objects, infinity as null."""
    print(json.dumps(_plain(content), indent=2, allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Convert a value to types that the json module accepts."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value + 0.0 if np.isfinite(value) else None  # no minus before zero
    return value
