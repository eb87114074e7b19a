"""Write the table and the picture of docs/controller.md from the code of the controller.

Run it as `python docs/make_controller_page.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from robot_dynamics.control.arm import ArmEquations
from robot_dynamics.control.step import SETTINGS, Step

PAGE = Path(__file__).with_name("controller.md")
PICTURE = PAGE.parent / "figures" / "controller.svg"

STAGES = {
    "intake": (
        "guard.py",
        "what arrived; settings",
        "what is believed of the robot; the load",
    ),
    "sense": ("contacts.py", "measured motion", "its presliding direction"),
    "add": ("contacts.py", "state", "efforts that the robot adds itself"),
    "observe": (
        "contacts.py",
        "state; last efforts",
        "external efforts, contact, what counts twice",
    ),
    "supervise": (
        "supervision.py",
        "reference; findings of the watches",
        "cause, status, law, and where a motion begins",
    ),
    "foresee": (
        "step.py",
        "state; reference",
        "efforts at rest; inertias; accelerations by efforts",
    ),
    "target": ("targets.py", "targets that came; status", "target of the end effector"),
    "begin": ("motion.py", "start; joint ranges", "transition to the reference or to rest"),
    "move": ("motion.py", "transition; reference", "desired state, and its errors"),
    "follow_presliding": ("intake.py", "desired motion", "presliding direction"),
    "law": ("laws.py", "desired and measured state", "efforts of the law and of the model"),
    "command": ("command.py", "efforts of the law; gains", "efforts within all limits; watches"),
    "look": ("oscillation.py", "position errors", "a joint that oscillates"),
    "rest": ("rest.py", "positions; efforts", "whether the arm has been at rest for a while"),
}
"""File, main inputs and main results of every stage."""

INK, PAPER, BOX, SKIPPED = "#1f2933", "#ffffff", "#dbe9f6", "#f4f1e4"


def step() -> Step:
    """Return a step of two joints: its stages do not depend on the equations."""
    return Step(2, ArmEquations({}, (), None, None, base_moves=False))


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [head, ("---",) * len(head), *body]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def conditions() -> dict[str, str]:
    """Return when each stage is evaluated, in words."""
    made = step()
    fields = {**SETTINGS, **made.state.fields}
    return {
        stage.name: fields[stage.when].about.removeprefix("1 ") if stage.when else "always"
        for stage in made.stages
    }


def stages() -> str:
    """Return the table of the stages."""
    rows = [("stage", "file", "reads mainly", "decides and writes", "evaluated")]
    for name, when in conditions().items():
        file, reads, writes = STAGES[name]
        link = f"[`{file}`](../robot_dynamics/control/{file})"
        rows.append((name, link, reads, writes, when))
    return _table(rows)


def picture() -> str:
    """Return the picture of the step as SVG."""
    top, height, gap, left, width = 96, 42, 14, 250, 420
    found = conditions()
    bottom = top + len(found) * (height + gap) - gap
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {bottom + 90}" '
        'font-family="sans-serif" font-size="14">',
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>',
        f'<rect width="900" height="{bottom + 90}" fill="{PAPER}"/>',
    ]

    def text(x: float, y: float, words: str, how: str = "") -> None:
        parts.append(f'<text x="{x}" y="{y}" fill="{INK}" {how}>{escape(words)}</text>')

    def arrow(path: str) -> None:
        parts.append(
            f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.5" '
            'marker-end="url(#head)"/>'
        )

    middle = left + width / 2
    text(middle, 32, "(state, arrived, settings) → state", 'text-anchor="middle" font-size="18"')
    text(middle, 58, "dashed: skipped in cycles that do not need it", 'text-anchor="middle"')
    for k, (name, when) in enumerate(found.items()):
        y = top + k * (height + gap)
        dashed = "" if when == "always" else ' stroke-dasharray="5 3"'
        fill = BOX if when == "always" else SKIPPED
        parts.append(
            f'<rect x="{left}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" '
            f'stroke="{INK}"{dashed}/>'
        )
        text(left + 14, y + 26, name, 'font-weight="bold"')
        text(left + 98, y + 26, STAGES[name][2], 'font-size="13"')
        if k:
            arrow(f"M{middle} {y - gap}V{y - 1}")
    rows = {name: top + k * (height + gap) + height / 2 for k, name in enumerate(found)}
    for name, words in (
        ("intake", "joint states, load"),
        ("supervise", "references, resume"),
        ("target", "poses, twists, wrenches"),
        ("law", "model: equations"),
        ("command", "gains and limits"),
    ):
        text(30, rows[name] + 5, words)
        arrow(f"M195 {rows[name]}H{left - 2}")
    right = left + width
    text(right + 60, rows["supervise"] - 9, "status, cause, law")
    arrow(f"M{right} {rows['supervise']}H{right + 200}")
    text(right + 60, rows["command"] - 9, "efforts")
    arrow(f"M{right} {rows['command']}H{right + 200}")
    # What the last stages found returns with the state of the next cycle
    back = right + 34
    arrow(f"M{middle} {bottom}V{bottom + 34}H{back}V{rows['intake']}H{right + 2}")
    text(back + 10, bottom + 39, "state of the next cycle")
    return "\n".join([*parts, "</svg>"]) + "\n"


def with_table(page: str) -> str:
    """Return the page with the table as the code defines it now."""
    first, last = "<!-- make_controller_page.py: stages -->\n", "<!-- end -->"
    before, found, rest = page.partition(first)
    if not found:
        raise SystemExit(f"{PAGE.name}: no place '{first.strip()}'")
    return before + first + stages() + rest[rest.index(last) :]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
