"""Kernels on disk: found again, never wrong, never in the way."""

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics
from programs import chain, inverse_of, inverse_program, random_inputs
from robot_dynamics.compiler.native import cache, cache_key, llvm
from robot_dynamics.compiler.native.native_kernel import compile_native

pytest.importorskip("llvmlite")

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
HELPERS = str(Path(__file__).parents[2] / "helpers")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of its own for every test."""
    place = tmp_path / "cache"
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", str(place))
    cache._say_once.cache_clear()
    return place


@pytest.fixture
def arm():
    return chain(3)


def assert_right(kernel, arm):
    """Efforts of one and of many samples, against the plain equations (round-off: 1e-13)."""
    q, qd, qdd = random_inputs(kernel.inputs, seed=1, samples=9)
    expected = np.array([inverse_of(arm)(*row)["tau"] for row in zip(q, qd, qdd, strict=True)])
    np.testing.assert_allclose(kernel(q, qd, qdd), expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(kernel(q[0], qd[0], qdd[0]), expected[0], rtol=0, atol=1e-11)


class CompilerCalledError(Exception):
    pass


def compiler_called(*_, **__):
    raise CompilerCalledError


def kernels_in(folder):
    return sorted(folder.glob("*.kernel"))


# -- finding kernels again ------------------------------------------------------------------------


def test_a_kernel_is_compiled_once(folder, arm, monkeypatch):
    assert_right(compile_native(inverse_program(arm)), arm)
    assert len(kernels_in(folder)) == 2  # one sample, and batches of doubles
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    assert_right(compile_native(inverse_program(arm)), arm)


def test_a_kernel_with_a_key_is_traced_once(folder, arm):
    traced = []

    def program():
        traced.append(1)
        return inverse_program(arm)

    assert_right(compile_native(program, key="arm"), arm)
    again = compile_native(program, key="arm")
    assert_right(again, arm)
    assert len(traced) == 1
    assert again.program.digest == inverse_program(arm).digest  # made when asked for
    assert len(traced) == 2


def test_kernels_that_differ_do_not_share_code(folder, arm):
    other = chain(3, seed=1)
    assert_right(compile_native(inverse_program(arm)), arm)
    assert_right(compile_native(inverse_program(other)), other)
    careful = compile_native(inverse_program(arm), finite=True)
    with pytest.raises(ValueError, match="must be finite"):
        careful(np.full(3, np.nan), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("change", ["llvm", "cpu", "features"])
def test_code_for_another_machine_or_compiler_is_not_used(folder, arm, monkeypatch, change):
    compile_native(inverse_program(arm))
    here = llvm.host()
    other = dataclasses.replace(here, **{change: getattr(here, change) + " other"})
    monkeypatch.setattr(llvm, "host", lambda: other)
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    with pytest.raises(CompilerCalledError):
        compile_native(inverse_program(arm))


def test_changed_sources_make_other_kernels(folder, arm, monkeypatch):
    compile_native(inverse_program(arm), key="arm")
    monkeypatch.setattr(cache_key, "source_fingerprint", lambda: "another version")
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    with pytest.raises(CompilerCalledError):
        compile_native(inverse_program(arm), key="arm")


@pytest.mark.parametrize("change", ["__version__", "numpy", "interface"])
def test_another_version_or_interpreter_makes_other_kernels(folder, arm, monkeypatch, change):
    compile_native(inverse_program(arm), key="arm")
    owner, name, value = {
        "__version__": (cache_key, "__version__", "99.0"),
        "numpy": (np, "__version__", "99.0"),
        "interface": (sysconfig, "get_config_var", lambda name: "another"),
    }[change]
    monkeypatch.setattr(owner, name, value)
    monkeypatch.setattr(llvm, "compile_object", compiler_called)
    with pytest.raises(CompilerCalledError):
        compile_native(inverse_program(arm), key="arm")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of this package, to be changed."""
    copy = tmp_path_factory.mktemp("copied") / "robot_dynamics"
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(Path(robot_dynamics.__file__).parent, copy, ignore=ignored)


ADDED = "\n\ndef _twice(x):\n    return x + x\n"


