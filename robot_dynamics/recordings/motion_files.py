"""Recorded motions in files: joint states of a bag, CSV with a header, NPZ.

A CSV has one column of time and one for each joint and quantity. Names of columns are
`q.elbow`, `qd.elbow`, `tau.elbow`, or the same with position, velocity, effort, or with the
joint first (`elbow.position`, `elbow/effort`, `elbow_velocity`). An NPZ has the arrays time
(N,), q (N, n), qd, tau and, if the columns are not those of the robot, joint_names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.errors import RecordingError, nearest
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import number_from
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.foundation.user_files import number, read_arrays, read_csv
from robot_dynamics.recordings.bag_reader import BagMessage, bag_messages, is_bag
from robot_dynamics.recordings.recorded_motion import joint_rows
from robot_dynamics.recordings.ros_messages import JOINT_STATE, RUN_TOPIC, STRING

WORDS = {
    "position": ("q", "pos", "position", "positions"),
    "velocity": ("qd", "dq", "vel", "velocity", "velocities"),
    "effort": ("tau", "effort", "efforts", "torque", "torques", "current", "currents"),
}
"""Names of a quantity in files."""

TIMES = ("time", "t", "stamp", "timestamp", "time_s", "__time")
"""Names of the column of time."""

QUANTITIES = ("time", "q", "qd", "tau")
"""Quantities that `named_columns` knows."""

_SPLIT = re.compile(r"[./\[\]:]+")


@dataclass(frozen=True, eq=False)
class MotionTable:
    """Columns of a recording under the names in its file; NaN for missing values.

    Args:
        source: Path, for messages.
        names: Names of the m joints.
        time: Shape (N,), s, as recorded: in any unit and order.
        position: Shape (N, m), rad or m.
        velocity: Shape (N, m).
        effort: Shape (N, m).
        runs: Beginning of each run after the first one, s, of files with several runs.
    """

    source: str
    names: tuple[str, ...]
    time: Array
    position: Array
    velocity: Array
    effort: Array
    runs: tuple[float, ...] = ()


def read_motion_table(
    path: Path,
    joints: Sequence[str],
    topic: str | None = None,
    effort_topic: str | None = None,
    columns: str | None = None,
) -> MotionTable:
    """Read a recorded motion from a .mcap or .db3 bag (file or folder), a .csv(.gz) or an .npz.

    Args:
        path: The recording.
        joints: Names of the joints of the robot, for files without names.
        topic: Topic of the joint states of a bag, by default `joint_states`, or the only one.
        effort_topic: Topic of joint states whose efforts count, if it is another one.
        columns: Columns of a table of text (.csv, .txt, .dat) whose header is missing or has other
            names; see `named_columns`.

    Raises:
        RecordingError: If it cannot be read; the message names its faulty element.
        MissingPackageError: If mcap or rosbags is needed and not installed.
    """
    name = path.name.lower()
    if is_bag(path):
        return _bag_table(path, topic, effort_topic)
    if columns is not None and not name.endswith(".npz"):
        return _csv_table(path, joints, columns)
    if name.endswith((".csv", ".csv.gz")):
        return _csv_table(path, joints)
    if name.endswith(".npz"):
        return _npz_table(path, joints)
    raise RecordingError(
        f"{path}: unknown kind of file; give .mcap, .db3, .csv, .csv.gz or .npz, or a table of "
        "text with its columns (--columns)"
    )


def _bag_table(path: Path, topic: str | None, effort_topic: str | None = None) -> MotionTable:
    by_topic: dict[str, list[BagMessage]] = defaultdict(list)
    runs: list[int] = []
    for message in bag_messages(path, _is_state_or_run):
        if message.kind == STRING:
            runs.append(message.arrival)
        else:
            by_topic[message.topic].append(message)
    rows = joint_rows(by_topic[_chosen(path, list(by_topic), topic)])
    if np.isnan(rows.position).all():
        raise RecordingError(f"{path}: holds no joint states; record `joint_states` and try anew")
    time = rows.stamp // NS_PER_S + 1e-9 * (rows.stamp % NS_PER_S)
    effort = rows.effort
    if effort_topic is not None:
        own = joint_rows(by_topic[_chosen(path, list(by_topic), effort_topic)])
        efforts, at = own.ordered(rows.joint_names).effort, (own.stamp - rows.stamp[0]) / NS_PER_S
        effort = np.column_stack(
            [
                np.interp((rows.stamp - rows.stamp[0]) / NS_PER_S, at, column, np.nan, np.nan)
                for column in efforts.T
            ]
        )
    fields = rows.position, rows.velocity, effort
    later = tuple(begin / NS_PER_S for begin in runs[1:])
    return MotionTable(f"{path}", rows.joint_names, time, *fields, later)


def _is_state_or_run(topic: str, kind: str) -> bool:
    return kind == JOINT_STATE or (kind == STRING and topic == f"/{RUN_TOPIC}")


def _chosen(path: Path, topics: list[str], topic: str | None) -> str:
    if topic is not None:
        wanted = "/" + topic.lstrip("/")
        if wanted in topics:
            return wanted
    elif len(topics) == 1:
        return topics[0]
    else:
        named = [name for name in topics if name.rsplit("/", 1)[-1] == "joint_states"]
        if len(named) == 1:
            return named[0]
    if not topics:
        raise RecordingError(
            f"{path}: holds no joint states; record the topic joint_states ({JOINT_STATE})"
        )
    raise RecordingError(f"{path}: joint states are on {', '.join(topics)}; say which topic")


def named_columns(where: str, text: str) -> list[tuple[str, str]]:
    """Return the quantities and names of columns that a user describes.

    "time,q,-6,tau" is for a file without a header: the quantities of its columns in order, one
    column of each joint for q, qd and tau, and -N for N columns that do not count.
    "time=timestamp,q=actual_q_*,tau=..." is for other names: `*` is the number of the joint, from 0
    or from 1.

    Args:
        where: For messages.
        text: The description.

    Returns:
        Pairs of time, q, qd, tau or -N, and a name or "".

    Raises:
        RecordingError: If it is neither, or lacks time, q or tau; the message has the remedy.
    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    found = []
    for entry in entries:
        word, mark, name = (part.strip() for part in entry.partition("="))
        skips = not mark and re.fullmatch(r"-[1-9]\d{0,3}", word)
        fits = bool(name) == any("=" in one for one in entries) and (not mark or name)
        if not skips and (word not in QUANTITIES or not fits):
            raise RecordingError(
                f"{where}: columns: '{entry}' is not understood; give time,q,qd,tau with -N for N "
                "columns that do not count, or time=NAME,q=NAME*,qd=NAME*,tau=NAME* with * for the "
                "number of the joint"
            )
        if name and word != "time" and name.count("*") != 1:
            raise RecordingError(
                f"{where}: columns: '{entry}' needs one *, where the names have the number of the "
                "joint"
            )
        found.append((word, name))
    words = [word for word, _ in found]
    for word in QUANTITIES:
        if words.count(word) != 1 and (word != "qd" or word in words):
            raise RecordingError(
                f"{where}: columns name {word} {words.count(word)} times; name time, q and tau "
                "once, and qd if it was measured"
            )
    return found


