"""Worker processes: the same table, no port, and an end within a second."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.study import in_process, in_processes, study


def _children():
    return [int(x) for x in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def _sockets(pid):
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(link))
    return {link[8:-1] for link in links if link.startswith("socket:")}


def _listening():
    """Inodes of sockets that others can connect to: TCP (state 0A) and named Unix sockets."""
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    found = {row[9] for row in rows if row[3] == "0A"}
    unix = (line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:])
    return found | {row[6] for row in unix if len(row) > 7}


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_give_the_same_table_survive_a_death_and_open_no_port(plan, same):
    with socket.create_server(("127.0.0.1", 0)):  # the test finds a port where there is one
        assert _sockets(os.getpid()) & _listening()
    before, seen = set(_children()), []

    def look(chunk, columns):
        workers = set(_children()) - before
        for pid in (os.getpid(), *workers):
            assert not _sockets(pid) & _listening() or pid == os.getpid()
        if not seen:
            for pid in workers:
                if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text():
                    os.kill(pid, signal.SIGKILL)
                    break
        seen.append(chunk)

    ours = _sockets(os.getpid()) & _listening()
    same(study(plan, in_process(1)), study(plan, in_processes(2), progress=look))
    assert len(seen) == 4
    assert _sockets(os.getpid()) & _listening() == ours


def test_workers_end_with_the_study(plan):
    before, results = set(_children()), in_processes(1)(plan, [(0, 0, 4), (0, 4, 8)])
    with pytest.raises(AttributeError):  # a fault of a worker reaches the caller
        next(results)
    results.close()
    left = {p for p in set(_children()) - before
            if "spawn_main" in Path(f"/proc/{p}/cmdline").read_text()}  # fmt: skip
    assert not left


def test_fewer_than_one_worker_is_refused():
    with pytest.raises(ArgumentError) as refused:
        in_processes(0)
    assert str(refused.value) == "workers is 0; give at least one"


ENDLESS = ["--runs", "4096", "--payload", "0..2", "--duration", "600", "--rate", "4000"]
ENDS_S = 1.0  # promised, on a processor of its own


def _spent(pid):
    """Processor time of a process, s, also of one that has ended and was not waited for."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.thorough
@pytest.mark.parametrize("how", [["--threads", "1"], ["--workers", "2"]])
def test_ctrl_c_ends_a_study_within_a_second(how, tmp_path):
    command = [sys.executable, "-m", "robot_dynamics", "study", "planar_2r", *ENDLESS, *how]
    running = subprocess.Popen(
        [*command, "--output", str(tmp_path)],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (tmp_path / "study.yaml").exists():  # it is written before the first run
        assert running.poll() is None
        time.sleep(0.05)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(2.0)
    before = _spent(running.pid)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal sends it
    until, ended = time.monotonic() + 60.0, os.WEXITED | os.WNOWAIT | os.WNOHANG
    while not os.waitid(os.P_PID, running.pid, ended) and time.monotonic() < until:
        time.sleep(0.01)
    took = _spent(running.pid) - before
    os.killpg(running.pid, signal.SIGKILL)  # what went on is a failure, and no hang of the tests
    _, error = running.communicate()
    assert running.returncode == 130
    assert b"Traceback" not in error
    assert took < ENDS_S
