"""Items of [Renaud1987]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robot_dynamics.formulations import augmented_body, newton_euler
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.counts.augmented_body_count import (
    PRINTED,
    compare_renaud,
    compare_renaud_grouped,
    count_renaud,
)
from robot_dynamics.papers.items.item import EXACT, Item, Row, count_row, row
from robot_dynamics.papers.paper_arms import renaud_6r
from robot_dynamics.robot.denavit_hartenberg import TOOL, denavit_hartenberg
from robot_dynamics.robot.robot import Robot

PARAMETERS = (  # alpha of axis i - 1 in right angles, distance a, and r, with a2 and r4 as symbols
    (0, "0", "0"), (1, "0", "0"), (0, "a2", "0"), (1, "0", "r4"), (-1, "0", "0"), (1, "0", "0"),
)  # fmt: skip

STATE: tuple[Array, Array, Array] = (
    np.array([0.3, -0.6, 0.9, 0.4, -0.7, 1.1]),
    np.array([0.5, -0.4, 0.8, -1.0, 0.6, 1.2]),
    np.array([1.0, -0.5, 0.7, 0.9, -1.1, 0.4]),
)
"""Joint positions, velocities and accelerations at which torques are compared."""


def _lengths(robot: Robot) -> dict[str, float]:
    return {"0": 0.0, "a2": robot.joints[2].origin.translation[0],
            "r4": -robot.joints[3].origin.translation[1]}  # fmt: skip


def _parameters() -> Iterator[Row]:
    robot = renaud_6r()
    found, lengths = denavit_hartenberg(robot, TOOL, "modified"), _lengths(robot)
    for k, (alpha, a, r) in enumerate(PARAMETERS):
        ours = found.rows[k]
        name = f"alpha (deg), a = {a}, r = {r} (m), joint {k + 1}"
        yield row(name, (90.0 * alpha, lengths[a], lengths[r]),
                  (np.degrees(ours.alpha), ours.a, ours.d), EXACT)  # fmt: skip


def _augmented() -> Iterator[Row]:
    """The table's first moments X, Y, Z and moments A, B, C, from those of the links."""
    robot = renaud_6r()
    L = _lengths(robot)
    bodies = [link.inertia for link in robot.links]
    m = [body.mass for body in bodies]
    u = [np.array(body.first_moment) for body in bodies]
    k = [np.diag(body.second_moment).copy() for body in bodies]
    beyond = {i: sum(m[i:]) for i in range(7)}  # masses of augmented bodies
    u[2][0] += beyond[3] * L["a2"]
    k[2][1:] += beyond[3] * L["a2"] ** 2
    u[3][1] -= beyond[4] * L["r4"]
    k[3][[0, 2]] += beyond[4] * L["r4"] ** 2
    p = [np.zeros(3)] + [joint.origin.translation for joint in robot.joints]
    _, moments, inertias = augmented_body.augmented_bodies(robot, p)
    for i in range(1, 7):
        yield row(f"X, Y, Z, body {i} (kg m)", u[i], moments[i])
        yield row(f"A, B, C, body {i} (kg m^2)", k[i], np.diag(inertias[i]))


def _tensor_b() -> Iterator[Row]:
    """(2) and (4)."""
    omega, alpha, r = STATE[1][:3], STATE[2][:3], np.array([0.3, -0.2, 0.5])
    b = augmented_body.tensor_b(alpha, np.outer(omega, omega))
    by_hand = np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
    yield row("b r: acceleration of a point of the body (m/s^2)", by_hand, b @ r)


def _frames() -> Iterator[Row]:
    robot = renaud_6r()
    found, q = denavit_hartenberg(robot, TOOL, "modified"), STATE[0]
    for i in range(1, 7):
        alpha, c, s = found.rows[i - 1].alpha, np.cos(q[i - 1]), np.sin(q[i - 1])
        ca, sa = np.cos(alpha), np.sin(alpha)
        printed = [[c, -s, 0.0], [s * ca, c * ca, -sa], [s * sa, c * sa, ca]]
        yield row(f"R of frames {i - 1} and {i}", printed, found.transform(i, q[i - 1]).rotation)


def _steps() -> Iterator[Row]:
    ours = count_renaud()
    for step, (m, a) in PRINTED.items():
        shared = (-2, 0) if step == "3" else (0, 0)
        reasons = ("see the total",) if step == "3" else ()
        counted = ours[step].multiplications, ours[step].additions
        yield row(f"step {step} (mult, add)", (m, a), counted, 0.0, shared, reasons)
    yield count_row("total", compare_renaud())


def _grouped() -> Iterator[Row]:
    yield count_row("total with y_5 - z_6 as one parameter", compare_renaud_grouped())
    robot, links = renaud_6r(), list(renaud_6r().links)
    for i, axis in ((5, 1), (6, 2)):
        body = links[i].inertia
        more = replace(body, first_moment=body.first_moment + 0.7 * np.eye(3)[axis])
        links[i] = replace(links[i], inertia=more)
    moved = replace(robot, links=tuple(links))
    before, after = (_torques(arm) for arm in (robot, moved))
    yield row("torques with 0.7 kg m added to y_5 and to z_6 (N m)", before, after)


def _torques(robot: Robot) -> Array:
    return augmented_body.inverse_dynamics(robot, *STATE, {})


def _example() -> Iterator[Row]:
    robot = renaud_6r()
    classical = newton_euler.inverse_dynamics(robot, *STATE, {})
    yield row("torques, by the classical calculation (N m)", classical, _torques(robot))


CHOSEN = "The paper has symbols in place of numbers: those of robot renaud_6r are chosen."

ITEMS = (
    Item("figure-1", "augmented bodies (figures 1 to 4)", "(0a), (0b), table of parameters",
         "formulations.augmented_body.augmented_bodies", _augmented, CHOSEN),
    Item("figure-5", "frames", "(1a), (6a)", "robot.denavit_hartenberg.Table", _frames),
    Item("table-1", "parameters of the 6R arm", "example, figure 6",
         "papers.paper_arms.renaud_6r", _parameters, CHOSEN),
    Item("steps-2-and-4", "products of angular velocities, tensor b", "(2), (4)",
         "formulations.augmented_body.tensor_b", _tensor_b),
    Item("example", "torques of the 6R arm", "(1a) to (10)",
         "formulations.augmented_body.inverse_dynamics", _example, CHOSEN),
    Item("table-2", "operations of every step", "table of steps",
         "papers.counts.augmented_body_count.compare_renaud", _steps,
         "Steps 0, 5, 8 and 10 need nothing."),
    Item("grouped", "y_5 - z_6 as one parameter", "remark after the table of steps",
         "papers.counts.augmented_body_count.compare_renaud_grouped", _grouped),
)  # fmt: skip
