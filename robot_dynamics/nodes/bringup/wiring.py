"""Wiring: the nodes that move an arm with their parameters, and what starts a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PACKAGE = "robot_dynamics"


@dataclass(frozen=True)
class File:
    """A file that a node reads, to be written before the node starts."""

    text: str


@dataclass(frozen=True)
class StartedNode:
    """A node to start.

    Attributes:
        executable: Its executable.
        package: Package of the executable.
        name: Name of the node; empty for that of the executable.
        namespace: Namespace of the node and its topics.
        parameters: Parameter files and parameters; of equal names the last one counts.
        remappings: Topics by their old and new names.
        arguments: Words of its command line.
        environment: Environment variables that it gets besides those of the launch.
        at_exit: Message that is logged when it ends.
    """

    executable: str
    package: str = PACKAGE
    name: str = ""
    namespace: str = ""
    parameters: tuple[str | File | Mapping[str, object], ...] = ()
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str | File, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    at_exit: str = ""


def control_nodes(
    *,
    simulated: bool,
    follower: str = "",
    own: Mapping[str, Mapping[str, object]] | None = None,
    common: Mapping[str, object] | None = None,
) -> dict[str, dict[str, object]]:
    """Return the nodes that move an arm, in the order that answers a state in its own cycle.

    Args:
        simulated: Whether a simulator takes the place of the robot.
        follower: What closes the loop in place of controller_node: the argument "arm_controller"
            or "joint_trajectory_controller", or an empty text.
        own: Parameters by the name of a node.
        common: Parameters of every node.

    Returns:
        Parameters by the name of the node.
    """
    names = [*(["simulator_node"] if simulated else []), "feedforward_node"]
    names += [] if follower else ["controller_node"]
    nodes = {name: {**(own or {}).get(name, {}), **(common or {})} for name in names}
    if simulated and not follower:
        nodes["controller_node"].setdefault("require_effort_limits", False)  # no arm can be hurt
    if follower == "joint_trajectory_controller":
        nodes["feedforward_node"]["hold_with_effort"] = True
    return nodes
