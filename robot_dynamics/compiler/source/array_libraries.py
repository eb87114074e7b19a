"""Back end: one Python module of equations in CasADi, JAX or PyTorch.

A `Library` is a small table: its functions and how it takes arrays apart and puts them together.
The module needs nothing but the library.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.operations import ABS, ARCTAN2, CONSTANT, NEGATE, SELECT
from robot_dynamics.compiler.graph.trace import Output, Program
from robot_dynamics.compiler.source.python import entry_names, nested
from robot_dynamics.compiler.source.straight_line import (
    FUNCTION_CALLS,
    StraightLine,
    Syntax,
    header_lines,
    straight_line,
)
from robot_dynamics.errors import check_known
from robot_dynamics.foundation.lazy import needed


@dataclass(frozen=True)
class Library:
    """Spelling of equations in one array library.

    Args:
        title: Its name in prose.
        package: The package to import.
        head: Lines of a module before the function.
        prefix: Name of the package in the text.
        entry: Template of an entry of an input: name and comma-separated index.
        calls: Templates of functions that have other names than in NumPy.
        stacked: Expression that makes one output array of shape and texts of entries.
        batched: Whether arrays have leading axes of states.
        block: Number of terms that are computed together, between two borders that the library's
            compiler does not cross; 0 for no borders.
    """

    title: str
    package: str
    head: str
    prefix: str
    entry: str
    calls: Mapping[str, str]
    stacked: Callable[[tuple[int, ...], list[str]], str]
    batched: bool = True
    block: int = 0

    def syntax_calls(self) -> dict[str, str]:
        """Template of every function."""
        return {
            op: f"{self.prefix}.{call}" for op, call in {**FUNCTION_CALLS, **self.calls}.items()
        }


def _matrix_of_casadi(shape: tuple[int, ...], entries: list[str]) -> str:
    if len(shape) < 2:
        return f"casadi.vertcat({', '.join(entries)})"
    rows = np.array(entries, dtype=object).reshape(len(entries) // shape[-1], shape[-1])
    return f"casadi.vertcat({', '.join(f'casadi.horzcat({row})' for row in map(', '.join, rows))})"


def _stacked(shape: tuple[int, ...], entries: list[str]) -> str:
    return f"_stacked({', '.join(['_zero', repr(shape), *entries])})"


_STACK = """

def _stacked(zero, shape, *entries):
    return {0}.stack({0}.broadcast_{1}(zero, *entries)[1:], -1).reshape(zero.shape + shape)
