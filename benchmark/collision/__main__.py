"""Measure the detection of collisions, and write the tables of benchmark/records/collision.md.

python -m benchmark.collision                    10,000 motions of a Panda and a UR5: minutes
python -m benchmark.collision --motions 200      a first impression; writes no page
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmark.collision.blow import blows
from benchmark.collision.motions import sensitivity
from benchmark.record import conditions
from robot_dynamics import Robot, read_urdf
from robot_dynamics.robot import find_robot

PAGE = Path(__file__).parents[1] / "records" / "collision.md"
BEGIN, END = "<!-- benchmark.collision -->\n", "<!-- end -->\n"

MOTIONS = 10_000

FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}


def robots() -> dict[str, tuple[Robot, str]]:
    """Robots by name, and the frame of their end effectors."""
    panda = read_urdf(find_robot("panda"))
    fingers = {name: 0.0 for name in FINGERS if name in panda.joint_names}
    return {
        "Panda": (panda.with_locked(fingers), "panda_link8"),
        "UR5": (read_urdf(find_robot("ur5")), "tool0"),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.collision", description=__doc__)
    parser.add_argument("--motions", type=int, default=MOTIONS, help="number per robot and model")
    options = parser.parse_args(arguments)
    console, began, sections = Console(), time.monotonic(), []
    for name, (robot, frame) in robots().items():
        for table in [*sensitivity(name, robot, frame, options.motions), blows(name, robot, frame)]:
            console.print(table.rich())
            sections.append("#" + table.markdown())
    took = time.monotonic() - began
    if options.motions < MOTIONS:
        return
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    tail = rest.split(END)[1]
    about = f"Measured in {took / 60.0:.0f} minutes on {conditions()}.\n"
    text = "\n\n".join([about.rstrip(), *sections]) + "\n"
    PAGE.write_text(f"{head}{BEGIN}{text}{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
