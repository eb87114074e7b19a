"""Traced functions as programs."""

import gc
import weakref

import numpy as np
import pytest

from programs import chain, everything_program, inverse_of
from robot_dynamics.compiler.graph.trace import (
    Program,
    operation_count,
    rebuilt,
    rewrite,
    trace,
    use_counts,
)
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.errors import ArgumentError, TraceError


def test_a_single_array_is_called_result():
    program = trace("twice", lambda x: 2.0 * x, {"x": (3,)})
    assert list(program.outputs) == ["result"]
    assert program.outputs["result"].shape == (3,)


def test_outputs_keep_names_order_and_shapes():
    program = everything_program()
    assert {n: o.shape for n, o in program.outputs.items()} == {
        "vector": (5,),
        "matrix": (3, 2),
        "number": (),
    }
    assert dict(program.inputs) == {"x": (3,), "A": (2, 2), "s": ()}


def test_nodes_stand_after_their_operands_and_before_their_users():
    program = everything_program()
    seen = set()
    for node in program.nodes:
        assert all(operand.index in seen for operand in node.args)
        seen.add(node.index)


def test_operations_that_no_output_needs_are_left_out():
    def function(x):
        _ = np.sin(x[0]) * 3.0
        return x[1:]

    program = trace("tail", function, {"x": (2,)})
    assert [node.op for node in program.nodes] == ["input"]


def test_outputs_may_be_numbers_and_inputs():
    program = trace("plain", lambda x: np.array([x[0], 2.0, -3.0]), {"x": (1,)})
    assert [repr(entry) for entry in program.outputs["result"].entries] == ["x[0]", "2.0", "-3.0"]


def test_every_use_is_counted():
    program = trace("uses", lambda x: np.array([x[0] * x[0], x[0] + 1.0]), {"x": (1,)})
    uses = {repr(node): count for node, count in _uses(program)}
    assert uses == {"x[0]": 3, "1.0": 1, "multiply(x[0], x[0])": 1, "add(1.0, x[0])": 1}


def _uses(program):
    counts = use_counts(program)
    return [(node, counts[node.index]) for node in program.nodes]


def test_the_digest_tells_equations_apart_and_nothing_else():
    robot, other = chain(3), chain(3, seed=1)
    inputs = {"q": (3,), "qd": (3,), "qdd": (3,)}
    digests = [trace("f", inverse_of(r), inputs).digest for r in (robot, robot, other)]
    assert digests[0] == digests[1] != digests[2]


def test_rewriting_without_a_change_gives_the_same_equations():
    program = everything_program()
    assert rewrite(program, rebuilt).digest == program.digest


def test_nodes_are_freed_with_their_program():
    program = everything_program()
    node = weakref.ref(program.nodes[-1])
    gc.disable()
    try:
        del program
        assert node() is None  # at once: no reference cycle keeps a trace alive
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "two words",
            "'two words' is not a name; use an ASCII identifier that is no keyword and has no "
            "leading underscore",
        ),
        ("class", "'class' is not a name"),
        ("ä", "'ä' is not a name"),
        ("_x", "'_x' is not a name"),
        ("sin", "the name 'sin' is used by generated code; choose another"),
        ("t12", "the name 't12' is used by generated code"),
    ],
)
def test_names_that_generated_code_cannot_use_are_refused(name, message):
    with pytest.raises(ArgumentError, match=message):
        trace("f", lambda **x: x[name], {name: (1,)})


def test_one_name_for_an_input_and_an_output_is_refused():
    with pytest.raises(ArgumentError, match="'q' names both an input and an output; rename one"):
        trace("f", lambda q: {"q": q}, {"q": (1,)})


def test_results_that_are_not_numbers_are_refused():
    with pytest.raises(TraceError, match="output 'result' holds 'text'"):
        trace("f", lambda q: np.array([q[0], "text"], dtype=object), {"q": (1,)})


def test_a_program_cannot_be_changed():
    program = everything_program()
    with pytest.raises(TypeError):
        program.inputs["more"] = (1,)
    with pytest.raises(AttributeError):
        Program.__setattr__(program, "name", "other")


# -- operation counts, against equations counted by hand ---------------------------------------


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
