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
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics.algorithms.base_parameters import base_columns
from robot_dynamics.compiler.graph.derivative import derivative
from robot_dynamics.compiler.graph.operations import INPUT
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.polynomial import collected, squares_joined
from robot_dynamics.compiler.graph.trace import Program, operation_count, trace
from robot_dynamics.dynamics.kernels import Equations, equations_of
from robot_dynamics.dynamics.moving_base import MOVED, on_moving_base
from robot_dynamics.dynamics.variant import MOTION_ONLY, Variant
from robot_dynamics.errors import ArgumentError, check_known
from robot_dynamics.formulations import DEFAULT_FORMULATION, FORMULATIONS, InverseDynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import identifier
from robot_dynamics.reduction.augmented_body_columns import inverse_dynamics as by_columns
from robot_dynamics.robot.joint_frames import joint_frames, snapped
from robot_dynamics.robot.kinematic_tree import Frame, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed, outward_bodies
from robot_dynamics.spatial import PARAMETERS, Inertia, Pose, body_with

ROUND_OFF = 1e-11
"""A component below this part of the largest one is zero: it comes from turning frames."""

AXES = "xyz"

MASSLESS = ("augmented_body", "lagrange_euler")
"""Formulations in first moments, which a body without mass may have too."""


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

    def __str__(self) -> str:
        return f"{self.text} = {self.value:.15g} {self.unit}"

    @property
    def latex(self) -> str:
        """Name in LaTeX: m_1, l_{c1}, I_{xx,1}."""
        symbol, under = self.symbol[0], self.symbol[1:] + self.axes
        subscript = under + ("," if self.axes else "") + self.number.replace("_", "\\_")
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
        """Return the symbols of the parameters, for `text_equations` and `latex_equations`.

        Args:
            latex: Whether names are in LaTeX.

        Returns:
            Names by input; empty if the equations depend on no parameter.
        """
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
    *,
    sort: bool = False,
    base: str = "fixed",
) -> SymbolicProgram:
    """Simplify the equations of a kernel with symbols in place of the robot's numbers.

    Terms that cancel, and sums of a squared sine and cosine, are gone, for every formulation.

    Args:
        robot: Any robot.
        name: One of `robot_dynamics.dynamics.kernels.KERNELS`, but not "regressor".
        parameters: Set of symbolic parameters, "links" or "base".
        formulation: One of `FORMULATIONS`; those that need mass centres divide by masses.
        variant: Inputs of the kernel beside the motion.
        sort: Return M, C and G of tau = M qdd + C qd + G in place of tau; C has the Christoffel
            symbols, so that dM/dt - 2 C is skew-symmetric.
        base: "moving" for a base with a known motion, which is an input; "fixed" as `robot` has it.

    Returns:
        The program and its symbolic parameters.

    Raises:
        UnknownNameError: If there is no such kernel, set, formulation or frame.
        ArgumentError: If the kernel is the regressor, if `sort` is given for another than
            "inverse", or if the formulation needs mass centres, which base parameters have not.

    Examples:
        >>> from robot_dynamics import read_urdf
        >>> from robot_dynamics.dynamics.symbolic_parameters import symbolic_program
        >>> from robot_dynamics.robot import find_robot
        >>> found = symbolic_program(read_urdf(find_robot("planar_2r")), "gravity")
        >>> [parameter.text for parameter in found.parameters]
        ['m1', 'lc1', 'm2', 'lc2', 'l1', 'g']
    """
    home = "robot_dynamics.dynamics.symbolic_parameters"
    check_known("set of symbolic parameters", parameters, home, PARAMETER_SETS)
    if name == "regressor":
        raise ArgumentError("the regressor has no symbolic parameters: it multiplies them")
    moving = base == "moving" and name in MOVED
    if sort and (name != "inverse" or variant.friction or variant.wrench_at or moving):
        raise ArgumentError(
            "only the kernel 'inverse', without friction, wrench and moving base, is sorted as "
            "M, C and G"
        )
    if sort and robot.nq > robot.dof:
        raise ArgumentError(
            f"robot '{robot.name}' has a floating or planar joint, whose equations are not sorted "
            "as M, C and G; leave sorting out, or weld the joint with robot.with_fixed_base()"
        )
    if parameters == "base" and formulation in FORMULATIONS and formulation not in MASSLESS:
        raise ArgumentError(
            f"formulation '{formulation}' needs mass centres, and base parameters have none; use "
            f"{' or '.join(MASSLESS)}"
        )
    tree = merge_fixed(robot)
    rebuilt = PARAMETER_SETS[parameters](
        merge_fixed(robot.with_floating_base()) if moving else tree
    )
    candidates: list[str | InverseDynamics] = [formulation]
    if parameters == "base" and not sort and formulation == DEFAULT_FORMULATION:
        candidates.append(by_columns)  # which takes numbers for geometry
    made = _sorted_equations if sort else partial(equations_of, name)

    def equations(candidate: str | InverseDynamics) -> Callable[[Robot], Equations]:
        if not moving:
            return lambda symbolic: made(symbolic, candidate, variant)
        return lambda symbolic: on_moving_base(
            name, lambda part, given: equations_of(part, symbolic, candidate, given), tree, variant
        )

    found = [_with_symbols(rebuilt, equations(candidate), expand=sort) for candidate in candidates]
    best = min(found, key=lambda candidate: operation_count(candidate.program).arithmetic)
    if parameters == "base":
        return best
    alone = Counter((x.symbol, x.number) for x in best.parameters)
    shown = (replace(x, axes="") if alone[x.symbol, x.number] == 1 else x for x in best.parameters)
    return replace(best, parameters=tuple(shown))


