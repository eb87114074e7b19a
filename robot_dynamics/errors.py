"""Every error that this package raises on purpose.

Each message names the thing that is wrong (file and element, joint, frame or
argument) and says what to do about it, on one line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


class RobotDynamicsError(Exception):
    """Base class: catch this to catch every deliberate error of the package."""


class UrdfError(RobotDynamicsError, ValueError):
    """A robot description that cannot be read as a robot."""


class RobotError(RobotDynamicsError, ValueError):
    """A request that does not fit the robot: a pose, payload or chain it cannot have."""


class UnknownNameError(RobotError, KeyError):
    """A joint, link, frame or formulation that does not exist."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


class ArgumentError(RobotDynamicsError, ValueError):
    """An argument whose value cannot be used: NaN, out of range, not a number."""


class ShapeError(ArgumentError):
    """An argument whose shape does not fit the robot."""


class TraceError(RobotDynamicsError, TypeError):
    """Equations that cannot be traced: they branch on a value or leave plain arithmetic."""


class BackendError(RobotDynamicsError, RuntimeError):
    """A compiler back end that is not available here."""


class SingularMassMatrixError(RobotError):
    """A joint that accelerates nothing, so that forward dynamics has no answer."""


class SingularCoordinatesError(RobotError):
    """Generalized coordinates that do not describe the robot where it is."""


class EmptyModelError(RobotError):
    """A simplified model that keeps no term of any joint."""


class TrajectoryError(RobotDynamicsError, ValueError):
    """A trajectory that cannot be followed; the previous one stays in force."""


class RecordingError(RobotDynamicsError, ValueError):
    """A recording that cannot be written or read, or that no model can be identified from."""


class MissingPackageError(RobotDynamicsError, ImportError):
    """A package that is not installed; the message names the extra that brings it."""


class SimulationError(RobotDynamicsError, ArithmeticError):
    """A simulated motion that ran away to infinity."""


def shown(value: object) -> str:
    """What a message shows of a value, on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like another one, None if none is."""
    import difflib  # noqa: PLC0415  # slow to import, and most names are right

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def unknown_name(kind: str, name: str, owner: str, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that `owner` does not have, with the nearest one that it has."""
    names = list(known)
    shown = ", ".join(names[:12]) + (f", ... {len(names)} in all" if len(names) > 12 else "")
    close = nearest(str(name), names)
    hint = f"; did you mean '{close}'?" if close else ""
    return UnknownNameError(f"no {kind} '{name}' in {owner} ({kind}s: {shown or 'none'}){hint}")


def check_known(kind: str, name: object, owner: str, known: Collection[str]) -> None:
    """Raise the error of `unknown_name` for a name that `owner` lacks, or that is no text."""
    if not isinstance(name, str) or name not in known:
        raise unknown_name(kind, str(name), owner, known)
