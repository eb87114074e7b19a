"""The kernels of one robot: built on first use, kept on disk, exported as source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.compiler.kernel import Backend, Kernel, compile_program
from robot_dynamics.compiler.native.entry.native_entry import ENTRIES, is_entry
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.dynamics.variant import MOTION_ONLY, Variant
from robot_dynamics.errors import (
    ArgumentError,
    RobotError,
    SingularMassMatrixError,
    check_known,
    unknown_name,
)
from robot_dynamics.formulations.registry import (
    DEFAULT_FORMULATION,
    FORMULATIONS,
    InverseDynamics,
)
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import cached_property, imported
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.robot.free_joints import has_free_base
from robot_dynamics.robot.plausibility import inertialess_joints
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed

if TYPE_CHECKING:
    from robot_dynamics.compiler.arrays.differentiable import CompiledEquations
    from robot_dynamics.compiler.graph.trace import Program
    from robot_dynamics.dynamics.kernels import Equations
    from robot_dynamics.reduction import Progress, ReducedRobot
    from robot_dynamics.spatial import Inertia


SOLVED = ("forward", "forward_derivatives", "forward_second_derivatives")
"""Kernels whose results are accelerations: every joint has to move some inertia."""


MOST_OPERATIONS = 1.1
"""Most operations of equations whose limbs share instructions, to the fewest operations."""


class CompiledRobot:
    """Equations of motion of a robot as kernels; see `Dynamics`, which has a method for each.

    Pickled and copied by what it is made of: machine code is compiled, or fetched from disk,
    where the copy is used.
    """

    def __init__(
        self,
        robot: Robot,
        formulation: str | InverseDynamics = DEFAULT_FORMULATION,
        *,
        base: str | None = None,
        cache: bool = True,
        backend: Backend | None = None,
        search: bool = False,
        progress: Progress | None = None,
    ) -> None:
        if not isinstance(robot, Robot):
            raise ArgumentError(f"robot: got {robot!r}, not a Robot; read a URDF with read_urdf")
        known = isinstance(formulation, str) and formulation in FORMULATIONS
        if not (known or callable(formulation)):
            name = str(formulation)
            raise unknown_name("formulation", name, "robot_dynamics.formulations", FORMULATIONS)
        self.robot, self.base = on_base(robot, base)
        self.formulation = formulation
        self._digest = robot_digest(self.robot)
        self._search = search
        self._progress = progress
        self._cache = cache
        self._backend = backend
        self._forget_kernels()

    def __repr__(self) -> str:
        return (
            f"Dynamics({self.robot.name!r}, {counted(self.robot.dof, 'joint')}, {self.formulation})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without kernels, reduced robots and the progress function."""
        made = {
            ENTRIES,
            "_kernels",
            "_functions",
            "_resolved",
            "_last_payload",
            "_tree",
            "_reduced",
            "_reduced_to_solve",
        }
        state = {
            name: value
            for name, value in self.__dict__.items()
            if name not in made and not is_entry(name, value)
        }
        return {**state, "_progress": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget_kernels()

    def _forget_kernels(self) -> None:
        """Start without any kernel."""
        self._kernels: dict[tuple[str, Variant], Kernel] = {}
        self._functions: dict[tuple[str, str, Variant], Callable[..., Any]] = {}
        self._resolved: dict[Hashable, Kernel] = {}  # by what a call gives; see `Dynamics`
        self._last_payload: tuple[Inertia | None, Array] = None, np.zeros(10)

    def kernel(self, name: str, variant: Variant = MOTION_ONLY) -> Kernel:
        """Return the compiled function behind a method, built on first use.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            The kernel, called with the arrays of its inputs in their order.

        Raises:
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.
        """
        kernel = self._kernels.get((name, variant))
        if kernel is None:
            kernel = self._kernels[name, variant] = self._build(name, variant)
        return kernel

    def program(self, name: str, variant: Variant = MOTION_ONLY) -> Program:
        """Return the simplified equations behind a kernel, before any back end sees them.

        Where a robot branches, simplification may make equal limbs unequal, so that they share
        fewer instructions of one state. A batch takes every operation, so it may take only
        `MOST_OPERATIONS` of them.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            The program: an expression graph with named inputs and outputs.

        Raises:
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.
        """
        optimize = imported("robot_dynamics.compiler.graph.optimize").optimize
        paused = imported("robot_dynamics.compiler.graph.trace").collector_paused
        passes = None if _kernels().kernel_named(name).simplify else ()
        with paused():
            traced = [equations.trace(name) for equations in self.equations(name, variant)]
            candidates = [optimize(program, passes) for program in traced]
            shortest = min(candidates, key=lambda program: _counted(program).arithmetic)
            if len(set(self._tree.parents)) == len(self._tree.parents):
                return shortest
            most = MOST_OPERATIONS * _counted(shortest).arithmetic
            short = [x for x in [*candidates, *traced] if _counted(x).arithmetic <= most]
            packed_count = imported("robot_dynamics.compiler.graph.packing").packed_count
            chosen: Program = min(short, key=packed_count)
            return chosen

    def equations(self, name: str, variant: Variant = MOTION_ONLY) -> Iterator[Equations]:
        """Yield the ways to compute a kernel, before they are traced.

        `program` takes the one with the fewest operations or instructions.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            Iterator over equations; each traces to a program with the same outputs.

        Raises:
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.
        """
        if self._takes_base(name):
            yield self._on_moving_base(name, variant)
            return
        kernels = _kernels()
        definition = kernels.kernel_named(name)
        own = self.formulation != DEFAULT_FORMULATION or definition.physical
        if own or (self._tree.nq > self._tree.dof and not has_free_base(self._tree)):
            yield kernels.equations_of(name, self._tree, self.formulation, variant)
            return
        reduced = self._reduced_to_solve if definition.solves else self._reduced
        coupled = len(self._tree.joints) > self._tree.dof
        for candidate in (name, *([definition.alternative] if definition.alternative else [])):
            if candidate == name or not coupled:
                yield kernels.equations_of(
                    candidate, reduced.robot, reduced.inverse_dynamics, variant
                )

    def _takes_base(self, name: str) -> bool:
        """Return whether a kernel has the motion of the base among its inputs."""
        return self.base == "moving" and name in _moving_base().MOVED

    def _on_moving_base(self, name: str, variant: Variant) -> Equations:
        if name == "forward_second_derivatives":
            _kernels().check_twice(self._tree)
        floating = CompiledRobot(self._tree, self.formulation, base="floating", search=self._search)

        def of(part: str, variant: Variant) -> Equations:
            return next(floating.equations(part, variant))

        made: Equations = _moving_base().on_moving_base(name, of, self._tree, variant)
        return made

    @cached_property
    def _tree(self) -> Robot:
        """The robot as equations take it; a kernel that is found on disk needs none."""
        return merge_fixed(self.robot)

    @cached_property
    def _reduced(self) -> ReducedRobot:
        """The robot as the default formulation takes it; not physical, so not shown."""
        return _reduction().reduce(self._tree, self._search, self._progress)

    @cached_property
    def _reduced_to_solve(self) -> ReducedRobot:
        """The reduced robot for equations that are solved for accelerations."""
        reduce_to_solve = _reduction().reduce_to_solve
        return reduce_to_solve(self._tree, self._reduced, self._search, self._progress)

    def _build(self, name: str, variant: Variant) -> Kernel:
        return compile_program(
            lambda: self._program_to_compile(name, variant),
            key=self._key(name, variant),
            finite=True,
            use_cache=self._cache,
            backend=self._backend,
        )

    def _program_to_compile(self, name: str, variant: Variant) -> Program:
        if name not in _kernels().OF_FRAMES and variant == MOTION_ONLY:  # else a load has mass
            self._check_massive()
        return self.program(name, variant)

    def _check_massive(self) -> None:
        """Refuse what would be nothing but zeros: of a URDF that is made for kinematics alone."""
        bodies = [link.inertia for link in self._tree.links[1:]]
        if self._tree.joints and not any(b.mass or b.second_moment.any() for b in bodies):
            raise RobotError(
                f"robot '{self.robot.name}': joint '{self._tree.joints[0].name}', as every other, "
                "moves no mass, so that there are no efforts; give its links an <inertial> (pose, "
                "jacobian and InverseKinematics need none)"
            )

    @cached_property
    def _inertialess(self) -> list[str]:
        """Joints that accelerate nothing."""
        return inertialess_joints(self.robot)

    def _check_invertible(self) -> None:
        if self._inertialess:
            raise SingularMassMatrixError(
                f"robot '{self.robot.name}': joint '{self._inertialess[0]}' moves no inertia, so "
                "that its acceleration has no answer; give a link it carries an <inertial>, or "
                "lock it with robot.with_locked"
            )

    def _key(self, name: str, variant: Variant) -> str | None:
        """Return the key of a kernel on disk; None for a formulation without a name."""
        if not isinstance(self.formulation, str):
            return None
        formulation = f"{self.formulation}/{'search' if self._search else 'quick'}"
        base = "/moving" if self.base == "moving" else ""
        return f"{self._digest}{base}/{formulation}/{name}/{variant!r}"

    # -- functions of array libraries ---------------------------------------------------------

    def as_casadi(
        self, name: str = "inverse", variant: Variant = MOTION_ONLY
    ) -> Callable[..., Any]:
        """Return a kernel as a `casadi.Function` of column vectors: SX, MX, DM or numbers.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            The function, with named inputs and outputs.

        Raises:
            MissingPackageError: If CasADi is not installed.
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.
        """
        return self._function("casadi", name, variant)

    def as_jax(self, name: str = "inverse", variant: Variant = MOTION_ONLY) -> Callable[..., Any]:
        """Return a kernel as a function of JAX: arrays of shape (..., n), jit, vmap and grad.

        On a CPU it runs the kernel, and derivatives run the kernel of derivatives; elsewhere XLA
        compiles the equations.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            The function of arrays of shape (..., n); several results come as a named tuple.

        Raises:
            MissingPackageError: If JAX is not installed.
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.
        """
        return self._function("jax", name, variant)

    def as_torch(self, name: str = "inverse", variant: Variant = MOTION_ONLY) -> Callable[..., Any]:
        """Return a kernel as a function of PyTorch: tensors of shape (..., n), with autograd.

        Tensors on a CPU go to the kernel, and their derivatives to the kernel of derivatives; on
        other devices PyTorch evaluates the equations.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            The function of tensors of shape (..., n); several results come as a named tuple.

        Raises:
            MissingPackageError: If PyTorch is not installed.
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.
        """
        return self._function("torch", name, variant)

    def _function(self, library: str, name: str, variant: Variant) -> Callable[..., Any]:
        """Return the function of a library, made when first asked for."""
        made = self._functions.get((library, name, variant))
        if made is None:
            equations = self._differentiable(name, variant)
            if library == "casadi":  # whose functions pickle by themselves
                written = imported("robot_dynamics.compiler.source.array_libraries")
                made = written.library_function(library, equations.program, "a function of CasADi")
            else:
                module = imported(f"robot_dynamics.compiler.arrays.{library}_function")
                make: Callable[..., Callable[..., Any]] = getattr(module, f"{library}_function")
                made = make(equations, name)
                made.made_by = _library_function, (self, library, name, variant)  # type: ignore[attr-defined]
            self._functions[library, name, variant] = made
        return made

    def _differentiable(self, name: str, variant: Variant) -> CompiledEquations:
        """The equations of a kernel and those of its derivatives."""
        if name in SOLVED:
            self._check_invertible()
        make = imported("robot_dynamics.compiler.arrays.differentiable").CompiledEquations
        made: CompiledEquations = make(
            lambda: self._program_to_compile(name, variant),
            self._key(name, variant),
            self._cache,
            self._backend,
        )
        return made

    # -- what was compiled ------------------------------------------------------------------

    def operation_count(
        self, name: str = "inverse", variant: Variant = MOTION_ONLY
    ) -> OperationCount:
        """Count the operations of one evaluation of a kernel.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            Numbers of multiplications, additions, divisions, sines and cosines.

        Raises:
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> print(Dynamics(read_urdf(find_robot("planar_2r"))).operation_count("inverse"))
            14 multiplications, 10 additions, 4 sines and cosines
        """
        key = self._key(name, variant) if self._cache and self._backend is None else None
        if key is None:
            return _counted(self.program(name, variant))
        remembered = imported("robot_dynamics.compiler.native.cache").remembered
        found = remembered("operations", key, lambda: asdict(_counted(self.program(name, variant))))
        return OperationCount(**found)

    def source(
        self,
        language: str,
        name: str = "inverse",
        variant: Variant = MOTION_ONLY,
        *,
        prefix: str | None = None,
    ) -> str:
        """Write a kernel in a language.

        Args:
            language: One of `robot_dynamics.compiler.source.LANGUAGES`.
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: What it takes as inputs beside the motion.
            prefix: Beginning of the function's name; by default the name of the robot.

        Returns:
            Text of the source file.

        Raises:
            UnknownNameError: If there is no such language or kernel.
            ArgumentError: If the prefix is no identifier.
        """
        exported = imported("robot_dynamics.dynamics.exported")
        check_known("language", language, "robot_dynamics.compiler", exported.LANGUAGES)
        export = exported.Export(
            self.robot, name, str(self.formulation), variant, prefix, base=self.base
        )
        return str(export.write(language, replace(self.program(name, variant), name=export.name)))

    def c_source(
        self, name: str = "inverse", variant: Variant = MOTION_ONLY, *, scalar: str = "double"
    ) -> str:
        """Write a kernel as one self-contained C99 file.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: What it takes as inputs beside the motion.
            scalar: "double" or "float".

        Returns:
            Text of the C file.

        Raises:
            UnknownNameError: If there is no such kernel.
            ArgumentError: If there is no such scalar.
        """
        return self.source(_of_scalar("c", scalar), name, variant)

    def cpp_header(
        self, name: str = "inverse", variant: Variant = MOTION_ONLY, *, scalar: str = "double"
    ) -> str:
        """Write the C++ header that wraps `c_source` of the same kernel and scalar.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.
            scalar: "double" or "float".

        Returns:
            Text of the header.

        Raises:
            UnknownNameError: If there is no such kernel.
            ArgumentError: If there is no such scalar.
        """
        return self.source(_of_scalar("cpp-header", scalar), name, variant)

    def python_source(self, name: str = "inverse", variant: Variant = MOTION_ONLY) -> str:
        """Write a kernel as readable straight-line Python.

        Args:
            name: One of `robot_dynamics.dynamics.kernels.KERNELS`.
            variant: Inputs beside the motion.

        Returns:
            Text of a Python module with one function, which takes and returns lists.

        Raises:
            UnknownNameError: If there is no such kernel.
        """
        return self.source("python", name, variant)


def _of_scalar(language: str, scalar: str) -> str:
    check_scalar = imported("robot_dynamics.compiler.source.c").check_scalar
    return language if check_scalar(scalar) == "double" else f"{language}-float"


BASES = ("fixed", "moving", "floating")
"""Bases of a robot: welded, with a given motion, or free to move."""


def on_base(robot: Robot, base: str | None) -> tuple[Robot, str]:
    """The robot that stands on a base of `BASES`, and the base; that of the robot if it is None.

    Raises:
        UnknownNameError: If there is no such base.
        ArgumentError: If the robot has floating or planar joints, and the base is another one.
    """
    free = robot.nq > robot.dof
    if base is None:
        return robot, "floating" if free else "fixed"
    check_known("base", base, "robot_dynamics.dynamics", BASES)
    if base == "floating":
        return robot if free else robot.with_floating_base(), base
    if free:
        raise ArgumentError(
            f"robot '{robot.name}' has a floating or planar joint, so its base cannot be {base}; "
            "weld it with robot.with_fixed_base()"
        )
    return robot, base


def robot_digest(robot: Robot) -> str:
    """Return a fingerprint of all data that the equations of a robot depend on, 16 hex digits."""
    h = hashlib.sha256()

    def add(*values: Any) -> None:
        for value in values:
            h.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
            h.update(b";")

    add(robot.name, robot.gravity, robot.tips)
    for link in robot.links:
        body = link.inertia
        add(link.name, float(body.mass), body.first_moment, body.second_moment)
    for joint in robot.joints:
        add(joint.name, joint.type.value, joint.parent, joint.child, joint.axis, joint.mimic)
        add(joint.origin.rotation, joint.origin.translation)
    for name, frame in sorted(robot.frames.items()):
        add(name, frame.link, frame.pose.rotation, frame.pose.translation)
    return h.hexdigest()[:16]


def _library_function(
    arm: CompiledRobot, library: str, name: str, variant: Variant
) -> Callable[..., Any]:
    """Make the function of a library again, from its pickle."""
    return arm._function(library, name, variant)


def _counted(program: Program) -> OperationCount:
    count: OperationCount = imported("robot_dynamics.compiler.graph.trace").operation_count(program)
    return count


def _kernels() -> Any:
    return imported("robot_dynamics.dynamics.kernels")


def _moving_base() -> Any:
    return imported("robot_dynamics.dynamics.moving_base")


def _reduction() -> Any:
    return imported("robot_dynamics.reduction")
