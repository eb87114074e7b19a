"""Dynamics: the equations of one robot, compiled, behind ordinary methods.

This is the class that most users meet. A kernel is traced, simplified and
compiled when it is first asked for, and kept on disk for the next time.
"""

from __future__ import annotations

import numpy.typing as npt

from robot_dynamics.compiler.count import OperationCount, operation_count
from robot_dynamics.compiler.kernel import Kernel
from robot_dynamics.compiler.python import compile_python
from robot_dynamics.compiler.trace import Program, trace
from robot_dynamics.errors import ArgumentError, SingularMassMatrixError
from robot_dynamics.formulations import DEFAULT_FORMULATION, formulation_named, only_tip
from robot_dynamics.formulations.vectors import Array
from robot_dynamics.kernels import equations_of, robot_digest
from robot_dynamics.robot.plausibility import inertialess_joints
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed


class Dynamics:
    """Compiled equations of motion of a robot.

    Every method takes one state or many: shape (n,) or (N, n) with n = `robot.dof` entries in
    the order of `robot.joint_names`, and answers in the same shape. Positions are in rad or m,
    efforts in N m or N. Followers of mimic joints move with their leaders, whose efforts carry
    theirs.

    Args:
        robot: Any robot.
        formulation: One of `robot_dynamics.formulations.FORMULATIONS`.
        cache: Keep compiled kernels on disk.

    Raises:
        UnknownNameError: If there is no such formulation.
    """

    def __init__(
        self, robot: Robot, formulation: str = DEFAULT_FORMULATION, *, cache: bool = True
    ) -> None:
        formulation_named(formulation)
        self.robot = robot
        self.formulation = formulation
        self._tree = merge_fixed(robot)
        self._digest = robot_digest(self._tree)
        self._cache = cache
        self._inertialess: list[str] | None = None
        self._kernels: dict[str, Kernel] = {}

    def __repr__(self) -> str:
        return f"Dynamics({self.robot.name!r}, {self.robot.dof} joints, {self.formulation})"

    def kernel(self, name: str, frame: str | None = None) -> Kernel:
        """The compiled function behind a method, built on first use.

        Args:
            name: One of `robot_dynamics.kernels.KERNELS`.
            frame: For kernels with an endpoint wrench, the frame where it acts.

        Raises:
            UnknownNameError: If there is no such kernel or frame.
        """
        full_name = name if frame is None else f"{name}@{frame}"
        if full_name not in self._kernels:
            self._kernels[full_name] = self._build(name, frame, full_name)
        return self._kernels[full_name]

    def program(self, name: str, frame: str | None = None) -> Program:
        """The simplified equations behind a kernel, before any back end sees them."""
        equations = equations_of(name, self._tree, self.formulation, frame)
        return trace(name, equations.function, equations.inputs)

    def _build(self, name: str, frame: str | None, full_name: str) -> Kernel:
        return compile_python(self.program(name, frame), finite=True)

    # -- torques of motions -----------------------------------------------------------------

    def inverse(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Compute the joint efforts of a motion: tau = M qdd + b.

        Args:
            q: Joint positions, shape (n,) or (N, n).
            qd: Joint velocities, same shape.
            qdd: Joint accelerations, same shape.
            wrench: Force (N) and moment (N m) about the origin of `frame` that the robot exerts on
                its surroundings there, in the axes of `frame`, shape (6,) or (N, 6).
            frame: Link or named frame where the wrench acts; by default the only tip.
            out: Array to write the result to.
            threads: Largest number of threads for many states.

        Returns:
            Joint efforts, shape as q.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `frame` is needed.
            UnknownNameError: If there is no such frame.
        """
        if wrench is None:
            if frame is not None:
                raise ArgumentError(f"frame '{frame}' is given without wrench; give both")
            return self.kernel("inverse")(q, qd, qdd, out=out, threads=threads)
        kernel = self.kernel("inverse", self._wrench_frame(frame))
        return kernel(q, qd, qdd, wrench, out=out, threads=threads)

    def bias(self, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
        """Compute the efforts at zero acceleration, gravity included; shapes as in `inverse`."""
        return self.kernel("bias")(q, qd)

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Compute the efforts that hold the robot at rest; shapes as in `inverse`."""
        return self.kernel("gravity")(q)

    # -- motions of torques -----------------------------------------------------------------

    def mass_matrix(self, q: npt.ArrayLike) -> Array:
        """Compute M of tau = M qdd + b, symmetric.

        Returns:
            Shape (n, n), or (N, n, n) for many states; kg m^2, kg m or kg by the joints' types.
        """
        return self.kernel("mass_matrix")(q)

    def forward(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Compute the joint accelerations that efforts produce; arguments as in `inverse`.

        Raises:
            SingularMassMatrixError: If a joint accelerates nothing.
        """
        self._check_invertible()
        if wrench is None:
            return self.kernel("forward")(q, qd, tau, out=out, threads=threads)
        kernel = self.kernel("forward", self._wrench_frame(frame))
        return kernel(q, qd, tau, wrench, out=out, threads=threads)

    # -- what was compiled ------------------------------------------------------------------

    def operation_count(self, name: str = "inverse", frame: str | None = None) -> OperationCount:
        """Count the operations of one evaluation of a kernel."""
        return operation_count(self.program(name, frame))

    def _wrench_frame(self, frame: str | None) -> str:
        if frame is not None:
            self._tree.frame(frame)
            return frame
        return only_tip(self._tree)

    def _check_invertible(self) -> None:
        if self._inertialess is None:
            self._inertialess = inertialess_joints(self.robot)
        if self._inertialess:
            raise SingularMassMatrixError(
                f"robot '{self.robot.name}': joint '{self._inertialess[0]}' moves no inertia, so "
                "that its acceleration has no answer; give a link it carries an <inertial>, or "
                "lock it with robot.with_locked"
            )
