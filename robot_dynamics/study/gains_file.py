"""Gains as parameters of controller_node: a bandwidth search prints them, a study reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.control.gains import Gains
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.user_files import read_yaml


def read_gains(path: str | Path, joint_names: Sequence[str]) -> Gains:
    """Read the gains of all joints.

    Args:
        path: YAML parameters of controller_node, or `gains` alone: p, i, d and i_clamp by joint.
        joint_names: Of the robot, in order.

    Raises:
        ArgumentError: If it cannot be read, lacks p or d of a joint, or holds invalid gains.
    """
    found: Any = read_yaml(path, ArgumentError, "p and d of every joint under gains")
    for key in ("controller_node", "ros__parameters", "gains"):
        found = found.get(key, found) if isinstance(found, dict) else {}
    rows = []
    for name in joint_names:
        own = found.get(name)
        if not isinstance(own, dict) or not {"p", "d"} <= own.keys():
            raise ArgumentError(
                f"{path}: holds no gains of joint '{name}'; write {name}: {{p: 100.0, d: 10.0}} "
                "under gains, as parameters of controller_node have them"
            )
        rows.append([own["p"], own["d"], own.get("i", 0.0), own.get("i_clamp", np.inf)])
    try:
        kp, kd, ki, i_clamp = np.array(rows, dtype=np.float64).T
        return Gains(kp, kd, ki, i_clamp)
    except (TypeError, ValueError, RobotDynamicsError) as error:
        raise ArgumentError(f"{path}: {error}; give numbers, zero or more") from None
