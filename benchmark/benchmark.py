"""Time this package beside its peers, and write down what came out.

    python -m benchmark                        everything, some minutes; rewrites docs/benchmark.md
    python -m benchmark --quick                a look, under a minute; writes nothing
    python -m benchmark --robots ur5 panda     these robots only

Contenders take turns within one run and the best turn of each counts, so that
their ratios hold on a busy machine too. Peers that are not installed, or that refuse a
robot, are left out, and the report says why.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmark import first_call, report
from benchmark.batch import OURS_1, OURS_2, OURS_FLOAT, PIN_1, PIN_2, PIN_LOOP, batch_calls
from benchmark.cases import SOURCES, Case, cases, chain_urdf, make_case
from benchmark.contenders import (
    OURS,
    PEERS,
    QUANTITIES,
    Contender,
    disagreements,
    ours,
    plain,
)
from benchmark.results import Results
from benchmark.timing import Call, best_times
from robot_dynamics import Dynamics


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes:
        turns: Turns of every contender; the best counts.
        duration: About one turn, s.
        batch: States in one call for the table.
        sizes: Numbers of states for the plot.
        chains: Numbers of joints for the plot.
        processes: Fresh processes, or builds, for compile times; the best counts.
    """

    turns: int
    duration: float
    batch: int
    sizes: tuple[int, ...]
    chains: tuple[int, ...]
    processes: int


FULL = Effort(
    turns=50,  # short and many: somewhere among them the machine has nothing else to do
    duration=0.003,
    batch=8192,
    sizes=tuple(4**k for k in range(10)),
    chains=(2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100),
    processes=3,
)
QUICK = Effort(
    turns=5, duration=0.002, batch=8192, sizes=(1, 64, 4096), chains=(2, 7, 20), processes=1
)


MORE_TURNS = 3
"""Times as many turns for batches: they need memory to themselves, and a turn is only a few calls.
"""

CHAIN_PEERS = ("pin", "mujoco")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the report."""
    options = _parse(arguments)
    effort = QUICK if options.quick else FULL
    console = Console()
    with _quiet(), tempfile.TemporaryDirectory() as folder, _bar(console) as bar:
        results = measure(cases(options.robots, Path(folder)), effort, Path(folder), bar)
    report.print_tables(results, console)
    output = options.output or (None if options.quick else Path(__file__).parents[1] / "docs")
    if output is not None:
        for path in report.write(results, output):
            console.print(f"wrote {path}")
    return 0


def measure(chosen: list[Case], effort: Effort, folder: Path, bar: Progress) -> Results:
    """Run everything on the chosen robots."""
    results = Results(cases=chosen, batch_size=effort.batch)
    with _step(bar, "single calls", len(chosen) * len(QUANTITIES) * effort.turns) as advance:
        for case in chosen:
            time_calls(case, effort, results, advance)
    turns = MORE_TURNS * effort.turns
    with _step(bar, f"batches of {effort.batch}", len(chosen) * turns) as advance:
        for case in chosen:
            kernel = Dynamics(case.robot).kernel("inverse")
            calls = batch_calls(case, kernel, effort.batch, _present(results, case))
            results.batch[case.key] = best_times(
                calls, turns=turns, duration=effort.duration, advance=advance
            )
    shown = next((case for case in chosen if case.key == "panda"), chosen[0])
    results.sizes_of = shown.title
    with _step(bar, "batch sizes", len(effort.sizes) * effort.turns) as advance:
        kernel = Dynamics(shown.robot).kernel("inverse")
        for size in effort.sizes:
            calls = batch_calls(shown, kernel, size, _present(results, shown))
            kept = (OURS_1, OURS_2, OURS_FLOAT, PIN_LOOP, PIN_1, PIN_2)
            results.batch_sizes[size] = best_times(
                {name: calls[name] for name in kept if name in calls},
                turns=effort.turns,
                duration=effort.duration,
                advance=advance,
            )
    with _step(bar, "chains", len(effort.chains) * effort.turns) as advance:
        for n in effort.chains:
            time_chain(n, effort, folder, results, advance)
    with _step(bar, "fresh processes", len(chosen)) as advance:
        for case in chosen:
            results.first_calls[case.key] = first_call.measure(case.path, effort.processes)
            advance()
    return results


def time_calls(case: Case, effort: Effort, results: Results, advance: Callable[[], None]) -> None:
    """Single calls of everybody on one robot."""
    arm = Dynamics(case.robot)
    contenders = [*ours(case, arm), *_peers(case, results), *plain(case)]
    results.disagreements[case.key] = {
        contender.name: disagreements(contenders[0], contender) for contender in contenders[1:]
    }
    results.counts[case.key] = {quantity: _count_text(arm, quantity) for quantity in QUANTITIES}
    results.calls[case.key] = {}
    for quantity in QUANTITIES:
        calls = {c.name: c.calls[quantity] for c in contenders if quantity in c.calls}
        results.calls[case.key][quantity] = best_times(
            calls, turns=effort.turns, duration=effort.duration, advance=advance
        )


def time_chain(
    n: int, effort: Effort, folder: Path, results: Results, advance: Callable[[], None]
) -> None:
    """Inverse dynamics of a chain of n joints, and how long it takes to compile."""
    case = make_case(f"chain{n}", f"{n} joints", chain_urdf(n), folder)
    seconds: list[float] = []
    while not seconds or (len(seconds) < effort.processes and sum(seconds) < 1.0):
        arm, start = Dynamics(case.robot, cache=False), perf_counter()
        arm.inverse(case.q, case.qd, case.qdd)
        seconds.append(perf_counter() - start)
    results.chain_builds[n] = min(seconds)
    calls = {OURS: Call(arm.inverse, (case.q, case.qd, case.qdd))}
    for peer in _peers(case, results):
        if peer.name in CHAIN_PEERS:
            calls[peer.name] = peer.calls["inverse"]
    results.chains[n] = best_times(
        calls, turns=effort.turns, duration=effort.duration, advance=advance
    )


def _peers(case: Case, results: Results) -> Iterator[Contender]:
    for name, make in PEERS.items():
        try:
            yield make(case)
        except Exception as refusal:  # whatever a peer raises at a robot is its answer
            reason = "not installed" if isinstance(refusal, ImportError) else _first_line(refusal)
            results.absent.setdefault(case.key, {})[name] = reason


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _present(results: Results, case: Case) -> set[str]:
    return set(PEERS) - set(results.absent.get(case.key, {}))


def _count_text(arm: Dynamics, quantity: str) -> str:
    count = arm.kernel(quantity).operation_count
    return f"{count.multiplications} / {count.additions}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of peers about themselves, and of readers about URDFs."""
    log = logging.getLogger("robot_dynamics")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


@contextmanager
def _step(bar: Progress, text: str, total: int) -> Iterator[Callable[[], None]]:
    """One line of the progress bar."""
    task = bar.add_task(text, total=total)

    def advance() -> None:
        bar.advance(task)
        bar.refresh()

    yield advance
    bar.update(task, completed=total)
    bar.refresh()


def _bar(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # Drawn between turns only: a thread that draws takes time from what is timed
    return Progress(*columns, console=console, auto_refresh=False)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmark", description="Time this package beside its peers."
    )
    parser.add_argument("--quick", action="store_true", help="a look; writes nothing by default")
    parser.add_argument(
        "--robots",
        nargs="+",
        choices=sorted(SOURCES),
        default=list(SOURCES),
        metavar="ROBOT",
        help=f"robots to time, of {', '.join(SOURCES)}; by default all",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="where to write the report; by default docs"
    )
    return parser.parse_args(arguments)
