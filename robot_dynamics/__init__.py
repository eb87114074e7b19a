"""A robot's dynamics, from its URDF to native code and ROS 2 topics.

A URDF becomes a robot (`robot`). A formulation turns a robot into equations of
motion (`formulations`). A compiler turns the equations into straight-line
kernels (`compiler`, `dynamics`). Nodes connect the kernels to topics (`nodes`).
Modules import only from packages earlier in that order.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robot_dynamics.version import __version__

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics
    from robot_dynamics.robot.robot import Robot
    from robot_dynamics.robot.urdf.reader import read_urdf

__all__ = ["Dynamics", "Robot", "__version__", "read_urdf"]

_HOME = {
    "Dynamics": "robot_dynamics.dynamics.dynamics",
    "Robot": "robot_dynamics.robot.robot",
    "read_urdf": "robot_dynamics.robot.urdf.reader",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: reading a URDF needs no compiler."""
    if name not in _HOME:
        raise AttributeError(f"module 'robot_dynamics' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List all names, including those that are not imported yet."""
    return sorted({*globals(), *__all__})
