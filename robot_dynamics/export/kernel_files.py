"""C and C++ of the control kernels: one C99 file, and the header that the controller calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.source.c import c_source, prototype
from robot_dynamics.control.laws import MODES, TASK_MODES
from robot_dynamics.export.control_kernels import COUPLED

MODEL = ("payload", "base", "drives", "tuning")
"""Inputs of all kernels that evaluate the model, behind the others.

The C++ functions take all, the kernels those that the robot has: without a frame of payloads no
`payload`, and on a fixed base `gravity`, with which the numbers of a base begin, as `base`.
"""


def kernels_c(package: str, programs: Mapping[str, Program], header: Mapping[str, str]) -> str:
    """Write all programs as one C99 file; names of functions begin with that of the package."""
    return "\n".join(
        c_source(replace(program, name=f"{package}_{name}"), header=header)
        for name, program in programs.items()
    )


def kernels_hpp(package: str, programs: Mapping[str, Program]) -> str:
    """Write the C++ header that calls them without the name of the package."""
    named = {name: replace(p, name=f"{package}_{name}") for name, p in programs.items()}
    wrappers = [
        _wrapper(name, program)
        for name, program in named.items()
        if not name.startswith(("law_", "task_"))
    ]
    declared = "\n".join(f"{prototype(program)};" for program in named.values())
    law = programs[f"law_{COUPLED}"]
    taken = _parameters(["desired", "measured", *MODEL], law.inputs)
    passed = _arguments(law)
    cases = "\n".join(
        f"    case Mode::{mode}:\n      {package}_law_{mode}({passed});\n      return;"
        for mode in MODES
    )
    task = programs[f"task_{next(iter(TASK_MODES))}"]
    given = [key for key in _named(task.inputs) if key not in MODEL]
    results = ", ".join(f"double * {key}" for key in task.outputs)
    arguments = _arguments(task)
    tasks = "\n".join(
        f"    case Mode::{mode}:\n      {package}_task_{mode}({arguments});\n      return;"
        for mode in TASK_MODES
    )
    body = "\n\n".join(wrappers)
    return f"""#ifndef {package}_KERNELS_HPP_
#define {package}_KERNELS_HPP_

#include "robot.hpp"

extern "C" {{
{declared}
}}

namespace {package}
{{
namespace kernels
{{

{body}

/// Effort of the law of a mode, without feedback joint by joint.
inline void law(
  Mode mode, bool coupled, {taken}, double * asked)
{{
  if (coupled && mode == Mode::feedforward) {{
    {package}_law_{COUPLED}({passed});
    return;
  }}
  switch (mode) {{
{cases}
    default:
      return;
  }}
}}

/// Effort and motion of a law in task space.
inline void task_law(
  Mode mode, {_parameters([*given, *MODEL], task.inputs)}, {results})
{{
  switch (mode) {{
{tasks}
    default:
      return;
  }}
}}

}}  // namespace kernels
}}  // namespace {package}

#endif  // {package}_KERNELS_HPP_
"""


def _wrapper(name: str, program: Program) -> str:
    """Write the C++ function that calls the one of a program."""
    taken = [key for key in _named(program.inputs) if key not in MODEL]
    taken += MODEL if "drives" in program.inputs else ()
    results = [f"double * {key}" for key in program.outputs]
    parameters = ", ".join([_parameters(taken, program.inputs), *results])
    return f"inline void {name}({parameters})\n{{\n  {program.name}({_arguments(program)});\n}}"


def _named(inputs: Iterable[str]) -> list[str]:
    """Return names of inputs as the C++ functions have them."""
    return ["base" if name == "gravity" else name for name in inputs]


def _arguments(program: Program) -> str:
    return ", ".join([*_named(program.inputs), *program.outputs])


def _parameters(names: Iterable[str], inputs: Iterable[str]) -> str:
    """Return input parameters; those that are not used have their names in comments."""
    used = _named(inputs)
    return ", ".join(f"const double * {n if n in used else f'/* {n} */'}" for n in names)
