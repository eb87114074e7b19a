"""Random and mutated files, through the verbs that read them: fuzz_files.py [SECONDS [SEED]]."""

from __future__ import annotations

import contextlib
import gzip
import io
import sqlite3
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "helpers"), str(Path(__file__).parent)]

from bounded import REFUSED, bounded, main

from robot_dynamics import Dynamics, cli, read_urdf
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.user_files import read_yaml
from robot_dynamics.recordings.bag_reader import bag_messages
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.table_text import PRINTED, table_text
from robot_dynamics.study.runs import chunks_of
from robot_dynamics.study.study_files import StudyFolder
from robot_dynamics.trajectory import excitation, interpolate
from robot_dynamics.trajectory.pose_paths import pose_spline, read_poses
from robot_dynamics.trajectory.trajectory_files import write_trajectory

ARM = "planar_2r"
TOKENS = (
    *(b"nan", b"-inf", b"1e300", b"-1e308", b"1e-320", b"1e9", b"1e15", b"0", b"-1", b"9" * 400),
    *(b"2026-01-01", b"!!python/name:os.system ", b"&x ", b"*x", b"{", b"[" * 200, b"\xef\xbb\xbf"),
    *(b"", b",", b"\n", b"'", b'"', b"\0", b"\xff", b"\xc2\xa0", b"1_0", b"null", b"~", b"---\n"),
    *(b": ", b"- ", b"time", b"q.joint_1", b"joint_2", b"0x10", b"1:30", b"<<", b"true", b"\t"),
)
GAINS = "gains: {joint_1: {p: 90.0, d: 9.0}, joint_2: {p: 30.0, d: 3.0, i: 1.0, i_clamp: 2.0}}\n"
STUDY = "robot: planar_2r\nruns: 16\nduration: 0.1\npayload: 0..2kg\nmodes: feedforward,pd\n"
DRIVES = (
    "/**:\n  ros__parameters:\n    friction:\n      joint_1: {viscous: 0.1, coulomb: 0.2}\n"
    "    rotor:\n      joint_1: {inertia: 1.0e-5, ratio: 100.0}\n"
)
POSES = "time,x,y,z,roll,pitch,yaw\n0,1,0,0,0,0,0\n1,1,0.5,0,0,0,1\n2,0.5,0.5,0,0,0,1.5\n"
SHORT = ["--runs", "16", "--duration", "0.1", "--threads", "1"]


@cache
def folder():
    return Path(tempfile.mkdtemp(prefix="fuzz_files_"))


def _npz(arrays):
    made = io.BytesIO()
    np.savez_compressed(made, **arrays)
    return made.getvalue()


@cache
def arrays():
    """A recorded motion of the arm."""
    robot = read_urdf(find_robot(ARM))
    t = np.linspace(0.0, 2.0, 200)
    q, qd, qdd = interpolate(excitation(robot, 2.0)).sample(t)
    tau = Dynamics(robot).inverse(q, qd, qdd)
    return {"time": t, "q": q, "qd": qd, "tau": tau, "joint_names": np.array(robot.joint_names)}


@cache
def samples():
    """Valid files by suffix and kind."""
    here, robot, a = folder(), read_urdf(find_robot(ARM)), arrays()
    found = {(".yaml", "gains"): GAINS.encode(), (".yaml", "study"): STUDY.encode()}
    found |= {(".yaml", "drives"): DRIVES.encode(), (".csv", "poses"): POSES.encode()}
    for suffix in (".csv", ".yaml"):
        for form in PRINTED:
            text = table_text(
                read_urdf(find_robot("stanford")), "tool", form, as_csv=suffix == ".csv"
            )
            found[suffix, f"table {form}"] = text.encode()
        write_trajectory(here / f"t{suffix}", excitation(robot, 0.5))
        found[suffix, "trajectory"] = (here / f"t{suffix}").read_bytes()
    heads = ["time", *(f"{x}.{name}" for x in ("q", "qd", "tau") for name in a["joint_names"])]
    rows = np.column_stack([a[x] for x in ("time", "q", "qd", "tau")])
    lines = [",".join(heads), *(",".join(f"{x:.9g}" for x in row) for row in rows)]
    found[".csv", "recording"] = "\n".join(lines).encode()
    found[".csv.gz", "recording"] = gzip.compress(found[".csv", "recording"])
    found[".npz", "recording"] = _npz(a)
    run = ["simulate", ARM, "--duration", "0.3", "--rate", "100", "--record", str(here / "r.mcap")]
    assert _quiet(run)[0] == 0
    found[".mcap", "recording"] = (here / "r.mcap").read_bytes()
    found[".db3", "recording"] = _sqlite(here / "r.mcap")
    out = here / "done"
    assert _quiet(["study", ARM, *SHORT, "--output", str(out)])[0] == 0
    found[".npz", "resume"] = b""
    found[".parquet", "resume"] = (out / "runs.parquet").read_bytes()
    return found


def _sqlite(bag):
    """The messages of a recording as a bag of SQL."""
    place = folder() / "r.db3"
    with contextlib.closing(sqlite3.connect(place)) as base, base:
        base.execute("CREATE TABLE topics(id INTEGER, name TEXT, type TEXT)")
        base.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, "
                     "timestamp INTEGER, data BLOB)")  # fmt: skip
        known = {}
        for topic, kind, arrival, data, _ in bag_messages(bag, lambda *_: True):
            if topic not in known:
                known[topic] = len(known)
                base.execute("INSERT INTO topics VALUES(?, ?, ?)", (known[topic], topic, kind))
            row = (known[topic], arrival, data)
            base.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES(?, ?, ?)", row)
    return place.read_bytes()


def _quiet(command):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main(command)
        except SystemExit as ended:
            status = ended.code
    return status, err.getvalue()


