"""H^tran of the three-link PUMA as Lee, Lee and Nigam print it, before it is simplified.

[Lee1982], section 4, pages 24 to 31: for every joint the brackets of (31) are spelled out in
vectors of base axes. Those lines can be read in the copies at hand; of the component expansions
after them only the squares in H_3^tran can. `PumaThreeLink.equations` has a compact form of all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.papers.puma_three_link import PumaThreeLink
from robot_dynamics.spatial.rotation import cross


class PumaVectors(NamedTuple):
    """Vectors of pages 19 and 20 in base axes, shape (3,) each: names as printed."""

    z: tuple[Array, Array, Array]
    p_star: tuple[Array, Array]
    c: tuple[Array, Array, Array]


def puma_vectors(arm: PumaThreeLink, q: Array) -> PumaVectors:
    """Axes z_0, z_1, z_2, vectors p_1*, p_2* from joint to joint, and mass centres c_1, c_2, c_3.

    c_s starts at joint s. Frames 1 and 0 have one origin, so that p_1* is zero.
    """
    (C1, C2), (S1, S2) = np.cos(q[:2]), np.sin(q[:2])
    C23, S23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    R_01 = np.array([[C1, 0.0, -S1], [S1, 0.0, C1], [0.0, -1.0, 0.0]])
    R_02 = np.array([[C1 * C2, -C1 * S2, -S1], [S1 * C2, -S1 * S2, C1], [-S2, -C2, 0.0]])
    R_03 = np.array([[C1 * C23, -S1, C1 * S23], [S1 * C23, C1, S1 * S23], [-S23, 0.0, C23]])
    z_0, z_1 = np.array([0.0, 0.0, 1.0]), np.array([-S1, C1, 0.0])
    p_2 = R_02 @ np.array([arm.a2, 0.0, arm.d2])
    c_3 = R_03 @ (arm.coms[2] + np.array([arm.a3, 0.0, 0.0]))
    c = (R_01 @ arm.coms[0], p_2 + R_02 @ arm.coms[1], c_3)
    return PumaVectors((z_0, z_1, z_1), (np.zeros(3), p_2), c)


def printed_h_tran(arm: PumaThreeLink, q: Array, qd: Array) -> Array:
    """H_1^tran to H_3^tran by the printed sums of brackets, shape (3,), N m."""
    v = puma_vectors(arm, q)
    (z_0, z_1, z_2), (p_1, p_2), c = v
    w_1, w_2 = z_0 * qd[0], z_0 * qd[0] + z_1 * qd[1]
    w_3 = w_2 + z_2 * qd[2]
    turning = cross(z_0 * qd[0], z_1 * qd[1])
    of_axis_3 = turning + cross(w_2, z_2 * qd[2])

    below_2 = cross(w_1, cross(w_1, p_1))
    below_3 = below_2 + cross(w_2, cross(w_2, p_2)) + cross(turning, p_2)
    link_1 = cross(w_1, cross(w_1, c[0]))
    link_2 = below_2 + cross(w_2, cross(w_2, c[1])) + cross(turning, c[1])
    link_3 = below_3 + cross(w_3, cross(w_3, c[2])) + cross(of_axis_3, c[2])
    force = [m * a for m, a in zip(arm.masses, (link_1, link_2, link_3), strict=True)]

    r_1, r_2, r_3 = c[0], p_1 + c[1], p_1 + p_2 + c[2]
    H_1 = sum(cross(z_0, r) @ f for r, f in zip((r_1, r_2, r_3), force, strict=True))
    H_2 = cross(z_1, r_2 - p_1) @ force[1] + cross(z_1, r_3 - p_1) @ force[2]
    H_3 = cross(z_2, r_3 - p_1 - p_2) @ force[2]
    return np.array([H_1, H_2, H_3])


def printed_h_3_coefficients(arm: PumaThreeLink, q: Array) -> tuple[Any, Any]:
    """Coefficients of the squares of the first and second rate in H_3^tran, page 25, in N m s^2."""
    v = puma_vectors(arm, q)
    C1, S1 = np.cos(q[0]), np.sin(q[0])
    (p_x, p_y, p_z), (c_x, c_y, c_z) = v.p_star[1], v.c[2]
    first = -(C1 * c_z * (p_x + c_x)) - S1 * c_z * (p_y + c_y)
    second = -(C1 * c_z * p_x) - S1 * c_z * p_y + (S1 * c_y + C1 * c_x) * p_z
    return arm.masses[2] * first, arm.masses[2] * second
