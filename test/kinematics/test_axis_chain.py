"""The axes of an arm, and what remains of a displacement behind and in front of a joint."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain
from robot_dynamics.kinematics.inverse.equations.both_equations import _advanced
from robot_dynamics.kinematics.inverse.subproblems import Turn
from robot_dynamics.robot import find_robot

ROUND_OFF = 1e-13  # of ten products of rotations; one wrong sign gives 1


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_urdf(find_robot("ur5")))


def test_a_chain_without_its_first_or_last_joint_has_all_others(arm):
    chain = AxisChain.of(arm.robot, "tool0")
    for k, kept in ((0, range(1, 6)), (-1, range(5))):
        rest = chain.without(k)
        assert rest.names == tuple(chain.names[i] for i in kept)
        assert rest.rotates == tuple(chain.rotates[i] for i in kept)
        for name in ("h", "p", "lower", "upper"):
            assert_array_equal(getattr(rest, name), getattr(chain, name)[list(kept)])


@pytest.mark.parametrize("from_the_root", [True, False])
def test_nothing_remains_of_a_displacement_when_every_joint_has_moved_back(arm, from_the_root):
    q = np.random.default_rng(7).uniform(-3.0, 3.0, 6)
    chain = AxisChain.of(arm.robot, "tool0")
    left = chain.displacement(*arm.pose(q, "tool0"))
    motions = [(axis, Turn(np.cos(x), np.sin(x))) for axis, x in zip(chain.axes, q, strict=True)]
    for axis, turn in motions if from_the_root else reversed(motions):
        left = left.after(axis, turn) if from_the_root else left.before(axis, turn)
    assert_allclose(left.rows, np.eye(3), rtol=0.0, atol=ROUND_OFF)
    x = (0.3, -0.2, 0.5)
    assert_allclose(left.point(x), x, rtol=0.0, atol=ROUND_OFF)
    assert_allclose(left.inverse.point(x), x, rtol=0.0, atol=ROUND_OFF)


@pytest.mark.parametrize("step", [1e-3, -0.3])
def test_a_turn_after_a_step_is_a_rotation_by_about_that_step(step):
    moved = _advanced(Turn(np.cos(0.7), np.sin(0.7)), step)
    angle = 0.7 + np.arctan(step)
    assert_allclose(moved[:2], [np.cos(angle), np.sin(angle)], rtol=0.0, atol=ROUND_OFF)
    assert _advanced(0.7, step) == 0.7 + step  # of a slide
