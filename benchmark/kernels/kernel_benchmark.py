"""Time this package beside its peers, and write down what came out.

    python -m benchmark                        everything, some minutes; rewrites records/kernels.md
    python -m benchmark --quick                a look, under a minute; writes nothing
    python -m benchmark --robots ur5 panda     these robots only

Contenders take turns within one run and the best turn of each counts, so that
their ratios hold on a busy machine too. Peers that are not installed, or that refuse a
robot, are left out, and the report says why.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import Progress

from benchmark import peak
from benchmark.cases import SOURCES, Case, cases, chain_urdf, make_case, quiet
from benchmark.kernels import first_call, kernel_report, shares
from benchmark.kernels.batch import PIN_1, PIN_2, PIN_LOOP, batch_calls, our_calls
from benchmark.kernels.contenders import (
    OURS,
    PEERS,
    QUANTITIES,
    Contender,
    calls_beside,
    disagreements,
    ours,
    plain,
)
from benchmark.kernels.kernel_results import Results
from benchmark.kernels.timing import Call, best_times
from benchmark.progress_bar import progress_bar, step
from benchmark.record import RECORDS
from robot_dynamics import Dynamics


@dataclass(frozen=True)
class MeasurementPlan:
    """Duration of the measurements.

    Attributes:
        turns: Turns of every contender; the best counts.
        duration: About one turn, s.
        batch: States in one call for the table.
        sizes: Numbers of states for the plot.
        share: Duration of the measurement of one share, s.
        chains: Numbers of joints for the plot.
        processes: Fresh processes, or builds, for compile times; the best counts.
    """

    turns: int
    duration: float
    batch: int
    sizes: tuple[int, ...]
    share: float
    chains: tuple[int, ...]
    processes: int


FULL = MeasurementPlan(
    turns=50,  # short and many: somewhere among them the machine has nothing else to do
    duration=0.003,
    batch=8192,
    sizes=tuple(4**k for k in range(11)),
    share=0.15,
    chains=(2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100),
    processes=3,
)
QUICK = MeasurementPlan(
    turns=5,
    duration=0.002,
    batch=8192,
    sizes=(1, 64, 4096),
    share=0.01,
    chains=(2, 7, 20),
    processes=1,
)


MORE_TURNS = 3
"""Times as many turns for batches: they need memory to themselves, and a turn is only a few calls.
"""

CHAIN_PEERS = ("pin", "mujoco")
MOST_STATES_OF_PEERS = 4**7  # beyond it the time of their loops per state stays the same
MOST_BYTES = 2**28  # of the arguments of one call
SMALL = (1, 64, 256)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the report."""
    options = _parse(arguments)
    plan = QUICK if options.quick else FULL
    console = Console()
    with _without_warnings(), tempfile.TemporaryDirectory() as folder, progress_bar(console) as bar:
        results = measure(cases(options.robots, Path(folder)), plan, Path(folder), bar)
    kernel_report.print_tables(results, console)
    output = options.output or (None if options.quick else RECORDS)
    if output is not None:
        for path in kernel_report.write(results, output):
            console.print(f"wrote {path}")
    return 0


def measure(chosen: list[Case], plan: MeasurementPlan, folder: Path, bar: Progress) -> Results:
    """Run everything on the chosen robots."""
    results = Results(cases=chosen, batch_size=plan.batch)
    with step(bar, "single calls", len(chosen) * len(QUANTITIES) * plan.turns) as advance:
        for case in chosen:
            time_calls(case, plan, results, advance)
    turns = MORE_TURNS * plan.turns
    with step(bar, f"batches of {plan.batch}", len(chosen) * turns) as advance:
        for case in chosen:
            kernel = Dynamics(case.robot).kernel("inverse")
            calls = batch_calls(case, kernel, plan.batch, _present(results, case))
            results.batch[case.key] = best_times(
                calls, turns=turns, duration=plan.duration, advance=advance
            )
    with step(bar, "small batches", len(chosen) * plan.turns * (2 + len(SMALL))) as advance:
        for case in chosen:
            time_small(case, plan, results, advance)
    with step(bar, "batch sizes", len(chosen) * len(plan.sizes)) as advance:
        for case in chosen:
            time_sizes(case, plan, results, advance)
    results.peak, results.bandwidth = peak.peak_rate(), peak.bandwidth()
    with step(bar, "shares of the peak", len(chosen) * len(shares.KERNELS)) as advance:
        for case in chosen:
            arm, found = Dynamics(case.robot), results.shares.setdefault(case.key, {})
            for name in shares.KERNELS:
                for columns in (False, True) if name == "inverse" else (False,):
                    found[name, columns] = shares.share(case, arm, name, columns, plan.share)
                advance()
    with step(bar, "chains", len(plan.chains) * plan.turns) as advance:
        for n in plan.chains:
            time_chain(n, plan, folder, results, advance)
    with step(bar, "fresh processes", len(chosen)) as advance:
        for case in chosen:
            results.first_calls[case.key] = first_call.measure(case.path, plan.processes)
            if case.key == "panda":
                results.modules = first_call.modules(case.path, 3 * plan.processes)
            advance()
    return results


