"""A robot's dynamics, from its URDF to native code and ROS 2 topics.

A URDF becomes a robot (`robot`). A formulation turns a robot into equations of
motion (`formulations`). A compiler turns the equations into straight-line
kernels (`compiler`, `kernels`, `dynamics`). Nodes put the kernels on topics
(`nodes`). Imports run only downwards in that order.
"""

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.urdf import read_urdf

__version__ = "0.1.0"
__all__ = ["Dynamics", "Robot", "__version__", "read_urdf"]
