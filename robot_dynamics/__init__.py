"""A robot's dynamics, from its URDF to native code and ROS 2 topics.

A URDF becomes a robot (`robot`). A formulation turns a robot into equations of
motion (`formulations`). A compiler turns the equations into straight-line
kernels (`compiler`, `dynamics`). Nodes connect the kernels to topics (`nodes`).
Modules import only from packages earlier in that order.
"""

from typing import TYPE_CHECKING

from robot_dynamics.foundation.lazy import late
from robot_dynamics.version import __version__

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics
    from robot_dynamics.robot.robot import Robot
    from robot_dynamics.robot.urdf.reader import read_urdf

__all__ = ["Dynamics", "Robot", "__version__", "read_urdf"]

__getattr__, __dir__ = late(__name__)  # reading a URDF needs no compiler