def _header(columns: list[tuple[str, str]], joints: Sequence[str]) -> list[str] | None:
    """Return our header for a file without one, or None if it has one."""
    if any(name for _, name in columns):
        return None
    found: list[str] = []
    for word, _ in columns:
        found += [""] * int(word[1:]) if word.startswith("-") else _ours(word, joints)
    return found


def _ours(word: str, joints: Sequence[str]) -> list[str]:
    return ["time"] if word == "time" else [f"{word}.{joint}" for joint in joints]


def _renamed(
    where: str, columns: list[tuple[str, str]], header: list[str], joints: Sequence[str]
) -> list[str]:
    """Return our names for the columns of a header, "" for others."""
    ours: dict[str, str] = {}
    for word, name in columns:
        own = _ours(word, joints)
        names = [[name.replace("*", str(k + first)) for k in range(len(own))] for first in (0, 1)]
        there = next((one for one in names if set(one) <= set(header)), None)
        if there is None:
            missing = next(one for one in names[-1] if one not in header)
            raise RecordingError(
                f"{where}: has no column '{missing}' (columns: {', '.join(header[:20])}"
                f"{', ...' if len(header) > 20 else ''}); name its columns as they are"
            )
        ours.update(zip(there, own, strict=True))
    return [ours.get(name, "") for name in header]


