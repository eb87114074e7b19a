"""Identify by a peer, in its own interpreter, which need not know this package.

    python identification_by_peer.py figaroh|flobaroid|mujoco FOLDER

The folder is written by `identification_peers`; the last line printed is the answer, as JSON. With
`last.npz` in it, FIGAROH predicts the efforts of that motion and writes them to `predicted.npy`, as
mujoco.sysid does, which fits the filtered samples of `fitted.npz`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np


def figaroh(folder: Path) -> dict[str, float]:
    """Identify by FIGAROH; in its own interpreter."""
    from figaroh.identification import BaseIdentification
    from figaroh.tools.load_robot import load_robot

    class Arm(BaseIdentification):
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
    found = Arm(load_robot(str(folder / "robot.urdf")), str(folder / "figaroh.yaml"))
    joints = list(range(found.model.nv))
    found.identif_config |= {"act_idxq": joints, "act_idxv": joints}
    found.initialize()
    found.solve(decimate=True, decimation_factor=10, plotting=False, wls=True)
    took = time.process_time() - start
    left = np.linalg.norm(found.tau_noised - found.tau_identif) / np.linalg.norm(found.tau_noised)
    if (folder / "last.npz").is_file():
        last = np.load(folder / "last.npz")
        found.processed_data = {
            "positions": last["q"], "velocities": last["qd"], "accelerations": last["qdd"]
        }  # fmt: skip
        found.calculate_full_regressor()
        W = np.delete(found.dynamic_regressor, found._idx_eliminated, axis=1)
        efforts = W[:, found._base_indices] @ found.phi_base
        np.save(folder / "predicted.npy", efforts[: last["q"].size].reshape(len(joints), -1).T)
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


def mujoco_sysid(folder: Path) -> dict[str, float]:
    """Fit bodies, damping and friction loss by mujoco.sysid to the efforts of `mj_inverse`.

    Its own modifiers refuse bodies without geometry, so that parameters are written here.
    """
    import mujoco
    from mujoco import sysid

    spec = mujoco.MjSpec.from_file(str(folder / "robot.urdf"))
    model, fitted = spec.compile(), np.load(folder / "fitted.npz")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.body_sameframe[:] = 0
    data, parameters = mujoco.MjData(model), sysid.ParameterDict()
    bodies = [b for b in range(1, model.nbody) if model.body_mass[b] > 0.0]
    for b in bodies:
        name, kind = model.body(b).name, sysid.InertiaType.Pseudo
        parameters.add(sysid.body_inertia_param(spec, model, name, inertia_type=kind))
    for field in ("damping", "frictionloss"):
        one = np.ones(model.nv)
        parameters.add(sysid.Parameter(field, 0.5 * one, 0.0 * one, 100.0 * one))

    def efforts(parameters, motion):
        for b in bodies:
            theta = parameters[f"{model.body(b).name}_inertia"].value
            pi = sysid.model_modifier.pi_from_theta(theta)
            cross = sysid.model_modifier.skew(pi[1:4] / pi[0])
            inertia, axes = np.linalg.eigh(pi[4:].reshape(3, 3) + pi[0] * cross @ cross)
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            model.body_mass[b], model.body_ipos[b] = pi[0], pi[1:4] / pi[0]
            model.body_inertia[b] = inertia
            mujoco.mju_mat2Quat(model.body_iquat[b], axes.ravel())
        model.dof_damping[:] = np.ravel(parameters["damping"].value)
        model.dof_frictionloss[:] = np.ravel(parameters["frictionloss"].value)
        found = np.empty_like(motion["q"])
        states = zip(motion["q"], motion["qd"], motion["qdd"], strict=True)
        for i, (data.qpos[:], data.qvel[:], data.qacc[:]) in enumerate(states):
            mujoco.mj_inverse(model, data)
            found[i] = data.qfrc_inverse
        return found

    size = np.std(fitted["tau"], axis=0)

    def residual(x, parameters):
        parameters.update_from_vector(x)
        return [((efforts(parameters, fitted) - fitted["tau"]) / size).ravel()], None, None

    start = time.process_time()
    found, _ = sysid.optimize(parameters, residual, optimizer="scipy", verbose=False, max_iters=20)
    took = time.process_time() - start
    np.save(folder / "predicted.npy", efforts(found, np.load(folder / "last.npz")))
    left = np.linalg.norm(efforts(found, fitted) - fitted["tau"]) / np.linalg.norm(fitted["tau"])
    return {"seconds": took, "left": 100.0 * float(left)}


PEERS = {"figaroh": figaroh, "flobaroid": flobaroid, "mujoco": mujoco_sysid}


if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
