"""Files of a study: in whole or not at all."""

import dataclasses
import io

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.study import Chunk, study
from robot_dynamics.study.runs import run_chunk
from robot_dynamics.study.study_files import StudyFolder, read_gains


def _npz(columns):
    made = io.BytesIO()
    np.savez(made, **columns)
    return made.getvalue()


def test_what_was_done_is_found_again_unless_it_is_damaged_or_of_another_study(tmp_path, plan):
    folder = StudyFolder(tmp_path, plan)
    chunks = [Chunk(0, 0, 4), Chunk(0, 4, 6), Chunk(1, 0, 4)]
    for chunk in chunks[:2]:
        folder.save(chunk, run_chunk(plan, chunk))
    first, good = sorted((tmp_path / "runs").iterdir())[0], run_chunk(plan, chunks[0])
    for damaged in (
        first.read_bytes()[:40],
        b"",
        _npz({}),
        _npz({**good, "alive": good["alive"][:2]}),
        _npz({**good, "alive": np.array([["yes"]] * 4)}),
        _npz({**good, "more": np.zeros(3)}),
    ):
        first.write_bytes(damaged)
        found = folder.load(chunks)
        assert list(found) == [chunks[1]]
    assert found[chunks[1]]["alive"].tolist() == [[1.0], [1.0]]
    assert StudyFolder(tmp_path, plan.with_bandwidth(3.0)).load(chunks) == {}


def test_only_the_table_of_all_runs_of_the_same_study_finishes_it(tmp_path, plan):
    pytest.importorskip("pyarrow")
    plan = dataclasses.replace(plan, runs=8)
    folder, done = StudyFolder(tmp_path, plan), {}
    table = study(plan, done=done)
    assert not folder.is_finished()
    folder.save_table(table.of_mode("feedforward"))
    assert not folder.is_finished()
    folder.save_table(table)
    assert folder.is_finished()
    assert not StudyFolder(tmp_path, plan.with_bandwidth(3.0)).is_finished()
    folder.table.write_bytes(folder.table.read_bytes()[:-9])
    assert not folder.is_finished()


@pytest.mark.parametrize("text", ["gains: 1.5", "3.0", "gains: [1, 2]", "ros__parameters: 1"])
def test_gains_that_are_no_mapping_are_refused_in_one_line(tmp_path, text):
    path = tmp_path / "gains.yaml"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=r"gains.yaml: holds no gains of joint 'joint_1'; "):
        read_gains(path, ("joint_1",))
