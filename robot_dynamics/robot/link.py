"""Links, and named frames that are fixed to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from robot_dynamics.foundation.arrays import Value
from robot_dynamics.spatial.rigid_body import Inertia, Pose


@dataclass(frozen=True, eq=False)
class Link(Value):
    """One rigid body; its frame is the frame of the joint that carries it."""

    name: str
    inertia: Inertia = field(default_factory=Inertia.zero)


@dataclass(frozen=True, eq=False)
class Frame(Value):
    """A named frame fixed to a link: pose X_LF of the frame in that link."""

    link: str
    pose: Pose
