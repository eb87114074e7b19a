"""Packages that only identification needs, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from robot_dynamics.errors import MissingPackageError


def needed(module: str, purpose: str) -> Any:
    """Import a module of an optional package.

    Raises:
        MissingPackageError: If it is not installed; the line says how to get it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingPackageError(
            f"{purpose} needs {package}; install it with "
            "pip install 'robot_dynamics[identification]'"
        ) from None
