"""A robot as one C99 file: the kernels of its controller, and the tables that describe it.

The file needs nothing but a C compiler. It holds the interface of `robot_model.h`, which the
controllers of the package `robot_dynamics_controllers` load as a shared library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap

import numpy as np

from robot_dynamics.compiler.source.c import Tabulated, macros_of, tabulated
from robot_dynamics.control.actuators import Actuators
from robot_dynamics.control.configuration import Defaults
from robot_dynamics.control.configured_step import ConfiguredStep
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.control.limits import effort_limits
from robot_dynamics.control.parameters import HIGHEST
from robot_dynamics.control.task_space import CONSISTENT
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, RobotError
from robot_dynamics.export.controllers_package import interface_header
from robot_dynamics.export.library_compiler import COMMAND, LibraryCompiler
from robot_dynamics.export.literals import text
from robot_dynamics.export.model_kernels import FUNCTIONS, driver, programs_of
from robot_dynamics.export.model_tables import (
    Tables,
    add_frames,
    add_joints,
    add_urdf,
    add_words,
)
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import comment
from robot_dynamics.identification import Drives
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf.transmissions import read_transmissions
from robot_dynamics.spatial import Inertia
from robot_dynamics.version import __version__

HEAD = f"""#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#define NOT_INLINE __attribute__((noinline))
#else
#define EXPORTED
#define NOT_INLINE
#endif

{macros_of()}"""
"""First lines of every C file."""

HIDDEN, SHOWN = (
    f"#if defined(__GNUC__)\n#pragma GCC visibility {what}\n#endif\n"
    for what in ("push(hidden)", "pop")
)
"""Lines before and after declarations that the library does not export, which code reaches
without a table."""


@dataclass(frozen=True)
class ModelRequest:
    """The robot and the options of a model library.

    Args:
        urdf: Text of the URDF.
        whole: The robot of the URDF, without changes.
        locked: Positions of joints that stand still, rad or m.
        payload: Load that the arm carries from the start, in the frame `endpoint`.
        endpoint: Link or frame of payloads and wrenches; None for none.
        end_effector: Link or frame that the modes in task space control; None without these modes.
        projector: Into their null space.
        bandwidth: Natural frequency under the default gains, rad/s.
        drives: Friction and rotors; by default the friction of the URDF.
        base_moves: Whether the motion of the base is an input.
        added: What the robot is known to add to its commands; see `Defaults`.
        command: Command that writes the model, without absolute paths.
    """

    urdf: str
    whole: Robot
    locked: Mapping[str, float]
    payload: Inertia | None = None
    endpoint: str | None = None
    end_effector: str | None = None
    projector: str = CONSISTENT
    bandwidth: float = DEFAULT_BANDWIDTH
    drives: Drives | None = None
    base_moves: bool = False
    added: Sequence[str] = ()
    command: str = "robot-dynamics export model"

    @property
    def robot(self) -> Robot:
        """The robot that is controlled."""
        return self.whole.with_locked(self.locked) if self.locked else self.whole


class ModelParts(ConfiguredStep):
    """The step of a requested robot, and its configuration.

    Args:
        request: The robot and its options.

    Raises:
        RobotError: If an effort limit is missing.
        UnknownNameError: If a locked joint or a frame does not exist.
    """

    def __init__(self, request: ModelRequest) -> None:
        robot = request.robot
        check_effort_limits(robot)
        for frame in (request.endpoint, request.end_effector):
            if frame is not None:
                robot.frame(frame)
        drives = request.drives or Drives(Friction.of(robot), np.zeros(robot.dof))
        carried = request.endpoint, request.end_effector, request.payload
        driven = drives.friction, drives.rotor_inertia
        rest = request.bandwidth, request.added
        defaults = Defaults(Dynamics(robot), *carried, *driven, *rest)
        super().__init__(defaults, base_moves=request.base_moves, projector=request.projector)


@dataclass(frozen=True)
class ModelSource:
    """A robot in C99: one file, or a file for each kernel and one that links them.

    Args:
        comment: What the file is.
        kernels: The functions.
        rest: What calls them, and the tables.
    """

    comment: str
    kernels: Sequence[Tabulated]
    rest: str

    def whole(self) -> str:
        """Return the one file."""
        code = [
            f"static {one.head};\n{_numbers(one, 'static ')}\n{one.code}" for one in self.kernels
        ]
        return "\n".join([self.comment, HEAD, interface_header(), *code, self.rest])

    def link(self) -> str:
        """Return the file that holds all but the code of kernels."""
        code = [f"{one.head};\n{_numbers(one)}" for one in self.kernels]
        parts = self.comment, HEAD, interface_header(), HIDDEN, *code, SHOWN, self.rest
        return "\n".join(parts)


def kernel_file(kernel: Tabulated) -> str:
    """Return the file of one kernel."""
    return "\n".join(
        [
            HEAD,
            HIDDEN,
            f"extern {kernel.table};" if kernel.numbers else "",
            f"{kernel.head};",
            kernel.code,
        ]
    )


def model_source(
    request: ModelRequest, written: Callable[[Tabulated], object] = lambda kernel: None
) -> ModelSource:
    """Write a robot in C99, the same for the same request.

    Args:
        request: The robot and its options.
        written: Called with each kernel as soon as it is written.

    Raises:
        RobotError: If an effort limit is missing.
        UnknownNameError: If a locked joint or a frame does not exist.
    """
    parts = ModelParts(request)
    tables = Tables()
    add_joints(tables, parts.robot)
    add_words(tables)
    add_urdf(tables, request.whole, request.endpoint)
    add_frames(tables, parts.robot, request.end_effector)
    tables.members["payload_frame"] = text(request.endpoint or "")
    tables.members["end_effector"] = text(request.end_effector or "")
    tables.members["projector"] = text(request.projector)
    initial = parts.initial()
    layouts = {
        name: getattr(owner, name)
        for owner, names in (
            (parts.step, ("state", "arrived", "settings")),
            (parts.configuration, ("parameters", "refusal")),
        )
        for name in names
    }
    for name, layout in layouts.items():
        tables.layout(name, layout, initial[name])
    coupling = _coupling(request.urdf, parts.robot)
    rows = [] if coupling is None else [repr(float(x)) for x in coupling.ravel()]
    tables.members["transmissions"] = tables.table("const double", "transmission_table", rows)
    tables.members["base_moves"] = str(int(request.base_moves))

    kernels = []
    for name, program in programs_of(
        parts.step, parts.configuration, request.end_effector, parts.dynamics
    ):
        kernels.append(tabulated(replace(program, name=name)))
        written(kernels[-1])
    rest = "\n".join([driver(parts.step), tables.source()])
    whole = repr(kernels) + rest
    members = {
        "abi_version": "ROBOT_DYNAMICS_ABI_VERSION",
        "size": "sizeof(struct robot_dynamics_model)",
        "robot": text(parts.robot.name),
        "fingerprint": text(hashlib.sha256(whole.encode()).hexdigest()[:16]),
        "command": text(request.command),
        "version": text(__version__),
        **tables.members,
        "step": "step",
        **{name: f"model_{name}" for name in FUNCTIONS},
    }
    filled = "".join(f"    .{member} = {value},\n" for member, value in members.items())
    structure = f"""
