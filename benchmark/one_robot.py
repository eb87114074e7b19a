"""Time our calls beside those of Pinocchio and MuJoCo, where installed, on one robot.

    python -m benchmark.one_robot                  a Panda; planar_2r without example-robot-data
    python -m benchmark.one_robot arm.urdf --json  for a program

Contenders take turns in the same run, and the best turn counts; every peer must agree with us
before it is timed. Ratios say how much longer a peer takes. A state is one of a batch in one
thread: by a loop of the peer's own where it offers one, else by a loop in Python. Meshes, friction
and the followers of mimic joints are left out for all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from timeit import Timer
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmark.peers import PEERS, States, Work, bare_urdf
from robot_dynamics.cli.arguments import load_robot, text_of_robot
from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.robot import Robot, read_urdf
from robot_dynamics.robot.catalogue import known_robots

QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "inverse": ("q", "qd", "qdd"),
    "forward": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "inverse_derivatives": ("q", "qd", "qdd"),
}
"""Methods of `Dynamics` that are timed, with what they take."""

BATCH, TURNS, TURN_S = 1000, 7, 0.02

AGREE = 1e-6
"""Relative difference from which on a peer computes something else: round-off is below 1e-9."""

OURS = "robot_dynamics"


class Time(NamedTuple):
    """One quantity by one package, s: one state in a call, and one of a batch."""

    call: float
    state: float


def main(given: Sequence[str] | None = None) -> int:
    """Print a row for each quantity, or one JSON object.

    Returns:
        Exit status: 1 after an error, which one line on stderr reports.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.one_robot",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "robot", nargs="?", default=None, help="name or URDF path (default: panda, or planar_2r)"
    )
    add_json(parser)
    try:
        return _timed(parser.parse_args(given))
    except RobotDynamicsError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1


def _timed(arguments: argparse.Namespace) -> int:
    name = arguments.robot or ("panda" if "panda" in known_robots() else "planar_2r")
    load_robot(name)  # says what is wrong with the file, by its lines
    text = bare_urdf(text_of_robot(name))
    robot = read_urdf(text)
    states = States(*np.random.default_rng(0).uniform(-1.0, 1.0, (4, BATCH, robot.dof)))
    show = Printer()
    with Console(stderr=True).status("compiling") as status:
        contenders = {OURS: ours(robot, states)}
        others, left_out = peers(text, robot, states, contenders[OURS])
        contenders |= others
        times: dict[str, dict[str, Time]] = {}
        for quantity in QUANTITIES:
            status.update(f"timing {quantity}")
            works = {who: work[quantity] for who, work in contenders.items() if quantity in work}
            times[quantity] = measured(works)
    if arguments.json:
        print_json({"robot": robot.name, "seconds": times, "left_out": left_out})
        return 0
    show(table_of(robot, times, list(contenders)))
    for who, reason in left_out.items():
        show(f"{who}: left out, {reason}")
    return 0


def ours(robot: Robot, states: States) -> dict[str, Work]:
    """The methods of `Dynamics`, and their kernels on a batch."""
    dynamics, work = Dynamics(robot), {}
    for name, taken in QUANTITIES.items():
        given = [getattr(states, field) for field in taken]
        single = partial(getattr(dynamics, name), *(x[0].copy() for x in given))
        single()  # from its second call on, a method is the compiled entry
        single = partial(getattr(dynamics, name), *single.args)
        batch = partial(dynamics.kernel(name), *given, threads=1)
        work[name] = Work(single, batch, partial(_joined, single))
    return work


def _joined(call: Callable[[], Array | tuple[Array, ...]]) -> Array:
    found = call()
    return np.hstack(found) if isinstance(found, tuple) else found


def peers(
    text: str, robot: Robot, states: States, reference: Mapping[str, Work]
) -> tuple[dict[str, dict[str, Work]], dict[str, str]]:
    """The peers that compute what we compute, and why others are left out."""
    found, left_out = {}, {}
    for name, make in PEERS.items():
        try:
            work = make(text, robot, states)
        except ModuleNotFoundError:
            left_out[name] = f"not installed (pip install {name})"
        except (ValueError, RuntimeError) as error:  # what their readers raise
            left_out[name] = f"it does not read this robot ({str(error).strip().splitlines()[0]})"
        else:
            wrong = [q for q in work if not agree(reference[q].result(), work[q].result())]
            if wrong:
                left_out[name] = f"its {', '.join(wrong)} differ by more than {AGREE:g}"
            else:
                found[name] = work
    return found, left_out


def agree(expected: Array, found: Array) -> bool:
    """Return whether two results are the same but for round-off."""
    scale = float(np.abs(expected).max()) or 1.0
    return expected.shape == found.shape and bool(np.abs(found - expected).max() <= AGREE * scale)


def measured(works: Mapping[str, Work]) -> dict[str, Time]:
    """Time one quantity by all who offer it, in turns."""
    calls = best_of_turns({who: work.single for who, work in works.items()})
    batches = best_of_turns({who: work.batch for who, work in works.items()})
    return {who: Time(calls[who], batches[who] / BATCH) for who in works}


def best_of_turns(calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds per call, by name.

    On a shared machine the clock of one must not see another moment than that of its peer.
    """
    timers = {who: Timer(call) for who, call in calls.items()}
    counts = {}
    for who, timer in timers.items():
        timer.timeit(1)  # warms caches up
        counts[who] = max(1, int(TURN_S / max(timer.timeit(10) / 10, 1e-9)))
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(TURNS):
        for who, timer in timers.items():
            best[who] = min(best[who], timer.timeit(counts[who]) / counts[who])
    return best


def table_of(robot: Robot, times: Mapping[str, Mapping[str, Time]], names: list[str]) -> TextTable:
    """The times and ratios for the terminal."""
    others = [name for name in names if name != OURS]
    table = TextTable(
        f"{robot.name}, {robot.dof} joints: our time, and how many times as long peers take",
        ["quantity"],
        ["one state, µs", *others, f"of {BATCH}, ns per state", *others],
    )
    for quantity, row in times.items():
        own = row[OURS]
        table.add_row(
            quantity,
            f"{1e6 * own.call:.2f}",
            *(f"{row[who].call / own.call:.2f} x" if who in row else "-" for who in others),
            f"{1e9 * own.state:.0f}",
            *(f"{row[who].state / own.state:.2f} x" if who in row else "-" for who in others),
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
