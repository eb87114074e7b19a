"""Items of [Angeles1989]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.formulations import InverseDynamics, kane, newton_euler
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.papers.counts.newton_euler_count import compare_newton_euler
from robot_dynamics.papers.counts.recursions import (
    ANGELES_TABLE_1,
    CountComparison,
    Difference,
    compare_kane,
    kane_with_coincident_frames,
)
from robot_dynamics.papers.items.item import EXACT, Item, Row, count_row, row
from robot_dynamics.papers.paper_arms import stanford_arm, thomas_tesar_arm
from robot_dynamics.papers.paper_motions import (
    LINE_TIME_S,
    STANFORD_TIME_S,
    JointMotion,
    line_law,
    line_motion,
    stanford_motion,
)
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.robot.robot import Robot
from robot_dynamics.trajectory.motions import SPLINE_KNOTS

STANFORD_TABLE_2 = (  # alpha, degrees, a and b, m; b of joint 3 is its variable, 0 at the start
    (0, 0, -0.1), (90, 0, -0.1), (90, 0, 0), (0, 0, -0.6), (90, 0, 0), (90, 0, 0),
)  # fmt: skip

STANFORD_BODIES = (  # mass, kg, mass centre, m, and diagonal of the inertia about it, kg m^2
    (9.0, 0, 0, -0.1, 0.02, 0.01, 0.01),
    (6.0, 0, 0, 0, 0.05, 0.01, 0.06),
    (4.0, 0, 0, 0, 0.4, 0.4, 0.01),
    (1.0, 0, 0, 0.1, 0.001, 0.0005, 0.001),
    (0.6, 0, 0.06, 0, 0.0005, 0.0002, 0.0005),
    (0.5, 0, 0, 0, 0.003, 0.001, 0.002),
)

TESAR_TABLE_3 = (
    (0, 0, -1.5), (90, 0, 0), (0, 1.02, 0), (0, 1.02, 0), (90, 0.2, 0), (90, 0, -0.41),
)  # fmt: skip

TESAR_START_DEG = (0, 68.5, -135, 39.6, 90, 90)

TESAR_BODIES = (
    (680, 0, -0.33, 0, 0, 62, 0),
    (360, -0.87, 0, -0.13, 11, 53, 44),
    (180, -0.64, 0.04, 0, 1.1, 44, 44),
    (55, -0.12, 0.04, 0, 0.44, 0.91, 0.82),
    (36, 0, -0.05, -0.08, 0.47, 0.38, 0.18),
    (68, 0, 0, 0, 0.44, 0.64, 0.73),
)

G = 9.81

TORQUE_ROUND_OFF = 1e-8
"""Of torques up to 10^4 N m in float64; a wrong sign gives 1 N m and more."""


def _hartenberg_denavit(joint: Joint) -> Array:
    """Read alpha, a and b of (7) and (8) back from the frame of a joint, degrees and m."""
    R, p = joint.origin.rotation, joint.origin.translation
    alpha = np.arctan2(R[2, 1], R[1, 1])
    return np.array([np.degrees(alpha), p[0], p[1] * np.sin(alpha) - p[2] * np.cos(alpha)])


def _parameters(robot: Robot, printed: tuple[tuple[float, ...], ...]) -> Iterator[Row]:
    for k, numbers in enumerate(printed):
        ours = _hartenberg_denavit(robot.joints[k])
        yield row(f"alpha (deg), a, b (m), joint {k + 1}", numbers, ours, EXACT)


def _bodies(robot: Robot, printed: tuple[tuple[float, ...], ...]) -> Iterator[Row]:
    for k, numbers in enumerate(printed, start=1):
        body = robot.links[k].inertia
        ours = [body.mass, *body.com, *np.diag(body.about_com)]
        yield row(f"m, rho, I of link {k} (kg, m, kg m^2)", numbers, ours, EXACT)


def _table_1() -> Iterator[Row]:
    own = {"Luh, Walker, Paul (Newton-Euler)": (compare_newton_euler(), (-144, -186)),
           "Angeles, Ma, Rojas (Kane)": (compare_kane(), (0, 0))}  # fmt: skip
    for author, *polynomials, m, a in ANGELES_TABLE_1:
        if all(polynomials):
            values = [_value(text, 6) for text in polynomials]
            yield row(f"{author}: {', '.join(polynomials)}, n = 6", (m, a), values, 0.0)
        if author in own:
            comparison, unexplained = own[author]
            yield count_row(f"{author}, n = 6: ours", comparison, unexplained)


def _value(polynomial: str, n: int) -> int:
    """Evaluate a printed polynomial such as 105n - 109."""
    slope, _, constant = polynomial.partition("n")
    return int(slope) * n + int(constant.replace(" ", ""))


def _section_6() -> Iterator[Row]:
    for n in (3, 6, 8):
        yield count_row(f"(58), (59), n = {n}", compare_kane(n))
    reason = "no twist is left to save here; gravity is turned before the motion"
    any_gravity, _ = kane_with_coincident_frames()
    comparison = CountComparison(
        OperationCount(513, 432, 12), any_gravity, (Difference(1, -14, reason),)
    )
    yield count_row("frames 0 and 1 coincide, n = 6", comparison)


def _frames() -> Iterator[Row]:
    """(7) to (9), (18): frames and the acceleration of a mass centre."""
    yield from _parameters(thomas_tesar_arm(), TESAR_TABLE_3)
    omega, alpha, rho = np.array([0.3, -0.5, 0.8]), np.array([1.0, 0.2, -0.7]), np.eye(3)[1]
    W = kane.acceleration_tensor(omega, alpha)
    by_hand = np.cross(alpha, rho) + np.cross(omega, np.cross(omega, rho))
    yield row("(53) W rho: acceleration of a point (m/s^2)", by_hand, W @ rho)


def _section_7_1() -> Iterator[Row]:
    arm = stanford_arm()
    yield from _bodies(arm, STANFORD_BODIES)
    yield row("gravity (m/s^2)", (0, 0, -G), arm.gravity, EXACT)


def _section_7_2() -> Iterator[Row]:
    arm = thomas_tesar_arm()
    yield from _bodies(arm, TESAR_BODIES)
    yield row("gravity (m/s^2)", (0, 0, -G), arm.gravity, EXACT)


def _table_3() -> Iterator[Row]:
    yield from _parameters(thomas_tesar_arm(), TESAR_TABLE_3)
    ends, middle = (np.degrees(line_motion(x).q[0]) for x in (0.0, LINE_TIME_S / 2.0))
    start = np.array(TESAR_START_DEG)
    reason = "of the six angles these two belong to the ends of the line, the others to its middle"
    # the line is rounded to 1.33 m and 1.80 m, its angles to 0.1 degrees
    yield row(
        "theta 2 and 4 at the ends (deg)", start[[1, 3]], ends[[1, 3]], 0.1, reasons=(reason,)
    )
    others = [0, 2, 4, 5]
    yield row("theta 1, 3, 5, 6 in the middle (deg)", start[others], middle[others], 0.2)


def _stanford_motion() -> Iterator[Row]:
    motion = stanford_motion([0.0, STANFORD_TIME_S / 2.0, STANFORD_TIME_S])
    turned = np.degrees(motion.q[-1] - motion.q[0])[[0, 1, 3, 4, 5]]
    yield row("angles from start to end, A_i T (deg)", (60, -30, 60, 60, 60), turned)
    yield row("b_3 from start to end, A_3 T (m)", 0.1, motion.q[-1, 2] - motion.q[0, 2])
    yield row("rates at both ends", np.zeros(12), motion.qd[[0, -1]])
    yield row("accelerations at both ends", np.zeros(12), motion.qdd[[0, -1]])
    peak = 2.0 * np.array([np.pi / 30, -np.pi / 60, 0.01, np.pi / 30, np.pi / 30, np.pi / 30])
    yield row("rates in the middle, 2 A_i (rad/s, m/s)", peak, motion.qd[1])


def _efforts(
    equations: InverseDynamics, robot: Robot, motion: JointMotion, k: int, still: bool = False
) -> Array:
    """Efforts of the k-th state of a motion, or of its pose at rest."""
    q, qd, qdd = (x[k] for x in motion)
    rest = 0.0 if still else 1.0
    return equations(robot, q, rest * qd, rest * qdd, {})


def _static_ends(robot: Robot, motion: JointMotion, what: str) -> Iterator[Row]:
    for name, k in (("start", 0), ("end", -1)):
        held = _efforts(newton_euler.inverse_dynamics, robot, motion, k, still=True)
        tau = _efforts(kane.inverse_dynamics, robot, motion, k)
        yield row(f"{what} at the {name}: static (N m, N)", held, tau, TORQUE_ROUND_OFF)


def _stanford_torques() -> Iterator[Row]:
    motion = stanford_motion([0.0, 4.0, STANFORD_TIME_S])
    for reading in ("legible", "classic"):
        arm = stanford_arm(reading)
        yield from _static_ends(arm, motion, reading)
        start, middle, end = (_efforts(kane.inverse_dynamics, arm, motion, k) for k in range(3))
        # masses beyond the shoulder at their distances along the level boom; then it slopes by 30
        boom = G * (1.0 * 0.7 + 0.6 * 0.66 + 0.5 * 0.6)
        yield row(f"{reading}: |torque| of joint 2, the level boom (N m)", boom, abs(start[1]))
        slide = G * (4.0 + 1.0 + 0.6 + 0.5) * np.sin(np.radians(30.0))
        yield row(f"{reading}: |force| of joint 3 at the end (N)", slide, abs(end[2]))
        same = _efforts(newton_euler.inverse_dynamics, arm, motion, 1)
        yield row(f"{reading}: Newton-Euler at 4 s (N m, N)", same, middle)


def _line() -> Iterator[Row]:
    y, yd, ydd = line_law([0.0, LINE_TIME_S])
    yield row("y at both ends (m)", (-1.0, 1.0), y)
    yield row("velocity at both ends (m/s)", (0.0, 0.0), yd, 1e-10)
    yield row("acceleration at both ends (m/s^2)", (0.0, 0.0), ydd, 1e-10)
    at_knots = line_law(np.array(SPLINE_KNOTS) * LINE_TIME_S)[2]
    yield row("acceleration at the knots: 9 times the way, and less (m/s^2)", (18.0, -18.0),
              at_knots, 1e-9)  # fmt: skip


def _line_joints() -> Iterator[Row]:
    arm = thomas_tesar_arm()
    for t in (0.0, 0.5, 1.0):
        tip = frame_pose(arm, line_motion(t).q[0], "link_6")
        yield row(f"tip at {t:g} s (m)", (1.33, line_law(t)[0][0], 1.80), tip.translation)
        yield row(f"orientation at {t:g} s: x_6, y_6, z_6", (0, 0, -1, 0, 1, 0, 1, 0, 0),
                  tip.rotation.T)  # fmt: skip


def _line_torques() -> Iterator[Row]:
    motion = line_motion([0.0, 0.3, LINE_TIME_S])
    for reading in ("printed", "distal"):
        arm = thomas_tesar_arm(reading)
        yield from _static_ends(arm, motion, reading)
        ours, same = (
            _efforts(equations, arm, motion, 1)
            for equations in (kane.inverse_dynamics, newton_euler.inverse_dynamics)
        )
        yield row(f"{reading}: Newton-Euler at 0.3 s (N m)", same, ours, TORQUE_ROUND_OFF)


def _projections() -> Iterator[Row]:
    """(37): partial velocities times force and moment of inertia and weight."""
    arm, q = stanford_arm(), np.array([0.3, 1.2, 0.05, -0.4, 0.7, 0.2])
    qd = np.array([0.5, -0.4, 0.1, 0.8, -0.6, 0.3])
    _, V = kane.partial_velocities(arm, q)
    h = 1e-6
    for i in (3, 5):
        com = arm.links[i].inertia.com
        before, after = (_mass_centre(arm, q + s * h * qd, i, com) for s in (-1.0, 1.0))
        # a central difference: h^2, and round-off over h
        yield row(f"(31) to (36), velocity of mass centre {i} (m/s)",
                  (after - before) / (2.0 * h), V[i - 1] @ qd, 1e-8)  # fmt: skip


def _mass_centre(arm: Robot, q: Array, i: int, com: Array) -> Array:
    X = frame_pose(arm, q, arm.links[i].name)
    return X.rotation @ com + X.translation


LOST = "The curves are not in the copies at hand: what the text says of them is compared."

ITEMS = (
    Item("figure-1", "frames of Hartenberg and Denavit", "(7) to (9), (53)",
         "formulations.kane.acceleration_tensor", _frames,
         "The figure explains symbols; shown on table 3."),
    Item("figure-2", "mass centres, partial velocities", "(31) to (36)",
         "formulations.kane.partial_velocities", _projections,
         "The figure explains symbols; shown on the Stanford arm."),
    Item("section-6", "operations of the algorithm", "(52) to (59)",
         "papers.counts.recursions.compare_kane", _section_6),
    Item("table-1", "operations of several algorithms", "table 1",
         "papers.counts.recursions.compare_kane", _table_1,
         "The steps of the other authors are not in the paper. Hollerbach and Sahar, 688 / 558, "
         "and Kane and Levinson, 646 / 394, are printed as numbers alone, and not computed here."),
    Item("table-2", "the Stanford arm", "table 2, figure 3", "papers.paper_arms.stanford_arm",
         lambda: _parameters(stanford_arm(), STANFORD_TABLE_2),
         "The table is damaged: legible are alpha_2 and b of joints 1, 2 and 4. The others are "
         "those of a Stanford arm, with the signs that can be seen; robot stanford_classic has the "
         "other ones."),
    Item("section-7-1", "bodies of the Stanford arm", "section 7.1",
         "papers.paper_arms.stanford_arm", _section_7_1),
    Item("figure-4", "motion of the Stanford arm", "section 7.1",
         "papers.paper_motions.stanford_motion", _stanford_motion, LOST,
         "kane_4_stanford_motion"),
    Item("figure-5", "torques and force of the Stanford arm", "(41) to (51)",
         "formulations.kane.inverse_dynamics", _stanford_torques, LOST,
         "kane_5_stanford_torques"),
    Item("table-3", "the arm of Thomas and Tesar", "table 3", "papers.paper_arms.thomas_tesar_arm",
         _table_3),
    Item("section-7-2", "bodies of the arm of Thomas and Tesar", "section 7.2",
         "papers.paper_arms.thomas_tesar_arm", _section_7_2,
         "No body has the inertia of link 1; robot thomas_tesar has two other moments."),
    Item("figure-6", "the normal spline", "section 7.2", "papers.paper_motions.line_law", _line,
         "The spline is defined in another paper; of it is said what it does at the ends. Its two "
         "knots, at thirds, are chosen: line_law takes others.", "kane_6_line"),
    Item("figure-7", "joint motion on the line", "section 7.2",
         "papers.paper_motions.line_motion", _line_joints, LOST, "kane_7_thomas_tesar_motion"),
    Item("figure-8", "torques on the line", "(41) to (51)",
         "formulations.kane.inverse_dynamics", _line_torques, LOST, "kane_8_thomas_tesar_torques"),
)  # fmt: skip
