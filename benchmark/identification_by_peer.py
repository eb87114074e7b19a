"""Identify by a peer, in its own interpreter, which need not know this package.

    python identification_by_peer.py figaroh|flobaroid FOLDER

The folder is written by `identification_peers`; the last line printed is the answer, as JSON.
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


if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
