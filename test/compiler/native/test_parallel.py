"""Blocks on threads: all of the work, once, and a way out."""

import os
import signal
import threading
import time

import pytest

from robot_dynamics.compiler.native.parallel import processors, run_blocks


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(("count", "block"), [(0, 5), (1, 5), (5, 5), (23, 5), (1000, 1)])
def test_every_sample_is_done_once(threads, count, block):
    done = []

    def work(start, stop):
        done.extend(range(start, stop))
        return stop - start

    assert run_blocks(work, count, block, threads) is None
    assert sorted(done) == list(range(count))


@pytest.mark.parametrize("threads", [1, 3])
def test_work_that_gives_up_stops_the_rest_and_says_where(threads):
    started = []

    def work(start, stop):
        started.append(start)
        time.sleep(0.001)
        return 3 if start == 20 else stop - start

    assert run_blocks(work, 10_000, 10, threads) == 23
    assert len(started) < 200


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_the_work_between_two_blocks(threads, request):
    """As Ctrl-C does: the main thread gets the signal, and nobody works on afterwards."""
    # A process started in the background ignores the signal, and so would this test
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    running = []

    def work(start, stop):
        running.append(threading.get_ident())
        if len(running) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.002)
        return stop - start

    with pytest.raises(KeyboardInterrupt):
        run_blocks(work, 10_000, 1, threads)
    after = len(running)
    time.sleep(0.05)
    assert len(running) == after < 1000


def test_an_error_in_one_thread_comes_out():
    def work(start, stop):
        if start == 7:
            raise RuntimeError("broken")
        return stop - start

    with pytest.raises(RuntimeError, match="broken"):
        run_blocks(work, 20, 1, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    def work(start, stop):
        time.sleep(0.001)
        return stop - start

    run_blocks(work, 10, 1, 2)  # the parent's helpers exist
    child = os.fork()
    if child == 0:
        os._exit(0 if run_blocks(work, 10, 1, 2) is None else 1)
    deadline = time.monotonic() + 120.0  # a hang, and not a busy machine
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert status == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child waits for threads that it does not have")


def test_there_is_at_least_one_processor():
    assert processors() >= 1
