"""Write the results of tracking, timing or scenarios into benchmark/records/ros2-control.md.

python -m benchmark.ros2_control.page --tracking tracking.json --timing timing.json

Tables of results that are not given stay.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmark.record import RECORDS
from benchmark.table import Table

PAGE = RECORDS / "ros2-control.md"

WIRINGS = {
    "a": "joint_trajectory_controller, PD on effort",
    "ai": "joint_trajectory_controller, PID on effort",
    "b": "joint_trajectory_controller, PD, efforts in the trajectory",
    "c": "Python nodes, forward_command_controller",
    "d": "model controller behind joint_trajectory_controller",
    "di": "the same, masses and friction identified",
    "dk": "the same, friction known",
}
CONTROLLERS = {
    "jtc": "joint_trajectory_controller, PID on effort",
    "jtc front": "joint_trajectory_controller in front of a chained controller",
    "rnea": "PD and pinocchio::rnea, chained",
    "model": "model controller, chained",
    "task": "the same in the mode cartesian_impedance",
}

HEAD = """# Benchmark in ros2_control

Real controller_manager and stock controllers of ROS 2 Jazzy. The hardware component integrates the
compiled forward dynamics of a robot that differs from its model: all masses and inertias are 10 %
larger, and every joint has viscous and Coulomb friction, each of 1 % of its effort limit, at
1 rad/s. Controllers know neither, apart from the last two rows on tracking: the identified model
comes from a recording of another motion, by `robot-dynamics identify`. The controllers of the table
of durations know the friction.

`python -m benchmark.ros2_control`, `python -m benchmark.ros2_control.timing` and
`python -m benchmark.ros2_control.scenarios` measure, and write their results with `--out`.
`python -m benchmark.ros2_control.page` writes this page from them.
"""


def tracking(found: dict[str, Any]) -> list[Table]:
    """Return the tables of tracking errors, one for each robot."""
    tables = []
    for robot, cases in found["robots"].items():
        rows = []
        for case, result in cases.items():
            joints = " ".join(f"{1e3 * x:.2f}" for x in result["rms"])
            ratio = cases["a"]["overall"] / result["overall"]
            cpu = sum(result["shares"].values())
            rows.append(
                [
                    WIRINGS[case],
                    joints,
                    f"{1e3 * result['overall']:.3g}",
                    f"{ratio:.0f}" if ratio >= 100.0 else f"{ratio:.3g}",
                    f"{1e6 * result['update'][0]:.1f}",
                    f"{cpu:.2f}",
                ]
            )
        about = (
            f"RMS of the position error of every joint and overall, mrad, at {found['rate']:g} Hz, "
            "with the default gains of that rate; how many times less that is than by the first "
            "row; median time from states to commands in a cycle of the manager, of all its "
            f"controllers; processors in use. Measured on {found['machine']}, load average "
            f"{found['load average']:.1f}."
        ) + found.get("remarks", {}).get(robot, "")
        header = ["wiring", "joints", "overall", "times less", "cycle, us", "CPU"]
        tables.append(Table(f"Tracking, {robot}", about, header, rows))
    return tables


def timing(found: dict[str, Any]) -> list[Table]:
    """Return the tables of the duration of update()."""
    return [
        Table(
            f"Duration of update(), {robot}",
            "One controller, called without controller_manager. Calls of malloc, locks, and cycles "
            f"with system calls, in 100,000 cycles. Measured on {found['machine']}.",
            ["controller", "median, us", "99.9 %, us", "malloc", "locks", "system calls"],
            [
                [
                    CONTROLLERS[name],
                    *(f"{result[key]:.2f}" for key in ("median_us", "p999_us")),
                    *(f"{result[k]}" for k in ("allocations", "locks", "cycles_with_system_calls")),
                ]
                for name, result in cases.items()
            ],
        )
        for robot, cases in found.items()
        if robot != "machine"
    ]


def scenarios(found: dict[str, Any]) -> list[Table]:
    """Return the table of events."""
    rows = [
        [
            f"{x['scenario']}, {x['robot']}, {x['rate']:g} Hz",
            *(f"{x[key]:.3g}" for key in ("step", "peak", "final", "ripple")),
        ]
        for x in found["results"]
        if "step" in x
    ]
    about = (
        "The model controller behind joint_trajectory_controller, default parameters. From the "
        "event on: largest change of an effort in one cycle, N m; peak speed; speed after some "
        "seconds; RMS of the speed in the last second, rad/s. The plant keeps the last effort "
        f"where no controller commands. Measured on {found['machine']}."
    )
    header = ["event", "step", "peak speed", "final speed", "ripple"]
    return [Table("Events", about, header, rows)]


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.ros2_control.page")
    writers = {"tracking": tracking, "timing": timing, "scenarios": scenarios}
    for name in writers:
        parser.add_argument(f"--{name}", type=Path, help="JSON file of its results")
    given = vars(parser.parse_args())
    _, *old = PAGE.read_text().split("\n## ")
    sections = {text.partition("\n")[0]: f"## {text.rstrip()}\n" for text in old}
    for name, write in writers.items():
        if given[name] is not None:
            for table in write(json.loads(given[name].read_text())):
                sections[table.title] = f"{table.markdown().rstrip()}\n"
    PAGE.write_text("\n".join([HEAD, *sections.values()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
