"""An arm that is not ours: MuJoCo, with friction that its URDF does not name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.robot import find_robot

Array = npt.NDArray[np.float64]

STEP_S = 1e-3
"""Step of the simulation, s."""

FRICTION = 0.02
"""Dry friction that no URDF names, as a share of the effort limit."""

BRAKE = 1e5
"""Dry friction of a closed brake, N m or N."""


def description(robot: str) -> str:
    """Return the URDF of a robot as text, with fixed fingers."""
    text = Path(find_robot(robot)).read_text(encoding="utf-8")
    return re.sub(r'(<joint name="[^"]*finger[^"]*" type=")\w+"', r'\1fixed"', text)


def mujoco_model(text: str, step: float = STEP_S) -> Any:
    """Return the model of a URDF, for steps up to the given one, s."""
    import mujoco  # optional, and slow to import

    bare = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
    settings = '<mujoco><compiler fusestatic="true" balanceinertia="true"/></mujoco>'
    end = bare.rindex("</robot>")
    model: Any = mujoco.MjModel.from_xml_string(bare[:end] + settings + bare[end:])
    model.opt.timestep = step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # Stiff enough that friction does not creep
    model.dof_solref[:] = 2.0 * step, 1.0
    model.dof_solimp[:, :2] = 0.99999
    return model


class Arm:
    """A simulated arm whose drives keep the last command.

    Args:
        text: URDF.
        q: First positions, shape (n,), rad or m.
        friction: Dry friction that the URDF does not name, as a share of the effort limit.

    Attributes:
        names: Names of its joints.
        tau: Efforts of the drives, shape (n,).
        braked: Whether its brakes are closed.
    """

    def __init__(self, text: str, q: Array, friction: float = FRICTION) -> None:
        import mujoco  # optional, and slow to import

        self._step = mujoco.mj_step
        model = mujoco_model(text)
        self.names = [model.joint(j).name for j in range(model.njnt)]
        self._limit = model.jnt_actfrcrange[:, 1].copy()
        model.jnt_actfrclimited[:] = 0
        self._dry = model.dof_frictionloss + friction * self._limit
        self._model, self._data = model, mujoco.MjData(model)
        self._data.qpos[:] = q
        self.tau, self.braked = np.zeros(len(q)), True

    @property
    def q(self) -> Array:
        """Positions, shape (n,), rad or m."""
        return np.array(self._data.qpos)

    @property
    def qd(self) -> Array:
        """Velocities, shape (n,), rad/s or m/s."""
        return np.array(self._data.qvel)

    def advance(self, steps: int) -> None:
        """Simulate some steps."""
        self._model.dof_frictionloss[:] = BRAKE if self.braked else self._dry
        self._data.qfrc_applied[:] = np.clip(self.tau, -self._limit, self._limit)
        for _ in range(steps):
            self._step(self._model, self._data)

    def lead(self, qd: Array, seconds: float) -> None:
        """Move the arm by hand at a velocity, shape (n,), for a time, s; leave it after none."""
        self._data.qpos[:] += seconds * qd
        self._data.qvel[:] = qd if seconds else 0.0
