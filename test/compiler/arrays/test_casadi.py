"""Functions of CasADi agree with the kernels, and so do their derivatives."""

import re
import subprocess
import sys

import numpy as np
import pytest

from array_functions import EVERY, ROUND_OFF, SHORT, by_complex_step, listed, states
from choices import first
from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import inverse_dynamics

casadi = pytest.importorskip("casadi", reason="CasADi is not installed")


@pytest.mark.parametrize("name, variant", first(SHORT, EVERY))
def test_a_function_of_casadi_computes_what_the_kernel_does(arm, name, variant):
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
    q = casadi.SX.sym("q", 2)
    message = (
        "q must hold real numbers, got SX([q_0, q_1]); compiled equations take no symbols; use "
        "the function of Dynamics.as_casadi"
    )
    for call in (lambda: arm.gravity(q), lambda: arm.pose(q), lambda: arm.kernel("gravity")(q)):
        with pytest.raises(ArgumentError, match=f"^{re.escape(message)}$"):
            call()
    assert arm.gravity(casadi.DM([0.3, 0.4])) == pytest.approx(arm.gravity([0.3, 0.4]))


def test_an_exported_module_of_casadi_runs_alone(arm, tmp_path):
    text = arm.source("casadi") + "print(planar_2r_inverse([0.3, 0.4], [0, 0], [0, 0]))\n"
    assert "robot_dynamics" not in re.sub(r'^""".*?"""', "", text, flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    found = [float(x) for x in done.stdout.strip("[]\n").split(",")]
    assert found == pytest.approx(arm.gravity([0.3, 0.4]), rel=1e-5)  # CasADi prints 6 digits


def test_a_function_is_made_once(arm):
    assert arm.as_casadi("gravity") is arm.as_casadi("gravity")
