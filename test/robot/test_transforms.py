"""Robot -> Robot functions: invariants, and intended changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from oracles import pin_model, relative_error
from robot_dynamics.errors import RobotError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.kinematic_tree import (
    Frame,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    Spring,
    joint_pose,
)
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia, Pose
from strategies import random_inertia, random_rotation, random_state, robots, seeds

# float64 on both sides: worst of 1000 random trees 3e-12; one wrong sign gives 1e-1
ROUND_OFF = 1e-10


def assert_same_torques(ours, theirs):
    assert relative_error(ours, theirs) < ROUND_OFF


def pole(origin=(0.0, 0.0, 0.0), **joint):
    """One body of 2 kg, 0.5 m along x from a joint that turns about y: a pendulum."""
    body = Inertia.from_com(2.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))
    elbow = Joint(
        "elbow",
        JointType.REVOLUTE,
        "base",
        "arm",
        Pose(np.eye(3), origin),
        axis=(0.0, 1.0, 0.0),
        limits=JointLimits(-1.0, 1.0, 2.0, 3.0),
        **joint,
    )
    return Robot("pole", (Link("base"), Link("arm", body)), (elbow,))


def gripper():
    """Two fingers that slide apart: the second follows the first."""
    bodies = (
        Link("base"),
        *(Link(name, Inertia.from_com(1.0, (0, 0, 0), np.eye(3))) for name in "ab"),
    )
    slide = JointType.PRISMATIC
    leader = Joint("left", slide, "base", "a", Pose.identity(), axis=(0, 1, 0))
    follower = Joint(
        "right",
        slide,
        "base",
        "b",
        Pose.identity(),
        axis=(0, 1, 0),
        mimic=Mimic("left", -1.0, 0.25),
    )
    return Robot("gripper", bodies, (leader, follower))


# -- merge_fixed --------------------------------------------------------------------------------


@given(robots(), seeds())
def test_merging_fixed_links_changes_no_torque(robot, seed):
    merged = merge_fixed(robot)
    assert all(joint.moves for joint in merged.joints)
    q, qd, qdd = random_state(robot, seed)
    theirs = pin_model(robot).inverse(q, qd, qdd)  # Pinocchio lumps on its own
    assert_same_torques(inverse_dynamics(merged, q, qd, qdd), theirs)


@given(robots(fixed=True))
def test_merging_keeps_the_total_mass_and_every_name(robot):
    merged = merge_fixed(robot)
    mass = sum(link.inertia.mass for link in robot.links)
    assert sum(link.inertia.mass for link in merged.links) == pytest.approx(mass, rel=1e-14)
    assert set(merged.frame_names) == set(robot.frame_names)
    assert merged.joint_names == robot.joint_names


@given(robots(fixed=False))
def test_a_robot_without_fixed_joints_is_returned_as_it_is(robot):
    assert merge_fixed(robot) is robot


@given(robots(), seeds())
def test_a_merged_link_stays_where_it_was(robot, seed):
    q, _, _ = random_state(robot, seed)
    merged = merge_fixed(robot)
    for name in robot.frame_names:
        ours, theirs = pose_of(merged, q, name), pose_of(robot, q, name)
        assert_allclose(ours.translation, theirs.translation, atol=1e-13)  # of at most 5 m
        assert_allclose(ours.rotation, theirs.rotation, atol=1e-13)


def pose_of(robot, q, frame):
    """Pose of a frame in the root, joint by joint from the tip down."""
    angles = dict(
        zip((j.name for j in robot.moving_joints), robot.coupling.positions(q), strict=True)
    )
    place = robot.frame(frame)
    X, i = place.pose, robot.link_index(place.link)
    while i > 0:
        joint = robot.joints[i - 1]
        X = joint_pose(joint, angles.get(joint.name, 0.0)) @ X
        i = robot.parents[i - 1]
    return X


def test_frames_of_a_merged_robot_can_be_merged_again():
    tool = Joint("tool", JointType.FIXED, "arm", "tip", Pose(np.eye(3), (0.0, 0.0, 1.0)))
    robot = pole(origin=(1.0, 0.0, 0.0))
    robot = Robot(
        "pole",
        (*robot.links, Link("tip")),
        (*robot.joints, tool),
        frames={"camera": Frame("tip", Pose(np.eye(3), (0.0, 2.0, 0.0)))},
    )
    frames = merge_fixed(robot.with_locked({"elbow": 0.0})).frames
    assert_allclose(frames["camera"].pose.translation, (1.0, 2.0, 1.0), atol=0)
    assert frames["camera"].link == "base"


# -- lock ---------------------------------------------------------------------------------------


@given(robots(max_joints=6), seeds(), st.data())
def test_locked_joints_stand_still_where_they_were_put(robot, seed, data):
    assume(robot.dof > 1)
    names = data.draw(st.sets(st.sampled_from(robot.joint_names), max_size=robot.dof - 1))
    q, qd, qdd = random_state(robot, seed)
    free = [i for i, name in enumerate(robot.joint_names) if name not in names]
    still = [i for i in range(robot.dof) if i not in free]
    qd[still] = qdd[still] = 0.0
    locked = robot.with_locked({name: q[robot.joint_names.index(name)] for name in names})
    assert locked.joint_names == tuple(robot.joint_names[i] for i in free)
    whole = pin_model(robot).inverse(q, qd, qdd)
    assert_same_torques(inverse_dynamics(locked, q[free], qd[free], qdd[free]), whole[free])


def test_a_follower_is_locked_where_its_leader_puts_it():
    locked = gripper().with_locked({"left": 0.125})
    assert locked.dof == 0
    assert_allclose(locked.joint("right").origin.translation, (0.0, 0.125, 0.0), atol=0)


def test_a_locked_joint_has_no_limits_and_no_leader():
    locked = gripper().with_locked({"left": 0.0})
    for joint in locked.joints:
        assert (joint.type, joint.limits, joint.mimic) == (JointType.FIXED, JointLimits(), None)


def test_locking_leaves_the_robot_itself_alone():
    robot = pole()
    robot.with_locked({"elbow": 0.5})
    assert robot.joint_names == ("elbow",)


@pytest.mark.parametrize(
    ("robot", "positions", "message"),
    [
        (
            pole(),
            {"elbo": 0.0},
            "no joint 'elbo' in robot 'pole' (joints: elbow); did you mean 'elbow'?",
        ),
        (
            pole(),
            {"elbow": np.nan},
            "joint 'elbow' cannot be locked at nan; give a finite number",
        ),
        (
            pole(),
            {"elbow": "up"},
            "joint 'elbow' cannot be locked at 'up'; give a finite number",
        ),
        (
            pole(),
            {"elbow": np.complex128(1.0)},
            "joint 'elbow' cannot be locked at (1+0j); give a finite number",
        ),
        (
            pole(),
            ["elbow"],
            "positions must be given by the name of the joint, such as {'elbow': 0.5}, got "
            "['elbow']",
        ),
        (pole(), {1: 0.0}, "no joint '1' in robot 'pole' (joints: elbow)"),
        (
            gripper(),
            {"right": 0.0},
            "joint 'right' follows 'left' and cannot be locked on its own; "
            "lock 'left', and it is locked too",
        ),
        (
            pole().with_locked({"elbow": 0.0}),
            {"elbow": 0.0},
            "joint 'elbow' is fixed already; leave it out",
        ),
    ],
)
def test_what_cannot_be_locked_is_named(robot, positions, message):
    with pytest.raises(RobotError) as error:
        robot.with_locked(positions)
    assert str(error.value) == message


# -- with_payload -------------------------------------------------------------------------------


@given(robots(), seeds(), st.data())
def test_a_payload_is_a_link_fixed_to_the_frame(robot, seed, data):
    frame = data.draw(st.sampled_from(robot.frame_names))
    rng = np.random.default_rng(seed)
    body = random_inertia(rng)
    loaded = robot.with_payload(frame, body.mass, body.com, body.about_com)
    weld = Joint("weld", JointType.FIXED, frame, "load", Pose.identity())
    i = robot.link_index(frame)  # the load stands after what its link carries: depth first
    as_link = Robot(
        robot.name,
        (*robot.links[: i + 1], Link("load", body), *robot.links[i + 1 :]),
        (*robot.joints[:i], weld, *robot.joints[i:]),
        gravity=robot.gravity,
    )
    q, qd, qdd = random_state(robot, seed)
    theirs = pin_model(as_link).inverse(q, qd, qdd)
    assert_same_torques(inverse_dynamics(loaded, q, qd, qdd), theirs)


def test_a_payload_on_a_merged_frame_hangs_where_the_frame_is():
    turn = Rotation.from_euler("xyz", [0.3, 0.4, 0.5]).as_matrix()
    tool = Joint("tool", JointType.FIXED, "arm", "tip", Pose(turn, (0.1, 0.2, 0.3)))
    robot = pole()
    robot = Robot("pole", (*robot.links, Link("tip")), (*robot.joints, tool))
    load = (3.0, (0.01, 0.02, 0.03), np.diag([0.1, 0.2, 0.25]))
    state = ((0.4,), (0.5,), (0.6,))
    before = inverse_dynamics(robot.with_payload("tip", *load), *state)
    after = inverse_dynamics(merge_fixed(robot).with_payload("tip", *load), *state)
    assert_allclose(after, before, rtol=1e-14)  # the same sums in another order


def test_a_point_payload_adds_its_weight_times_its_arm():
    loaded = pole().with_payload("arm", 1.5, com=(0.8, 0.0, 0.0))
    rest = np.zeros(1)
    added = inverse_dynamics(loaded, rest, rest, rest) - inverse_dynamics(pole(), rest, rest, rest)
    assert_allclose(added, [-1.5 * 9.81 * 0.8], rtol=1e-14)  # y turns x down, so the effort is up


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"frame": "am", "mass": 1.0},
            "no frame 'am' in robot 'pole' (frames: base, arm); did you mean 'arm'?",
        ),
        (
            {"frame": "arm", "mass": -1.0},
            "payload: mass must be zero or positive, got -1.0 kg",
        ),
        ({"frame": "arm", "mass": np.inf}, "payload: mass must be a finite number, got inf"),
        ({"frame": "arm", "mass": "1kg"}, "payload: mass must be a finite number, got '1kg'"),
        ({"frame": "arm", "mass": "1"}, "payload: mass must be a finite number, got '1'"),
        ({"frame": "arm", "mass": None}, "payload: mass must be a finite number, got None"),
        ({"frame": "arm", "mass": [1.0]}, "payload: mass must be a finite number, got [1.0]"),
        (
            {"frame": ["arm"], "mass": 1.0},
            "no frame '['arm']' in robot 'pole' (frames: base, arm); did you mean 'arm'?",
        ),
        (
            {"frame": "arm", "mass": 1.0, "com": (0.0, 1.0)},
            "payload: com must be finite numbers of shape (3,), got (0.0, 1.0)",
        ),
        (
            {"frame": "arm", "mass": 1.0, "com": (0.0, 1.0, np.nan)},
            "payload: com must be finite numbers of shape (3,), got (0.0, 1.0, nan)",
        ),
        (
            {"frame": "arm", "mass": 1.0, "com": "here"},
            "payload: com must be finite numbers of shape (3,), got 'here'",
        ),
        (
            {"frame": "arm", "mass": 1.0, "inertia": np.full((3, 3), np.nan)},
            "payload: inertia must be finite numbers of shape (3, 3), got "
            "array([[nan, nan, nan], [nan, nan, nan], [nan, nan, nan]])",
        ),
        (
            {"frame": "arm", "mass": 1.0, "inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]},
            "payload: inertia must be symmetric; check ixy, ixz, iyz",
        ),
        (
            {"frame": "arm", "mass": 1.0, "inertia": np.diag([1.0, 2.0, 4.0])},
            "payload: principal moments 1, 2, 4 kg m^2 are physically impossible; none may be "
            "negative or exceed the sum of the others",
        ),
        (
            {"frame": "arm", "mass": 1.0, "inertia": np.diag([1.0, 1.0, -1.0])},
            "payload: principal moments -1, 1, 1 kg m^2 are physically impossible; none may be "
            "negative or exceed the sum of the others",
        ),
    ],
)
def test_a_physically_impossible_payload_is_refused(arguments, message):
    with pytest.raises(RobotError) as error:
        pole().with_payload(**arguments)
    assert str(error.value) == message


# -- mount and gravity --------------------------------------------------------------------------


@given(robots(), seeds())
def test_a_mounted_robot_is_one_whose_base_is_fixed_to_a_turned_world(robot, seed):
    R = random_rotation(np.random.default_rng(seed))
    world = Joint("mount", JointType.FIXED, "world", robot.links[0].name, Pose(R, (1.0, 2.0, 3.0)))
    in_world = Robot(
        "world", (Link("world"), *robot.links), (world, *robot.joints), gravity=robot.gravity
    )
    q, qd, qdd = random_state(robot, seed)
    theirs = pin_model(in_world).inverse(q, qd, qdd)
    assert_same_torques(inverse_dynamics(robot.mounted(R), q, qd, qdd), theirs)


def test_a_robot_on_the_ceiling_is_pulled_upwards():
    assert_allclose(pole().mounted((np.pi, 0.0, 0.0)).gravity, (0, 0, 9.81), atol=1e-14)


def test_a_robot_on_the_wall_is_pulled_sideways():
    # Pitched by +90 degrees its z axis points along the world's x, its x axis down
    assert_allclose(pole().mounted((0.0, np.pi / 2, 0.0)).gravity, (9.81, 0, 0), atol=1e-14)


def test_rpy_matrix_and_pose_mount_alike():
    rpy = (0.3, -0.2, 0.9)
    R = Rotation.from_euler("xyz", rpy).as_matrix()
    for orientation in (R, Pose(R, (1.0, 2.0, 3.0))):
        ours, theirs = pole().mounted(orientation).gravity, pole().mounted(rpy).gravity
        assert_allclose(ours, theirs, atol=1e-14)


@pytest.mark.parametrize(
    ("orientation", "message"),
    [
        (
            np.diag([1.0, 1.0, -1.0]),
            "orientation is not a rotation matrix; its columns must be orthonormal",
        ),
        (2.0 * np.eye(3), "orientation is not a rotation matrix; its columns must be orthonormal"),
        ((0.0, 1.0), "orientation must be finite numbers of shape (3,), got (0.0, 1.0)"),
        ("up", "orientation must be finite numbers of shape (3,), got 'up'"),
        (
            [[1.0, 0.0], [0.0]],
            "orientation must be finite numbers of shape (3,), got [[1.0, 0.0], [0.0]]",
        ),
        (
            (0.0, 1.0, np.inf),
            "orientation must be finite numbers of shape (3,), got (0.0, 1.0, inf)",
        ),
    ],
)
def test_what_is_no_orientation_is_refused(orientation, message):
    with pytest.raises(RobotError) as error:
        pole().mounted(orientation)
    assert str(error.value) == message


def test_gravity_can_be_replaced():
    tau = inverse_dynamics(pole().with_gravity((0.0, 0.0, 1.5)), [0.0], [0.0], [0.0])
    assert_allclose(tau, [2.0 * 1.5 * 0.5], rtol=1e-15)


@pytest.mark.parametrize(
    ("gravity", "shown"),
    [
        ((0, 0, float("nan")), "(0, 0, nan)"),
        ((0, 0), "(0, 0)"),
        ((0, (0,), 0), "(0, (0,), 0)"),
        ((0, 0, -9.81j), "(0, 0, (-0-9.81j))"),
        ((None, 0, 0), "(None, 0, 0)"),
        (("0", "0", "-9.81"), "('0', '0', '-9.81')"),
        ("down", "'down'"),
        (9.81, "9.81"),
    ],
)
def test_gravity_that_is_no_vector_is_refused(gravity, shown):
    with pytest.raises(RobotError) as error:
        pole().with_gravity(gravity)
    assert str(error.value) == f"gravity must be finite numbers of shape (3,), got {shown}"


def test_limits_are_lowered_or_given_where_they_are_unknown():
    robot = read_urdf(find_robot("planar_2r"))
    lowered = robot.with_limits(velocity={"joint_1": 0.5}, effort={"joint_2": 20.0})
    assert lowered.limits.velocity.tolist() == [0.5, robot.limits.velocity[1]]
    assert lowered.limits.effort.tolist() == [robot.limits.effort[0], 20.0]
    joints = tuple(replace(joint, limits=JointLimits(effort=0.0)) for joint in robot.joints)
    unknown = replace(robot, joints=joints)
    assert unknown.with_limits(effort={"joint_1": 30.0}).limits.effort[0] == 30.0


@pytest.mark.parametrize("limit", [1e3, 0.0, -1.0, np.nan])
def test_a_limit_above_that_of_the_urdf_is_refused(limit):
    robot = read_urdf(find_robot("planar_2r"))
    known = robot.limits.velocity[0]
    with pytest.raises(RobotError) as refused:
        robot.with_limits(velocity={"joint_1": limit})
    assert str(refused.value) == (
        f"velocity limit of joint 'joint_1' is {limit:g}, not within 0 to the {known:g} of its "
        "URDF; give a lower one, or change the URDF"
    )


def test_joint_elasticity_is_of_the_named_joints():
    robot = read_urdf(find_robot("planar_2r"))
    soft = robot.with_joint_elasticity({"joint_2": 5e3}, {"joint_2": 7.0})
    assert soft.joint_elasticity.stiffness.tolist() == [np.inf, 5e3]
    assert soft.joint_elasticity.damping.tolist() == [0.0, 7.0]
    assert soft.elastic_joints == (1,)
    assert soft.with_joint_elasticity({"joint_2": np.inf}) == robot
    assert soft.with_locked({"joint_2": 0.3}).elastic_joints == ()
    every = robot.with_joint_elasticity([1e3, 2e3], 4.0).independent_joints
    assert [joint.spring for joint in every] == [Spring(1e3, 4.0), Spring(2e3, 4.0)]


@pytest.mark.parametrize(
    ("stiffness", "damping", "message"),
    [
        ({"joint_1": 0.0}, 0.0, "stiffness of joint 'joint_1' is 0; give a positive number"),
        ({"joint_1": 1.0}, {"joint_1": -1.0}, "damping of joint 'joint_1' is -1; give zero or"),
        ({"joint_1": 1.0}, {"joint_2": 1.0}, "damping of joint 'joint_2' is given without its"),
        ([1.0, 2.0, 3.0], 0.0, r"stiffness has shape \(3,\) for 2 joints; give one number"),
        ({"elbow": 1.0}, 0.0, "no joint 'elbow' in robot"),
    ],
)
def test_wrong_elasticity_is_refused(stiffness, damping, message):
    robot = read_urdf(find_robot("planar_2r"))
    with pytest.raises(RobotError, match=message):
        robot.with_joint_elasticity(stiffness, damping)


def test_a_joint_without_its_own_motor_is_not_elastic():
    with pytest.raises(RobotError, match="has no motor of its own and cannot be elastic"):
        pole().with_floating_base().with_joint_elasticity({"floating_base": 1.0})
