"""Tables of a model library in C: names, limits, layouts, words, and the robot of the URDF."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from robot_dynamics.control.fields import Layout
from robot_dynamics.control.guard import FLAWS
from robot_dynamics.control.laws import ALL_MODES, LAWS
from robot_dynamics.control.limits import effort_limits, velocity_limits
from robot_dynamics.control.obstacles import OBSTACLES
from robot_dynamics.control.parameters import OF_SETTINGS
from robot_dynamics.control.refusals import REFUSALS
from robot_dynamics.control.status import (
    LEVELS,
    LOG_LEVELS,
    REMEDIES,
    SENTENCES,
    WITHOUT_STATES,
    WORDS_IN_TASK,
    Cause,
    Sentence,
    Status,
)
from robot_dynamics.export.literals import number, text, vector
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import whole_numbers
from robot_dynamics.robot.joint_units import UNITS
from robot_dynamics.robot.kinematic_tree import Joint
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import UPPER


class Tables:
    """Tables in C, and the members of the structure that refer to them.

    Attributes:
        members: Initializers by member.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.members: dict[str, str] = {}

    def table(self, kind: str, name: str, rows: Iterable[str]) -> str:
        """Add a table, and return its name; NULL without rows."""
        rows = list(rows)
        if not rows:
            return "NULL"
        body = "".join(f"    {row},\n" for row in rows)
        self._lines.append(f"static {kind} {name}[] = {{\n{body}}};\n")
        return name

    def counted(self, kind: str, member: str, count: str, rows: Sequence[str]) -> None:
        """Add a table as a member of the structure with its length."""
        self.members[count] = str(len(rows))
        self.members[member] = self.table(kind, f"{member}_table", rows)

    def layout(self, name: str, layout: Layout, initial: Array) -> None:
        """Add a layout with its initial values."""
        rows = []
        for field, one in layout.fields.items():
            part = layout.slices[field]
            known = name == "parameters" and field in OF_SETTINGS
            choices = OF_SETTINGS[field].words if known else ()
            words = "NULL"
            if choices:
                words = self.words(f"choices_{field.replace('.', '_')}", choices)
            per_joint = int(bool(one.shape) and one.shape[-1] == "n")
            rows.append(
                f"{{{text(field)}, {text(one.about)}, {part.start}, {part.stop - part.start}, "
                f"{per_joint}, {words}}}"
            )
        fields = self.table("const struct robot_dynamics_field", f"{name}_fields", rows)
        values = [number(float(x)) for x in initial]
        first = self.table("const double", f"{name}_initial", values)
        self.members[name] = f"{{{layout.size}, {len(rows)}, {fields}, {first}}}"

    def words(self, name: str, words: Iterable[str]) -> str:
        """Add a list of texts that ends with NULL."""
        rows = [*(text(word) for word in words), "NULL"]
        return self.table("const char *const", name, rows)

    def source(self) -> str:
        """Return the tables in C."""
        return "\n".join(self._lines)


def add_words(tables: Tables) -> None:
    """Add names of modes and laws, and words for statuses, causes, refusals, flaws, obstacles."""
    flags: Mapping[str, Callable[[str], bool]] = {
        "modes_in_task": lambda name: ALL_MODES[name].in_task_space,
        "modes_follow": lambda name: ALL_MODES[name].feedback,
    }
    tables.counted("const char *const", "modes", "mode_count", [text(name) for name in ALL_MODES])
    for member, flag in flags.items():
        values = [str(int(flag(name))) for name in ALL_MODES]
        tables.members[member] = tables.table("const int", f"{member}_table", values)
    tables.counted("const char *const", "laws", "law_count", [text(name) for name in LAWS])
    statuses = [
        f"{{{text(one.name.lower())}, {text(one.words)}, {text(WORDS_IN_TASK[one])}, "
        f"{LEVELS[one]}, {LOG_LEVELS[one]}, {text(REMEDIES[one])}, "
        f"{int(one not in WITHOUT_STATES)}}}"
        for one in Status
    ]
    tables.counted("const struct robot_dynamics_status", "statuses", "status_count", statuses)
    none = Sentence("", ("", ""), "")
    causes = {one.name.lower(): SENTENCES.get(one, none) for one in Cause}
    kind = "const struct robot_dynamics_cause"
    tables.counted(kind, "causes", "cause_count", _sentences(causes))
    tables.counted(kind, "refusals", "refusal_count", _sentences(REFUSALS))
    flaws = {one.name.lower(): sentence for one, sentence in FLAWS.items()}
    tables.counted(kind, "flaws", "flaw_count", _sentences(flaws))
    obstacles = {one.name.lower(): sentence for one, sentence in OBSTACLES.items()}
    tables.counted(kind, "obstacles", "obstacle_count", _sentences(obstacles))

    units = [f"{{{', '.join(map(text, (quantity, *two)))}}}" for quantity, two in UNITS.items()]
    tables.counted("const struct robot_dynamics_quantity", "quantities", "quantity_count", units)


