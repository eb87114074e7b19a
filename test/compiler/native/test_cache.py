"""Kernels on disk: never wrong, never in the way, and none that others have put there."""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics
from programs import assert_right, chain, inverse_program, kernels_in
from robot_dynamics.compiler.native import cache
from robot_dynamics.compiler.native.native_kernel import compile_native

pytest.importorskip("llvmlite")

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
HELPERS = str(Path(__file__).parents[2] / "helpers")
DESCRIPTORS = "/proc/self/fd"


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


def test_an_empty_variable_turns_the_cache_off(monkeypatch, short_arm):
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "")
    assert cache.folder() is None
    assert_right(compile_native(inverse_program(short_arm)), short_arm)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_user_can_read_and_write(folder, short_arm):
    compile_native(inverse_program(short_arm))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kernels_in(folder)} == {0o600}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_others_can_write_to_is_not_trusted(folder, short_arm, caplog):
    caplog.set_level(logging.DEBUG, cache.__name__)
    folder.mkdir()
    folder.chmod(0o777)
    for _ in range(2):
        assert_right(compile_native(inverse_program(short_arm)), short_arm)
    assert not kernels_in(folder)
    expected = f"kernels are not cached in {folder}: others can write there; 'chmod 700' it"
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


def opened():
    """Paths of what this process holds open."""
    paths = []
    for descriptor in os.listdir(DESCRIPTORS):
        with contextlib.suppress(FileNotFoundError):  # of another thread, or of the list itself
            paths.append(os.readlink(f"{DESCRIPTORS}/{descriptor}"))
    return paths


@pytest.mark.skipif(not os.path.isdir(DESCRIPTORS), reason="needs the /proc of Linux")
def test_a_folder_in_the_place_of_a_kernel_is_named_once(folder, short_arm, caplog):
    compile_native(inverse_program(short_arm))
    (file,) = kernels_in(folder)
    file.unlink()
    (file / "held").mkdir(parents=True)
    for _ in range(3):
        assert_right(compile_native(inverse_program(short_arm)), short_arm)
    assert not [path for path in opened() if path.startswith(str(folder))]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{file} is a folder in the place of a kernel, which is compiled each time; remove it"
    ]


def test_a_file_under_the_name_of_another_is_not_read(folder, short_arm):
    other = chain(3, seed=1)
    compile_native(inverse_program(short_arm), key="arm")
    (mine,) = kernels_in(folder)
    compile_native(inverse_program(other), key="other")
    (its,) = set(kernels_in(folder)) - {mine}
    its.write_bytes(mine.read_bytes())
    its.chmod(0o600)
    assert_right(compile_native(inverse_program(other), key="other"), other)


def test_a_file_of_an_older_format_is_built_again(folder, short_arm):
    compile_native(inverse_program(short_arm))
    (file,) = kernels_in(folder)
    good = file.read_bytes()
    payload = good[len(cache._MAGIC) + 32 :]
    older = b"robot_dynamics kernel 1\n" + hashlib.sha256(payload).digest() + payload
    file.write_bytes(older)
    assert_right(compile_native(inverse_program(short_arm)), short_arm)
    assert file.read_bytes() == good


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_that_is_not_trusted_is_replaced_by_one_that_is(folder, short_arm):
    compile_native(inverse_program(short_arm))
    (file,) = kernels_in(folder)
    file.chmod(0o666)
    assert_right(compile_native(inverse_program(short_arm)), short_arm)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


# -- damage and obstacles -------------------------------------------------------------------------


