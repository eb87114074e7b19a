"""Joint efforts by cause: the terms of eqs. (30) to (33) of Lee, by effect and by link.

[Lee1982] interprets its coefficients as effects of acceleration, centrifugal and Coriolis forces,
each by translation and by rotation of the links, and of gravity. Each effect is a table with a row
for the link that causes it and a column for the joint that it acts on.

(31) mixes pairs of joints p, q in its double sums. Sorted by pairs, the acceleration of mass
centre s is sum_q qd_q (qd_q z_q + 2 sum_(p<q) qd_p z_p) x dv_s/dqd_q. The term p = q is
centrifugal, the others are Coriolis terms, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from robot_dynamics.algorithms.base_axes import base_axes, endpoint_efforts, on_tree
from robot_dynamics.errors import unknown_name
from robot_dynamics.formulations.dalembert import axes_in_link, velocity_columns
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import cross


@dataclass(frozen=True, eq=False)
class Effects:
    """Joint efforts by cause: entry [s, i] of a table is the effort at joint i due to link s.

    All tables have shape (n, n), N m or N; row s is the link that joint s carries.

    Args:
        links: Names of the rows.
        joints: Names of the columns.
        inertia_translation: Acceleration of joints, by moving the mass centre (30).
        inertia_rotation: Acceleration of joints, by turning the link (30).
        centrifugal_translation: Squares of joint velocities in (31).
        coriolis_translation: Products of two joint velocities in (31).
        centrifugal_rotation: Squares of joint velocities in (32).
        coriolis_rotation: Products of two joint velocities in (32).
        gravity: Weight of the link (33).
        endpoint: Wrench that the link exerts on its surroundings; not in the paper.
    """

    links: tuple[str, ...]
    joints: tuple[str, ...]
    inertia_translation: Array
    inertia_rotation: Array
    centrifugal_translation: Array
    coriolis_translation: Array
    centrifugal_rotation: Array
    coriolis_rotation: Array
    gravity: Array
    endpoint: Array

    @property
    def by_cause(self) -> dict[str, Array]:
        """Efforts by effect, summed over links, shape (n,) each."""
        return {name: table.sum(axis=0) for name, table in self._tables().items()}

    @property
    def by_link(self) -> Array:
        """Efforts at joint i due to link s, summed over effects, shape (n, n)."""
        return np.array(sum(self._tables().values()))

    @property
    def total(self) -> Array:
        """Joint efforts tau, shape (n,): the sum over effects and links."""
        return np.array(self.by_link.sum(axis=0))

    def table(self, joint: str | None = None) -> str:
        """Write the efforts as text: a row per joint, or a row per link for one joint.

        Raises:
            UnknownNameError: If there is no such joint.
        """
        if joint is not None and joint not in self.joints:
            raise unknown_name("joint", joint, "these effects", self.joints)
        tables = self._tables()
        if joint is None:
            rows, names = np.array([t.sum(axis=0) for t in tables.values()]).T, self.joints
        else:
            column = self.joints.index(joint)
            rows, names = np.array([t[:, column] for t in tables.values()]).T, self.links
        heads = [f"{name.replace('_', ' '):>10}" for name in (*tables, "total")]
        width = max(len(name) for name in names)
        lines = ["  ".join([" " * width, *heads])]
        for name, row in zip(names, rows, strict=True):
            cells = zip((*row, row.sum()), heads, strict=True)
            lines.append("  ".join([name.ljust(width), *[f"{x:{len(h)}.4g}" for x, h in cells]]))
        return "\n".join(lines)

    def _tables(self) -> dict[str, Array]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NAMES}


_NAMES = ("links", "joints")


def effects(
    robot: Robot,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    wrenches: Wrenches | None = None,
) -> Effects:
    """Split the joint efforts of a motion by effect, by link and by joint.

    Args:
        robot: Any robot; n moving joints, followers of mimic joints included.
        q: Joint positions, shape (n,), rad or m.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        wrenches: As for `dalembert.inverse_dynamics`.

    Raises:
        ShapeError: If q, qd or qdd does not have one entry per moving joint.
        ArgumentError: If an entry is not finite.
    """
    tree, (q, qd, qdd) = on_tree(robot, q=q, qd=qd, qdd=qdd)
    axes = base_axes(tree, q)
    n = len(tree.joints)
    tables = {f.name: np.zeros((n, n), dtype=q.dtype) for f in fields(Effects)[2:]}
    for s, z_link in enumerate(axes_in_link(tree, axes)):
        path = list(axes.paths[s])
        body, dv = tree.links[s + 1].inertia, velocity_columns(tree, axes, s)
        speed, acceleration = qd[path], qdd[path]

        # Translation: forces at the mass centre, base axes
        turn = axes.jacobian(s, axes.p[s])[1] * speed  # qd_q z_q, zero columns for prismatic q
        force = {
            "inertia_translation": body.mass * (dv @ acceleration),
            "centrifugal_translation": body.mass * (cross(turn, dv) @ speed),
            "coriolis_translation": body.mass * (2.0 * cross(_before(turn), dv) @ speed),
            "gravity": -body.mass * tree.gravity,
        }
        for name, f in force.items():
            tables[name][s, path] = dv.T @ f

        # Rotation: moments about the mass centre, link axes
        I_s, turn = body.about_com, z_link * speed
        w = turn.sum(axis=1)
        tables["inertia_rotation"][s, path] = z_link.T @ (I_s @ (z_link @ acceleration))
        squares = cross(turn, I_s @ turn).sum(axis=1)
        products = cross(turn, I_s @ (w[:, None] - turn)) + I_s @ cross(_before(turn), turn)
        tables["centrifugal_rotation"][s, path] = z_link.T @ squares
        tables["coriolis_rotation"][s, path] = z_link.T @ products.sum(axis=1)
    for s, efforts in endpoint_efforts(axes, wrenches or {}).items():
        tables["endpoint"][s] = efforts
    links = tuple(link.name for link in tree.links[1:])
    return Effects(links, tuple(joint.name for joint in tree.joints), **tables)


def _before(columns: Array) -> Array:
    """Return, for every column, the sum of the columns before it."""
    return np.hstack([np.zeros((3, 1)), np.cumsum(columns[:, :-1], axis=1)])
