"""The solution sets of inverse kinematics beside those of EAIK, another closed-form solver."""

import numpy as np
import pytest

from arms import ANY_WRIST, SIX_JOINTS
from robot_dynamics import Dynamics
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain

SAME = 1e-6  # rad: next to a double root either loses half of all digits


@pytest.mark.parametrize("name", ["ur5", "puma_lee", "irb120", "any_wrist"])
def test_both_find_the_same_solutions(name):
    eaik = pytest.importorskip("eaik.IK_HP", reason="EAIK is not installed")
    arm = {**SIX_JOINTS, "any_wrist": ANY_WRIST}[name]
    dynamics = Dynamics(arm.robot)
    chain = AxisChain.of(arm.robot, arm.frame)
    places = np.vstack([chain.p[0], np.diff(chain.p, axis=0), chain.tool.translation - chain.p[-1]])
    other = eaik.HPRobot(np.array(chain.h), places)
    q = np.random.default_rng(6).uniform(-np.pi, np.pi, (100, 6))
    R, p = dynamics.pose(q, arm.frame)
    found = InverseKinematics(arm.robot, arm.frame)(R, p)
    for row in range(len(R)):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R[row] @ chain.tool.rotation.T, p[row]
        theirs, ours = np.asarray(other.IK(T).Q), found.q[row][found.valid[row]]
        at_R, at_p = dynamics.pose(theirs, arm.frame)  # some of theirs are nearest ones alone
        missed = np.abs(at_R - R[row]).max(axis=(1, 2)) + np.abs(at_p - p[row]).max(axis=1)
        theirs = theirs[missed < SAME]
        assert len(theirs) == len(ours)
        away = np.abs(np.exp(1j * theirs[:, None]) - np.exp(1j * ours[None])).max(axis=2)
        assert away.min(axis=0).max() < SAME
        assert away.min(axis=1).max() < SAME
