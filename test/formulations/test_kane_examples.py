"""The worked examples of the Kane paper: the Stanford arm and the arm of Thomas and Tesar.

The paper prints no torques, only curves. The reference was computed by Pinocchio and from
Lagrange's equations by automatic differentiation; tables that are damaged or doubtful have two
readings.
"""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from oracles import relative_error
from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations.kane import inverse_dynamics
from robot_dynamics.kinematics.forward_kinematics import frame_pose
from robot_dynamics.papers.paper_arms import stanford_arm, thomas_tesar_arm
from robot_dynamics.papers.paper_motions import line_motion, stanford_motion

# What the stored torques were computed for; figures 6 to 8 draw the normal spline
BY_POLYNOMIAL = functools.partial(line_motion, law="polynomial")

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "kane_torques.json").read_text())
EXAMPLES = {
    "stanford_as_legible": (stanford_arm("legible"), stanford_motion),
    "stanford_classic": (stanford_arm("classic"), stanford_motion),
    "thomas_tesar_as_printed": (
        thomas_tesar_arm("printed"),
        BY_POLYNOMIAL,
    ),
    "thomas_tesar_distal": (
        thomas_tesar_arm("distal"),
        BY_POLYNOMIAL,
    ),
}
ROUND_OFF = 1e-12  # relative to the largest torque; float64 on both sides, worst 3e-15


def reference(name):
    """t, q, qd, qdd, tau at the sample times."""
    return (np.array(column) for column in zip(*REFERENCE[name], strict=True))


def torques(arm, q, qd, qdd):
    return np.array([inverse_dynamics(arm, *state, {}) for state in zip(q, qd, qdd, strict=True)])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_motion_agrees_with_the_reference(name):
    t, *expected, _ = reference(name)
    for found, wanted in zip(EXAMPLES[name][1](t), expected, strict=True):
        assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_torques_agree_with_the_reference(name):
    t, q, qd, qdd, tau = reference(name)
    arm, motion = EXAMPLES[name]
    assert len(t) == 11
    assert relative_error(torques(arm, q, qd, qdd), tau) < ROUND_OFF
    assert relative_error(torques(arm, *motion(t)), tau) < ROUND_OFF
    for joint in range(6):  # and every joint by itself
        scale = max(np.max(np.abs(tau[:, joint])), 1e-3 * np.max(np.abs(tau)))
        worst = np.max(np.abs(torques(arm, q, qd, qdd) - tau)[:, joint])
        assert worst < 1e-11 * scale, f"{name}: joint {joint + 1}"


@pytest.mark.parametrize("reading", ["legible", "classic"])
def test_the_stanford_arm_starts_by_holding_its_boom(reading):
    # masses beyond the shoulder at their distances along the level boom
    motion = stanford_motion([0.0, 10.0])
    tau = torques(stanford_arm(reading), *motion)
    assert_allclose(abs(tau[0, 1]), 9.81 * (1.0 * 0.7 + 0.6 * 0.66 + 0.5 * 0.6), rtol=1e-12)
    # at the end it slopes by 30 degrees, and the slide holds all that is on it
    assert_allclose(abs(tau[1, 2]), 9.81 * 6.1 * 0.5, rtol=1e-12)


def test_the_readings_of_the_stanford_arm_move_the_boom_down_and_up():
    end = stanford_motion([10.0]).q[0]
    boom = {name: frame_pose(stanford_arm(name), end, "link_4") for name in ("legible", "classic")}
    assert boom["legible"].translation[2] < 0.1 < boom["classic"].translation[2]


def test_growing_b_3_retracts_the_boom_in_one_reading_and_extends_it_in_the_other():
    q = stanford_motion([0.0]).q[0]
    out = q + np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0])
    for reading, sign in (("legible", -1.0), ("classic", 1.0)):
        arm = stanford_arm(reading)
        reach = [np.hypot(*frame_pose(arm, pose, "link_4").translation[:2]) for pose in (q, out)]
        assert np.sign(reach[1] - reach[0]) == sign


def test_the_tip_of_the_thomas_tesar_arm_stands_where_table_3_puts_it():
    q = np.radians([0.0, 90.0, -135.0, 45.0, 90.0, 90.0])
    tip = frame_pose(thomas_tesar_arm(), q, "link_6").translation
    assert_allclose(tip, [1.33125, 0.0, 1.79875], atol=1e-5)  # printed as 1.33 and 1.80


@pytest.mark.parametrize("arm", [stanford_arm, thomas_tesar_arm])
def test_an_unknown_reading_lists_the_known_ones(arm):
    with pytest.raises(ArgumentError, match=r"no reading 'mine' of this arm; choose one of: \w+, "):
        arm("mine")
