"""Properties of functions in array libraries, tested with each one that is installed."""

import json
import os
import pickle
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from agreement import displaced
from array_functions import RNG, ROUND_OFF, STEP, installed, listed, states
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.dynamics.variant import MOTION_ONLY, Variant
from robot_dynamics.errors import ArgumentError, MissingPackageError, ShapeError
from robot_dynamics.foundation import lazy
from robot_dynamics.robot import find_robot, merge_fixed

LIBRARIES = ("casadi", "jax", "torch")


@pytest.mark.parametrize("library", installed("jax", "torch"))
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


@pytest.mark.parametrize("library", installed("jax", "torch"))
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


@pytest.mark.parametrize("library", installed("jax", "torch"))
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


@pytest.mark.parametrize("library", installed("jax", "torch"))
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


def value_and_derivative(library, arm, inputs):
    """Efforts of a function of a library, and their derivatives by q, shape (n, nq)."""
    module = import_module(library)
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


@pytest.mark.parametrize("library", installed(*LIBRARIES))
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