"""

_BLOCK = '''

def _computed(block):
    """Compute terms once; on a CPU, XLA would compute them again wherever they are used."""
    if jax.default_backend() != "cpu":
        return block()
    shapes = jax.eval_shape(block)
    always = jax.lax.optimization_barrier(True)
    return jax.lax.cond(always, block, lambda: [jnp.zeros(x.shape, x.dtype) for x in shapes])
'''

ARRAY_LIBRARIES: Mapping[str, Library] = {
    "casadi": Library(
        title="CasADi",
        package="casadi",
        head="import casadi\n",
        prefix="casadi",
        entry="{}[{}]",
        calls={
            ABS: "fabs({})",
            ARCTAN2: "atan2({}, {})",
            SELECT: "if_else({} < {}, {}, {})",
        },
        stacked=_matrix_of_casadi,
        batched=False,
    ),
    "jax": Library(
        title="JAX",
        package="jax",
        head="import jax\nimport jax.numpy as jnp\n" + _STACK.format("jnp", "arrays") + _BLOCK,
        prefix="jnp",
        entry="{}[..., {}]",
        calls={},
        stacked=_stacked,
        block=16,
    ),
    "torch": Library(
        title="PyTorch",
        package="torch",
        head="import torch\n" + _STACK.format("torch", "tensors"),
        prefix="torch",
        entry="{}[..., {}]",
        calls={ARCTAN2: "arctan2(torch.as_tensor({}), torch.as_tensor({}))"},
        stacked=_stacked,
    ),
}
"""Array libraries by name."""


def library_source(
    library: str, program: Program, *, header: Mapping[str, str] | None = None
) -> str:
    """Write a program as a module of an array library with one function, named like the program.

    In JAX and PyTorch it takes arrays with any leading axes, shape (..., n), and returns an array,
    or a dict of arrays if there are several outputs. In CasADi it is a `casadi.Function` of column
    vectors.

    Args:
        library: One of `ARRAY_LIBRARIES`.
        program: The equations.
        header: More lines for the docstring of the file, by key: robot, formulation, version.
    """
    spelling = ARRAY_LIBRARIES[library]
    entries = entry_names(program.inputs)
    calls = spelling.syntax_calls()
    text = straight_line(
        program, Syntax(input=lambda name, i: entries[name][i], calls=calls, width=80)
    )
    body = []
    for name, shape in program.inputs.items():
        places = [", ".join(map(str, index)) for index in np.ndindex(*shape)]
        parts = [spelling.entry.format(name, place) for place in places] if shape else [name]
        body.append(f"{nested(entries[name], (len(parts),))} = {nested(parts, (len(parts),))}")
    body += _terms(text, spelling.block)
    if spelling.batched:
        firsts = " + ".join(names[0] for names in entries.values())
        body.append(f"_zero = {spelling.prefix}.zeros_like({firsts})")
    results = {
        name: spelling.stacked(output.shape, _entries(spelling, output, text.outputs[name]))
        for name, output in program.outputs.items()
    }
    about = "\n".join(header_lines(program, header))
    function = program.name if spelling.batched else "_equations"
    return (
        f'"""{about}\n"""\n\n{spelling.head}\n\n'
        f"def {function}({', '.join(program.inputs)}):\n"
        f"{textwrap.indent(chr(10).join([*body, *_returned(spelling, results)]), '    ')}\n"
        + ("" if spelling.batched else _casadi_function(program))
    )


def library_function(library: str, program: Program, purpose: str) -> Callable[..., Any]:
    """Return the function of the module that `library_source` writes.

    Raises:
        MissingPackageError: If the library is not installed.
    """
    check_known("library", library, "robot_dynamics.compiler.source", ARRAY_LIBRARIES)
    needed(ARRAY_LIBRARIES[library].package, purpose, library)
    namespace: dict[str, Any] = {}
    exec(compile(library_source(library, program), f"<{program.name}>", "exec"), namespace)
    return namespace[program.name]


def _terms(text: StraightLine, block: int) -> list[str]:
    """Lines of the intermediate terms, many of them in blocks."""
    lines = [f"{name} = {value}" for name, value in text.terms]
    if not block or len(lines) <= block:
        return lines
    results = " ".join(" ".join(values) for values in text.outputs.values())
    later, blocks = set(_TERM.findall(results)), []
    for start in reversed(range(0, len(lines), block)):
        inside = text.terms[start : start + block]
        kept = ", ".join(name for name, _ in inside if name in later)
        later.update(*(_TERM.findall(value) for _, value in inside))
        indented = [f"    {line}" for line in lines[start : start + block]]
        head = "@_computed\ndef _found():"
        blocks.append([head, *indented, f"    return [{kept}]", f"[{kept}] = _found"])
    return [line for lines in reversed(blocks) for line in lines]


_TERM = re.compile(r"\bt\d+\b")


def _entries(spelling: Library, output: Output, texts: tuple[str, ...]) -> list[str]:
    """Texts of the entries of an output; constants become arrays where arrays have leading axes."""
    if not spelling.batched:
        return list(texts)
    constant = [
        CONSTANT in (e.op, *(a.op for a in e.args if e.op == NEGATE)) for e in output.entries
    ]
    return [
        ("_zero" if float(text) == 0.0 else f"_zero + {text}") if known else text
        for text, known in zip(texts, constant, strict=True)
    ]


def _returned(spelling: Library, results: Mapping[str, str]) -> list[str]:
    if not spelling.batched:
        return [f"return [{', '.join(results.values())}]"]
    if len(results) == 1:
        return [f"return {value}" for value in results.values()]
    return ["return {", *[f'    "{name}": {value},' for name, value in results.items()], "}"]


def _casadi_function(program: Program) -> str:
    """Write the function of CasADi at the end of a module."""
    symbols = ", ".join(
        f'casadi.SX.sym("{name}"{"".join(f", {n}" for n in shape)})'
        for name, shape in program.inputs.items()
    )
    names = f"{_quoted(program.inputs)}, {_quoted(program.outputs)}"
    return (
        f"\n\n_inputs = [{symbols}]\n"
        f'{program.name} = casadi.Function("{program.name}", _inputs, _equations(*_inputs), '
        f"{names})\n"
    )


def _quoted(names: Mapping[str, object]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
