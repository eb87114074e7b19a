"""Source code of equations: a file per language, and all languages by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.source.c import c_source, cpp_header
from robot_dynamics.compiler.source.python import python_source
from robot_dynamics.compiler.source.readable import latex_equations, text_equations

Writer = Callable[[Program, Mapping[str, str]], str]
"""Writes a program, with more lines for the comment at the top, by key."""

LANGUAGES: Mapping[str, Writer] = {
    "text": lambda program, header: text_equations(program),
    "latex": lambda program, header: latex_equations(program),
    "c": lambda program, header: c_source(program, header=header),
    "c-float": lambda program, header: c_source(program, scalar="float", header=header),
    "cpp-header": lambda program, header: cpp_header(program, header=header),
    "cpp-header-float": lambda program, header: cpp_header(program, scalar="float", header=header),
    "python": lambda program, header: python_source(program, header=header),
}
