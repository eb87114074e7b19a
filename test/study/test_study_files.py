"""Files of a study: in whole or not at all."""

import resource

import numpy as np
import pytest

from robot_dynamics.study import Chunk
from robot_dynamics.study.study_files import StudyFolder, write


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path):
    place = tmp_path / "table"
    write(place, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as refused:
            write(place, bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refused.value.filename == str(place)
    assert [p.name for p in tmp_path.iterdir()] == ["table"]
    assert place.read_bytes() == b"old"


def test_what_was_done_is_found_again_unless_it_is_damaged_or_of_another_study(tmp_path, plan):
    folder = StudyFolder(tmp_path, plan)
    chunks = [Chunk(0, 0, 4), Chunk(0, 4, 6), Chunk(1, 0, 4)]
    for chunk in chunks[:2]:
        folder.save(chunk, {"alive": np.arange(chunk.start, chunk.stop)})
    for file in sorted((tmp_path / "runs").iterdir())[:1]:
        file.write_bytes(file.read_bytes()[:40])
    found = folder.load(chunks)
    assert list(found) == [chunks[1]]
    assert found[chunks[1]]["alive"].tolist() == [4, 5]
    assert StudyFolder(tmp_path, plan.with_bandwidth(3.0)).load(chunks) == {}
