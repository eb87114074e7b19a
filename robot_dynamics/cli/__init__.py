"""robot-dynamics: the command line of the package. One file per verb, in verbs/."""

from __future__ import annotations

import argparse
import io
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from robot_dynamics.cli.warnings_shown import warnings_shown
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, nearest
from robot_dynamics.foundation.numbers import number_from, whole_number_from
from robot_dynamics.robot.catalogue import XACRO_ARGUMENT, with_arguments
from robot_dynamics.version import __version__

ROBOTS: Mapping[str, str] = {
    "info": "joints, limits and masses of a URDF, and the size of its equations",
    "torque": "joint torques of one motion state, and the contribution of each term",
    "kinematics": "Denavit-Hartenberg table, structure and branches of the inverse kinematics",
    "pose": "pose of a frame at given joint positions",
    "ik": "all joint positions that bring a frame to a pose",
    "equations": "the equations of a robot as text, LaTeX, C or Python",
    "compare": "comparison of the formulations: agreement, operations, time",
    "table": "a robot as a table: Denavit-Hartenberg, or zero reference position",
    "urdf": "a robot as a URDF of its own: locked, cut to a chain, or from a table",
    "simplify": "simplified models: operations saved, torque lost",
}
"""Verbs about a robot."""

MOTIONS: Mapping[str, str] = {
    "effort": "add the effort of each point to a trajectory",
    "excite": "find an exciting motion for identification, within the limits of an arm",
    "identify": "fit inertias and friction to a recorded motion, and write a URDF",
    "validate": "how well a URDF predicts the efforts of a recorded motion",
    "payload": "identify the payload of an identified arm from a motion with it",
    "forward": "efforts in, motion out: forward dynamics by the integrators of the papers",
    "simulate": "follow a motion in simulation, without ROS, as fast as it goes",
    "view": "the robot in a browser, simulated: watch it move, drag it, load it",
    "study": "thousands of closed loops: the model error that the limits allow",
    "demo": "the same through real ROS 2 nodes and topics, in real time",
    "rehearse": "the first day on a real arm, in simulation: hold, motion, stop, killed controller",
    "replay": "a recorded run in a browser, with a slider for its time",
    "plot": "a recorded run as a picture",
}
"""Verbs about motions."""

VERBS: Mapping[str, str] = {
    **ROBOTS,
    **MOTIONS,
    "paper": "tables, numbers and figures of the publications, printed beside ours",
    "export": "a ros2_control controller of a robot as a C++ package, without Python",
    "drivers": "what is known of the drivers of arms, with sources",
    "ros": "control running nodes: send a goal, echo a topic, set a mode or a payload",
    "node": "run one node",
    "doctor": "list what this machine lacks for ROS 2 and for real time, with remedies",
}
"""All verbs, in the order of the help."""

EXTRAS: Mapping[str, str] = {
    "matplotlib": "cli",
    "viser": "view",
    "msgspec": "view",
    "trimesh": "view",
    "mcap": "view",
    "zstandard": "view",
    "rosbags": "view",
    "distributed": "study",
    "pyarrow": "study",
    "toppra": "study",
}
"""Extra of the package that installs an optional module, by that module."""