def _csv_table(path: Path, joints: Sequence[str], columns: str | None = None) -> MotionTable:
    header, table = _csv_numbers(path, joints, columns)
    time = [i for i, name in enumerate(header) if name.lower() in TIMES]
    if len(time) != 1:
        raise RecordingError(
            f"{path}: needs one column 'time' in s, has {', '.join(header[:8])}; name it in the "
            "header, or say which columns are which (--columns)"
        )
    places: dict[str, dict[str, int]] = {quantity: {} for quantity in WORDS}
    for i, name in enumerate(header):
        found = _meaning(name, joints)
        if found is not None:
            places[found[0]][found[1]] = i
    names = tuple(places["position"])
    if not names:
        raise RecordingError(
            f"{path}: has no column of a position; name them q.<joint>, qd.<joint>, "
            "tau.<joint>, or say which columns are which (--columns)"
        )
    q, qd, tau = (_field(table, names, places[quantity]) for quantity in WORDS)
    return MotionTable(f"{path}", names, table[:, time[0]], q, qd, tau)


def _csv_numbers(path: Path, joints: Sequence[str], columns: str | None) -> tuple[list[str], Array]:
    """Return the header in our names and the numbers under it."""
    named = None if columns is None else named_columns(f"{path}", columns)
    ours = None if named is None else _header(named, joints)
    # A recorder that was stopped while it wrote leaves half a row
    table = read_csv(path, RecordingError, drop_cut_row=True, header=ours)
    header = table.header
    if named is not None and ours is None:
        header = _renamed(f"{path}", named, header, joints)
        ours = header
    if not table.rows:
        raise RecordingError(f"{path}: holds no rows; record again")
    try:
        kept = [i for i, name in enumerate(header) if name or ours is None]
        numbers = np.array([[_number(row.cells[i]) for i in kept] for row in table.rows])
        return [header[i] for i in kept], numbers
    except ValueError:
        for row in table.rows:
            for i in kept:
                where = f"{path}: {row.name}: column '{table.header[i]}'"
                number(where, row.cells[i].strip() or "nan", RecordingError)
        raise


def _number(cell: str) -> float:
    return number_from(cell) if cell.strip() else np.nan


def _meaning(column: str, joints: Sequence[str]) -> tuple[str, str] | None:
    """Return quantity and joint of a column, or None for other columns."""
    parts = [part for part in _SPLIT.split(column) if part]
    if len(parts) == 1:  # elbow_effort, effort_elbow
        head, _, tail = column.partition("_")
        front, _, last = column.rpartition("_")
        parts = [front, last] if _quantity(last) else [head, tail]
    for quantity_at, joint_at in ((0, 1), (-1, -2)):
        if len(parts) >= 2 and (quantity := _quantity(parts[quantity_at])):
            joint = parts[joint_at]
            if joint.isdigit() and joint not in joints and int(joint) < len(joints):
                return quantity, joints[int(joint)]  # numbered from zero
            return quantity, joint
    return None


def _quantity(word: str) -> str | None:
    return next((name for name, words in WORDS.items() if word.lower() in words), None)


def _field(table: Array, names: Sequence[str], places: dict[str, int]) -> Array:
    empty = np.full(len(table), np.nan)
    columns = [table[:, places[name]] if name in places else empty for name in names]
    return np.column_stack(columns)


