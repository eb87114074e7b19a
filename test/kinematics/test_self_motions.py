"""Self-motions: the named joint and its range, against the null space of the Jacobian."""

import pickle
import re

import numpy as np
import pytest

from arms import SIX_JOINTS, Arm, arm_of
from choices import first
from robot_dynamics import Dynamics
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.robot.denavit_hartenberg import TOOL

STEP = 0.15  # rad, of the joint motion along a self-motion
ARC = 0.17  # rad: one degree at either end of a range, and one step of the oracle


def elbow_arm(a_1, d_2, wrist):
    """An arm whose elbow at a right angle brings the wrist centre onto the axis of joint 2."""
    lengths, offsets = (a_1, 0.4, 0.0, 0.0, 0.0, 0.0), (0.3, d_2, 0.0, 0.4, 0.0, 0.08)
    return Arm(lambda: arm_of("RRRRRR", lengths, (-90, 0, -90, *wrist, 0), offsets), TOOL, (), "")


ARMS = {  # arm, joint with the position that makes a self-motion, the joints named
    "wrist on axes 1 and 2": (elbow_arm(0.0, 0.0, (90, -90)), 2, np.pi / 2, {"joint_1"}),
    "wrist on axis 2": (elbow_arm(0.05, 0.1, (90, -90)), 2, np.pi / 2, {"joint_2"}),
    "skew wrist on axis 2": (elbow_arm(0.05, 0.1, (60, -60)), 2, np.pi / 2, {"joint_2"}),
    "four parallel axes": (SIX_JOINTS["ur5"], 4, 0.0, {"wrist_3_joint"}),
    "four parallel axes of equal links": (SIX_JOINTS["thomas_tesar"], 4, 0.0, {"joint_6"}),
    "wrist axes in line": (SIX_JOINTS["irb120"], 4, 0.0, {"joint_4"}),
}


def travelled(dynamics, frame, q, joint, sense):
    """Follow the null space of the Jacobian; return how far a joint goes in one sense, rad."""
    R, p = dynamics.pose(q, frame)
    x, wish = q, sense * np.eye(len(q))[joint]
    for _ in range(int(2.5 * 2.0 * np.pi / STEP)):
        _, values, V = np.linalg.svd(dynamics.jacobian(x, frame))
        null = V[np.append(values, 0.0)[: len(V)] < 1e-5]
        if not len(null):
            break
        tangent = null.T @ (null @ wish)
        if np.linalg.norm(tangent) < 1e-9:
            break
        y = x + STEP * tangent / np.linalg.norm(tangent)
        for _ in range(8):  # back to the pose
            R_y, p_y = dynamics.pose(y, frame)
            error = R @ R_y.T
            turned = 0.5 * np.array([error[2, 1], error[0, 2], error[1, 0]])
            turned -= 0.5 * np.array([error[1, 2], error[2, 0], error[0, 1]])
            J = dynamics.jacobian(y, frame)
            y = y + np.linalg.pinv(J, rcond=1e-3) @ np.concatenate([p - p_y, turned])
        R_y, p_y = dynamics.pose(y, frame)
        ahead = sense * (y[joint] - x[joint])
        if np.abs(R_y - R).max() + np.abs(p_y - p).max() > 1e-9 or ahead < 1e-3:
            break
        x = y
        if abs(x[joint] - q[joint]) > 2.0 * np.pi:
            break
    return abs(x[joint] - q[joint])


@pytest.mark.parametrize("name", first(["wrist axes in line"], ARMS))
def test_a_self_motion_names_its_joint_and_how_far_it_goes(name):
    arm, special, at, named = ARMS[name]
    ik, dynamics = InverseKinematics(arm.robot, arm.frame), Dynamics(arm.robot)
    q = np.random.default_rng(8).uniform(-np.pi, np.pi, (2, 6))
    q[:, special] = at
    R, p = dynamics.pose(q, arm.frame)
    found, seen = ik(R, p), set()
    for k in range(len(q)):
        (rows,) = np.nonzero(found.self_motion[k])
        assert rows.size, f"pose {k} has no self-motion"
        joint = re.findall(r"joint '(\w+)'", found.self_motion[k, rows[0]])[0]
        seen.add(joint)
        j, at_q = ik.joint_names.index(joint), found.q[k, rows[0]]
        text = f"joint '{joint}' may be anywhere, and others follow"
        reach = [travelled(dynamics, arm.frame, at_q, j, sense) for sense in (-1.0, 1.0)]
        if min(reach) < 2.0 * np.pi:
            low, high = map(float, re.findall(r"-?\d+\.\d\d", found.self_motion[k, rows[0]]))
            assert [at_q[j] - low, high - at_q[j]] == pytest.approx(reach, abs=ARC)
            text = f"joint '{joint}' may be from {low:.2f} to {high:.2f} rad, and others follow"
        assert found.self_motion[k, rows[0]] == text
    assert seen == named


