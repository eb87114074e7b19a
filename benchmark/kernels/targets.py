"""Speed targets of the package, as ratios to a peer in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmark.kernels.batch import OURS_1, OURS_FLOAT, PIN_1, PIN_LOOP
from benchmark.kernels.contenders import KEYWORD_INPUTS, OURS, OURS_HELD
from benchmark.kernels.kernel_results import Results

ARMS = ("ur5", "panda")
SMALL_BATCH, LARGE_BATCH = 64, 8192

HELD = "inverse dynamics, latest results held, to pin.rnea"
ROWS = "inverse dynamics in rows, in cache, share of the peak"
COLUMNS = "inverse dynamics in columns, in cache, share of the peak"
BANDWIDTH = "inverse dynamics from memory, share of the bandwidth"
CACHED = "import, read, load from cache, first torque"
COLD = "import, read, compile, first torque"

FORWARD = "forward dynamics, one call, to pin.aba"
DERIVATIVES = "derivatives, one call, to pin.computeRNEADerivatives"
LIMITS_OF_DERIVATIVES = {"ur5": 0.06, "panda": 0.07, "tiago": 0.06, "talos": 0.09}
FORWARD_DERIVATIVES = "derivatives of forward dynamics, one call, to pin.computeABADerivatives"
FLOAT = "float32 to float64"
LOOP = "one thread, to a loop of pin.rnea"

WHY = {
    LOOP: (
        "Seen on machines of this kind whose wide vectors are slow by the hour: 0.0082 (UR5) and "
        "0.0073 (Panda) on one day; on another the same code, and that of the day before in "
        "turns with it, took 13 and 27 ns a state each."
    ),
    FORWARD: (
        "The code of a humanoid is 54 KB long and passes once through an instruction cache of "
        "32 KB, so that its length counts more than its operations; of the time of a call, 3 % "
        "are checks and result. Tried: articulated bodies (more operations; taken where they are "
        "fewer), other orders of evaluation, packing by LLVM, AVX2 only, smaller code models, all "
        "within 6 %."
    ),
    DERIVATIVES: (
        "Derivatives of TIAGo, which has no equal limbs to put side by side, are 2070 scalar "
        "operations, of which the processor does two in a cycle, and 800 stores and loads of "
        "values that have no register. The same equations written once more for all joints at "
        "once, eight in a vector register, took 0.082: as the only ones they would have 1.7 to 2.1 "
        "times the operations, which batches and other processors would pay."
    ),
    FORWARD_DERIVATIVES: (
        "Talos takes 32500 instructions, 190 KB that pass once through an instruction cache of "
        "32 KB: 9500 of them reach values that have no register. Columns one after the other, "
        "results stored at once and no reordering by LLVM are within 3 %."
    ),
    FLOAT: (
        "Without turning rows of states into vectors of one joint each (which gives wrong "
        "results) it is 0.46 to 0.47. Blends for rows of up to 6 floats brought UR5 from 0.51 to "
        "0.44 and were removed: they took half of the code that loads batches."
    ),
    HELD: (
        "Of it, putting a result away takes 0.01 to 0.015 and the plain call nearly all the rest. "
        "Up to 16 small results are remembered and written again once they are let go. Where all "
        "are kept, NumPy makes and frees an array for each: 0.05 more."
    ),
    "with payload=, to without": (
        "The last links of a UR5 are symmetric, and a load is not: with any load in numbers, "
        "forward dynamics has 662 instead of 418 operations and takes 1.28 of the time; as ten "
        "inputs, 726. 33 of them depend on the load alone. Moving what a joint does not move to "
        "the link before adds 10 to 60."
    ),
    "with gravity=, to without": (
        "The base of TIAGo stands upright without it; with it, the angles of the wheels count: 18 "
        "instead of 14 sines and cosines, 672 instead of 638 operations. The argument itself takes "
        "16 ns."
    ),
    ROWS: (
        "Of the vector instructions on numbers of a UR5, Panda, TIAGo and Talos, 57, 51, 51 and "
        "53 % are fused; if the others, and the 88 to 411 that turn rows into columns and back, "
        "took as long, 54, 60, 58 and 63 % of the peak would be reached."
    ),
    COLUMNS: (
        "Of the vector instructions on numbers of a UR5, Panda, TIAGo and Talos, 56, 50, 51 and "
        "53 % are fused; if the others took as long, 71, 71, 70 and 73 % of the peak would be "
        "reached. Of Talos, 1507 of 5130 instructions store and load values that have no register, "
        "and 128 columns are as many streams of memory: 111 ns a state in batches of 64, 146 in "
        "batches of 1024."
    ),
    BANDWIDTH: (
        "For arms a state is more work than transport: the time from memory is about that in the "
        "cache. Talos takes 101 ns a state in the cache, 118 with results in memory, 161 with "
        "arguments in memory and 178 with both: reading, which takes 38 alone, and arithmetic do "
        "not overlap, because a processor looks a few hundred instructions ahead and a block has "
        "5400. Fetching blocks ahead of their use gains nothing in rows (0.99 to 1.05), copying "
        "them to the cache beforehand 0.92 to 1.2, pages of 2 MB nothing; a power of two of states "
        "takes 1.19."
    ),
    CACHED: ("NumPy and llvmlite take more than half of it to import; see the table of imports."),
    COLD: (
        "Of what is no import, LLVM takes a third; the rest traces, reduces and simplifies the "
        "equations in Python."
    ),
}
"""Notes on targets that may be missed, by the end of their text."""


@dataclass(frozen=True)
class Target:
    """One promise: a measured value against its limit.

    Attributes:
        text: What is compared with what.
        robot: Name of the robot.
        measured: Value in this run.
        limit: Largest value allowed.
        unit: Unit of both; empty for a ratio.
        least: The limit is the least value allowed.
    """

    text: str
    robot: str
    measured: float
    limit: float
    unit: str = ""
    least: bool = False

    @property
    def met(self) -> bool:
        """Return whether this run meets the target."""
        return self.measured >= self.limit if self.least else self.measured <= self.limit

    @property
    def why(self) -> str:
        """Note on missing the target; empty if there is none."""
        return next((why for text, why in WHY.items() if self.text.endswith(text)), "")


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
            FORWARD,
        )
        yield from _ratio(
            calls.get("inverse_derivatives"),
            OURS,
            "pin",
            LIMITS_OF_DERIVATIVES.get(case.key, 0.10),
            case.title,
            DERIVATIVES,
        )
        yield from _ratio(calls.get("inverse"), OURS_HELD, "pin", 0.09, case.title, HELD)
        yield from _small_and_beside(results, case.key, case.title)
        yield from _shares(results, case.key, case.title)
        yield from _ratio(
            calls.get("forward_derivatives"),
            OURS,
            "pin",
            0.10,
            case.title,
            FORWARD_DERIVATIVES,
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
                f"batch of {size}, {LOOP}",
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
                0.55,
                case.title,
                f"batch of {size}, one thread, {FLOAT}",
            )
    for key, name, limit, text, unit in (
        ("panda", "cold", 0.2, COLD, "s"),
        ("panda", "cached", 0.12, CACHED, "s"),
        ("talos", "cold", 1.5, COLD, "s"),
        ("panda", "memory", 20.0, "memory of all kernels", "MiB"),
    ):
        if key in results.first_calls:
            title = next(case.title for case in results.cases if case.key == key)
            yield Target(text, title, results.first_calls[key][name], limit, unit)


def _small_and_beside(results: Results, key: str, robot: str) -> Iterator[Target]:
    small = {size: times[OURS] for size, times in results.small.get(key, {}).items()}
    if {0, 1} <= small.keys():
        text = "a batch of one state, to a call of one state"
        yield Target(text, robot, small[1] / small[0], 10.0)
    if {SMALL_BATCH, LARGE_BATCH} <= small.keys():
        text = f"batch of {SMALL_BATCH}, per state, to one of {LARGE_BATCH}"
        yield Target(text, robot, small[SMALL_BATCH] / small[LARGE_BATCH], 2.0)
    beside = results.beside.get(key, {})
    for name in KEYWORD_INPUTS if beside else ():
        ratios = [beside[f"{method} {name}"] / beside[method] for method in ("inverse", "forward")]
        yield Target(f"inverse or forward with {name}=, to without", robot, max(ratios), 1.3)


def _shares(results: Results, key: str, robot: str) -> Iterator[Target]:
    for (name, columns), found in results.shares.get(key, {}).items():
        if name == "inverse":
            reached = found.operations / found.cached / results.peak
            yield Target(COLUMNS if columns else ROWS, robot, reached, 0.70, least=True)
        if name == "inverse" and not columns:
            carried = found.bytes / found.far / results.bandwidth
            yield Target(BANDWIDTH, robot, carried, 0.80, least=True)


def _ratio(
    times: dict[str, float] | None, ours: str, theirs: str, limit: float, robot: str, text: str
) -> Iterator[Target]:
    if times and ours in times and theirs in times:
        yield Target(text, robot, times[ours] / times[theirs], limit)
