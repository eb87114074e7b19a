"""Text of a URDF in which single numbers change and every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from robot_dynamics.errors import UrdfError

_ATTRIBUTE = rb"""\b%s\s*=\s*("[^"]*"|'[^']*')"""


@dataclass
class Element:
    """An element of a document, and the places of its tags.

    Args:
        tag: Name of the tag.
        name: Attribute `name`.
        start: Byte where its start tag begins.
        end: Byte behind its start tag.
        close: Byte where its end tag begins; `end` if it has none.
        children: In document order.
    """

    tag: str
    name: str
    start: int
    end: int
    close: int = 0
    children: list[Element] = field(default_factory=list)

    def child(self, tag: str) -> Element | None:
        """Return the first child with a tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)


class UrdfText:
    """Text of a URDF; collects changes and applies them together.

    Args:
        data: Content of the file.

    Raises:
        UrdfError: If it is not XML.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._edits: list[tuple[int, int, bytes]] = []
        self.root = _parsed(data)

    def named(self, tag: str) -> Iterator[tuple[str, Element]]:
        """Return the children of the root with a tag, and their names."""
        return ((child.name, child) for child in self.root.children if child.tag == tag)

    def set(self, element: Element, attribute: str, value: str) -> None:
        """Set or add an attribute."""
        tag = self.data[element.start : element.end]
        found = re.search(_ATTRIBUTE % attribute.encode(), tag)
        if found:
            first, last = (element.start + place for place in found.span(1))
            self._edits.append((first + 1, last - 1, value.encode()))
        else:
            at = element.end - (2 if tag.endswith(b"/>") else 1)
            self._edits.append((at, at, f' {attribute}="{value}"'.encode()))

    def get(self, element: Element, attribute: str) -> str | None:
        """Return the value of an attribute, or None."""
        tag = self.data[element.start : element.end]
        found = re.search(_ATTRIBUTE % attribute.encode(), tag)
        return found.group(1)[1:-1].decode() if found else None

    def add(self, element: Element, text: str) -> None:
        """Insert a first child into an element, on its own line if the element has lines."""
        if self.data[element.end - 2 : element.end] == b"/>":
            whole = f">{text}</{element.tag}>".encode()
            self._edits.append((element.end - 2, element.end, whole))
            return
        gap = re.match(rb"\s*", self.data[element.end :])
        space = gap.group() if gap else b""
        self._edits.append((element.end, element.end, space + text.encode()))

    def changed(self) -> bytes:
        """Return the text with all changes."""
        data = self.data
        for first, last, new in sorted(self._edits, key=lambda edit: edit[:2], reverse=True):
            data = data[:first] + new + data[last:]
        return data


def _parsed(data: bytes) -> Element:
    top = Element("", "", 0, 0)
    path = [top]
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        at = parser.CurrentByteIndex
        element = Element(tag, attributes.get("name", ""), at, _end_of_tag(data, at))
        element.close = element.end
        path[-1].children.append(element)
        path.append(element)

    def end(_: str) -> None:
        path.pop().close = parser.CurrentByteIndex

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UrdfError(f"the URDF to change is not XML: {error}") from None
    return top.children[0]


def _end_of_tag(data: bytes, at: int) -> int:
    """Return the byte behind the '>' of a tag; one inside quotes does not count."""
    found = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"'])*>""").match(data, at)
    return found.end() if found else at
