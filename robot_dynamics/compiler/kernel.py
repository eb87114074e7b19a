"""What a compiled program looks like to a caller, whichever back end made it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.trace import Shape

Results = Any
"""One array, or a named tuple with one array per output."""


class Kernel(ABC):
    """A compiled program: a function of arrays.

    Attributes:
        name: Name of the program.
        inputs: Shape of every input, in the order of the arguments.
        outputs: Shape of every output, in the order of the results.
    """

    def __init__(self, name: str, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs

    @abstractmethod
    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, threads: int | None = None
    ) -> Results:
        """Evaluate the equations.

        Args:
            arrays: One per input, shape S of `inputs` for one sample or (N, *S) for a batch; one
                sample beside batches stands for all N. Float64 arrays are read in place, float32
                arrays throughout give float32 results, anything else is converted.
            out: Array to write the only output to, or a sequence of one per output.
            threads: Largest number of threads for a batch; by default one per processor.

        Returns:
            The output, shape as in `outputs` or (N, ...), or a named tuple of all outputs.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument holds no numbers, or NaN or infinity where checked.
        """

    def __repr__(self) -> str:
        inputs = ", ".join(f"{n}{list(s)}" for n, s in self.inputs.items())
        outputs = ", ".join(f"{n}{list(s)}" for n, s in self.outputs.items())
        return f"<{type(self).__name__} {self.name}({inputs}) -> {outputs}>"


def results_type(
    name: str, outputs: Mapping[str, Shape]
) -> Callable[[tuple[npt.NDArray[np.float64], ...]], Results]:
    """How a kernel hands over its results: the only array itself, or all in a named tuple."""
    if len(outputs) == 1:
        return lambda arrays: arrays[0]
    return namedtuple(name, list(outputs))._make
