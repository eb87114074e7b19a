"""Exceptions of the package.

Each message names the fault (file and element, joint, frame or argument) and a
remedy, on one line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


class RobotDynamicsError(Exception):
    """Base class of all exceptions of the package."""

    def __str__(self) -> str:
        return printable(Exception.__str__(self))


class UrdfError(RobotDynamicsError, ValueError):
    """A robot description that is not a valid URDF of a robot."""


class RobotError(RobotDynamicsError, ValueError):
    """A request that does not fit the robot, such as an impossible pose, payload or chain."""


class UnknownNameError(RobotError, KeyError):
    """A joint, link, frame or formulation that does not exist."""


class ArgumentError(RobotDynamicsError, ValueError):
    """An invalid argument: NaN, out of range, not a number."""


class ShapeError(ArgumentError):
    """An argument whose shape does not fit the robot."""


class TraceError(RobotDynamicsError, TypeError):
    """Equations that cannot be traced: they branch on a value or leave plain arithmetic."""


class BackendError(RobotDynamicsError, RuntimeError):
    """A compiler back end that is not available on this machine."""


class SingularMassMatrixError(RobotError):
    """A joint that moves no inertia, so that forward dynamics has no solution."""


class SingularCoordinatesError(RobotError):
    """Generalized coordinates that are singular at the present state."""


class EmptyModelError(RobotError):
    """A simplified model that keeps no term of any joint."""


class TrajectoryError(RobotDynamicsError, ValueError):
    """A trajectory that cannot be followed; the previous one remains active."""


class RecordingError(RobotDynamicsError, ValueError):
    """A recording that cannot be written or read, or is unfit for identification."""


class MissingPackageError(RobotDynamicsError, ImportError):
    """A package that is not installed; the message names the extra that brings it."""


class SimulationError(RobotDynamicsError, ArithmeticError):
    """A simulated motion that diverged."""


def printable(text: str) -> str:
    """Return a text without line breaks and terminal codes, which names in files may have.

    Args:
        text: Any text.

    Returns:
        The text, with what cannot be printed as escapes.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shown(value: object) -> str:
    """Return the text of a value for a message, on one line of at most 60 characters.

    Args:
        value: Any value.

    Returns:
        Its `repr`, shortened.
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, or None.

    Args:
        name: Name that was given.
        known: Names that exist.

    Returns:
        The most similar name, or None if none is similar.
    """
    import difflib  # noqa: PLC0415  # slow to import, and most names are right

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def unknown_name(kind: str, name: str, owner: str, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that `owner` lacks, with the most similar known name.

    Args:
        kind: Kind of thing, such as "joint".
        name: Name that was given.
        owner: Owner of the known names, for the message.
        known: Names that exist.

    Returns:
        The error, which the caller raises.
    """
    names = list(known)
    shown = ", ".join(names[:12]) + (f", ... {len(names)} in all" if len(names) > 12 else "")
    close = nearest(str(name), names)
    hint = f"; did you mean '{close}'?" if close else ""
    return UnknownNameError(f"no {kind} '{name}' in {owner} ({kind}s: {shown or 'none'}){hint}")


def check_known(kind: str, name: object, owner: str, known: Collection[str]) -> None:
    """Raise the error of `unknown_name` if a name is not text or `owner` lacks it.

    Args:
        kind: Kind of thing, such as "joint".
        name: Name that was given.
        owner: Owner of the known names, for the message.
        known: Names that exist.

    Raises:
        UnknownNameError: If the name is not text or `owner` lacks it.
    """
    if not isinstance(name, str) or name not in known:
        raise unknown_name(kind, str(name), owner, known)
