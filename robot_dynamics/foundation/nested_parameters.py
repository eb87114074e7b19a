"""Parameters of ROS 2 nodes as their files nest them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ANY_NODE = ("**", "*")
"""Names in a parameter file that stand for every node."""


def by_node(tree: object, node: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield nodes without their namespaces, and their parameters by names with dots."""
    if not isinstance(tree, Mapping):
        return
    for key, value in tree.items():
        if key == "ros__parameters" and isinstance(value, Mapping):
            yield node.rpartition("/")[2], flat(value)
        else:
            yield from by_node(value, str(key))


def flat(tree: Mapping[Any, Any], before: str = "") -> dict[str, Any]:
    """Return nested parameters by their names with dots."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{before}{key}"
        found |= flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return found
