"""Exported kernels: their names, the explanation at the top of a file, and their default values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.source import LANGUAGES
from robot_dynamics.dynamics.kernels import KERNELS, OF_FRAMES, WITH_FRICTION
from robot_dynamics.dynamics.symbolic_parameters import SymbolicParameter
from robot_dynamics.dynamics.variant import FRICTION_WIDTH, MOTION_ONLY, Variant
from robot_dynamics.errors import ArgumentError, check_known, shown
from robot_dynamics.foundation.names import identifier
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.robot.free_joints import free_joints
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.version import __version__

_MOTION = {
    "q": "joint positions in the order of joints, rad or m",
    "qd": "joint velocities, rad/s or m/s",
    "qdd": "joint accelerations, rad/s^2 or m/s^2",
    "tau": "joint efforts, N m or N, positive along the joint axes",
}

_TWIST = "linear and angular velocity, in axes of the link,"
_RATES = "their derivatives in time,"

_OF_FREE = {
    "floating": {
        "q": "position x, y, z, m, and unit quaternion x, y, z, w",
        "qd": _TWIST,
        "qdd": _RATES,
        "tau": "force x, y, z and moment x, y, z, in axes of the link,",
    },
    "planar": {
        "q": "position x, y, m, cosine and sine of the angle",
        "qd": _TWIST,
        "qdd": _RATES,
        "tau": "force x, y and moment, in axes of the link,",
    },
}

_KEYWORD_INPUTS = {
    "base": "motion of the base, in axes of the root link '{root}': gravitational acceleration "
    "x, y, z, m/s^2; linear and angular velocity, m/s and rad/s; their derivatives in time",
    "base_wrench": "force (N) and moment (N m) that the base exerts on the robot at the origin of "
    "the root link '{root}', in its axes",
    "wrench": "force x, y, z (N) and moment x, y, z (N m) about the origin of frame "
    "'{wrench_at}', in its axes, that the robot exerts on its surroundings",
    "payload": "load at frame '{payload_at}': mass, kg; first moment (mass times mass centre) "
    "x, y, z, kg m; inertia xx, xy, xz, yy, yz, zz about the origin of the frame, kg m^2; all in "
    "its axes",
    "gravity": "gravitational acceleration x, y, z, m/s^2, in the axes of the root link "
    "'{root}'; {g} in the robot description",
}

_RESULTS = {
    "M": "mass matrix, kg m^2, kg m or kg",
    "C": "Coriolis and centrifugal matrix of tau = M qdd + C qd + G",
    "G": "efforts of gravity, N m or N",
    "T": "kinetic energy, J",
    "U": "potential energy, J",
    "A": "centroidal momentum matrix, linear over angular, axes of the root link '{root}'",
    "h": "momentum (N s) over angular momentum about the centre of mass (N m s), axes of the root "
    "link '{root}'",
    "centre": "centre of mass in the root link '{root}', m",
    "jacobian": "Jacobian of the centre of mass, axes of the root link '{root}'",
    "Y": "regressor: efforts are Y times the base parameters",
    "rotation": "rotation matrix of frame '{frame}' in the root link '{root}'",
    "position": "origin of frame '{frame}' in the root link '{root}', m",
    "J": "Jacobian of frame '{frame}', linear over angular velocity, axes of the root link "
    "'{root}'",
    "Jd": "derivative in time of the Jacobian of frame '{frame}'",
    "acceleration": "acceleration of frame '{frame}' at qdd = 0, linear over angular, axes of the "
    "root link '{root}'",
    "parameters": "symbolic parameters, see below",
}


@dataclass(frozen=True)
class Export:
    """A kernel to write in a language.

    Args:
        robot: The robot.
        kernel: One of `robot_dynamics.dynamics.kernels.KERNELS`.
        formulation: Name of the formulation.
        variant: Inputs beside the motion.
        prefix: Beginning of the function's name; by default the name of the robot.
        suffix: End of the function's name.
        parameters: The input `parameters`, if there is one.
        base: One of `robot_dynamics.dynamics.compiled_robot.BASES`.

    Raises:
        UnknownNameError: If there is no such kernel.
        ArgumentError: If the prefix is no identifier.
    """

    robot: Robot
    kernel: str
    formulation: str
    variant: Variant = MOTION_ONLY
    prefix: str | None = None
    suffix: str = ""
    parameters: Sequence[SymbolicParameter] = ()
    base: str = "fixed"

    def __post_init__(self) -> None:
        check_known("kernel", self.kernel, "robot_dynamics.dynamics.kernels", KERNELS)
        if self.prefix is not None and identifier(str(self.prefix)) != self.prefix:
            raise ArgumentError(
                f"name: got {shown(self.prefix)}; give a name of ASCII characters: a letter, "
                "then alphanumeric ones and single underscores"
            )

    @property
    def name(self) -> str:
        """Name of the function: different for every robot, kernel and variant."""
        v = self.variant
        parts = [self.prefix or identifier(self.robot.name, "robot"), self.kernel]
        parts += [self.base, "base"] if self.base != "fixed" else []
        parts += [identifier(v.frame, "at")] if v.frame else []
        parts += ["wrench", identifier(v.wrench_at, "at")] if v.wrench_at else []
        parts += ["payload", identifier(v.payload_at, "at")] if v.payload_at else []
        parts += [name for name in ("gravity", "friction") if getattr(v, name)]
        return "_".join([*parts, *([self.suffix] if self.suffix else [])])

    @property
    def defaults(self) -> dict[str, Mapping[str, float]]:
        """Values of inputs that the robot description has, by remark on each number."""
        gravity = dict(zip(("x, m/s^2", "y, m/s^2", "z, m/s^2"), self._gravity, strict=True))
        values: dict[str, Mapping[str, float]] = (
            {"gravity": gravity} if self.variant.gravity else {}
        )
        if self.parameters:
            values["parameters"] = {f"{x.text}, {x.unit}": x.value for x in self.parameters}
        return values

    def write(self, language: str, program: Program) -> str:
        """Write the equations of the kernel in one of `LANGUAGES`.

        Raises:
            UnknownNameError: If there is no such language.
        """
        check_known("language", language, "robot_dynamics.compiler", LANGUAGES)
        return LANGUAGES[language](program, self.header(program), self.defaults)

    def header(self, program: Program) -> dict[str, str]:
        """Explanation of the equations by key, for the top of the file."""
        robot, variant = self.robot, self.variant
        joints = (
            f"{i} {joint.name} ({'rad' if joint.type.rotates else 'm'})"
            for i, joint in enumerate(robot.independent_joints)
        )
        places = {
            "wrench_at": variant.wrench_at,
            "payload_at": variant.payload_at,
            "frame": variant.frame or (only_tip(robot) if self.kernel in OF_FRAMES else ""),
            "root": robot.links[0].name,
            "g": f"({', '.join(map(repr, self._gravity))})",
        }
        shapes = {**program.inputs, **{n: out.shape for n, out in program.outputs.items()}}
        meanings = {**_motion(robot), **_KEYWORD_INPUTS, **_RESULTS}
        arrays = {
            f"{name}{list(shape) if shape else ''}": (
                "output: " if name in program.outputs else "input: "
            )
            + meanings.get(name, _derivative(name)).format(**places)
            + (f"; row by row, entry i, j at {shape[1]} i + j" if len(shape) == 2 else "")
            for name, shape in shapes.items()
        }
        lines = {
            "generator": f"robot_dynamics {__version__}",
            "license": "Apache-2.0",
            "robot": robot.name,
            "joints": ", ".join(joints),
            "formulation": str(self.formulation),
        }
        if variant != MOTION_ONLY:
            lines["variant"] = str(variant)
        if self.parameters:
            lines["parameters"] = ", ".join(map(str, self.parameters))
        return {**lines, **arrays, "left out": self._left_out()}

    @property
    def _gravity(self) -> list[float]:
        return [float(x) + 0.0 for x in np.asarray(self.robot.gravity)]

    def _left_out(self) -> str:
        """List what the equations do not contain."""
        if self.kernel in OF_FRAMES:
            return "joint limits"
        if not any(values.any() for values in self.robot.joint_friction):
            friction = "friction (the robot description has none)"
        elif self.variant.friction:
            friction = f"stiction (dry friction is smoothed: tanh of qd / {FRICTION_WIDTH:g})"
        else:
            add = "; --with friction adds them" if self.kernel in WITH_FRICTION else ""
            friction = f"damping and friction of the joints in the robot description{add}"
        return f"rotor inertia, joint and effort limits, {friction}"


def _motion(robot: Robot) -> dict[str, str]:
    """Meanings of q, qd, qdd and tau, with the entries of floating and planar joints."""
    meanings = dict(_MOTION)
    for free in free_joints(merge_fixed(robot)):
        kind = "floating" if free.floating else "planar"
        for name, meaning in meanings.items():
            at = free.q if name == "q" else free.v
            what = _OF_FREE[kind][name]
            meanings[name] = f"{meaning}; at {at.start} to {at.stop - 1} {what} of {free.name}"
    return meanings


def _derivative(name: str) -> str:
    """Return the meaning of an array of derivatives, such as dtau_dq."""
    above, _, below = name.partition("_")
    return f"derivatives of {above[1:]} (rows) with respect to {below[1:]} (columns)"