def test_a_file_with_a_flipped_bit_is_built_again(folder, short_arm):
    compile_native(inverse_program(short_arm))
    (file,) = kernels_in(folder)
    good = file.read_bytes()
    # The start of the file, its checksum, its text and its code
    for position in (0, 30, 70, 200, len(good) // 2, len(good) - 1):
        file.write_bytes(good[:position] + bytes([good[position] ^ 0x10]) + good[position + 1 :])
        kernel = compile_native(inverse_program(short_arm))
        assert_right(kernel, short_arm)
        assert file.read_bytes() == good


@pytest.mark.parametrize("length", [0, 10, 60, 300])
def test_a_file_that_was_cut_off_is_built_again(folder, short_arm, length):
    compile_native(inverse_program(short_arm))
    (file,) = kernels_in(folder)
    good = file.read_bytes()
    file.write_bytes(good[:length])
    assert_right(compile_native(inverse_program(short_arm)), short_arm)
    assert file.read_bytes() == good


@pytest.mark.parametrize("base", ["/proc", "/dev/null"])
@pytest.mark.parametrize(
    ("variable", "level"),
    [("XDG_CACHE_HOME", logging.DEBUG), ("ROBOT_DYNAMICS_CACHE", logging.WARNING)],
)
def test_a_folder_that_cannot_be_made_means_no_cache_and_one_line(
    base, variable, level, short_arm, monkeypatch, caplog
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
        assert_right(compile_native(inverse_program(short_arm)), short_arm)
    lines = [r for r in caplog.records if r.name == cache.__name__]
    assert len(lines) == 1
    assert lines[0].levelno == level
    assert lines[0].getMessage().startswith(f"kernels are not cached in {where}: ")


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


def test_a_read_only_disk_is_read_but_not_written(short_arm, folder, caplog):
    caplog.set_level(logging.DEBUG, cache.__name__)
    with disk(folder, "mode=700"):
        compile_native(inverse_program(short_arm))
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        kernel = compile_native(inverse_program(short_arm))
        assert_right(kernel, short_arm)  # needs code for batches too
        assert_right(compile_native(inverse_program(chain(2))), chain(2))
        assert len(kernels_in(folder)) == 1
    assert caplog.text.count("Read-only file system") == 1


def test_a_full_disk_means_no_cache(short_arm, folder, caplog):
    caplog.set_level(logging.DEBUG, cache.__name__)
    with disk(folder, "size=8k,mode=700"):
        assert_right(compile_native(inverse_program(short_arm)), short_arm)
        assert_right(compile_native(inverse_program(chain(4))), chain(4))
        assert list(folder.iterdir()) == []  # nor does half a file stay
    assert caplog.text.count("No space left on device") == 1


def test_a_write_that_fails_half_way_means_no_cache(folder, short_arm, monkeypatch, caplog):
    """The same without the right to mount: the file system says at the last moment."""
    caplog.set_level(logging.DEBUG, cache.__name__)

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert_right(compile_native(inverse_program(short_arm)), short_arm)
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


@pytest.mark.thorough
def test_processes_that_build_the_same_robot_at_once_agree(folder, short_arm):
    builders = [start(folder, BUILD) for _ in range(4)]
    for builder in builders:
        assert builder.stdout.readline() == "ready\n"
    for builder in builders:
        builder.stdin.write("\n")
        builder.stdin.flush()
    answers = {builder.communicate()[0] for builder in builders}
    assert [builder.returncode for builder in builders] == [0] * 4
    assert len(answers) == 1
    assert len(kernels_in(folder)) == 2
    assert not list(folder.glob(".*"))
    assert_right(compile_native(inverse_program(short_arm)), short_arm)


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


KILLED_IN_A_WRITE = 5


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_process_killed_while_it_writes_leaves_nothing_half_done(folder):
    key, left = cache.key_of("victim"), set()
    for _ in range(100):  # one that is killed at once has mostly not come to the end of its write
        victim = subprocess.Popen(
            [sys.executable, "-c", SLOW_WRITER, key],
            env={**os.environ, "ROBOT_DYNAMICS_CACHE": str(folder)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert victim.stdout.readline() == "stored\n"
        while left.issuperset(folder.glob(".*.tmp")):
            assert victim.poll() is None
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        victim.stdout.close()
        left.update(folder.glob(".*.tmp"))
        found = cache.load(key)  # whole, with the right checksum, whenever it was killed
        assert found is not None
        assert len(found[1]) == 2**20
        if len(left) == KILLED_IN_A_WRITE:
            return
    pytest.fail(f"of 100 processes {len(left)} were killed in the middle of a write")


def test_files_that_killed_processes_left_are_tidied_up(folder, short_arm):
    folder.mkdir(mode=0o700)
    left, fresh = folder / ".a.1.tmp", folder / ".b.2.tmp"
    left.write_text("")
    fresh.write_text("")
    os.utime(left, (1.0, 1.0))
    compile_native(inverse_program(short_arm))
    assert not left.exists()
    assert fresh.exists()


def test_the_oldest_kernels_go_when_there_are_too_many(folder, monkeypatch):
    monkeypatch.setattr(cache, "_LARGEST_BYTES", 5_000)
    for k in range(6):
        cache.store(f"key{k}", {}, bytes(1000))
        os.utime(folder / f"key{k}.kernel", (k + 1.0, k + 1.0))
    left = [cache.load(f"key{k}") is not None for k in range(6)]
    assert left[-1]
    assert not left[0]
    assert sum(file.stat().st_size for file in kernels_in(folder)) <= 5_000
