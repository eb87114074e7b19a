"""Every kernel by name, the kernels of one robot, and `Dynamics`, which most users meet."""

from typing import TYPE_CHECKING

from robot_dynamics.foundation.lazy import late

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Dynamics

__all__ = ["Dynamics"]

__getattr__, __dir__ = late(__name__)  # kernels by name do without `Dynamics`
