"""Simplified models: what they keep, what they cost, what they save."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import relative_error
from robot_dynamics.compiler.graph.trace import operation_count
from robot_dynamics.errors import ArgumentError, EmptyModelError, ShapeError, UnknownNameError
from robot_dynamics.formulations import newton_euler
from robot_dynamics.formulations.dalembert import structured_equations
from robot_dynamics.papers.puma_three_link import PumaThreeLink
from robot_dynamics.papers.simplified_models import (
    TERMS,
    compare_models,
    model_program,
    simplified_model,
)
from robot_dynamics.robot.transforms import merge_fixed
from strategies import robots, seeds, state_of

ROUND_OFF = 1e-11  # float64, sums in another order; one term missing gives 1e-2 and more
PUMA = json.loads((Path(__file__).parents[1] / "data" / "puma_three_link.json").read_text())


def puma():
    """The three-link arm of section 4 of the paper."""
    numbers = (np.array(PUMA[key]) for key in ("masses", "coms", "inertias"))
    return PumaThreeLink(*numbers, **PUMA["lengths"], g=PUMA["g"])


def oscillation(samples=50):
    """A motion of three joints with its derivatives, shape (samples, 3) each."""
    t = np.linspace(0.0, 2.0, samples)[:, None]
    size, speed = np.array([0.5, 0.6, 0.8]), np.array([1.5, 2.0, 3.0])
    angle = speed * t
    return size * np.sin(angle), size * speed * np.cos(angle), -size * speed**2 * np.sin(angle)


# -- what is kept ---------------------------------------------------------------------------------


@given(robots(), seeds())
def test_model_that_keeps_everything_is_the_full_one(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    wrenches = {len(tree.joints): (np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.2, -0.1]))}
    ours = simplified_model(robot)(tree, q, qd, qdd, wrenches)
    full = newton_euler.inverse_dynamics(tree, q, qd, qdd, wrenches)
    assert relative_error(ours, full) < ROUND_OFF


@given(robots(), seeds())
def test_model_without_velocity_terms_is_the_full_one_at_rest(robot, seed):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    ours = simplified_model(robot, others=("D_tran", "D_rot", "G"))(tree, q, qd, qdd, {})
    at_rest = newton_euler.inverse_dynamics(tree, q, np.zeros_like(qd), qdd, {})
    assert relative_error(ours, at_rest) < ROUND_OFF


@given(robots(), seeds(), st.data())
def test_every_joint_keeps_its_own_choice_of_terms(robot, seed, data):
    tree = merge_fixed(robot)
    q, qd, qdd = state_of(tree, seed)
    joints = [joint.name for joint in tree.joints]
    keep = {name: data.draw(st.sets(st.sampled_from(list(TERMS)))) for name in joints}
    keep[joints[0]] |= {"D_tran"}  # at least one term in all
    ours = simplified_model(robot, keep)(tree, q, qd, qdd, {})
    e = structured_equations(robot, q, qd)
    efforts = {
        "D_tran": e.D_tran @ qdd,
        "D_rot": e.D_rot @ qdd,
        "H_tran": e.H_tran,
        "H_rot": e.H_rot,
        "G": e.G,
    }
    for i, name in enumerate(joints):
        kept = sum(efforts[term][i] for term in keep[name])
        scale = 1.0 + max(np.max(np.abs(x)) for x in efforts.values())
        assert abs(ours[i] - kept) < ROUND_OFF * scale, name


def test_endpoint_wrench_stays_in_a_model_that_keeps_gravity_alone():
    robot = puma().robot()
    q, qd, qdd = (np.array(PUMA[key]) for key in ("q", "qd", "qdd"))
    model = simplified_model(robot, others=["G"])
    wrenches = {3: (np.array([1.0, 2.0, 3.0]), np.zeros(3))}
    pushed, free = model(robot, q, qd, qdd, wrenches), model(robot, q, qd, qdd, {})
    nothing = np.zeros(3)
    light = robot.with_gravity((0.0, 0.0, 0.0))
    alone = newton_euler.inverse_dynamics(light, q, nothing, nothing, wrenches)
    assert np.allclose(pushed - free, alone, rtol=0, atol=1e-13)


# -- errors ---------------------------------------------------------------------------------------


def test_model_that_keeps_nothing_says_what_is_possible():
    with pytest.raises(EmptyModelError) as error:
        simplified_model(puma().robot(), others=())
    assert str(error.value) == (
        "the simplified model of robot 'three-link PUMA' keeps no term of any joint; keep at "
        "least one of D_tran, D_rot, H_tran, H_rot, G for one of the joints joint1, joint2, joint3"
    )


def test_unknown_term_is_named_with_the_possible_ones():
    with pytest.raises(UnknownNameError) as error:
        simplified_model(puma().robot(), {"joint1": ["D_trans"]})
    assert str(error.value) == (
        "no term 'D_trans' in the structured equations (terms: D_tran, D_rot, H_tran, H_rot, G); "
        "did you mean 'D_tran'?"
    )


def test_unknown_joint_is_named_with_the_possible_ones():
    with pytest.raises(UnknownNameError, match="no joint 'elbow' in robot 'three-link PUMA'"):
        simplified_model(puma().robot(), {"elbow": ["G"]})


def test_model_of_one_robot_refuses_a_robot_with_other_joints():
    robot = puma().robot()
    model = simplified_model(robot)
    other = merge_fixed(other_names(robot))
    with pytest.raises(UnknownNameError, match="no joint 'axis1' in this simplified model"):
        model(other, np.zeros(3), np.zeros(3), np.zeros(3), {})


def other_names(robot):
    joints = [replace(j, name=j.name.replace("joint", "axis")) for j in robot.joints]
    return replace(robot, joints=tuple(joints))


# -- what it costs and saves ----------------------------------------------------------------------


@pytest.mark.parametrize("dropped", TERMS)
def test_leaving_out_a_term_saves_operations(dropped):
    robot = puma().robot()
    model = simplified_model(robot, others=[term for term in TERMS if term != dropped])
    full = operation_count(model_program(robot, simplified_model(robot)))
    assert operation_count(model_program(robot, model)).arithmetic < full.arithmetic


def test_comparison_sets_counts_and_torque_errors_beside_the_full_model():
    robot = puma().robot()
    slow = simplified_model(robot, others=("D_tran", "D_rot", "G"))
    motion = oscillation()
    found = compare_models(robot, {"no velocity terms": slow}, *motion)
    exact = np.array(
        [newton_euler.inverse_dynamics(robot, *s, {}) for s in zip(*motion, strict=True)]
    )
    simple = np.array([slow(robot, *s, {}) for s in zip(*motion, strict=True)])
    full, result = found.results["dalembert"], found.results["no velocity terms"]
    assert np.array_equal(full.peak_error, np.zeros(3))
    # compiled and interpreted sums differ by round-off of torques up to 100 N m
    assert result.peak_error == pytest.approx(np.max(np.abs(simple - exact), axis=0), abs=1e-11)
    rms = np.sqrt(np.mean((simple - exact) ** 2, axis=0))
    assert result.rms_error == pytest.approx(rms, abs=1e-11)
    assert found.peak_effort == pytest.approx(np.max(np.abs(exact), axis=0), abs=1e-11)
    assert result.operations.arithmetic < full.operations.arithmetic


def test_comparison_with_the_closed_form_shows_equal_torques():
    arm = puma()

    def closed_form(robot, q, qd, qdd, wrenches):
        return arm.inverse_dynamics(q, qd, qdd)

    found = compare_models(arm.robot(), {"closed form": closed_form}, *oscillation())
    # The compiled equations know the arm's zeros as well as the authors did by hand: the same
    # torques, to round-off of 100 N m
    assert np.all(found.results["closed form"].peak_error < 1e-11)


def test_table_of_a_comparison_has_a_row_per_model():
    robot = puma().robot()
    found = compare_models(robot, {"weight": simplified_model(robot, others=["G"])}, *oscillation())
    head, peak, full, weight = found.table().splitlines()
    assert head.split() == ["model", "mult", "add", "joint1", "joint2", "joint3"]
    assert peak.startswith("peak effort")
    assert full.split()[0] == "dalembert"
    count = found.results["weight"].operations
    assert weight.split()[:3] == ["weight", str(count.multiplications), str(count.additions)]


def test_motion_of_the_wrong_shape_is_refused_by_name():
    robot = puma().robot()
    q, qd, qdd = oscillation()
    with pytest.raises(ShapeError) as error:
        compare_models(robot, {}, q, qd[:, :2], qdd)
    assert str(error.value) == "qd must have shape (N, 3), got (50, 2)"


def test_model_with_the_name_of_the_full_one_is_refused():
    robot = puma().robot()
    with pytest.raises(ArgumentError, match="a model has the name 'dalembert' of the full"):
        compare_models(robot, {"dalembert": simplified_model(robot)}, *oscillation())
