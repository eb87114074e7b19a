"""Dynamics: the equations of one robot, compiled, behind ordinary methods.

This is the class that most users meet. A kernel is traced, simplified and
compiled when it is first asked for, and kept on disk for the next time.
"""

from __future__ import annotations

import functools
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy.typing as npt

from robot_dynamics.algorithms.base_parameters import BaseParameter, base_parameters
from robot_dynamics.arrays import Array
from robot_dynamics.compiler.backends import backend_named, compile_program
from robot_dynamics.compiler.graph.count import OperationCount, operation_count
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program
from robot_dynamics.compiler.kernel import Backend, Kernel
from robot_dynamics.compiler.source.c import c_source, cpp_header
from robot_dynamics.compiler.source.languages import LANGUAGES
from robot_dynamics.compiler.source.python import python_source
from robot_dynamics.errors import (
    ArgumentError,
    RobotError,
    SingularMassMatrixError,
    check_known,
)
from robot_dynamics.formulations import DEFAULT_FORMULATION, InverseDynamics, formulation_named
from robot_dynamics.kernels import (
    OF_FRAMES,
    PLAIN,
    Equations,
    Variant,
    equations_of,
    payload_numbers,
    robot_digest,
)
from robot_dynamics.reduction import Progress, ReducedRobot, reduce
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.robot.plausibility import inertialess_joints
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial.inertia import Inertia


