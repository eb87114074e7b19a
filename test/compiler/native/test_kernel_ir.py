"""Equal limbs in the lanes of vectors: right to round-off on any robot and any machine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import pin_model
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.graph import packing
from robot_dynamics.compiler.native import native_kernel as native
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot import find_robot
from strategies import limbed_robots, random_state, robots, seeds

pytest.importorskip("llvmlite")

# Only the sums that LLVM fuses differ: worst of 300 random trees 3e-16; one wrong sign gives 1e-2
ROUND_OFF = 1e-13

ALWAYS, NEVER = -1e9, 1e9
"""What a pass has to save at least, of the sums and products."""


def results(robot, state, least_saved, names=("inverse_derivatives", "forward")):
    """Every array that some kernels give."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_LEAST_SAVED", least_saved)
        arm = Dynamics(robot, cache=False)
        kernels = [arm.kernel(name) for name in names]
        answers = [kernel(*state[: len(kernel.inputs)]) for kernel in kernels]
    return [x for answer in answers for x in (answer if isinstance(answer, tuple) else [answer])]


def assert_same(found, expected, allowed=ROUND_OFF):
    for one, other in zip(found, expected, strict=True):
        atol = allowed * np.abs(other).max(initial=1.0)
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


@settings(max_examples=6)
@given(st.one_of(limbed_robots(), robots(max_joints=5)), seeds())
def test_packed_and_scalar_kernels_agree(robot, seed):
    state = random_state(robot, seed)
    assert_same(results(robot, state, ALWAYS), results(robot, state, NEVER))


@pytest.mark.thorough
@settings(max_examples=12)
@given(st.one_of(limbed_robots(), robots(max_joints=7)), seeds())
def test_packed_and_scalar_kernels_agree_on_larger_trees(robot, seed):
    state = random_state(robot, seed)
    names = "inverse", "inverse_derivatives", "forward_derivatives", "mass_matrix", "regressor"
    assert_same(results(robot, state, ALWAYS, names), results(robot, state, NEVER, names))


@pytest.fixture(scope="module")
def quadruped():
    return read_urdf(find_robot("solo12"))


def test_derivatives_of_a_quadruped_agree_with_pinocchio(quadruped):
    state = random_state(quadruped, seed=1)
    found = Dynamics(quadruped, cache=False).inverse_derivatives(*state)
    expected = pin_model(quadruped).inverse_derivatives(*state)
    # Pinocchio sums in another order: worst seen 2e-14
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(other).max())


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_limbs_are_packed_for_every_kind_of_machine(quadruped, bits, dtype):
    """LLVM splits vectors that the machine does not have, so all widths can be tested anywhere."""
    scalar, tolerance = ("double", ROUND_OFF) if dtype == np.float64 else ("float", 1e-5)
    arm = Dynamics(quadruped, cache=False)
    kernel = arm.kernel("inverse")
    kernel._builder._host = native.dataclasses.replace(native.llvm.host(), vector_bits=bits)
    code = kernel._builder.single(scalar)[1]
    state = [np.ascontiguousarray(x, dtype) for x in random_state(quadruped, seed=2)]
    tau = np.full(quadruped.dof, np.nan, dtype)
    run = native._function(code, "single", native.ctypes.c_int32, 4)
    assert run(*(x.ctypes.data for x in (*state, tau))) == 0
    assert_same([tau], [inverse_dynamics(quadruped, *map(np.float64, state))], tolerance)
