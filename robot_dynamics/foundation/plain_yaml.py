"""Plain YAML: maps, lists, text, numbers, booleans and null, read and written."""

from __future__ import annotations

import re
from typing import Any

import yaml

from robot_dynamics.errors import RobotDynamicsError, shown

Failure = type[RobotDynamicsError]

DEEPEST = 50
"""Levels of nesting of a YAML file."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads maps, lists, text, numbers, booleans and null; dates are text."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):  # a few of them unfold into billions of values
            _refuse_yaml(event, "aliases (*name) are not read; repeat the values")
        if getattr(event, "tag", None) not in (None, "!"):
            _refuse_yaml(event, "tags (!name) are not read; leave the tag out")
        self.depth += 1
        if self.depth > DEEPEST:
            _refuse_yaml(event, f"more than {DEEPEST} levels of nesting; write them flat")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


_OTHERWISE = ("timestamp", "value", "int", "float")
_Loader.yaml_implicit_resolvers = {
    first: [item for item in known if item[0].rpartition(":")[2] not in _OTHERWISE]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# Decimal numbers alone: YAML 1.1 has 1_0, 1:30 and 010 for 10, 90 and 8, and 1e-3 as text
for _kind, _pattern in (
    ("int", r"[-+]?(0|[1-9]\d*)\Z"),
    ("float", r"[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|\.inf)\Z|\.nan\Z"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(_pattern, re.ASCII), list("-+.0123456789")
    )


class _Refused(yaml.MarkedYAMLError):  # type: ignore[misc]
    """YAML that `_Loader` does not read."""


def _refuse_yaml(event: Any, fault: str) -> None:
    raise _Refused(problem=fault, problem_mark=event.start_mark)


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes each list in one paragraph."""


_Dumper.add_representer(
    list, lambda dumper, row: dumper.represent_sequence("tag:yaml.org,2002:seq", row, True)
)


def yaml_text(tree: Any) -> str:
    """Return a tree of maps, lists and values as YAML, in its order."""
    return str(yaml.dump(tree, Dumper=_Dumper, sort_keys=False, width=100))


def parse_yaml(text: str, where: str, failure: Failure, contents: str) -> Any:
    """Return the first document of a YAML text, or None if it is empty.

    Documents behind the first `---` are ignored.

    Args:
        text: The text.
        where: Name of the text, for messages.
        failure: Exception to raise.
        contents: Expected contents, for the message: "write `contents`".

    Raises:
        failure: If it is not plain YAML.
    """
    fault = f"not YAML; write {contents}"
    try:
        return next(iter(yaml.load_all(text, _Loader)), None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        if isinstance(error, _Refused):
            fault = error.problem
        raise failure(f"{where}: {line}{fault}") from None
    except ValueError as error:  # a whole number of more digits than Python reads
        raise failure(f"{where}: {shown(str(error))}; {fault}") from None
