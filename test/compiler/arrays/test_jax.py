"""Functions of JAX agree with the kernels, and so do their derivatives."""

import numpy as np
import pytest

from array_functions import EVERY, ROUND_OFF, by_complex_step, listed, states

pytest.importorskip("jax", reason="JAX is not installed")


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
