"""Payload, gravity and wrench on an arm, and how they pass to new values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.control import Gains, Model
from robot_dynamics.control.load import Load, check_load
from robot_dynamics.control.transitions import Ramp
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.spatial import Inertia, Pose, rotation_from_rpy
from robot_dynamics.trajectory.interpolation import quintic
from robot_dynamics.trajectory.trajectory import State, Trajectory

# Two joints about y, the second 0.4 m out; a tool fixed 0.3 m further, turned; a sensor on the base
ARM = """
<robot name="arm">
  <link name="base"/><link name="sensor"/><link name="tool"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  {extra}
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="40"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="4" effort="15"/></joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/>
    <origin xyz="0.3 0 0.05" rpy="0.3 0.7 -0.4"/></joint>
  <joint name="mount" type="fixed"><parent link="base"/><child link="sensor"/>
    <origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/></joint>
</robot>
"""
SECOND_TIP = """<link name="camera"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pan" type="revolute"><parent link="base"/><child link="camera"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>"""
BODY = Inertia.from_com(0.8, (0.1, 0.02, 0.0), np.diag([0.002, 0.003, 0.004]))
ROUND_OFF = 1e-10  # the same sums of products below 100, in another order


@pytest.fixture(scope="module")
def dynamics():
    return Dynamics(read_urdf(ARM.format(extra="")))


@pytest.fixture(scope="module")
def model(dynamics):
    return Model(dynamics, Gains(np.zeros(2), np.zeros(2)))


@pytest.fixture
def load(dynamics):
    return Load(dynamics.robot, None, dynamics.robot.gravity)


# -- ramps ------------------------------------------------------------------------------------


def test_a_ramp_is_half_way_after_half_its_time_and_stays_at_its_end():
    ramp = Ramp(np.array([1.0, 0.0]), 2.0)
    ramp.aim(np.array([3.0, -4.0]))
    np.testing.assert_array_equal(ramp.value(10.0), [1.0, 0.0])
    np.testing.assert_allclose(ramp.value(11.0), [2.0, -2.0])
    np.testing.assert_array_equal(ramp.value(12.0), [3.0, -4.0])
    assert ramp.value(12.5) is ramp.value(99.0)


@given(st.lists(st.tuples(st.floats(-5.0, 5.0), st.integers(1, 30)), min_size=1, max_size=8))
def test_no_schedule_of_targets_makes_a_ramp_jump(schedule):
    ramp, now, dt, duration = Ramp(np.zeros(1), 0.5), 0.0, 0.01, 0.5
    value = ramp.value(now)
    for target, cycles in schedule:
        most = abs(target - value[0]) * dt / duration
        ramp.aim(np.array([target]))
        for _ in range(cycles):
            now += dt
            before, value = value, ramp.value(now)
            assert abs(value[0] - before[0]) <= most + 1e-12  # round-off of numbers below 10


def test_a_target_that_moves_every_cycle_is_followed_and_does_not_stall_the_ramp():
    ramp, dt = Ramp(np.zeros(1), 0.1), 0.001
    ramp.value(0.0)
    for k in range(1, 1001):
        ramp.aim(np.array([1.0 + 1e-9 * k]))
        value = ramp.value(k * dt)
    # each cycle takes dt / duration = 1 % of what is left away: 0.99^1000 = 4e-5 is left
    assert value[0] == pytest.approx(1.0, abs=1e-4)


# -- what acts --------------------------------------------------------------------------------


def test_an_arm_without_load_has_its_plain_equations(load, model):
    assert load.on(model, 0.0) is model


def test_a_payload_given_in_the_tool_frame_is_as_good_as_one_built_in(load, model, dynamics):
    load.carry(BODY, "tool")
    built_in = Dynamics(
        dynamics.robot.with_payload("tool", BODY.mass, BODY.com, BODY.about_com), cache=False
    )
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 2))
    tau = load.on(model, 0.0).inverse(q, qd, qdd)
    np.testing.assert_allclose(tau, built_in.inverse(q, qd, qdd), atol=ROUND_OFF)


