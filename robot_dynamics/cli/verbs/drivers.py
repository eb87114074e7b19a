"""List the drivers of arms that are known, and what their public sources say.

    robot-dynamics drivers
    robot-dynamics drivers openarm          # each fact with its source, and what to find out

`robot-dynamics export config ROBOT --driver NAME` and `bringup driver:=NAME` use these facts. The
profiles were tested against the interfaces of the drivers in simulation, and not on the arms.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from robot_dynamics.cli.output import Printer, add_json, print_json
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.export.drivers import DRIVERS, driver_named
from robot_dynamics.foundation.text_tables import TextTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("name", nargs="?", help="driver whose facts are printed (default: all)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the drivers, or the facts of one."""
    if arguments.json:
        chosen = DRIVERS.values() if arguments.name is None else [driver_named(arguments.name)]
        print_json({one.name: _facts(one) for one in chosen})
    elif arguments.name is None:
        _print_all()
    else:
        _print_one(driver_named(arguments.name))
    return 0


def _print_all() -> None:
    columns = "driver", "arms", "commands", "added by the robot", "feedback in the drives"
    table = TextTable(None, columns, ["rate Hz"])
    for one in DRIVERS.values():
        table.add_row(
            one.name,
            one.arms,
            ", ".join(one.interfaces.value) + (" (bridge)" if one.bridge else ""),
            ", ".join(one.adds.value),
            "yes" if one.closes_loop else "",
            f"{one.rate.value:g}",
        )
    Printer()(table, "`robot-dynamics drivers NAME` prints facts, sources and open questions")


def _print_one(driver: Driver) -> None:
    show = Printer()
    show(f"{driver.name}: {driver.arms}")
    for name, fact in driver.facts:
        show(f"{name.replace('_', ' ')}: {_text(fact.value)}", f"  by {driver.source(fact)}")
        if fact.question:
            show(f"  to find out: {fact.question}")


def _facts(driver: Driver) -> dict[str, Any]:
    """Return the facts of a driver for programs."""
    rows = [
        {"fact": name, **asdict(fact), "source": driver.source(fact)} for name, fact in driver.facts
    ]
    about = {"plugins": driver.plugins, "bridge": driver.bridge}
    return {"arms": driver.arms, **about, "facts": rows}


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_text, value)) or "nothing"
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"
