"""Which kernels a robot has: the equations in its independent coordinates, by name.

A formulation knows a tree of moving joints. What a user calls has one entry
per independent joint: here fixed links have been merged, mimic joints are
coupled (E from `Robot.coupling`: positions E q + e0, efforts E^T tau) and a
wrench at a frame is brought to its link. Each entry is a plain function of
arrays, on any scalar, ready to be evaluated or traced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.errors import unknown_name
from robot_dynamics.formulations import formulation_named, wrench_on_link
from robot_dynamics.formulations.composite_body import (
    elimination_parents,
    factorise,
    mass_matrix,
    solve,
)
from robot_dynamics.formulations.vectors import Array
from robot_dynamics.robot.robot import Robot

Shape = tuple[int, ...]
Wrenches = Mapping[int, tuple[Array, Array]]


@dataclass(frozen=True)
class Equations:
    """One kernel before compilation: its inputs by name and shape, and what it computes."""

    inputs: Mapping[str, Shape]
    function: Callable[..., Any]


def inverse(tree: Robot, formulation: str, frame: str | None = None) -> Equations:
    """Efforts tau of q, qd, qdd; with `frame`, also of the wrench that the robot exerts there."""
    n, joints = tree.dof, tree.coupling
    equations = formulation_named(formulation)

    def with_wrenches(q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> Array:
        rates, accelerations = joints.rates(qd), joints.rates(qdd)
        return joints.efforts(equations(tree, joints.positions(q), rates, accelerations, wrenches))

    def function(q: Array, qd: Array, qdd: Array) -> Array:
        return with_wrenches(q, qd, qdd, {})

    def with_wrench(q: Array, qd: Array, qdd: Array, wrench: Array) -> Array:
        wrenches = dict([wrench_on_link(tree, wrench, frame)])
        return with_wrenches(q, qd, qdd, wrenches)

    inputs = {"q": (n,), "qd": (n,), "qdd": (n,)}
    if frame is None:
        return Equations(inputs, function)
    return Equations({**inputs, "wrench": (6,)}, with_wrench)


def bias(tree: Robot, formulation: str) -> Equations:
    """Efforts at zero acceleration: Coriolis, centrifugal and gravity, of q and qd."""
    full = inverse(tree, formulation)
    n = tree.dof
    return Equations({"q": (n,), "qd": (n,)}, lambda q, qd: full.function(q, qd, np.zeros(n)))


def gravity(tree: Robot, formulation: str) -> Equations:
    """Efforts at rest, of q."""
    full = inverse(tree, formulation)
    n = tree.dof
    return Equations({"q": (n,)}, lambda q: full.function(q, np.zeros(n), np.zeros(n)))


def mass(tree: Robot) -> Equations:
    """Mass matrix M of tau = M qdd + b, of q; with mimic joints E^T M E."""
    n, joints = tree.dof, tree.coupling
    return Equations({"q": (n,)}, lambda q: joints.square(mass_matrix(tree, joints.positions(q))))


def forward(tree: Robot, formulation: str, frame: str | None = None) -> Equations:
    """Accelerations qdd of q, qd, tau: the mass matrix factorised along the tree.

    With `frame`, also of the wrench that the robot exerts there.
    """
    n = tree.dof
    M_of_q = mass(tree).function
    tau_of = inverse(tree, formulation, frame)
    parents = elimination_parents(tree)

    def function(q: Array, qd: Array, tau: Array, **wrench: Array) -> Array:
        b = tau_of.function(q, qd, np.zeros(n), **wrench)
        L, inverse_D = factorise(M_of_q(q), parents)
        return solve(L, inverse_D, parents, tau - b)

    inputs: dict[str, Shape] = {"q": (n,), "qd": (n,), "tau": (n,)}
    if frame is not None:
        inputs["wrench"] = (6,)
    return Equations(inputs, function)


KERNELS: Mapping[str, str] = {
    "inverse": "joint efforts of a motion: tau(q, qd, qdd)",
    "bias": "efforts at zero acceleration: b(q, qd)",
    "gravity": "efforts at rest: g(q)",
    "mass_matrix": "M(q) of tau = M qdd + b",
    "forward": "joint accelerations of efforts: qdd(q, qd, tau)",
}
"""Name of every kernel of a robot, with its result."""


def equations_of(name: str, tree: Robot, formulation: str, frame: str | None = None) -> Equations:
    """The equations of one kernel on a tree without fixed joints.

    Raises:
        UnknownNameError: If there is no kernel of that name.
    """
    if name == "inverse":
        return inverse(tree, formulation, frame)
    if name == "bias":
        return bias(tree, formulation)
    if name == "gravity":
        return gravity(tree, formulation)
    if name == "mass_matrix":
        return mass(tree)
    if name == "forward":
        return forward(tree, formulation, frame)
    raise unknown_name("kernel", name, "robot_dynamics.kernels", KERNELS)


def robot_digest(robot: Robot) -> str:
    """Fingerprint of everything that the equations of a robot depend on, 16 hex digits."""
    h = hashlib.sha256()

    def add(*values: Any) -> None:
        for value in values:
            h.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
            h.update(b";")

    add(robot.name, robot.gravity)
    for link in robot.links:
        body = link.inertia
        add(link.name, float(body.mass), body.first_moment, body.second_moment)
    for joint in robot.joints:
        add(joint.name, joint.type.value, joint.parent, joint.child, joint.axis, joint.mimic)
        add(joint.origin.rotation, joint.origin.translation)
    for name, frame in sorted(robot.frames.items()):
        add(name, frame.link, frame.pose.rotation, frame.pose.translation)
    return h.hexdigest()[:16]