def test_torque_changes_no_faster_than_its_difference_over_the_ramp(load, model):
    q, dt = np.array([0.3, -0.5]), 0.01
    load.payload.duration = 0.4
    path = [load.on(model, 0.0).gravity(q)]
    load.carry(BODY, "tool")
    path += [load.on(model, k * dt).gravity(q) for k in range(1, 51)]
    most = np.abs(path[-1] - path[0]) * dt / 0.4
    assert (np.abs(np.diff(path, axis=0)) <= most + ROUND_OFF).all()
    assert np.abs(path[-1] - path[0]).max() > 1.0  # N m: there was something to ramp


@pytest.mark.parametrize("frame", ["tool", "fore", "upper", "base", "sensor"])
def test_a_wrench_in_any_frame_takes_the_torques_of_virtual_work(load, model, dynamics, frame):
    """tau = J^T w, with J of the endpoint and the wrench moved to it by hand."""
    q = np.array([0.4, -0.9])
    force, moment = np.array([3.0, -2.0, 5.0]), np.array([0.4, 0.1, -0.2])
    load.exert(np.concatenate([force, moment]), load.pose(frame, q))
    tau = load.on(model, 0.0).gravity(q) - model.gravity(q)

    R, p = dynamics.pose(q, frame)
    p_end = dynamics.pose(q, load.endpoint)[1]
    at_end = np.concatenate([R @ force, R @ moment + np.cross(p - p_end, R @ force)])
    expected = dynamics.jacobian(q, load.endpoint).T @ at_end
    np.testing.assert_allclose(tau, expected, atol=ROUND_OFF)


def test_without_gravity_a_payload_weighs_nothing_but_keeps_its_inertia(load, model):
    load.carry(BODY, "tool")
    load.gravity.aim(np.zeros(3))
    q, qdd = np.array([0.3, 0.2]), np.array([1.0, 2.0])
    loaded = load.on(model, 0.0)
    np.testing.assert_allclose(loaded.gravity(q), 0.0, atol=ROUND_OFF)
    bare = model.inverse(q, 0.0 * q, qdd) - model.gravity(q)
    assert (loaded.inverse(q, 0.0 * q, qdd) - bare > 1e-3).all()


# -- frames -----------------------------------------------------------------------------------


def test_the_only_tip_carries_the_load_by_default(load):
    assert load.endpoint == "tool"
    X = load.pose("fore").inverse()
    np.testing.assert_allclose(X.translation, [0.3, 0.0, 0.05], atol=1e-15)
    np.testing.assert_allclose(X.rotation, rotation_from_rpy([0.3, 0.7, -0.4]), atol=1e-15)


def test_a_payload_on_another_body_is_refused(load):
    with pytest.raises(
        ArgumentError,
        match=r"frame 'upper' moves against 'tool', where the load acts; give a frame fixed to "
        r"that, or start with another payload.frame",
    ):
        load.carry(BODY, "upper")


def test_a_frame_that_the_robot_lacks_is_named(load):
    with pytest.raises(UnknownNameError, match=r"no frame 'tol' in robot 'arm'.*mean 'tool'"):
        load.carry(BODY, "tol")


def test_with_several_tips_the_frame_must_be_named_once():
    dynamics = Dynamics(read_urdf(ARM.format(extra=SECOND_TIP)))
    model = Model(dynamics, Gains(np.zeros(3), np.zeros(3)))
    load = Load(dynamics.robot, None, dynamics.robot.gravity)
    with pytest.raises(ArgumentError, match=r"2 tips \(.*\); name the frame that carries"):
        load.carry(BODY, "")
    load.prepare(model, "tool")
    load.carry(BODY, "")
    built_in = dynamics.robot.with_payload("tool", BODY.mass, BODY.com, BODY.about_com)
    q = np.array([0.1, 0.2, 0.3])
    expected = Dynamics(built_in, cache=False).gravity(q)
    np.testing.assert_allclose(load.on(model, 0.0).gravity(q), expected, atol=ROUND_OFF)


