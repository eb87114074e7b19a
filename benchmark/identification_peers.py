"""Time of identification beside FIGAROH and FloBaRoID, on the same recording.

    python -m benchmark.identification_peers

with the folder of recordings in ROBOT_DYNAMICS_RECORDINGS, and peers in interpreters of their own:
FIGAROH_PYTHON (pip install figaroh); FLOBAROID_PYTHON (pip install idyntree cvxpy sympy colorama
humanize palettable trimesh) and FLOBAROID, a checkout of kjyv/FloBaRoID. Who is not there is said
so. Times are of one core, after imports.
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
    signal_processing: {{sampling_frequency: {rate}, cutoff_frequency: {edge}}}
"""


def figaroh(folder: Path) -> dict[str, float]:
    """Identify by FIGAROH; in its own interpreter."""
    from figaroh.identification import BaseIdentification
    from figaroh.tools.load_robot import load_robot

    class Panda(BaseIdentification):
        def load_trajectory_data(self, data_source=None):
            run = np.load(folder / "run.npz")
            return {
                "timestamps": run["time"],
                "positions": run["q"],
                "velocities": run["qd"],
                "accelerations": None,
                "torques": run["tau"],
            }

        def process_torque_data(self, **_):
            return self._apply_filters(
                self.raw_data["torques"], **self.filter_config["filter_params"]
            )

    start = time.process_time()
    found = Panda(load_robot(str(folder / "robot.urdf")), str(folder / "figaroh.yaml"))
    joints = list(range(found.model.nv))
    found.identif_config |= {"act_idxq": joints, "act_idxv": joints}
    found.initialize()
    found.solve(decimate=True, decimation_factor=10, plotting=False, wls=True)
    took = time.process_time() - start
    left = np.linalg.norm(found.tau_noised - found.tau_identif) / np.linalg.norm(found.tau_noised)
    return {"seconds": took, "left": 100.0 * float(left)}


def flobaroid(folder: Path) -> dict[str, float]:
    """Identify by FloBaRoID; in its own interpreter, from its checkout."""
    os.environ["MPLBACKEND"] = "Agg"
    checkout = Path(os.environ["FLOBAROID"])
    sys.path.insert(0, str(checkout))
    import yaml
    from identifier import Identification

    options = yaml.safe_load((checkout / "configs" / "kuka_lwr4.yaml").read_text())
    options |= {"startOffset": 0, "limitOverallMass": 0, "limitMassToApriori": 0, "createPlots": 0,
                "restrictCOMtoHull": 0, "verbose": 0}  # fmt: skip
    start = time.process_time()
    files = [[str(folder / "flobaroid.npz")]]
    found = Identification(options, str(folder / "robot.urdf"), None, files, None, None)
    found.estimateParameters()
    found.estimateRegressorTorques()
    took = time.process_time() - start
    measured = found.model.tauMeasured
    left = np.linalg.norm(found.tauEstimated - measured) / np.linalg.norm(measured)
    return {"seconds": took, "left": 100.0 * float(left)}


PEERS = {"figaroh": figaroh, "flobaroid": flobaroid}
TITLES = {"figaroh": "FIGAROH 1.0", "flobaroid": "FloBaRoID, with the settings of its KUKA LWR4"}


def beside(folder: Path, name: str) -> dict[str, float] | str:
    """What a peer says of the recording in a folder, or why it says nothing."""
    python = os.environ.get(f"{name.upper()}_PYTHON", sys.executable)
    command = [python, __file__, name, str(folder)]
    one_core = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=one_core)
    if done.returncode:
        last = (done.stderr.strip() or "no reason").splitlines()[-1]
        return f"not run ({last})"
    return json.loads(done.stdout.strip().splitlines()[-1])


def table() -> list[str]:
    """Lines of a page: ours and every peer."""
    from benchmark.identification import VARIABLE, one_number_a_line
    from robot_dynamics.identification import identify
    from robot_dynamics.identification.signals import signals
    from robot_dynamics.robot import find_robot, read_urdf

    source = find_robot("panda")
    robot = read_urdf(source).with_locked({"panda_finger_joint1": 0.0})
    recording = one_number_a_line(Path(os.environ[VARIABLE]) / "franka_1khz")
    identify(robot, recording, edge=5.0)  # compiles, imports
    start = time.process_time()
    found = identify(robot, recording, edge=5.0)
    took = time.process_time() - start
    motion = signals(recording, 5.0)
    left = np.linalg.norm(motion.tau - found.model.efforts(motion)) / np.linalg.norm(motion.tau)
    rows = [f"| robot_dynamics, bodies that exist | {took:.2f} | {100.0 * left:.2f} |"]
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
        n = robot.dof
        text = FIGAROH.format(joints=list(robot.joint_names), zeros=[0.0] * n, ones=[1.0] * n,
                              rate=float(round(recording.rate)), edge=5.0)  # fmt: skip
        (folder / "figaroh.yaml").write_text(text)
        for peer in PEERS:
            said = beside(folder, peer)
            told = (
                f"{said} | |"
                if isinstance(said, str)
                else "{seconds:.2f} | {left:.2f} |".format(**said)
            )
            rows.append(f"| {TITLES[peer]} | {told}")
    what = f"{recording.duration:.0f} s of the Panda at {recording.rate:.0f} Hz, below 5 Hz"
    return [f"| {what} | s of one core | % of all efforts left |", "| --- | --- | --- |", *rows]


def arm_alone(source: Path, path: Path) -> None:
    """The URDF with its fingers fixed, and without meshes."""
    from lxml import etree

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
    if len(sys.argv) == 3:
        print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
        return 0
    print("\n".join(table()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