EXAMPLES = """\
examples:
  robot-dynamics info arm.urdf                    its joints, limits, masses and warnings
  robot-dynamics torque ur5 --q 0,-1,1,0,0,0      its holding torques there
  robot-dynamics equations planar_2r              its equations, to be read
  robot-dynamics equations ur5 --as c > ur5.c     the same for a microcontroller
  robot-dynamics simulate panda --output out      follow a motion, with a picture

A robot is the path of a URDF or table, or a known name: planar_2r, puma_gupta, and those of
example-robot-data and robot_descriptions where they are installed. Arguments of a xacro file
follow it: robot-dynamics info ur.urdf.xacro name:=ur ur_type:=ur5e
`robot-dynamics VERB --help` says more."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Breaks paragraphs as wide as the terminal, and leaves indented lines as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = []
        for part in text.split("\n\n"):
            indented = any(line.startswith((" ", "robot-dynamics ")) for line in part.split("\n"))
            parts.append(part if indented else textwrap.fill(part, width))
        return "\n\n".join(parts)


class _Parser(argparse.ArgumentParser):
    """A parser whose numbers are read as in files, and that takes arguments of xacro files.

    The same holds for its subparsers.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("type", float, number_from)
        self.register("type", int, whole_number_from)
        self.formatter_class = _Help

    def error(self, message: str) -> NoReturn:
        """End with status 2: the fault, with the most similar name, and where to read on."""
        self.exit(2, f"{self.prog}: {message}\n{self.prog} --help lists what it takes\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        close = None
        if action.choices is not None and value not in action.choices:
            close = nearest(str(value), map(str, action.choices))
        if close is not None:
            raise argparse.ArgumentError(action, f"no '{value}'; did you mean '{close}'?")
        super()._check_value(action, value)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a command line; an option that does not exist is an error of its verb."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            self.verb_of(found).unknown(rest)
        return found

    def verb_of(self, found: argparse.Namespace) -> _Parser:
        """Return the parser of the verb, or of its action."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                inner: _Parser = action.choices[getattr(found, action.dest)]
                return inner.verb_of(found)
        return self

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """Report words that this parser does not take, the first option among them at best."""
        word = next((word for word in words if word.startswith("--")), words[0])
        name = word.partition("=")[0]
        options = [option for action in self._actions for option in action.option_strings]
        if not name.startswith("-"):
            self.error(f"'{word}' is one word too many")
        close = nearest(name, options)
        self.error(f"no option '{name}'" + (f"; did you mean '{close}'?" if close else ""))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a command line; words name:=value are arguments of the xacro file of the robot."""
        if args is None or all(action.dest != "robot" for action in self._actions):
            return super().parse_known_args(args, namespace)
        arguments = [word for word in args if XACRO_ARGUMENT.match(word)]
        others = [word for word in args if word not in arguments]
        found, rest = super().parse_known_args(others, namespace)
        if arguments:
            if found.robot is None:
                raise ArgumentError(f"{arguments[0]} is of a xacro file; give the file before it")
            found.robot = with_arguments(found.robot, arguments)
        return found, rest


def parser(verb: str | None) -> argparse.ArgumentParser:
    """Return the parser; only the module of the requested verb is imported."""
    top = _Parser(
        prog="robot-dynamics",
        description="A robot's equations of motion, compiled from its URDF.",
        epilog=EXAMPLES,
    )
    top.add_argument("--version", action="version", version=f"robot-dynamics {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, summary in VERBS.items():
        sub = verbs.add_parser(name, help=summary, description=summary)
        if name == verb:
            module = import_module(f"robot_dynamics.cli.verbs.{name}")
            sub.description = module.__doc__
            module.add_arguments(sub)
            sub.add_argument("-q", "--quiet", action="store_true", help="print no warnings")
            sub.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        Exit status: 0 if all went well, 1 after an error, which is printed on stderr, 130 after
        Ctrl-C. Wrong usage ends with 2.
    """
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        _complete()
    for stream in (sys.stdout, sys.stderr):  # names may have characters that a terminal lacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in given if not word.startswith("-")), None)
    try:
        arguments = parser(verb).parse_args(given)
        with warnings_shown(arguments.quiet):
            return int(arguments.run(arguments))
    except RobotDynamicsError as error:
        print(f"robot-dynamics {verb}: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        needed = f"needs {missing}; install it with pip install 'robot_dynamics[{EXTRAS[missing]}]'"
        print(f"robot-dynamics {verb}: {needed}", file=sys.stderr)
        return 1
    except MemoryError:
        shorter = "give a shorter duration, a lower rate or fewer runs"
        print(f"robot-dynamics {verb}: needs more memory than there is; {shorter}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has gone: `robot-dynamics info x | head`
        sys.stderr.close()
        return 1
    except OSError as error:  # an unwritable file, a full disk
        if error.filename is None and error.strerror is None:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"robot-dynamics {verb}: {where}{error.strerror}", file=sys.stderr)
        return 1


def _complete() -> None:
    """Answer a shell by argcomplete, and end the process; do nothing without argcomplete."""
    try:
        import argcomplete  # noqa: PLC0415  # optional
    except ModuleNotFoundError:
        return
    from robot_dynamics.robot.catalogue import described_robots, known_robots  # noqa: PLC0415

    files = argcomplete.FilesCompleter()

    def names_and_files(prefix: str, action: argparse.Action, **others: object) -> list[str]:
        known = {*known_robots(), *described_robots()} if action.dest == "robot" else set()
        names = sorted(name for name in known if name.startswith(prefix))
        return [*names, *files(prefix, action=action, **others)]

    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    before = line.split(" ")[int(os.environ["_ARGCOMPLETE"]) : -1]  # behind the program's name
    verb = next((word for word in before if word and not word.startswith("-")), None)
    argcomplete.autocomplete(parser(verb), default_completer=names_and_files)
