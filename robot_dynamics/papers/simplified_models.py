"""Simplified models: the structured equations without some of their terms, and what that costs.

[Lee1982], section 3: far from the base the rotation of links dominates, near it their
translation, and velocity efforts may be negligible. A `SimplifiedModel` states for every joint
which terms of its equation (29) stay. It is a formulation like any other: the same signature,
any scalar, so that it traces, counts and compiles. `velocity_coefficients` show for every pair of
joints which velocity terms are small. `compare_models` compiles every model for the robot at hand,
counts it, and runs it over a motion. `recommended_models` are those of section 3, for any arm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.base_axes import base_axes, endpoint_efforts, on_tree
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program, operation_count, trace
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.errors import ArgumentError, EmptyModelError, ShapeError, unknown_name
from robot_dynamics.formulations import InverseDynamics, formulation_named
from robot_dynamics.formulations.dalembert import axes_in_link, equations_on_tree, velocity_columns
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import cross

TERMS: Mapping[str, str] = {
    "D_tran": "inertia of moving the mass centres, second term of (30)",
    "D_rot": "inertia of turning the links, first term of (30)",
    "H_tran": "centrifugal and Coriolis efforts of the mass centres (31)",
    "H_rot": "centrifugal and Coriolis efforts of turning links (32)",
    "G": "gravity efforts (33)",
}
"""Terms of the equation of a joint that a model can keep, with what each is."""


@dataclass(frozen=True, eq=False)
class SimplifiedModel:
    """Structured equations with the kept terms alone; call it as any formulation.

    The efforts of an endpoint wrench always stay. Rows are simplified one by one, as the paper
    does: where joints i and j keep different parts of the inertia, D_ij and D_ji differ, which
    inverse dynamics may do and forward dynamics may not.

    Args:
        kept: Names of the kept terms by joint name, for every moving joint of the robot.
    """

    kept: Mapping[str, frozenset[str]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", MappingProxyType(dict(self.kept)))

    def __repr__(self) -> str:
        rows = (f"{joint}: {'+'.join(sorted(terms)) or '0'}" for joint, terms in self.kept.items())
        return f"SimplifiedModel({', '.join(rows)})"

    def __call__(
        self,
        robot: Robot,
        q: Array,
        qd: Array,
        qdd: Array,
        wrenches: Wrenches,
    ) -> Array:
        """Compute the joint efforts of a motion; arguments as for `dalembert.inverse_dynamics`.

        Raises:
            UnknownNameError: If the robot has a joint that this model does not know.
        """
        axes = base_axes(robot, q)
        e = equations_on_tree(robot, axes, qd)
        tau: list[Any] = []
        for i, joint in enumerate(robot.joints):
            if joint.name not in self.kept:
                raise unknown_name("joint", joint.name, "this simplified model", self.kept)
            rows = {"D_tran": e.D_tran[i], "D_rot": e.D_rot[i]}
            efforts = {"H_tran": e.H_tran[i], "H_rot": e.H_rot[i], "G": e.G[i]}
            kept = self.kept[joint.name]
            row = sum((r for name, r in rows.items() if name in kept), np.zeros(len(qdd)))
            tau.append(sum((x for name, x in efforts.items() if name in kept), row @ qdd))
        total = np.array(tau)
        for effort in endpoint_efforts(axes, wrenches).values():
            total = total + effort
        return total


def simplified_model(
    robot: Robot,
    keep: Mapping[str, Iterable[str]] | None = None,
    *,
    others: Iterable[str] = tuple(TERMS),
) -> SimplifiedModel:
    """Choose which terms of which joint a model keeps.

    Args:
        robot: Any robot.
        keep: Names of `TERMS` to keep, by joint; an empty choice leaves that joint without
            effort of its own.
        others: Names of `TERMS` that all other joints keep; by default all.

    Returns:
        A formulation: call it, trace it, or compare it by `compare_models`.

    Raises:
        EmptyModelError: If no joint keeps any term.
        UnknownNameError: If there is no such joint or term.
    """
    names = [joint.name for joint in robot.moving_joints]
    chosen = {name: _known_terms(others) for name in names}
    for name, terms in (keep or {}).items():
        if name not in chosen:
            raise unknown_name("joint", name, f"robot '{robot.name}'", names)
        chosen[name] = _known_terms(terms)
    if not any(chosen.values()):
        raise EmptyModelError(
            f"the simplified model of robot '{robot.name}' keeps no term of any joint; keep at "
            f"least one of {', '.join(TERMS)} for one of the joints {', '.join(names)}"
        )
    return SimplifiedModel(chosen)


def _known_terms(terms: Iterable[str]) -> frozenset[str]:
    chosen = frozenset([terms] if isinstance(terms, str) else terms)
    for term in sorted(chosen - set(TERMS)):
        raise unknown_name("term", term, "the structured equations", TERMS)
    return chosen


class VelocityCoefficients(NamedTuple):
    """H_i = sum over p <= q of h[i, p, q] qd_p qd_q; entries below the diagonal p, q are zero.

    Attributes:
        translation: Of (31), shape (n, n, n); p = q is centrifugal, p < q Coriolis.
        rotation: Of (32), shape (n, n, n).
    """

    translation: Array
    rotation: Array


def velocity_coefficients(robot: Robot, q: npt.ArrayLike) -> VelocityCoefficients:
    """Compute what every pair (p, q) of joints contributes to H^tran (31) and H^rot (32).

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.

    Raises:
        ShapeError: If q does not have one entry per moving joint.
        ArgumentError: If an entry is not finite.
    """
    tree, (q,) = on_tree(robot, q=q)
    axes, n = base_axes(tree, q), len(tree.joints)
    tran, rot = np.zeros((2, n, n, n), dtype=q.dtype)
    for s, z_link in enumerate(axes_in_link(tree, axes)):
        path = list(axes.paths[s])
        body, dv = tree.links[s + 1].inertia, velocity_columns(tree, axes, s)
        z = axes.jacobian(s, axes.p[s])[1]  # zero columns for prismatic joints
        I_s, turned = body.about_com, body.about_com @ z_link
        for b, second in enumerate(path):
            for a, first in enumerate(path[: b + 1]):
                acceleration = cross(z[:, a], dv[:, b])
                moment = cross(z_link[:, a], turned[:, b])
                if a < b:
                    acceleration = 2.0 * acceleration
                    moment = moment + cross(z_link[:, b], turned[:, a])
                    moment = moment + I_s @ cross(z_link[:, a], z_link[:, b])
                tran[path, first, second] += body.mass * (dv.T @ acceleration)
                rot[path, first, second] += z_link.T @ moment
    return VelocityCoefficients(tran, rot)


@dataclass(frozen=True, eq=False)
class ModelResult:
    """One model over the motion.

    Args:
        operations: Operations of one evaluation, as compiled for the robot.
        rms_error: Root mean square of the difference to the full model, shape (n,), N m or N.
        peak_error: Largest difference to the full model, shape (n,), N m or N.
    """

    operations: OperationCount
    rms_error: Array
    peak_error: Array


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Models of a robot beside each other.

    Args:
        joint_names: Order of the errors.
        peak_effort: Largest effort of the full model over the motion, shape (n,), N m or N.
        results: Full model first, then the others, by name.
    """

    joint_names: tuple[str, ...]
    peak_effort: Array
    results: Mapping[str, ModelResult]

    def table(self) -> str:
        """Write the comparison as text: operations, then RMS and peak error per joint."""
        width = max(12, *(len(name) for name in self.results))
        joints = [f"{name:>18}" for name in self.joint_names]
        lines = [
            "  ".join(["model".ljust(width), "mult", " add", *joints]),
            "  ".join(
                ["peak effort".ljust(width), " " * 10, *[f"{x:18.4g}" for x in self.peak_effort]]
            ),
        ]
        for name, result in self.results.items():
            count = result.operations
            errors = zip(result.rms_error, result.peak_error, self.joint_names, strict=True)
            cells = [f"{f'{rms:.3g} / {peak:.3g}':>{max(18, len(j))}}" for rms, peak, j in errors]
            lines.append(
                "  ".join(
                    [name.ljust(width), f"{count.multiplications:4d}", f"{count.additions:4d}"]
                    + cells
                )
            )
        return "\n".join(lines)


