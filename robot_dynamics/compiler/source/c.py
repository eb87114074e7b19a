"""Back end: one self-contained C99 file, and a C++ header around it.

The C function reads its inputs and writes its outputs through pointers. It has no
other effect: no allocation, no globals, no library except <math.h>. Arrays are
row-major.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from textwrap import wrap
from typing import NamedTuple

from robot_dynamics.compiler.graph.operations import (
    ABS,
    ARCTAN2,
    COS,
    EXP,
    FLOOR,
    INPUT,
    SELECT,
    SIN,
    SQRT,
    TANH,
)
from robot_dynamics.compiler.graph.trace import Program, Shape
from robot_dynamics.compiler.source.straight_line import Syntax, header_lines, straight_line
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.names import comment

SCALARS = ("double", "float")


def c_source(
    program: Program,
    *,
    scalar: str = "double",
    header: Mapping[str, str] | None = None,
    defaults: Mapping[str, Mapping[str, float]] | None = None,
) -> str:
    """Write a program as one C99 file with one function.

    The function has the name of the program, with the suffix "_f" in single precision, because a C
    linker accepts a call with doubles of a function of floats without an error. A program may
    define ROBOT_DYNAMICS_SIN and ROBOT_DYNAMICS_COS (SINF and COSF in single precision) before it
    includes the file, or on the command line of the compiler, to use other sines and cosines.

    Args:
        program: The equations.
        scalar: "double" or "float".
        header: More lines for the comment at the top, by key: robot, formulation, units.
        defaults: Values of inputs, by remark on each number. They become constants, and a second
            function, named with "_default", that takes the other inputs alone.

    Raises:
        ArgumentError: If `scalar` is neither.
    """
    syntax, program = _syntax(scalar), _named(program, scalar)
    body, count = _body(program, scalar, syntax)
    size = f"{count} intermediate values of type {scalar}; no heap, no state"
    functions = [_function(program, scalar, body)]
    given = {n: v for n, v in (defaults or {}).items() if n in program.inputs}
    if given:
        functions.append(_default_function(program, scalar, syntax, given))
    head = _comment(program, {**(header or {}), "memory": size})
    macros = macros_of(scalar)
    return f"{head}\n#include <math.h>\n\n{macros}\n" + "\n".join(functions)


def macros_of(scalar: str = SCALARS[0]) -> str:
    """Return the macros of sines and cosines that code calls."""
    f = "f" if scalar == "float" else ""
    return f"""#ifndef ROBOT_DYNAMICS_SIN{f.upper()}
#define ROBOT_DYNAMICS_SIN{f.upper()}(x) sin{f}(x)
#define ROBOT_DYNAMICS_COS{f.upper()}(x) cos{f}(x)
#endif
"""


class Tabulated(NamedTuple):
    """A function in C whose numbers are in a table.

    Args:
        head: Its declaration, without a semicolon.
        code: Its definition. Robots that differ in numbers alone have the same.
        table: Declaration of the table, without a semicolon.
        numbers: The numbers in it.
    """

    head: str
    code: str
    table: str
    numbers: tuple[float, ...]


PLAIN = (0.0, 0.5, 1.0, 2.0)
"""Numbers that stay in the code: with them a compiler makes branches of decisions."""


def tabulated(program: Program) -> Tabulated:
    """Write a program as a function in C whose numbers are in a table."""
    index: dict[float, int] = {}

    def constant(value: float) -> str:
        if value in PLAIN:
            return literal(value)
        return f"number[{index.setdefault(value, len(index))}]"

    body, _ = _body(program, "double", replace(_syntax("double"), constant=constant))
    head, name = prototype(program), f"{program.name}_numbers"
    code = "\n".join([f"#define number {name}", head, "{", *(f"    {line}" for line in body), "}",
                      "#undef number\n"])  # fmt: skip
    return Tabulated(head, code, f"const double {name}[{len(index)}]", tuple(index))


def _body(program: Program, scalar: str, syntax: Syntax) -> tuple[list[str], int]:
    """Return the lines of the function of a program, and the number of its intermediate values."""
    text = straight_line(program, syntax)
    body = [f"const {scalar} {name} = {value};" for name, value in text.terms]
    for name, values in text.outputs.items():
        body += [f"{name}[{i}] = {value};" for i, value in enumerate(values)]
    unused = set(program.inputs) - {node.value[0] for node in program.nodes if node.op == INPUT}
    return [f"(void){name};" for name in program.inputs if name in unused] + body, len(text.terms)


def _function(program: Program, scalar: str, body: Iterable[str]) -> str:
    lines = "\n".join(f"    {line}" for line in body)
    head = prototype(program, scalar)
    return f"{head};\n\n{head}\n{{\n{lines}\n}}\n"


def _default_function(
    program: Program, scalar: str, syntax: Syntax, given: Mapping[str, Mapping[str, float]]
) -> str:
    """Constants with the default values, and the function that passes them on."""
    constants = ""
    for name, values in given.items():
        rows = ""
        for remark, value in values.items():
            sign = "-" if value < 0.0 else ""
            rows += f"    {sign}{syntax.constant(abs(value))},  /* {comment(remark)} */\n"
        size = f"{program.name}_{name}[{len(values)}]"
        constants += f"static const {scalar} {size} = {{\n{rows}}};\n\n"
    inputs = {name: shape for name, shape in program.inputs.items() if name not in given}
    names = (f"{program.name}_{name}" if name in given else name for name in program.inputs)
    call = f"{program.name}({', '.join([*names, *program.outputs])});"
    rest = replace(program, name=f"{program.name}_default", inputs=inputs)
    return constants + _function(rest, scalar, [call])


def cpp_header(
    program: Program, *, scalar: str = "double", header: Mapping[str, str] | None = None
) -> str:
    """Write a C++17 header that declares the C function and wraps it in `std::array`.

    Compile the file of `c_source` as C, for instance in the CMakeLists.txt of a ros2_control
    controller, and include this header: calls neither allocate nor lock nor throw.

    Args:
        program: The equations, as given to `c_source`.
        scalar: As given to `c_source`.
        header: More lines for the comment at the top.

    Raises:
        ArgumentError: If `scalar` is neither "double" nor "float".
    """
    program = _named(program, check_scalar(scalar))
    sizes = {name: math.prod(shape) for name, shape in program.inputs.items()}
    results = {name: math.prod(output.shape) for name, output in program.outputs.items()}
    guard = f"ROBOT_DYNAMICS_{program.name}_HPP_"
    parameters = ", ".join(f"const std::array<{scalar}, {n}> & {name}" for name, n in sizes.items())
    fields = "\n".join(f"    std::array<{scalar}, {n}> {name}{{}};" for name, n in results.items())
    arguments = [*(f"{n}.data()" for n in sizes), *(f"results.{n}.data()" for n in results)]
    return f"""{_comment(program, header)}
