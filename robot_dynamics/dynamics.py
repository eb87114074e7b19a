"""Dynamics: the equations of one robot, compiled, behind ordinary methods.

This is the class that most users meet. A kernel is traced, simplified and
compiled when it is first asked for, and kept on disk for the next time.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from robot_dynamics.compiler import Kernel, OperationCount, build_kernel
from robot_dynamics.formulations import DEFAULT_FORMULATION, formulation_named
from robot_dynamics.formulations.vectors import Array
from robot_dynamics.kernels import equations_of, robot_digest
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
        self._kernels: dict[str, Kernel] = {}

    def __repr__(self) -> str:
        return f"Dynamics({self.robot.name!r}, {self.robot.dof} joints, {self.formulation})"

    def kernel(self, name: str, frame: str | None = None) -> Kernel:
        """The compiled function of one name, built on first use.

        Args:
            name: One of `robot_dynamics.kernels.KERNELS`.
            frame: For kernels with an endpoint wrench, the frame where it acts.

        Raises:
            UnknownNameError: If there is no such kernel or frame.
        """
        full_name = name if frame is None else f"{name}@{frame}"
        if full_name not in self._kernels:
            equations = equations_of(name, self._tree, self.formulation, frame)
            self._kernels[full_name] = build_kernel(
                f"{name}", equations.function, equations.inputs,
                key=f"{self._digest}:{self.formulation}:{full_name}" if self._cache else None,
            )
        return self._kernels[full_name]
