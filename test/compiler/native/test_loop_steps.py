"""Each step of a native loop does what its description says, in every SIMD lane."""

import numpy as np
import pytest

from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.native.loop.loop_steps import (
    LookUp,
    Recall,
    Record,
    Remember,
    Repeat,
    RunProgram,
    When,
)
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.errors import ShapeError

LANES = 5  # fills no block, so that some lanes are unused
STEPS = 6


def adds(array, amount):
    """A step that adds a number to an array."""
    equations = trace("add", lambda **x: {"sum": x[array] + amount}, {array: (1,)})
    return RunProgram(equations, {"sum": array})


def recorded(sizes, steps, given, **options):
    """Records of a loop that starts with the given arrays, shape (STEPS, LANES, size) each."""
    loop = NativeLoop(sizes, steps)
    memory = loop.memory(LANES)
    for name, values in given.items():
        loop.set(memory, name, values)
    found = loop.run(memory, STEPS, record=True, **options)
    return {name: values[:, :LANES] for name, values in found.items()}


def test_a_ring_returns_the_past_and_before_it_the_first_step():
    delays = np.array([[0.0], [1.0], [2.0], [3.0], [2.0]])
    steps = (
        adds("k", 1.0),
        Remember("past", ("k", "delay")),
        Recall("past", "delay", ("late",)),
        Record(("late",)),
    )
    sizes = {"k": 1, "delay": 1, "late": 1}
    late = recorded(sizes, steps, {"delay": delays}, depth=4)["late"][..., 0]
    count = np.arange(1.0, STEPS + 1.0)[:, None]
    np.testing.assert_array_equal(late, np.maximum(count - delays.T, 1.0))


def test_conditional_steps_run_while_an_array_is_positive():
    steps = (
        adds("k", 1.0),
        When("flag", (adds("runs", 1.0),)),
        Repeat(4, "left", (adds("left", -1.0), adds("rounds", 1.0))),
        Record(("runs", "rounds")),
    )
    sizes = dict.fromkeys(("k", "flag", "runs", "left", "rounds"), 1)
    for flag, left in ((1.0, 6.0), (0.0, 0.0), (-1.0, 5.0)):
        found = recorded(sizes, steps, {"flag": flag, "left": left})
        count = np.arange(1.0, STEPS + 1.0)
        assert (found["runs"][..., 0] == (flag > 0.0) * count[:, None]).all()
        # four rounds in one step at most
        assert (found["rounds"][..., 0] == np.minimum(4.0 * count, left)[:, None]).all()


@pytest.mark.parametrize("shared", [True, False])
def test_each_step_reads_its_own_row_of_a_table(shared):
    tables = np.random.default_rng(0).normal(size=(LANES, STEPS, 2))
    if shared:
        tables[:] = tables[0]
    address = np.array([table.ctypes.data for table in tables], dtype=np.int64)
    if shared:
        address[:] = address[0]
    sizes = {"table": 2, "row": 1, "sum": 2}
    equations = trace("copy", lambda table: {"sum": table + 0.0}, {"table": (2,)})
    steps = (LookUp("table", "row", shared), RunProgram(equations), Record(("sum",)))
    found = recorded(sizes, steps, {"row": address.view(np.float64)[:, None]})["sum"]
    np.testing.assert_array_equal(found, tables.swapaxes(0, 1))


@pytest.mark.parametrize(
    ("step", "given"),
    [
        (Recall("past", "delay", ("late", "delay")), r"keeps arrays of sizes \[2\], not \[2, 1\]"),
        (Recall("past", "delay", ("delay",)), r"keeps arrays of sizes \[2\], not \[1\]"),
        (Recall("future", "delay", ("late",)), r"^ring 'future' keeps arrays of sizes \[\], not"),
        (When("delay", (Remember("past", ("delay",)),)), r"keeps arrays of sizes \[1\], not \[2\]"),
    ],
)
def test_a_ring_is_read_as_it_is_stored(step, given):
    sizes = {"q": 2, "delay": 1, "late": 2}
    with pytest.raises(ShapeError, match=given):
        NativeLoop(sizes, (Remember("past", ("q",)), step))
