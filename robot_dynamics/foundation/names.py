"""Names from outside in generated text: code, comments, file names and pictures.

A URDF may call a robot, link or joint anything, such as 'x*/ #include' or '../../home'. Every
export passes names through these functions. Different names stay different.
"""

from __future__ import annotations

import hashlib
import re

_IDENTIFIER = re.compile(r"[A-Za-z](?:[A-Za-z0-9]|_(?!_))*", re.ASCII)
LONGEST = 48
"""Characters of an identifier; C promises to tell 63 apart, and suffixes follow."""

_UNSAFE = re.compile(r"[^\w .,:;=+@()<>^|/'\[\]-]")
"""All but word characters of any script, and punctuation that is safe in every language."""


def identifier(name: str, prefix: str = "x") -> str:
    """Return a name as an identifier of C, C++, Python, LaTeX and file systems.

    A name that is none has its other characters replaced, and a digest of the name appended.

    Args:
        name: Any text.
        prefix: Beginning of the identifier if the name does not begin with a letter.
    """
    if len(name) <= LONGEST and _IDENTIFIER.fullmatch(name) and not name.endswith("_"):
        return name
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    plain = plain if plain[:1].isalpha() else f"{prefix}_{plain}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[:LONGEST].strip('_')}_{digest}"


def comment(text: str) -> str:
    """Return text for comments and docstrings of any language, on one line.

    Characters that could end a comment or continue a line become %HH, as in addresses of the web.
    """

    def escaped(match: re.Match[str]) -> str:
        data = match.group().encode("utf-8", "surrogatepass")
        return "".join(f"%{byte:02X}" for byte in data)

    return _UNSAFE.sub(escaped, text)


def plot_text(text: str) -> str:
    """Return text for Matplotlib, which would typeset what stands between dollar signs."""
    return text.replace("$", r"\$")
