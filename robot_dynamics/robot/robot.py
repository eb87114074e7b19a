"""Robot: a kinematic tree, with its transformations as methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from robot_dynamics.robot import transforms
from robot_dynamics.robot.kinematic_tree import STANDARD_GRAVITY, JointType, KinematicTree
from robot_dynamics.spatial import Pose

__all__ = ["STANDARD_GRAVITY", "Robot"]


@dataclass(frozen=True, eq=False, repr=False)
class Robot(KinematicTree):
    """A tree of links and joints in its zero reference position; arguments of `KinematicTree`.

    Each method calls the function of `transforms` that documents it.
    """

    def with_gravity(self, gravity: npt.ArrayLike) -> Robot:
        """Set the gravity vector (3,), m/s^2, in root axes: `transforms.with_gravity`."""
        return transforms.with_gravity(self, gravity)

    def with_limits(
        self, velocity: Mapping[str, float] | None = None, effort: Mapping[str, float] | None = None
    ) -> Robot:
        """Lower limits of joints by name: `transforms.with_limits`."""
        return transforms.with_limits(self, velocity or {}, effort or {})

    def with_locked(self, positions: Mapping[str, float]) -> Robot:
        """Fix joints at positions (rad or m) by name, and their followers: `transforms.lock`."""
        return transforms.lock(self, positions)

    def with_joint_elasticity(
        self,
        stiffness: Mapping[str, float] | npt.ArrayLike,
        damping: Mapping[str, float] | npt.ArrayLike = 0.0,
    ) -> Robot:
        """Put springs between motors and links: `transforms.with_joint_elasticity`."""
        return transforms.with_joint_elasticity(self, stiffness, damping)

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: npt.ArrayLike = (0.0, 0.0, 0.0),
        inertia: npt.ArrayLike | None = None,
    ) -> Robot:
        """Attach a body to a link: mass kg, com (3,) m and inertia about it (3, 3) kg m^2.

        Com and inertia are in the axes of `frame`: `transforms.with_payload`.
        """
        return transforms.with_payload(self, frame, mass, com, inertia)

    def with_floating_base(self) -> Robot:
        """Put the robot on a floating joint, free in space: `transforms.with_free_base`."""
        return transforms.with_free_base(self, JointType.FLOATING)

    def with_planar_base(self) -> Robot:
        """Put the robot on a planar joint, free on the floor: `transforms.with_free_base`."""
        return transforms.with_free_base(self, JointType.PLANAR)

    def with_fixed_base(self) -> Robot:
        """Weld all floating and planar joints at zero: `transforms.weld_base`."""
        return transforms.weld_base(self)

    def subchain(self, base: str, tip: str) -> Robot:
        """Cut out the links and joints from `base` to `tip`: `transforms.subchain`."""
        return transforms.subchain(self, base, tip)

    def mounted(self, orientation: npt.ArrayLike | Pose) -> Robot:
        """Rotate the root link in the world; rpy (3,) or rotation (3, 3): `transforms.mount`."""
        return transforms.mount(self, orientation)