def compare_models(
    robot: Robot,
    models: Mapping[str, InverseDynamics],
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    *,
    full: str = "dalembert",
) -> ModelComparison:
    """Set models beside the full equations: operation counts, and efforts over a motion.

    Args:
        robot: Any robot; n independent joints in the order of `robot.joint_names`.
        models: Formulations by name, for example of `simplified_model`.
        q: Joint positions at N instants, shape (N, n), rad or m.
        qd: Joint velocities, shape (N, n).
        qdd: Joint accelerations, shape (N, n).
        full: Name of the formulation without simplification.

    Raises:
        ShapeError: If q, qd and qdd are not all of shape (N, n).
        ArgumentError: If a model has the name of the full one.
        UnknownNameError: If there is no formulation `full`.
    """
    motion = [np.asarray(x, dtype=np.float64) for x in (q, qd, qdd)]
    for name, array in zip(("q", "qd", "qdd"), motion, strict=True):
        if array.ndim != 2 or array.shape != (len(motion[0]), robot.dof) or len(array) == 0:
            expected = f"(N, {robot.dof})"
            raise ShapeError(f"{name} must have shape {expected}, got {array.shape}")
    if full in models:
        raise ArgumentError(f"a model has the name '{full}' of the full equations; rename it")
    efforts, counts = {}, {}
    for name, equations in {full: formulation_named(full), **models}.items():
        program = optimize(model_program(robot, equations))
        counts[name] = operation_count(program)
        efforts[name] = compile_native(program)(*motion)
    exact = efforts[full]
    results = {}
    for name, tau in efforts.items():
        error = np.abs(tau - exact)
        rms = np.sqrt(np.mean(error**2, axis=0))
        results[name] = ModelResult(counts[name], rms, error.max(axis=0))
    return ModelComparison(robot.joint_names, np.abs(exact).max(axis=0), results)


