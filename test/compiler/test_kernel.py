"""The choice of a back end, and machines without LLVM."""

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics
from programs import chain, inverse_of, inverse_program, random_inputs
from robot_dynamics.compiler import kernel as kernels
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.compiler.native import llvm
from robot_dynamics.compiler.native.native_kernel import NativeKernel
from robot_dynamics.compiler.source.python import PythonKernel, compile_python
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import BackendError, UnknownNameError

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
HELPERS = str(Path(__file__).parents[1] / "helpers")


@pytest.fixture
def without_llvmlite(monkeypatch):
    """As on a machine where llvmlite is not installed."""
    for function in (llvm._binding, llvm.host, kernels._warn_once):
        function.cache_clear()
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    yield
    for function in (llvm._binding, llvm.host, kernels._warn_once):
        function.cache_clear()


def test_native_code_is_chosen_where_it_can_be_made():
    pytest.importorskip("llvmlite")
    assert isinstance(compile_program(inverse_program(chain(2)), use_cache=False), NativeKernel)


def test_without_llvmlite_everything_works_and_one_line_says_that_it_is_slow(
    without_llvmlite, caplog
):
    caplog.set_level(logging.INFO)
    arm = chain(3)
    for _ in range(2):
        kernel = compile_program(lambda: inverse_program(arm), key="arm")
        assert isinstance(kernel, PythonKernel)
        q, qd, qdd = random_inputs(kernel.inputs, seed=1, samples=4)
        expected = [inverse_of(arm)(*row)["tau"] for row in zip(q, qd, qdd, strict=True)]
        np.testing.assert_allclose(kernel(q, qd, qdd), expected, rtol=0, atol=1e-11)
    (line,) = [r.getMessage() for r in caplog.records if r.name == kernels.__name__]
    assert line.startswith("equations run in Python, about 100 times slower: native code needs")
    assert line.endswith("install it with 'pip install llvmlite'")


def test_without_llvmlite_native_code_is_refused_when_asked_for(without_llvmlite):
    with pytest.raises(BackendError, match="native code needs llvmlite, which cannot be imported"):
        compile_program(inverse_program(chain(2)), backend="native")


def test_an_llvmlite_that_is_too_old_is_named(without_llvmlite, monkeypatch):
    class Old:
        __version__ = "0.40.1"

    monkeypatch.setitem(sys.modules, "llvmlite", Old())
    monkeypatch.setitem(sys.modules, "llvmlite.binding", Old())
    with pytest.raises(BackendError, match=r"needs llvmlite 0\.41 or newer, found 0\.40\.1"):
        compile_program(inverse_program(chain(2)), backend="native")


def test_python_can_be_chosen():
    assert isinstance(compile_program(inverse_program(chain(2)), backend="python"), PythonKernel)


def test_a_function_is_a_back_end():
    """A user can add one without touching this package."""
    made = []

    def own(program, *, key=None, finite=False, use_cache=True):
        made.append((key, finite, use_cache))
        return compile_python(program, finite=finite)

    arm = Dynamics(chain(2), backend=own, cache=False)
    np.testing.assert_allclose(
        arm.gravity([0.1, 0.2]), Dynamics(chain(2)).gravity([0.1, 0.2]), rtol=0, atol=1e-12
    )
    assert [(finite, use_cache) for _, finite, use_cache in made] == [(True, False)]


def test_an_unknown_back_end_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'native'"):
        compile_program(inverse_program(chain(2)), backend="natve")
    with pytest.raises(UnknownNameError, match="did you mean 'native'"):
        Dynamics(chain(2), backend="natve")


def test_llvm_is_not_loaded_before_a_kernel_is_compiled():
    code = (
        f"import sys; sys.path[:0] = [{PACKAGE!r}, {HELPERS!r}]; "
        "import robot_dynamics.compiler.kernel; assert 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
