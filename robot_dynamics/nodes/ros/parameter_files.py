"""Parameter files: checked before any node starts, and written for a process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import rclpy
import yaml
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.nested_parameters import ANY_NODE, by_node


def check_config(argument: str, path: str) -> None:
    """Check that the nodes will be able to read their parameter file, by the parser of rcl.

    Args:
        argument: What names the file, for the message, such as "config:=".
        path: The file.

    Raises:
        ArgumentError: If they will not.
    """
    context = Context()
    given = ["--ros-args", "--log-level", "rcl:=fatal", "--params-file", path]
    try:
        Path(path).read_text(encoding="utf-8")
        rclpy.init(args=given, context=context, signal_handler_options=SignalHandlerOptions.NO)
        context.try_shutdown()
    except (OSError, UnicodeDecodeError, RuntimeError) as error:  # the last of rcl
        reason = str(error).partition("Error: ")[2].partition(", at /")[0].strip() or error
        raise ArgumentError(
            f"{argument}{path}: not a parameter file of ROS 2 ({reason}); compare it with "
            "config/robot_dynamics.yaml"
        ) from None


def parameter_in(path: str, node: str, name: str) -> object:
    """Return what a parameter file gives a node, or None; the last entry counts, as for rcl.

    Args:
        path: A file that `check_config` has accepted.
        node: Name of the node, in any namespace.
        name: Of the parameter, with dots.
    """
    found: object = None
    for one, values in by_node(yaml.safe_load(Path(path).read_text(encoding="utf-8"))):
        if one in (node, *ANY_NODE):
            found = values.get(name, found)
    return found


def parameters_text(values: Mapping[str, Mapping[str, object]]) -> str:
    """Return the text of a parameter file with the parameters of each node."""
    tree = {f"/**/{name}": {"ros__parameters": dict(own)} for name, own in values.items()}
    return str(yaml.safe_dump(tree))


def keep_temporary_files_together() -> None:
    """Put temporary files of this process, also those of launch_ros, where its end removes them."""
    tempfile.tempdir = tempfile.mkdtemp(prefix="robot_dynamics_")
    atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)


def temporary_file(text: str) -> str:
    """Write a parameter file that is removed when the launch ends; return its path."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write(text)
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return file.name
