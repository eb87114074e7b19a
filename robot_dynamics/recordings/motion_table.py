"""Columns of a recorded motion, before and while they are matched to the joints of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from robot_dynamics.errors import RecordingError
from robot_dynamics.foundation.arrays import Array

SIMILAR = 0.6
"""Similarity of names, from 0 to 1, above which a message suggests one for the other."""


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
    """

    source: str
    names: tuple[str, ...]
    time: Array
    position: Array
    velocity: Array
    effort: Array


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
    if not pairs:
        return (
            f"{recorded}; is it of another robot? If not, say which joint is which by joint names, "
            "and lock those that were not recorded"
        )
    rest = [joint for joint in missing if joint not in pairs]
    lock = f", and lock {', '.join(rest)}" if rest else ""
    given = ",".join(f"{joint}={name}" for joint, name in pairs.items())
    return f"{recorded}; give joint names {given}{lock}"


def _similar(names: Sequence[str], missing: Sequence[str]) -> dict[str, str]:
    """Return for each joint, in order, the most similar name that is not taken yet."""
    pairs: dict[str, str] = {}
    for joint in missing:
        free = [name for name in names if name not in pairs.values()]
        ratios = [(SequenceMatcher(None, joint, name).ratio(), name) for name in free]
        similarity, best = max(ratios, default=(0.0, ""))
        if similarity > SIMILAR:
            pairs[joint] = best
    return pairs
