"""Kernels of a model library: the stages of the step, and the functions that messages need.

Each program evaluates functions of `robot_dynamics.control` on symbols, for one robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from robot_dynamics.compiler.graph.optimize import join_numbers, optimize
from robot_dynamics.compiler.graph.trace import Program, Shape, trace
from robot_dynamics.control import load_checks
from robot_dynamics.control.chained_reference import chained_reference
from robot_dynamics.control.configuration import SIZE_OF_LOAD, Configuration
from robot_dynamics.control.imu_gravity import check_imu, gravity_by_imu
from robot_dynamics.control.laws import LAWS
from robot_dynamics.control.refusals import REFUSAL
from robot_dynamics.control.step import Stage, Step
from robot_dynamics.control.step_kernels import parts_of, stage_program
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import link_poses

Function = Callable[..., dict[str, Array]]

LAW = "law"
"""Name of the stage that is one of the laws."""


FUNCTIONS = (
    "configure", "frames", "reference", "hold", "check_load", "check_wrench", "imu_gravity",
)  # fmt: skip
"""Functions that parameters and messages need, beside `step`."""


def programs_of(
    step: Step, configuration: Configuration, end_effector: str | None, dynamics: Dynamics
) -> Iterator[tuple[str, Program]]:
    """Trace all kernels one after the other, each with the name of its function.

    Those that compilers take longest for come first.

    Args:
        step: The step.
        configuration: Of the settings.
        end_effector: Frame of a wrench; None for none.
        dynamics: Equations of the robot.
    """
    n = dynamics.robot.dof
    vector: dict[str, Shape] = {"q": (n,)}
    inputs: dict[str, Shape] = {"parameters": (configuration.parameters.size,)}
    load = (SIZE_OF_LOAD,)
    settings: dict[str, Shape] = {"settings": (step.settings.size,)}
    given: tuple[tuple[Function, dict[str, Shape]], ...] = (
        (configuration.__call__, inputs),
        (_frames(dynamics), vector),
        (_reference, {"written": (4, n), "chain": (2,)}),
        (_hold(step), {"state": (step.state.size,), **settings, "load": load}),
        (_check_load(step), {**vector, **settings, "before": load, "after": load}),
        (
            _check_wrench(step, dynamics, end_effector),
            {**vector, **settings, "load": load, "wrench": (6,)},
        ),
        (_imu_gravity, {"before": (3,), "force": (3,), "times": (2,)}),
    )
    for name, (equations, shapes) in zip(FUNCTIONS, given, strict=True):
        yield f"model_{name}", optimize(join_numbers(trace(name, equations, shapes)))
    for stage in (*reversed(step.law_stages), *step.stages):
        if stage.name != LAW:
            yield function_of(stage), stage_program(step, stage)


def function_of(stage: Stage) -> str:
    """Return the name of the function of a stage."""
    return f"step_{stage.name}"


def _frames(dynamics: Dynamics) -> Function:
    def equations(q: Array) -> dict[str, Array]:
        poses = link_poses(dynamics.robot, q).values()
        return {"poses": np.array([[*np.ravel(pose[0]), *pose[1]] for pose in poses])}

    return equations


def _reference(written: Array, chain: Array) -> dict[str, Array]:
    found = chained_reference(written, *chain)
    return {"reference": np.concatenate([np.ravel(value) for value in found.values()])}


def _hold(step: Step) -> Function:
    return lambda **x: {"tau": load_checks.last_effort(step, **x)}


def _check_load(step: Step) -> Function:
    def equations(q: Array, settings: Array, before: Array, after: Array) -> dict[str, Array]:
        return _refusal(load_checks.check_load(step, q, settings, before, after))

    return equations


def _check_wrench(step: Step, dynamics: Dynamics, end_effector: str | None) -> Function:
    def equations(q: Array, settings: Array, load: Array, wrench: Array) -> dict[str, Array]:
        effort = 0.0 * q
        if end_effector is not None:
            found = next(dynamics.equations("jacobian", Variant(frame=end_effector)))
            J = found.function(**dict(zip(found.inputs, (q,), strict=True)))
            effort = J.T @ wrench
        return _refusal(load_checks.check_wrench(step, q, settings, load, effort))

    return equations


def _imu_gravity(before: Array, force: Array, times: Array) -> dict[str, Array]:
    return {"gravity": gravity_by_imu(before, force, *times), **_refusal(check_imu(force))}


def _refusal(found: Mapping[str, Array]) -> dict[str, Array]:
    return {"refusal": np.array([found[name] for name in REFUSAL])}


def driver(step: Step) -> str:
    """Write the driver in C: call the stages in order, and pick the law by its number."""
    lines = []
    for stage, block in parts_of(step, step.stages):
        at, size = block.start, block.stop - block.start
        keep = f"keep(next + {at}, state + {at}, {size} * sizeof(double));"
        arguments = f"(state, next, arrived, settings, next + {at});"
        body = [f"{function_of(stage)}{arguments}"]
        if stage.name == LAW:
            cases = [
                f"case {LAWS.index(one.law)}: {function_of(one)}{arguments} break;"
                for one in step.law_stages
            ]
            law = step.state.slices["law"].start
            body = [f"switch ((int)next[{law}]) {{", *cases, f"default: {keep}", "}"]
        if stage.when:
            known = stage.when in step.state.slices
            layout, vector = (step.state, "next") if known else (step.settings, "settings")
            flag = f"{vector}[{layout.slices[stage.when].start}]"
            body = [f"if ({flag} > 0.5) {{", *(f"    {x}" for x in body), "} else {",
                    f"    {keep}", "}"]  # fmt: skip
        lines += body
    written = "\n".join(f"    {line}" for line in lines)
    return f"""/* A compiler would copy parts of this size by a slow instruction. */
static NOT_INLINE void keep(double *next, const double *state, size_t size)
{{
    memcpy(next, state, size);
}}

static void step(
    const double *state, const double *arrived, const double *settings, double *next)
{{
{written}
}}
"""
