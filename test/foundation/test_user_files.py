"""Files of users: each error names the file, its line or element, and the remedy."""

import gzip
import io
import os
import resource
import stat
import zipfile

import numpy as np
import pytest

from robot_dynamics.errors import RecordingError, TrajectoryError
from robot_dynamics.foundation import user_files
from robot_dynamics.foundation.user_files import (
    number,
    read_arrays,
    read_csv,
    read_yaml,
    write_whole,
)


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


def test_comments_at_the_top_of_a_csv_are_no_rows_and_keep_the_numbers_of_lines(tmp_path):
    path = tmp_path / "arm.csv"
    path.write_text("# units: mm\n#a: 1, 2\ntime;q.a\n0;1,5\n")
    table = read_csv(path, RecordingError)
    assert (table.header, table.comments) == (["time", "q.a"], "units: mm\na: 1, 2\n")
    assert table.rows == [("line 4", ["0", "1.5"])]


def test_last_row_of_a_csv_that_was_cut_off_is_dropped_on_request(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("time,q.a\n0,1\n1")
    assert len(read_csv(path, RecordingError, drop_cut_row=True).rows) == 1


YAML, CSV, NPZ = (
    ("a.yaml", lambda path: read_yaml(path, RecordingError, "a list")),
    (
        "a.csv",
        lambda path: read_csv(path, RecordingError),
    ),
    ("a.npz", lambda path: read_arrays(path, RecordingError)),
)


def _npz(name, content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return made.getvalue()


def _saved(values):
    made = io.BytesIO()
    np.savez(made, q=values)
    return made.getvalue()


def _saved_one(values):
    made = io.BytesIO()
    np.save(made, values)
    return made.getvalue()


FOLDER = object()
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
    "YAML with aliases": (
        *YAML,
        b"a: &x [1]\nb: *x",
        "line 2: aliases (*name) are not read; repeat the values",
    ),
    "YAML with a tag": (
        *YAML,
        b"a: !!python/name:os.system",
        "line 1: tags (!name) are not read; leave the tag out",
    ),
    "deep YAML": (*YAML, b"[" * 100000, "line 1: more than 50 levels of nesting; write them flat"),
    "YAML with a long number": (
        *YAML,
        b"9" * 5000,
        "'Exceeds the limit (4300 digits) for integer string conve...; not YAML; write a list",
    ),
    "large YAML": (
        *YAML,
        b"#" * (2**24 + 1),
        "cannot be read (more than 16 MiB); give a text file",
    ),
    "folder as YAML": (*YAML, FOLDER, "cannot be read (Is a directory); give a text file"),
    "folder as CSV": (
        *CSV,
        FOLDER,
        "cannot be read (Is a directory); give a CSV file with a header",
    ),
    "CSV with a huge cell": (
        *CSV,
        b"a\n" + b"1" * 200000,
        "line 2: cannot be read (field larger than field limit (131072)); give a CSV file with a "
        "header",
    ),
    "CSV that is not gzipped": (
        "a.csv.gz",
        CSV[1],
        b"time",
        "cannot be read (Not a gzipped file (b'ti')); give a CSV file with a header",
    ),
    "CSV whose gzip is damaged": (
        "a.csv.gz",
        CSV[1],
        gzip.compress(b"time" * 1000)[:10] + b"\xff" * 20,
        "cannot be read (Error -3 while decompressing data: invalid block type); give a CSV file "
        "with a header",
    ),
    "no NPZ": (*NPZ, b"text", "cannot be read (File is not a zip file); give an NPZ of arrays"),
    "folder as NPZ": (*NPZ, FOLDER, "cannot be read (Is a directory); give an NPZ of arrays"),
    "NPZ of objects": (
        *NPZ,
        _saved(np.array([{}])),
        "cannot be read (Object arrays cannot be loaded when allow_pickle=False); give an NPZ of "
        "arrays",
    ),
    "NPZ of more than memory holds": (
        *NPZ,
        _npz("q.npy", _saved_one(np.zeros(3)).replace(b"(3,), }       ", b"(3000000000000,), }")),
        "cannot be read (Unable to allocate 21.8 TiB for an array with shape (3000000000000,) and "
        "data type float64); give an NPZ of arrays",
    ),
    "NPZ of raw bytes": (
        *NPZ,
        _npz("q.npy", b"raw"),
        "cannot be read (not of numbers); give an NPZ of arrays",
    ),
    "short row": (*CSV, b"t,q\n0,1\n1\n", "line 3: 1 entry for 2 columns; give one per column"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_faulty_file_is_refused_in_one_line_that_names_it(tmp_path, case):
    name, read, content, message = FAULTY[case]
    path = tmp_path / name
    if content is FOLDER:
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError) as refusal:
        read(path)
    assert str(refusal.value) == f"{path}: {message}"


def test_a_small_file_that_unfolds_to_a_large_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(user_files, "MOST_BYTES", 2**20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(bytes(2**20 + 1)))
    (tmp_path / "a.npz").write_bytes(_npz("q.npy", bytes(2**20 + 1)))
    for read, name in ((read_csv, "a.csv.gz"), (read_arrays, "a.npz")):
        with pytest.raises(RecordingError) as refusal:
            read(tmp_path / name, RecordingError)
        assert f"{name}: cannot be read (more than 1 MiB); give a" in str(refusal.value)


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    for name, text in (("a.yaml", "a: 1"), ("a.csv", "time,q\n0,1")):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert read_yaml(tmp_path / "a.yaml", RecordingError, "a") == {"a": 1}
    assert read_csv(tmp_path / "a.csv", RecordingError).header == ["time", "q"]


def test_a_date_in_yaml_is_text(tmp_path):
    (tmp_path / "a.yaml").write_text("[2026-01-01, 0000-00-00, 2026-01-01T00:00:00Z]")
    found = read_yaml(tmp_path / "a.yaml", RecordingError, "a")
    assert found == ["2026-01-01", "0000-00-00", "2026-01-01T00:00:00Z"]


@pytest.mark.parametrize("value", ["1_0", "\u0663", "1\u00a0", "0x10", "", None, [1], 10**400])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(RecordingError, match=r"^a holds .*; give a number$"):
        number("a", value, RecordingError)


def test_numbers_are_read_from_text():
    assert [number("a", x, RecordingError) for x in (" 1e-3", ".5", "-7.", "+1E2", True, 3)] == [
        0.001, 0.5, -7.0, 100.0, 1.0, 3.0
    ]  # fmt: skip


def test_a_file_that_is_replaced_keeps_its_permissions_and_a_link_its_target(tmp_path):
    place, link = tmp_path / "mine", tmp_path / "link"
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to(place)
    write_whole(link, "new")
    assert place.read_text() == "new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert link.is_symlink()


def test_a_file_that_is_new_has_the_permissions_of_the_user(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_what_is_no_file_is_written_directly():
    read, write = os.pipe()
    write_whole(f"/proc/self/fd/{write}", b"through")
    assert os.read(read, 100) == b"through"
    os.close(read)
    os.close(write)


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


@pytest.mark.parametrize("between", [";", "\t", " "])
def test_numbers_between_other_marks_than_commas_may_have_decimal_commas(tmp_path, between):
    path = tmp_path / "table.csv"
    rows = (("time", "q.a"), ("0,5", "-1,25e-3"), ("1", "2.5"))
    path.write_text("".join(between.join(row) + "\n" for row in rows))
    found = [row.cells for row in read_csv(path, RecordingError).rows]
    assert [[float(cell) for cell in cells] for cells in found] == [[0.5, -1.25e-3], [1.0, 2.5]]
