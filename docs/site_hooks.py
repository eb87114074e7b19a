"""Pages of the site that are not in docs/, numbers from records, and links out of docs/."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmark.record import quoted_numbers, with_numbers  # noqa: E402

QUOTED = quoted_numbers()

# A page each: every package with `__all__`, and modules whose names users need; in the menu's order
API = (
    "robot_dynamics",
    "robot_dynamics.errors",
    "robot_dynamics.robot",
    "robot_dynamics.robot.denavit_hartenberg",
    "robot_dynamics.formulations",
    "robot_dynamics.formulations.lagrange",
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
    "robot_dynamics.nodes.composition",
)

# A function that has the name of its file hides behind it, and is asked for by its place
HIDDEN = {
    "robot_dynamics.control": "\n::: robot_dynamics.control.limits.effort_limits\n"
    "    options: {show_root_heading: true, show_root_toc_entry: true}\n"
}

# What the package itself offers is documented where it is defined
TOP = """The names that most programs need. Each is documented with its package.

- [`Dynamics`][robot_dynamics.dynamics.Dynamics]: the equations of motion of a robot, compiled
- [`Robot`][robot_dynamics.robot.Robot]: links and joints
- [`read_urdf`][robot_dynamics.robot.read_urdf]: a robot from its URDF
"""

# Files beside docs/ that are pages of the site
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples/index.md",
}

# For the search, in which a title counts a thousand times: behind the pages that explain
BEHIND = "---\nsearch:\n  boost: 0.002\n---\n\n"
# Figures of the publications: the notebooks show them on the site, with what leads to them
DRAWN = "docs/worked-examples.md"

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">(?:\\\((?P<inline>.*?)\\\)|\s*\\\[(?P<block>.*?)\\\]\s*)</\1>',
    re.S,
)
TESTED = re.compile(r"^\|[^\n]*\| tests? \|\n(?:\|.*\|\n)+", re.M)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """List every example in the menu."""
    for entry in config["nav"]:
        if "Examples" in entry:
            entry["Examples"] += [
                {path.stem.replace("_", " "): f"examples/{path.stem}.md"} for path in examples()
            ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the change log, the examples, and a page for each module of `API`."""
    for source, page in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    for path in examples():
        text = notebook(path) if path.suffix == ".ipynb" else script(path)
        files.append(File.generated(config, f"examples/{path.stem}.md", content=text))
    for module in API:
        about = TOP if module == "robot_dynamics" else f"::: {module}\n{HIDDEN.get(module, '')}"
        page = f"{BEHIND}# {module}\n\n{about}"
        files.append(File.generated(config, f"api/{module}.md", content=page))
    return files


def examples() -> Iterator[Path]:
    """Yield every script and notebook of examples/."""
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix in (".py", ".ipynb") and not path.name.startswith("_"):
            yield path


def script(path: Path) -> str:
    """Return the page of a script: what it says of itself, and its code."""
    text = path.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(text)) or ""
    code = text.split('"""', 2)[-1].strip()
    return f"{BEHIND}# {path.name}\n\n{about}\n\n```python\n{code}\n```\n"


def notebook(path: Path) -> str:
    """Return the page of a notebook: its text, its code, and what that prints and draws."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            picture = output.get("data", {}).get("image/png")
            if picture:
                picture = "".join(picture).replace("\n", "")
                parts.append(
                    f'<img alt="figure of the cell" src="data:image/png;base64,{picture}">'
                )
            elif "text" in output:
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Fill in quoted numbers, and let links to files beside docs/ lead to them."""
    place = page.file.src_uri
    source = next((name for name, to in OUTSIDE.items() if to == place), f"docs/{place}")
    if place.startswith("examples/"):
        source = place
    folder = Path(source).parent

    def linked(match: re.Match[str]) -> str:
        mark, text, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path or mark:
            return match.group(0)
        found = site_place(os.path.normpath(folder / path), config["repo_url"])
        if "://" not in found:
            found = os.path.relpath(found, Path(place).parent)
        return f"[{text}]({found}{'#' if anchor else ''}{anchor})"

    return LINK.sub(linked, with_numbers(TESTED.sub(without_tests, markdown), QUOTED))


def without_tests(table: re.Match[str]) -> str:
    """Return a table without its last column, which names tests: they are for developers."""
    return re.sub(r"\|[^|\n]*\|$", "|", table.group(), flags=re.M)


def on_page_content(html: str, **_: Any) -> str:
    """Turn formulas into MathML, which browsers draw without a script."""

    def drawn(match: re.Match[str]) -> str:
        inline = match.group("inline")
        formula = unescape(inline if inline is not None else match.group("block"))
        return convert(formula.strip(), display="block" if inline is None else "inline")

    return FORMULA.sub(drawn, html)


def site_place(path: str, repository: str) -> str:
    """Return the page that a file of the repository has on the site, or its address elsewhere."""
    if path == "README.md":
        return "index.md"
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path.startswith("examples/") and Path(path).suffix in (".py", ".ipynb"):
        return str(Path(path).with_suffix(".md"))
    if path.startswith("docs/") and not path.endswith(".py") and path != DRAWN:
        return path.removeprefix("docs/")
    return f"{repository}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"
