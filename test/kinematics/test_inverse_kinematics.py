"""Inverse kinematics: every solution, none that is wrong, and a reason where there is none."""

import os
import re

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from arms import ANY_WRIST, INNER, PANDA, SHORT, SIX_JOINTS, SLIDES, arm_of
from choices import first
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.errors import ArgumentError, RobotError, ShapeError, UnknownNameError
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.kinematics.inverse.near_rotations import nearest_rotations
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.denavit_hartenberg import TOOL

POSES = int(os.environ.get("KINEMATICS_POSES", "300"))
"""Random poses per arm; the full number is 10000."""

REACHED = 1e-9  # what is promised; worst of 10000 poses of every arm: 1e-10 away from singularities
SAME = 1e-5  # rad, m: next to a double root a pose to the last digit leaves the angle half of them

ARMS = {**SIX_JOINTS, **INNER, **SLIDES, "any_wrist": ANY_WRIST, "panda": PANDA}
USUAL = ("any_wrist", "inner_345_slides", "panda", "puma_lee", "stanford", "ur5", "5r1p")


def random_positions(robot, joints, rng, count):
    """Positions in (-pi, pi), and 0.4 m to both sides of zero for slides."""
    rotates = np.array([robot.joint(name).type.rotates for name in joints])
    return rng.uniform(-1.0, 1.0, (count, len(joints))) * np.where(rotates, np.pi, 0.4)


def poses_of(robot, frame, ik, q):
    """Return the pose of the frame, by the equations that are compared with Pinocchio elsewhere."""
    every = np.zeros((len(q), robot.dof))
    every[:, [robot.joint_names.index(name) for name in ik.joint_names]] = q
    return Dynamics(robot).pose(every, frame)


def given_of(ik, q):
    return {} if ik.redundant is None else {"redundant": q[:, ik.joint_names.index(ik.redundant)]}


def assert_reached(robot, frame, ik, found, R, p):
    """Every solution reproduces its pose."""
    rows, _ = np.nonzero(found.valid)
    at_R, at_p = poses_of(robot, frame, ik, found.q[found.valid])
    assert np.abs(at_R - R[rows]).max(initial=0.0) < REACHED
    assert np.abs(at_p - p[rows]).max(initial=0.0) < REACHED
    assert np.isnan(found.q[~found.valid]).all()


def apart(robot, ik, found, q):
    """Return the distance of the nearest solution from the positions of the pose, rad or m."""
    rotates = [robot.joint(name).type.rotates for name in ik.joint_names]
    away = np.abs(found.q - q[:, None])
    away = np.where(rotates, np.abs((away + np.pi) % (2.0 * np.pi) - np.pi), away)
    return np.nanmin(away.max(axis=2), axis=1)


@pytest.mark.parametrize("name", first(USUAL, ARMS))
def test_all_solutions_are_found_and_are_right(name):
    arm = ARMS[name]
    ik = InverseKinematics(arm.robot, arm.frame)
    assert ik.structure.startswith(arm.structure)
    q = random_positions(arm.robot, ik.joint_names, np.random.default_rng(1), POSES)
    R, p = poses_of(arm.robot, arm.frame, ik, q)
    found = ik(R, p, **given_of(ik, q))
    assert_reached(arm.robot, arm.frame, ik, found, R, p)
    assert apart(arm.robot, ik, found, q).max() < SAME
    assert set(found.valid.sum(axis=1)) <= set(arm.counts)


