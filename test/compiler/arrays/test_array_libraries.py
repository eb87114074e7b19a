"""Functions of CasADi, JAX and PyTorch agree with the kernels, and so do their derivatives."""

import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

from agreement import displaced
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.dynamics.kernels import KERNELS, OF_FRAMES
from robot_dynamics.dynamics.variant import MOTION_ONLY, Variant
from robot_dynamics.errors import ArgumentError, MissingPackageError, ShapeError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.foundation import lazy
from robot_dynamics.robot import find_robot, merge_fixed

LIBRARIES = ("casadi", "jax", "torch")
ROUND_OFF = 1e-11  # float64 on both sides, other orders of sums, entries up to 100
STEP = 1e-30  # of the complex step: far below round-off
LOADED = Variant(wrench_at="endpoint", payload_at="endpoint", gravity=True)
RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_urdf(find_robot("planar_2r")))


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


EVERY = [
    *((name, Variant(frame="endpoint" if name in OF_FRAMES else None)) for name in KERNELS),
    ("inverse", LOADED),
    ("forward", Variant(friction=True)),
]
SHORT = [("inverse", MOTION_ONLY), ("energy", MOTION_ONLY), ("pose", Variant(frame="endpoint"))]


def states(kernel, *leading):
    """Arguments of a kernel; loads stay small beside the masses, so that M can be inverted."""
    return [RNG.uniform(0.1, 0.5, (*leading, *shape)) for shape in kernel.inputs.values()]


def listed(results):
    return list(results) if isinstance(results, tuple) else [results]


def by_complex_step(arm, q, qd, qdd):
    """Derivatives of the efforts with respect to q, qd and qdd; by an uncompiled formulation."""
    motion, columns = np.concatenate([q, qd, qdd]), []
    for k in range(len(motion)):
        moved = motion.astype(complex)
        moved[k] += 1j * STEP
        tau = inverse_dynamics(arm.robot, *np.split(moved, 3), formulation="newton_euler")
        columns.append(tau.imag / STEP)
    return np.split(np.array(columns).T, 3, axis=1)


# -- CasADi ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, variant",
    [pytest.param(*each, marks=[] if each in SHORT else pytest.mark.thorough) for each in EVERY],
)
def test_a_function_of_casadi_computes_what_the_kernel_does(arm, name, variant):
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
    kernel, function = arm.kernel(name, variant), arm.as_casadi(name, variant)
    assert isinstance(function, casadi.Function)
    assert [function.name_in(i) for i in range(function.n_in())] == list(kernel.inputs)
    assert [function.name_out(i) for i in range(function.n_out())] == list(kernel.outputs)
    arguments = states(kernel)
    for found, expected in zip(
        listed(function(*arguments)), listed(kernel(*arguments)), strict=True
    ):
        assert np.reshape(np.array(found), np.shape(expected)) == pytest.approx(
            expected, abs=ROUND_OFF
        )


def test_symbols_of_casadi_go_through_and_have_derivatives(arm):
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
    values = states(arm.kernel("inverse"))
    for kind in (casadi.SX, casadi.MX):
        motion = [kind.sym(name, 2) for name in ("q", "qd", "qdd")]
        tau = arm.as_casadi()(*motion)
        slopes = casadi.Function("slopes", motion, [casadi.jacobian(tau, x) for x in motion])
        for found, expected in zip(slopes(*values), by_complex_step(arm, *values), strict=True):
            assert np.array(found) == pytest.approx(expected, abs=ROUND_OFF)
        uncompiled = casadi.vertcat(*inverse_dynamics(arm.robot, *motion))
        both = casadi.Function("both", motion, [tau, uncompiled])(*values)
        assert np.array(both[0]) == pytest.approx(np.array(both[1]), abs=ROUND_OFF)


def test_compiled_calls_name_the_function_that_takes_symbols(arm):
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
    q = casadi.SX.sym("q", 2)
    message = (
        "q must hold real numbers, got SX([q_0, q_1]); compiled equations take no symbols; use "
        "the function of Dynamics.as_casadi"
    )
    for call in (lambda: arm.gravity(q), lambda: arm.pose(q), lambda: arm.kernel("gravity")(q)):
        with pytest.raises(ArgumentError, match=f"^{re.escape(message)}$"):
            call()
    assert arm.gravity(casadi.DM([0.3, 0.4])) == pytest.approx(arm.gravity([0.3, 0.4]))


# -- JAX ------------------------------------------------------------------------------------------


def test_jax_has_values_and_derivatives_of_both_modes(arm, jax):
    inverse = arm.as_jax("inverse")
    motion = states(arm.kernel("inverse"))
    assert np.array(inverse(*motion)) == pytest.approx(arm.inverse(*motion), abs=ROUND_OFF)
    expected = by_complex_step(arm, *motion)
    for way in (jax.jacfwd, jax.jacrev):
        for found, exact in zip(way(inverse, (0, 1, 2))(*motion), expected, strict=True):
            assert np.array(found) == pytest.approx(exact, abs=ROUND_OFF)


