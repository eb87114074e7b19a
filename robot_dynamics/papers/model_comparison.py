"""Compare simplified models with the full equations: operations saved, torque lost.

`compare_models` compiles every model for the robot at hand, counts it, and runs it over a motion.
`recommended_models` are those of section 3 of [Lee1982], for any arm: of the first three joints,
which carry the long links, "the effects of translational motion will dominate"; "the rotational
effects will dominate for the last three joints". So the inertia coefficients keep their
translational part in the first three rows and their rotational part in the others; velocity terms
may be treated alike, or left out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program, operation_count, trace
from robot_dynamics.compiler.kernel import OperationCount
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.formulations import InverseDynamics, formulation_named
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.papers.simplified_models import SimplifiedModel, simplified_model
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed


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
    """Models by name, from the paper's choice to the coarsest."""
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


@functools.lru_cache(maxsize=1)
def compare_on_the_circle(points: int = 181) -> ModelComparison:
    """The models of Gupta's arm along his circle, beside the full equations."""
    zero = puma_type_arm()
    motion = circle_motion(zero, np.linspace(0.0, CIRCLE_TIME_S, points))
    return compare_models(zero.robot, recommended_models(zero.robot), *motion)


def markdown_table(comparison: ModelComparison) -> str:
    """A row for each model: operations, and peak error of every joint in percent of its peak."""
    heads = ["model", "multiplications", "additions", *comparison.joint_names]
    peak = np.where(comparison.peak_effort > 0.0, comparison.peak_effort, 1.0)
    lines = [" | ".join(heads), " | ".join(["---", *["---:"] * (len(heads) - 1)])]
    for name, result in comparison.results.items():
        count = result.operations
        share = 100.0 * result.peak_error / peak
        cells = [name, str(count.multiplications), str(count.additions)]
        lines.append(" | ".join([*cells, *[f"{x:.1f} %" for x in share]]))
    return "\n".join(f"| {line} |" for line in lines)