@pytest.mark.thorough
@pytest.mark.parametrize("offset", [1e-7, 3e-6, 1e-4, 1e-2])
@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_axes_of_a_calibrated_shoulder_that_nearly_meet_lose_no_solution(offset):
    lengths = (offset, 0.35, 0.08, 0.0, 0.0, 0.0)
    robot = arm_of("RRRRRR", lengths, (-70, 35, -80, 90, -90, 0), (0.4, 0.12, 0.05, 0.42, 0.0, 0.1))
    ik = InverseKinematics(robot, TOOL)
    q = random_positions(robot, ik.joint_names, np.random.default_rng(12), 3000)
    R, p = poses_of(robot, TOOL, ik, q)
    found = ik(R, p)
    assert_reached(robot, TOOL, ik, found, R, p)
    # each root of the arm without the offset is two; where two come together too, next to the rim
    # of the workspace, one pose of 3000 is known to fewer digits than their distance
    assert (apart(robot, ik, found, q) < SAME).mean() > 0.998


def test_axes_that_meet_but_for_the_digits_of_a_urdf_reach_poses_to_the_last_digits():
    lengths = (0.025, 0.455, 0.035, 0.0, 5e-8, 0.0)  # m
    robot = arm_of("RRRRRR", lengths, (-90, 0, -90, 90, -90, 0), (0.4, 0.0, 0.0, 0.42, 0.0, 0.08))
    ik = InverseKinematics(robot, TOOL)
    assert ik.structure.startswith("spherical wrist")
    q = random_positions(robot, ik.joint_names, np.random.default_rng(13), 20)
    R, p = poses_of(robot, TOOL, ik, q)
    found = ik(R, p)
    assert_reached(robot, TOOL, ik, found, R, p)
    assert apart(robot, ik, found, q).max() < SAME


@pytest.mark.parametrize("name", SHORT)
def test_arms_of_few_joints_return_to_their_poses(name):
    robot = SHORT[name]()
    ik = InverseKinematics(robot, TOOL)
    assert ik.structure != "numeric"
    q = random_positions(robot, ik.joint_names, np.random.default_rng(2), 100)
    R, p = poses_of(robot, TOOL, ik, q)
    found = ik(R, p)
    assert_reached(robot, TOOL, ik, found, R, p)
    assert apart(robot, ik, found, q).max() < SAME


@pytest.mark.parametrize("name", first(list(INNER)[:2], INNER))
def test_an_inner_wrist_has_no_solutions_but_those_found(name):
    """Newton's method from 3000 starts finds no other one."""
    arm, rng = INNER[name], np.random.default_rng(6)
    ik, dynamics = InverseKinematics(arm.robot, arm.frame), Dynamics(arm.robot)
    R, p = dynamics.pose(rng.uniform(-np.pi, np.pi, 6), arm.frame)
    q = rng.uniform(-np.pi, np.pi, (3000, 6))
    for _ in range(30):
        at_R, at_p = dynamics.pose(q, arm.frame)
        skew = R @ at_R.transpose(0, 2, 1)
        skew = 0.5 * (skew - skew.transpose(0, 2, 1))
        error = np.hstack([p - at_p, skew[:, [2, 0, 1], [1, 2, 0]]])
        q = q + np.einsum(
            "nij,nj->ni", np.linalg.pinv(dynamics.jacobian(q, arm.frame)), error
        ).clip(-0.5, 0.5)
    at_R, at_p = dynamics.pose(q, arm.frame)
    misses = np.abs(at_R - R).max(axis=(1, 2)) + np.abs(at_p - p).max(axis=1)
    q, found = q[misses < 1e-9], ik(R, p).q
    away = np.abs(np.sin(0.5 * (q[:, None] - found))).max(axis=2)  # of every search, solution
    assert len(q) > 100
    assert away.min(axis=1).max() < SAME
    assert away.min(axis=0).max() < SAME