EXPORTED const struct robot_dynamics_model robot_dynamics_model = {{
{filled}}};
"""
    return ModelSource(_head(request), kernels, rest + structure)


def _numbers(kernel: Tabulated, storage: str = "") -> str:
    """Return the definition of the table of a kernel; nothing if it has none."""
    if not kernel.numbers:
        return ""
    rows = wrap(", ".join(map(repr, kernel.numbers)), 95)
    return "\n".join([f"{storage}{kernel.table} = {{", *(f"    {row}" for row in rows), "};"])


def _head(request: ModelRequest) -> str:
    lines = [
        f"Robot {comment(request.robot.name)} as a model library of robot_dynamics {__version__}, "
        "written by:",
        f"  {comment(request.command)}",
        "Do not edit. Compile it on the computer that loads it:",
        f"  {' '.join(COMMAND)} -shared -o model.so model.c -lm",
        "SPDX-License-Identifier: Apache-2.0",
    ]
    parts = (
        part
        for line in lines  # commands stay on one line
        for part in ([line] if line.startswith(" ") else wrap(line, 95))
    )
    return "\n".join(["/*", *(f" * {part}" for part in parts), " */"])


def check_effort_limits(robot: Robot) -> None:
    """Refuse a robot with a joint whose effort is not limited.

    Raises:
        RobotError: It names the first joint without a limit.
    """
    for name, limit in zip(robot.joint_names, effort_limits(robot), strict=True):
        if not limit < HIGHEST:  # a URDF that gives as much means no limit
            raise RobotError(
                f"joint '{name}' of robot '{robot.name}' has no effort limit; give it one in the "
                'URDF, <limit effort="..."> above 0, or fix the joint with --lock'
            )


def _coupling(urdf: str, robot: Robot) -> Array | None:
    """Return the movement of the actuators per movement of the joints, shape (n, n).

    None if the URDF has no transmission for every joint.
    """
    try:
        return Actuators.of_transmissions(robot, read_transmissions(urdf)).matrix
    except RobotDynamicsError:
        return None


def write_library(request: ModelRequest, output: Path) -> None:
    """Compile a robot into a shared library, in whole or not at all.

    Raises:
        RobotError: See `model_source`.
        UnknownNameError: See `model_source`.
        RobotDynamicsError: If there is no compiler, or the compiler fails.
        OSError: If the library cannot be written; it names the file, and what was there stays.
    """
    with LibraryCompiler() as compiler:
        source = model_source(request, lambda kernel: compiler.add(kernel_file(kernel)))
        compiler.link(source.link(), output)
