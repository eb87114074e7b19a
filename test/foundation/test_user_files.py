"""Files of users: each error names the file, its line or element, and the remedy."""

import gzip
import resource

import pytest

from robot_dynamics.errors import RecordingError, TrajectoryError
from robot_dynamics.foundation.user_files import read_csv, read_yaml, write_whole


def test_yaml_is_read_up_to_the_end_of_its_first_document(tmp_path):
    path = tmp_path / "echo.yaml"
    path.write_text("a: [1, 2]\n---\nb: 3\n")
    assert read_yaml(path, TrajectoryError, "a") == {"a": [1, 2]}
    path.write_text("")
    assert read_yaml(path, TrajectoryError, "a") is None


def test_csv_may_be_gzipped_and_have_empty_lines(tmp_path):
    path = tmp_path / "run.csv.gz"
    path.write_bytes(gzip.compress(b" time, q.a\n\n0,1\n\n1,2\n"))
    table = read_csv(path, RecordingError)
    assert table.header == ["time", "q.a"]
    assert table.rows == [("line 3", ["0", "1"]), ("line 5", ["1", "2"])]


def test_last_row_of_a_csv_that_was_cut_off_is_dropped_on_request(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("time,q.a\n0,1\n1")
    assert len(read_csv(path, RecordingError, drop_cut_row=True).rows) == 1


YAML, CSV = (
    ("a.yaml", lambda path: read_yaml(path, RecordingError, "a list")),
    (
        "a.csv",
        lambda path: read_csv(path, RecordingError),
    ),
)

FAULTY = {
    "YAML with a bracket too few": (*YAML, b"a: 1\nb: [1\nc: }", "line 3: not YAML; write a list"),
    "YAML that is no text": (*YAML, b"\xff", "cannot be read (not UTF-8 text); give a text file"),
    "no YAML": (*YAML, None, "cannot be read (No such file or directory); give a text file"),
    "CSV that is no text": (
        *CSV,
        b"time\n\xff",
        "cannot be read (not UTF-8 text); give a CSV file with a header",
    ),
    "no CSV": (
        *CSV,
        None,
        "cannot be read (No such file or directory); give a CSV file with a header",
    ),
    "short row": (*CSV, b"t,q\n0,1\n1\n", "line 3: 1 entries for 2 columns; give one per column"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_faulty_file_is_refused_in_one_line_that_names_it(tmp_path, case):
    name, read, content, message = FAULTY[case]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError) as refusal:
        read(path)
    assert str(refusal.value) == f"{path}: {message}"


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path):
    place = tmp_path / "table"
    write_whole(place, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as refused:
            write_whole(place, bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refused.value.filename == str(place)
    assert [p.name for p in tmp_path.iterdir()] == ["table"]
    assert place.read_bytes() == b"old"
