"""Hostile names of robots, links and joints, through every export: fuzz_names.py [SECONDS [SEED]].

An export of a robot with such names is, but for the names, that of the same robot with plain names:
nothing of a name becomes code, an element, a command or a key.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
import tempfile
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import yaml

sys.path[:0] = [str(Path(__file__).parents[1] / "helpers"), str(Path(__file__).parent)]

from bounded import REFUSED, bounded, main

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.source import LANGUAGES
from robot_dynamics.compiler.source.readable import latex_equations, text_equations
from robot_dynamics.control.friction import Friction
from robot_dynamics.dynamics.exported import Export
from robot_dynamics.dynamics.symbolic_parameters import symbolic_program
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.export.model_library import ModelRequest, model_source
from robot_dynamics.foundation.names import identifier
from robot_dynamics.identification.export.html_report import html_report
from robot_dynamics.identification.export.parameter_file import Drives, write_parameters
from robot_dynamics.identification.export.write_back import with_identified
from robot_dynamics.identification.validation import (
    Errors,
    JointFit,
    RegimeFit,
    Report,
)
from robot_dynamics.robot.endpoint import end_effector_by_rule
from robot_dynamics.robot.transforms import with_payload
from robot_dynamics.trajectory.trajectory_files import read_trajectory, write_trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

PIECES = (
    *('"""; import os; os.abort()\n"""', "'''", '"', "'", "\\", "\\\n", "\\N{EM}", "#", "\n"),
    *("*/ int x; /*", "*\\\n/", "??/", "*??/\n/ int y;", "//", "*/", "/*", "%:include <a>", "\r"),
    *("\\input{a}", "\\end{align*}", "$\\frac$", "$", "$$x$", "_", "^", "{", "}", "%", "&", "~"),
    *("<script>alert(1)</script>", "' onload='a()'", "]]>", "<!--", "&lt;", "&#60;", "<b"),
    *(": ", "- ", "!!python/object/apply:os.abort []", "&a ", "*a", "{a: b}", "? ", "|", "---\n"),
    *("{0}", "{root}", "{{", "%s", "../../", "/etc/x", "C:", "[red]", "[/]", ":smile:", "\t", " "),
    *("\u2028", "\u202e", "\x85", "\x9b31m", "\ufeff", "\u00a0", "é", "ß", "٣", "☃", "𝒳", "int"),
    *("x" * 300, "7", "a-b", "a b", "a_b", "a__b", "A", "def", "__import__", ",", ";", "=cmd()"),
)

URDF = """<robot name={0}><link name={1}/><link name={2}>{body}</link><link name={3}>{body}</link>
<link name={4}/>
<joint name={5} type="revolute">
<parent link={1}/><child link={2}/><axis xyz="0 1 0"/>{limit}</joint>
<joint name={6} type="prismatic">
<parent link={2}/><child link={3}/><axis xyz="1 0 0"/>{limit}</joint>
<joint name={7} type="fixed"><parent link={3}/><child link={4}/><origin xyz="0.3 0 0.1"/></joint>
</robot>"""
BODY = """<inertial><origin xyz="0.1 0 0"/><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
LIMIT = """<limit lower="-1" upper="1" velocity="2" effort="9"/>
<dynamics damping="1" friction="2"/>"""
PLAIN = ("robot", "base", "upper", "lower", "tool", "one", "two", "three")

VARIANTS = {
    "inverse": Variant(wrench_at="", payload_at="", gravity=True, friction=True),
    "mass_matrix": Variant(payload_at=""),
    "pose": Variant(frame=""),
}
"""Kernels to export; an empty frame stands for the tool."""


def arm(names):
    """A robot of these names, and its URDF."""
    quoted = [quoteattr(name, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}) for name in names]
    text = URDF.format(*quoted, body=BODY, limit=LIMIT)
    return read_urdf(text), text


def hostile(rng):
    pieces = [rng.choice(PIECES) for _ in range(rng.randrange(1, 4))]
    return "".join(pieces)


