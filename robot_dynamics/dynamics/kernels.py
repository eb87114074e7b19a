"""Which kernels a robot has: the equations in its independent coordinates, by name.

A formulation knows a tree of moving joints. What a user calls has one entry
per independent joint: here mimic joints are coupled (`Robot.coupling`), a
wrench at a frame is brought to its link, and what may change while a robot
works (its load, the direction of gravity) becomes an input where that is
asked for. Each entry is a plain function of arrays, on any scalar, ready to be
evaluated or traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics.algorithms import (
    articulated_body,
    centroidal,
    composite_body,
    derivatives,
    energy,
    momentum,
    second_derivatives,
    time_derivatives,
)
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.dynamics.variant import FRICTION_WIDTH, MOTION_ONLY, Shape, Variant
from robot_dynamics.errors import ArgumentError, RobotError, shown, unknown_name
from robot_dynamics.formulations import (
    InverseDynamics,
    equations_of_motion_named,
    formulation_named,
    mass_matrix_named,
)
from robot_dynamics.formulations.regressor import Regressor
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import (
    frame_drift,
    frame_jacobian,
    frame_jacobian_derivative,
    frame_pose,
)
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.robot.free_joints import (
    accelerations,
    at_zero,
    by_twists,
    free_joints,
    has_free_base,
    motion_of,
    placed,
    rates_of_twists,
    twist_rates,
)
from robot_dynamics.robot.joint_frames import joint_frames
from robot_dynamics.robot.robot import Robot

Formulation = str | InverseDynamics
"""One of `FORMULATIONS` by name, or a function of the same signature."""


MOST_TWICE = 12
"""Joints of a robot up to which the accelerations are differentiated twice."""


@dataclass(frozen=True)
class Equations:
    """One kernel before compilation.

    Args:
        inputs: Shape of every input by name.
        function: The equations, on any scalar.
        output: Name of the result, where the function returns one array; else it names them.
    """

    inputs: Mapping[str, Shape]
    function: Callable[..., Any]
    output: str = ""

    def trace(self, name: str) -> Program:
        """The equations as a program of that name."""
        if self.output:
            return trace(name, lambda **arrays: {self.output: self.function(**arrays)}, self.inputs)
        return trace(name, self.function, self.inputs)


def inverse(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Efforts tau of q, qd, qdd."""
    n, joints = tree.dof, tree.coupling
    equations = formulation if callable(formulation) else formulation_named(formulation)

    def function(q: Array, qd: Array, qdd: Array, **values: Array) -> Array:
        loaded, wrenches = variant.apply(tree, values)
        loaded, x, xd, xdd = motion_of(loaded, q, qd, qdd)
        return joints.efforts(equations(loaded, x, xd, xdd, wrenches))

    return Equations({"q": (tree.nq,), "qd": (n,), "qdd": (n,), **variant.inputs}, function, "tau")


