"""`urdf_parser_py`, without the modules that it imports to print robots."""

from robot_dynamics.foundation.lazy import postpone

postpone("yaml")
postpone("xml.dom.minidom")

from urdf_parser_py.urdf import URDF  # noqa: E402

__all__ = ["URDF"]
