"""Back ends of a user, and machines without LLVM."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics
from programs import chain, inverse_program
from python_kernel import compile_python
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.compiler.native import llvm
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import BackendError

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
HELPERS = str(Path(__file__).parents[1] / "helpers")


@pytest.fixture
def without_llvmlite(monkeypatch):
    """As on a machine where llvmlite is not installed."""
    for function in (llvm._binding, llvm.host):
        function.cache_clear()
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    yield
    for function in (llvm._binding, llvm.host):
        function.cache_clear()


def test_without_llvmlite_native_code_is_refused(without_llvmlite):
    with pytest.raises(BackendError, match="native code needs llvmlite, which cannot be imported"):
        compile_program(inverse_program(chain(2)))


def test_an_llvmlite_that_is_too_old_is_named(without_llvmlite, monkeypatch):
    class Old:
        __version__ = "0.40.1"

    monkeypatch.setitem(sys.modules, "llvmlite", Old())
    monkeypatch.setitem(sys.modules, "llvmlite.binding", Old())
    with pytest.raises(BackendError, match=r"needs llvmlite 0\.41 or newer, found 0\.40\.1"):
        compile_program(inverse_program(chain(2)))


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


def test_llvm_is_not_loaded_before_a_kernel_is_compiled():
    code = (
        f"import sys; sys.path[:0] = [{PACKAGE!r}, {HELPERS!r}]; "
        "import robot_dynamics.compiler.kernel; assert 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