def inverse_rates(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Efforts of a motion with jerk and snap, and their first and second derivative by time.

    A load and gravity are constant in time.
    """
    if free_joints(tree):
        raise RobotError(
            f"robot '{tree.name}' has floating or planar joints, whose efforts are not "
            "differentiated by time; weld them with robot.with_fixed_base"
        )
    n, full = tree.dof, inverse(tree, formulation, variant).function

    def function(
        q: Array, qd: Array, qdd: Array, jerk: Array, snap: Array, **values: Array
    ) -> dict[str, Array]:
        motion = time_derivatives.MotionDerivatives(q, qd, qdd, jerk, snap)
        found = time_derivatives.time_derivatives(lambda *x: full(*x, **values), motion)
        return dict(zip(("tau", "rate", "second_rate"), found, strict=True))

    motion = dict.fromkeys(time_derivatives.MotionDerivatives._fields, (n,))
    return Equations({**motion, **variant.inputs}, function)


def bias(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Efforts at zero acceleration: Coriolis, centrifugal and gravity, of q and qd."""
    n, full = tree.dof, inverse(tree, formulation, variant).function

    def function(q: Array, qd: Array, **values: Array) -> Array:
        return full(q, qd, np.zeros(n), **values)

    return Equations({"q": (tree.nq,), "qd": (n,), **variant.inputs}, function, "tau")


def gravity(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Efforts at rest, of q."""
    n, full = tree.dof, inverse(tree, formulation, variant).function

    def function(q: Array, **values: Array) -> Array:
        return full(q, np.zeros(n), np.zeros(n), **values)

    return Equations({"q": (tree.nq,), **variant.inputs}, function, "tau")


def mass_matrix(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Mass matrix M of tau = M qdd + b, of q."""
    joints = tree.coupling
    matrix = mass_matrix_named(formulation)

    def function(q: Array, **values: Array) -> Array:
        loaded, _ = variant.apply(tree, values)
        return joints.square(matrix(*motion_of(loaded, q)))

    return Equations({"q": (tree.nq,), **variant.inputs}, function, "M")


def forward(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Accelerations qdd of q, qd, tau: the mass matrix factorised along the tree."""
    n = tree.dof
    if formulation == "zero_reference":
        return _forward_by_columns(tree, formulation, variant)
    M_of = mass_matrix(tree, formulation, replace(variant, wrench_at=None, gravity=False))
    b_of = bias(tree, formulation, variant)
    parents = composite_body.elimination_parents(tree)

    def function(q: Array, qd: Array, tau: Array, **values: Array) -> Array:
        M = M_of.function(q, **{name: values[name] for name in M_of.inputs if name != "q"})
        L, inverse_D = composite_body.factorise(M, parents)
        b = b_of.function(q, qd, **values)
        return composite_body.solve(L, inverse_D, parents, tau - b)

    return Equations({"q": (tree.nq,), "qd": (n,), "tau": (n,), **variant.inputs}, function, "qdd")


def _forward_by_columns(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Accelerations where one recursion gives mass matrix and bias at once."""
    n, joints = tree.dof, tree.coupling
    equations = equations_of_motion_named(formulation)
    parents = composite_body.elimination_parents(tree)

    def function(q: Array, qd: Array, tau: Array, **values: Array) -> Array:
        loaded, wrenches = variant.apply(tree, values)
        loaded, x, xd = motion_of(loaded, q, qd)
        M, b = equations(loaded, x, xd, wrenches)
        L, inverse_D = composite_body.factorise(joints.square(M), parents)
        found = composite_body.solve(L, inverse_D, parents, tau - joints.efforts(b))
        return rates_of_twists(tree, qd, found)

    return Equations({"q": (tree.nq,), "qd": (n,), "tau": (n,), **variant.inputs}, function, "qdd")


def forward_articulated(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Accelerations qdd of q, qd, tau by articulated bodies; for trees without mimic joints."""
    n = tree.dof

    def function(q: Array, qd: Array, tau: Array, **values: Array) -> Array:
        loaded, wrenches = variant.apply(tree, values)
        loaded, x, xd = motion_of(loaded, q, qd)
        found = articulated_body.forward_dynamics(loaded, x, xd, tau, wrenches)
        return rates_of_twists(tree, qd, found)

    return Equations({"q": (tree.nq,), "qd": (n,), "tau": (n,), **variant.inputs}, function, "qdd")


def inverse_derivatives(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """dtau/dq, dtau/dqd and M of q, qd, qdd."""
    n, joints = tree.dof, tree.coupling
    names = ("dtau_dq", "dtau_dqd", "M")

    def function(q: Array, qd: Array, qdd: Array, **values: Array) -> dict[str, Array]:
        loaded, wrenches = variant.apply(tree, values)
        loaded, x, xd, xdd = motion_of(loaded, q, qd, qdd)
        tau, *parts = derivatives.efforts_and_derivatives(loaded, x, xd, xdd, wrenches)
        of_parts = accelerations(loaded, qd, qdd), joints.efforts(tau)
        coupled = map(joints.square, parts)
        return dict(zip(names, by_twists(loaded, qd, of_parts, *coupled), strict=True))

    return Equations({"q": (tree.nq,), "qd": (n,), "qdd": (n,), **variant.inputs}, function)


def forward_derivatives(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """dqdd/dq, dqdd/dqd and the inverse of M, of q, qd, tau."""
    n, assembled = tree.dof, derivatives.keeps_digits(tree)

    def function(q: Array, qd: Array, tau: Array, **values: Array) -> dict[str, Array]:
        loaded, wrenches = variant.apply(tree, values)
        coordinates = None
        if free_joints(tree):
            loaded, _ = motion_of(loaded, q)
            q, coordinates = at_zero(tree, q), partial(by_twists, loaded, qd)
        parts = derivatives.forward_derivatives(
            loaded, q, qd, tau, wrenches, assembled=assembled, in_coordinates=coordinates
        )
        return dict(zip(("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), parts, strict=True))

    return Equations({"q": (tree.nq,), "qd": (n,), "tau": (n,), **variant.inputs}, function)


SECOND = {
    "inverse": ("d2tau_dq2", "d2tau_dqdqd", "d2tau_dqd2", "dM_dq"),
    "forward": ("d2qdd_dq2", "d2qdd_dqdqd", "d2qdd_dqd2", "d2qdd_dtaudq"),
}
"""Names of second derivatives of inverse and forward dynamics."""


def check_twice(tree: Robot) -> None:
    """Refuse a robot with too many joints for second derivatives of forward dynamics.

    Raises:
        RobotError: If it has more than `MOST_TWICE`.
    """
    if tree.dof > MOST_TWICE:
        raise RobotError(
            f"robot '{tree.name}': second derivatives of forward dynamics grow with the fourth "
            f"power of the joints, of which it has {tree.dof} and a kernel takes {MOST_TWICE}; "
            "robot_dynamics.algorithms.second_derivatives.forward_second_derivatives makes them "
            "of the results of inverse_second_derivatives and forward_derivatives"
        )


def inverse_second_derivatives(
    tree: Robot, formulation: Formulation, variant: Variant
) -> Equations:
    """Second derivatives of tau, of q, qd, qdd; those by qd and qdd, and by qdd twice, are zero."""
    first = inverse_derivatives(tree, formulation, variant)

    def function(q: Array, qd: Array, qdd: Array, **values: Array) -> dict[str, Array]:
        def derivatives_at(q: Array, qd: Array, qdd: Array) -> list[Array]:
            return list(first.function(q, qd, qdd, **values).values())

        parts = second_derivatives.inverse_second_derivatives(derivatives_at, q, qd, qdd, tree)
        return dict(zip(SECOND["inverse"], parts, strict=True))

    return Equations(first.inputs, function)


def forward_second_derivatives(
    tree: Robot, formulation: Formulation, variant: Variant
) -> Equations:
    """Second derivatives of qdd, of q, qd, tau; those by tau and qd, and by tau twice, are zero."""
    check_twice(tree)
    first = forward_derivatives(tree, formulation, variant)
    second = inverse_second_derivatives(tree, formulation, variant)
    solved = forward(tree, formulation, variant)

    def function(q: Array, qd: Array, tau: Array, **values: Array) -> dict[str, Array]:
        dqdd_dq, dqdd_dqd, dqdd_dtau = first.function(q, qd, tau, **values).values()
        qdd = solved.function(q, qd, tau, **values)
        of_efforts = tuple(second.function(q, qd, qdd, **values).values())
        parts = second_derivatives.forward_second_derivatives(
            of_efforts, (dqdd_dq, dqdd_dqd, dqdd_dtau)
        )
        return dict(zip(SECOND["forward"], parts, strict=True))

    return Equations(first.inputs, function)


def energies(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Kinetic and potential energy, of q and qd."""
    n, joints = tree.dof, tree.coupling

    def function(q: Array, qd: Array, **values: Array) -> dict[str, Array]:
        loaded, _ = variant.apply(tree, values)
        loaded, positions = placed(loaded, q)
        kinetic = energy.kinetic_energy(loaded, positions, joints.rates(qd))
        return {"T": np.array(kinetic), "U": np.array(energy.potential_energy(loaded, positions))}

    return Equations({"q": (tree.nq,), "qd": (n,), **variant.inputs}, function)


def momenta(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Generalized momentum and its rate of change without joint efforts, of q and qd."""
    n, joints = tree.dof, tree.coupling

    def function(q: Array, qd: Array, **values: Array) -> dict[str, Array]:
        loaded, wrenches = variant.apply(tree, values)
        loaded, x, xd = motion_of(loaded, q, qd)
        p, rate = map(joints.efforts, momentum.momentum(loaded, x, xd, wrenches))
        if free_joints(tree):
            rate = rate - twist_rates(tree, qd).T @ p
        return {"p": p, "rate": rate}

    return Equations({"q": (tree.nq,), "qd": (n,), **variant.inputs}, function)


def centroidal_matrix(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Centroidal momentum matrix and centre of mass, of q."""
    of_centre = _of_centre(tree, variant)

    def function(q: Array, **values: Array) -> dict[str, Array]:
        A, c, _ = of_centre(q, **values)
        return {"A": A, "centre": c}

    return Equations({"q": (tree.nq,), **variant.inputs}, function)


def centre_of_mass(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Centre of mass of all links but the root, and its Jacobian, of q."""
    of_centre = _of_centre(tree, variant)

    def function(q: Array, **values: Array) -> dict[str, Array]:
        A, c, mass = of_centre(q, **values)
        return {"centre": c, "jacobian": A[:3] * (1.0 / mass)}

    return Equations({"q": (tree.nq,), **variant.inputs}, function)


def _of_centre(tree: Robot, variant: Variant) -> Callable[..., tuple[Array, Array, Any]]:
    """Centroidal momentum matrix, centre of mass and mass as a function of q and the variant."""
    if has_free_base(tree):
        trunk = centroidal.Trunk.of(tree)

        def of_trunk(q: Array, **values: Array) -> tuple[Array, Array, Any]:
            return trunk.momentum_matrix(variant.apply(trunk.robot, values)[0], q)

        return of_trunk
    framed = joint_frames(tree)

    def function(q: Array, **values: Array) -> tuple[Array, Array, Any]:
        A, c, mass = centroidal.momentum_matrix(*placed(variant.apply(framed, values)[0], q))
        return tree.coupling.columns(A.T).T, c, mass

    return function


def centroidal_momentum(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Momentum of all links about their centre of mass, linear over angular, of q and qd."""
    inputs = {"q": (tree.nq,), "qd": (tree.dof,), **variant.inputs}
    if has_free_base(tree):
        trunk = centroidal.Trunk.of(tree)

        def of_trunk(q: Array, qd: Array, **values: Array) -> Array:
            return trunk.momentum(variant.apply(trunk.robot, values)[0], q, qd)

        return Equations(inputs, of_trunk, "h")
    framed = joint_frames(tree)

    def function(q: Array, qd: Array, **values: Array) -> Array:
        loaded, x = placed(variant.apply(framed, values)[0], q)
        return centroidal.momentum(loaded, x, tree.coupling.rates(qd))

    return Equations(inputs, function, "h")


def regressor(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Y of q, qd, qdd: efforts are Y times the base parameters."""
    n = tree.dof
    gravity = {"gravity": (3,)} if variant.gravity else {}
    return Equations({"q": (tree.nq,), "qd": (n,), "qdd": (n,), **gravity}, Regressor.of(tree), "Y")


def pose(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Rotation matrix and position of a frame in the root link, of q."""
    frame = _frame_of(tree, variant)

    def function(q: Array) -> dict[str, Array]:
        R, p = frame_pose(tree, q, frame)
        return {"rotation": R, "position": p}

    return Equations({"q": (tree.nq,)}, function)


def jacobian(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Jacobian of a frame, linear over angular velocity, axes of the root link, of q."""
    frame = _frame_of(tree, variant)
    return Equations({"q": (tree.nq,)}, lambda q: frame_jacobian(tree, q, frame), "J")


def jacobian_derivative(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Derivative in time of the Jacobian of a frame, of q and qd."""
    frame, n = _frame_of(tree, variant), tree.dof

    def function(q: Array, qd: Array) -> Array:
        return frame_jacobian_derivative(tree, q, qd, frame)

    return Equations({"q": (tree.nq,), "qd": (n,)}, function, "Jd")


def drift(tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """Acceleration of a frame without joint accelerations, linear over angular, of q and qd."""
    frame, n = _frame_of(tree, variant), tree.dof
    inputs = {"q": (tree.nq,), "qd": (n,)}
    return Equations(inputs, lambda q, qd: frame_drift(tree, q, qd, frame), "acceleration")


def _frame_of(tree: Robot, variant: Variant) -> str:
    return only_tip(tree) if variant.frame is None else variant.frame


@dataclass(frozen=True)
class KernelDefinition:
    """One kernel by its properties.

    Args:
        equations: Makes the equations, from a tree without fixed joints, a formulation and a
            variant.
        physical: They are about the robot as it is: its parameters and frames are seen.
        of_frame: They are about the frame of the variant.
        solves: They are solved for accelerations.
        alternative: Name of a kernel with the same results by other equations, for trees without
            mimic joints; the one with fewer operations is compiled.
        simplify: Whether graph passes shorten them. On the longest they take longer than LLVM, and
            save a twentieth.
    """

    equations: Callable[[Robot, Formulation, Variant], Equations]
    physical: bool = False
    of_frame: bool = False
    solves: bool = False
    alternative: str = ""
    simplify: bool = True


KERNELS: Mapping[str, KernelDefinition] = {
    "inverse": KernelDefinition(inverse),
    "inverse_rates": KernelDefinition(inverse_rates),
    "bias": KernelDefinition(bias),
    "gravity": KernelDefinition(gravity),
    "mass_matrix": KernelDefinition(mass_matrix),
    "forward": KernelDefinition(forward, solves=True, alternative="forward_articulated"),
    "forward_articulated": KernelDefinition(forward_articulated, solves=True),
    "inverse_derivatives": KernelDefinition(inverse_derivatives),
    "forward_derivatives": KernelDefinition(forward_derivatives, solves=True),
    "inverse_second_derivatives": KernelDefinition(inverse_second_derivatives, simplify=False),
    "forward_second_derivatives": KernelDefinition(
        forward_second_derivatives, solves=True, simplify=False
    ),
    "energy": KernelDefinition(energies),
    "momentum": KernelDefinition(momenta),
    "centre_of_mass": KernelDefinition(centre_of_mass, physical=True),
    "centroidal_matrix": KernelDefinition(centroidal_matrix, physical=True),
    "centroidal_momentum": KernelDefinition(centroidal_momentum, physical=True),
    "regressor": KernelDefinition(regressor, physical=True),
    "pose": KernelDefinition(pose, physical=True, of_frame=True),
    "jacobian": KernelDefinition(jacobian, physical=True, of_frame=True),
    "jacobian_derivative": KernelDefinition(jacobian_derivative, physical=True, of_frame=True),
    "drift": KernelDefinition(drift, physical=True, of_frame=True),
}
"""Every kernel of a robot by name."""

WITH_FRICTION = ("inverse", "bias", "forward", "forward_articulated")
"""Kernels to whose efforts `Variant.friction` adds the friction of the URDF."""

OF_FRAMES = tuple(name for name, definition in KERNELS.items() if definition.of_frame)
"""Kernels about a frame."""


def kernel_named(name: str) -> KernelDefinition:
    """The entry of `KERNELS` of that name.

    Raises:
        UnknownNameError: If there is no kernel of that name.
    """
    if not isinstance(name, str) or name not in KERNELS:
        raise unknown_name("kernel", str(name), "robot_dynamics.dynamics.kernels", KERNELS)
    return KERNELS[name]


def equations_of(
    name: str, tree: Robot, formulation: Formulation, variant: Variant = MOTION_ONLY
) -> Equations:
    """The equations of one kernel on a tree without fixed joints.

    Raises:
        UnknownNameError: If there is no kernel of that name.
        ArgumentError: If the variant is none.
    """
    definition = kernel_named(name)
    if isinstance(variant, Variant) and variant.friction:
        return _with_friction(name, tree, formulation, variant)
    if not isinstance(variant, Variant):
        raise ArgumentError(
            f"variant must be a Variant, got {shown(variant)}; make one with variant.Variant"
        )
    return definition.equations(tree, formulation, variant)


def _with_friction(name: str, tree: Robot, formulation: Formulation, variant: Variant) -> Equations:
    """The equations of a kernel whose efforts contain the friction of the URDF."""
    if name not in WITH_FRICTION:
        raise ArgumentError(
            f"kernel '{name}' has no friction (those with it: {', '.join(WITH_FRICTION)})"
        )
    smooth = equations_of(name, tree, formulation, replace(variant, friction=False))
    damping, coulomb = tree.joint_friction

    def function(qd: Array, **values: Array) -> Array:
        friction = damping * qd + coulomb * np.tanh(qd / FRICTION_WIDTH)
        if "tau" in values:
            return smooth.function(qd=qd, **{**values, "tau": values["tau"] - friction})
        return smooth.function(qd=qd, **values) + friction

    return replace(smooth, function=function)
