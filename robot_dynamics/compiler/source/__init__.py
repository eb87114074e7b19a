"""Source code of equations: a file per language, and all languages by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.source.array_libraries import ARRAY_LIBRARIES, library_source
from robot_dynamics.compiler.source.c import c_source, cpp_header
from robot_dynamics.compiler.source.python import python_source
from robot_dynamics.compiler.source.readable import latex_equations, text_equations

Writer = Callable[[Program, Mapping[str, str], Mapping[str, Mapping[str, float]]], str]
"""Writes a program, with more lines for the comment at the top, by key, and default values of
inputs, by name of the input and a remark on each number."""


def _of_library(name: str) -> Writer:
    return lambda program, header, defaults: library_source(name, program, header=header)


LANGUAGES: Mapping[str, Writer] = {
    "text": lambda program, header, defaults: text_equations(program),
    "latex": lambda program, header, defaults: latex_equations(program),
    "c": lambda *given: c_source(given[0], header=given[1], defaults=given[2]),
    "c-float": lambda *given: c_source(
        given[0], scalar="float", header=given[1], defaults=given[2]
    ),
    "cpp-header": lambda program, header, defaults: cpp_header(program, header=header),
    "cpp-header-float": lambda program, header, defaults: cpp_header(
        program, scalar="float", header=header
    ),
    "python": lambda program, header, defaults: python_source(program, header=header),
    **{name: _of_library(name) for name in ARRAY_LIBRARIES},
}
