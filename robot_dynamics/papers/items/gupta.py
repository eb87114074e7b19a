"""Items of [Gupta1986] and its continuation to dynamics."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.formulations import zero_reference
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.circle_simulation import simulate_circle
from robot_dynamics.papers.counts.newton_euler_count import newton_euler_count
from robot_dynamics.papers.counts.recursions import (
    ONE_PRODUCT,
    CountComparison,
    compare_direct_dynamics,
    compare_zero_reference,
    compare_zero_reference_arm,
)
from robot_dynamics.papers.items.item import (
    EXACT,
    Item,
    Row,
    count_row,
    row,
    seconds_of,
    slower_machine,
)
from robot_dynamics.papers.joint_reactions import joint_reactions
from robot_dynamics.papers.paper_arms import (
    INCH,
    POUND,
    POUND_INCH,
    puma_type_arm,
    stanford_arm,
)
from robot_dynamics.papers.paper_motions import (
    CIRCLE_TIME_S,
    JointMotion,
    circle_motion,
    hand_on_circle,
)
from robot_dynamics.papers.zero_reference_hand import displacement, hand_motion, hand_position
from robot_dynamics.robot.zero_reference_tables import hand_of
from robot_dynamics.simulation.integrators import integrate
from robot_dynamics.spatial import cross
from robot_dynamics.trajectory.motions import circle_law

TABLE_1 = (  # u, s, d, b of joint k; lengths in inches
    ((0, 0, 1), (0, 5, 0), (0, 5, 0), (0, 10, 0)),
    ((0, 1, 0), (8, 2, 0), (9, -2, 0), (17, 0, 0)),
    ((0, 1, 0), (0, 0, -9), (0, 0, -8), (0, 0, -17)),
    ((0, 0, 1), (0, 0, -1), (0, 0, 1), (0, 0, 0)),
    ((0, -1, 0), (0, -1, 0), (0, 1, 0), (0, 0, 0)),
    ((0, 0, -1), (0, 0, -3), (0, 0, -2), (0, 0, -5)),
)

TABLE_2 = (  # weight, lbf, and Ixx, Iyy, Izz, Ixy, Ixz, Iyz, lbf in s^2, of link k + 1
    (10, 0.230, 0.005, 0.230, 0, 0, 0),
    (16, 0.069, 1.453, 1.394, 0, 0, 0),
    (12, 1.405, 1.585, 0.034, 0, 0, 0),
    (1, 0.001, 0.001, 0.0001, 0, 0, 0),
    (1, 0.001, 0.0001, 0.001, 0, 0, 0),
    (6, 0.069, 0.069, 0.01, 0, 0, 0),
)

JUST_STILL = 1e-9
"""Bound on rates and accelerations at rest, rad/s and rad/s^2: the sines of the cycloid at their
zeros, and a solution for the rates."""


def _table_1() -> Iterator[Row]:
    zero = puma_type_arm()
    hand = hand_of(zero)
    ends = [*zero.b[1:], hand.b]  # b_k ends at the next joint, the last at h
    for k, (u, s, d, b) in enumerate(TABLE_1):
        to_mass_centre = zero.s[k + 1]
        yield row(f"u, joint {k + 1}", u, zero.u[k], EXACT)
        yield row(f"s, d, b, joint {k + 1} (in)", (*s, *d, *b),
                  np.concatenate([to_mass_centre, ends[k] - to_mass_centre, ends[k]]) / INCH,
                  EXACT)  # fmt: skip
    yield row("u_t, u_a", (0, -1, 0, 0, 0, -1), np.concatenate([hand.u_ot, hand.u_oa]), EXACT)


def _body(reading: str, link: int) -> Array:
    zero = puma_type_arm(reading)
    I = zero.inertia[link - 1] / POUND_INCH  # noqa: E741  # as printed
    moments = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    return np.array([zero.mass[link - 1] / POUND, *moments])


def _table_2() -> Iterator[Row]:
    for k, printed in enumerate(TABLE_2, start=2):
        yield row(f"link {k} (lbf, lbf in s^2)", printed, _body("printed", k), EXACT)
    reason = "puma_gupta reads the 5 of 1.585 as a 3: no body has more than the sum of the others"
    change = (0, 0, -0.2, 0, 0, 0, 0)
    yield row("link 4 of puma_gupta", TABLE_2[2], _body("physical", 4), EXACT, change, (reason,))


def _displacement() -> Iterator[Row]:
    u, P, s = np.array([2.0, -1.0, 2.0]) / 3.0, np.array([0.3, 0.1, -0.2]), 0.4
    D = displacement(u, P, 0.7, s)
    yield row("P, a point of the line, moves to P + s u", P + s * u, D.rotation @ P + D.translation)
    yield row("u stays", u, D.rotation @ u)
    zero, q = puma_type_arm(), np.array([0.3, -0.5, 0.4, 0.2, 0.7, -0.6])
    at_zero = hand_position(zero, np.zeros(6)).b
    yield row("h at zero: sum of b (in)", (17, 10, -22), at_zero / INCH, EXACT)
    turned = hand_position(zero, q)
    yield row("u_a and u_t stay at right angles", 0.0, turned.u_oa @ turned.u_ot)


def _state() -> tuple[Array, Array, Array]:
    q, qd, qdd = (x[0] for x in circle_motion(puma_type_arm(), [0.3 * CIRCLE_TIME_S]))
    return q, qd, qdd


def _collar() -> Iterator[Row]:
    """(8) and (21): the moment moves with the collar, the effort does not."""
    arm, (q, qd, qdd) = stanford_arm(), np.full((3, 6), 0.3)
    child, parent = (joint_reactions(arm, q, qd, qdd, collar=x) for x in ("child", "parent"))
    lever = child.axis[2] * q[2]
    yield row("force at the collar of joint 3 (N)", child.force[2], parent.force[2])
    moved = child.moment[2] + cross(lever, child.force[2])
    yield row("moment about the collar on the parent (N m)", moved, parent.moment[2])


def _balance() -> Iterator[Row]:
    """(27) and (28) of the whole arm at rest: the base bears the weight."""
    zero, q, still = puma_type_arm(), np.array([0.3, -0.5, 0.4, 0.2, 0.7, -0.6]), np.zeros(6)
    found = joint_reactions(zero.to_robot(), q, still, still)
    weight = sum(w for w, *_ in TABLE_2)
    yield row("force of the base, all weights (lbf)", weight,
              np.linalg.norm(found.force[0]) / POUND_INCH * INCH, 1e-9)  # fmt: skip
    along = np.sum(found.moment * found.axis, axis=1)
    yield row("f = u . T (29) (N m)", along, found.effort)


@functools.cache
def _circle() -> tuple[Array, JointMotion, Array]:
    """Times, joint motion and drive torques, lbf in, of the arm as printed."""
    zero, t = puma_type_arm(), np.linspace(0.0, CIRCLE_TIME_S, 31)
    motion = circle_motion(zero, t)
    states = zip(*motion, strict=True)
    tau = np.array([zero_reference.inverse_dynamics(zero.robot, *state, {}) for state in states])
    return t, motion, tau / POUND_INCH


def _circle_equations() -> Iterator[Row]:
    t, motion, _ = _circle()
    zero, k = puma_type_arm(), 12
    psi, psi_dot, psi_ddot = (float(x) for x in circle_law(t[k]))
    sine, cosine = np.sin(psi), np.cos(psi)
    wanted = hand_on_circle(t[k])
    found = hand_motion(zero, *(x[k] for x in motion))
    place = hand_position(zero, motion.q[k])
    at = f"at {t[k]:.3g} s"
    yield row("psi at 3, 6, 9 s (rad)", np.pi * np.array([0.5, 1.5, 2.0]),
              circle_law([3.0, 6.0, 9.0]).angle)  # fmt: skip
    yield row(f"(30) h {at} (in)", (34.0, 6.0 * sine, 6.0 * cosine), place.b / INCH)
    tilt = np.pi / 6.0
    u_a = (np.cos(tilt), -np.sin(tilt) * sine, -np.sin(tilt) * cosine)
    yield row(f"(31) u_a {at}", u_a, place.u_oa)
    yield row(f"(31) u_t {at}", (0.0, cosine, -sine), place.u_ot)
    yield row(f"(37) omega {at} (rad/s)", (-psi_dot, 0.0, 0.0), found.omega)
    yield row(f"(38) alpha {at} (rad/s^2)", (-psi_ddot, 0.0, 0.0), found.alpha)
    a_y = -6.0 * psi_dot**2 * sine + 6.0 * psi_ddot * cosine
    a_z = -6.0 * psi_dot**2 * cosine - 6.0 * psi_ddot * sine
    yield row(f"(38) a {at} (in/s^2)", (0.0, a_y, a_z), found.a / INCH)
    yield row("(38), the function for the motion of the hand", found.a, wanted.a)


def _joint_values() -> Iterator[Row]:
    _, motion, _ = _circle()
    turn = motion.q[-1] - motion.q[0]
    yield row("joint 4 from start to end: a full turn (rad)", 2.0 * np.pi, turn[3])
    yield row("joints 1, 2, 3, 5, 6: they return (rad)", np.zeros(5), turn[[0, 1, 2, 4, 5]])
    reason = "the paper: very small changes; the wrist stays at one distance from the shoulder"
    yield row("joint 3, range (rad)", 0.0, np.ptp(motion.q[:, 2]), reasons=(reason,))


def _joint_rates() -> Iterator[Row]:
    _, motion, _ = _circle()
    yield row("rates at both ends (rad/s)", np.zeros(12), motion.qd[[0, -1]], JUST_STILL)
    yield _derivative("rates, derivatives of the values at 2.7 s (rad/s)", "q", "qd")


def _joint_accelerations() -> Iterator[Row]:
    _, motion, _ = _circle()
    yield row("accelerations at both ends (rad/s^2)", np.zeros(12), motion.qdd[[0, -1]], JUST_STILL)
    yield _derivative("accelerations, derivatives of the rates at 2.7 s (rad/s^2)", "qd", "qdd")


def _derivative(quantity: str, of: str, what: str) -> Row:
    """A central difference over 2 h and the derivative; h^2 by third derivatives of 100 apart."""
    h, at = 1e-4, 0.3 * CIRCLE_TIME_S
    motion = circle_motion(puma_type_arm(), [at - h, at, at + h])
    before, _, after = getattr(motion, of)
    return row(quantity, (after - before) / (2.0 * h), getattr(motion, what)[1], 1e-5)


def _torques() -> Iterator[Row]:
    _, motion, tau = _circle()
    zero, still = puma_type_arm(), np.zeros(6)
    load = np.array(
        [zero_reference.inverse_dynamics(zero.robot, q, still, still, {}) for q in motion.q]
    )
    load /= POUND_INCH
    for name, k in (("start", 0), ("end", -1)):
        yield row(f"torques at the {name}: static equilibrium (lbf in)", load[k], tau[k], 1e-9)
    most = np.sort(np.argsort(np.abs(load).max(axis=0))[-2:]) + 1
    yield row("joints with the largest gravity load", (2, 3), most, 0.0)


def _inverse_counts() -> Iterator[Row]:
    yield count_row("a revolute joint", compare_zero_reference("R"), (8, 8))
    yield count_row("a prismatic joint", compare_zero_reference("P"), (8, 8))
    yield count_row("six revolute joints", compare_zero_reference_arm(), (48, 48))
    one = compare_zero_reference_arm(one_product=True)
    yield count_row("six revolute joints, links with one product of inertia", one)
    newton_euler = CountComparison(OperationCount(851, 739, 12), newton_euler_count(6), ())
    yield count_row("Newton-Euler of reference 4", newton_euler, (-260, -289))


def _direct_counts() -> Iterator[Row]:
    yield count_row("six revolute joints", compare_direct_dynamics(), (-456, -214))


def _closed_circle() -> Iterator[Row]:
    zero = puma_type_arm()
    motion = simulate_circle(zero)
    turned = motion.q[-1] - motion.q[0]
    # fourth order at 25 ms, with a jump of the jerk at 3 s and 6 s
    bound = 1e-6
    yield row("joints from start to end (rad)", (0, 0, 0, 2.0 * np.pi, 0, 0), turned, bound)
    first, last = (hand_position(zero, motion.q[k]).rotation for k in (0, -1))
    yield row("orientation of the hand at the end", first, last, bound)
    hands = np.array([hand_position(zero, q).b for q in motion.q])
    psi = circle_law(motion.t).angle
    circle = np.column_stack((34.0 + 0.0 * psi, 6.0 * np.sin(psi), 6.0 * np.cos(psi)))
    away = np.abs(hands / INCH - circle).max()
    yield row("largest distance of h from the circle (in)", 0.0, away, bound / INCH)


def _times() -> Iterator[Row]:
    arm, (q, qd, qdd) = Dynamics(puma_type_arm("physical").robot, "zero_reference"), _state()
    tau, steps = arm.inverse(q, qd, qdd), 50

    def simulate() -> object:
        return integrate(
            lambda _, q, qd: arm.forward(q, qd, tau),
            q,
            qd,
            duration=1e-3 * steps,
            step=1e-3,
            method="adams_bashforth_moulton",
        )

    inverse = seconds_of(lambda: arm.inverse(q, qd, qdd))
    yield slower_machine("drive torques of a state (s)", 0.003, inverse)
    cycle = seconds_of(simulate, repetitions=2) / steps
    yield slower_machine("a cycle of the simulation (s)", 0.018, cycle)


TILT = "The tilt of the hand is lost: pi/6 is chosen."
LOST = "The curves are not in the copies at hand: what the text says of them is compared."
STEPS = (
    "The paper prints totals and no steps. What stays open is 8 / 8 for both types of joint: "
    f"{ONE_PRODUCT}."
)

ITEMS = (
    Item("table-1", "joints and links of the PUMA-type arm", "table 1, figure 4",
         "papers.paper_arms.puma_type_arm", _table_1,
         "Each row fits b = s + d. In m and kg: `robot-dynamics table puma_gupta_printed --as "
         "zero-reference`."),
    Item("table-2", "weights and inertias", "table 2", "papers.paper_arms.puma_type_arm", _table_2),
    Item("figure-1", "zero reference position, displacement about a line", "(1a), (1b)",
         "papers.zero_reference_hand.displacement", _displacement,
         "The figure explains symbols; the numbers of the line are chosen."),
    Item("figure-2", "body vectors, the collar of a sliding joint", "(7), (8), (20), (21)",
         "papers.joint_reactions.joint_reactions", _collar,
         "The figure explains symbols; shown on the slide of the Stanford arm."),
    Item("figure-3", "forces on a link", "(27) to (29)",
         "papers.joint_reactions.joint_reactions", _balance),
    Item("circle", "the hand on its circle", "(30) to (38)",
         "papers.paper_motions.hand_on_circle", _circle_equations, TILT),
    Item("figure-5", "joint values on the circle", "section 3",
         "papers.paper_motions.circle_motion", _joint_values, LOST,
         "zero_reference_5_values"),
    Item("figure-6", "joint rates on the circle", "(4a)",
         "papers.paper_motions.circle_motion", _joint_rates, LOST,
         "zero_reference_6_rates"),
    Item("figure-7", "joint accelerations on the circle", "(4b)",
         "papers.paper_motions.circle_motion", _joint_accelerations, LOST,
         "zero_reference_7_accelerations"),
    Item("figure-8", "drive torques on the circle", "(18) to (29)",
         "formulations.zero_reference.inverse_dynamics", _torques, LOST,
         "zero_reference_8_torques"),
    Item("counts", "operations of the inverse dynamics", "section 3",
         "papers.counts.recursions.compare_zero_reference", _inverse_counts, STEPS),
    Item("counts-direct", "operations of the direct dynamics", "section 4",
         "papers.counts.recursions.compare_direct_dynamics", _direct_counts,
         "The paper prints a total and no steps."),
    Item("section-4", "the circle by direct dynamics", "(39) to (44)",
         "papers.circle_simulation.simulate_circle", _closed_circle,
         "Torques of inverse dynamics, with feedback of the joints, in the paper's predictor and "
         "corrector of 25 ms."),
    Item("times", "running times on an IBM 3081, Fortran in double precision", "sections 3 and 4",
         "simulation.integrators.integrate", _times),
)  # fmt: skip