def _npz_table(path: Path, joints: Sequence[str]) -> MotionTable:
    arrays = read_arrays(path, RecordingError)
    missing = [name for name in ("time", "q", "tau") if name not in arrays]
    if missing:
        raise RecordingError(
            f"{path}: has no array '{missing[0]}' (arrays: {', '.join(arrays) or 'none'}); "
            "store time, q, tau and, if measured, qd"
        )
    names = tuple(str(name) for name in np.ravel(arrays.get("joint_names", list(joints))))
    shape = (arrays["time"].size, len(names))
    wanted = {"time": shape[:1], "q": shape, "qd": shape, "tau": shape}
    fields = {}
    for name, size in wanted.items():
        values = arrays.get(name, np.full(shape, np.nan))
        if values.dtype.kind == "U":
            raise RecordingError(f"{path}: array '{name}' holds text; store numbers")
        if values.shape != size:
            raise RecordingError(
                f"{path}: array '{name}' has shape {values.shape}, not {size}: times by joints"
            )
        fields[name] = values.astype(np.float64)
    time, q, qd, tau = (fields[name] for name in wanted)
    return MotionTable(f"{path}", names, time, q, qd, tau)


# -- columns by joint ----------------------------------------------------------------------------


def matched_columns(
    names: Sequence[str], joints: Sequence[str], mapping: Mapping[str, str] | None, source: str
) -> list[int]:
    """Return the index into `names` of every joint.

    A joint is found by its name in `mapping`, else by its own. If the file holds no name of the
    robot, names that differ from them by one prefix (`fer_joint1`, `panda_joint1`) match too.

    Args:
        names: Names in the recording.
        joints: Names of the independent joints of the robot.
        mapping: Name in the recording, by joint of the robot.
        source: For messages.

    Raises:
        RecordingError: If a joint is not found; the message suggests a mapping.
    """
    given = dict(mapping or {})
    for joint, name in given.items():
        if joint not in joints or name not in names:
            raise RecordingError(
                f"{source}: joint names map '{joint}' to '{name}', but the robot has joints "
                f"{', '.join(joints)} and the recording {', '.join(names)}"
            )
    wanted = [given.get(joint, joint) for joint in joints]
    missing = [joint for joint, name in zip(joints, wanted, strict=True) if name not in names]
    if missing and not given and len(missing) == len(joints):
        by_suffix = _by_suffix(names, joints)
        if by_suffix:
            return by_suffix
    if missing:
        raise RecordingError(f"{source}: no joint '{missing[0]}' in it{_hint(names, missing)}")
    return [list(names).index(name) for name in wanted]


def _by_suffix(names: Sequence[str], joints: Sequence[str]) -> list[int] | None:
    """Return indices of names that differ from the joints by a common prefix, or None."""
    first = _common_prefix(names), _common_prefix(joints)
    tails = [name[len(first[0]) :] for name in names]
    wanted = [joint[len(first[1]) :] for joint in joints]
    if not all(wanted) or any(tails.count(tail) != 1 for tail in wanted):
        return None
    return [tails.index(tail) for tail in wanted]


def _common_prefix(names: Sequence[str]) -> str:
    low, high = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), 0)
    return low[:same].rstrip("0123456789")


def _hint(names: Sequence[str], missing: Sequence[str]) -> str:
    pairs = _similar(names, missing)
    recorded = f" (joints: {', '.join(names)})"
    if 2 * len(pairs) < len(missing) or not pairs:
        return (
            f"{recorded}; is it of another robot? If not, say which joint is which by joint names "
            "(--joint-names), and lock those that were not recorded (--lock)"
        )
    rest = [joint for joint in missing if joint not in pairs]
    lock = f", and lock {', '.join(rest)}" if rest else ""
    given = ",".join(f"{joint}={name}" for joint, name in pairs.items())
    return f"{recorded}; give joint names (--joint-names {given}){lock}"


def _similar(names: Sequence[str], missing: Sequence[str]) -> dict[str, str]:
    """Return for each joint, in order, the most similar name that is not taken yet."""
    pairs: dict[str, str] = {}
    for joint in missing:
        free = [name for name in names if name not in pairs.values()]
        if (best := nearest(joint, free)) is not None:
            pairs[joint] = best
    return pairs
