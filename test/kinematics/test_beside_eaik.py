"""The solution sets of inverse kinematics beside those of EAIK, another closed-form solver."""

import numpy as np
import pytest

from arms import SIX_JOINTS
from robot_dynamics import Dynamics
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain

SAME = 1e-6  # rad: next to a double root either loses half of all digits


@pytest.mark.parametrize("name", ["ur5", "puma_lee", "irb120"])
def test_both_find_the_same_solutions(name):
    eaik = pytest.importorskip("eaik.IK_HP", reason="EAIK is not installed")
    arm = SIX_JOINTS[name]
    chain = AxisChain.of(arm.robot, arm.frame)
    places = np.vstack([chain.p[0], np.diff(chain.p, axis=0), chain.tool.translation - chain.p[-1]])
    other = eaik.HPRobot(np.array(chain.h), places)
    q = np.random.default_rng(6).uniform(-np.pi, np.pi, (100, 6))
    R, p = Dynamics(arm.robot).pose(q, arm.frame)
    found = InverseKinematics(arm.robot, arm.frame)(R, p)
    for row in range(len(R)):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R[row] @ chain.tool.rotation.T, p[row]
        answer = other.IK(T)
        exact = ~np.asarray(answer.is_LS, dtype=bool)
        theirs, ours = np.asarray(answer.Q)[exact], found.q[row][found.valid[row]]
        assert len(theirs) == len(ours)
        away = np.abs(np.exp(1j * theirs[:, None]) - np.exp(1j * ours[None])).max(axis=2)
        assert away.min(axis=0).max() < SAME
        assert away.min(axis=1).max() < SAME
