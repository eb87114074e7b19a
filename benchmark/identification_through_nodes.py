"""Identify every robot at hand through the nodes, and write their record.

    python -m benchmark.identification_through_nodes                all robots of up to 12 joints
    python -m benchmark.identification_through_nodes ur5 panda      some of them, and the page again

Each robot has masses that differ by up to 40 % from its URDF, friction that the URDF does not know,
noise, encoders with steps and stamps that are late. Its nodes follow an excitation and then another
motion while recorder_node writes; the first is identified, the second judges. As all is known of a
simulated robot, every number can be compared with the true one.
What was recorded and measured is kept in out/identification: a run that was stopped goes on, and
`--judge` identifies what was recorded anew.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from benchmark.identification_page import page
from benchmark.identified_robot import DEVIATIONS, PATIENCE_S, RobotResult, measured
from benchmark.progress_bar import progress_bar
from benchmark.record import RECORDS
from robot_dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot, known_robots, read_urdf
from robot_dynamics.simulation import check_physical

ROOT = Path(__file__).parents[1]
PAGE = RECORDS / "identification-in-simulation.md"
FOLDER = ROOT / "out" / "identification"

MOST_JOINTS = 12


def robots() -> dict[str, Robot]:
    """Robots of different mechanics by name, those of few joints first."""
    found: dict[tuple[float, ...], tuple[str, Robot]] = {}
    for name, path in sorted(known_robots().items(), key=lambda item: (len(item[0]), item[0])):
        try:
            robot = read_urdf(path)
            if not 0 < robot.dof <= MOST_JOINTS:
                continue
            check_physical(robot)  # refuses what cannot be simulated
            values = [round(value, 9) for value in base_values(robot)]
            found.setdefault((robot.dof, *values), (name, robot))
        except RobotDynamicsError:  # no dynamics, which other programs say
            continue
    return dict(sorted(found.values(), key=lambda item: (item[1].dof, item[0])))


def base_values(robot: Robot) -> list[float]:
    """Base parameters of a robot."""
    return [parameter.value for parameter in Dynamics(robot).base_parameters]


def of_each(names: Sequence[str], arguments: argparse.Namespace, console: Console) -> None:
    """Measure robots, each in a process of its own, and say what becomes of them."""
    with ThreadPoolExecutor(arguments.at_once) as pool, progress_bar(console) as bar:
        tasks = {
            pool.submit(_in_a_process, name, k, arguments): name for k, name in enumerate(names)
        }
        line = bar.add_task("robots", total=len(tasks))
        for task in as_completed(tasks):
            bar.advance(line)
            bar.refresh()
            console.print(f"{tasks[task]}: {task.result()}")


def _in_a_process(name: str, place: int, arguments: argparse.Namespace) -> str:
    """Measure one robot; one line on what became of it."""
    options = ["--one", name, "--domain", str(1 + (os.getpid() + place) % 100)]
    options += ["--duration", str(arguments.duration), "--rate", str(arguments.rate)]
    module = [sys.executable, "-m", "benchmark.identification_through_nodes"]
    try:
        done = subprocess.run(
            [*module, *options], cwd=ROOT, capture_output=True, text=True, timeout=3.0 * PATIENCE_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "takes too long"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    line = said[-1] if said else f"ended with {done.returncode}"
    _result(name).with_name("why.txt").write_text(line if done.returncode else "")
    return line


def _result(name: str) -> Path:
    return FOLDER / name / "measured.json"


def _one(arguments: argparse.Namespace) -> int:
    """Measure one robot in this process."""
    logging.disable(logging.WARNING)  # of URDFs
    path = _result(arguments.one)
    found = measured(
        arguments.one, arguments.duration, arguments.rate, arguments.domain, path.parent
    )
    path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    print(
        f"{found.beyond} of {len(found.deviations)} beyond {DEVIATIONS:g} deviations, residual "
        f"{max(found.noise):.2f} of the noise, {found.verdict}"
    )
    return 0


def _why(name: str) -> str:
    """A robot that was not measured, and why if it was tried."""
    path = _result(name).with_name("why.txt")
    why = path.read_text().partition(": ")[2] if path.is_file() else ""
    return f"{name} ({why})" if why else name


def main() -> int:
    """Measure what has not been measured yet, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.identification_through_nodes")
    parser.add_argument("robots", nargs="*", help="(default: all)")
    parser.add_argument("--duration", type=float, default=30.0, help="of the excitation, s (30)")
    parser.add_argument("--rate", type=float, default=500.0, help="of the nodes, Hz (500)")
    parser.add_argument("--at-once", type=int, default=1, help="robots side by side (1)")
    parser.add_argument("--anew", action="store_true", help="forget what was measured")
    parser.add_argument("--judge", action="store_true", help="identify what was recorded anew")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--domain", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return _one(arguments)
    logging.disable(logging.WARNING)
    known = list(robots())
    unknown = set(arguments.robots) - set(known)
    if unknown:
        parser.error(f"not among {', '.join(known)}: {', '.join(sorted(unknown))}")
    wanted = [name for name in known if not arguments.robots or name in arguments.robots]
    for name in wanted if arguments.anew or arguments.judge else ():
        _result(name).unlink(missing_ok=True)
        if arguments.anew:
            _result(name).with_name("ends.txt").unlink(missing_ok=True)
    console = Console()
    left = [name for name in wanted if not _result(name).is_file()]
    of_each(left, arguments, console)
    found = [
        RobotResult(**json.loads(_result(name).read_text(encoding="utf-8")))
        for name in known
        if _result(name).is_file()
    ]
    left = [_why(name) for name in known if not _result(name).is_file()]
    if found:
        text = page(found, left, arguments.duration, arguments.rate)
        PAGE.write_text(text, encoding="utf-8")
        console.print(f"wrote {PAGE}")
    return 0 if found and not left else 1


if __name__ == "__main__":
    sys.exit(main())
