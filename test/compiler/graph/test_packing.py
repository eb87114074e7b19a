"""Packs: isomorphic operations of equal limbs, each after its operands."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from programs import inverse_program
from robot_dynamics import read_urdf
from robot_dynamics.algorithms.composite_body import factorise, solve
from robot_dynamics.compiler.graph.operations import ADD, MULTIPLY, NEGATE, SUBTRACT
from robot_dynamics.compiler.graph.packing import Pack, find_packs
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.transforms import merge_fixed
from strategies import limbed_robots


def polynomials(x):
    """Two of one degree: the second subtracts where the first adds."""
    first, second = x
    for c in (0.3, 0.7, 1.1, 1.3):
        first, second = first * x[0] + c, 0.9 * c - second * x[1]
    return np.array([first, second])


def test_isomorphic_operations_share_a_pack_whatever_their_signs_and_constants():
    program = trace("f", polynomials, {"x": (2,)})
    packing = find_packs(program, 8)
    operations = {tuple(node.op for node in pack.nodes) for pack in packing.packs}
    assert {(ADD, SUBTRACT), (MULTIPLY, MULTIPLY)} <= operations
    assert len(packing.place) == sum(x.op in (ADD, SUBTRACT, MULTIPLY) for x in program.nodes)


@settings(max_examples=12)
@given(limbed_robots())
def test_every_node_comes_once_and_after_what_it_needs(robot):
    program = inverse_program(merge_fixed(robot))
    packing = find_packs(program, 4)
    assert packing.packs, "limbs of the same joints have nothing in common"
    steps = [
        packing.with_negations(x) if isinstance(x, Pack) else [x]
        for x in packing.in_order(program.nodes, set())
    ]
    step_of = {node.index: k for k, step in enumerate(steps) for node in step}
    assert sorted(x.index for x in itertools.chain(*steps)) == [x.index for x in program.nodes]
    for node in program.nodes:
        inside = node.op == NEGATE and node.args[0].index in packing.place
        for operand in node.args:
            assert step_of[operand.index] < step_of[node.index] + inside


@settings(max_examples=12)
@given(limbed_robots())
def test_simd_lanes_of_a_pack_have_the_same_kind_of_operation(robot):
    packing = find_packs(inverse_program(merge_fixed(robot)), 4)
    for pack in packing.packs:
        assert 2 <= len(pack.nodes) <= 4
        assert len({x.op == MULTIPLY for x in pack.nodes}) == 1
        for lane, node in enumerate(pack.nodes):
            operands = {pack.left.nodes[lane].index, pack.right.nodes[lane].index}
            assert operands == {x.index for x in node.args}
            if not pack.multiplies:
                differ = pack.left.negative[lane] != pack.right.negative[lane]
                assert differ == (node.op == SUBTRACT)


@pytest.mark.parametrize("name", ["ur5", "planar_2r", "tiago_no_hand"])
def test_robots_without_equal_limbs_are_not_packed(name):
    program = inverse_program(merge_fixed(read_urdf(find_robot(name))))
    assert not find_packs(program, 8).packs


CHAIN = (-1, 0, 1, 2)


def solutions(M, B):
    """Solutions of M X = B, column by column."""
    L, inverse_D = factorise(M, CHAIN)
    return {"X": np.array([solve(L, inverse_D, CHAIN, column) for column in B.T]).T}


@pytest.mark.parametrize(("columns", "width"), [(7, 8), (7, 4), (2, 2)])
def test_columns_of_a_solution_share_packs(columns, width):
    program = trace("f", solutions, {"M": (4, 4), "B": (4, columns)})
    packing = find_packs(program, width)
    assert {len(pack.nodes) for pack in packing.packs} <= set(range(2, width + 1))
    assert all(x.index in packing.place for x in program.outputs["X"].entries)
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(4, 4)), rng.normal(size=(4, columns))
    M = A @ A.T + np.eye(4)
    X = compile_native(program, use_cache=False)(M, B)
    np.testing.assert_allclose(X, np.linalg.solve(M, B), rtol=0.0, atol=1e-13)  # round-off


def test_columns_that_need_each_other_share_no_packs():
    def equations(M, B):
        (X,) = solutions(M, B[:, 1:]).values()
        L, inverse_D = factorise(M, CHAIN)
        first = solve(L, inverse_D, CHAIN, B[:, 0] + X[0, -1])
        return {"X": np.column_stack([first, X])}

    program = trace("f", equations, {"M": (4, 4), "B": (4, 7)})
    assert all(len(pack.nodes) < 7 for pack in find_packs(program, 8).packs)
    M, B = np.diag([1.0, 2.0, 4.0, 8.0]), np.arange(28.0).reshape(4, 7)
    X = compile_native(program, use_cache=False)(M, B)
    np.testing.assert_allclose(X, equations(M, B)["X"], rtol=0.0, atol=1e-12)  # round-off
