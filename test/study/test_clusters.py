"""Workers beside this process, one of which is killed: nothing is lost, and nothing differs."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.study import in_process, on_dask, study

pytestmark = pytest.mark.thorough  # processes that import the package anew take seconds each


def test_a_study_survives_the_death_of_a_worker_and_is_the_same(plan, same):
    distributed = pytest.importorskip("distributed")
    plan = dataclasses.replace(plan, runs=6000, duration=2.0)
    alone = study(plan, in_process(1))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = []

        def kill_one(chunk, columns):
            if not killed:
                pids = client.run(os.getpid)
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)

        together = study(plan, on_dask(client=client), progress=kill_one)
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
    same(alone, together)


def _ended(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def test_a_scheduler_at_an_address_gives_the_same(plan, same):
    distributed = pytest.importorskip("distributed")
    alone = study(plan)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        same(alone, study(plan, on_dask(scheduler=cluster.scheduler_address)))
        with distributed.Client(cluster) as client:  # the same again, and of one worker that dies
            for _ in range(2):
                same(alone, study(plan, on_dask(client=client)))
            pid = next(iter(client.run(os.getpid).values()))
            same(
                alone,
                study(
                    plan, on_dask(client=client), progress=lambda *_: _ended(pid, signal.SIGKILL)
                ),
            )


def test_a_dask_array_of_states_goes_through_inverse_dynamics(planar):
    array = pytest.importorskip("dask.array")
    arm = Dynamics(planar)
    states = np.random.default_rng(0).normal(size=(1000, 6))
    chunked = array.from_array(states, chunks=(300, 6))
    tau = chunked.map_blocks(
        lambda x: arm.inverse(*np.split(x, 3, axis=1)), chunks=(300, 2), dtype=float
    )
    expected = arm.inverse(*np.split(states, 3, axis=1))
    assert np.array_equal(tau.compute(scheduler="threads"), expected)


def test_a_dask_dataframe_of_states_goes_through_inverse_dynamics(planar):
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    arm = Dynamics(planar)
    table = pandas.DataFrame(np.random.default_rng(0).normal(size=(1000, 6)))
    efforts = dataframe.from_pandas(table, npartitions=4).map_partitions(
        lambda p: pandas.DataFrame(arm.inverse(*np.split(p.to_numpy(), 3, axis=1)), p.index),
        meta=pandas.DataFrame(columns=range(2), dtype=float),
    )
    expected = arm.inverse(*np.split(table.to_numpy(), 3, axis=1))
    assert np.array_equal(efforts.compute(scheduler="processes").to_numpy(), expected)


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(tmp_path, planar):
    command = [
        *(sys.executable, "-m", "robot_dynamics", "study", "planar_2r", "--runs", "30000"),
        *(
            "--payload",
            "0..2",
            "--threads",
            "1",
            "--duration",
            "4",
            "--output",
            str(tmp_path / "a"),
        ),
    ]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    kept = tmp_path / "a" / "runs"
    until = time.monotonic() + 120.0
    while time.monotonic() < until and len(list(kept.glob("*.npz"))) < 3:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    shown, _ = running.communicate(timeout=120)
    assert running.returncode == 130
    done = len(list(kept.glob("*.npz")))
    assert 3 <= done < 59
    runs = min(512 * done, 30000)
    assert " ".join(shown.split()).endswith(
        f"stopped with {runs} of 30000 runs done; continue: robot-dynamics study "
        f"{tmp_path}/a/study.yaml --resume"
    )
    again = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert "30000 runs" in again.stdout
    assert not kept.exists()
    third = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert " ".join(third.stdout.split()) == (
        f"{tmp_path}/a: the study is finished, no run is left to resume; table: "
        f"{tmp_path}/a/runs.parquet"
    )
    command[-1] = str(tmp_path / "b")
    subprocess.run(command, capture_output=True, check=True)
    parquet = pytest.importorskip("pyarrow.parquet")
    a, b = (parquet.read_table(tmp_path / x / "runs.parquet") for x in "ab")
    assert a.equals(b)
