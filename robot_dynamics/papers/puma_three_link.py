"""First three links of a PUMA arm in closed form: section 4 of Lee, Lee and Nigam.

[Lee1982] writes out D, H^tran, H^rot and G of this arm by hand, for link inertias that are
diagonal about the mass centre in the frame of the link. The same arm as a `Robot` lets any
other formulation, and any simplified model, be set beside it.

Vectors here are given in the vertical plane of the arm, which turns with joint 1: the component
L along the arm, L(x) = C1 x_x + S1 x_y, the component N along axis z_1, N(x) = -S1 x_x + C1 x_y,
and the height z. The paper keeps x and y; joint 1 then drops out of every term but its own.
H^tran is a compact equivalent of the printed expansion, and G_2 and G_3 have the sign of an
upward z_0 and g = (0, 0, -9.8062).

`printed_h_tran` is H^tran as printed on pages 24 to 31, before it is simplified: for every joint
the brackets of (31) in vectors of base axes. Those lines can be read in the copies at hand; of the
component expansions after them only ten coefficients can: `printed_coefficients`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.formulations.dalembert import StructuredEquations
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, Pose, cross


@dataclass(frozen=True, eq=False)
class PumaThreeLink:
    """Numbers (or symbols) of the arm; lengths default to the paper's figure 3.

    Args:
        masses: m_1, m_2, m_3, kg.
        coms: Mass centre of link i from the origin of frame i, in frame i, shape (3, 3), m.
        inertias: Ixx, Iyy, Izz of link i about its mass centre in frame i, shape (3, 3), kg m^2.
        a2: Length of the upper arm, m.
        d2: Offset of the arm's plane along z_1, m.
        a3: Offset of joint 4 from joint 3, m.
        g: Gravitational acceleration, along -z_0, m/s^2.
    """

    masses: Array
    coms: Array
    inertias: Array
    a2: Any = 0.4318
    d2: Any = 0.14909
    a3: Any = -0.02032
    g: Any = 9.8062

    def robot(self) -> Robot:
        """The same arm as a robot; link i has its frame on joint i, turning with the link.

        Frame i of the paper stands at the far joint: from the link's frame it is reached by
        Trans(z, d) Trans(x, a) Rot(x, alpha) of the paper's table.
        """
        to_frame = [  # X of frame i in the frame of link i
            Pose(_about_x(0.0, -1.0), np.zeros(3)),
            Pose(np.eye(3), np.array([self.a2, 0.0, self.d2])),
            Pose(_about_x(0.0, 1.0), np.array([self.a3, 0.0, 0.0])),
        ]
        links, joints = [Link("base")], []
        origin = Pose.identity()
        for i, X in enumerate(to_frame):
            body = Inertia.from_com(self.masses[i], self.coms[i], np.diag(self.inertias[i]))
            child = f"link{i + 1}"
            kind = JointType.REVOLUTE
            z = np.array([0.0, 0.0, 1.0])
            joints.append(Joint(f"joint{i + 1}", kind, links[-1].name, child, origin, z))
            links.append(Link(child, body.expressed_in(X)))
            origin = X
        g = np.array([0.0, 0.0, -self.g])
        return Robot("three-link PUMA", tuple(links), tuple(joints), g)

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Joint efforts tau = D qdd + H^tran + H^rot + G, shape (3,), N m."""
        e = self.equations(q, qd)
        return e.D @ qdd + e.H + e.G

    def equations(self, q: Array, qd: Array) -> StructuredEquations:
        """D, H^tran, H^rot and G of section 4 at joint angles q (3,), rad, and rates qd (3,)."""
        m, (w1, w2, w3) = self.masses, qd
        (_, I1yy, _), (I2xx, I2yy, I2zz), (I3xx, I3yy, I3zz) = self.inertias
        S2, C2, S23, C23 = np.sin(q[1]), np.cos(q[1]), np.sin(q[1] + q[2]), np.cos(q[1] + q[2])

        # Mass centres: c_i from joint i, r_i from the base; p_2 is joint 3
        x, y, z = self.coms[0]
        L_r1, N_r1 = x, z
        p2 = np.array([self.a2 * C2, self.d2, -(self.a2 * S2)])
        x, y, z = self.coms[1] + np.array([self.a2, 0.0, self.d2])
        L_c2, N_r2, c2z = C2 * x - S2 * y, z, -(S2 * x) - C2 * y
        x, y, z = self.coms[2] + np.array([self.a3, 0.0, 0.0])
        L_c3, N_c3, c3z = C23 * x + S23 * z, y, C23 * z - S23 * x
        L_r3, N_r3, r3z = p2[0] + L_c3, p2[1] + N_c3, p2[2] + c3z
        Q = p2[0] * c3z - p2[2] * L_c3

        D11 = m[0] * (L_r1 * L_r1 + N_r1 * N_r1)
        D11 = D11 + m[1] * (L_c2 * L_c2 + N_r2 * N_r2) + m[2] * (L_r3 * L_r3 + N_r3 * N_r3)
        D12 = -(m[1] * c2z * N_r2) - m[2] * r3z * N_r3
        D13 = -(m[2] * c3z * N_r3)
        D22 = m[1] * (c2z * c2z + L_c2 * L_c2) + m[2] * (r3z * r3z + L_r3 * L_r3)
        D23 = m[2] * (c3z * r3z + L_c3 * L_r3)
        D33 = m[2] * (c3z * c3z + L_c3 * L_c3)
        D_tran = np.array([[D11, D12, D13], [D12, D22, D23], [D13, D23, D33]])

        D11 = I1yy + S2 * S2 * I2xx + C2 * C2 * I2yy + S23 * S23 * I3xx + C23 * C23 * I3zz
        D_rot = np.array([[D11, 0.0, 0.0], [0.0, I2zz + I3yy, I3yy], [0.0, I3yy, I3yy]])

        h12 = m[1] * L_c2 * c2z + m[2] * L_r3 * r3z
        h13 = m[2] * L_r3 * c3z
        inner = w3 * w3 + 2.0 * w2 * w3
        H1 = 2.0 * h12 * w1 * w2 + 2.0 * h13 * w1 * w3
        H1 = H1 + (m[1] * N_r2 * L_c2 + m[2] * N_r3 * L_r3) * (w2 * w2) + m[2] * N_r3 * L_c3 * inner
        H2 = m[2] * Q * inner - h12 * (w1 * w1)
        H3 = -(h13 * (w1 * w1)) - m[2] * Q * (w2 * w2)
        H_tran = np.array([H1, H2, H3])

        k2, k3 = S2 * C2 * (I2xx - I2yy), S23 * C23 * (I3xx - I3zz)
        H1 = 2.0 * k2 * w1 * w2 + 2.0 * k3 * (w1 * w2 + w1 * w3)
        H_rot = np.array([H1, -((k2 + k3) * (w1 * w1)), -(k3 * (w1 * w1))])

        G3 = -(self.g * m[2] * L_c3)
        G = np.array([0.0, -(self.g * (m[1] * L_c2 + m[2] * L_r3)), G3])
        return StructuredEquations(D_tran, D_rot, H_tran, H_rot, G)