def singular_positions(robot, frame, ik, rng, count):
    """Positions where the Jacobian of six joints has no inverse, all kinds of them."""
    names = [name for name in ik.joint_names if name != ik.redundant]
    columns = [robot.joint_names.index(name) for name in names]
    arm = Dynamics(robot)

    def determinants(q):
        every = np.zeros((len(q), robot.dof))
        every[:, columns] = q
        return np.linalg.det(arm.jacobian(every, frame)[:, :, columns])

    found = []
    while len(found) < count:
        q = random_positions(robot, names, rng, 1)[0]
        k = int(rng.integers(1, 5))

        def along(x, q=q, k=k):
            moved = q.copy()
            moved[k] = x
            return determinants(moved[None])[0]

        grid = np.linspace(-1.0, 1.0, 17) * (np.pi if robot.joint(names[k]).type.rotates else 0.4)
        values = [along(x) for x in grid]
        for i in np.flatnonzero(np.diff(np.sign(values))):
            q[k] = brentq(along, grid[i], grid[i + 1], xtol=1e-15)
            found.append((q.copy(), k))
    return found[:count]


@pytest.mark.parametrize("name", first(USUAL, ARMS))
def test_on_and_next_to_singularities_no_pose_is_wrong_and_none_is_missed(name):
    arm, rng = ARMS[name], np.random.default_rng(3)
    ik = InverseKinematics(arm.robot, arm.frame)
    count = max(POSES // 10, 30)
    q, moved = zip(*singular_positions(arm.robot, arm.frame, ik, rng, count), strict=True)
    q = np.array(q)
    away = np.where(rng.random(count) < 0.2, 0.0, 10.0 ** rng.uniform(-9.0, -3.0, count))
    q[np.arange(count), moved] += away
    right_angles = rng.integers(-2, 3, (count, 6)) * (np.pi / 2.0)  # several singularities at once
    right_angles *= [arm.robot.joint(n).type.rotates for n in ik.joint_names if n != ik.redundant]
    q = np.concatenate([q, right_angles])
    if ik.redundant is not None:
        q = np.insert(q, ik.joint_names.index(ik.redundant), 0.3, axis=1)
    R, p = poses_of(arm.robot, arm.frame, ik, q)
    found = ik(R, p, **given_of(ik, q))
    assert_reached(arm.robot, arm.frame, ik, found, R, p)
    assert found.valid.any(axis=1).all()


def test_where_wrist_axes_are_in_line_a_self_motion_is_named_and_gone_through():
    arm = SIX_JOINTS["puma_gupta"]
    ik = InverseKinematics(arm.robot, arm.frame)
    q = np.array([0.3, -0.5, 0.4, 0.2, 0.0, 0.1])  # joint 5 at zero, as in the zero position
    R, p = poses_of(arm.robot, arm.frame, ik, q[None])
    found, other = (ik(R[0], p[0], free=free) for free in (0.0, 1.0))
    row = next(k for k in range(len(found.q)) if abs(found.q[k, 4]) < 1e-9)
    assert found.self_motion[row] == "joint 'joint_4' may be anywhere, and others follow"
    # round-off turns the representative; without `free` any point of the self-motion is right
    assert other.q[row, 3] - found.q[row, 3] == pytest.approx(1.0, abs=1e-4)
    assert np.sin(other.q[row, 3] - other.q[row, 5] - q[3] + q[5]) == pytest.approx(0.0, abs=1e-9)
    for solutions in (found, other):
        at_R, at_p = poses_of(arm.robot, arm.frame, ik, solutions.q)
        assert np.abs(at_R - R).max() < REACHED
        assert np.abs(at_p - p).max() < REACHED


def test_stretched_above_its_shoulder_with_the_wrist_in_line_the_one_place_in_reach_is_found():
    arm = SIX_JOINTS["thomas_tesar"]
    ik = InverseKinematics(arm.robot, arm.frame)
    # the last wrist axis parallel to axes 2 to 4, and their links straight up along axis 1
    q = np.pi / 2.0 * np.array([[-1.0, -1.0, 0.0, 0.0, 0.0, -1.0]])
    R, p = poses_of(arm.robot, arm.frame, ik, q)
    found = ik(R[0], p[0])
    assert_reached(arm.robot, arm.frame, ik, ik(R, p), R, p)
    # the representative may be on either side of the shoulder
    assert np.abs(np.sin(found.q[:, [0, 5]] - q[0, [0, 5]])).max() < SAME
    assert set(found.self_motion) == {
        "joint 'joint_1' and joint 'joint_6' may turn, but others reach the pose only from here"
    }


def test_a_pose_out_of_reach_has_no_solution_and_a_reason():
    arm = SIX_JOINTS["irb120"]
    ik = InverseKinematics(arm.robot, arm.frame)
    # the wrist centre stands 0.072 m behind the end effector: 1.928 - 0.29 m above the shoulder
    found = ik(np.eye(3), [0.0, 0.0, 2.0])
    reach = 0.27 + np.hypot(0.07, 0.302)
    assert found.q.shape == (0, 6)
    assert found.reason == (
        f"out of reach for 'joint_3': 1.638 m away, outside the sphere of radius {reach:.6g} m, "
        f"which is missed by {1.638 - reach:.3g} m"
    )


def test_a_pose_that_a_quartic_finds_out_of_reach_says_how_far():
    ik = InverseKinematics(ANY_WRIST.robot, ANY_WRIST.frame)
    found = ik(np.eye(3), [0.0, 0.0, 3.0])
    assert found.q.shape == (0, 6)
    assert found.reason.startswith("out of reach for 'joint_3': its path misses the surface")
    missed = float(re.findall(r"by ([\d.]+) m", found.reason)[0])
    # the wrist stands 0.08 m below the end effector; from axis 1 to it there are three lengths, at
    # most
    reach = np.hypot(0.1, 0.4) + np.hypot(0.35, 0.12) + np.hypot(0.08, 0.05) + 0.42
    assert 2.92 - reach < missed < 2.92


def test_a_pose_that_a_slide_passes_by_says_how_far():
    ik = InverseKinematics(SIX_JOINTS["stanford"].robot, TOOL)
    # the slide passes the shoulder, 0.1 m above the base, at a distance of 0.1 m
    found = ik(np.eye(3), [0.0, 0.03, 0.1])
    assert found.q.shape == (0, 6)
    assert found.reason.startswith("out of reach for 'joint_3': its path misses the surface")
    missed = float(re.findall(r"by ([\d.]+) m", found.reason)[0])
    assert missed == pytest.approx(0.07, rel=0.01)  # printed with three digits


def test_a_pose_inside_the_cylinder_of_the_shoulder_names_it():
    ik = InverseKinematics(SIX_JOINTS["ur5"].robot, "tool0")
    found = ik(np.eye(3), [0.06, 0.0, 0.5])  # nearer to the axis of joint 1 than d_4 = 0.10915 m
    assert found.q.shape == (0, 6)
    reason = "out of reach for 'shoulder_pan_joint': its circle of radius {0} m is missed by {0} m"
    numbers = re.fullmatch(reason.format(r"(\S+)"), found.reason).groups()
    assert [float(x) for x in numbers] == pytest.approx([0.06, 0.10915 - 0.06], rel=5e-3)


@pytest.mark.parametrize("name", ["ur5", "puma_lee", "any_wrist"])
def test_one_pose_and_a_batch_agree(name):
    """Of 200 poses with all numbers of branches; results that are kept stay as they are."""
    arm = ARMS[name]
    ik = InverseKinematics(arm.robot, arm.frame)
    q = np.random.default_rng(4).uniform(-3.0, 3.0, (200, 6))
    R, p = poses_of(arm.robot, arm.frame, ik, q)
    many = ik(R, p)
    assert many.q.shape == (200, len(ik.branches), 6)
    assert len(set(many.valid.sum(axis=1))) == len(arm.counts)
    for _ in range(2):  # the first pose of its branches, then others
        found = [ik(R[k], p[k]) for k in range(200)]
    for k, one in enumerate(found):
        rows = many.valid[k]
        np.testing.assert_allclose(one.q, many.q[k][rows], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(one.residual, many.residual[k][rows], rtol=0.0, atol=1e-12)
        assert one.branch == tuple(np.array(ik.branches)[rows])
        assert one.within_limits.tolist() == many.within_limits[k][rows].tolist()
        assert one.valid.all()
        assert one.valid.shape == one.self_motion.shape == (len(one.q),)
        assert one.reason is None


SPECIAL_Q = {  # of the UR5
    "wrist axes in line": [0.3, -1.0, 1.2, 0.4, 0.0, 0.7],
    "in line and stretched": [0.3, -1.0, 0.0, 0.4, 0.0, 0.7],
    "zero": [0.0] * 6,
    "stretched": [0.3, -1.0, 0.0, 0.4, 0.8, 0.7],
}


@pytest.mark.skipif(not native_entry.available(), reason="no native entry")
@pytest.mark.parametrize("kind", [*SPECIAL_Q, "out of reach", "six digits"])
def test_a_special_pose_is_one_native_call_and_agrees_with_a_batch(kind, monkeypatch):
    arm = SIX_JOINTS["ur5"]
    ik = InverseKinematics(arm.robot, arm.frame)
    q = np.array([SPECIAL_Q.get(kind, [0.3, -1.0, 1.2, 0.4, 0.8, 0.7])])
    R, p = poses_of(arm.robot, arm.frame, ik, q)
    p = p + 5.0 * (kind == "out of reach")
    R = np.round(R, 6) if kind == "six digits" else R
    many = ik(R, p)

    def in_python(*_):
        raise AssertionError("solved in Python")

    monkeypatch.setattr(InverseKinematics, "_solutions", in_python)
    for pose in (
        (R[0].copy(), p[0].copy()),
        (R[0].T.copy().T, p[0]),
        (R[0].tolist(), p[0].tolist()),
    ):
        one = ik(*pose)
        np.testing.assert_allclose(one.q, many.q[0][many.valid[0]], rtol=0.0, atol=1e-12)
        assert one.branch == tuple(np.array(ik.branches)[many.valid[0]])
        assert one.reason == many.reason[0]
        assert one.self_motion.tolist() == many.self_motion[0][many.valid[0]].tolist()


def test_arrays_of_float32_are_solved_as_their_numbers():
    ik = InverseKinematics(SIX_JOINTS["ur5"].robot, "tool0")
    R, p = poses_of(SIX_JOINTS["ur5"].robot, "tool0", ik, np.full((1, 6), 0.7))
    R, p = R[0].astype(np.float32), p[0].astype(np.float32)
    wide = ik(R.astype(np.float64), p.astype(np.float64))
    assert len(wide.q) == 8
    for pose in ((R, p), (R, p.astype(np.float64)), (R.T.copy().T, p[::-1].copy()[::-1])):
        np.testing.assert_array_equal(ik(*pose).q, wide.q)


def test_the_nearest_rotation_is_the_orthogonal_factor_of_the_polar_decomposition():
    rng = np.random.default_rng(7)
    exact = Rotation.random(1000, random_state=rng).as_matrix()
    R = exact + rng.uniform(-1e-6, 1e-6, exact.shape)
    U, _, V = np.linalg.svd(R)
    np.testing.assert_allclose(nearest_rotations(R), U @ V, rtol=0.0, atol=1e-14)


def test_a_rotation_of_six_digits_and_no_poses_at_all_are_taken():
    ik = InverseKinematics(SIX_JOINTS["ur5"].robot, "tool0")
    R = np.array([[0.955336, -0.29552, 0.0], [0.29552, 0.955336, 0.0], [0.0, 0.0, 1.0]])
    assert len(ik(np.round(R, 6), [0.4, 0.2, 0.3]).q) == 8
    assert ik(np.zeros((0, 3, 3)), np.zeros((0, 3))).q.shape == (0, 8, 6)


def test_limits_choose_the_turn_and_are_told():
    robot = SIX_JOINTS["ur5"].robot  # two turns of every joint but the elbow
    ik = InverseKinematics(robot, "tool0")
    R, p = poses_of(robot, "tool0", ik, np.array([[0.3, -1.0, 1.2, -0.4, 0.8, 0.2]]))
    found = ik(R[0], p[0])
    assert found.within_limits.all()
    turns = ik.turns(found.q[0])
    assert len(turns) == 2**5
    at_R, _ = poses_of(robot, "tool0", ik, turns)
    assert np.abs(at_R - R).max() < REACHED


def test_panda_is_redundant_in_its_last_joint_or_the_one_that_is_named():
    ik = InverseKinematics(PANDA.robot, "panda_hand")
    assert ik.redundant == "panda_joint7"
    with pytest.raises(ArgumentError, match="redundant: give the position of joint 'panda_joint7'"):
        ik(np.eye(3), [0.4, 0.0, 0.5])
    with pytest.raises(RobotError, match="with joint 'panda_joint3' given the arm to"):
        InverseKinematics(PANDA.robot, "panda_hand", redundant="panda_joint3")


def iiwa():
    """KUKA LBR iiwa 14: three axes meet in the shoulder and three in the wrist."""
    return arm_of(
        "RRRRRRR",
        (0.0,) * 7,
        (-90, 90, 90, -90, -90, 90, 0),
        (0.36, 0.0, 0.42, 0.0, 0.4, 0.0, 0.126),
    )


def gen3():
    """Kinova Gen3 of seven joints: axis 3 passes axis 1 by 12 mm, so that it has no arm angle."""
    return arm_of(
        "RRRRRRR",
        (0.0,) * 7,
        (90, 90, 90, 90, 90, 90, 180),
        (-0.2848, -0.0118, -0.4208, -0.0128, -0.3143, 0.0, -0.1674),
        (0, 180, 180, 180, 180, 180, 180),
    )


@pytest.mark.parametrize(
    ("arm", "joint"),
    [
        ("iiwa", "joint_1"),
        *(pytest.param("iiwa", f"joint_{k}", marks=pytest.mark.thorough) for k in (2, 3, 5, 6, 7)),
        pytest.param("panda", "panda_joint4", marks=pytest.mark.thorough),
        ("panda", "panda_joint5"),  # leaves a quartic
        *(pytest.param("gen3", f"joint_{k}", marks=pytest.mark.thorough) for k in (1, 3)),
    ],
)
def test_any_joint_that_leaves_a_closed_form_may_be_given_inner_ones_too(arm, joint):
    robot, frame = {
        "iiwa": lambda: (iiwa(), TOOL),
        "gen3": lambda: (gen3(), TOOL),
        "panda": lambda: (PANDA.robot, "panda_hand"),
    }[arm]()
    ik = InverseKinematics(robot, frame, redundant=joint)
    q = random_positions(robot, ik.joint_names, np.random.default_rng(11), max(POSES // 10, 50))
    R, p = poses_of(robot, frame, ik, q)
    given = q[:, ik.joint_names.index(joint)]
    found = ik(R, p, redundant=given)
    assert_reached(robot, frame, ik, found, R, p)
    assert apart(robot, ik, found, q).max() < SAME
    held = found.q[..., ik.joint_names.index(joint)] - given[:, None]
    assert np.nanmax(np.abs(held)) == 0.0
    one = ik(R[0], p[0], redundant=given[0])
    np.testing.assert_allclose(one.q, found.q[0][found.valid[0]], rtol=0.0, atol=1e-9)


def arm_angles(robot, ik, q):
    """About the line from shoulder to wrist, from the plane of axis 1 to the elbow."""
    elbow, wrist = (poses_of(robot, f"link_{k}", ik, q)[1] - [0.0, 0.0, 0.36] for k in (4, 6))
    line = wrist / np.linalg.norm(wrist, axis=1)[:, None]
    up, out = (x - (x * line).sum(axis=1)[:, None] * line for x in (np.array([0, 0, 1.0]), elbow))
    return np.arctan2((np.cross(up, out) * line).sum(axis=1), (up * out).sum(axis=1))


def test_an_arm_like_a_human_one_takes_its_arm_angle():
    robot = iiwa()
    ik = InverseKinematics(robot, TOOL, redundant="arm angle")
    q = random_positions(robot, ik.joint_names, np.random.default_rng(8), POSES)
    R, p = poses_of(robot, TOOL, ik, q)
    angles = arm_angles(robot, ik, q)
    found = ik(R, p, redundant=angles)
    assert len(ik.branches) == 8
    assert found.valid.all()
    assert_reached(robot, TOOL, ik, found, R, p)
    assert apart(robot, ik, found, q).max() < SAME
    theirs = arm_angles(robot, ik, found.q.reshape(-1, 7))
    assert np.abs(np.sin(0.5 * (theirs - np.repeat(angles, 8)))).max() < SAME
    np.testing.assert_allclose(ik(R[0], p[0], redundant=angles[0]).q, found.q[0], atol=1e-9)


def test_an_arm_angle_is_refused_where_there_is_none_and_asked_for_where_there_is():
    with pytest.raises(RobotError, match="the arm to 'panda_hand' has no arm angle"):
        InverseKinematics(PANDA.robot, "panda_hand", redundant="arm angle")
    with pytest.raises(ArgumentError, match="redundant: give the arm angle beside the pose"):
        InverseKinematics(iiwa(), TOOL, redundant="arm angle")(np.eye(3), [0.4, 0.0, 0.5])


def test_an_arm_without_closed_form_is_searched_and_says_whether_it_converged():
    robot = read_urdf(find_robot("tiago"))
    ik = InverseKinematics(robot, "arm_tool_link")
    assert ik.structure == "numeric"
    limits = [robot.joint(name).limits for name in ik.joint_names]
    lower, upper = np.array([(limit.lower, limit.upper) for limit in limits]).T
    q = np.random.default_rng(5).uniform(lower, upper, (4, len(limits)))
    R, p = poses_of(robot, "arm_tool_link", ik, q)
    found = ik(R, p)
    assert found.valid.all()
    assert found.within_limits.all()
    assert_reached(robot, "arm_tool_link", ik, found, R, p)
    far = ik(np.eye(3), [50.0, 0.0, 0.0])
    assert far.q.shape[0] == 0
    assert far.reason.startswith("the search did not converge: the nearest positions miss the pose")


NUMERIC = {
    "panda": ("panda", "panda_hand"),
    "kinova": ("kinova", "j2s6s200_end_effector"),
    "tiago": ("tiago", "arm_tool_link"),
}


@pytest.mark.parametrize("name", NUMERIC)
def test_the_search_finds_nearly_all_poses_within_the_limits(name):
    robot, frame = read_urdf(find_robot(NUMERIC[name][0])), NUMERIC[name][1]
    ik = InverseKinematics(robot, frame, solver="numeric")
    limits = [robot.joint(joint).limits for joint in ik.joint_names]
    lower, upper = np.array([(x.lower, x.upper) for x in limits]).T
    turn = np.clip([lower, upper], -np.pi, np.pi)
    q = np.random.default_rng(5).uniform(*turn, (POSES, len(limits)))
    R, p = poses_of(robot, frame, ik, q)
    found = ik(R, p)
    assert found.within_limits.mean() > 0.995
    assert_reached(robot, frame, ik, found, R, p)
    inside = (found.q[:, 0] >= lower - 1e-9) & (found.q[:, 0] <= upper + 1e-9)
    assert inside[found.valid[:, 0]].all()


def test_a_solver_that_is_not_known_or_takes_no_redundant_joint_is_refused():
    with pytest.raises(UnknownNameError, match="no solver 'kdl'"):
        InverseKinematics(SIX_JOINTS["ur5"].robot, "tool0", solver="kdl")
    with pytest.raises(ArgumentError, match="redundant: solver 'numeric' finds all joints"):
        InverseKinematics(PANDA.robot, "panda_hand", redundant="arm angle", solver="numeric")


@pytest.mark.parametrize(
    ("rotation", "position", "error", "message"),
    [
        (np.eye(3), [0.0, 0.0], ShapeError, r"position \(3,\) or \(N, 3\)"),
        (np.diag([1.0, 1.0, 2.0]), [0.0] * 3, ArgumentError, "is no rotation matrix"),
        (np.diag([1.0, 1.0, -1.0]), [0.0] * 3, ArgumentError, "is no rotation matrix"),
        (np.full((3, 3), np.nan), [0.0] * 3, ArgumentError, "rotation holds NaN or infinity"),
        (np.eye(3), [0.0, np.inf, 0.0], ArgumentError, "position holds NaN or infinity"),
        ("pose", [0.0] * 3, ArgumentError, "must hold numbers"),
    ],
)
def test_what_is_no_pose_is_refused(rotation, position, error, message):
    ik = InverseKinematics(SIX_JOINTS["ur5"].robot, "tool0")
    with pytest.raises(error, match=message):
        ik(rotation, position)


def test_an_unknown_frame_is_refused():
    with pytest.raises(UnknownNameError, match="no frame 'tool'"):
        InverseKinematics(SIX_JOINTS["ur5"].robot, "tool")


def test_the_book_s_equations_of_the_5r1p_arm_give_the_same_solutions():
    """(2-44) to (2-63) of [AsadaSlotine1986], with d_3 > 0."""
    arm, (l_0, l_1, l_2) = SIX_JOINTS["5r1p"], (0.6, 0.2, 0.15)
    ik = InverseKinematics(arm.robot, arm.frame)
    q = np.array([0.7, -0.4, 0.5, 0.3, 0.9, -1.1])
    R, p = (x[0] for x in poses_of(arm.robot, arm.frame, ik, q[None]))
    w = p - l_2 * R[:, 2]  # (2-45)
    book = []
    for sign in (1.0, -1.0):
        root = sign * np.sqrt(w[0] ** 2 + w[1] ** 2 - l_1**2)
        t_1 = 2.0 * np.arctan2(-w[0] + root, l_1 + w[1])  # (2-52)
        along = w[0] * np.cos(t_1) + w[1] * np.sin(t_1)
        t_2, d_3 = np.arctan2(along, w[2] - l_0), np.hypot(along, w[2] - l_0)  # (2-53), (2-54)
        arm_pose = poses_of(arm.robot, "link_3", ik, np.array([[t_1, t_2, d_3, 0, 0, 0]]))
        n, t, b = (arm_pose[0][0].T @ R).T  # (2-56)
        for half_turn in (0.0, np.pi):  # (2-63)
            t_4 = np.arctan2(b[1], b[0]) + half_turn  # (2-60)
            c, s = np.cos(t_4), np.sin(t_4)
            t_5 = np.arctan2(b[0] * c + b[1] * s, b[2])  # (2-61)
            t_6 = np.arctan2(-n[0] * s + n[1] * c, -t[0] * s + t[1] * c)  # (2-62)
            book.append([t_1, t_2, d_3, t_4, t_5, t_6])
    found = ik(R, p)
    ours = found.q[found.q[:, 2] > 0.0]
    assert len(ours) == len(book) == 4
    for solution in book:
        away = np.abs(ours - solution)
        away[:, [0, 1, 3, 4, 5]] = np.abs(np.sin(away[:, [0, 1, 3, 4, 5]] / 2.0))
        assert away.max(axis=1).min() < 1e-12  # round-off of both closed forms
