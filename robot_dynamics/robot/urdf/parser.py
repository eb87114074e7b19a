"""`urdf_parser_py`, without the YAML reader that it imports to print robots."""

from robot_dynamics.foundation.lazy import postpone

postpone("yaml")

from urdf_parser_py.urdf import URDF  # noqa: E402

__all__ = ["URDF"]
