"""Inputs of a kernel beside the motion: a load, a wrench, the direction of gravity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from robot_dynamics.errors import ArgumentError, shown
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.endpoint import Wrenches, wrench_on_link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, body_with, inertial_parameters

Shape = tuple[int, ...]

FRICTION_WIDTH = 0.01
"""Speed at which smoothed Coulomb friction reaches tanh(1) = 76 %, rad/s or m/s."""


@dataclass(frozen=True)
class Variant:
    """Inputs of a kernel beside the motion.

    Args:
        wrench_at: Frame where the robot exerts a wrench, input `wrench`, shape (6,).
        payload_at: Frame that carries a load, input `payload`, shape (10,): mass, first moment
            x, y, z and inertia xx, xy, xz, yy, yz, zz about the origin of the frame, in its axes.
        gravity: Whether the gravitational acceleration is an input, `gravity`, shape (3,).
        friction: Whether damping and friction of the URDF are part of the efforts.
        frame: Frame that kinematics is about.
    """

    wrench_at: str | None = None
    payload_at: str | None = None
    gravity: bool = False
    friction: bool = False
    frame: str | None = None

    def __post_init__(self) -> None:
        for name in (self.wrench_at, self.payload_at, self.frame):
            if not (name is None or isinstance(name, str)):
                raise ArgumentError(f"a frame is given by its name, got {shown(name)}")

    def __str__(self) -> str:
        parts = [f"wrench@{self.wrench_at}"] if self.wrench_at else []
        parts += [f"payload@{self.payload_at}"] if self.payload_at else []
        parts += [f"frame {self.frame}"] if self.frame else []
        parts += [name for name in ("gravity", "friction") if getattr(self, name)]
        return "+".join(parts)

    @property
    def inputs(self) -> dict[str, Shape]:
        """The additional inputs by name and shape, in the order of the arguments."""
        inputs: dict[str, Shape] = {"wrench": (6,)} if self.wrench_at else {}
        inputs |= {"payload": (10,)} if self.payload_at else {}
        return inputs | ({"gravity": (3,)} if self.gravity else {})

    def apply(self, tree: Robot, values: Mapping[str, Array]) -> tuple[Robot, Wrenches]:
        """Put the load and gravity of the call on a tree, and read the wrench by link.

        Args:
            tree: Tree without fixed joints.
            values: Inputs of the kernel by name.

        Returns:
            The tree with the load and gravity, and the wrenches by index of the link.

        Raises:
            UnknownNameError: If there is no such frame.
        """
        if self.gravity:
            tree = replace(tree, gravity=values["gravity"])
        if self.payload_at:
            place = tree.frame(self.payload_at)
            at = tree.link_index(place.link)
            load = body_with(values["payload"]).expressed_in(place.pose)
            links = list(tree.links)
            links[at] = replace(links[at], inertia=links[at].inertia + load)
            tree = replace(tree, links=tuple(links))
        if self.wrench_at:
            return tree, dict([wrench_on_link(tree, values["wrench"], self.wrench_at)])
        return tree, {}


MOTION_ONLY = Variant()
"""The motion is the only input."""


def payload_numbers(load: Inertia) -> Array:
    """Return the ten numbers of the input `payload` of a load.

    Args:
        load: Mass distribution of the load in the frame that carries it.

    Returns:
        Shape (10,): mass (kg), first moment (kg m) and inertia (kg m^2), ordered as in `Variant`.

    Raises:
        ArgumentError: If it is no `Inertia`.
    """
    if not isinstance(load, Inertia):
        raise ArgumentError(
            f"payload must be an Inertia, got {shown(load)}; make one with Inertia.from_com"
        )
    return inertial_parameters(load)
