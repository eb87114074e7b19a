"""Tasks with free directions: inverse kinematics, rates and paths of a selection of the six."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from oracles import pin_model
from robot_dynamics.errors import ArgumentError, TrajectoryError, UnknownNameError
from robot_dynamics.kinematics import (
    InverseKinematics,
    frame_pose,
    joint_velocities,
    link_poses,
    selected_rows,
)
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.trajectory import follow_poses
from robot_dynamics.trajectory.pose_paths import PosePath
from strategies import chains, seeds

REACHED = (
    1e-9  # what is promised; the search ends at 1e-10, a direction that is not held misses 0.1
)
AT_REST = 1e-12  # rad: a second search from a solution ends where it starts
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
BENT = np.array([0.3, -1.2, 1.5, -0.4, 0.8, 0.2])
TOOL_AXIS_FREE = {"selection": "x y z rx ry", "axes": "frame"}


@pytest.fixture(scope="module")
def ur5():
    return read_urdf(find_robot("ur5"))


def turn(axis, angle):
    return Rotation.from_rotvec(angle * np.asarray(axis)).as_matrix()


def misses(selection, axes, pose, goal):
    """Return by how much a pose misses a goal, in the selected directions only.

    With quaternions: a rotation is a turn by 2 atan2(q_k, q_w) about axis k, and a rotation about
    an axis at right angles.
    """
    (R, p), (R_d, p_d) = pose, goal
    A = np.eye(3) if axes == "root" else R_d
    off = A.T @ (p_d - p)
    found = [off[k] for k in range(3) if DIRECTIONS[k] in selection]
    about = [k for k in range(3) if DIRECTIONS[k + 3] in selection]
    error = Rotation.from_matrix(A.T @ R_d @ R.T @ A)
    x = error.as_quat()
    if len(about) == 3:
        found += list(error.as_rotvec())
    if len(about) == 2:
        (k,) = {0, 1, 2} - set(about)
        back = Rotation.from_rotvec(-2.0 * np.arctan2(x[k], x[3]) * np.eye(3)[k])
        found.append((error * back).magnitude())
    if len(about) == 1:
        found.append((2.0 * np.arctan2(x[about[0]], x[3]) + np.pi) % (2.0 * np.pi) - np.pi)
    return np.abs(found).max()


def freely_moved(selection, axes, pose, rng):
    """Return a goal that differs from a pose in the free directions only, at random."""
    R, p = pose
    free = [k for k in range(3) if DIRECTIONS[k + 3] not in selection]
    if len(free) == 3:
        change = Rotation.random(random_state=rng).as_matrix()
    else:  # about one axis, or about an axis across the one that is selected
        axis = np.zeros(3)
        axis[free] = rng.normal(size=len(free))
        change = turn(axis / max(np.linalg.norm(axis), 1e-9), rng.uniform(-2.5, 2.5))
    R_d = change @ R if axes == "root" else R @ change
    A = np.eye(3) if axes == "root" else R_d
    shift = [0.0 if DIRECTIONS[k] in selection else rng.uniform(-1.0, 1.0) for k in range(3)]
    return R_d, p + A @ shift


@pytest.mark.thorough
@settings(max_examples=8)
@given(
    chains(min_joints=2, max_joints=5, fixed=False, mimic=False),
    st.sets(st.sampled_from(DIRECTIONS), min_size=1),
    st.sampled_from(["root", "frame"]),
    seeds(),
)
def test_selected_directions_are_reached_and_the_solution_is_stationary(
    robot, selection, axes, seed
):
    check_random_arm(robot, selection, axes, seed)


@pytest.mark.thorough
@settings(max_examples=100)
@given(
    chains(min_joints=1, max_joints=7, mimic=False),
    st.sets(st.sampled_from(DIRECTIONS), min_size=1),
    st.sampled_from(["root", "frame"]),
    seeds(),
)
def test_selected_directions_of_every_arm_are_reached(robot, selection, axes, seed):
    check_random_arm(robot, selection, axes, seed)


def check_random_arm(robot, selection, axes, seed):
    frame, rng, oracle = robot.links[-1].name, np.random.default_rng(seed), pin_model(robot)
    lower, upper = (np.clip(bound, -2.0, 2.0) for bound in (robot.limits.lower, robot.limits.upper))
    q = rng.uniform(lower, upper)
    goal = freely_moved(selection, axes, oracle.frame_pose(q, frame), rng)
    names = [name for name in DIRECTIONS if name in selection]
    solve = InverseKinematics(robot, frame, selection=names, axes=axes, solver="numeric")
    found = solve(*goal, start=np.clip(q + rng.uniform(-0.3, 0.3, robot.dof), lower, upper))
    assert found.reason is None
    assert misses(selection, axes, oracle.frame_pose(found.q[0], frame), goal) < REACHED
    assert (found.q[0] >= robot.limits.lower - REACHED).all()
    assert (found.q[0] <= robot.limits.upper + REACHED).all()
    again = solve(*goal, start=found.q[0])
    assert np.abs(again.q[0] - found.q[0]).max() < AT_REST


EVERY_DAY = {("x y z", "root"), ("x y z rx ry", "frame"), ("z rx ry", "root"), ("x y rz", "frame")}
SELECTIONS = [
    pytest.param(
        selection, axes, marks=() if (selection, axes) in EVERY_DAY else pytest.mark.thorough
    )
    for selection in ("x y z", "x y z rx ry", "z rx ry", "x y rz", "rx ry rz")
    for axes in ("root", "frame")
]


@pytest.mark.parametrize(("selection", "axes"), SELECTIONS)
def test_arms_of_any_number_of_joints_reach_poses_far_from_any_start(selection, axes):
    """Six joints, and the five that are left of them without the last; fifty poses at once."""
    whole = read_urdf(find_robot("ur5"))
    for robot in (whole, whole.with_locked({"wrist_3_joint": 0.4})):
        rng = np.random.default_rng(3)
        q = rng.uniform(-3.0, 3.0, (50, robot.dof))
        poses = [frame_pose(robot, x, "tool0") for x in q]
        goals = [freely_moved(selection.split(), axes, pose, rng) for pose in poses]
        ik = InverseKinematics(robot, "tool0", selection=selection, axes=axes)
        assert ik.structure == "numeric"
        found = ik(*map(np.array, zip(*goals, strict=True)))
        assert found.valid.all()
        for x, goal in zip(found.q[:, 0], goals, strict=True):
            pose = frame_pose(robot, x, "tool0")
            assert misses(selection.split(), axes, pose, goal) < REACHED


def test_a_planar_arm_reaches_a_point_as_the_law_of_cosines_says():
    robot = read_urdf(find_robot("planar_2r"))
    x, z = 1.0, 0.8  # in the plane of the arm, whose joints turn about -y
    places = link_poses(robot, [0.0, 0.0])
    elbow_at, tip_at = (places[name].translation for name in (robot.joints[1].child, "endpoint"))
    base, tip = np.linalg.norm(elbow_at), np.linalg.norm(tip_at - elbow_at)
    elbow = np.arccos((x**2 + z**2 - base**2 - tip**2) / (2.0 * base * tip))
    ik = InverseKinematics(robot, "endpoint", selection=[1, 0, 1, 0, 0, 0])
    for side in (elbow, -elbow):
        shoulder = np.arctan2(z, x) - np.arctan2(tip * np.sin(side), base + tip * np.cos(side))
        expected = np.array([shoulder, side])
        found = ik(np.eye(3), [x, 0.3, z], start=expected + 0.1)  # y and orientation are free
        assert found.q[0] == pytest.approx(expected, abs=1e-9)  # the pose is reached to 1e-10


def damped_least_squares(oracle, q, goal, frame, free):
    """Search with Pinocchio: position, and the axis z of the tool if the turn about it is free."""
    pin, (R_d, p_d) = oracle.pin, goal
    for _ in range(300):
        R, p = oracle.frame_pose(q, frame)
        J = oracle.frame_jacobian(q, frame)
        if free == "orientation":
            error, J = p_d - p, J[:3]
        else:
            to = pin.Quaternion.FromTwoVectors(R[:, 2], R_d[:, 2]).matrix()
            error = np.concatenate([p_d - p, (R.T @ pin.log3(to))[:2]])
            J = np.vstack([J[:3], (R.T @ J[3:])[:2]])
        q = q + J.T @ np.linalg.solve(J @ J.T + 1e-6 * error @ error * np.eye(len(error)), error)
    return q


@pytest.mark.parametrize("free", ["tool axis", "orientation"])
def test_a_damped_least_squares_search_with_pinocchio_ends_at_the_same_positions(ur5, free):
    """With as many joints as directions the solution near the start is the only one."""
    locked = {"wrist_3_joint": 0.2}
    if free == "orientation":
        locked |= {"wrist_2_joint": 0.8, "wrist_1_joint": -0.4}
    robot, rng = ur5.with_locked(locked), np.random.default_rng(7)
    oracle, options = pin_model(robot), TOOL_AXIS_FREE if free == "tool axis" else {}
    ik = InverseKinematics(robot, "tool0", **({"selection": "x y z"} | options))
    for _ in range(5):
        start = BENT[: robot.dof] + rng.uniform(-0.2, 0.2, robot.dof)
        R, p = oracle.frame_pose(start + rng.uniform(-0.2, 0.2, robot.dof), "tool0")
        goal = R @ turn([0.0, 0.0, 1.0], rng.uniform(-3.0, 3.0)), p
        expected = damped_least_squares(oracle, start, goal, "tool0", free)
        # The pose is known to 1e-10, times the condition of the Jacobian, 30
        assert ik(*goal, start=start).q[0] == pytest.approx(expected, abs=1e-8)


def test_a_turn_about_a_free_tool_axis_moves_no_joint_and_a_tilt_moves_as_far_as_it_is(ur5):
    """The error is that of the axis alone: components of the rotation vector would not vanish."""
    ik = InverseKinematics(ur5, "tool0", **TOOL_AXIS_FREE)
    R, p = frame_pose(ur5, BENT, "tool0")
    assert ik(R @ turn([0, 0, 1], 3.0), p, start=BENT).q[0] == pytest.approx(BENT, abs=AT_REST)
    tilted = R @ turn([1, 0, 0], 0.5) @ turn([0, 0, 1], 2.9)
    found = ik(tilted, p, start=BENT)
    at = frame_pose(ur5, found.q[0], "tool0").rotation
    assert at[:, 2] == pytest.approx(tilted[:, 2], abs=REACHED)
    # The least rotation of the end effector is 0.5 rad; joints of an arm of six turn it about z a
    # little
    assert Rotation.from_matrix(at @ R.T).magnitude() < 0.7


def test_velocities_of_selected_directions_are_those_of_pinocchio(ur5):
    rng, oracle = np.random.default_rng(1), pin_model(ur5)
    R = oracle.frame_pose(BENT, "tool0")[0]
    for names, axes in ((["x", "y", "z"], "root"), (["z", "rx", "ry"], "frame")):
        wanted, wish = rng.normal(size=3), rng.normal(size=6)
        A = np.eye(3) if axes == "root" else R
        J = (np.kron(np.eye(2), A.T) @ oracle.frame_jacobian(BENT, "tool0"))[selected_rows(names)]
        qd = joint_velocities(ur5, BENT, wanted, "tool0", selection=names, axes=axes)
        assert qd == pytest.approx(np.linalg.pinv(J) @ wanted, abs=1e-11)  # condition 1e2
        other = joint_velocities(
            ur5, BENT, wanted, "tool0", selection=names, axes=axes, preferred=wish
        )
        assert J @ other == pytest.approx(wanted, abs=1e-11)
        assert np.linalg.norm(other - wish) < np.linalg.norm(qd - wish)


# -- paths --------------------------------------------------------------------------------------


def line_with_turning_tool(robot, q, frame, to):
    """A straight line whose poses turn about the axis of the tool at random."""
    rng, (R, p) = np.random.default_rng(5), frame_pose(robot, q, frame)
    shares = np.linspace(0.0, 1.0, 31)
    rotations = [R @ turn([0, 0, 1], rng.uniform(-3.0, 3.0)) for _ in shares]
    return PosePath(shares, np.array(rotations), p + np.outer(shares, to))


@pytest.mark.parametrize("joints", [5, 6])
def test_a_path_with_a_free_tool_axis_takes_little_motion(ur5, joints):
    robot = ur5 if joints == 6 else ur5.with_locked({"wrist_3_joint": 0.2})
    path = line_with_turning_tool(robot, BENT[:joints], "tool0", [0.05, -0.1, 0.05])
    ours, remarks = follow_poses(robot, path, "tool0", near=BENT[:joints], **TOOL_AXIS_FREE)
    assert remarks == ()
    for q, R, p in zip(ours.positions, path.rotations, path.positions, strict=True):
        pose = frame_pose(robot, q, "tool0")
        assert misses(["x", "y", "z", "rx", "ry"], "frame", pose, (R, p)) < REACHED
    # 4 mm per step, at 0.4 m from the shoulder, and at most six times that of the wrist
    assert np.abs(np.diff(ours.positions, axis=0)).max() < 0.06


def test_a_pose_that_is_missed_in_its_selected_directions_is_refused_with_its_time(ur5):
    path = line_with_turning_tool(ur5, BENT, "tool0", [0.0, 0.0, 0.0])
    path.positions[4:] += [2.0, 0.0, 0.0]
    follow_poses(ur5, path, "tool0", near=BENT, selection="y z")  # x is free
    with pytest.raises(TrajectoryError, match=r"^pose at t = 0\.133 s: the search did not conver"):
        follow_poses(ur5, path, "tool0", near=BENT, **TOOL_AXIS_FREE)


# -- what is no selection -----------------------------------------------------------------------


@pytest.mark.parametrize("same", ["x,y,rz", " x y  rz", ("x", "y", "rz"), [1, 1, 0, 0, 0, 1]])
def test_a_selection_is_names_or_six_numbers(same):
    assert selected_rows(same) == [0, 1, 5]


@pytest.mark.parametrize("wrong", ["", (), ("x", "x"), [0] * 6, [1, 1, 0], [1, 1, 1, 0, 0, 0.5]])
def test_what_selects_nothing_or_nothing_clear_is_refused_with_what_is_taken(wrong):
    with pytest.raises(ArgumentError) as refused:
        selected_rows(wrong)
    assert str(refused.value) == (
        "selection takes one direction or more of x y z rx ry rz, each once, or six numbers, 1 for "
        f"a selected direction and 0 for a free one; got {wrong!r}"
    )


def test_unknown_directions_and_axes_and_a_redundant_joint_are_refused(ur5):
    with pytest.raises(UnknownNameError, match=r"no direction 'roll' in a selection \(directions:"):
        InverseKinematics(ur5, "tool0", selection="x y roll")
    with pytest.raises(UnknownNameError, match=r"no axes 'tool' in a selection \(axess: root, fr"):
        InverseKinematics(ur5, "tool0", selection="x y", axes="tool")
    panda = read_urdf(find_robot("panda"))
    with pytest.raises(ArgumentError) as refused:
        InverseKinematics(panda, "panda_hand", selection="x y z", redundant="panda_joint4")
    assert str(refused.value) == (
        "redundant: a search with free directions finds all joints; leave "
        "redundant='panda_joint4' out"
    )


def test_fewer_joints_than_directions_say_that_directions_have_to_be_left_out():
    robot = read_urdf(find_robot("planar_2r"))
    unreachable = turn([1, 0, 0], 0.4), [0.5, 0.5, 0.2]
    assert re.fullmatch(
        r"2 joints do not reach every pose: the nearest solution misses it by [\d.]+; leave "
        r"directions free by a selection, such as x,y,z \(--selection x,y,z\)",
        InverseKinematics(robot, "endpoint")(*unreachable).reason,
    )
    for selection, end in (
        ("x y z", "no joint moves y: leave them out of the selection"),
        ("x z ry", "2 joints reach few poses in 3 directions: select 2 or fewer"),
    ):
        assert re.fullmatch(
            r"the search did not converge: the nearest positions miss the pose by [\d.]+; it is "
            f"out of reach within the limits, or give another start; {end}",
            InverseKinematics(robot, "endpoint", selection=selection)(*unreachable).reason,
        )
