"""An arm behind a real controller_manager: MuJoCo in a hardware component, joints reversed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.faults.arm import FRICTION, Array, mujoco_model
from benchmark.faults.poses import POSES
from benchmark.ros2_control.arms import Arm

SUBSTEP_S = 1e-4
"""Longest step of the hardware component, s."""


@dataclass(frozen=True)
class ManagedArm(Arm):
    """An arm with the masses of its model, and friction that the model lacks.

    Attributes:
        friction: Dry friction, as a share of the effort limit.
        viscous: Viscous friction at 1 rad/s, likewise.
        rotor: Inertia of the rotors as seen from the joints, likewise, at 1 rad/s^2.
    """

    mass_error: float = 0.0
    friction: float = FRICTION
    viscous: float = 0.0
    rotor: float = 0.0

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of its model controller, beside type and model."""
        return {}

    @property
    def start(self) -> Array:
        """Positions at which motions begin, rad."""
        return np.array(POSES[self.name][0])

    @property
    def far(self) -> Array:
        """Positions at which they end, rad."""
        return np.array(POSES[self.name][1])

    @property
    def interface_joints(self) -> tuple[str, ...]:
        """Names of the joints in the order of the interfaces of the plant."""
        return self.robot.joint_names[::-1]

    def write_plant(self, folder: Path) -> dict[str, object]:
        """Write the model of MuJoCo, and return the parameters of the component for that."""
        import mujoco  # optional, and slow to import

        model = mujoco_model(self.plant_urdf, SUBSTEP_S)
        names = tuple(model.joint(j).name for j in range(model.njnt))
        assert names == self.robot.joint_names, names
        model.jnt_actfrclimited[:] = 0
        limit = self.robot.limits.effort
        model.dof_frictionloss[:] += self.friction * limit
        model.dof_damping[:] += self.viscous * limit
        model.dof_armature[:] += self.rotor * limit
        file = folder / "plant.mjb"
        mujoco.mj_saveModel(model, str(file))
        return {"model": file}
