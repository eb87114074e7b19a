"""Every kernel by name, the kernels of one robot, and `Dynamics`, which most users meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics

__all__ = ["Dynamics"]


def __getattr__(name: str) -> Any:
    """Import `Dynamics` when it is first used: kernels by name do without it."""
    if name != "Dynamics":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from robot_dynamics.dynamics.dynamics import Dynamics  # noqa: PLC0415

    return Dynamics


def __dir__() -> list[str]:
    """List the names that are not imported yet, too."""
    return sorted({*globals(), *__all__})
