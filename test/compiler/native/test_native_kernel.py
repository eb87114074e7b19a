"""Native kernels: right for every shape, dtype and way to call."""

import gc
import inspect
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choices import first
from programs import (
    EVERYTHING_INPUTS,
    everything,
    inverse_of,
    inverse_program,
    random_inputs,
    random_motion,
)
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.graph.trace import operation_count, trace
from robot_dynamics.compiler.native import batch
from robot_dynamics.compiler.native import native_kernel as native
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.errors import ArgumentError, ShapeError
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.transforms import merge_fixed
from strategies import robots, seeds

pytest.importorskip("llvmlite")

# Double precision on both sides, fused operations on one: worst seen 1e-14 of the largest effort
ROUND_OFF = 1e-12
# Single precision, 24 bits: worst seen 5e-7 of the largest effort
FLOAT_ROUND_OFF = 1e-5


def expected_efforts(arm, q, qd, qdd):
    """Row by row, by the plain equations in double precision."""
    rows = np.broadcast_arrays(*map(np.atleast_2d, (q, qd, qdd)))
    return np.array([inverse_of(arm)(*map(np.float64, r))["tau"] for r in zip(*rows, strict=True)])


def assert_close(found, expected, tolerance=ROUND_OFF):
    atol = tolerance * np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


# -- values ---------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(robot=robots(max_joints=5, mimic=False), seed=seeds())
def test_native_code_agrees_with_plain_evaluation_on_random_trees(robot, seed):
    tree = merge_fixed(robot)
    kernel = compile_native(inverse_program(tree), use_cache=False)
    q, qd, qdd = random_motion(tree, seed, samples=9)
    expected = expected_efforts(tree, q, qd, qdd)
    assert_close(kernel(q, qd, qdd), expected)
    assert_close(kernel(q[0], qd[0], qdd[0]), expected[0])


def test_every_operation_and_shape_for_one_sample(mixed):
    arguments = random_inputs(EVERYTHING_INPUTS, seed=1)
    found = mixed(*arguments)
    for name, value in everything(*arguments).items():
        assert getattr(found, name).shape == value.shape
        assert_close(getattr(found, name), value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_operation_and_shape_for_a_batch(mixed, dtype):
    arguments = [a.astype(dtype) for a in random_inputs(EVERYTHING_INPUTS, 2, samples=37)]
    found = mixed(*arguments)
    tolerance = ROUND_OFF if dtype == np.float64 else FLOAT_ROUND_OFF
    for row in range(37):
        for name, value in everything(*[a[row].astype(np.float64) for a in arguments]).items():
            assert getattr(found, name).dtype == dtype
            assert_close(getattr(found, name)[row], value, tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100])
def test_any_number_of_samples(arm, kernel, dtype, count):
    q, qd, qdd = (a.astype(dtype) for a in random_motion(arm, 3, samples=count))
    tau = kernel(q, qd, qdd)
    assert tau.shape == (count, arm.dof)
    assert tau.dtype == dtype
    if count:
        tolerance = ROUND_OFF if dtype == np.float64 else FLOAT_ROUND_OFF
        assert_close(tau, expected_efforts(arm, q, qd, qdd), tolerance)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_vectors_of_any_length(size, dtype):
    """Rows shorter, as long as and longer than a vector register take different ways."""
    program = trace("f", lambda x: {"y": 2.0 * x[::-1], "z": x[:1] + 1.0}, {"x": (size,)})
    x = np.random.default_rng(0).normal(size=(35, size)).astype(dtype)
    y, z = compile_native(program, use_cache=False)(x)
    np.testing.assert_array_equal(y, 2 * x[:, ::-1])
    np.testing.assert_array_equal(z, x[:, :1] + dtype(1))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("bits", first([256], [128, 256, 512]))