@pytest.mark.thorough
def test_jax_has_second_derivatives(arm, jax):
    inverse = arm.as_jax("inverse")
    q, qd, qdd = states(arm.kernel("inverse"))
    second = jax.jacfwd(jax.jacrev(inverse))(q, qd, qdd)
    for k, unit in enumerate(np.eye(2)):
        h = 1e-6  # central differences are good to 1e-9 of entries of 100
        ends = [by_complex_step(arm, q + s * unit, qd, qdd)[0] for s in (h, -h)]
        assert np.array(second)[..., k] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-6)


def test_jax_takes_leading_axes_under_vmap_jit_and_grad(arm, jax):
    inverse = arm.as_jax("inverse")
    q, qd, qdd = states(arm.kernel("inverse"), 4, 3)
    flat = [x.reshape(-1, 2) for x in (q, qd, qdd)]
    expected = arm.inverse(*flat).reshape(4, 3, 2)
    for found in (
        inverse(q, qd, qdd),
        jax.jit(inverse)(q, qd, qdd),
        jax.vmap(jax.vmap(inverse))(q, qd, qdd),
        jax.vmap(inverse, in_axes=(1, 1, 1), out_axes=1)(q, qd, qdd),
    ):
        assert np.array(found) == pytest.approx(expected, abs=ROUND_OFF)
    one = jax.vmap(inverse, in_axes=(0, None, None))(flat[0], flat[1][0], flat[2][0])
    assert np.array(one) == pytest.approx(arm.inverse(flat[0], flat[1][0], flat[2][0]))
    slope = jax.jit(jax.grad(lambda q: 0.5 * (inverse(q, qd, qdd) ** 2).sum()))(q)
    parts = arm.inverse_derivatives(*flat)
    exact = np.einsum("ki,kij->kj", arm.inverse(*flat), parts.dtau_dq).reshape(4, 3, 2)
    assert np.array(slope) == pytest.approx(exact, abs=100 * ROUND_OFF)  # efforts of 100 N m
    single = inverse(*(x.astype(np.float32) for x in (q, qd, qdd)))
    assert single.dtype == np.float32
    assert np.array(single) == pytest.approx(expected, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("name, variant", EVERY)
@pytest.mark.thorough
def test_every_kernel_is_a_function_of_jax(arm, jax, name, variant):
    kernel, function = arm.kernel(name, variant), arm.as_jax(name, variant)
    arguments = states(kernel, 3)
    found, expected = listed(function(*arguments)), listed(kernel(*arguments))
    for one, other in zip(found, expected, strict=True):
        assert np.array(one) == pytest.approx(other, abs=ROUND_OFF)
    from jax.test_util import check_grads

    one = [x[0] for x in arguments]
    check_grads(lambda *x: listed(function(*x)), one, 1, rtol=1e-5, atol=1e-5)


# -- PyTorch --------------------------------------------------------------------------------------


def test_torch_has_values_derivatives_and_second_derivatives(arm, torch):
    inverse = arm.as_torch("inverse")
    motion = states(arm.kernel("inverse"), 3)
    tensors = [torch.tensor(x, requires_grad=True) for x in motion]
    tau = inverse(*tensors)
    assert tau.detach().numpy() == pytest.approx(arm.inverse(*motion), abs=ROUND_OFF)
    assert torch.autograd.gradcheck(inverse, tensors, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(inverse, tensors)
    single = [torch.tensor(x[0]) for x in motion]
    for k, exact in enumerate(by_complex_step(arm, *(x[0] for x in motion))):
        for way in (torch.func.jacrev, torch.func.jacfwd):
            assert way(inverse, k)(*single).numpy() == pytest.approx(exact, abs=ROUND_OFF)
    mapped = torch.func.vmap(inverse, (0, None, None))(torch.tensor(motion[0]), *single[1:])
    expected = arm.inverse(motion[0], motion[1][0], motion[2][0])
    assert mapped.numpy() == pytest.approx(expected, abs=ROUND_OFF)


@pytest.mark.parametrize("name, variant", EVERY)
@pytest.mark.thorough
def test_every_kernel_is_a_function_of_torch(arm, torch, name, variant):
    kernel, function = arm.kernel(name, variant), arm.as_torch(name, variant)
    arguments = states(kernel, 3)
    tensors = [torch.tensor(x, requires_grad=True) for x in arguments]
    for one, other in zip(listed(function(*tensors)), listed(kernel(*arguments)), strict=True):
        assert one.detach().numpy() == pytest.approx(other, abs=ROUND_OFF)
    assert torch.autograd.gradcheck(lambda *x: tuple(listed(function(*x))), tensors)


# -- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_exported_modules_need_only_their_library(arm, library, request):
    request.getfixturevalue(library)
    for name in ("inverse", "mass_matrix", "energy"):
        kernel, namespace = arm.kernel(name), {}
        exec(arm.source(library, name), namespace)
        arguments = states(kernel, 5)
        if library == "torch":
            arguments = [namespace["torch"].tensor(x) for x in arguments]
        found = namespace[f"planar_2r_{name}"](*arguments)
        found = list(found.values()) if isinstance(found, dict) else [found]
        for one, other in zip(found, listed(kernel(*map(np.asarray, arguments))), strict=True):
            assert np.asarray(one) == pytest.approx(other, abs=ROUND_OFF)


def test_an_exported_module_of_casadi_runs_alone(arm, tmp_path):
    pytest.importorskip("casadi", reason="CasADi is not installed")
    text = arm.source("casadi") + "print(planar_2r_inverse([0.3, 0.4], [0, 0], [0, 0]))\n"
    assert "robot_dynamics" not in re.sub(r'^""".*?"""', "", text, flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    found = [float(x) for x in done.stdout.strip("[]\n").split(",")]
    assert found == pytest.approx(arm.gravity([0.3, 0.4]), rel=1e-5)  # CasADi prints 6 digits


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_wrong_arguments_are_named(arm, library, request):
    request.getfixturevalue(library)
    function = getattr(arm, f"as_{library}")("bias")
    # JAX adds a line about its traceback
    with pytest.raises(ShapeError, match=r"^qd must have shape \(\.\.\., 2\), got \(3,\)(\n|$)"):
        function(np.zeros(2), np.zeros(3))
    with pytest.raises(ArgumentError, match=r"^expected 2 arguments \(q, qd\), got 1(\n|$)"):
        function(np.zeros(2))
    for wrong, shown in (("fast", "'fast'"), (np.zeros(2) + 1j, ".*"), ([None, 1], ".*")):
        with pytest.raises(ArgumentError, match=rf"^qd must hold real numbers, got {shown}(\n|$)"):
            function(np.zeros(2), wrong)
    with pytest.raises(ShapeError, match=r"or 1; got q \(4, 2\), qd \(3, 2\)(\n|$)"):
        function(np.zeros((4, 2)), np.zeros((3, 2)))
    masked = np.ma.masked_array(np.zeros(2), [True, False])
    with pytest.raises(ArgumentError, match=r"^qd must hold real numbers, got masked_array"):
        function(np.zeros(2), masked)
    expected = function(np.array([0.0, 1.0]), np.zeros(2)).tolist()
    assert function([0.0, 1.0], np.zeros(2)).tolist() == expected


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_is_not_installed_is_named_with_its_extra(arm, library, monkeypatch):
    def absent(module):
        if module == library:
            raise ModuleNotFoundError(f"No module named '{module}'", name=module)
        return found(module)

    found = lazy.imported
    monkeypatch.setattr(lazy, "imported", absent)
    with pytest.raises(MissingPackageError, match=rf"install 'robot_dynamics\[{library}\]'$"):
        getattr(arm, f"as_{library}")("drift", Variant(frame="link_2"))


def test_a_function_is_made_once(arm):
    pytest.importorskip("casadi", reason="CasADi is not installed")
    assert arm.as_casadi("gravity") is arm.as_casadi("gravity")


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_arguments_may_be_given_by_name(arm, library, request):
    request.getfixturevalue(library)
    function = arm._function(library, "inverse", MOTION_ONLY)
    q, qd, qdd = states(arm.kernel("inverse"))
    expected = np.array(function(q, qd, qdd))
    np.testing.assert_array_equal(np.array(function(q, qdd=qdd, qd=qd)), expected)
    with pytest.raises(ArgumentError, match=r"^inverse: missing a required argument: 'qdd'$"):
        function(q, qd=qd)
    with pytest.raises(ArgumentError, match=r"^inverse: got an unexpected keyword argument 'x'$"):
        function(q, qd, qdd, x=1)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_a_function_travels_to_a_process_that_is_spawned(arm, library, request, tmp_path):
    request.getfixturevalue(library)
    function = arm._function(library, "inverse", MOTION_ONLY)
    motion = states(arm.kernel("inverse"))
    path = tmp_path / "function.pickle"
    path.write_bytes(pickle.dumps((function, motion)))
    code = (
        "import pickle, sys, numpy\n"
        "function, motion = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(function, numpy.array(function(*motion), dtype=float).tolist())"
    )
    words = [sys.executable, "-c", code, str(path)]
    environment = {**os.environ, "JAX_ENABLE_X64": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    name, _, found = done.stdout.partition(") ")
    assert name == "inverse(q, qd, qdd"
    np.testing.assert_array_equal(json.loads(found), arm.inverse(*motion))


# -- graphs that the libraries compile or export --------------------------------------------------


def test_torch_compiles_a_function_and_its_gradient_without_a_break(arm, torch):
    inverse, energy = arm.as_torch("inverse"), arm.as_torch("energy")

    def loss(q, qd, qdd):
        return inverse(q, qd, qdd=qdd).square().sum() + energy(q, qd).T.sum()

    def gradient(function, *motion):
        given = [torch.as_tensor(x).requires_grad_() for x in motion]
        return torch.autograd.grad(function(*given), given)

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    motion = states(arm.kernel("inverse"), 3)
    for found, wanted in zip(gradient(compiled, *motion), gradient(loss, *motion), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=ROUND_OFF)
    one = [torch.as_tensor(x) for x in motion]
    mapped = torch.compile(torch.func.vmap(inverse), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(mapped(*one), inverse(*one), rtol=0, atol=ROUND_OFF)


@pytest.mark.parametrize("strict", [False, True])
def test_torch_exports_the_equations_which_need_no_kernel(arm, torch, strict):
    inverse = arm.as_torch("inverse")

    class Model(torch.nn.Module):
        def forward(self, q, qd, qdd):
            return inverse(q, qd, qdd)

    motion = [torch.as_tensor(x) for x in states(arm.kernel("inverse"), 3)]
    exported = torch.export.export(Model(), tuple(motion), strict=strict)
    assert "robot_dynamics" not in {
        str(node.target).partition(".")[0] for node in exported.graph.nodes
    }
    found = exported.module()(*motion)
    torch.testing.assert_close(found, inverse(*motion), rtol=0, atol=ROUND_OFF)


def test_jax_exports_the_equations_which_need_no_kernel(arm, jax):
    from jax import export

    inverse = arm.as_jax("inverse")

    def loss(q, qd, qdd):
        return (inverse(q, qd, qdd) ** 2).sum()

    motion = states(arm.kernel("inverse"), 3)
    for function in (inverse, jax.grad(loss)):
        exported = export.export(jax.jit(lambda *given, f=function: f(*given)))(*motion)
        assert "custom_call" not in str(exported.mlir_module())
        np.testing.assert_allclose(exported.call(*motion), function(*motion), rtol=0, atol=1e-10)


# -- bases that move ------------------------------------------------------------------------------


def value_and_derivative(library, arm, inputs):
    """Efforts of a function of a library, and their derivatives by q, shape (n, nq)."""
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    function = getattr(arm, f"as_{library}")("inverse")
    if library == "casadi":
        symbols = [module.SX.sym(f"x{k}", len(x)) for k, x in enumerate(inputs)]
        found = function(*symbols)
        tau = found[0] if isinstance(found, tuple) else found
        both = module.Function("both", symbols, [tau, module.jacobian(tau, symbols[0])])
        value, derivative = (np.array(x) for x in both(*inputs))
        return value.ravel(), derivative

    def efforts(*arrays):
        return listed(function(*arrays))[0]

    if library == "torch":
        given = [module.as_tensor(x) for x in inputs]
        derivative = module.autograd.functional.jacobian(lambda q: efforts(q, *given[1:]), given[0])
        return efforts(*given).numpy(), derivative.numpy()
    with module.enable_x64(True):
        return np.asarray(efforts(*inputs)), np.asarray(module.jacrev(efforts)(*inputs))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("base", ["moving", "floating"])
def test_functions_on_bases_that_move_have_values_and_derivatives_of_the_kernels(library, base):
    arm = Dynamics(read_urdf(find_robot("planar_2r")), base=base)
    n = arm.robot.dof
    qd, qdd = RNG.normal(size=(2, n))
    if base == "moving":
        inputs = [RNG.normal(size=n), qd, qdd, RNG.normal(size=15)]
        expected = arm.inverse(*inputs[:3], base=inputs[3]).tau
        by_q = arm.inverse_derivatives(*inputs[:3], base=inputs[3]).dtau_dq
        steps = np.eye(n)
    else:
        q = arm.integrate(arm.neutral(), RNG.normal(size=n))
        inputs = [q, qd, qdd]
        expected, by_q = arm.inverse(*inputs), arm.inverse_derivatives(*inputs).dtau_dq
        tree = merge_fixed(arm.robot)
        steps = [displaced(tree, q, 1j * STEP * step, True).imag / STEP for step in np.eye(n)]
    value, derivative = value_and_derivative(library, arm, inputs)
    np.testing.assert_allclose(value, expected, rtol=ROUND_OFF, atol=ROUND_OFF)
    # by small twists, as the kernel has them: each is a change of the entries of q
    np.testing.assert_allclose(derivative @ np.transpose(steps), by_q, rtol=1e-9, atol=1e-9)
