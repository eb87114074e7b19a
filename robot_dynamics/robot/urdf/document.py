"""A URDF as an XML document: safe to open, with file and line for messages.

A robot description may come from an untrusted topic or download. The reader fetches
nothing, expands no entities and limits the size before parsing.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from robot_dynamics.errors import UrdfError
from robot_dynamics.robot.catalogue import known_robots, urdf_text

Element = Any  # lxml's element class is private to it

MAX_BYTES = 16 * 1024 * 1024
"""Largest accepted description: ten times the largest known (meshes are separate files)."""

TEXT_NAME = "<robot_description>"
"""Name in messages of a description given as text."""

_UNEXPANDED = (
    "//*[contains(namespace-uri(), 'xacro') or @*[contains(., '${') or contains(., '$(')]]"
)
_RUN_XACRO = "run xacro first: xacro robot.urdf.xacro > robot.urdf"
_LINE_AND_COLUMN = re.compile(r",? line \d+, column \d+$")
_XML_DECLARATION = re.compile(r"\A(\s*)<\?xml[^>]*\?>")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Document:
    """The elements of one URDF, and messages that locate them.

    Args:
        name: Path as the caller gave it, or `TEXT_NAME`.
        root: The element <robot>.
    """

    name: str
    root: Element

    def error(self, element: Element, problem: str) -> UrdfError:
        """Build the error for a problem with an element: file, line, link or joint, problem."""
        return UrdfError(self._message(element, problem))

    def warn(self, element: Element, problem: str) -> None:
        """Log a problem that is no error, in the format of an error."""
        logger.warning("%s", self._message(element, problem))

    def _message(self, element: Element, problem: str) -> str:
        # Names may contain line breaks; a message is one line
        text = f"{self.name}:{element.sourceline}: {describe(element)}: {problem}"
        return " ".join(text.split())


def describe(element: Element) -> str:
    """Return the link or joint that an element belongs to, such as "link 'forearm'"."""
    while element.getparent() is not None and element.getparent().tag != "robot":
        element = element.getparent()
    tag, name = etree.QName(element).localname, element.get("name")
    if element.prefix:
        tag = f"{element.prefix}:{tag}"
    return f"{tag} '{name}'" if name else tag


def open_document(source: str | os.PathLike[str]) -> Document:
    """Read a URDF from a path or from its XML text; a xacro file (*.xacro) is expanded first.

    Raises:
        UrdfError: If xacro is missing or fails, if the source is missing or empty, if it is not an
            XML document with root <robot>, or if it declares a document type.
    """
    name, data = _read(source)
    # A new parser each time: parsers are cheap and must not be shared between threads
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        problem = _LINE_AND_COLUMN.sub("", " ".join(str(error.msg).split()))
        hint = f"; {_RUN_XACRO}" if "xacro" in problem else ""
        raise UrdfError(f"{name}:{error.lineno or 1}: not XML: {problem}{hint}") from None
    document = Document(name, root)
    if root.getroottree().docinfo.internalDTD is not None:
        raise UrdfError(f"{name}:1: declares a document type (DTD), which is refused; remove it")
    if None in root.nsmap:  # <robot xmlns="..."> would prefix every tag
        for element in root.iter(etree.Element):
            if element.prefix is None:
                element.tag = etree.QName(element).localname
    if root.tag != "robot":
        raise UrdfError(
            f"{name}:{root.sourceline}: the root element is <{root.tag}>, not <robot>; "
            "give a URDF (convert other formats first)"
        )
    for element in root.xpath(_UNEXPANDED):
        raise document.error(element, f"xacro is not expanded here; {_RUN_XACRO}")
    return document


def _read(source: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return the name for messages and the content in bytes."""
    if not isinstance(source, (str, os.PathLike)):
        raise UrdfError(f"read_urdf takes a path or XML text, got {type(source).__name__}")
    if isinstance(source, str):
        text = source.removeprefix("\ufeff")
        if not text.strip():
            raise UrdfError(f"{TEXT_NAME}: empty; give the path of a URDF, or its XML text")
        if text.lstrip().startswith("<"):
            # A declared encoding refers to a file and does not apply to text
            data = _XML_DECLARATION.sub(r"\1", text).encode("utf-8", "surrogatepass")
            return TEXT_NAME, _bounded(TEXT_NAME, data)
        if "\n" in text:
            raise UrdfError(f"{TEXT_NAME}: neither a path nor XML text (which starts with '<')")
    name = os.fspath(source)
    path = Path(source)
    if path.suffix.lower() == ".xacro" and path.is_file():
        return name, _bounded(name, _XML_DECLARATION.sub(r"\1", urdf_text(path)).encode())
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # the size of a pipe is unknown
    except FileNotFoundError:
        hint = f" (a robot known by name: read_urdf(find_robot('{name}')))"
        known = not path.suffix and name in known_robots()
        raise UrdfError(
            f"{name}: no such file; give the path of a URDF, or its XML text{hint if known else ''}"
        ) from None
    except IsADirectoryError:
        raise UrdfError(f"{name}: is a folder; give the URDF file in it") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or error
        raise UrdfError(f"{name}: cannot be read: {reason}") from None
    if not data.strip():
        raise UrdfError(f'{name}: empty; a URDF starts with <robot name="...">')
    return name, _bounded(name, data)


def _bounded(name: str, data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise UrdfError(
            f"{name}: larger than {MAX_BYTES // 2**20} MiB, so not a URDF; meshes belong in files "
            "of their own"
        )
    return data
