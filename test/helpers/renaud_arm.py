"""The arm of Renaud's example with the numbers of test/data/renaud_6r.json."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics.papers.counting.augmented_body_count import renaud_arm
from robot_dynamics.robot.link import Link
from robot_dynamics.spatial.inertia import Inertia

RENAUD = json.loads((Path(__file__).parents[1] / "data" / "renaud_6r.json").read_text())


def renaud_6r():
    """The arm with its bodies as they are, not augmented."""
    lengths = np.array([RENAUD["a2"], RENAUD["r4"], RENAUD["g"]])
    geometry = renaud_arm(lengths, np.zeros(6), np.zeros((6, 3)))
    bodies = [
        Link(link.name, Inertia(m, np.array(u, float), np.diag(k).astype(float)))
        for link, m, u, k in zip(
            geometry.links[1:],
            RENAUD["mass"],
            RENAUD["first_moment"],
            RENAUD["inertia_diagonal"],
            strict=True,
        )
    ]
    return replace(geometry, links=(geometry.links[0], *bodies))
