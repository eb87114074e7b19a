"""The names that the package promises; docs/guarantees.md says what a promise is."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics
from robot_dynamics import Dynamics, Robot, read_urdf
from robot_dynamics.robot import find_robot

PACKAGE = {"Dynamics", "Robot", "__version__", "read_urdf"}
DYNAMICS = {
    *("robot", "formulation", "kernel", "program", "equations"),
    *("inverse", "bias", "gravity", "mass_matrix", "inverse_derivatives"),
    *("inverse_second_derivatives", "forward_second_derivatives", "inverse_rates"),
    *("forward", "forward_derivatives", "energy", "momentum", "regressor", "base_parameters"),
    *("pose", "jacobian", "jacobian_derivative", "drift", "vector", "named"),
    *("as_casadi", "as_jax", "as_torch"),
    *("operation_count", "source", "c_source", "cpp_header", "python_source"),
    *("base", "on_moving_base", "neutral", "integrate", "difference"),
    *("centre_of_mass", "centroidal_matrix", "centroidal_momentum"),
}
ROBOT = {
    *("name", "links", "joints", "gravity", "frames", "tips", "dof", "joint_names", "limits"),
    *("with_gravity", "with_locked", "with_payload", "subchain", "mounted"),
    *("with_floating_base", "with_planar_base", "with_fixed_base", "nq"),
}


@pytest.fixture(scope="module")
def planar():
    return read_urdf(find_robot("planar_2r"))


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_package_exports_what_it_promises():
    assert set(robot_dynamics.__all__) == PACKAGE
    for name in PACKAGE:
        assert getattr(robot_dynamics, name) is not None


@pytest.mark.parametrize(
    "module", ["", ".dynamics", ".kinematics", ".control", ".trajectory", ".simulation"]
)
def test_dir_lists_names_that_are_imported_late(module):
    code = f"import robot_dynamics{module} as m; print(set(m.__all__) - set(dir(m)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_every_public_package_has_a_page_of_the_api():
    root = Path(__file__).parents[1]
    hooks = (root / "docs" / "site_hooks.py").read_text(encoding="utf-8")
    menu = (root / "mkdocs.yml").read_text(encoding="utf-8")
    for path in (root / "robot_dynamics").rglob("__init__.py"):
        if "\n__all__ = " in path.read_text(encoding="utf-8"):
            module = ".".join(path.parent.relative_to(root).parts)
            assert f'"{module}",' in hooks
            assert f"api/{module}.md" in menu


def test_dynamics_has_the_methods_that_it_promises_and_no_others(planar):
    assert public(Dynamics(planar)) == DYNAMICS


def test_a_robot_has_the_methods_that_it_promises(planar):
    assert public(planar) >= ROBOT
    assert isinstance(planar, Robot)


def test_importing_the_package_imports_no_library():
    code = "import sys, robot_dynamics; print('numpy' in sys.modules, 'llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_what_a_kernel_on_disk_does_without_is_not_imported(tmp_path):
    """Equations, what writes code of them, and numpy.ma take a third of the time to a torque."""
    late = (
        "dynamics.kernels",
        "reduction",
        "algorithms.derivatives",
        "kinematics",
        "compiler.source",
    )
    late += (
        "compiler.graph.expression",
        "compiler.native.ir",
        "compiler.native.entry.entry_code",
    )
    modules = ["numpy.ma", *(f"robot_dynamics.{name}" for name in late)]
    code = (
        "import sys; from robot_dynamics import Dynamics, read_urdf\n"
        "from robot_dynamics.robot import find_robot\n"
        "Dynamics(read_urdf(find_robot('planar_2r'))).gravity([0.1, 0.2])\n"
        f"print([name for name in {modules} if name in sys.modules])"
    )
    environment = {**os.environ, "ROBOT_DYNAMICS_CACHE": str(tmp_path / "cache")}

    def imported() -> str:
        command = [sys.executable, "-c", code]
        run = functools.partial(subprocess.run, capture_output=True, text=True, check=True)
        return run(command, env=environment).stdout

    assert "robot_dynamics.dynamics.kernels" in imported()
    assert imported() == "[]\n"


def test_the_library_works_without_what_prints_and_draws():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from robot_dynamics import Dynamics, read_urdf\n"
        "from robot_dynamics.robot import find_robot\n"
        "print(Dynamics(read_urdf(find_robot('planar_2r'))).gravity([0.0, 0.0]).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(2,)\n"
