"""What the package promises, as ratios to a peer in the same run, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmark.batch import OURS_1, OURS_FLOAT, PIN_1, PIN_LOOP
from benchmark.contenders import OURS
from benchmark.results import Results

ARMS = ("ur5", "panda")


@dataclass(frozen=True)
class Target:
    """One promise: a measured value against its limit.

    Attributes:
        text: What is compared with what.
        robot: Name of the robot.
        measured: Value in this run.
        limit: Largest value allowed.
        unit: Unit of both; empty for a ratio.
    """

    text: str
    robot: str
    measured: float
    limit: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the promise holds in this run."""
        return self.measured <= self.limit


def targets(results: Results) -> Iterator[Target]:
    """Every promise that this run can judge."""
    for case in results.cases:
        arm = case.key in ARMS
        calls = results.calls.get(case.key, {})
        if arm:
            yield from _ratio(
                calls.get("inverse"),
                OURS,
                "pin",
                0.20,
                case.title,
                "inverse dynamics, one checked call, to pin.rnea",
            )
        yield from _ratio(
            calls.get("forward"),
            OURS,
            "pin",
            0.12,
            case.title,
            "forward dynamics, one call, to pin.aba",
        )
        yield from _ratio(
            calls.get("inverse_derivatives"),
            OURS,
            "pin",
            0.10,
            case.title,
            "derivatives, one call, to pin.computeRNEADerivatives",
        )
        batch = results.batch.get(case.key)
        if arm:
            size = results.batch_size
            yield from _ratio(
                batch,
                OURS_1,
                PIN_LOOP,
                0.012,
                case.title,
                f"batch of {size}, one thread, to a loop of pin.rnea",
            )
            yield from _ratio(
                batch,
                OURS_1,
                PIN_1,
                0.03,
                case.title,
                f"batch of {size}, one thread, to pin.rneaInParallel, one thread",
            )
            yield from _ratio(
                batch,
                OURS_FLOAT,
                OURS_1,
                0.5,
                case.title,
                f"batch of {size}, one thread, float32 to float64",
            )
    for key, name, limit, text, unit in (
        ("panda", "cold", 0.5, "import, read, compile, first torque", "s"),
        ("panda", "cached", 0.2, "import, read, load from cache, first torque", "s"),
        ("talos", "cold", 1.5, "import, read, compile, first torque", "s"),
        ("panda", "memory", 20.0, "memory of all kernels", "MiB"),
    ):
        if key in results.first_calls:
            title = next(case.title for case in results.cases if case.key == key)
            yield Target(text, title, results.first_calls[key][name], limit, unit)


def _ratio(
    times: dict[str, float] | None, ours: str, theirs: str, limit: float, robot: str, text: str
) -> Iterator[Target]:
    if times and ours in times and theirs in times:
        yield Target(text, robot, times[ours] / times[theirs], limit)