def test_an_operation_more_in_any_room_makes_another_key(package):
    before = cache_key.fingerprint_of(package)
    rooms = {file.parent for room in cache_key.ROOMS for file in (package / room).rglob("*.py")}
    assert len(rooms) > len(cache_key.ROOMS)  # folders within rooms as well
    for room in [package, *sorted(rooms)]:
        file = max(room.glob("*.py"), key=lambda file: file.stat().st_size)
        text = file.read_text()
        file.write_text(text + ADDED)
        assert cache_key.fingerprint_of(package) != before, room
        file.write_text(text)
    assert cache_key.fingerprint_of(package) == before


def test_an_edit_of_the_same_length_at_the_same_time_makes_another_key(package):
    file = package / "spatial" / "vectors.py"
    before, text, state = cache_key.fingerprint_of(package), file.read_text(), file.stat()
    file.write_text(text.replace(" - ", " + "))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert file.stat().st_size == state.st_size
    assert cache_key.fingerprint_of(package) != before
    file.write_text(text)


def test_every_source_that_dynamics_imports_is_in_the_key():
    code = (
        "import sys, robot_dynamics.dynamics\n"
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
    assert len(imported) > 50
    assert {f.parts[0] for f in imported if len(f.parts) > 1} <= set(cache_key.ROOMS)


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


def test_two_versions_in_zip_files_do_not_share_torques(package, folder, tmp_path):
    """B counts every inertia twice, and says of itself that it is the same version."""
    file = package / "kernels.py"
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


def test_no_cache_is_no_cache(folder, arm):
    assert_right(compile_native(inverse_program(arm), use_cache=False), arm)
    assert not folder.exists()


# -- where it lies --------------------------------------------------------------------------------


def test_the_folder_is_that_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("ROBOT_DYNAMICS_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "robot_dynamics"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.folder() == Path("/home/me/.cache/robot_dynamics")


def test_a_tilde_means_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "~/kernels")
    assert cache.folder() == Path("/home/me/kernels")


def test_an_empty_variable_turns_the_cache_off(monkeypatch, arm):
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "")
    assert cache.folder() is None
    assert_right(compile_native(inverse_program(arm)), arm)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_user_can_read_and_write(folder, arm):
    compile_native(inverse_program(arm))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kernels_in(folder)} == {0o600}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_others_can_write_to_is_not_trusted(folder, arm, caplog):
    caplog.set_level(logging.DEBUG, cache.__name__)
    folder.mkdir()
    folder.chmod(0o777)
    for _ in range(2):
        assert_right(compile_native(inverse_program(arm)), arm)
    assert not kernels_in(folder)
    expected = f"kernels are not kept in {folder}: others can write there; 'chmod 700' it"
    assert [r.getMessage() for r in caplog.records if r.name == cache.__name__] == [expected]


# -- what others have put there: none of it is ever run -------------------------------------------


def forged(folder, key, about, code):
    """A file as this package writes it, with whatever content."""
    payload = json.dumps(about).encode() + b"\n" + code
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{key}.kernel"
    file.write_bytes(cache._MAGIC + cache._digest(key, payload) + payload)
    file.chmod(0o600)
    return file


def test_a_forged_file_that_only_the_user_can_have_written_is_read(folder):
    """So that the tests below fail for the reason that they name."""
    forged(folder, "victim", {"name": "x"}, b"planted")
    assert cache.load("victim") == ({"name": "x"}, b"planted")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_can_write_to_is_not_read(folder, mode):
    forged(folder, "victim", {"name": "x"}, b"planted").chmod(mode)
    assert cache.load("victim") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the superuser")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444])
def test_a_file_of_another_user_is_not_read(folder, mode):
    """As after the `chmod 700` of a folder that everybody could write to."""
    file = forged(folder, "victim", {"name": "x"}, b"planted")
    file.chmod(mode)
    os.chown(file, 65534, -1)
    assert cache.load("victim") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the superuser")
def test_a_folder_of_another_user_is_not_read(folder):
    forged(folder, "victim", {"name": "x"}, b"planted")
    os.chown(folder, 65534, -1)
    assert cache.load("victim") is None


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_not_read(folder, tmp_path, kind):
    file = forged(folder, "victim", {"name": "x"}, b"planted")
    if kind == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.unlink()
        os.mkfifo(file, 0o600) if kind == "pipe" else file.mkdir(0o700)
    assert cache.load("victim") is None