@pytest.mark.parametrize("scalar", ["double", "float"])
def test_code_for_every_kind_of_machine(arm, bits, scalar, fused):
    """LLVM splits vectors that the machine does not have, so all widths can be tested anywhere."""
    if fused and not native.llvm.host().fused:
        pytest.skip("this machine has no fused operations")
    program = inverse_program(arm)
    host = native.dataclasses.replace(native.llvm.host(), vector_bits=bits, fused=fused)
    kernel = compile_native(program, finite=True, use_cache=False)
    kernel._builder._host = host
    dtype = np.float64 if scalar == "double" else np.float32
    motion = [a.astype(dtype) for a in random_motion(arm, 4, samples=19)]
    tolerance = ROUND_OFF if scalar == "double" else FLOAT_ROUND_OFF
    for columns in (False, True):
        code = kernel._builder.batch(scalar, (10**9,) * 3, columns)
        order = "F" if columns else "C"
        arrays = [np.asarray(a, order=order) for a in motion]
        tau = np.full((19, arm.dof), np.nan, dtype, order)
        step = host.lanes(scalar) * (1 if columns else arm.dof) * tau.itemsize
        steps = [step] * 3 + [19 * tau.itemsize] * 4 * columns
        run = native._function(code, "batch", native.ctypes.c_int64, 5 + len(steps))
        assert run(19, *(a.ctypes.data for a in (*arrays, tau)), *steps) == 19
        assert_close(tau, expected_efforts(arm, *motion), tolerance)


def test_results_do_not_depend_on_the_order_of_instructions(monkeypatch):
    robot = read_urdf(find_robot("ur5"))
    state = np.random.default_rng(3).normal(size=(3, robot.dof))

    def derivatives(nodes_unscheduled):
        monkeypatch.setattr(native, "_NODES_UNSCHEDULED", nodes_unscheduled)
        return Dynamics(robot, cache=False).inverse_derivatives(*state)

    in_order, scheduled = derivatives(0), derivatives(1_000_000)
    for found, expected in zip(in_order, scheduled, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("scalar", [np.float64, np.float32])
def test_matrices_are_right_whenever_they_are_written(monkeypatch, at_once, scalar):
    """Zeros in runs of all lengths, constants, inputs, and results that stand in two places."""
    monkeypatch.setattr(native, "_NODES_UNSCHEDULED", 0 if at_once else 1_000_000)

    def equations(x):
        A = np.zeros((6, 21), dtype=object)
        for i in range(6):
            A[i, : i + 1] = 3.0 * x * x[i] if i == 5 else x[i]
            A[i, i + 3 :: i + 2] = np.sin(x[i])
        A[2, 2:4] = -np.sin(x[2]), 7.0
        return {"A": A, "b": -x}

    kernel = compile_native(trace("x", equations, {"x": (6,)}), finite=True, use_cache=False)
    x = np.random.default_rng(1).normal(size=6).astype(scalar)
    expected = equations(x)
    A, b = kernel(x)
    np.testing.assert_allclose(
        A, expected["A"].astype(float), atol=1e-6 if A.dtype == np.float32 else 1e-15
    )
    np.testing.assert_array_equal(b, -x)

    memory = np.full(6 * 21 + 2, 7.0)  # x lies on results, which nothing surrounds
    memory[20:26] = x
    kernel(memory[20:26], out=(memory[1:-1].reshape(6, 21), np.empty(6)))
    np.testing.assert_allclose(memory[1:-1].reshape(6, 21), expected["A"].astype(float), atol=1e-6)
    assert memory[0] == memory[-1] == 7.0

    unwritten = np.full((6, 21), 7.0), np.full(6, 7.0)
    with pytest.raises(ArgumentError, match=r"x\[5\]"):
        kernel([0.0, 0.0, 0.0, 0.0, 0.0, np.nan], out=unwritten)
    assert all(np.all(result == 7.0) for result in unwritten)


def test_rows_too_long_for_the_stack(monkeypatch):
    """A remainder of such rows goes through memory from the heap."""
    monkeypatch.setattr(
        batch, "_MOST_STACK_BYTES", 1_000
    )  # rows that really are take half a minute
    program = trace("outer", lambda x: {"y": np.outer(x, x)}, {"x": (9,)})
    x = np.random.default_rng(0).normal(size=(13, 9))
    found = compile_native(program, use_cache=False)(x)
    np.testing.assert_array_equal(found, x[:, :, None] * x[:, None, :])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("finite", [False, True])
def test_rows_of_all_lengths_meet_sample_by_sample(dtype, finite):
    """Rows are turned into vectors in several ways, which must agree on the lane of a sample."""
    lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13]
    inputs = {f"x{n}": (n,) for n in lengths}

    names = list(inputs)

    def differences(**rows):  # each from entries of the rows of another length
        return {
            f"y{name}": rows[name] - np.resize(rows[other], len(rows[name]))
            for name, other in zip(names, [*names[1:], names[0]], strict=True)
        }

    kernel = compile_native(trace("f", differences, inputs), finite=finite, use_cache=False)
    rng = np.random.default_rng(2)
    rows = {name: rng.normal(size=(53, *shape)).astype(dtype) for name, shape in inputs.items()}
    samples = [differences(**{name: row[k] for name, row in rows.items()}) for k in range(53)]
    for name, found in zip(samples[0], kernel(*rows.values()), strict=True):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, [sample[name] for sample in samples])


