"""Base parameters: the fewest numbers that determine every torque of a robot.

Of the ten inertial parameters of each link some affect no torque, and others act only
in fixed combinations: a mass on a joint axis has the same effect as on the link before.
Two sets of parameters give the same torques if and only if they give the same energies,
up to a constant. The dependent parameters are therefore found from kinetic and
potential energy at random states. This covers branches, prismatic joints, mimic joints
and joints that stay vertical.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from robot_dynamics.foundation.arrays import Array, Value
from robot_dynamics.foundation.lazy import imported
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.text_tables import html_table
from robot_dynamics.robot.free_joints import free_joints
from robot_dynamics.robot.joint_frames import SUFFIX, joint_frames
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import PARAMETERS, inertial_parameters, rotation_about

# Order in which parameters of a link are kept: the first ones that are independent of all links
# nearer to the base, and of each other. Iyy, hz and m come last, because a revolute joint about z
# cannot move them (with Ixx = Iyy, a line of mass has I = diag(1, 1, 0)).
PREFERENCE = ("Ixx", "Ixy", "Ixz", "Iyz", "Izz", "hx", "hy", "hz", "Iyy", "m")

INDEPENDENT = 1e-8
"""Least relative independent part of a column: round-off leaves 1e-12, rounded axes 1e-10."""

ROUND_OFF = 1e-11
"""Coefficients below this are zero: they come from least squares."""


@dataclass(frozen=True, eq=False)
class BaseParameter(Value):
    """One number that torques depend on.

    Args:
        name: Link and inertial parameter that it is named after, such as "forearm.Ixx".
        link: Name of the link.
        symbol: One of `spatial.PARAMETERS`, in the joint frame of the link (`joint_frames`).
        gathers: Inertial parameters that it sums up, by name, with their coefficients: m for
            a first moment gathered from a mass, and so on.
        value: Value in kg, kg m or kg m^2, by `symbol`.
    """

    name: str
    link: str
    symbol: str
    gathers: Mapping[str, float]
    value: float

    @property
    def description(self) -> str:
        """The parameters that it sums up: "forearm.Ixx - forearm.Iyy + 0.0068 hand.m"."""
        text = ""
        for name, factor in self.gathers.items():
            sign = " - " if factor < 0 else " + "
            size = "" if abs(abs(factor) - 1.0) < INDEPENDENT else f"{abs(factor):.6g} "
            text += sign + size + name
        return text.removeprefix(" + ") if text.startswith(" + ") else "-" + text[3:]


class BaseParameters(tuple[BaseParameter, ...]):
    """Base parameters in the order of the regressor's columns: a tuple, shown as a table."""

    def _repr_html_(self) -> str:
        rows = [(parameter.name, parameter.value, parameter.description) for parameter in self]
        return html_table(counted(len(self), "base parameter"), ("name", "value", "gathers"), rows)


def base_parameters(robot: Robot) -> BaseParameters:
    """Find the base parameters of a robot, base to tips.

    Their number is the rank of the torque regressor. Mimic joints are coupled and have fewer base
    parameters than independent joints.

    Args:
        robot: Any robot, as numbers. Gravity matters: without it, or with vertical first joints,
            some parameters affect no torque.
    """
    return base_columns(joint_frames(merge_fixed(robot)))[1]


def base_columns(tree: Robot) -> tuple[tuple[tuple[int, str], ...], BaseParameters]:
    """Return link index and symbol of each base parameter of a tree, and the base parameters.

    Args:
        tree: Tree without fixed joints, in the frames of `joint_frames`.
    """
    between = {i for free in free_joints(tree) for i in free.between}
    links = [i for i in range(1, len(tree.links)) if i not in between]
    candidates = [(i, s) for i in links for s in PREFERENCE]
    order = [10 * (i - 1) + PARAMETERS.index(s) for i, s in candidates]
    A = energy_regressor(tree)[:, order]
    independent = independent_columns(A)
    dependent = [c for c in range(len(candidates)) if c not in set(independent)]
    sizes = np.linalg.norm(A[:, independent], axis=0)
    X = np.linalg.lstsq(A[:, independent] / sizes, A[:, dependent], rcond=None)[0] / sizes[:, None]
    X[np.abs(X) < ROUND_OFF] = 0.0

    values = np.concatenate([inertial_parameters(link.inertia) for link in tree.links[1:]])[order]
    names = [f"{tree.links[i].name.removesuffix(SUFFIX)}.{symbol}" for i, symbol in candidates]
    parameters = []
    for row, c in enumerate(independent):
        i, symbol = candidates[c]
        gathers = {names[c]: 1.0}
        gathers |= {names[d]: float(x) for d, x in zip(dependent, X[row], strict=True) if x}
        value = float(values[c] + X[row] @ values[dependent])
        link = tree.links[i].name.removesuffix(SUFFIX)
        parameters.append(BaseParameter(names[c], link, symbol, MappingProxyType(gathers), value))
    return tuple(candidates[c] for c in independent), BaseParameters(parameters)


