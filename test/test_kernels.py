"""Every kernel of every formulation: native code against plain evaluation, float32, back ends."""

import numpy as np
import pytest
from hypothesis import given, settings

from oracles import example_id, example_robot, invertible_examples, relative_error
from robot_dynamics import Dynamics
from robot_dynamics.formulations import FORMULATIONS
from robot_dynamics.kernels import KERNELS, Variant, equations_of
from robot_dynamics.robot.transforms import merge_fixed
from strategies import random_state, robots, seeds

# Lagrange's equations of a humanoid are 100 000 operations, minutes of compilation for a test: one
# arm of each kind compiles in every formulation, all others in the default (test_dynamics.py)
KINDS = {"ur5_robot", "panda", "kinova", "xarm7", "z1", "so101", "talos_left_arm", "TwoDofs",
         "double_pendulum_continuous", "finger_edu", "ur3_gripper"}  # fmt: skip
ARMS = [path for path in invertible_examples() if path.stem in KINDS]
ROUND_OFF = 1e-9  # float64 on both sides, and M as badly conditioned as light fingers make it


def kernels_of(robot):
    """Kernels that every robot has; articulated bodies need joints without followers."""
    free = len(robot.moving_joints) == robot.dof
    return [name for name in KERNELS if free or name != "forward_articulated"]


def results(answer):
    """A kernel's answer as arrays, whether it has one output or several."""
    if isinstance(answer, dict):
        return list(answer.values())
    return list(answer) if isinstance(answer, tuple) else [answer]


def assert_kernels_compute_their_equations(robot, formulation, seed, names):
    arm, tree = Dynamics(robot, formulation, cache=False), merge_fixed(robot)
    q, qd, third = random_state(robot, seed)
    condition = np.linalg.cond(arm.mass_matrix(q))
    for name in names:
        framed = name in ("pose", "jacobian")
        variant = Variant(frame=robot.links[-1].name) if framed else Variant()
        equations = equations_of(name, tree, formulation, variant)
        state = (q, qd, third)[: len(equations.inputs)]
        solves = name.startswith("forward")
        allowed = ROUND_OFF + (1e-14 * condition if solves else 0.0)
        found = results(arm.kernel(name, variant)(*state))
        expected = results(equations.function(*state))
        # Relative to all that the kernel answers: an output may be zero but for round-off
        size = max(np.max(np.abs(plain), initial=1e-300) for plain in expected)
        for ours, plain in zip(found, expected, strict=True):
            worst = np.max(np.abs(ours - plain), initial=0.0) / size
            assert worst < allowed, (robot.name, formulation, name, worst)


@pytest.mark.parametrize("path", ARMS, ids=example_id)
def test_every_kernel_of_every_arm_computes_its_equations(path):
    robot = example_robot(path)
    # The torque regressor of the plain tree and of the arm list the same parameters
    assert_kernels_compute_their_equations(robot, "augmented_body", 21, kernels_of(robot))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("path", ARMS, ids=example_id)
def test_every_formulation_of_every_arm_compiles_to_its_equations(path, formulation):
    robot = example_robot(path)
    assert_kernels_compute_their_equations(robot, formulation, 22, ["inverse", "bias", "gravity"])


@settings(max_examples=6)
@given(robots(max_joints=4), seeds())
def test_every_kernel_of_random_trees_computes_its_equations(robot, seed):
    for formulation in FORMULATIONS:
        names = ["inverse", "mass_matrix", "forward"]
        if formulation == "augmented_body":
            names = [name for name in kernels_of(robot) if name != "forward_articulated"]
        assert_kernels_compute_their_equations(robot, formulation, seed, names)


@pytest.mark.parametrize("path", ARMS, ids=example_id)
def test_single_precision_is_good_to_five_digits(path):
    robot = example_robot(path)
    arm = Dynamics(robot, cache=False)
    state = random_state(robot, seed=23, samples=33)
    single = arm.inverse(*(np.asarray(a, dtype=np.float32) for a in state))
    assert single.dtype == np.float32
    double = arm.inverse(*state)
    for ours, theirs in zip(single, double, strict=True):
        assert relative_error(ours, theirs) < 1e-5, robot.name


def test_without_native_code_everything_still_works():
    robot = example_robot(ARMS[0])
    q, qd, third = random_state(robot, seed=24)
    python, native = Dynamics(robot, backend="python"), Dynamics(robot)
    for method, state in [("inverse", (q, qd, third)), ("mass_matrix", (q,)), ("bias", (q, qd))]:
        ours, theirs = getattr(python, method)(*state), getattr(native, method)(*state)
        assert relative_error(ours, theirs) < 1e-13, method
    assert python.inverse([q, q], [qd, qd], [third, third]).shape == (2, robot.dof)