def test_a_self_motion_at_a_double_root_of_the_shoulder_is_named():
    """The wrist is on axis 2 and next to axis 1: digits are lost at both roots."""
    arm = elbow_arm(0.0, 0.1, (90, -90))
    ik, dynamics = InverseKinematics(arm.robot, arm.frame), Dynamics(arm.robot)
    rng = np.random.default_rng(8)
    q = rng.uniform(-np.pi, np.pi, (20, 6))
    q[:, 2] = np.pi / 2
    R, p = dynamics.pose(q, arm.frame)
    found = ik(R, p)
    texts = set(found.self_motion[found.valid])
    assert texts == {"joint 'joint_2' may be anywhere, and others follow"}
    trials = np.tile(q[0], (60, 1))
    trials[:, 1] = np.repeat([-2.5, -1.0, 0.5, 2.0], 15)  # stays there
    trials[:, 3:] = rng.uniform(-np.pi, np.pi, (60, 3))
    for _ in range(20):
        R_at, p_at = dynamics.pose(trials, arm.frame)
        skew = R[0] @ R_at.transpose(0, 2, 1)
        skew = 0.5 * (skew - skew.transpose(0, 2, 1))
        error = np.hstack([p[0] - p_at, skew[:, [2, 0, 1], [1, 2, 0]]])
        J = dynamics.jacobian(trials, arm.frame)
        J[:, :, 1] = 0.0
        trials += np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=1e-3), error).clip(-0.5, 0.5)
    misses = np.abs(dynamics.pose(trials, arm.frame)[0] - R[0]).max(axis=(1, 2))
    assert misses.reshape(4, 15).min(axis=1) == pytest.approx(np.zeros(4), abs=1e-9)


def test_a_wrist_next_to_being_in_line_has_no_self_motion():
    arm = SIX_JOINTS["irb120"]
    ik = InverseKinematics(arm.robot, arm.frame)
    q = np.random.default_rng(8).uniform(-1.0, 1.0, (10, 6))
    q[:, 4] = 1e-8
    found = ik(*Dynamics(arm.robot).pose(q, arm.frame))
    assert found.valid.any(axis=1).all()
    assert set(found.self_motion[found.valid]) == {None}


def test_texts_are_those_of_the_call_whenever_they_are_read():
    """One special pose and a batch agree, also pickled and where the pose is overwritten."""
    arm = SIX_JOINTS["ur5"]
    ik = InverseKinematics(arm.robot, arm.frame)
    q = np.array([[0.3, -1.0, 1.2, 0.4, 0.0, 0.7], [0.3, -1.0, 1.2, 0.4, 0.8, 0.7]])
    R, p = Dynamics(arm.robot).pose(q, arm.frame)
    p[1] *= 3.0  # out of reach
    many = ik(R, p)
    kept = pickle.loads(pickle.dumps(many))
    for k, valid in enumerate(many.valid):
        pose = R[k].copy(), p[k].copy()
        for one in (ik(*pose), ik(pose[0].T.copy().T, pose[1]), ik(pose[0].tolist(), pose[1])):
            pose[0][:], pose[1][:] = np.eye(3), 0.0
            assert one.reason == many.reason[k] == kept.reason[k]
            assert one.self_motion.tolist() == many.self_motion[k][valid].tolist()
            assert one.self_motion.tolist() == kept.self_motion[k][valid].tolist()
            assert one.reason is one.reason
            assert f"reason={one.reason!r}, self_motion={one.self_motion!r})" in repr(one)
            np.testing.assert_array_equal(one.q, many.q[k][valid])
            np.testing.assert_array_equal(one.within_limits, many.within_limits[k][valid])
            pose[0][:], pose[1][:] = R[k], p[k]
