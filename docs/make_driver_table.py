"""Write the table of drivers into docs/drivers.md.

Run it as `python docs/make_driver_table.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from robot_dynamics.export.drivers import DRIVERS

PAGE = Path(__file__).with_name("drivers.md")

HEAD = "driver", "arms", "rate, Hz", "commands", "added by the robot", "in the drives", "namespace"


def table() -> str:
    """Return a row for every driver."""
    rows = [HEAD, ("---",) * len(HEAD)]
    for one in DRIVERS.values():
        commands = ", ".join(one.interfaces.value) + (", by a bridge" if one.bridge else "")
        space = "" if one.namespace is None else one.namespace.value
        closes = "position and velocity feedback" if one.closes_loop else ""
        adds = ", ".join(one.adds.value)
        rows.append((one.name, one.arms, f"{one.rate.value:g}", commands, adds, closes, space))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_table(page: str) -> str:
    """Return a page with the table between its marks."""
    marks = r"(<!-- drivers: starts -->\n).*?(<!-- drivers: ends -->)"
    return re.sub(marks, lambda found: f"{found[1]}{table()}\n{found[2]}", page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
