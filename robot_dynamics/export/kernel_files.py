"""C and C++ of the control kernels: one C99 file, and the header that the controller calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.source.c import c_source
from robot_dynamics.control.laws import MODES
from robot_dynamics.export.control_kernels import COUPLED

LOAD = {"payload": 10, "gravity": 3}
"""Inputs of a load, with their sizes. The C++ functions take both, the kernels what they use."""


def kernels_c(package: str, programs: Mapping[str, Program], header: Mapping[str, str]) -> str:
    """Write all programs as one C99 file; names of functions begin with that of the package."""
    return "\n".join(
        c_source(replace(program, name=f"{package}_{name}"), header=header)
        for name, program in programs.items()
    )


def kernels_hpp(package: str, programs: Mapping[str, Program]) -> str:
    """Write the C++ header that calls them without the name of the package."""
    prototypes, wrappers = [], []
    for name, program in programs.items():
        inputs = {key: math.prod(shape) for key, shape in program.inputs.items()}
        outputs = {key: math.prod(output.shape) for key, output in program.outputs.items()}
        arguments = [f"const double {key}[{size}]" for key, size in inputs.items()]
        arguments += [f"double {key}[{size}]" for key, size in outputs.items()]
        prototypes.append(f"void {package}_{name}({', '.join(arguments)});")
        if name.startswith("law_"):
            continue
        names = list(inputs)
        given = {**inputs}
        for key, size in LOAD.items():
            if "drives" in inputs and key not in inputs:
                given[key] = size
        order = [k for k in given if k not in ("drives", "tuning")]
        order = [k for k in order if k not in LOAD] + [k for k in LOAD if k in given]
        order += [k for k in ("drives", "tuning") if k in given]
        parameters = [
            f"const double * {key if key in inputs else f'/* {key} */'}" for key in order
        ] + [f"double * {key}" for key in outputs]
        wrappers.append(
            f"inline void {name}({', '.join(parameters)})\n{{\n"
            f"  {package}_{name}({', '.join([*names, *outputs])});\n}}"
        )
    declared = "\n".join(prototypes)
    law = programs[f"law_{COUPLED}"]
    used = [key for key in LOAD if key in law.inputs]
    load = ", ".join(f"const double * {key if key in used else f'/* {key} */'}" for key in LOAD)
    passed = ", ".join(["desired", "measured", *used, "drives", "tuning", "asked"])
    cases = "\n".join(
        f"    case Mode::{mode}:\n      {package}_law_{mode}({passed});\n      return;"
        for mode in MODES
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
  Mode mode, bool coupled, const double * desired, const double * measured, {load},
  const double * drives, const double * tuning, double * asked)
{{
  if (coupled && mode == Mode::feedforward) {{
    {package}_law_{COUPLED}({passed});
    return;
  }}
  switch (mode) {{
{cases}
  }}
}}

}}  // namespace kernels
}}  // namespace {package}

#endif  // {package}_KERNELS_HPP_
"""
