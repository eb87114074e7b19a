"""Structured equations of Lee, Lee and Nigam: terms, effects, and the arm of their section 4."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics.errors import ArgumentError, ShapeError, UnknownNameError
from robot_dynamics.formulations import lagrange, newton_euler
from robot_dynamics.formulations.dalembert import structured_equations
from robot_dynamics.formulations.efforts_by_cause import effects
from robot_dynamics.papers.puma_three_link import (
    PumaThreeLink,
    printed_coefficients,
    printed_h_tran,
    printed_inertia,
)
from robot_dynamics.papers.simplified_models import velocity_coefficients
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia, Pose
from strategies import robots, seeds, state_of

# float64, sums in another order: 2000 random trees stay below 2e-14 of the largest entry, or of
# 1 N m where a term vanishes
ROUND_OFF = 1e-11

PUMA = json.loads((Path(__file__).parents[1] / "data" / "puma_three_link.json").read_text())
PUMA_ROUND_OFF = 1e-13  # absolute; entries up to 50, two oracles agreed to 1e-14


def puma():
    """The arm of section 4 with the numbers of the check."""
    numbers = (np.array(PUMA[key]) for key in ("masses", "coms", "inertias"))
    return PumaThreeLink(*numbers, **PUMA["lengths"], g=PUMA["g"])


def same(ours, theirs):
    """Return whether two results differ by round-off alone."""
    return np.max(np.abs(ours - theirs)) < ROUND_OFF * (1.0 + np.max(np.abs(theirs)))


# -- section 4: three links of a PUMA arm ---------------------------------------------------------


@pytest.mark.parametrize("term", ["D", "H_tran", "H_rot", "G"])
def test_closed_form_of_the_puma_arm_has_the_checked_terms(term):
    e = puma().equations(np.array(PUMA["q"]), np.array(PUMA["qd"]))
    assert np.allclose(getattr(e, term), PUMA[term], rtol=0, atol=PUMA_ROUND_OFF)


@pytest.mark.parametrize("term", ["D", "H_tran", "H_rot", "G"])
def test_general_equations_of_the_puma_arm_have_the_checked_terms(term):
    e = structured_equations(puma().robot(), PUMA["q"], PUMA["qd"])
    assert np.allclose(getattr(e, term), PUMA[term], rtol=0, atol=PUMA_ROUND_OFF)


def test_closed_form_of_the_puma_arm_has_the_checked_torque():
    tau = puma().inverse_dynamics(*(np.array(PUMA[key]) for key in ("q", "qd", "qdd")))
    assert np.allclose(tau, PUMA["tau"], rtol=0, atol=PUMA_ROUND_OFF)


@pytest.mark.parametrize("term", ["D_tran", "D_rot", "H_tran", "H_rot", "G"])
def test_closed_form_and_general_equations_agree_term_by_term_anywhere(term):
    arm = puma()
    robot = arm.robot()
    for q, qd in np.random.default_rng(1).uniform(-3, 3, (20, 2, 3)):
        closed, general = arm.equations(q, qd), structured_equations(robot, q, qd)
        assert np.allclose(
            getattr(closed, term), getattr(general, term), rtol=0, atol=10 * PUMA_ROUND_OFF
        )


def test_puma_inertia_is_the_printed_one_in_base_components():
    """D_ij of section 4, from r_i and c_i in base axes as the paper prints them."""
    arm, q = puma(), np.array(PUMA["q"])
    ours = structured_equations(arm.robot(), q, PUMA["qd"]).D
    assert np.allclose(ours, printed_inertia(arm, q), rtol=0, atol=PUMA_ROUND_OFF)


# -- the terms ------------------------------------------------------------------------------------


@given(robots(), seeds())
def test_terms_add_up_to_the_torque(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    e = structured_equations(robot, q, qd)
    tau = newton_euler.inverse_dynamics(tree, q, qd, qdd, {})
    assert same(e.D @ qdd + e.H_tran + e.H_rot + e.G, tau)


@given(robots(), seeds())
def test_links_without_extent_have_translation_alone(robot, seed):
    q, qd, _ = state_of(merge_fixed(robot), seed)
    whole = structured_equations(merge_fixed(robot), q, qd)
    points = structured_equations(as_points(merge_fixed(robot)), q, qd)
    assert np.all(np.abs(points.D_rot) < 1e-13) and np.all(np.abs(points.H_rot) < 1e-12)
    assert same(points.D_tran, whole.D_tran)
    assert same(points.H_tran, whole.H_tran)
    assert same(points.G, whole.G)


def as_points(tree):
    """The same robot with the mass of every link in its mass centre."""
    links = [
        replace(
            link, inertia=Inertia.from_com(link.inertia.mass, link.inertia.com, np.zeros((3, 3)))
        )
        for link in tree.links
    ]
    return replace(tree, links=tuple(links))


@given(robots(), seeds())
def test_velocity_efforts_are_quadratic_in_the_velocities(robot, seed):
    q, qd, _ = state_of(merge_fixed(robot), seed)
    once, thrice = structured_equations(robot, q, qd), structured_equations(robot, q, 3.0 * qd)
    assert same(9.0 * once.H_tran, thrice.H_tran)
    assert same(9.0 * once.H_rot, thrice.H_rot)


def test_lift_carries_its_weight_and_nothing_else():
    """A vertical prismatic joint, where the rotary paper has nothing to say: D = m, G = m g."""
    e = structured_equations(lift(mass=3.0), [0.7], [2.0])
    assert (e.D_tran[0, 0], e.D_rot[0, 0]) == (3.0, 0.0)
    assert (e.H_tran[0], e.H_rot[0]) == (0.0, 0.0)
    assert e.G[0] == pytest.approx(3.0 * 9.81, rel=1e-15)


def lift(mass):
    body = Inertia.from_com(mass, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.3]))
    slide = Joint("slide", JointType.PRISMATIC, "base", "cage", Pose.identity(), (0.0, 0.0, 1.0))
    return Robot("lift", (Link("base"), Link("cage", body)), (slide,))


@pytest.mark.parametrize(
    ("q", "qd", "message"),
    [
        ([0.0], [0.0, 0.0, 0.0], "q must have shape (3,), got (1,)"),
        ([0.0, 0.0, 0.0], [0.0, float("nan"), 0.0], "qd[1] is nan; every entry must be finite"),
    ],
)
def test_bad_state_is_refused_by_name(q, qd, message):
    with pytest.raises((ShapeError, ArgumentError)) as error:
        structured_equations(puma().robot(), q, qd)
    assert str(error.value) == message


# -- effects --------------------------------------------------------------------------------------


@given(robots(), seeds())
def test_effects_add_up_to_the_torque(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    wrenches = {len(tree.joints): (np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.2, -0.1]))}
    tau = newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)
    found = effects(robot, q, qd, qdd, wrenches)
    assert same(found.total, tau)
    assert same(sum(found.by_cause.values()), tau)


@given(robots(), seeds())
def test_centrifugal_effects_are_those_of_one_joint_moving_at_a_time(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    alone = [
        structured_equations(robot, q, np.where(np.arange(len(q)) == p, qd, 0.0))
        for p in range(len(q))
    ]
    all_together = structured_equations(robot, q, qd)
    found = effects(robot, q, qd, qdd).by_cause
    for kind in ("tran", "rot"):
        centrifugal = sum(getattr(e, f"H_{kind}") for e in alone)
        coriolis = getattr(all_together, f"H_{kind}") - centrifugal
        name = {"tran": "translation", "rot": "rotation"}[kind]
        assert same(found[f"centrifugal_{name}"], centrifugal)
        assert same(found[f"coriolis_{name}"], coriolis)


@given(robots(), seeds())
def test_effects_of_a_link_are_those_of_a_robot_with_that_link_alone(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    by_link = effects(robot, q, qd, qdd).by_link
    for s in range(len(tree.joints)):
        links = [
            link if i == s + 1 else replace(link, inertia=Inertia.zero())
            for i, link in enumerate(tree.links)
        ]
        alone = newton_euler.inverse_dynamics(replace(tree, links=tuple(links)), q, qd, qdd, {})
        assert same(by_link[s], alone)


@given(robots(), seeds())
def test_pairs_of_joints_add_up_to_the_velocity_efforts(robot, seed):
    q, qd, _ = state_of(merge_fixed(robot), seed)
    pairs, whole = velocity_coefficients(robot, q), structured_equations(robot, q, qd)
    for coefficients, expected in zip(pairs, (whole.H_tran, whole.H_rot), strict=True):
        assert same(np.einsum("ipq,p,q", coefficients, qd, qd), expected)
        assert np.all(np.tril(coefficients, -1) == 0.0)


@given(robots(), seeds())
def test_a_pair_has_the_christoffel_symbols_of_lagrange(robot, seed):
    """Twice the symmetric part of h_ijk of [AsadaSlotine1986], off the diagonal."""
    q = state_of(merge_fixed(robot), seed)[0]
    h = lagrange.coriolis_coefficients(robot, q)
    both = np.triu(h + np.swapaxes(h, 1, 2), 1) + h * np.eye(len(q))
    assert same(sum(velocity_coefficients(robot, q)), both)


# -- the printed expansions of H^tran beside the compact form -------------------------------------


def test_the_printed_brackets_of_h_tran_are_the_compact_form():
    arm = puma()
    for q, qd in np.random.default_rng(2).uniform(-3, 3, (20, 2, 3)):
        printed = printed_h_tran(arm, q, qd)
        assert np.allclose(
            printed, arm.equations(q, qd).H_tran, rtol=0, atol=100 * PUMA_ROUND_OFF
        )  # of sums of some 30 products of up to 100


def test_the_legible_coefficients_of_h_tran_are_those_of_the_pairs():
    arm = puma()
    arm = replace(arm, masses=arm.masses * [0.0, 0.0, 1.0])  # what is printed of link 3
    for q in np.random.default_rng(3).uniform(-3, 3, (10, 3)):
        of_pairs = velocity_coefficients(arm.robot(), q).translation
        printed = printed_coefficients(arm, q)
        for (i, j, k), value in printed.items():
            found = of_pairs[i - 1, j - 1, k - 1]
            assert value == pytest.approx(found, abs=10 * PUMA_ROUND_OFF), (i, j, k)
        # what is printed for the first two rates in H_3 cannot be read; it is zero
        assert of_pairs[2, 0, 1] == pytest.approx(0.0, abs=10 * PUMA_ROUND_OFF)
        # the eight terms of H_2 for the square of the second rate cancel: r_3 = p_2* + c_3
        assert printed[2, 2, 2] == pytest.approx(0.0, abs=10 * PUMA_ROUND_OFF)


def test_slide_on_a_turntable_feels_centrifugal_and_the_turntable_coriolis_force():
    """Point mass at radius r: force -m r w^2 on the slide, torque 2 m r rd w on the turntable."""
    m, r, rd, w = 2.0, 0.6, 0.4, 3.0
    point = Inertia.from_com(m, np.zeros(3), np.zeros((3, 3)))
    joints = (
        Joint("turn", JointType.CONTINUOUS, "base", "table", Pose.identity(), (0.0, 0.0, 1.0)),
        Joint("slide", JointType.PRISMATIC, "table", "load", Pose.identity(), (1.0, 0.0, 0.0)),
    )
    robot = Robot("polar", (Link("base"), Link("table"), Link("load", point)), joints)
    found = effects(robot, [0.3, r], [w, rd], [0.0, 0.0])
    load = found.links.index("load")
    assert found.centrifugal_translation[load] == pytest.approx([0.0, -m * r * w**2], abs=1e-14)
    assert found.coriolis_translation[load] == pytest.approx([2.0 * m * r * rd * w, 0.0], abs=1e-14)
    assert found.total == pytest.approx([2.0 * m * r * rd * w, -m * r * w**2], abs=1e-14)


def test_table_of_effects_has_a_row_per_joint_and_the_total():
    found = effects(puma().robot(), PUMA["q"], PUMA["qd"], PUMA["qdd"])
    head, *rows = found.table().splitlines()
    assert head.split()[-5:] == ["coriolis", "rotation", "gravity", "endpoint", "total"]
    assert [row.split()[0] for row in rows] == ["joint1", "joint2", "joint3"]
    assert [float(row.split()[-1]) for row in rows] == pytest.approx(PUMA["tau"], rel=1e-3)


def test_table_of_one_joint_has_a_row_per_link():
    found = effects(puma().robot(), PUMA["q"], PUMA["qd"], PUMA["qdd"])
    _, *rows = found.table("joint2").splitlines()
    assert [row.split()[0] for row in rows] == ["link1", "link2", "link3"]
    assert sum(float(row.split()[-1]) for row in rows) == pytest.approx(PUMA["tau"][1], rel=1e-3)


def test_table_of_an_unknown_joint_names_the_joints():
    found = effects(puma().robot(), PUMA["q"], PUMA["qd"], PUMA["qdd"])
    with pytest.raises(UnknownNameError) as error:
        found.table("joint9")
    assert str(error.value) == (
        "no joint 'joint9' in these effects (joints: joint1, joint2, joint3); "
        "did you mean 'joint3'?"
    )