def test_outputs_that_are_constants_or_inputs():
    program = trace("f", lambda q: {"a": np.array([1.5, -2.0]), "b": q[1:]}, {"q": (2,)})
    kernel = compile_native(program, use_cache=False)
    one, many = kernel([3.0, 4.0]), kernel(np.array([[3.0, 4.0]] * 3))
    assert [list(x) for x in one] == [[1.5, -2.0], [4.0]]
    assert [x.tolist() for x in many] == [[[1.5, -2.0]] * 3, [[4.0]] * 3]


def test_a_robot_without_joints_has_empty_efforts():
    kernel = compile_native(trace("f", lambda q: q * 2.0, {"q": (0,)}), use_cache=False)
    assert kernel(np.zeros(0)).shape == (0,)
    assert kernel(np.zeros((5, 0))).shape == (5, 0)


@pytest.mark.parametrize("lead", [(3, 2), (1, 2, 2), (0, 3)])
def test_results_have_all_leading_axes_of_the_arguments(mixed, lead):
    first, *others = mixed.inputs.values()
    rng = np.random.default_rng(30)
    single = rng.uniform(0.1, 0.9, first)
    batches = [rng.uniform(0.1, 0.9, (*lead, *shape)) for shape in others]
    many = mixed(single, *batches)
    assert [found.shape for found in many] == [(*lead, *x) for x in mixed.outputs.values()]
    for k in np.ndindex(lead):
        for found, wanted in zip(many, mixed(single, *(a[k] for a in batches)), strict=True):
            assert_close(found[k], wanted)
    # Arrays of the caller of another layout, which the kernel cannot write to
    out = tuple(np.full(found.shape[::-1], np.nan).T for found in many)
    mixed(single, *batches, out=out)
    for found, wanted in zip(out, many, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_arguments_with_different_leading_axes_are_named(arm, kernel):
    q, qd, qdd = random_motion(arm, 31, samples=6)
    with pytest.raises(ShapeError, match=r"^qd has \(2, 3\) samples but q has 6$"):
        kernel(q, qd.reshape(2, 3, -1), qdd)


def test_rows_do_not_depend_on_their_place_in_the_batch(arm, kernel):
    q, qd, qdd = random_motion(arm, 5, samples=40)
    together = kernel(q, qd, qdd)
    for start in range(0, 40, 7):
        part = slice(start, start + 7)
        np.testing.assert_array_equal(kernel(q[part], qd[part], qdd[part]), together[part])


# -- ways to call ---------------------------------------------------------------------------------


def test_lists_integers_and_other_dtypes_are_converted(arm, kernel):
    q, qd, qdd = random_motion(arm, 6)
    expected = expected_efforts(arm, q, qd, qdd)[0]
    assert_close(kernel(list(q), tuple(qd), qdd), expected)
    assert_close(kernel(q.astype(">f8"), qd, qdd), expected)
    assert_close(kernel(q.astype(np.longdouble), qd, qdd.astype(object)), expected)
    ones = np.ones(arm.dof)
    assert_close(
        kernel(ones.astype(int), ones.astype(np.uint8), ones.astype(bool)), kernel(ones, ones, ones)
    )


def test_float32_beside_float64_is_computed_in_float64(arm, kernel):
    q, qd, qdd = random_motion(arm, 7)
    tau = kernel(q.astype(np.float32), qd, qdd)
    assert tau.dtype == np.float64
    assert_close(tau, expected_efforts(arm, q.astype(np.float32), qd, qdd)[0])


def test_one_float32_sample_gives_float32(arm, kernel):
    q, qd, qdd = (a.astype(np.float32) for a in random_motion(arm, 8))
    tau = kernel(q, qd, qdd)
    assert (tau.shape, tau.dtype) == ((arm.dof,), np.float32)
    assert_close(tau, expected_efforts(arm, q, qd, qdd)[0], FLOAT_ROUND_OFF)


@pytest.mark.parametrize("samples", [None, 12])
def test_arrays_of_any_layout(arm, kernel, samples):
    q, qd, qdd = random_motion(arm, 9, samples)
    expected = kernel(q, qd, qdd)
    spread = np.zeros((*q.shape[:-1], 2 * arm.dof))[..., ::2]
    spread[...] = q
    np.testing.assert_array_equal(kernel(spread, qd, qdd), expected)
    np.testing.assert_array_equal(
        kernel(np.asfortranarray(q), qd[..., ::-1][..., ::-1], qdd), expected
    )
    misaligned = np.frombuffer(b"\0" + q.tobytes(), np.float64, offset=1).reshape(q.shape)
    np.testing.assert_array_equal(kernel(misaligned, qd, qdd), expected)
    locked = q.copy()
    locked.setflags(write=False)
    np.testing.assert_array_equal(kernel(locked, qd, qdd), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [2, 8, 19, 301])
def test_samples_side_by_side_are_taken_as_they_are(mixed, dtype, count):
    """Transposes of arrays (n, N), and slices of them; a single sample stands for all."""
    inputs = [x.astype(dtype) for x in random_inputs(EVERYTHING_INPUTS, 3, samples=count)]
    wide = [np.zeros((*x.shape[::-1][:-1], count + 3), dtype).T for x in inputs]
    for array, x in zip(wide, inputs, strict=True):
        array[1 : count + 1] = x
    slices = [array[1 : count + 1] for array in wide]
    transposes = [np.asfortranarray(x) for x in inputs]
    for arrays in (transposes, [slices[0], *transposes[1:]], slices):
        alone = [arrays[0], *(x[0] for x in inputs[1:])]
        same = [inputs[0], *(x[0] for x in inputs[1:])]
        check_columns(mixed, arrays, inputs)
        check_columns(mixed, alone, same)


def check_columns(kernel, arrays, rows, **how):
    """Compare with arrays of the same numbers in rows."""
    expected = kernel(*rows, **how)
    tolerance = ROUND_OFF if expected[0].dtype == np.float64 else FLOAT_ROUND_OFF
    in_rows = any(x.ndim > 2 and not x.flags.f_contiguous for x in arrays)  # converted to them
    out = [np.full_like(x, np.nan, order="F") for x in expected]
    for target in (None, out, None, [np.full_like(x, np.nan) for x in expected]):
        found = kernel(*arrays, out=target, **how)
        for k, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_close(a, b, tolerance)
            assert a is target[k] if target else a.flags.f_contiguous or in_rows


def test_threads_share_samples_side_by_side(mixed, monkeypatch):
    monkeypatch.setattr(native, "_OPERATIONS_FOR_THREADS", 100)
    kernel = compile_native(mixed.program, use_cache=False)
    rows = random_inputs(EVERYTHING_INPUTS, 3, samples=301)
    check_columns(kernel, [np.asfortranarray(x) for x in rows], rows, threads=3)


def test_subclasses_of_arrays_are_taken_as_arrays(arm, kernel):
    class Mine(np.ndarray):
        pass

    q, qd, qdd = random_motion(arm, 10)
    tau = kernel(q.view(Mine), qd, qdd)
    assert type(tau) is np.ndarray
    np.testing.assert_array_equal(tau, kernel(q, qd, qdd))


def test_one_sample_beside_batches_stands_for_all(arm, kernel):
    q, qd, qdd = random_motion(arm, 11, samples=21)
    repeated = np.repeat(qd[:1], 21, axis=0)
    np.testing.assert_array_equal(kernel(q, qd[0], qdd), kernel(q, repeated, qdd))


def test_results_go_into_the_array_of_the_caller(arm, kernel):
    for samples in (None, 12):
        q, qd, qdd = random_motion(arm, 12, samples)
        out = np.full(q.shape, np.nan)
        assert kernel(q, qd, qdd, out=out) is out
        np.testing.assert_array_equal(out, kernel(q, qd, qdd))


def test_results_go_into_arrays_of_any_layout_and_precision(arm, kernel):
    for samples in (None, 12):
        q, qd, qdd = random_motion(arm, 13, samples)
        expected = kernel(q, qd, qdd)
        strided = np.zeros((*q.shape[:-1], 2 * arm.dof))
        view = strided[..., ::2]
        assert kernel(q, qd, qdd, out=view) is view
        np.testing.assert_array_equal(strided[..., ::2], expected)
        assert np.all(strided[..., 1::2] == 0)
        single = np.zeros(q.shape, np.float32)
        kernel(q, qd, qdd, out=single)
        np.testing.assert_array_equal(single, expected.astype(np.float32))


def test_results_may_overwrite_an_input(arm, kernel):
    for samples in (None, 37):
        q, qd, qdd = random_motion(arm, 14, samples)
        expected = kernel(q, qd, qdd)
        kernel(q, qd, qdd, out=qdd)
        np.testing.assert_array_equal(qdd, expected)


def test_results_may_overlap_inputs_in_part(arm, kernel):
    buffer = np.zeros((40, arm.dof))
    q, qd, qdd = random_motion(arm, 15, samples=39)
    expected = kernel(q, qd, qdd)
    buffer[:39] = q
    kernel(buffer[:39], qd, qdd, out=buffer[1:])
    np.testing.assert_array_equal(buffer[1:], expected)


def test_several_results_go_into_several_arrays(mixed):
    arguments = random_inputs(EVERYTHING_INPUTS, seed=16)
    out = [np.zeros(5), np.zeros((3, 2)), np.zeros(())]
    answer = mixed(*arguments, out=out)
    assert all(a is b for a, b in zip(answer, out, strict=True))
    assert_close(out[2], everything(*arguments)["number"])


def test_nothing_is_written_beyond_the_results(arm, kernel):
    n = arm.dof
    for count in (1, 5, 8, 13):
        q, qd, qdd = random_motion(arm, 17, samples=count)
        guarded = np.full((count + 2) * n, 7.0)
        kernel(q, qd, qdd, out=guarded[n:-n].reshape(count, n))
        assert np.all(guarded[:n] == 7.0)
        assert np.all(guarded[-n:] == 7.0)


# -- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 5, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_give_the_same_results(arm, kernel, threads, dtype):
    q, qd, qdd = (a.astype(dtype) for a in random_motion(arm, 25, samples=50_003))
    expected = np.concatenate(
        [kernel(q[k : k + 500], qd[k : k + 500], qdd[k : k + 500]) for k in range(0, 50_003, 500)]
    )
    np.testing.assert_array_equal(kernel(q, qd, qdd, threads=threads), expected)


def test_several_python_threads_may_call_one_kernel(arm, kernel):
    q, qd, qdd = random_motion(arm, 26, samples=300)
    expected = kernel(q, qd, qdd)
    wrong = []

    def call():
        for _ in range(200):
            if not np.array_equal(kernel(q, qd, qdd), expected):
                wrong.append(1)

    workers = [threading.Thread(target=call) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


# -- the kernel as an object ----------------------------------------------------------------------


def test_a_kernel_tells_what_it_is(arm, kernel, mixed):
    assert repr(kernel) == "<NativeKernel inverse_dynamics(q[5], qd[5], qdd[5]) -> tau[5]>"
    assert dict(mixed.inputs) == EVERYTHING_INPUTS
    assert mixed.outputs == {"vector": (5,), "matrix": (3, 2), "number": ()}
    assert kernel.operation_count == operation_count(inverse_program(arm))
    assert kernel.program.digest == inverse_program(arm).digest


@pytest.mark.skipif(not native_entry.available(), reason="this Python has no native entries")
def test_a_kernel_shows_its_arguments(kernel):
    expected = "(q, qd, qdd, /, *, out=None, threads=None)"
    assert str(inspect.signature(kernel._own_entry())) == expected


def test_several_results_have_names(mixed):
    answer = mixed(*random_inputs(EVERYTHING_INPUTS, seed=27))
    assert isinstance(answer, tuple)
    assert answer._fields == ("vector", "matrix", "number")


def test_a_kernel_is_freed_with_its_code(arm):
    kernel = compile_native(inverse_program(arm), use_cache=False)
    kernel(*random_motion(arm, 28))
    kernel(*random_motion(arm, 28, samples=10))
    code = weakref.ref(kernel._code)
    del kernel
    gc.collect()
    assert code() is None


def test_the_code_of_a_kernel_brings_no_tables_for_unwinding(arm, tmp_path, monkeypatch):
    """One that outlived its code crashed the next exception of any library of C++."""
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", str(tmp_path / "cache"))
    kernel = compile_native(inverse_program(arm))
    kernel(*random_motion(arm, 4, samples=19))
    files = list((tmp_path / "cache").iterdir())
    assert len(files) == 2  # one sample, and a batch
    assert not any(b".eh_frame" in file.read_bytes() for file in files)


def test_calls_do_not_leak(arm, kernel, mixed):
    q, qd, qdd = random_motion(arm, 29)
    arguments = random_inputs(EVERYTHING_INPUTS, seed=29)
    batch = random_motion(arm, 29, samples=10)
    out = np.zeros(arm.dof)

    def calls():
        for _ in range(1000):
            kernel(q, qd, qdd)
            kernel(q, qd, qdd, out=out)
            kernel(*batch)
            mixed(*arguments)
            with pytest.raises(ShapeError):
                kernel(q, qd, qdd[:1])

    calls()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        calls()
        gc.collect()
        # One object per call kept alive would be 100 kB and more
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


@given(st.data())
def test_any_mixture_of_samples_batches_and_dtypes_agrees(arm, kernel, data):
    count = data.draw(st.integers(0, 20))
    arrays, plain = [], []
    for k, name in enumerate(("q", "qd", "qdd")):
        single = data.draw(st.booleans(), label=f"{name} is one sample")
        array = random_motion(arm, 30 + k, None if single else count)[k]
        kind = data.draw(st.sampled_from(["f8", "f4", "list", "strided", ">f8"]), label=name)
        if kind == "list":
            given_array = array.tolist() if array.size else array
        elif kind == "strided":
            given_array = np.repeat(array, 2, axis=-1)[..., ::2]
        else:
            given_array = array.astype(kind)
        arrays.append(given_array)
        plain.append(np.asarray(given_array, np.float64))
    tau = kernel(*arrays)
    batch = [a for a in plain if a.ndim == 2]
    if batch and not count:
        assert tau.shape == (0, arm.dof)
        return
    expected = expected_efforts(arm, *plain)
    single_precision = all(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in arrays)
    assert tau.dtype == (np.float32 if single_precision else np.float64)
    assert_close(
        tau if batch else tau[None], expected, FLOAT_ROUND_OFF if single_precision else ROUND_OFF
    )


def test_equations_without_inputs_are_constants():
    kernel = compile_native(trace("fixed", lambda: np.array([1.0, -2.5]), {}), use_cache=False)
    np.testing.assert_array_equal(kernel(), [1.0, -2.5])
    np.testing.assert_array_equal(kernel(out=np.zeros(2)), [1.0, -2.5])