def _sentences(sentences: Mapping[str, Sentence]) -> list[str]:
    rows = []
    for name, one in sentences.items():
        texts = name, one.text, *one.quantities, one.remedy, f"%.{one.digits}g"
        whole = map(number, whole_numbers(one.digits))
        rows.append(f"{{{', '.join((*map(text, texts), *whole))}}}")
    return rows


def add_joints(tables: Tables, robot: Robot) -> None:
    """Add names and limits of the joints, in the order of all vectors."""
    limits = robot.limits
    columns = (limits.lower, limits.upper, velocity_limits(robot), effort_limits(robot))
    rows = [
        f"{{{text(joint.name)}, {int(joint.type.rotates)}, "
        f"{', '.join(number(float(column[i])) for column in columns)}}}"
        for i, joint in enumerate(robot.independent_joints)
    ]
    tables.counted("const struct robot_dynamics_joint", "joints", "joint_count", rows)


def add_frames(tables: Tables, robot: Robot, end_effector: str | None) -> None:
    """Add the frames, and which of them are fixed to the end effector and to the root link."""
    tree = merge_fixed(robot)
    root, own = tree.links[0].name, end_effector and tree.frame(end_effector).link
    rows = []
    for name in robot.frame_names:
        link = tree.frame(name).link
        rows.append(f"{{{text(name)}, {int(link == own)}, {int(link == root)}}}")
    tables.counted("const struct robot_dynamics_frame", "frame_list", "frame_count", rows)


def add_urdf(tables: Tables, robot: Robot, endpoint: str | None) -> None:
    """Add links and joints of a URDF as far as they matter for the efforts.

    Frames without mass at the tips are left out, and masses that no joint moves.

    Args:
        tables: Where they are added.
        robot: The robot of the URDF, without locked joints or payload.
        endpoint: Link or frame of payloads; None for none.
    """
    joints = _relevant(robot, endpoint)
    moved = _moved(joints)
    links = [
        f"{{{text(link.name)}, {number(float(link.inertia.mass))}, {vector(link.inertia.com)}, "
        f"{vector(link.inertia.about_com[UPPER])}}}"
        for link in robot.links
        if link.name in moved
    ]
    tables.members["root"] = text(robot.links[0].name)
    tables.counted("const struct robot_dynamics_link", "links", "link_count", links)
    rows = [_joint(joint) for joint in joints]
    kind = "const struct robot_dynamics_tree_joint"
    tables.counted(kind, "tree", "tree_joint_count", rows)


def _relevant(robot: Robot, endpoint: str | None) -> list[Joint]:
    """Return the joints that move, and those that lead to a mass or to the payload."""
    payload = endpoint and robot.frame(endpoint).link
    needed = {link.name for link in robot.links if link.inertia.mass or link.name == payload}
    kept = set()
    for joint in reversed(robot.joints):  # from the tips to the root
        if joint.moves or joint.child in needed:
            needed.add(joint.parent)
            kept.add(joint.name)
    return [joint for joint in robot.joints if joint.name in kept]


def _moved(joints: list[Joint]) -> set[str]:
    """Return the links that a joint moves."""
    moved: set[str] = set()
    for joint in joints:
        if joint.moves or joint.parent in moved:
            moved.add(joint.child)
    return moved


def _joint(joint: Joint) -> str:
    mimic = joint.mimic
    follows = (
        f"{text(mimic.joint)}, {number(mimic.multiplier)}, {number(mimic.offset)}"
        if mimic
        else '"", 1.0, 0.0'
    )
    names = ", ".join(map(text, (joint.name, joint.type.value, joint.parent, joint.child)))
    origin = joint.origin
    return (
        f"{{{names}, {vector(origin.translation)}, {vector(origin.rotation.ravel())}, "
        f"{vector(joint.axis)}, {follows}, {vector(_limits(joint))}}}"
    )


def _limits(joint: Joint) -> tuple[float, ...]:
    """Return lower, upper, velocity and effort limit; infinite where there is none."""
    limits = joint.limits
    infinite = float("inf")
    return (
        float(limits.lower),
        float(limits.upper),
        float(limits.velocity) if limits.velocity > 0.0 else infinite,
        float(limits.effort) if limits.effort > 0.0 else infinite,
    )
