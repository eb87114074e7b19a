"""Compiled dynamics against Pinocchio and MuJoCo, and how it is called."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from oracles import (
    characteristic_examples,
    example_robot,
    example_urdfs,
    examples,
    has_few_joints,
    invertible_examples,
    pin_model,
    relative_error,
    with_exact_right_angles,
)
from python_kernel import compile_python
from refusals import refusal
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    RobotError,
    ShapeError,
    SingularMassMatrixError,
    UnknownNameError,
)
from robot_dynamics.formulations import FORMULATIONS, inverse_dynamics
from robot_dynamics.papers.simplified_models import simplified_model
from robot_dynamics.robot import find_robot, merge_fixed
from robot_dynamics.robot.urdf_writer import urdf_of
from robot_dynamics.spatial import Inertia
from strategies import random_state, robots, seeds

# float64 on both sides; the worst of all examples is 3e-11 (rounded angles of a URDF, which
# Pinocchio reads as quaternions), one wrong sign gives 1e-2 and more
ROUND_OFF = 1e-9


def example(name):
    """An example robot by the name of its URDF file, and its path."""
    paths = [path for path in example_urdfs() if path.stem == name]
    if not paths:
        pytest.skip("example-robot-data is not installed")
    return example_robot(paths[0]), paths[0]


SHORTER = [path for path in characteristic_examples() if has_few_joints(path, most=20)]


@pytest.mark.parametrize("path", examples(SHORTER, example_urdfs()))
def test_every_example_agrees_with_pinocchio(path):
    robot = example_robot(path)
    arm, pin = Dynamics(robot), pin_model(robot, path)
    q, qd, qdd = random_state(robot, seed=7)
    for name, ours, theirs in [
        ("inverse", arm.inverse(q, qd, qdd), pin.inverse(q, qd, qdd)),
        ("bias", arm.bias(q, qd), pin.bias(q, qd)),
        ("gravity", arm.gravity(q), pin.gravity(q)),
        ("mass_matrix", arm.mass_matrix(q), pin.mass_matrix(q)),
    ]:
        assert relative_error(ours, theirs) < ROUND_OFF, (robot.name, name)


FEW = [path for path in characteristic_examples() if has_few_joints(path)]


@pytest.mark.parametrize("path", examples(FEW, invertible_examples()))
def test_forward_dynamics_of_every_example_agrees_with_pinocchio(path):
    robot = example_robot(path)
    arm, pin = Dynamics(robot), pin_model(robot, path)
    q, qd, qdd = random_state(robot, seed=8)
    tau = pin.inverse(q, qd, qdd)
    # Solving with M loses as many digits as M is badly conditioned (light fingers on a heavy
    # arm), on both sides: compare where it can be compared, in torque
    found = arm.forward(q, qd, tau)
    assert relative_error(pin.inverse(q, qd, found), tau) < ROUND_OFF, robot.name
    condition = np.linalg.cond(pin.mass_matrix(q)) if robot.dof else 1.0
    allowed = max(ROUND_OFF, 1e-15 * condition)
    exact = pin_model(robot, with_exact_right_angles(path))
    assert relative_error(found, exact.forward(q, qd, tau)) < allowed, robot.name


@settings(max_examples=8)  # every example compiles five kernels
@given(robots(), seeds())
def test_random_trees_agree_with_pinocchio(robot, seed):
    arm, pin = Dynamics(robot, cache=False), pin_model(robot)
    q, qd, qdd = random_state(robot, seed)
    tau = pin.inverse(q, qd, qdd)
    assert relative_error(arm.inverse(q, qd, qdd), tau) < ROUND_OFF
    assert relative_error(arm.mass_matrix(q), pin.mass_matrix(q)) < ROUND_OFF
    assert relative_error(arm.bias(q, qd), pin.bias(q, qd)) < ROUND_OFF
    assert relative_error(arm.gravity(q), pin.gravity(q)) < ROUND_OFF
    assert relative_error(pin.inverse(q, qd, arm.forward(q, qd, tau)), tau) < ROUND_OFF


@pytest.mark.parametrize("name", ["ur5_robot", "panda"])
def test_agrees_with_mujoco(name):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    robot, _ = example(name)
    followers = [joint for joint in robot.moving_joints if joint.mimic is not None]
    robot = robot.with_locked({joint.mimic.joint: 0.02 for joint in followers})
    model = mujoco.MjModel.from_xml_string(urdf_of(robot))
    model.dof_damping[:] = 0.0  # friction is not part of the equations of motion
    model.dof_frictionloss[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # random states pass limits
    data = mujoco.MjData(model)
    assert [model.joint(i).name for i in range(model.njnt)] == list(robot.joint_names)
    arm = Dynamics(robot)
    for seed in range(10):
        q, qd, qdd = random_state(robot, seed)
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        assert relative_error(arm.inverse(q, qd, qdd), data.qfrc_inverse) < ROUND_OFF, (name, seed)


@given(robots(), seeds())
@settings(max_examples=5)
def test_forward_undoes_inverse_under_an_endpoint_wrench(robot, seed):
    arm = Dynamics(robot, cache=False)
    q, qd, qdd = random_state(robot, seed)
    wrench = np.random.default_rng(seed).normal(size=6)
    frame = robot.links[-1].name
    tau = arm.inverse(q, qd, qdd, wrench=wrench, frame=frame)
    found = arm.forward(q, qd, tau, wrench=wrench, frame=frame)
    assert relative_error(arm.inverse(q, qd, found), arm.inverse(q, qd, qdd)) < ROUND_OFF


def test_wrench_is_what_the_tip_exerts_in_its_own_axes():
    robot, path = example("ur5_robot")
    arm, pin = Dynamics(robot), pin_model(robot, path)
    q, qd, qdd = random_state(robot, seed=3)
    wrench = np.array([3.0, -2.0, 5.0, 0.3, 0.7, -0.4])
    R, _ = pin.frame_pose(q, "ee_link")
    in_root_axes = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    expected = pin.inverse(q, qd, qdd) + pin.frame_jacobian(q, "ee_link").T @ in_root_axes
    found = arm.inverse(q, qd, qdd, wrench=wrench, frame="ee_link")
    assert relative_error(found, expected) < ROUND_OFF


def test_many_states_are_answered_row_by_row():
    robot, _ = example("panda")
    arm = Dynamics(robot)
    q, qd, qdd = random_state(robot, seed=5, samples=37)
    rows = np.array([arm.inverse(*state) for state in zip(q, qd, qdd, strict=True)])
    # the vector and the scalar kernel differ in sine and cosine by at most 2 ulp
    assert relative_error(arm.inverse(q, qd, qdd), rows) < 1e-13
    assert arm.mass_matrix(q).shape == (37, 8, 8)


def test_every_formulation_compiles_to_the_same_torques():
    robot, path = example("ur5_robot")
    q, qd, qdd = random_state(robot, seed=5)
    expected = pin_model(robot, path).inverse(q, qd, qdd)
    for formulation in FORMULATIONS:
        found = Dynamics(robot, formulation).inverse(q, qd, qdd)
        assert relative_error(found, expected) < ROUND_OFF, formulation


# -- bad arguments --------------------------------------------------------------------------


def test_wrong_shape_names_the_argument():
    arm = Dynamics(example("ur5_robot")[0])
    zero = np.zeros(6)
    text = refusal(lambda: arm.inverse(zero, zero[:5], zero), ShapeError)
    assert text == "qd must have shape (6,) or (N, 6), got (5,)"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("samples", [None, 11])
def test_nan_and_infinity_name_the_argument_and_the_entry(value, samples):
    arm = Dynamics(example("ur5_robot")[0])
    shape = (6,) if samples is None else (samples, 6)
    good, bad = np.zeros(shape), np.zeros(shape)
    bad[..., 3] = value
    text = refusal(lambda: arm.inverse(good, good, bad), ArgumentError)
    assert text.startswith("qdd[") and "finite" in text, text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"payload": 1.0, "frame": "tool0"},
            "payload must be an Inertia, got 1.0; make one with Inertia.from_com",
        ),
        ({"gravity": [0.0, 0.0]}, "gravity must have shape (3,) or (N, 3), got (2,)"),
        ({"gravity": "down"}, "gravity must hold real numbers, got 'down'"),
        ({"gravity": [0.0, 0.0, np.nan]}, "gravity[2] is nan; every entry must be finite"),
        (
            {"wrench": np.zeros(5), "frame": "tool0"},
            "wrench must have shape (6,) or (N, 6), got (5,)",
        ),
    ],
)
def test_a_load_that_does_not_fit_is_named_as_it_was_given(given, message):
    arm = Dynamics(example("ur5_robot")[0])
    zero = np.zeros(6)
    for method in (arm.inverse, arm.forward):
        assert refusal(lambda method=method: method(zero, zero, zero, **given), ArgumentError) == (
            message
        )


def test_a_variant_and_a_kernel_that_are_none_are_named():
    arm = Dynamics(example("ur5_robot")[0], cache=False)
    assert refusal(lambda: arm.kernel("inverse", "tool0"), ArgumentError) == (
        "variant must be a Variant, got 'tool0'; make one with variant.Variant"
    )
    text = refusal(lambda: arm.kernel(3), UnknownNameError)
    assert text.startswith("no kernel '3' in robot_dynamics.dynamics.kernels (kernels: inverse, ")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda arm, q: arm.inverse(q, q, q, threads="two"), "threads must be a whole number fro"),
        (lambda arm, q: arm.inverse(q, q, q, threads=0), "threads must be a whole number from 1"),
        (lambda arm, q: arm.pose(q, ["tool0"]), "a frame is given by its name, got ['tool0']"),
        (lambda arm, q: arm.pose(q, 3), "a frame is given by its name, got 3"),
        # Hashing one raises ValueError, not TypeError
        (
            lambda arm, q: arm.pose(q, memoryview(bytearray(2))),
            "a frame is given by its name, got ",
        ),
        (
            lambda arm, q: arm.inverse(q, q, q, wrench=q, frame=memoryview(bytearray(2))),
            "a frame is given by its name, got ",
        ),
        (lambda arm, q: arm.source(["c"]), "no language '['c']' in robot_dynamics.compiler (lang"),
        (lambda arm, q: Dynamics(arm.robot, 3), "no formulation '3' in robot_dynamics.formulatio"),
        (lambda arm, q: Dynamics(arm.robot, ["kane"]), "no formulation '['kane']' in robot_dynam"),
    ],
)
@pytest.mark.parametrize("backend", [None, compile_python])
def test_arguments_of_another_kind_are_named(call, message, backend):
    arm = Dynamics(example("ur5_robot")[0], backend=backend)
    text = refusal(lambda: call(arm, np.zeros((3, 6))), RobotDynamicsError)
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("name", "tips"),
    [
        ("panda", "3 tips (panda_hand_tcp, panda_leftfinger, panda_rightfinger)"),
        ("ur5_robot", "2 tips (ee_link, tool0)"),
    ],
)
def test_where_a_robot_has_several_tips_the_frame_is_asked_for(name, tips):
    robot, _ = example(name)
    arm, zero = Dynamics(robot), np.zeros(robot.dof)
    load = Inertia.from_com(1.0, np.zeros(3), np.zeros((3, 3)))
    for call in (
        lambda: arm.inverse(zero, zero, zero, wrench=np.zeros(6)),
        lambda: arm.forward(zero, zero, zero, payload=load),
        lambda: arm.pose(zero),
        lambda: arm.jacobian(zero),
        lambda: arm.kernel("pose"),
        lambda: inverse_dynamics(robot, zero, zero, zero, wrench=np.zeros(6)),
    ):
        expected = f"frame: robot '{robot.name}' has {tips}; say which frame is meant"
        assert refusal(call, ArgumentError) == expected


def test_a_frame_fixed_to_the_last_link_is_the_tip():
    robot = read_urdf(find_robot("planar_2r"))
    arm, q = Dynamics(robot), np.array([0.3, -0.5])
    reach = np.cumsum(q)  # links of 1 m, in the x-z plane
    found = arm.pose(q).position
    assert found == pytest.approx([np.cos(reach).sum(), 0.0, np.sin(reach).sum()], abs=1e-14)
    assert Dynamics(merge_fixed(robot)).pose(q).position == pytest.approx(found, abs=0)


def test_unknown_formulation_lists_what_there_is():
    robot, _ = example("ur5_robot")
    text = refusal(lambda: Dynamics(robot, "newton_eular"), UnknownNameError)
    assert text.startswith("no formulation 'newton_eular' in robot_dynamics.formulations")
    assert text.endswith("did you mean 'newton_euler'?")


def test_forward_dynamics_of_a_joint_without_inertia_names_it():
    robot, _ = example("ur5_robot")
    bare = replace(
        robot,
        links=tuple(
            replace(link, inertia=Inertia.zero())
            if link.name in {"wrist_3_link", "tool0", "ee_link"}
            else link
            for link in robot.links
        ),
    )
    zero = np.zeros(6)
    text = refusal(lambda: Dynamics(bare).forward(zero, zero, zero), SingularMassMatrixError)
    assert "joint 'wrist_3_joint' moves no inertia" in text


def test_a_robot_without_inertias_has_kinematics_and_says_what_dynamics_lacks():
    robot = find_robot("ur5")
    bare = read_urdf(robot)
    bare = replace(bare, links=tuple(replace(x, inertia=Inertia.zero()) for x in bare.links))
    arm, q = Dynamics(bare), np.zeros(6)
    pose = arm.pose(q, "tool0")
    assert np.array_equal(pose.position, Dynamics(read_urdf(robot)).pose(q, "tool0").position)
    text = refusal(lambda: arm.inverse(q, q, q), RobotError)
    assert text == (
        "robot 'ur5': joint 'shoulder_pan_joint', as every other, moves no mass, so that there are "
        "no efforts; give its links an <inertial> (pose, jacobian and InverseKinematics need none)"
    )


# -- what may change while a robot works ----------------------------------------------------


@given(robots(), seeds())
@settings(max_examples=5)
def test_a_payload_given_at_run_time_is_a_payload_of_the_robot(robot, seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd = random_state(robot, seed)
    frame = robot.links[-1].name
    com, inertia = rng.uniform(-0.3, 0.3, 3), np.diag([0.02, 0.03, 0.04])
    loaded = Dynamics(robot.with_payload(frame, mass=2.5, com=com, inertia=inertia), cache=False)
    arm, payload = Dynamics(robot, cache=False), Inertia.from_com(2.5, com, inertia)
    found = arm.inverse(q, qd, qdd, payload=payload, frame=frame)
    assert relative_error(found, loaded.inverse(q, qd, qdd)) < ROUND_OFF
    tau = rng.normal(size=robot.dof)
    found = arm.forward(q, qd, tau, payload=payload, frame=frame)
    assert relative_error(loaded.inverse(q, qd, found), tau) < ROUND_OFF


@given(robots(), seeds())
@settings(max_examples=5)
def test_gravity_given_at_run_time_is_gravity_of_the_robot(robot, seed):
    q, qd, qdd = random_state(robot, seed)
    gravity = np.random.default_rng(seed).normal(size=3) * 9.81
    tilted = Dynamics(robot.with_gravity(gravity), cache=False)
    found = Dynamics(robot, cache=False).inverse(q, qd, qdd, gravity=gravity)
    assert relative_error(found, tilted.inverse(q, qd, qdd)) < ROUND_OFF


def test_a_simplified_model_compiles_like_any_formulation():
    robot, _ = example("ur5_robot")
    model = simplified_model(robot, others=("D_tran", "D_rot", "G"))
    q, qd, qdd = random_state(robot, seed=2)
    arm = Dynamics(robot, model)
    full = Dynamics(robot, "dalembert").operation_count()
    assert arm.operation_count().multiplications < full.multiplications
    expected = Dynamics(robot).mass_matrix(q) @ qdd + Dynamics(robot).gravity(q)
    assert relative_error(arm.inverse(q, qd, qdd), expected) < ROUND_OFF


@given(robots(), seeds())
@settings(max_examples=5)
def test_power_of_the_efforts_is_the_growth_of_energy(robot, seed):
    arm = Dynamics(robot, cache=False)
    q, qd, qdd = random_state(robot, seed)

    def total(t):  # energy on the motion with that state at t = 0
        return sum(arm.energy(q + qd * t + qdd * t * t / 2, qd + qdd * t))

    h = 1e-5  # central difference: error h^2 times a third derivative, and round-off / h
    growth = (total(h) - total(-h)) / (2 * h)
    power = arm.inverse(q, qd, qdd) @ qd
    assert abs(power - growth) < 1e-5 * (1.0 + abs(power) + abs(total(0.0)))


# -- parameters and kinematics --------------------------------------------------------------


@given(robots(), seeds())
@settings(max_examples=5)
def test_regressor_times_base_parameters_is_the_effort(robot, seed):
    arm = Dynamics(robot, cache=False)
    q, qd, qdd = random_state(robot, seed, samples=3)
    values = np.array([parameter.value for parameter in arm.base_parameters])
    assert relative_error(arm.regressor(q, qd, qdd) @ values, arm.inverse(q, qd, qdd)) < ROUND_OFF


@given(robots(), seeds())
@settings(max_examples=5)
def test_pose_and_jacobian_agree_with_pinocchio(robot, seed):
    arm, pin = Dynamics(robot, cache=False), pin_model(robot)
    q, _, _ = random_state(robot, seed)
    frame = robot.links[-1].name
    R, p = pin.frame_pose(q, frame)
    rotation, position = arm.pose(q, frame)
    assert np.allclose(rotation, R, rtol=0, atol=1e-13)  # entries of order one, round-off
    assert np.allclose(position, p, rtol=0, atol=1e-12)
    assert relative_error(arm.jacobian(q, frame), pin.frame_jacobian(q, frame)) < ROUND_OFF


@given(robots(), seeds())
@settings(max_examples=5)
def test_derivatives_agree_with_differences(robot, seed):
    arm = Dynamics(robot, cache=False)
    q, qd, qdd = random_state(robot, seed)
    dtau_dq, dtau_dqd, M = arm.inverse_derivatives(q, qd, qdd)
    h, steps = 1e-6, np.eye(robot.dof)
    for j, e in enumerate(steps):
        by_q = (arm.inverse(q + h * e, qd, qdd) - arm.inverse(q - h * e, qd, qdd)) / (2 * h)
        by_qd = (arm.inverse(q, qd + h * e, qdd) - arm.inverse(q, qd - h * e, qdd)) / (2 * h)
        # error of a central difference: h^2 times third derivatives, and round-off / h
        size = 1e-7 * (1.0 + np.max(np.abs(arm.inverse(q, qd, qdd))))
        assert np.allclose(dtau_dq[:, j], by_q, rtol=1e-6, atol=size)
        assert np.allclose(dtau_dqd[:, j], by_qd, rtol=1e-6, atol=size)
    assert relative_error(M, arm.mass_matrix(q)) < ROUND_OFF
