"""Recordings of real robots, from the folder in ROBOT_DYNAMICS_RECORDINGS.

The folder has `ur10/ur10_exciting_trajectory.db3` and `fer/panda_exciting_trajectory.db3`
(unisa-acg/inverse-dynamics-solver), `tx40/*.csv.gz` with its URDF (thanhndv212/figaroh-plus), and
`franka_1khz/exciting_traj_*.txt` (marcocognetti/FrankaEmikaPandaDynModel, matlab/data).
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.control.actuators import Actuators
from robot_dynamics.identification import Recording
from robot_dynamics.robot import Robot, find_robot, read_urdf

VARIABLE = "ROBOT_DYNAMICS_RECORDINGS"
"""Environment variable that names the folder."""


@dataclass
class RecordedCase:
    """A recording of a robot: `cutoff` is of the filter, Hz, None for that of the motion."""

    name: str
    robot: Robot
    recording: Recording
    cutoff: float | None = None


def cases(folder: Path) -> list[RecordedCase]:
    """The recordings that are there and split into a part to fit and one to try."""
    panda = read_urdf(find_robot("panda")).with_locked({"panda_finger_joint1": 0.0})
    found = []
    if (folder / "ur10").is_dir():
        ur10 = read_urdf(find_robot("ur10"))
        bag = folder / "ur10" / "ur10_exciting_trajectory.db3"
        found.append(RecordedCase("UR10", ur10, Recording.read(bag, ur10)))
    if (folder / "fer").is_dir():
        bag = folder / "fer" / "panda_exciting_trajectory.db3"
        found.append(RecordedCase("Panda at 30 Hz", panda, Recording.read(bag, panda)))
    if (folder / "franka_1khz").is_dir():
        found.append(
            RecordedCase("Panda at 1 kHz", panda, one_number_a_line(folder / "franka_1khz"), 5.0)
        )
    return found


def one_number_a_line(folder: Path) -> Recording:
    """The format of FrankaEmikaPandaDynModel: seven numbers a sample."""
    columns = {
        name: np.loadtxt(folder / f"exciting_traj_{name}.txt")
        for name in ("time", "positions", "velocity", "torques")
    }
    time = columns.pop("time")
    rows = min(len(time), *(len(values) // 7 for values in columns.values()))
    q, qd, tau = (values[: 7 * rows].reshape(rows, 7) for values in columns.values())
    return Recording(time[:rows], q, qd, tau, "franka_1khz")


def staubli(folder: Path) -> tuple[Robot, Recording, Actuators]:
    """The TX40, from the side of its motors: the sixth turns with the fifth joint, too."""
    robot = read_urdf(folder / "tx40_mdh_modified.urdf", require_inertia=False)
    position, current = (
        numbers_of(folder / f"{name}_data.csv.gz") for name in ("pos_read", "curr")
    )
    coupling = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    coupling[5, 4] = 32.0
    actuators = Actuators.of_coupling(robot.joint_names, coupling)
    time = np.arange(len(position)) / 5000.0
    recording = Recording(time, position, None, current, "tx40").at_joints(actuators)
    zero = np.array([0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0])  # of the URDF against the drives
    return robot, Recording(time, recording.q + zero, None, recording.tau, "tx40"), actuators


def numbers_of(path: Path) -> np.ndarray:
    """The numbers under a header."""
    with gzip.open(path, "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)