def test_a_payload_of_the_ur5_asks_which_of_its_two_tool_frames_carries_it():
    robot = read_urdf(find_robot("ur5"))
    with pytest.raises(ArgumentError) as error:
        Load(robot, None, robot.gravity).carry(BODY, "")
    assert str(error.value) == (
        "robot 'ur5' has 2 tips (ee_link, tool0); name the frame that carries the load in the "
        "parameter payload.frame"
    )
    Load(robot, "tool0", robot.gravity).carry(BODY, "")


def test_a_vector_of_a_frame_on_the_root_link_is_turned_into_its_axes(load):
    # The sensor is turned by a right angle about z: its x is y of the base
    np.testing.assert_allclose(load.to_root(np.array([1.0, 0, 0]), "sensor"), [0, 1, 0], atol=1e-15)
    with pytest.raises(ArgumentError, match="frame 'tool' moves with 'fore'; give one that is"):
        load.to_root(np.ones(3), "tool")


def test_a_wrench_is_moved_and_turned_with_its_frame(load):
    X = Pose(rotation_from_rpy([0, 0, np.pi / 2]), np.array([0.0, 0.0, 2.0]))
    load.exert(np.array([1.0, 0, 0, 0, 0, 0]), X)
    # 1 N along y at 2 m up z: moment (0, 0, 2) x (0, 1, 0) = (-2, 0, 0)
    np.testing.assert_allclose(load.wrench.target, [0, 1, 0, -2, 0, 0], atol=1e-15)


# -- loads that the joints cannot bear ------------------------------------------------------------


def held_at(q):
    return Trajectory.hold(("shoulder", "elbow"), np.array(q))


def test_a_payload_that_the_joints_cannot_hold_where_the_arm_is_is_refused(load, model):
    heavy = Inertia.from_com(60.0, (0.0, 0.0, 0.3), np.zeros((3, 3)))
    after = load.bearing(model, heavy, "tool")
    with pytest.raises(ArgumentError) as refused:
        check_load(load.target(model), after, held_at([0.0, 0.0]))
    # Gravity of the links by hand; the payload 0.3 m along the z axis of the tool
    reach = 0.3 + 0.3 * rotation_from_rpy((0.3, 0.7, -0.4))[0, 2]
    elbow = -9.81 * (1.0 * 0.15 + 60.0 * reach)
    assert str(refused.value) == (
        f"joint 'elbow' would need {elbow:.4g} N m here, beyond its limit of 15 N m; "
        "give a lighter load, or move to another pose first"
    )
    straight_up = [-np.pi / 2, 0.0]
    light = load.bearing(model, Inertia.from_com(2.0, (0.0, 0.0, 0.0), np.zeros((3, 3))), "tool")
    check_load(load.target(model), light, held_at(straight_up))


def test_a_payload_too_heavy_for_the_commanded_path_names_joint_and_time(load, model):
    up, out = np.array([-np.pi / 2, 0.0]), np.array([0.0, 0.0])
    path = quintic(np.array(2.0), *(State(q, np.zeros(2), np.zeros(2)) for q in (up, out)))
    motion = Trajectory(("shoulder", "elbow"), np.array([0.0, 2.0]), path[None])
    after = load.bearing(model, Inertia.from_com(10.0, (0.0, 0.0, 0.0), np.zeros((3, 3))), "tool")
    check_load(load.target(model), after, held_at(up))
    with pytest.raises(ArgumentError, match=r"'elbow' would need .* in 1.\d+ s, on the commanded"):
        check_load(load.target(model), after, motion)


def test_a_load_may_always_become_lighter(load, model):
    heavy, less = (
        load.bearing(model, Inertia.from_com(m, (0.0, 0.0, 0.0), np.zeros((3, 3))), "tool")
        for m in (60.0, 30.0)
    )
    check_load(heavy, less, held_at([0.0, 0.0]))
    with pytest.raises(ArgumentError, match="beyond its limit"):
        check_load(less, heavy, held_at([0.0, 0.0]))


def test_a_wrench_beyond_the_effort_limits_is_refused(load, model):
    after = load.exerting(model, np.array([0.0, 0.0, -1e4, 0.0, 0.0, 0.0]), load.pose("tool"))
    with pytest.raises(ArgumentError, match=r"'elbow' would need .* N m here, beyond its limit"):
        check_load(load.target(model), after, held_at([0.0, 0.0]))
