"""Back end: equations as text and as LaTeX, readable for small programs.

The caller chooses symbols: {"q": ["theta1", "theta2"]} names the entries of an input
or output, row by row. Sines and cosines are written as in papers on arms, by the
numbers of the joints whose positions add up to the angle: s1 = sin(q1),
c23 = cos(q2 + q3).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import (
    ABS,
    ADD,
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
from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.source.straight_line import StraightLine, Syntax, straight_line
from robot_dynamics.errors import ShapeError

Symbols = Mapping[str, Sequence[str]]
"""Symbols of the entries of inputs and outputs, by name of the array, row by row."""

Pattern = Callable[[str, object], str]
"""Returns the symbol of an entry from the name of the array and a number."""

TEXTBOOK: Mapping[str, str] = {"qd": r"\dot q", "qdd": r"\ddot q", "tau": r"\tau"}
"""Symbols of arrays in LaTeX, where they differ from the name."""

_OF_ONE_SYMBOL = re.compile(r"(\\(?:sin|cos)) \\left\( ([\\\w{}]+) \\right\)")


def text_equations(program: Program, symbols: Symbols | None = None) -> str:
    """Write a program as plain text, one line per intermediate term and output entry.

    Args:
        program: The equations.
        symbols: Symbols of the entries; by default q1, q2, ... for entries of q.

    Raises:
        ShapeError: If an array has another number of entries than symbols.
    """
    names = _symbols(program, symbols or {}, "{}{}".format)
    if _ambiguous(names):  # entry 11 of q, and entry 1 of q1
        names = _symbols(program, symbols or {}, "{}_{}".format)
    angles = next(iter(program.inputs), "")
    syntax = Syntax(
        input=lambda name, i: names[name][i],
        constant=_short,
        square="{}**2",
        name_of=lambda node: _wave_name(node, "{}{}".format, angles),
        width=100,
    )
    text = straight_line(program, syntax)
    return "".join(f"{left} = {right}\n" for left, right in _lines(text, names))


def latex_equations(program: Program, symbols: Symbols | None = None) -> str:
    r"""Write a program as an align* environment of LaTeX.

    Args:
        program: The equations.
        symbols: Symbols of the entries; by default as in textbooks: q_1, \dot q_1, \tau_1, ...

    Raises:
        ShapeError: If an array has another number of entries than symbols.
    """
    names = _symbols(program, symbols or {}, _subscripted)
    angles = next(iter(program.inputs), "")
    calls = {SIN: r"\sin", COS: r"\cos", EXP: r"\exp", TANH: r"\tanh"}
    syntax = Syntax(
        input=lambda name, i: names[name][i],
        constant=_latex_number,
        term=lambda k: _subscripted("t", k),
        calls={op: f"{call} \\left( {{}} \\right)" for op, call in calls.items()}
        | {SQRT: r"\sqrt{{{}}}", ABS: r"\left| {} \right|"}
        | {FLOOR: r"\left\lfloor {} \right\rfloor"}
        | {ARCTAN2: r"\operatorname{{atan2}} \left( {}, {} \right)"}
        | {SELECT: r"\begin{{cases}} {2} & {0} < {1} \\ {3} & \text{{else}} \end{{cases}}"},
        times=" ",
        times_number=r" \cdot ",
        square="{}^2",
        over=r"\frac{{{}}}{{{}}}",
        over_groups=False,
        group=r"\left( {} \right)",
        name_of=lambda node: _wave_name(node, _subscripted, angles),
        width=160,
    )
    text = straight_line(program, syntax)
    equations = " \\\\\n".join(f"{left} &= {right}" for left, right in _lines(text, names))
    lines = _OF_ONE_SYMBOL.sub(r"\1 \2", equations)
    return f"\\begin{{align*}}\n{lines}\n\\end{{align*}}\n"


def _lines(text: StraightLine, names: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    results = [
        line
        for name, values in text.outputs.items()
        for line in zip(names[name], values, strict=True)
    ]
    return [*text.terms, *results]


def _subscripted(name: str, number: object) -> str:
    """The symbol of LaTeX of entry `number` of an array."""
    symbol = TEXTBOOK.get(name, name if len(name) == 1 else rf"\mathrm{{{name}}}")
    subscript = str(number) if len(str(number)) == 1 else f"{{{number}}}"
    return f"{symbol.replace('_', chr(92) + '_')}_{subscript}"


def _symbols(program: Program, given: Symbols, pattern: Pattern) -> dict[str, list[str]]:
    """Symbols of all entries, chosen or made from the name of the array and a number."""
    shapes = dict(program.inputs) | {n: output.shape for n, output in program.outputs.items()}
    names = {}
    for name, shape in shapes.items():
        count = math.prod(shape)
        numbers = [pattern(name, i + 1) for i in range(count)]
        if len(shape) == 2:
            rows, columns = shape
            between = "," if max(shape) > 9 else ""
            numbers = [
                pattern(name, f"{i + 1}{between}{j + 1}")
                for i in range(rows)
                for j in range(columns)
            ]
        names[name] = list(given.get(name, [name] if not shape else numbers))
        if len(names[name]) != count:
            raise ShapeError(
                f"'{name}' has {count} entries but {len(names[name])} symbols are given"
            )
    return names


def _ambiguous(names: Mapping[str, Sequence[str]]) -> bool:
    every = [symbol for symbols in names.values() for symbol in symbols]
    return len(set(every)) < len(every)


def _wave_name(node: Expression, pattern: Pattern, of: str) -> str | None:
    """s1 for the sine of the first entry of an array, c12 for the cosine of the first two."""
    if node.op not in (SIN, COS):
        return None
    terms, stack = [], [node.args[0]]
    while stack:
        x = stack.pop()
        if x.op == ADD:
            stack.extend(x.args)
        elif x.op == INPUT:
            terms.append(x.value)
        else:
            return None
    if any(name != of for name, _ in terms):
        return None
    digits = sorted(position + 1 for _, position in terms)
    separator = "," if digits[-1] > 9 and len(digits) > 1 else ""
    return pattern("s" if node.op == SIN else "c", separator.join(map(str, digits)))


def _short(value: float) -> str:
    """Format a number: 2 instead of 2.0, 2.7 instead of 2.6999999999999997."""
    return f"{value:.15g}"


def _latex_number(value: float) -> str:
    mantissa, _, exponent = _short(value).partition("e")
    return mantissa if not exponent else rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
