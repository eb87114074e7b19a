"""Kernels of a model library: the stages of the step, and the functions that messages need.

Each program evaluates functions of `robot_dynamics.control` on symbols, for one robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.control import load_checks
from robot_dynamics.control.chained_reference import chained_reference
from robot_dynamics.control.configuration import SIZE_OF_LOAD, Configuration
from robot_dynamics.control.laws import LAWS
from robot_dynamics.control.refusals import REFUSAL
from robot_dynamics.control.step import Step
from robot_dynamics.control.step_kernels import parts_of, stage_program
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import link_poses

Function = Callable[..., dict[str, Array]]

LAW = "law"
"""Name of the stage that is one of the laws."""


def step_programs(step: Step) -> dict[str, Program]:
    """Trace all stages of a step, by name."""
    stages = [*(stage for stage in step.stages if stage.name != LAW), *step.law_stages]
    return {stage.name: stage_program(step, stage) for stage in stages}


def message_programs(
    dynamics: Dynamics, step: Step, configuration: Configuration, hand: str | None
) -> dict[str, Program]:
    """Trace the functions that parameters and messages need, by name."""
    n = dynamics.robot.dof
    vector = {"q": (n,)}
    inputs = {"parameters": (configuration.parameters.size,)}
    load = (SIZE_OF_LOAD,)
    held = {**vector, "settings": (step.settings.size,), "load": load}
    checked = {**vector, "settings": (step.settings.size,), "before": load, "after": load}
    found = {
        "configure": trace("configure", configuration.__call__, inputs),
        "frames": trace("frames", _frames(dynamics), vector),
        "reference": trace("reference", _reference, {"written": (4, n), "chain": (2,)}),
        "hold": trace("hold", _hold(step), held),
        "check_load": trace("check_load", _check_load(step), checked),
        "check_wrench": trace(
            "check_wrench", _check_wrench(step, dynamics, hand), {**held, "wrench": (6,)}
        ),
    }
    return {name: optimize(program) for name, program in found.items()}


def _frames(dynamics: Dynamics) -> Function:
    def equations(q: Array) -> dict[str, Array]:
        poses = link_poses(dynamics.robot, q).values()
        return {"poses": np.array([[*np.ravel(pose[0]), *pose[1]] for pose in poses])}

    return equations


def _reference(written: Array, chain: Array) -> dict[str, Array]:
    found = chained_reference(written, *chain)
    return {"reference": np.concatenate([np.ravel(value) for value in found.values()])}


def _hold(step: Step) -> Function:
    return lambda q, settings, load: {"tau": load_checks.holding_effort(step, q, settings, load)}


def _check_load(step: Step) -> Function:
    def equations(q: Array, settings: Array, before: Array, after: Array) -> dict[str, Array]:
        return _refusal(load_checks.check_load(step, q, settings, before, after))

    return equations


def _check_wrench(step: Step, dynamics: Dynamics, hand: str | None) -> Function:
    def equations(q: Array, settings: Array, load: Array, wrench: Array) -> dict[str, Array]:
        effort = 0.0 * q
        if hand is not None:
            found = next(dynamics.equations("jacobian", Variant(frame=hand)))
            J = found.function(**dict(zip(found.inputs, (q,), strict=True)))
            effort = J.T @ wrench
        return _refusal(load_checks.check_wrench(step, q, settings, load, effort))

    return equations


def _refusal(found: Mapping[str, Array]) -> dict[str, Array]:
    return {"refusal": np.array([found[name] for name in REFUSAL])}


def driver(step: Step, function: Mapping[str, str]) -> str:
    """Write the driver in C: call the stages in order, and pick the law by its number.

    Args:
        step: The step.
        function: Names of the C functions by stage.
    """
    lines = []
    for stage, block in parts_of(step, step.stages):
        at, size = block.start, block.stop - block.start
        keep = f"memcpy(next + {at}, state + {at}, {size} * sizeof(double));"
        arguments = f"(state, next, arrived, settings, next + {at});"
        body = [f"{function.get(stage.name, '')}{arguments}"]
        if stage.name == LAW:
            cases = [
                f"case {LAWS.index(one.law)}: {function[one.name]}{arguments} break;"
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
    return f"""static void step(
    const double *state, const double *arrived, const double *settings, double *next)
{{
{written}
}}
"""