class Dynamics:
    """Compiled equations of motion of a robot.

    Every method takes one state or many: shape (n,) or (N, n) with n = `robot.dof` entries in
    the order of `robot.joint_names`, and answers in the same shape. Positions are in rad or m,
    efforts in N m or N. Followers of mimic joints move with their leaders, whose efforts carry
    theirs.

    Args:
        robot: Any robot.
        formulation: One of `robot_dynamics.formulations.FORMULATIONS`, or a function of the same
            signature, such as a `SimplifiedModel`.
        cache: Keep compiled kernels on disk.
        backend: One of `robot_dynamics.compiler.backends.BACKENDS`, or a function of the same
            signature.
        search: Search for the frames and the grouping of parameters that take the fewest
            operations, when a kernel of the default formulation is first built: a second for an
            arm, half a minute for a humanoid. Without it they are chosen by rule.
        progress: Called during the search with the number of steps done and of all steps.

    Raises:
        UnknownNameError: If there is no such formulation or back end.
    """

    def __init__(
        self,
        robot: Robot,
        formulation: str | InverseDynamics = DEFAULT_FORMULATION,
        *,
        cache: bool = True,
        backend: str | Backend = "auto",
        search: bool = False,
        progress: Progress | None = None,
    ) -> None:
        if not isinstance(robot, Robot):
            raise ArgumentError(f"robot: got {robot!r}, not a Robot; read a URDF with read_urdf")
        formulation_named(formulation)
        backend_named(backend)
        self.robot = robot
        self.formulation = formulation
        self._tree = merge_fixed(robot)
        self._digest = robot_digest(self._tree)
        self._effort = "search" if search else "quick"
        self._progress = progress
        self._cache = cache
        self._backend = backend
        self._inertialess: list[str] | None = None
        self._kernels: dict[tuple[str, Variant], Kernel] = {}

    def __repr__(self) -> str:
        return f"Dynamics({self.robot.name!r}, {self.robot.dof} joints, {self.formulation})"

    def kernel(self, name: str, variant: Variant = PLAIN) -> Kernel:
        """The compiled function behind a method, built on first use.

        Args:
            name: One of `robot_dynamics.kernels.KERNELS`.
            variant: What it takes as inputs beside the motion.

        Raises:
            UnknownNameError: If there is no such kernel, or a frame of the variant does not exist.
        """
        if (name, variant) not in self._kernels:
            self._kernels[name, variant] = self._build(name, variant)
        return self._kernels[name, variant]

    def program(self, name: str, variant: Variant = PLAIN) -> Program:
        """The simplified equations behind a kernel, before any back end sees them."""
        with _collector_paused():
            ways = [optimize(equations.trace(name)) for equations in self.equations(name, variant)]
            return min(ways, key=lambda program: operation_count(program).arithmetic)

    def equations(self, name: str, variant: Variant = PLAIN) -> Iterator[Equations]:
        """The ways to compute a kernel, before they are traced.

        `program` takes the one with the fewest operations.
        """
        physical = name in ("regressor", *OF_FRAMES)  # of the robot as it is
        if self.formulation != DEFAULT_FORMULATION or physical:
            yield equations_of(name, self._tree, self.formulation, variant)
            return
        solves = name in ("forward", "forward_derivatives")
        reduced = self._reduced_to_solve if solves else self._reduced
        yield equations_of(name, reduced.robot, reduced.inverse_dynamics, variant)
        if name == "forward" and len(self._tree.joints) == self.robot.dof:  # no mimic joints
            equations = reduced.inverse_dynamics
            yield equations_of("forward_articulated", reduced.robot, equations, variant)

    @cached_property
    def _reduced(self) -> ReducedRobot:
        """The robot as the default formulation takes it; not physical, so not shown."""
        return reduce(self.robot, self._effort, self._progress)

    @cached_property
    def _reduced_to_solve(self) -> ReducedRobot:
        """The same for equations that are solved for accelerations."""
        return reduce(self.robot, self._effort, self._progress, accelerations=True)

    def _build(self, name: str, variant: Variant) -> Kernel:
        if name not in OF_FRAMES and variant == PLAIN:  # a load may be all that has mass
            self._check_massive()
        return compile_program(
            lambda: self.program(name, variant),
            key=self._key(name, variant),
            finite=True,
            use_cache=self._cache,
            backend=self._backend,
        )

    def _key(self, name: str, variant: Variant) -> str | None:
        """What a kernel on disk is found by; a formulation without a name must be traced first."""
        if not isinstance(self.formulation, str):
            return None
        formulation = f"{self.formulation}/{self._effort}"
        return f"{self._digest}/{formulation}/{name}/{variant}"

    def _entered(self, name: str, variant: Variant = PLAIN) -> Kernel:
        """The kernel behind a method, whose builtin entry takes the place of the method.

        From the second call on, an ordinary call then reaches native code without a Python frame
        in between; any other call (keywords, lists, batches) comes back to the method. Where there
        is no native code the method stays.
        """
        kernel = self.kernel(name, variant)
        if variant == PLAIN and name not in self.__dict__:
            method = functools.partial(getattr(type(self), name), self)
            entry = kernel.builtin_entry(method)
            if entry is not None:
                self.__dict__[name] = entry
        return kernel

    # -- torques of motions -----------------------------------------------------------------

    def inverse(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        payload: Inertia | None = None,
        gravity: npt.ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Compute the joint efforts of a motion: tau = M qdd + b.

        A wrench, payload or gravity vector given here is an input of the compiled equations:
        another value needs no compilation.

        Args:
            q: Joint positions, shape (n,) or (N, n).
            qd: Joint velocities, same shape.
            qdd: Joint accelerations, same shape.
            wrench: Force (N) and moment (N m) about the origin of `frame` that the robot exerts on
                its surroundings there, in the axes of `frame`, shape (6,) or (N, 6).
            frame: Link or named frame of the wrench and payload; by default the only tip.
            payload: Load that `frame` carries, in that frame.
            gravity: Acceleration of free fall in axes of the root link, shape (3,) or (N, 3),
                m/s^2; by default `robot.gravity`.
            out: Array to write the result to.
            threads: Largest number of threads for many states.

        Returns:
            Joint efforts, shape as q.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `frame` is needed.
            UnknownNameError: If there is no such frame.
        """
        variant, extra = self._variant(wrench, frame, payload, gravity)
        return self._entered("inverse", variant)(q, qd, qdd, *extra, out=out, threads=threads)

    def bias(self, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
        """Compute the efforts at zero acceleration, gravity included; shapes as in `inverse`."""
        return self._entered("bias")(q, qd)

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Compute the efforts that hold the robot at rest; shapes as in `inverse`."""
        return self._entered("gravity")(q)

    def inverse_derivatives(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Differentiate the joint efforts of a motion; arguments as in `inverse`.

        Returns:
            Named tuple of dtau_dq, dtau_dqd and M, shape (n, n) each, or (N, n, n): row i, column j
            is the derivative of tau[i] by q[j].
        """
        return self._entered("inverse_derivatives")(q, qd, qdd)

    # -- motions of torques -----------------------------------------------------------------

    def mass_matrix(self, q: npt.ArrayLike) -> Array:
        """Compute M of tau = M qdd + b, symmetric.

        Returns:
            Shape (n, n), or (N, n, n) for many states; kg m^2, kg m or kg by the joints' types.
        """
        return self._entered("mass_matrix")(q)

    def forward(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        payload: Inertia | None = None,
        gravity: npt.ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Compute the joint accelerations that efforts produce; arguments as in `inverse`.

        Raises:
            SingularMassMatrixError: If a joint accelerates nothing.
        """
        self._check_invertible()
        variant, extra = self._variant(wrench, frame, payload, gravity)
        return self._entered("forward", variant)(q, qd, tau, *extra, out=out, threads=threads)

    def forward_derivatives(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Differentiate the joint accelerations that efforts produce.

        Returns:
            Named tuple of dqdd_dq, dqdd_dqd and dqdd_dtau (the inverse of M), shapes as in
            `inverse_derivatives`.

        Raises:
            SingularMassMatrixError: If a joint accelerates nothing.
        """
        self._check_invertible()
        return self._entered("forward_derivatives")(q, qd, tau)

    def energy(self, q: npt.ArrayLike, qd: npt.ArrayLike) -> tuple[Array, Array]:
        """Compute kinetic and potential energy, J.

        The potential energy is that of all links in the field of `robot.gravity`, zero at the
        height of the root link's origin.

        Returns:
            Named tuple of T and U, scalars, or shape (N,).
        """
        return self._entered("energy")(q, qd)

    # -- parameters and kinematics ----------------------------------------------------------

    def regressor(self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike) -> Array:
        """Compute Y of tau = Y @ values, with one column per base parameter.

        Returns:
            Shape (n, p), or (N, n, p); the columns are in the order of `base_parameters`.
        """
        return self._entered("regressor")(q, qd, qdd)

    @cached_property
    def base_parameters(self) -> tuple[BaseParameter, ...]:
        """The fewest numbers that the efforts depend on, each with what it gathers."""
        return base_parameters(self.robot)

    def pose(self, q: npt.ArrayLike, frame: str | None = None) -> tuple[Array, Array]:
        """Compute where a link or named frame is, by default the only tip.

        Returns:
            Named tuple of rotation, shape (3, 3) or (N, 3, 3), and position, shape (3,) or (N, 3),
            m, in the root link.

        Raises:
            UnknownNameError: If there is no such frame.
        """
        return self.kernel("pose", self._frame(frame))(q)

    def jacobian(self, q: npt.ArrayLike, frame: str | None = None) -> Array:
        """Compute the geometric Jacobian of a link or named frame, by default the only tip.

        Returns:
            Shape (6, n) or (N, 6, n): linear over angular velocity of the frame's origin, in axes
            of the root link, for unit joint velocities.

        Raises:
            UnknownNameError: If there is no such frame.
        """
        return self.kernel("jacobian", self._frame(frame))(q)

    def jacobian_derivative(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, frame: str | None = None
    ) -> Array:
        """Differentiate the Jacobian of a frame in time; shapes as in `jacobian`.

        The acceleration of the frame is J @ qdd + Jd @ qd.
        """
        return self.kernel("jacobian_derivative", self._frame(frame))(q, qd)

    def drift(self, q: npt.ArrayLike, qd: npt.ArrayLike, frame: str | None = None) -> Array:
        """Compute the acceleration of a frame without joint accelerations, Jd @ qd.

        Returns:
            Linear over angular acceleration, shape (6,) or (N, 6), axes of the root link.
        """
        return self.kernel("drift", self._frame(frame))(q, qd)

    def _frame(self, frame: str | None) -> Variant:
        return Variant(frame=only_tip(self._tree) if frame is None else frame)

    # -- what was compiled ------------------------------------------------------------------

    def operation_count(self, name: str = "inverse", variant: Variant = PLAIN) -> OperationCount:
        """Count the operations of one evaluation of a kernel."""
        return operation_count(self.program(name, variant))

    def source(self, language: str, name: str = "inverse", variant: Variant = PLAIN) -> str:
        """Write a kernel in a language.

        Args:
            language: One of `robot_dynamics.compiler.source.languages.LANGUAGES`.
            name: One of `robot_dynamics.kernels.KERNELS`.
            variant: What it takes as inputs beside the motion.

        Raises:
            UnknownNameError: If there is no such language or kernel.
        """
        check_known("language", language, "robot_dynamics.compiler", LANGUAGES)
        return LANGUAGES[language](self._named(name, variant), self._header())

    def c_source(
        self, name: str = "inverse", variant: Variant = PLAIN, *, scalar: str = "double"
    ) -> str:
        """Write a kernel as one self-contained C99 file.

        Args:
            name: One of `robot_dynamics.kernels.KERNELS`.
            variant: What it takes as inputs beside the motion.
            scalar: "double" or "float".
        """
        return c_source(self._named(name, variant), scalar=scalar, header=self._header())

    def cpp_header(
        self, name: str = "inverse", variant: Variant = PLAIN, *, scalar: str = "double"
    ) -> str:
        """Write the C++ header that wraps `c_source` of the same kernel and scalar."""
        return cpp_header(self._named(name, variant), scalar=scalar, header=self._header())

    def python_source(self, name: str = "inverse", variant: Variant = PLAIN) -> str:
        """Write a kernel as readable straight-line Python."""
        return python_source(self._named(name, variant), header=self._header())

    def _named(self, name: str, variant: Variant) -> Program:
        """The equations under a name that tells robots apart, such as panda_inverse."""
        robot = re.sub(r"[^A-Za-z0-9]+", "_", self.robot.name).strip("_")
        robot = robot if robot[:1].isalpha() else f"robot_{robot}".strip("_")
        return replace(self.program(name, variant), name=f"{robot}_{name}")

    def _header(self) -> dict[str, str]:
        joints = ", ".join(self.robot.joint_names)
        return {"robot": self.robot.name, "joints": joints, "formulation": str(self.formulation)}

    def _variant(
        self,
        wrench: npt.ArrayLike | None,
        frame: str | None,
        payload: Inertia | None,
        gravity: npt.ArrayLike | None,
    ) -> tuple[Variant, list[npt.ArrayLike]]:
        """The variant of a call and its additional arguments, in order."""
        if wrench is None and payload is None:
            if frame is not None:
                raise ArgumentError(f"frame '{frame}' is given without a wrench or payload there")
            return (Variant(gravity=True), [gravity]) if gravity is not None else (PLAIN, [])
        place = only_tip(self._tree) if frame is None else frame
        extra: list[npt.ArrayLike] = [] if wrench is None else [wrench]
        extra += [] if payload is None else [payload_numbers(payload)]
        extra += [] if gravity is None else [gravity]
        variant = Variant(
            wrench_at=None if wrench is None else place,
            payload_at=None if payload is None else place,
            gravity=gravity is not None,
        )
        return variant, extra

    def _check_massive(self) -> None:
        """Refuse what would be nothing but zeros: of a URDF that is made for kinematics alone."""
        bodies = [link.inertia for link in self._tree.links[1:]]
        if self._tree.joints and not any(b.mass or b.second_moment.any() for b in bodies):
            raise RobotError(
                f"robot '{self.robot.name}': joint '{self._tree.joints[0].name}', as every other, "
                "moves no mass, so that there are no efforts; give its links an <inertial> (pose, "
                "jacobian and InverseKinematics need none)"
            )

    def _check_invertible(self) -> None:
        if self._inertialess is None:
            self._inertialess = inertialess_joints(self.robot)
        if self._inertialess:
            raise SingularMassMatrixError(
                f"robot '{self.robot.name}': joint '{self._inertialess[0]}' moves no inertia, so "
                "that its acceleration has no answer; give a link it carries an <inertial>, or "
                "lock it with robot.with_locked"
            )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Leave the garbage collector out of work that makes many objects and no cycles of them.

    A graph is a hundred thousand small objects that all stay alive; looking through them again
    and again for cycles takes longer than making them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
