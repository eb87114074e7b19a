"""What docs/guarantees.md promises about pickles, copies, processes, threads and forks."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot

BOUND = 120.0  # s, for what takes a second: a hang is a failure and not a wait


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_urdf(find_robot("planar_2r")))


def states(count=5):
    return np.random.default_rng(1).normal(size=(count, 3, 2))


@pytest.mark.parametrize(
    "duplicate", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy]
)
@pytest.mark.parametrize("used", [False, True])
def test_a_copy_computes_the_same_and_is_compiled_for_itself(arm, duplicate, used):
    original = Dynamics(arm.robot, formulation="kane")
    if used:
        original.inverse(*states()[0])
        original.forward(*states()[0])
    twin = duplicate(original)
    assert type(twin) is Dynamics
    assert repr(twin) == repr(original)
    for state in states():
        np.testing.assert_array_equal(twin.inverse(*state), original.inverse(*state))
        np.testing.assert_array_equal(twin.forward(*state), original.forward(*state))


def test_a_pickle_holds_no_machine_code(arm):
    fresh = len(pickle.dumps(Dynamics(arm.robot)))
    arm.inverse(*states()[0])
    arm.inverse_derivatives(*states()[0])
    assert len(pickle.dumps(arm)) == fresh


def test_a_kernel_says_what_to_pickle_instead(arm):
    with pytest.raises(TypeError, match="code of this process; pickle or copy the Dynamics"):
        pickle.dumps(arm.kernel("inverse"))


@pytest.mark.parametrize("duplicate", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
@pytest.mark.parametrize("batch", [False, True])
def test_results_are_copied_with_their_names(arm, duplicate, batch):
    q, qd, qdd = states().transpose(1, 0, 2) if batch else states()[0]
    for result in (
        arm.pose(q, "endpoint"),
        arm.energy(q, qd),
        arm.inverse_derivatives(q, qd, qdd),
        arm.forward_derivatives(q, qd, qdd),
    ):
        twin = duplicate(result)
        assert type(twin) is type(result)
        for mine, theirs in zip(twin, result, strict=True):
            np.testing.assert_array_equal(mine, theirs)


# -- processes ------------------------------------------------------------------------------------


def compute(arm, state):
    return arm.inverse(*state).copy()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_pool_of_processes_computes_what_one_process_does(arm, method):
    expected = [compute(arm, state) for state in states()]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(arm.inverse, *states().transpose(1, 0, 2), timeout=BOUND))
    np.testing.assert_array_equal(found, expected)


def test_joblib_computes_over_processes(arm):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    run = joblib.Parallel(n_jobs=2, timeout=BOUND)
    found = run(joblib.delayed(arm.inverse)(*state) for state in states())
    np.testing.assert_array_equal(found, [compute(arm, state) for state in states()])


def test_dask_computes_over_processes(arm):
    dask = pytest.importorskip("dask", reason="dask is not installed")
    tasks = [dask.delayed(arm.inverse)(*state) for state in states()]
    found = dask.compute(*tasks, scheduler="processes", num_workers=2)
    np.testing.assert_array_equal(found, [compute(arm, state) for state in states()])


def test_a_method_pickles_with_its_robot(arm):
    arm.inverse(*states()[0])  # the entry has taken its place
    method = pickle.loads(pickle.dumps(arm.inverse))
    np.testing.assert_array_equal(method(*states()[1]), arm.inverse(*states()[1]))


FORKS = """
import faulthandler, os, sys, threading, time
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
import numpy as np

robot = read_urdf(find_robot("puma_gupta"))
started, stop = threading.Event(), threading.Event()

class SlowImport:  # a fork meets a thread in the middle of a late import
    def find_spec(self, name, path=None, target=None):
        if name == "numpy.random" and not started.is_set():
            started.set()
            time.sleep(0.5)

def compile_again_and_again():
    while not stop.is_set():
        Dynamics(robot, cache=False).inverse_derivatives(*np.zeros((3, 6)))

sys.meta_path.insert(0, SlowImport())
compiler = threading.Thread(target=compile_again_and_again, daemon=True)
compiler.start()
assert started.wait(BOUND), "numpy.random is not imported by the compiler any more"
for number in range(4):
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(BOUND, exit=True)  # says where it hangs
        Dynamics(robot, cache=False).inverse(*np.zeros((3, 6)))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, f"child {number} hung or failed"
    time.sleep(0.05)
stop.set()
compiler.join()
print("all came back")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_is_forked_while_another_thread_compiles_can_compile():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS.replace("BOUND", str(BOUND))],
        capture_output=True,
        text=True,
        timeout=6 * BOUND,  # each child has its own
        check=False,
    )
    assert done.stdout == "all came back\n", done.stderr


# -- threads --------------------------------------------------------------------------------------


def test_threads_share_one_robot(arm):
    many = states(200)
    expected = [compute(arm, state) for state in many]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = list(pool.map(lambda state: compute(arm, state), many))
            np.testing.assert_array_equal(found, expected)


def test_threads_that_ask_for_a_kernel_at_once_all_get_it(arm):
    fresh = Dynamics(arm.robot, cache=False)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: fresh.mass_matrix(states()[0, 0]).copy(), range(8)))
    for M in found:
        np.testing.assert_array_equal(M, arm.mass_matrix(states()[0, 0]))


# -- arguments and memory -------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [None, 4])
@pytest.mark.parametrize("used", [False, True])
def test_masked_entries_are_refused(arm, samples, used):
    shape = (2,) if samples is None else (samples, 2)
    q, zero = np.ma.masked_array(np.ones(shape)), np.zeros(shape)
    if used:
        arm.inverse(zero, zero, zero)
    np.testing.assert_array_equal(
        arm.inverse(q, zero, zero), arm.inverse(np.ones(shape), zero, zero)
    )
    with pytest.raises(ArgumentError, match="out is a masked array, whose mask would hide the res"):
        arm.inverse(zero, zero, zero, out=np.ma.masked_array(zero.copy()))
    q[..., 1] = np.ma.masked
    with pytest.raises(ArgumentError, match="q has masked entries; fill them, or leave those"):
        arm.inverse(q, zero, zero)


@pytest.mark.parametrize("samples", [None, 4])
@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_what_is_no_number_of_threads_is_refused_for_one_state_as_for_many(arm, samples, threads):
    motion = np.zeros((3, 2) if samples is None else (3, samples, 2))
    for call in (arm.inverse, arm.kernel("inverse")):
        call(*motion, threads=1)
        with pytest.raises(ArgumentError, match="threads must be a whole number from 1 on"):
            call(*motion, threads=threads)


def test_one_state_that_is_refused_leaves_the_array_of_the_caller_as_it_was(arm):
    out = np.full(2, 7.0)
    for call in (arm.inverse, arm.kernel("inverse")):
        with pytest.raises(ArgumentError, match="finite"):
            call(np.array([0.0, np.nan]), np.zeros(2), np.zeros(2), out=out)
        np.testing.assert_array_equal(out, 7.0)


def test_numbers_too_large_for_floating_point_give_no_error(arm):
    fast = np.full(2, 1e200)
    assert not np.isfinite(arm.inverse(np.ones(2), fast, np.zeros(2))).all()
    assert not np.isfinite(
        arm.inverse(np.ones((9, 2)), np.tile(fast, (9, 1)), np.zeros((9, 2)))
    ).all()
