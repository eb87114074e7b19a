"""What the site needs beside the pages: the README as its first one, and no links out of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the README as index.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=text))
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
