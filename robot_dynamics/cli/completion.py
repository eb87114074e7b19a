"""Completion of a command line in a shell: verbs, options, robots and files, by argcomplete."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from robot_dynamics.robot.catalogue import described_robots, known_robots


def complete(parser: Callable[[str | None], argparse.ArgumentParser]) -> None:
    """Answer the shell, and end the process; do nothing where argcomplete is not installed.

    Args:
        parser: Makes the parser for a verb, None for none yet.
    """
    try:
        import argcomplete  # noqa: PLC0415  # optional
    except ModuleNotFoundError:
        return
    files = argcomplete.FilesCompleter()

    def names_and_files(prefix: str, action: argparse.Action, **others: object) -> list[str]:
        named = action.dest == "robot"
        known = {*known_robots(), *described_robots()} if named else set()
        names = sorted(name for name in known if name.startswith(prefix))
        return [*names, *files(prefix, action=action, **others)]

    argcomplete.autocomplete(parser(_verb()), default_completer=names_and_files)


def _verb() -> str | None:
    """The verb before the word that is being typed."""
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    before = line.split(" ")[int(os.environ["_ARGCOMPLETE"]) : -1]  # behind the program's name
    return next((word for word in before if word and not word.startswith("-")), None)