def _with_symbols(
    rebuilt: Callable[[_Put], Robot], equations: Callable[[Robot], Equations], *, expand: bool
) -> SymbolicProgram:
    """Trace the equations with those symbolic parameters that they depend on."""
    chosen: list[SymbolicParameter] = []

    def collect(symbol: str, axes: str, number: str, value: float) -> float:
        if value != 0.0:
            chosen.append(SymbolicParameter(symbol, axes, number, float(value)))
        return value

    rebuilt(collect)
    program = _traced(rebuilt, equations, chosen, expand)
    live = {node.value for node in program.nodes if node.op == INPUT}
    left = [x for position, x in enumerate(chosen) if ("parameters", position) in live]
    return SymbolicProgram(_traced(rebuilt, equations, left, expand), tuple(left))


def _traced(
    rebuilt: Callable[[_Put], Robot],
    equations: Callable[[Robot], Equations],
    symbols: list[SymbolicParameter],
    expand: bool,
) -> Program:
    """Trace and simplify the program with these symbolic parameters; all other numbers stay.

    If the program is small, the form with fewer operations is taken, of the equations as they were
    written and as they are when all products were expanded; with `expand`, always the latter.
    """
    position = {(x.symbol, x.axes, x.number): i for i, x in enumerate(symbols)}
    inputs: Mapping[str, tuple[int, ...]] = equations(
        rebuilt(lambda symbol, axes, number, value: value)
    ).inputs
    if symbols:
        inputs = {**inputs, "parameters": (len(symbols),)}

    def function(parameters: Array | None = None, **arrays: Array) -> Any:
        def put(symbol: str, axes: str, number: str, value: float) -> Any:
            i = position.get((symbol, axes, number))
            return value if i is None or parameters is None else parameters[i]

        kernel = equations(rebuilt(put))
        results = kernel.function(**arrays)
        return {kernel.output: results} if kernel.output else results

    program = squares_joined(optimize(squares_joined(trace("equations", function, inputs))))
    expanded = collected(program)
    if expanded is None:
        return program
    candidates = optimize(expanded), *(() if expand else (program,))
    return min(candidates, key=lambda candidate: operation_count(candidate).arithmetic)


def _sorted_equations(
    tree: Robot, formulation: str | InverseDynamics, variant: Variant
) -> Equations:
    """Matrices M and C and efforts G of tau = M qdd + C qd + G, of q and qd."""
    M = equations_of("mass_matrix", tree, formulation, replace(variant, gravity=False))
    G = equations_of("gravity", tree, formulation, variant)

    def function(q: Array, qd: Array, **values: Array) -> dict[str, Array]:
        masses = M.function(q=q, **{name: x for name, x in values.items() if name in M.inputs})
        graph = q[0].graph
        entries = [[graph.lift(x) for x in row] for row in masses]
        slopes = np.array([[[derivative(x, p) for p in q] for x in row] for row in entries])
        # C_ij = sum_k (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) qd_k / 2, [AsadaSlotine1986] (5-39)
        symbols = slopes + np.swapaxes(slopes, 1, 2) - np.moveaxis(slopes, 2, 0)
        return {"M": masses, "C": 0.5 * (symbols @ qd), "G": G.function(q=q, **values)}

    n = tree.dof
    return Equations({"q": (n,), "qd": (n,), **variant.inputs}, function)


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
            number = (
                str(i) if name in tree.tips and not children[i] and i else f"{i}_{identifier(name)}"
            )
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
