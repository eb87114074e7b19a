"""Every kernel of every formulation on every robot: compiled, plain, and by Pinocchio.

The robots are the URDFs of example-robot-data that differ in their mechanics, mimic joints
included, and random trees. `make test` takes every formulation to one robot of each arrangement of
up to six joints, and the default one to some longer robots; `make test-thorough` takes the default
one to all others, and every formulation to one robot of each arrangement but the longest. Every
kernel is compared with its plain equations evaluated on numbers, and with Pinocchio (the regressor
by the efforts that it gives); derivatives with the complex step as well. What is compared with them
depends on size:

- a graph of up to `agreement.LARGEST_NATIVE` nodes runs as native code, after all graph passes;
- a larger one is evaluated node by node as it was traced, without passes and LLVM. The default
  formulation runs natively on every robot, whatever its size, in test_dynamics.py.

Kernels that solve for accelerations are judged by what they leave of the equation they solve,
and compared with the plain ones to as many digits as the mass matrix allows.
"""

import gc

import numpy as np
import pytest
from hypothesis import given, settings

from agreement import arrays, assert_kernels_agree, assert_same, native_kernels, variant_of
from choices import first
from oracles import (
    SINGULAR_EXAMPLES,
    all_but_longest,
    arranged_examples,
    characteristic_examples,
    distinct_examples,
    example_robot,
    examples,
    has_few_joints,
    relative_error,
)
from python_kernel import compile_python
from robot_dynamics import Dynamics
from robot_dynamics.dynamics.kernels import KERNELS, OF_FRAMES, equations_of
from robot_dynamics.formulations import DEFAULT_FORMULATION, FORMULATIONS
from robot_dynamics.robot import find_robot, merge_fixed
from strategies import random_state, robots, seeds

OF_A_FORMULATION = ("inverse", "bias", "gravity", "mass_matrix", "forward")
"""Kernels that consist of the equations of a formulation."""

OF_THE_CENTRE = ("centre_of_mass", "centroidal_matrix", "centroidal_momentum")
KINEMATIC = ("regressor", *OF_THE_CENTRE, *OF_FRAMES)
"""Kernels that are the same in every formulation."""

ELSEWHERE = ("inverse_second_derivatives", "forward_second_derivatives", "inverse_rates")
"""Kernels that tests in test/algorithms/ compare."""

OF_THE_TREE = tuple(n for n in KERNELS if n not in OF_A_FORMULATION + KINEMATIC + ELSEWHERE)
"""Kernels that are the same in every formulation but the default, which regroups the robot."""


@pytest.fixture(autouse=True)
def _without_collector():
    """Graphs are many small objects: looking for cycles among them would double the time."""
    gc.disable()
    yield
    gc.enable()


def kernels_of(robot, formulation, *, solves=True):
    """Kernels to compare in a formulation; where several have the same one, the first has it."""
    names = list(OF_A_FORMULATION)
    if formulation in ("newton_euler", DEFAULT_FORMULATION):
        names += OF_THE_TREE
    if formulation == DEFAULT_FORMULATION:
        names += KINEMATIC
    if len(robot.moving_joints) != robot.dof:  # articulated bodies know no followers
        names = [name for name in names if name != "forward_articulated"]
    return [name for name in names if solves or not name.startswith("forward")]


def every_kernel():
    """Examples and formulations; the default one takes each robot as it is, so it sees more."""
    few = [path for path in characteristic_examples() if has_few_joints(path, most=9)]
    few = [path for path in few if example_robot(path).dof in (2, 3, 5, 8)]  # 8: legs; a gripper
    two = [path for path in few if example_robot(path).dof in (2, 5)]
    shorter = list(filter(has_few_joints, arranged_examples()))
    for formulation in FORMULATIONS:
        default = formulation == DEFAULT_FORMULATION
        for example in (
            examples(few, all_but_longest(distinct_examples()))
            if default
            else examples(two, shorter)
        ):
            (path,) = example.values
            name = f"{example.id}-{formulation}"
            yield pytest.param(path, formulation, id=name, marks=example.marks)


@pytest.mark.parametrize(("path", "formulation"), list(every_kernel()))
def test_every_kernel_of_every_example_agrees(path, formulation):
    robot = example_robot(path)
    names = kernels_of(robot, formulation, solves=path.name not in SINGULAR_EXAMPLES)
    assert_kernels_agree(robot, formulation, 21, names, source=path)


@pytest.mark.parametrize("formulation", first([DEFAULT_FORMULATION, "kane"], FORMULATIONS))
@settings(max_examples=3)
@given(robots(max_joints=4), seeds())
def test_every_kernel_of_random_trees_agrees(formulation, robot, seed):
    assert_kernels_agree(robot, formulation, seed, kernels_of(robot, formulation))


@settings(max_examples=2)
@given(robots(max_joints=4))
def test_formulations_share_the_kernels_that_are_compared_once(robot):
    tree = merge_fixed(robot)
    variant = variant_of("pose", robot)
    for name in kernels_of(robot, DEFAULT_FORMULATION):
        if name not in OF_A_FORMULATION:
            programs = [equations_of(name, tree, f, variant).trace(name) for f in FORMULATIONS]
            assert len({program.digest for program in programs}) == 1, name


SHORT = [path for path in characteristic_examples() if example_robot(path).dof <= 6]
SHAPES = [path for path in SHORT if example_robot(path).dof == 2]  # of other lengths, thorough


@pytest.mark.thorough
@pytest.mark.parametrize("path", examples(SHAPES, SHORT))
def test_every_kernel_in_single_precision_is_good_to_five_digits(path):
    """A batch, whose arithmetic is that of its type; the worst of all sizes of graphs is 3e-6."""
    robot = example_robot(path)
    arm = Dynamics(robot, cache=False)
    single = [x.astype(np.float32) for x in random_state(robot, seed=23, samples=33)]
    double = [x.astype(float) for x in single]
    last = [x[-1] for x in double]
    names = kernels_of(robot, DEFAULT_FORMULATION, solves=path.name not in SINGULAR_EXAMPLES)
    if robot.dof > 8:  # of which these are too long, and take long to trace
        names = [n for n in names if not n.endswith("derivatives") and n != "regressor"]
    for name in names:
        for kernel, inputs in native_kernels(arm, name, largest=500):
            found = arrays(kernel(*single[:inputs]))
            assert all(part.dtype == np.float32 for part in found)
            row = [part[-1] for part in found]
            assert_same(row, arrays(kernel(*last[:inputs])), (robot.name, name), 1e-5)
    efforts = arm.inverse(*single)  # of the longest robots too
    assert efforts.dtype == np.float32
    assert relative_error(efforts, arm.inverse(*double)) < 1e-5


def test_another_back_end_serves_all_calls():
    robot = example_robot(find_robot("ur5"))
    q, qd, third = random_state(robot, seed=24)
    python, native = Dynamics(robot, backend=compile_python), Dynamics(robot)
    for method, state in [("inverse", (q, qd, third)), ("mass_matrix", (q,)), ("bias", (q, qd))]:
        ours, theirs = getattr(python, method)(*state), getattr(native, method)(*state)
        assert relative_error(ours, theirs) < 1e-13, method
    assert python.inverse([q, q], [qd, qd], [third, third]).shape == (2, robot.dof)