def model_program(robot: Robot, equations: InverseDynamics) -> Program:
    """Trace a model for a robot: tau of q, qd and qdd in independent joints."""
    tree, n = merge_fixed(robot), robot.dof
    joints = tree.coupling

    def function(q: Array, qd: Array, qdd: Array) -> Array:
        rates, accelerations = joints.rates(qd), joints.rates(qdd)
        return joints.efforts(equations(tree, joints.positions(q), rates, accelerations, {}))

    return trace("model", function, {"q": (n,), "qd": (n,), "qdd": (n,)})


# -- the recommendation of section 3 ---------------------------------------------------------

INNER_JOINTS = 3
"""Joints that carry long links."""


def recommended_models(robot: Robot) -> dict[str, SimplifiedModel]:
    """Return models by name, from the paper's choice to the coarsest.

    Of the first three joints, which carry the long links, "the effects of translational motion
    will dominate"; "the rotational effects will dominate for the last three joints". So inertia
    coefficients keep their translational part in the first three rows and their rotational part in
    the others; velocity terms are treated alike, or left out.
    """
    names = [joint.name for joint in robot.moving_joints]
    inner, outer = names[:INNER_JOINTS], names[INNER_JOINTS:]
    rows = {
        "section 3, D": ({"D_tran", "H_tran", "H_rot", "G"}, {"D_rot", "H_tran", "H_rot", "G"}),
        "section 3, D and H": ({"D_tran", "H_tran", "G"}, {"D_rot", "H_rot", "G"}),
    }
    models = {
        title: simplified_model(robot, dict.fromkeys(inner, first) | dict.fromkeys(outer, last))
        for title, (first, last) in rows.items()
    }
    return models | {"no velocity terms": simplified_model(robot, others=("D_tran", "D_rot", "G"))}
