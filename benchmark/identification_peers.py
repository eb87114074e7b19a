"""Time and errors of identification beside FIGAROH, FloBaRoID and mujoco.sysid.

    python -m benchmark.identification_peers

with the folder of recordings in ROBOT_DYNAMICS_RECORDINGS, and peers in interpreters of their own:
FIGAROH_PYTHON (pip install figaroh); MUJOCO_PYTHON (pip install "mujoco[sysid]"); FLOBAROID_PYTHON
(pip install idyntree cvxpy sympy colorama humanize palettable trimesh) and FLOBAROID, a checkout of
kjyv/FloBaRoID. The page says which are not there. Times are of one core, after imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from lxml import etree

from benchmark.real_recordings import VARIABLE, one_number_a_line
from robot_dynamics.identification import Recording, identify
from robot_dynamics.recordings.signals import Signals, signals
from robot_dynamics.robot import Robot, find_robot, read_urdf

SCRIPT = Path(__file__).with_name("identification_by_peer.py")

FIGAROH = """\
robot: {{name: panda}}
tasks:
  identification:
    enabled: true
    joints: {{active_joints: {joints}}}
    mechanics:
      friction_coefficients: {{viscous: {zeros}, static: {zeros}}}
      actuator_inertias: {zeros}
      joint_offsets: {zeros}
      reduction_ratios: {ones}
    coupling: {{has_coupled_wrist: false}}
    problem:
      include_external_forces: false
      use_joint_torques: true
      model_components: {{friction: true, actuator_inertia: false, joint_offset: true}}
    signal_processing: {{sampling_frequency: {rate}, cutoff_frequency: {cutoff}}}
"""


TITLES = {"figaroh": "FIGAROH 1.0", "flobaroid": "FloBaRoID, with the settings of its KUKA LWR4"}


def beside(folder: Path, name: str) -> dict[str, float] | str:
    """Return the result of a peer for the recording in a folder, or the reason of its failure."""
    python = os.environ.get(f"{name.upper()}_PYTHON", sys.executable)
    command = [python, str(SCRIPT), name, str(folder)]
    one_core = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=one_core)
    if done.returncode:
        last = (done.stderr.strip() or "no reason").splitlines()[-1]
        return f"not run ({last})"
    return json.loads(done.stdout.strip().splitlines()[-1])


def table() -> list[str]:
    """Lines of a page: ours and every peer."""
    source = find_robot("panda")
    robot = read_urdf(source).with_locked({"panda_finger_joint1": 0.0})
    recording = one_number_a_line(Path(os.environ[VARIABLE]) / "franka_1khz")
    identify(robot, recording, cutoff=5.0)  # compiles, imports
    start = time.process_time()
    found = identify(robot, recording, cutoff=5.0)
    took = time.process_time() - start
    motion = signals(recording, 5.0)
    left = np.linalg.norm(motion.tau - found.model.efforts(motion)) / np.linalg.norm(motion.tau)
    rows = [f"| robot_dynamics, physically consistent | {took:.2f} | {100.0 * left:.2f} |"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arm_alone(source, folder / "robot.urdf")
        q, qd, tau = recording.q, recording.qd, recording.tau
        np.savez(folder / "run.npz", time=recording.time, q=q, qd=qd, tau=tau)
        full = signals(recording, 5.0, thinned=False)
        np.savez(folder / "flobaroid.npz", times=full.time, positions=full.q, velocities=full.qd,
                 accelerations=full.qdd, torques=full.tau, target_positions=full.q,
                 target_velocities=full.qd, target_accelerations=full.qdd,
                 frequency=recording.rate)  # fmt: skip
        (folder / "figaroh.yaml").write_text(configuration(robot, recording, 5.0))
        for peer, title in TITLES.items():
            said = beside(folder, peer)
            told = (
                f"{said} | |"
                if isinstance(said, str)
                else "{seconds:.2f} | {left:.2f} |".format(**said)
            )
            rows.append(f"| {title} | {told}")
    what = f"{recording.duration:.0f} s of the Panda at {recording.rate:.0f} Hz, below 5 Hz"
    return [f"| {what} | s of one core | % of all efforts left |", "| --- | --- | --- |", *rows]


def configuration(robot: Robot, recording: Recording, cutoff: float) -> str:
    """Return the configuration of FIGAROH for a recording of a robot."""
    n = robot.dof
    return FIGAROH.format(joints=list(robot.joint_names), zeros=[0.0] * n, ones=[1.0] * n,
                          rate=float(round(recording.rate)), cutoff=float(cutoff))  # fmt: skip


def predicted(
    peer: str, source: Path, robot: Robot, first: Recording, last: Signals
) -> np.ndarray | str:
    """Return the efforts of a peer, fitted to a recording, along another motion, shape (N, n).

    Where it does not run, the result is the reason.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arm_alone(source, folder / "robot.urdf")
        np.savez(folder / "run.npz", time=first.time, q=first.q, qd=first.qd, tau=first.tau)
        for path, motion in (("fitted", signals(first, last.cutoff)), ("last", last)):
            np.savez(folder / path, q=motion.q, qd=motion.qd, qdd=motion.qdd, tau=motion.tau)
        (folder / "figaroh.yaml").write_text(configuration(robot, first, last.cutoff))
        said = beside(folder, peer)
        return said if isinstance(said, str) else np.load(folder / "predicted.npy")


def arm_alone(source: Path, path: Path) -> None:
    """The URDF with its fingers fixed, and without meshes."""
    tree = etree.parse(str(source))
    for joint in tree.iter("joint"):
        if "finger" in joint.get("name", "") and joint.get("type") == "prismatic":
            joint.set("type", "fixed")
            for tag in ("mimic", "limit", "axis", "dynamics"):
                for child in joint.findall(tag):
                    joint.remove(child)
    for link in tree.iter("link"):
        for tag in ("visual", "collision"):
            for child in link.findall(tag):
                link.remove(child)
    tree.write(str(path))


def main() -> int:
    """Print the table."""
    print("\n".join(table()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
