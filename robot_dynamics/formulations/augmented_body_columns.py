"""prototype"""
from __future__ import annotations
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
import math
import numpy as np
from robot_dynamics.formulations.vectors import Array, cross
from robot_dynamics.robot.robot import Robot

@dataclass(frozen=True)
class Style:
    held: bool = False
    column: bool = True
    euler: bool = False
    squares: str = "own"

def exact(c, s):
    return (c in (0.0, 1.0, -1.0)) and (s in (0.0, 1.0, -1.0))

def split(R):
    """R = Rz(gamma) Rx(alpha) Rz(theta) as (cos, sin) pairs"""
    if R[0, 2] == 0.0:
        g = (1.0, 0.0)
        sa = -R[1, 2]
    else:
        sa = math.hypot(R[0, 2], R[1, 2])
        g = (-R[1, 2] / sa, R[0, 2] / sa)
    ca = R[2, 2]
    if sa == 0.0:
        t = (R[0, 0], R[1, 0])
    else:
        t = (R[2, 1] / sa, R[2, 0] / sa)
    return g, (ca, sa), t

def turn(v, axis, c, s):
    if axis == 0:
        return np.array([v[0], c * v[1] - s * v[2], s * v[1] + c * v[2]])
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]])

def outward(turns, v):  # parent -> child
    for axis, c, s in turns:
        v = turn(v, axis, c, -s)
    return v

def inward(turns, v):
    for axis, c, s in reversed(turns):
        v = turn(v, axis, c, s)
    return v

class Angle:
    def __init__(self, const=(1.0, 0.0), terms=0.0, nz=False):
        self.const, self.terms, self.nz = const, terms, nz
    def plus(self, o, sign=1.0):
        c0, s0 = self.const; c1, s1 = o.const; s1 = sign * s1
        return Angle((c0 * c1 - s0 * s1, s0 * c1 + c0 * s1), self.terms + sign * o.terms, self.nz or o.nz)
    def cs(self):
        c0, s0 = self.const
        if not self.nz:
            return c0, s0
        if exact(c0, s0):
            c, s = np.cos(self.terms), np.sin(self.terms)
            return c0 * c - s0 * s, s0 * c + c0 * s
        x = self.terms + math.atan2(s0, c0)
        return np.cos(x), np.sin(x)

def turnz(a: Angle):
    c, s = a.cs()
    if c is not None and not a.nz and c == 1.0 and s == 0.0:
        return []
    return [(2, c, s)]

