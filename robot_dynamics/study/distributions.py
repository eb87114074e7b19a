"""Distributions of varying quantities, and samples of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.foundation.numbers import number_from
from robot_dynamics.study.quantities import QUANTITIES

_DEGREE = np.pi / 180.0

UNITS = {
    "1": {"%": 0.01},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "m": {"m": 1.0, "mm": 1e-3, "um": 1e-6},
    "rad": {"rad": 1.0, "mrad": 1e-3, "urad": 1e-6, "deg": _DEGREE},
    "m/s": {"m/s": 1.0, "mm/s": 1e-3},
    "rad/s": {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": _DEGREE},
    "kg": {"kg": 1.0, "g": 1e-3},
    "Hz": {"Hz": 1.0, "kHz": 1e3},
}
"""Accepted units of distributions by SI unit, in that unit."""

SAMPLINGS = ("random", "latin", "sobol", "grid")
"""Sampling methods."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_WITH_UNIT = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]+(?:/s)?|%|)\s*", re.ASCII)


@dataclass(frozen=True)
class Distribution:
    """Distribution of the values of a quantity.

    Args:
        kind: "uniform" between two numbers, "normal" of mean and standard deviation, or
            "values", with equal probability.
        numbers: The two numbers, or the values.

    Raises:
        ArgumentError: If the numbers do not fit the kind.
    """

    kind: str
    numbers: tuple[float, ...]

    def __post_init__(self) -> None:
        check_known("kind of distribution", self.kind, "a study", ("uniform", "normal", "values"))
        if not self.numbers or not np.isfinite(self.numbers).all():
            raise ArgumentError(f"a distribution takes finite numbers, got {self.numbers}")
        if self.kind != "values" and len(self.numbers) != 2:
            raise ArgumentError(f"a {self.kind} distribution takes two numbers, got {self.numbers}")
        if self.kind == "uniform" and self.numbers[0] > self.numbers[1]:
            raise ArgumentError(
                f"distribution {self.numbers[0]:g}..{self.numbers[1]:g} runs backwards; give the "
                "smaller number first"
            )
        if self.kind == "normal" and self.numbers[1] < 0.0:
            raise ArgumentError(f"standard deviation is {self.numbers[1]:g}; give zero or more")

    def at(self, u: Array) -> Array:
        """Evaluate the quantile function.

        Args:
            u: Probabilities in [0, 1), any shape.

        Returns:
            Values, shape of u.
        """
        a, b = self.numbers[0], self.numbers[-1]
        if self.kind == "uniform":
            return a + (b - a) * u
        if self.kind == "normal":
            inside = np.clip(u, 1e-12, 1.0 - 1e-12)
            return a + b * imported("scipy.special").ndtri(inside)
        index = np.minimum((u * len(self.numbers)).astype(int), len(self.numbers) - 1)
        return np.asarray(self.numbers)[index]


def distribution_of(name: str, text: str | float, *, symmetric: bool = False) -> Distribution:
    """Parse a distribution.

    Args:
        name: Of the quantity, which defines the units: "payload" or "--payload".
        text: "0..3" (uniform), "0.1+-0.02" (normal), "1,2,5" (values), or one number; units such
            as ms, mm, deg, g and % may follow each number, or the last for all.
        symmetric: Whether one number x means the range from -x to x.

    Returns:
        The distribution, in SI units.

    Raises:
        ArgumentError: If the text has another form, or a unit of another quantity.

    Examples:
        >>> from robot_dynamics.study import distribution_of
        >>> distribution_of("payload", "0..500 g")
        Distribution(kind='uniform', numbers=(0.0, 0.5))
    """
    text = f"{text:.17g}" if isinstance(text, (int, float)) else text
    if ".." in text:
        return Distribution("uniform", _numbers(name, text, text.split("..")))
    if "+-" in text or "±" in text:
        return Distribution("normal", _numbers(name, text, re.split(r"\+-|±", text)))
    numbers = _numbers(name, text, text.split(","))
    if len(numbers) == 1 and symmetric:
        return Distribution("uniform", (-abs(numbers[0]), abs(numbers[0])))
    return Distribution("values", numbers)


def _number(name: str, text: str) -> float:
    try:
        value = number_from(text)
    except ValueError as error:
        raise ArgumentError(f"{name}: {error}; write 0") from None
    if not np.isfinite(value):
        raise ArgumentError(f"{name}: '{text}' is not a finite number")
    return value


def _numbers(name: str, text: str, parts: Sequence[str]) -> tuple[float, ...]:
    found = [_WITH_UNIT.fullmatch(part) for part in parts]
    last = found[-1]
    if last is None or any(match is None for match in found):
        raise ArgumentError(
            f"{name}: '{text}' is no distribution; write A..B for any value between, M+-S for a "
            "normal one, A,B,C for these values, with a unit such as ms, mm, deg, g or % if need be"
        )
    quantity = QUANTITIES.get(name.removeprefix("--").replace("-", "_"))
    kinds = UNITS if quantity is None else quantity.unit.split(" or ")
    units = {unit: factor for kind in kinds for unit, factor in UNITS[kind].items()}
    values = []
    for match in found:
        unit = (match[2] if match else "") or last[2]
        if unit and unit not in units:
            what = "is not known" if quantity is None else f"is none of {name} ({quantity.meaning})"
            raise ArgumentError(
                f"{name}: unit '{unit}' in '{text}' {what}; write one of {', '.join(units)}"
            )
        values.append(_number(name, match[1] if match else "0") * units.get(unit, 1.0))
    return tuple(values)


def unit_samples(sampling: str, count: int, dimensions: int, seed: int) -> Array:
    """Return points that fill the unit cube, shape (count, dimensions); a grid may have fewer.

    Args:
        sampling: One of `SAMPLINGS`.
        count: Number of points.
        dimensions: Dimension of the cube.
        seed: The same seed gives the same points.

    Raises:
        UnknownNameError: If there is no such sampling.
        ArgumentError: If a grid has fewer than two points along an axis.
    """
    check_known("sampling", sampling, "a study", SAMPLINGS)
    if not dimensions:
        return np.zeros((count, 0))
    if sampling == "random":
        return np.random.default_rng(seed).random((count, dimensions))
    if sampling == "grid":
        steps = int(np.floor(count ** (1.0 / dimensions) + 1e-9))
        if steps < 2:
            raise ArgumentError(
                f"a grid over {dimensions} quantities takes at least {2**dimensions} runs, got "
                f"{count}; vary fewer quantities, or sample by latin or sobol"
            )
        axes = [np.arange(steps) / (steps - 1) * (1.0 - 1e-15)] * dimensions
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimensions)
    qmc = imported("scipy.stats").qmc
    if sampling == "latin":
        return np.asarray(qmc.LatinHypercube(dimensions, seed=seed).random(count))
    # A power of two keeps the balance of the sequence; excess points are left out
    return np.asarray(qmc.Sobol(dimensions, seed=seed).random_base2(_power(count))[:count])


def _power(count: int) -> int:
    return max(count - 1, 0).bit_length()
