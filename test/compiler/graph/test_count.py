"""Operation counts, against equations counted by hand."""

import numpy as np

from programs import everything_program
from robot_dynamics.compiler.graph.count import OperationCount, operation_count
from robot_dynamics.compiler.graph.trace import trace


def test_changes_of_sign_are_free_and_subtractions_are_additions():
    program = trace("f", lambda x: np.array([-x[0], x[0] - x[1], -x[0] - x[1]]), {"x": (2,)})
    assert operation_count(program) == OperationCount(additions=2)


def test_sine_and_cosine_of_one_angle_count_as_two():
    program = trace("f", lambda x: np.array([np.sin(x[0]) + np.cos(x[0])]), {"x": (1,)})
    assert operation_count(program) == OperationCount(additions=1, sines_cosines=2)


def test_a_quotient_is_a_division_and_a_multiplication():
    program = trace("f", lambda x: np.array([x[0] / x[1]]), {"x": (2,)})
    assert operation_count(program) == OperationCount(multiplications=1, divisions=1)


def test_a_planar_arm_has_the_operations_of_its_written_out_equations():
    # One link: tau = I qdd + m g c cos q; the products of constants are done beforehand
    program = trace(
        "f", lambda q, qdd: 0.3 * qdd + 2.0 * 9.81 * 0.1 * np.cos(q), {"q": (1,), "qdd": (1,)}
    )
    assert operation_count(program) == OperationCount(2, 1, 1)


def test_every_kind_of_operation_is_counted_somewhere():
    program = everything_program()
    free = sum(node.op in ("input", "constant", "negate") for node in program.nodes)
    c = operation_count(program)
    assert c.arithmetic + c.sines_cosines + c.divisions + c.others + free == len(program.nodes)
    assert c.others == 8  # sqrt, exp, tanh, abs, floor, two of arctan2, a selection


def test_counts_read_as_a_sentence():
    assert str(OperationCount(2, 1, 4)) == "2 multiplications, 1 additions, 4 sines and cosines"
    assert str(OperationCount(1, 0, 0, 3, 1)) == (
        "1 multiplications, 0 additions, 0 sines and cosines, 3 divisions, 1 other functions"
    )