def mutated(rng, data):
    """The bytes with one thing changed."""
    kind, at = rng.randrange(8), rng.randrange(len(data) + 1)
    length = rng.choice([1, 1, 4, 30, 300])
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + length :]
    if kind == 2:
        return data[:at] + rng.randbytes(length) + data[at + length :]
    if kind == 3:
        start = rng.randrange(len(data) + 1)
        return data[:at] + data[start : start + length] + data[at:]
    if kind == 4 and data:
        at = min(at, len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    token = rng.choice(TOKENS)
    if kind in (5, 6):  # in the place of a whole cell or value
        marks = [k for k, byte in enumerate(data) if byte in b",\n: []"] or [0]
        start = rng.choice(marks)
        end = min((k for k in marks if k > start), default=len(data))
        return data[: start + 1] + token + data[end:]
    return data[:at] + token + data[at:]


def odd_arrays(rng):
    """A recording with one array replaced."""
    made, name = dict(arrays()), rng.choice(["time", "q", "qd", "tau", "joint_names", "more"])
    values = made.get(name, np.zeros(3))
    changes = [
        lambda: values.astype("U"),
        lambda: values[:-1],
        lambda: np.array(5.0),
        lambda: np.zeros((0, 2)),
        lambda: np.full(values.shape, rng.choice([np.nan, np.inf, 1e300, -1e308, 1e-320])),
        lambda: np.zeros(values.shape, complex),
        lambda: np.zeros(values.shape, "M8[s]"),
        lambda: np.zeros(values.shape, [("x", float)]),
        lambda: np.zeros(values.shape, np.int8),
        lambda: np.array([{}], dtype=object),
        lambda: values[::-1],
        lambda: values[..., None],
    ]
    made[name] = rng.choice(changes)()
    if rng.random() < 0.3:
        del made[rng.choice(list(made))]
    return _npz(made)


def verbs(suffix, kind, path):
    """Commands that read a file of that kind."""
    if kind == "gains":
        return [["study", ARM, *SHORT, "--gains", path]]
    if kind == "study":
        return [["study", path, "--threads", "1", "--output", f"{folder()}/out"]]
    if kind.startswith("table"):
        return [["kinematics", path], ["urdf", path], ["table", path, "--as", "zero-reference"]]
    if kind == "drives":
        good = folder() / "good.csv"
        good.write_bytes(samples()[".csv", "recording"])
        return [["validate", ARM, str(good), "--parameters", path]]
    if kind == "trajectory" or suffix in (".mcap", ".db3"):
        filled = folder() / ("filled" + (suffix if kind == "trajectory" else ".mcap"))
        effort = ["effort", ARM, path, "--output", str(filled)]
        if kind == "trajectory":
            return [effort, [*effort, "--keep-points"], ["study", ARM, *SHORT, "--motion", path]]
        filled.unlink(missing_ok=True)
        plot = ["plot", path, "--output", f"{folder()}/plot.png", "--robot", ARM]
        return [effort, plot, ["plot", path, "--output", f"{folder()}/plot.png"]] + [
            [verb, ARM, path, "--json"] for verb in ("validate", "payload")
        ]
    return [["validate", ARM, path], ["payload", ARM, path, "--json"]] + [
        ["identify", ARM, path, "--out", f"{folder()}/found.urdf"]
    ]


def resumed(rng, suffix, data):
    """A study whose files are damaged is done again, or is finished."""
    out = folder() / "resumed"
    command = ["study", ARM, *SHORT, "--output", str(out), "--resume"]
    (out / "runs").mkdir(parents=True, exist_ok=True)
    (out / "runs.parquet").unlink(missing_ok=True)
    if suffix == ".parquet":
        (out / "runs.parquet").write_bytes(data)
    else:
        import argparse

        from robot_dynamics.cli.verbs import study as verb

        parser = argparse.ArgumentParser()
        verb.add_arguments(parser)
        options = verb._options(parser.parse_args(command[1:]))
        plan = verb._plan(options, verb._arm(options))
        kept, chunk = StudyFolder(out, plan), chunks_of(plan)[0]
        place = out / "runs" / kept._name(chunk)
        place.write_bytes(rng.choice([data, odd_arrays(rng), _npz({}), rng.randbytes(99)]))
    return command


def one(rng):
    (suffix, kind), data = rng.choice(list(samples().items()))
    if kind == "recording" and suffix == ".npz" and rng.random() < 0.5:
        data = odd_arrays(rng)
    elif suffix == ".csv.gz" and rng.random() < 0.5:
        data = gzip.compress(mutated(rng, gzip.decompress(data)))
    elif rng.random() < 0.05:
        data = rng.randbytes(rng.choice([0, 1, 10, 1000]))
    for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
        data = mutated(rng, data)
    path = folder() / f"fuzzed{suffix}"
    path.write_bytes(data)
    if kind == "poses":
        found, _ = bounded(lambda: pose_spline(*read_poses(path)[:3]))
        return found is not REFUSED
    if kind == "resume":
        command = resumed(rng, suffix, data)
    else:
        command = rng.choice(verbs(suffix, kind, str(path)))
    if suffix == ".yaml":
        bounded(lambda: read_yaml(path, ArgumentError, "something"))
    (status, error), _ = bounded(lambda: _quiet(command))
    told = [line for line in error.splitlines() if not line.startswith(("WARNING", "INFO"))]
    told = [line for line in told if "was not written, as the verdict" not in line]
    assert status in (0, 1, 2, 3), (status, command)
    assert len(told) == (status == 1), (status, command, error)
    assert kind != "resume" or status == 0, error
    assert "Warning" not in error, error
    assert not list(folder().glob(".*")), "an unfinished file"
    return status in (0, 3)


if __name__ == "__main__":
    main("user files", one)
