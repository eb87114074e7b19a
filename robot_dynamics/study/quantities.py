"""Quantities that may vary from run to run: their dimensions and effect on batch members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias
from robot_dynamics.spatial import Inertia, inertial_parameters

Parameters = dict[str, Array]


@dataclass(frozen=True)
class Setting:
    """Parameters of N batch members of one structure, which quantities change.

    Args:
        inertias: Base parameters of the structure.
        parameters: Parameters of the members, shape (N, size) or (size,) each.
        step: Step of the plant, s.
        frame: Frame that carries the payload.
    """

    inertias: SymbolicInertias
    parameters: Parameters
    step: float
    frame: str

    def rows(self, name: str, count: int) -> Array:
        """Return a parameter as a writable array with one row per run."""
        rows = np.atleast_2d(self.parameters[name])
        self.parameters[name] = np.array(np.broadcast_to(rows, (count, rows.shape[1])))
        return self.parameters[name]


@dataclass(frozen=True)
class Quantity:
    """A quantity that may vary.

    Args:
        meaning: Description in one line.
        unit: SI unit of its values.
        symmetric: Whether one number x means the range from -x to x.
        least: Smallest valid value.
        parts: Names of its dimensions: joints or links, axes, or one without a name.
        apply: Changes the members by values, shape (N, dimensions).
    """

    meaning: str
    unit: str
    symmetric: bool
    least: float
    parts: Callable[[Robot], list[str]]
    apply: Callable[[Setting, Array], None]

    def columns(self, name: str, robot: Robot) -> list[str]:
        """Return the names of its dimensions in a table, such as `mass_error[hand]`."""
        return [f"{name}[{part}]" if part else name for part in self.parts(robot)]


def bodies(robot: Robot) -> list[str]:
    """Return the links that move and have mass, in the order of the robot."""
    moved = {robot.links[0].name: False}
    for joint in robot.joints:
        moved[joint.child] = joint.moves or moved[joint.parent]
    return [x.name for x in robot.links if moved[x.name] and x.inertia.mass > 0.0]


def _mass(setting: Setting, values: Array) -> None:
    """Scale mass and inertia of every link by the same factor."""
    inertias, links = setting.inertias, setting.inertias.robot.links
    names = bodies(inertias.robot)
    per_link = np.zeros((10 * len(links), len(names)))
    for k, link in enumerate(links):
        if link.name in names:
            own = inertial_parameters(link.inertia)
            per_link[10 * k : 10 * k + 10, names.index(link.name)] = own
    rows = setting.rows("body", len(values))
    rows += values @ (inertias.matrix @ per_link).T


def _com(setting: Setting, values: Array) -> None:
    """Move the mass centres and keep the inertias about them: second order in displacement."""
    inertias = setting.inertias
    names, at = bodies(inertias.robot), 0
    rows = setting.rows("body", len(values))
    for k, link in enumerate(inertias.robot.links):
        if link.name not in names:
            continue
        mass, com, about_com = link.inertia.mass, link.inertia.com, link.inertia.about_com
        bodies_moved = (Inertia.from_com(mass, com + d, about_com) for d in values[:, at : at + 3])
        moved = np.array([inertial_parameters(body) for body in bodies_moved])
        change = moved - inertial_parameters(link.inertia)
        rows += change @ inertias.matrix[:, 10 * k : 10 * k + 10].T
        at += 3


def _payload(setting: Setting, values: Array) -> None:
    """Add a point mass at the origin of the frame."""
    at = setting.inertias.of_body_at(setting.frame)
    setting.rows("body", len(values))[:] += values * at[:, 0]


def _friction(setting: Setting, values: Array) -> None:
    """Scale all friction terms of every joint by the same factor."""
    for name in ("viscous", "coulomb", "stiction", "load", "offset"):
        if name in setting.parameters:
            setting.rows(name, len(values))[:] *= 1.0 + values


def _steps_of(name: str) -> Callable[[Setting, Array], None]:
    def apply(setting: Setting, values: Array) -> None:
        setting.rows(name, len(values))[:] = np.rint(values / setting.step)

    return apply


def _rate(setting: Setting, values: Array) -> None:
    setting.rows("cycle_steps", len(values))[:] = np.maximum(
        np.rint(1.0 / (values * setting.step)), 1.0
    )


def _noise_of(half: int) -> Callable[[Setting, Array], None]:
    def apply(setting: Setting, values: Array) -> None:
        rows = setting.rows("deviation", len(values))
        n = rows.shape[1] // 2
        rows[:, half * n : (half + 1) * n] = values

    return apply


def _resolution(setting: Setting, values: Array) -> None:
    """Quantise measured positions; velocities are not quantised."""
    rows = setting.rows("resolution", len(values))
    rows[:, : rows.shape[1] // 2] = values


def _tilt(setting: Setting, values: Array) -> None:
    """Rotate the gravity about the x and then the y axis of the root link."""
    x, y = values.T
    rows = setting.rows("gravity", len(values))
    gx, gy, gz = rows.T.copy()
    gy, gz = np.cos(x) * gy - np.sin(x) * gz, np.sin(x) * gy + np.cos(x) * gz
    gx, gz = np.cos(y) * gx + np.sin(y) * gz, np.cos(y) * gz - np.sin(y) * gx
    rows[:] = np.stack([gx, gy, gz], axis=1)


def _gain(setting: Setting, values: Array) -> None:
    """Change the bandwidth: kd scales with it, kp with its square, ki with its cube.

    The stiffness of the end effector is a square of its root, and scales with that of the
    bandwidth.
    """
    count, factor = len(values), 1.0 + values
    setting.rows("law_kp", count)[:] *= factor**2
    setting.rows("law_kd", count)[:] *= factor
    setting.rows("law_ki", count)[:] *= factor**3
    setting.rows("law_bandwidth", count)[:] *= factor
    for name in ("law_task_root", "law_task_damping"):
        setting.rows(name, count)[:] *= factor


def _stiffness(setting: Setting, values: Array) -> None:
    """Scale the stiffness of every elastic joint."""
    setting.rows("stiffness", len(values))[:] *= 1.0 + values


def _spring_damping(setting: Setting, values: Array) -> None:
    """Scale the damping of every elastic joint."""
    setting.rows("spring_damping", len(values))[:] *= 1.0 + values


def elastic_joints(robot: Robot) -> list[str]:
    """Return the names of the elastic joints."""
    return [robot.joint_names[i] for i in robot.elastic_joints]


def _one(_: Robot) -> list[str]:
    return [""]


def _axes(robot: Robot) -> list[str]:
    return [f"{link}.{axis}" for link in bodies(robot) for axis in "xyz"]


QUANTITIES: Mapping[str, Quantity] = {
    "mass_error": Quantity("mass of every link, relative", "1", True, -1.0, bodies, _mass),
    "com_error": Quantity("mass centre of every link", "m", True, -np.inf, _axes, _com),
    "payload": Quantity("point mass at the tip", "kg", False, 0.0, _one, _payload),
    "friction_error": Quantity(
        "friction of every joint, relative",
        "1",
        True,
        -1.0,
        lambda robot: list(robot.joint_names),
        _friction,
    ),
    "stiffness_error": Quantity(
        "stiffness of every elastic joint, relative", "1", True, -1.0, elastic_joints, _stiffness
    ),
    "spring_damping_error": Quantity(
        "damping of every elastic joint, relative", "1", True, -1.0, elastic_joints, _spring_damping
    ),
    "delay": Quantity(
        "age of a state when the law uses it", "s", False, 0.0, _one, _steps_of("sensor_delay")
    ),
    "command_delay": Quantity(
        "time until a command acts", "s", False, 0.0, _one, _steps_of("command_delay")
    ),
    "noise": Quantity(
        "standard deviation of measured positions", "rad or m", False, 0.0, _one, _noise_of(0)
    ),
    "velocity_noise": Quantity(
        "standard deviation of measured velocities", "rad/s or m/s", False, 0.0, _one, _noise_of(1)
    ),
    "resolution": Quantity("step of measured positions", "rad or m", False, 0.0, _one, _resolution),
    "tilt": Quantity(
        "tilt of the base about x and y", "rad", True, -np.inf, lambda _: ["x", "y"], _tilt
    ),
    "rate": Quantity("control rate", "Hz", False, 1e-3, _one, _rate),
    "gain_error": Quantity("bandwidth of feedback, relative", "1", True, -1.0, _one, _gain),
}
"""Every quantity by name."""


def check_values(name: str, columns: list[str], values: Array) -> None:
    """Refuse invalid values, such as a mass below zero.

    Raises:
        ArgumentError: Names the run and the value.
    """
    low = QUANTITIES[name].least
    strict = name in ("mass_error", "stiffness_error", "rate")
    bad = (values <= low) if strict else (values < low)
    if bad.any():
        run, k = (int(x) for x in np.argwhere(bad)[0])
        negative = {"mass_error": "a negative mass", "stiffness_error": "no stiffness"}
        what = negative.get(name, f"less than {low:g}")
        raise ArgumentError(
            f"{name}: the distribution reaches {values[run, k]:.4g} for '{columns[k]}' in run "
            f"{run}, {what}; narrow it, for example to A..B"
        )