def inverse_dynamics(robot: Robot, q, qd, qdd, wrenches, styles=None):
    n = len(robot.joints)
    if styles is None:
        styles = [Style()] * n
    zero = np.zeros(3)
    turns = [[]]; hold = [Angle()]; P = [zero]
    w = [zero]; col = [None]; U = [np.zeros((3, 3))]; acc = [-robot.gravity]; wd = [zero]
    for k, joint in enumerate(robot.joints):
        st = styles[k]; i = k + 1; p = robot.parents[k]
        R0, p0 = joint.origin.rotation, joint.origin.translation
        g, al, t = split(R0)
        phi = hold[p].plus(Angle(g))
        rot = joint.type.rotates
        theta = Angle(t, q[k], True) if rot else Angle(t)
        tx = [] if al[0] == 1.0 else [(0, al[0], al[1])]
        if al[1] == 0.0:
            theta = theta.plus(phi, al[0]); pre = tx
        else:
            pre = turnz(phi) + tx
        if p == 0 and rot:
            # base: everything constant
            g3 = outward(pre, acc[0])
        if st.held:
            tr, h = pre, theta
        else:
            tr, h = pre + turnz(theta), Angle()
        # position of origin in parent's axes
        pos = p0 if rot else p0 + R0 @ (joint.axis * q[k])
        hp = hold[p]
        if hp.nz:
            c, s = hp.cs(); pos = turn(pos, 2, c, s)
        P.append(pos); turns.append(tr); hold.append(h)
        a = outward(tr, acc[p] + U[p] @ pos)
        wp = outward(tr, w[p])
        if rot:
            z = np.array([0.0, 0.0, 1.0])
            wi = wp + z * qd[k]
            if st.column and p > 0:
                c = inward(pre, z)
                u = outward(tr, U[p] @ c)
                xz, yz = wi[0] * wi[2], wi[1] * wi[2]
                wz = outward(tr, wd[p])[2] + qdd[k]
                wdi = np.array([yz - u[1], u[0] - xz, wz])
            else:
                wdi = outward(tr, wd[p]) + z * qdd[k] + np.array([wp[1] * qd[k], -(wp[0] * qd[k]), 0.0])
                u = None
        else:
            ax = joint.axis
            if st.held or (hp.nz): raise NotImplementedError
            wi = wp; wdi = outward(tr, wd[p])
            a = a + ax * qdd[k] + 2.0 * (cross(wi, ax) * qd[k])
            u = None
        if not rot and not tr:
            Ui = U[p]
        else:
            xx, yy, zz = wi * wi
            xy, xz, yz = wi[0] * wi[1], wi[0] * wi[2], wi[1] * wi[2]
            if u is None:
                Ui = np.array([[-(yy + zz), xy - wdi[2], xz + wdi[1]], [xy + wdi[2], -(xx + zz), yz - wdi[0]], [xz - wdi[1], yz + wdi[0], -(xx + yy)]])
            else:
                Uxx = -(yy + zz); Uyy = -(xx + zz)
                if st.squares == "x":
                    Uxx = u[2] + (xx - zz)
                elif st.squares == "y":
                    Uyy = u[2] + (yy - zz)
                Ui = np.array([[Uxx, xy - wdi[2], u[0]], [xy + wdi[2], Uyy, u[1]], [xz - wdi[1], yz + wdi[0], u[2]]])
        w.append(wi); wd.append(wdi); U.append(Ui); acc.append(a)
    f = [zero] * (n + 1); m = [zero] * (n + 1)
    for i, (ff, mm) in wrenches.items():
        if hold[i].nz:
            c, s = hold[i].cs(); ff, mm = turn(ff, 2, c, s), turn(mm, 2, c, s)
        f[i] = f[i] + ff; m[i] = m[i] + mm
    tau = [0.0] * n
    for k in reversed(range(n)):
        joint = robot.joints[k]; i = k + 1; p = robot.parents[k]; st = styles[k]
        B = robot.links[i].inertia
        h, I = B.first_moment, B.second_moment
        if hold[i].nz:
            c, s = hold[i].cs(); h = turn(h, 2, c, s)
            S = 0.5 * np.trace(I) * np.eye(3) - I
            S = turn_tensor(S, c, s)
            I = None
        else:
            S = 0.5 * np.trace(I) * np.eye(3) - I
        u = U[i]; wi = w[i]
        f[i] = f[i] + (u @ h + B.mass * acc[i])
        if not st.euler:
            xx, yy, zz = wi * wi
            if st.squares == "diff":
                dzy, dxz, dyx = zz - yy, xx - zz, yy - xx
                dzy, dxz, dyx = yy - zz, zz - xx, xx - yy
            dzy, dxz, dyx = yy - zz, zz - xx, xx - yy  # Uzz-Uyy = zz - yy ...
            N = np.array([
                u[2, 0] * S[0, 1] + u[2, 1] * S[1, 1] - u[1, 2] * S[2, 2] - dzy * S[1, 2] - u[1, 0] * S[0, 2],
                u[0, 1] * S[1, 2] - u[2, 0] * S[0, 0] + u[0, 2] * S[2, 2] - dxz * S[0, 2] - u[2, 1] * S[0, 1],
                u[1, 0] * S[0, 0] - u[0, 1] * S[1, 1] - dyx * S[0, 1] + u[1, 2] * S[0, 2] - u[0, 2] * S[1, 2]])
        else:
            from robot_dynamics.formulations.augmented_body import gyroscopic
            N = I @ wd[i] + gyroscopic(I, np.outer(wi, wi))
        m[i] = m[i] + N + cross(h, acc[i])
        tau[k] = m[i][2] if joint.type.rotates else joint.axis @ f[i]
        if p > 0:
            fp = inward(turns[i], f[i])
            f[p] = f[p] + fp
            m[p] = m[p] + inward(turns[i], m[i]) + cross(P[i], fp)
    return np.array(tau)

def turn_tensor(S, c, s):
    S = np.array(S)
    cc, ss, cs = c * c, s * s, c * s
    d = S[0, 0] - S[1, 1]
    # Rz S Rz^T
    xy = S[0, 1]
    t1 = s * s; t2 = c * s
    xx = S[0, 0] - d * t1 - (2.0 * xy) * t2
    yy = S[1, 1] + d * t1 + (2.0 * xy) * t2
    nxy = d * t2 + xy - (2.0 * xy) * t1
    xz, yz = c * S[0, 2] - s * S[1, 2], s * S[0, 2] + c * S[1, 2]
    return np.array([[xx, nxy, xz], [nxy, yy, yz], [xz, yz, S[2, 2]]])