def test_a_file_under_the_name_of_another_is_not_read(folder, arm):
    other = chain(3, seed=1)
    compile_native(inverse_program(arm), key="arm")
    (mine,) = kernels_in(folder)
    compile_native(inverse_program(other), key="other")
    (its,) = set(kernels_in(folder)) - {mine}
    its.write_bytes(mine.read_bytes())
    its.chmod(0o600)
    assert_right(compile_native(inverse_program(other), key="other"), other)


def test_a_file_of_an_older_format_is_built_again(folder, arm):
    compile_native(inverse_program(arm))
    (file,) = kernels_in(folder)
    good = file.read_bytes()
    payload = good[len(cache._MAGIC) + 32 :]
    older = b"robot_dynamics kernel 1\n" + hashlib.sha256(payload).digest() + payload
    file.write_bytes(older)
    assert_right(compile_native(inverse_program(arm)), arm)
    assert file.read_bytes() == good


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_that_is_not_trusted_is_replaced_by_one_that_is(folder, arm):
    compile_native(inverse_program(arm))
    (file,) = kernels_in(folder)
    file.chmod(0o666)
    assert_right(compile_native(inverse_program(arm)), arm)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


# -- damage and obstacles -------------------------------------------------------------------------


def test_a_file_with_a_flipped_bit_is_built_again(folder, arm):
    compile_native(inverse_program(arm))
    (file,) = kernels_in(folder)
    good = file.read_bytes()
    # The start of the file, its checksum, its text and its code
    for position in (0, 30, 70, 200, len(good) // 2, len(good) - 1):
        file.write_bytes(good[:position] + bytes([good[position] ^ 0x10]) + good[position + 1 :])
        kernel = compile_native(inverse_program(arm))
        assert_right(kernel, arm)
        assert file.read_bytes() == good


@pytest.mark.parametrize("length", [0, 10, 60, 300])
def test_a_file_that_was_cut_off_is_built_again(folder, arm, length):
    compile_native(inverse_program(arm))
    (file,) = kernels_in(folder)
    good = file.read_bytes()
    file.write_bytes(good[:length])
    assert_right(compile_native(inverse_program(arm)), arm)
    assert file.read_bytes() == good


@pytest.mark.parametrize("base", ["/proc", "/dev/null"])
@pytest.mark.parametrize(
    ("variable", "level"),
    [("XDG_CACHE_HOME", logging.DEBUG), ("ROBOT_DYNAMICS_CACHE", logging.WARNING)],
)
def test_a_folder_that_cannot_be_made_means_no_cache_and_one_line(
    base, variable, level, arm, monkeypatch, caplog
):
    """Stands for a home that is read-only, which means nothing to the superuser of a container."""
    if not Path(base).exists():
        pytest.skip(f"no {base} on this machine")
    where = f"{base}/robot_dynamics"
    caplog.set_level(logging.DEBUG, cache.__name__)
    cache._say_once.cache_clear()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("ROBOT_DYNAMICS_CACHE", raising=False)
    monkeypatch.setenv(variable, base if variable == "XDG_CACHE_HOME" else where)
    for _ in range(2):
        assert_right(compile_native(inverse_program(arm)), arm)
    lines = [r for r in caplog.records if r.name == cache.__name__]
    assert len(lines) == 1
    assert lines[0].levelno == level
    assert lines[0].getMessage().startswith(f"kernels are not kept in {where}: ")


@contextlib.contextmanager
def disk(place, options):
    """A file system in memory at that place; the test is skipped where that is not permitted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting a disk is not permitted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_read_only_disk_is_read_but_not_written(arm, folder, caplog):
    caplog.set_level(logging.DEBUG, cache.__name__)
    with disk(folder, "mode=700"):
        compile_native(inverse_program(arm))
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        assert_right(compile_native(inverse_program(arm)), arm)  # needs code for batches too
        assert_right(compile_native(inverse_program(chain(2))), chain(2))
        assert len(kernels_in(folder)) == 1
    assert caplog.text.count("Read-only file system") == 1


def test_a_full_disk_means_no_cache(arm, folder, caplog):
    caplog.set_level(logging.DEBUG, cache.__name__)
    with disk(folder, "size=8k,mode=700"):
        assert_right(compile_native(inverse_program(arm)), arm)
        assert_right(compile_native(inverse_program(chain(4))), chain(4))
        assert list(folder.iterdir()) == []  # nor does half a file stay
    assert caplog.text.count("No space left on device") == 1


def test_a_write_that_fails_half_way_means_no_cache(folder, arm, monkeypatch, caplog):
    """The same without the right to mount: the file system says at the last moment."""
    caplog.set_level(logging.DEBUG, cache.__name__)

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert_right(compile_native(inverse_program(arm)), arm)
    assert "No space left on device" in caplog.text
    assert list(folder.iterdir()) == []


# -- several processes ----------------------------------------------------------------------------

BUILD = f"""
import sys
sys.path[:0] = [{PACKAGE!r}, {HELPERS!r}]
from programs import chain, inverse_program
from robot_dynamics.compiler.native.native_kernel import compile_native
import numpy as np
print("ready", flush=True)
input()
kernel = compile_native(inverse_program(chain(3)))
ones = np.ones((9, 3))
print(float(kernel(ones, ones, ones).sum()), flush=True)
"""


def start(folder, code):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "ROBOT_DYNAMICS_CACHE": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_that_build_the_same_robot_at_once_agree(folder, arm):
    builders = [start(folder, BUILD) for _ in range(8)]
    for builder in builders:
        assert builder.stdout.readline() == "ready\n"
    for builder in builders:
        builder.stdin.write("\n")
        builder.stdin.flush()
    answers = {builder.communicate()[0] for builder in builders}
    assert [builder.returncode for builder in builders] == [0] * 8
    assert len(answers) == 1
    assert len(kernels_in(folder)) == 2
    assert not list(folder.glob(".*"))
    assert_right(compile_native(inverse_program(arm)), arm)


SLOW_WRITER = f"""
import sys
sys.path[:0] = [{PACKAGE!r}]
import os
from robot_dynamics.compiler.native import cache
content = os.urandom(2**20)
while True:
    cache.store(sys.argv[1], {{"name": "x"}}, content)
    print("stored", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_process_killed_while_it_writes_leaves_nothing_half_done(folder):
    rng = np.random.default_rng(0)
    key = cache.key_of("victim")
    complete = unfinished = 0
    for _ in range(12):
        victim = subprocess.Popen(
            [sys.executable, "-c", SLOW_WRITER, key],
            env={**os.environ, "ROBOT_DYNAMICS_CACHE": str(folder)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert victim.stdout.readline() == "stored\n"
        time.sleep(rng.uniform(0.0, 0.01))  # anywhere in one of the next writes
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        victim.stdout.close()
        found = cache.load(key)  # whole, with the right checksum, whenever it was killed
        assert found is not None
        assert len(found[1]) == 2**20
        complete += 1
        unfinished += len(list(folder.glob(".*.tmp")))
    assert complete == 12
    assert unfinished > 0  # some were killed in the middle of a write


def test_files_that_killed_processes_left_are_tidied_up(folder, arm):
    folder.mkdir(mode=0o700)
    left, fresh = folder / ".a.1.tmp", folder / ".b.2.tmp"
    left.write_text("")
    fresh.write_text("")
    os.utime(left, (1.0, 1.0))
    compile_native(inverse_program(arm))
    assert not left.exists()
    assert fresh.exists()


def test_the_oldest_kernels_go_when_there_are_too_many(folder, monkeypatch):
    monkeypatch.setattr(cache, "_LARGEST", 5_000)
    for k in range(6):
        cache.store(f"key{k}", {}, bytes(1000))
        os.utime(folder / f"key{k}.kernel", (k + 1.0, k + 1.0))
    left = [cache.load(f"key{k}") is not None for k in range(6)]
    assert left[-1]
    assert not left[0]
    assert sum(file.stat().st_size for file in kernels_in(folder)) <= 5_000