#ifndef {guard}
#define {guard}

#include <array>

extern "C" {prototype(program, scalar)};

namespace robot_dynamics
{{

/// Results of {program.name}; matrices stand row by row.
struct {program.name}_results
{{
{fields}
}};

/// Evaluate {program.name}, without allocation and exceptions.
inline {program.name}_results {program.name}({parameters}) noexcept
{{
    {program.name}_results results;
    ::{program.name}({", ".join(arguments)});
    return results;
}}

}}  // namespace robot_dynamics

#endif  // {guard}
"""


def _named(program: Program, scalar: str) -> Program:
    return replace(program, name=f"{program.name}_f") if scalar == "float" else program


def check_scalar(scalar: str) -> str:
    """Return the scalar.

    Raises:
        ArgumentError: If it is neither "double" nor "float".
    """
    if scalar not in SCALARS:
        raise ArgumentError(f"scalar must be 'double' or 'float', got {scalar!r}")
    return scalar


def _syntax(scalar: str) -> Syntax:
    f = "f" if check_scalar(scalar) == "float" else ""
    names = {SQRT: "sqrt", EXP: "exp", TANH: "tanh", ABS: "fabs"}
    names |= {op: f"ROBOT_DYNAMICS_{op.upper()}{f.upper()}" for op in (SIN, COS)}
    calls = {
        op: f"{name}{f if name.islower() else ''}({{}})"
        for op, name in {**names, FLOOR: "floor"}.items()
    }
    calls |= {ARCTAN2: f"atan2{f}({{}}, {{}})", SELECT: "({} < {} ? {} : {})"}
    return Syntax(
        input=lambda name, i: f"{name}[{i}]",
        constant=lambda value: literal(value, f),
        calls=calls,
        width=80,
    )


def literal(value: float, suffix: str = "") -> str:
    """Return a number in C, with the suffix f in single precision.

    An infinite one or NaN is a macro of <math.h>.
    """
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    text = f"{value:.9g}" if suffix else repr(value)
    # C would read one without point and exponent as an integer
    return text + ("" if any(c in text for c in ".e") else ".0") + suffix


def prototype(program: Program, scalar: str = SCALARS[0]) -> str:
    """Return the declaration of the function of a program, without a semicolon."""
    inputs = [f"const {scalar} {name}[{_size(shape)}]" for name, shape in program.inputs.items()]
    outputs = [
        f"{scalar} {name}[{_size(output.shape)}]" for name, output in program.outputs.items()
    ]
    return f"void {program.name}({', '.join([*inputs, *outputs])})"


def _size(shape: Shape) -> int:
    return max(1, math.prod(shape))  # C has no arrays without elements


def _comment(program: Program, header: Mapping[str, str] | None) -> str:
    lines = (wrap(line, 95, subsequent_indent="    ") for line in header_lines(program, header))
    return "\n".join(["/*", *(f" * {part}" for line in lines for part in line), " */"])