# -- energies --------------------------------------------------------------------------------


def energy_regressor(tree: Robot) -> Array:
    """Compute kinetic and potential energy as linear functions of the inertial parameters.

    Args:
        tree: Tree without fixed joints; mimic joints are coupled.

    Returns:
        Matrix with one row for the kinetic energy of each of N random states, enough for every
        parameter, and one for its potential energy (less that of the first state), shape
        (2 N, 10 links), for links[1:] and `PARAMETERS`.
    """
    N = 10 * len(tree.joints) + 10
    rng = imported("numpy.random").default_rng(0)
    E = tree.coupling.matrix
    q = rng.uniform(-np.pi, np.pi, (N, tree.dof)) @ E.T + tree.coupling.offset
    qd = rng.normal(size=(N, tree.dof)) @ E.T

    # Of link i, in its axes: angular velocity, velocity of the origin, gravity; and its height,
    # the component of the origin's position along gravity
    w, v = [np.zeros((N, 3))], [np.zeros((N, 3))]
    g, height = [np.tile(tree.gravity, (N, 1))], [np.zeros(N)]
    kinetic, potential = [], []
    for k, joint in enumerate(tree.joints):
        P = tree.parents[k]
        R, p = _poses(joint, q[:, k])
        v_P = v[P] + np.cross(w[P], p)
        rate = np.outer(qd[:, k], joint.axis)
        w.append(_into(R, w[P]) + (rate if joint.type.rotates else 0.0))
        v.append(_into(R, v_P) + (0.0 if joint.type.rotates else rate))
        g.append(_into(R, g[P]))
        height.append(height[P] + np.sum(g[P] * p, axis=1))
        (x, y, z), first = w[-1].T, np.cross(v[-1], w[-1])
        squares = 0.5 * x * x, x * y, x * z, 0.5 * y * y, y * z, 0.5 * z * z
        kinetic += [0.5 * np.sum(v[-1] ** 2, axis=1), *first.T, *squares]
        potential += [-height[-1], *-g[-1].T, *np.zeros((6, N))]
    U = np.array(potential).T
    return np.vstack([np.array(kinetic).T, U - U[0]])


def _poses(joint: Joint, q: Array) -> tuple[Array, Array]:
    """Return R_PC, shape (N, 3, 3), and p_PC, shape (N, 3), for N positions of a joint."""
    R0, p0, b = joint.origin.rotation, joint.origin.translation, joint.axis
    if not joint.type.rotates:
        return np.tile(R0, (len(q), 1, 1)), p0 + np.outer(q, R0 @ b)
    return R0 @ np.moveaxis(rotation_about(b, q), -1, 0), np.tile(p0, (len(q), 1))


def _into(R: Array, v: Array) -> Array:
    """Return R^T v for every sample."""
    return np.asarray(np.einsum("nij,ni->nj", R, v))


def independent_columns(A: Array) -> list[int]:
    """Find the columns that are independent of those to their left, by Gram-Schmidt."""
    scale = np.max(np.linalg.norm(A, axis=0), initial=0.0)
    Q: Any = np.empty((A.shape[0], 0))
    found = []
    for c in range(A.shape[1]):
        size = np.linalg.norm(A[:, c])
        if size <= 1e-12 * scale:  # affects no energy
            continue
        a = A[:, c] / size
        for _ in range(2):  # once more removes what round-off has left
            a = a - Q @ (Q.T @ a)
        new = np.linalg.norm(a)
        if new > INDEPENDENT:
            Q = np.column_stack([Q, a / new])
            found.append(c)
    return found
