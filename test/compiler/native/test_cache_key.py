"""Kernels on disk: found again if nothing has changed that they were made of."""

import dataclasses
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics
from programs import (
    CompilerCalledError,
    assert_right,
    chain,
    compiler_called,
    inverse_program,
    kernels_in,
)
from robot_dynamics.compiler.native import cache, llvm
from robot_dynamics.compiler.native.native_kernel import compile_native

pytest.importorskip("llvmlite")

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])


def test_a_kernel_is_compiled_once(folder, short_arm, monkeypatch):
    assert_right(compile_native(inverse_program(short_arm)), short_arm)
    assert len(kernels_in(folder)) == 2  # one sample, and batches of doubles
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    assert_right(compile_native(inverse_program(short_arm)), short_arm)


def test_a_kernel_with_a_key_is_traced_once(folder, short_arm):
    traced = []

    def program():
        traced.append(1)
        return inverse_program(short_arm)

    assert_right(compile_native(program, key="arm"), short_arm)
    again = compile_native(program, key="arm")
    assert_right(again, short_arm)
    assert len(traced) == 1
    assert again.program.digest == inverse_program(short_arm).digest  # made when asked for
    assert len(traced) == 2


def test_kernels_that_differ_do_not_share_code(folder, short_arm):
    other = chain(3, seed=1)
    assert_right(compile_native(inverse_program(short_arm)), short_arm)
    assert_right(compile_native(inverse_program(other)), other)
    careful = compile_native(inverse_program(short_arm), finite=True)
    with pytest.raises(ValueError, match="must be finite"):
        careful(np.full(3, np.nan), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("change", ["llvm", "cpu", "features"])
def test_code_for_another_machine_or_compiler_is_not_used(folder, short_arm, monkeypatch, change):
    compile_native(inverse_program(short_arm))
    here = llvm.host()
    other = dataclasses.replace(here, **{change: getattr(here, change) + " other"})
    monkeypatch.setattr(llvm, "host", lambda: other)
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    with pytest.raises(CompilerCalledError):
        compile_native(inverse_program(short_arm))


def test_changed_sources_make_other_kernels(folder, short_arm, monkeypatch):
    compile_native(inverse_program(short_arm), key="arm")
    monkeypatch.setattr(cache, "source_fingerprint", lambda: "another version")
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    with pytest.raises(CompilerCalledError):
        compile_native(inverse_program(short_arm), key="arm")


@pytest.mark.parametrize("change", ["__version__", "numpy", "interface"])
def test_another_version_or_interpreter_makes_other_kernels(folder, short_arm, monkeypatch, change):
    compile_native(inverse_program(short_arm), key="arm")
    owner, name, value = {
        "__version__": (cache, "__version__", "99.0"),
        "numpy": (np, "__version__", "99.0"),
        "interface": (cache, "EXTENSION_SUFFIXES", [".another.so"]),
    }[change]
    monkeypatch.setattr(owner, name, value)
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    with pytest.raises(CompilerCalledError):
        compile_native(inverse_program(short_arm), key="arm")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of this package, to be changed."""
    copy = tmp_path_factory.mktemp("copied") / "robot_dynamics"
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(Path(robot_dynamics.__file__).parent, copy, ignore=ignored)


ADDED = "\n\ndef _twice(x):\n    return x + x\n"


def test_an_operation_more_in_any_package_makes_another_key(package):
    before = cache.fingerprint_of(package)
    folders = {file.parent for name in cache.PACKAGES for file in (package / name).rglob("*.py")}
    assert len(folders) > len(cache.PACKAGES)  # subfolders as well
    for folder in [package, *sorted(folders)]:
        file = max(folder.glob("*.py"), key=lambda file: file.stat().st_size)
        text = file.read_text()
        file.write_text(text + ADDED)
        assert cache.fingerprint_of(package) != before, folder
        file.write_text(text)
    assert cache.fingerprint_of(package) == before


def test_an_edit_of_the_same_length_at_the_same_time_makes_another_key(package):
    file = package / "spatial.py"
    before, text, state = cache.fingerprint_of(package), file.read_text(), file.stat()
    file.write_text(text.replace(" - ", " + "))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert file.stat().st_size == state.st_size
    assert cache.fingerprint_of(package) != before
    file.write_text(text)


def test_every_source_that_dynamics_and_the_step_import_is_in_the_key():
    code = (
        "import sys, robot_dynamics.dynamics.dynamics, robot_dynamics.dynamics.kernels\n"
        "import robot_dynamics.compiler.native.kernel_ir, robot_dynamics.reduction\n"
        "import robot_dynamics.control.step\n"
        "print(*[m.__file__ for n, m in sys.modules.items() if n.startswith('robot_dynamics')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": PACKAGE},
        capture_output=True,
        text=True,
        check=True,
    )
    root = Path(PACKAGE, "robot_dynamics")
    imported = {Path(name).relative_to(root) for name in done.stdout.split()}
    assert len(imported) > 40
    assert {f.parts[0] for f in imported if len(f.parts) > 1} <= set(cache.PACKAGES)


TORQUE = """
import sys
import numpy as np
from robot_dynamics import Dynamics, __file__, read_urdf
robot = read_urdf('<robot name="r"><link name="a"/><link name="b"><inertial><mass value="2"/>'
    '<origin xyz="0.5 0 0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '</link><joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
    '<axis xyz="0 0 1"/></joint></robot>')
assert ".zip" in __file__
print(float(Dynamics(robot).inverse(np.zeros(1), np.zeros(1), np.ones(1))[0]))
"""


def zipped(package, target):
    with zipfile.ZipFile(target, "w") as archive:
        for file in package.rglob("*"):
            archive.write(file, file.relative_to(package.parent))
    return target


@pytest.mark.thorough
def test_two_versions_in_zip_files_do_not_share_torques(package, folder, tmp_path):
    """B counts every inertia twice, and says of itself that it is the same version."""
    file = package / "dynamics/kernels.py"
    text = file.read_text()
    A = zipped(package, tmp_path / "A.zip")
    file.write_text(text.replace("return joints.efforts(", "return 2.0 * joints.efforts("))
    assert file.read_text() != text
    B = zipped(package, tmp_path / "B.zip")
    file.write_text(text)
    torques = [
        float(
            subprocess.run(
                [sys.executable, "-c", TORQUE],
                env={**os.environ, "PYTHONPATH": str(path), "ROBOT_DYNAMICS_CACHE": str(folder)},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for path in (A, B, A)
    ]
    assert torques == pytest.approx([1.5, 3.0, 1.5])
    assert len(kernels_in(folder)) == 2


def test_no_cache_is_no_cache(folder, short_arm):
    assert_right(compile_native(inverse_program(short_arm), use_cache=False), short_arm)
    assert not folder.exists()
