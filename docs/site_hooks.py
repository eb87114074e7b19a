"""What the site needs beside the pages: README, API pages, and no links out of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]

# A page each: every package with `__all__`, and modules whose names users need; in the menu's order
API = (
    "robot_dynamics",
    "robot_dynamics.errors",
    "robot_dynamics.robot",
    "robot_dynamics.robot.denavit_hartenberg",
    "robot_dynamics.formulations",
    "robot_dynamics.reduction",
    "robot_dynamics.dynamics",
    "robot_dynamics.dynamics.variant",
    "robot_dynamics.dynamics.symbolic_parameters",
    "robot_dynamics.kinematics",
    "robot_dynamics.statics",
    "robot_dynamics.trajectory",
    "robot_dynamics.control",
    "robot_dynamics.simulation",
    "robot_dynamics.identification",
    "robot_dynamics.study",
)

# A function that has the name of its file hides behind it, and is asked for by its place
HIDDEN = {
    "robot_dynamics.control": "\n::: robot_dynamics.control.limits.effort_limits\n"
    "    options: {show_root_heading: true, show_root_toc_entry: true}\n"
}

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the README as index.md, and a page for each module of `API`, from its docstrings."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=text))
    for module in API:
        page = f"# {module}\n\n::: {module}\n{HIDDEN.get(module, '')}"
        files.append(File.generated(config, f"api/{module}.md", content=page))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Say the name of a file of the repository where its page would be linked."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def outside(match: re.Match[str]) -> str:
        mark, text, target = match.groups()
        path = target.partition("#")[0]
        if "://" in target or not path:
            return match.group(0)
        if path == "../README.md":
            return f"[{text}](index.md)"
        inside = (folder / path).resolve()
        if inside.is_relative_to(ROOT / "docs") and inside.exists() and inside.suffix != ".py":
            return match.group(0)
        return text if not mark else match.group(0)

    return LINK.sub(outside, markdown)
