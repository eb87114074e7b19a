"""Files of a study: in whole or not at all."""

import numpy as np

from robot_dynamics.study import Chunk
from robot_dynamics.study.study_files import StudyFolder


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
