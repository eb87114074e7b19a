"""Equations with symbolic parameters: masses, lengths and moments of a robot as symbols.

The symbolic parameters are one more input of the equations, `parameters`. What is zero in the
robot stays zero, so the equations hold for robots of its kind and not for any robot.

There are two sets: "links" has mass m, mass centre lc, moments I about it and length l of
every link, and g, as textbooks do; "base" has the base parameters, the fewest numbers that
efforts depend on, in link frames with z on the joints, and leaves geometry as numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms.base_parameters import base_columns
from robot_dynamics.compiler.graph.operations import INPUT
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program, operation_count, trace
from robot_dynamics.dynamics.kernels import equations_of
from robot_dynamics.dynamics.variant import MOTION_ONLY, Variant
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.formulations import DEFAULT_FORMULATION, InverseDynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.reduction.augmented_body_columns import inverse_dynamics as by_columns
from robot_dynamics.robot.joint_frames import joint_frames, snapped
from robot_dynamics.robot.kinematic_tree import Frame, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed, outward_bodies
from robot_dynamics.spatial import PARAMETERS, Inertia, Pose, body_with

ROUND_OFF = 1e-11
"""A component below this part of the largest one is zero: it comes from turning frames."""

AXES = "xyz"


@dataclass(frozen=True)
class SymbolicParameter:
    """A symbol and its value in the robot at hand.

    Args:
        symbol: m, lc, I, l, g; or h, m, I of a base parameter.
        axes: Components that it stands for, such as "xx"; empty where a link has one of the symbol.
        number: Of the link, counted from the base, 0; empty for g.
        value: Value, SI units.
    """

    symbol: str
    axes: str
    number: str
    value: float

    @property
    def unit(self) -> str:
        """Unit of the value."""
        units = {"m": "kg", "I": "kg m^2", "h": "kg m", "g": "m/s^2"}
        return units.get(self.symbol, "m")

    @property
    def text(self) -> str:
        """Name in plain text and in code: m1, Ixx1."""
        return self.symbol + self.axes + self.number

    @property
    def latex(self) -> str:
        """Name in LaTeX: m_1, l_{c1}, I_{xx,1}."""
        symbol, under = self.symbol[0], self.symbol[1:] + self.axes
        subscript = under + ("," if self.axes else "") + self.number
        braced = subscript if len(subscript) == 1 else f"{{{subscript}}}"
        return f"{symbol}_{braced}" if subscript else symbol


@dataclass(frozen=True, eq=False)
class SymbolicProgram:
    """Equations with symbolic parameters.

    Args:
        program: The equations; the last input is `parameters`, unless they depend on none.
        parameters: Entries of the input `parameters`, in order.
    """

    program: Program
    parameters: tuple[SymbolicParameter, ...]

    @property
    def values(self) -> Array:
        """The parameters of the robot at hand."""
        return np.array([parameter.value for parameter in self.parameters])

    def symbols(self, latex: bool = False) -> dict[str, list[str]]:
        """Symbols of the parameters, for `text_equations` and `latex_equations`."""
        names = [x.latex if latex else x.text for x in self.parameters]
        return {"parameters": names} if names else {}


_Put = Callable[[str, str, str, float], Any]
"""Return what stands for a number, of symbol, axes, number of the link and value; zero stays
zero."""


def symbolic_program(
    robot: Robot,
    name: str = "inverse",
    parameters: str = "links",
    formulation: str | InverseDynamics = DEFAULT_FORMULATION,
    variant: Variant = MOTION_ONLY,
) -> SymbolicProgram:
    """Simplify the equations of a kernel with symbols in place of the robot's numbers.

    Args:
        robot: Any robot.
        name: One of `robot_dynamics.dynamics.kernels.KERNELS`, but not "regressor".
        parameters: Set of symbolic parameters, "links" or "base".
        formulation: One of `FORMULATIONS`; those that need mass centres divide by masses.
        variant: Inputs of the kernel beside the motion.

    Raises:
        UnknownNameError: If there is no such kernel, set, formulation or frame.
        ArgumentError: If the kernel is the regressor.
    """
    home = "robot_dynamics.dynamics.symbolic_parameters"
    check_known("set of symbolic parameters", parameters, home, PARAMETER_SETS)
    if name == "regressor":
        raise ArgumentError("the regressor has no symbolic parameters: it multiplies them")
    rebuilt = PARAMETER_SETS[parameters](merge_fixed(robot))
    ways = [formulation]
    if parameters == "base" and formulation == DEFAULT_FORMULATION:
        ways.append(by_columns)  # which takes numbers for geometry
    found = [_with_symbols(rebuilt, name, way, variant) for way in ways]
    best = min(found, key=lambda way: operation_count(way.program).arithmetic)
    if parameters == "base":
        return best
    alone = Counter((x.symbol, x.number) for x in best.parameters)
    shown = (replace(x, axes="") if alone[x.symbol, x.number] == 1 else x for x in best.parameters)
    return replace(best, parameters=tuple(shown))


def _with_symbols(
    rebuilt: Callable[[_Put], Robot],
    name: str,
    formulation: str | InverseDynamics,
    variant: Variant,
) -> SymbolicProgram:
    """Trace the equations with those symbolic parameters that they depend on."""
    chosen: list[SymbolicParameter] = []

    def collect(symbol: str, axes: str, number: str, value: float) -> float:
        if value != 0.0:
            chosen.append(SymbolicParameter(symbol, axes, number, float(value)))
        return value

    rebuilt(collect)
    program = _traced(rebuilt, name, chosen, formulation, variant)
    live = {node.value for node in program.nodes if node.op == INPUT}
    left = [x for position, x in enumerate(chosen) if ("parameters", position) in live]
    return SymbolicProgram(_traced(rebuilt, name, left, formulation, variant), tuple(left))


def _traced(
    rebuilt: Callable[[_Put], Robot],
    name: str,
    symbols: list[SymbolicParameter],
    formulation: str | InverseDynamics,
    variant: Variant,
) -> Program:
    """Trace and simplify the program with these symbolic parameters; all other numbers stay."""
    position = {(x.symbol, x.axes, x.number): i for i, x in enumerate(symbols)}
    inputs: Mapping[str, tuple[int, ...]] = equations_of(
        name, rebuilt(lambda symbol, axes, number, value: value), formulation, variant
    ).inputs
    if symbols:
        inputs = {**inputs, "parameters": (len(symbols),)}

    def equations(parameters: Array | None = None, **arrays: Array) -> Any:
        def put(symbol: str, axes: str, number: str, value: float) -> Any:
            i = position.get((symbol, axes, number))
            return value if i is None or parameters is None else parameters[i]

        kernel = equations_of(name, rebuilt(put), formulation, variant)
        results = kernel.function(**arrays)
        return {kernel.output: results} if kernel.output else results

    return optimize(trace(name, equations, inputs))


# -- sets of parameters: from a tree to a function that puts symbols into it -----------------------


def _of_links(tree: Robot) -> Callable[[_Put], Robot]:
    children = Counter(tree.parents)
    numbers = [str(P) if children[P] == 1 else f"{P}_{k + 1}" for k, P in enumerate(tree.parents)]

    def rebuilt(put: _Put) -> Robot:
        links = [tree.links[0]]
        for i, link in enumerate(tree.links[1:], start=1):
            body, number = link.inertia, str(i)
            m = put("m", "", number, float(body.mass))
            c = _put_vector(put, "lc", number, body.com)
            I_C = np.zeros((3, 3), dtype=object)
            about = _without_round_off(body.about_com)
            for a, b in zip(*np.triu_indices(3), strict=True):
                I_C[a, b] = I_C[b, a] = put("I", AXES[a] + AXES[b], number, about[a, b])
            links.append(replace(link, inertia=Inertia.from_com(m, c, I_C)))
        joints = [
            replace(joint, origin=_put_pose(put, "l", number, joint.origin))
            for joint, number in zip(tree.joints, numbers, strict=True)
        ]
        frames = {}
        for name, place in tree.frames.items():
            i = tree.link_index(place.link)
            number = str(i) if name in tree.tips and not children[i] and i else f"{i}_{name}"
            frames[name] = Frame(place.link, _put_pose(put, "l", number, place.pose))
        g = _without_round_off(tree.gravity)
        along = np.flatnonzero(g)
        gravity = np.array(g, dtype=object)
        if len(along) == 1:
            sign = np.sign(g[along[0]])
            gravity[along[0]] = sign * put("g", "", "", abs(g[along[0]]))
        return replace(
            tree, links=tuple(links), joints=tuple(joints), frames=frames, gravity=gravity
        )

    return rebuilt


def _of_base_parameters(tree: Robot) -> Callable[[_Put], Robot]:
    framed, _ = snapped(joint_frames(tree), ROUND_OFF, outward_bodies(tree))
    columns, parameters = base_columns(framed)

    def rebuilt(put: _Put) -> Robot:
        entries: list[list[Any]] = [[0.0] * len(PARAMETERS) for _ in framed.links]
        sizes = [abs(parameter.value) for parameter in parameters]
        for (i, name), parameter in zip(columns, parameters, strict=True):
            value = parameter.value if abs(parameter.value) > ROUND_OFF * max(sizes) else 0.0
            entries[i][PARAMETERS.index(name)] = put(name[0], name[1:], str(i), value)
        links = [
            Link(link.name, body_with(np.array(numbers)))
            for link, numbers in zip(framed.links, entries, strict=True)
        ]
        return replace(framed, links=tuple(links))

    return rebuilt


PARAMETER_SETS: Mapping[str, Callable[[Robot], Callable[[_Put], Robot]]] = {
    "links": _of_links,
    "base": _of_base_parameters,
}
"""Every set of symbolic parameters by name."""


def _put_pose(put: _Put, symbol: str, number: str, X: Pose) -> Pose:
    return Pose(X.rotation, _put_vector(put, symbol, number, X.translation))


def _put_vector(put: _Put, symbol: str, number: str, v: Array) -> Array:
    values = zip(AXES, _without_round_off(v), strict=True)
    return np.array([put(symbol, axis, number, x) for axis, x in values])


def _without_round_off(values: Array) -> Array:
    return np.where(np.abs(values) <= ROUND_OFF * np.max(np.abs(values)), 0.0, values)