def time_small(
    case: Case, plan: MeasurementPlan, results: Results, advance: Callable[[], None]
) -> None:
    """Calls with inputs beside the motion, and of few states, beside one of shape (n,)."""
    arm = Dynamics(case.robot)
    turns = MORE_TURNS * plan.turns
    results.beside[case.key] = best_times(
        calls_beside(case, arm), turns=turns, duration=plan.duration, advance=advance
    )
    calls = {0: Call(arm.inverse, (case.q, case.qd, case.qdd))}
    for size in (*SMALL, plan.batch):
        states = case.states(size)
        for _ in range(2):
            arm.inverse(*states)
        calls[size] = Call(arm.inverse, states, evaluations=size)
    named = {str(size): call for size, call in calls.items()}
    times = best_times(named, turns=turns, duration=plan.duration, advance=advance)
    results.small[case.key] = {int(size): {OURS: seconds} for size, seconds in times.items()}


def time_sizes(
    case: Case, plan: MeasurementPlan, results: Results, advance: Callable[[], None]
) -> None:
    """Batches of every size, as far as memory goes."""
    kernel, found = Dynamics(case.robot).kernel("inverse"), {}
    for size in plan.sizes:
        if 24 * size * case.robot.dof <= MOST_BYTES:
            peers = _present(results, case) if size <= MOST_STATES_OF_PEERS else set()
            calls = batch_calls(case, kernel, size, peers)
            kept = (*our_calls(case, kernel, 1), PIN_LOOP, PIN_1, PIN_2)
            found[size] = best_times(
                {name: calls[name] for name in kept if name in calls},
                turns=plan.turns // 2 + 1,
                duration=plan.duration,
            )
        advance()
    results.batch_sizes[case.key] = found


def time_calls(
    case: Case, plan: MeasurementPlan, results: Results, advance: Callable[[], None]
) -> None:
    """Return single calls of all packages on one robot."""
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
            calls, turns=plan.turns, duration=plan.duration, advance=advance
        )


def time_chain(
    n: int, plan: MeasurementPlan, folder: Path, results: Results, advance: Callable[[], None]
) -> None:
    """Inverse dynamics of a chain of n joints, and how long it takes to compile."""
    case = make_case(f"chain{n}", f"{n} joints", chain_urdf(n), folder)
    seconds: list[float] = []
    while not seconds or (len(seconds) < plan.processes and sum(seconds) < 1.0):
        arm, start = Dynamics(case.robot, cache=False), perf_counter()
        arm.inverse(case.q, case.qd, case.qdd)
        seconds.append(perf_counter() - start)
    results.chain_builds[n] = min(seconds)
    calls = {OURS: Call(arm.inverse, (case.q, case.qd, case.qdd))}
    for peer in _peers(case, results):
        if peer.name in CHAIN_PEERS:
            calls[peer.name] = peer.calls["inverse"]
    results.chains[n] = best_times(calls, turns=plan.turns, duration=plan.duration, advance=advance)


def _peers(case: Case, results: Results) -> Iterator[Contender]:
    for name, make in PEERS.items():
        try:
            yield make(case)
        except Exception as refusal:  # any error of a peer counts as its result
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
def _without_warnings() -> Iterator[None]:
    """Without those of peers about themselves, and of readers about URDFs."""
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        yield


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
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"where to write the report ({RECORDS.name})",
    )
    return parser.parse_args(arguments)