def exports(names, picture=True):
    """Every export by name, and the names of what it defines."""
    robot, text = arm(names)
    tool, dynamics = robot.tips[0], Dynamics(robot)
    found = {}
    for kernel, marked in VARIANTS.items():
        variant = Variant(
            **{key: tool if value == "" else value for key, value in vars(marked).items()}
        )
        export = Export(robot, kernel, "augmented_body", variant)
        program = replace(dynamics.program(kernel, variant), name=export.name)
        for language in LANGUAGES:
            written = export.write(language, program)
            found[f"{kernel} {language}"] = shape(language, written, export.name, tool)
    symbolic = symbolic_program(robot, "pose", variant=Variant(frame=tool))
    export = Export(robot, "pose", "kane", parameters=symbolic.parameters)
    for language in ("c", "python"):
        written = export.write(language, symbolic.program)
        found[f"symbolic {language}"] = shape(language, written, "pose", tool)
    text_form = text_equations(symbolic.program, symbolic.symbols())
    found["symbolic text"] = text_form.replace(identifier(tool), "NAME")
    latex = latex_equations(symbolic.program, symbolic.symbols(latex=True))
    found["symbolic latex"] = latex.replace(identifier(tool).replace("_", r"\_"), "NAME")
    found["notebook"] = elements(robot._repr_html_())
    if picture:  # slow
        found["report"] = elements(html_report(report(robot)))
        found["model"] = model(robot, text)
    check_files(robot, text)
    return found


def shape(language, text, name, tool):
    """Text of an export without comments, and with its names replaced."""
    if language in ("python", "casadi", "jax", "torch"):
        doc, *rest = ast.parse(text).body
        assert isinstance(doc.value.value, str)
        return [ast.dump(node).replace(repr(name), "NAME") for node in rest]
    if language.startswith("c"):
        text = text.replace("??/", "\\").replace("\\\n", "")
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
        assert text.isascii()
    whole = rf"(?<![A-Za-z0-9]){identifier(tool)}(?![A-Za-z0-9])"  # not the A of a macro's name
    return re.sub(whole, "NAME", text.replace(name, "NAME"))


def model(robot, text):
    """C file of a model library without comments and literals."""
    command = f"robot-dynamics export model {shlex.quote(robot.name)}"
    tip = end_effector_by_rule(robot)
    request = ModelRequest(text, robot, {}, endpoint=tip, end_effector=tip, command=command)
    written = model_source(request).whole()
    assert re.sub(r"/\*.*?\*/", "", written, flags=re.S).isascii()
    return nothing_but_code(written)


def nothing_but_code(text):
    """C without comments and literals."""
    text = text.replace("??/", "\\").replace("\\\n", "")
    tokens = r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/'
    return re.sub(tokens, lambda x: '""' if x[0][0] == '"' else " ", text, flags=re.S)


class Elements(HTMLParser):
    """Tags with the names of their attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, [key for key, _ in attributes]))

    def handle_comment(self, data):
        self.found.append("comment")


def elements(text):
    parser = Elements()
    parser.feed(text)
    return parser.found


def report(robot):
    n, names = robot.dof, robot.joint_names
    errors = Errors(0.1, 0.1, 0.1, 0.95)
    regimes = (RegimeFit("all", 3, errors, errors),)
    fits = tuple(JointFit(name, regimes, 0.0, 0.9, "good") for name in names)
    time, zero = np.arange(3.0), np.zeros((3, n))
    regime = np.zeros((3, n), dtype=int)
    reasons = tuple(f"joint '{name}' moves too little" for name in names)
    return Report(robot.name, fits, (), "good", reasons, time, *[zero] * 4, regime, 9.0)


def check_files(robot, text):
    """Files of names are read as they were written."""
    names, n = robot.joint_names, robot.dof
    again = read_urdf(with_identified(text, with_payload(robot, robot.links[2].name, 0.5)).decode())
    assert [link.name for link in again.links] == [link.name for link in robot.links]
    assert (again.name, again.joint_names) == (robot.name, names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{identifier(robot.name)}.yaml"
        write_parameters(path, robot, Drives(Friction.of(robot), np.ones(n)))
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
        found = yaml.safe_load(path.read_text(encoding="utf-8"))["/**"]["ros__parameters"]
        assert list(found) == ["friction", "rotor"]
        assert list(found["friction"]) == list(found["rotor"]) == list(names)
        motion = Waypoints(names, np.array([0.0, 1.0]), np.zeros((2, n)))
        write_trajectory(path, motion)
        assert read_trajectory(path).joint_names == names
        table = path.with_suffix(".csv")
        write_trajectory(table, motion)
        assert read_trajectory(table).joint_names == tuple(f"q.{x}".strip()[2:] for x in names)


@cache
def plain():
    return exports(PLAIN)


def one(rng):
    names = [hostile(rng) for _ in PLAIN]
    robot, _ = bounded(lambda: arm(names))
    if robot is REFUSED:  # names that are the same, empty, or no XML
        return False
    distinct = {*names, *PLAIN, *PIECES}
    assert len({identifier(name) for name in distinct}) == len(distinct)
    for name, found in exports(names, picture=rng.random() < 0.2).items():
        assert found == plain()[name], (name, names)
    return True


if __name__ == "__main__":
    main("exported names", one, fewest=20)  # of a second each