def _about_x(c: float, s: float) -> Array:
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


# -- H^tran as printed -----------------------------------------------------------------------


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


def printed_inertia(arm: PumaThreeLink, q: Array) -> Array:
    """D_ij of section 4, from r_i and c_i in base axes as printed, shape (3, 3), kg m^2."""
    v = puma_vectors(arm, q)
    c_2, c_3, r_1, r_3 = v.c[1], v.c[2], v.c[0], v.p_star[1] + v.c[2]
    C1, S1, S2, C2 = np.cos(q[0]), np.sin(q[0]), np.sin(q[1]), np.cos(q[1])
    S23, C23 = np.sin(q[1] + q[2]), np.cos(q[1] + q[2])
    m1, m2, m3 = arm.masses
    (_, I1yy, _), (I2xx, I2yy, I2zz), (I3xx, I3yy, I3zz) = arm.inertias

    def along(x: Array) -> Any:
        return S1 * x[1] + C1 * x[0]

    def across(c: Array, r: Array) -> Any:
        return -(C1 * c[2] * r[1]) + S1 * c[2] * r[0]

    D33 = I3yy + m3 * (c_3[2] ** 2 + along(c_3) ** 2)
    D23 = I3yy + m3 * (c_3[2] * r_3[2] + along(c_3) * along(r_3))
    D22 = I2zz + I3yy + m2 * (c_2[2] ** 2 + along(c_2) ** 2) + m3 * (r_3[2] ** 2 + along(r_3) ** 2)
    D13, D12 = m3 * across(c_3, r_3), m2 * across(c_2, c_2) + m3 * across(r_3, r_3)
    D11 = I1yy + S2**2 * I2xx + C2**2 * I2yy + S23**2 * I3xx + C23**2 * I3zz
    for m, r in ((m1, r_1), (m2, c_2), (m3, r_3)):
        D11 = D11 + m * (r[0] ** 2 + r[1] ** 2)
    return np.array([[D11, D12, D13], [D12, D22, D23], [D13, D23, D33]])


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


def printed_coefficients(arm: PumaThreeLink, q: Array) -> dict[tuple[int, int, int], Any]:
    """Coefficients of products of rates in H^tran that can be read, of link 3, kg m^2.

    Keys are the joint of the effort and both joints of the rates, from 1 on. Those of H_3 are on
    page 25, of H_2 on pages 27 and 28, of H_1 on page 30. The factor 2 of the rates 1 and 2 in H_1
    is lost.
    """
    v = puma_vectors(arm, q)
    C, S = np.cos(q[0]), np.sin(q[0])
    (p_x, p_y, p_z), (c_x, c_y, c_z) = v.p_star[1], v.c[2]
    r_x, r_y, r_z = v.p_star[1] + v.c[2]
    h_2 = S * c_z * r_y + C * c_z * r_x - S * c_y * r_z - C * c_x * r_z
    of_p = S * p_z * r_y + C * p_z * r_x - S * p_y * r_z - C * p_x * r_z
    h_1 = S * C * c_y * r_y + C * C * c_x * r_y - S * S * c_y * r_x - S * C * c_x * r_x
    beside = S * C * p_y * r_y + C * C * p_x * r_y - S * S * p_y * r_x - S * C * p_x * r_x
    along = S * c_z * r_y + C * c_z * r_x
    found = {
        (1, 1, 2): 2.0 * (S * p_z * r_y + C * p_z * r_x + along),
        (1, 1, 3): 2.0 * along,
        (1, 2, 2): beside + h_1,
        (1, 2, 3): 2.0 * h_1,
        (1, 3, 3): h_1,
        (2, 2, 2): of_p + h_2,
        (2, 2, 3): 2.0 * h_2,
        (2, 3, 3): h_2,
        (3, 1, 1): -(C * c_z * (p_x + c_x)) - S * c_z * (p_y + c_y),
        (3, 2, 2): -(C * c_z * p_x) - S * c_z * p_y + (S * c_y + C * c_x) * p_z,
    }
    return {key: arm.masses[2] * value for key, value in found.items()}
