"""Time robots on floating and planar bases beside Pinocchio: python -m benchmark.moving_bases.

Contenders take turns in one run, and the best turn of each counts. The table has the time of this
package divided by that of Pinocchio, both called from Python with one state.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmark.cases import Source, make_case, stripped_urdf
from benchmark.kernels.timing import Call, best_times
from robot_dynamics import Dynamics

ROBOTS = {
    "talos": (Source("Talos reduced", "talos_reduced"), "floating"),
    "solo12": (Source("Solo12", "solo12"), "floating"),
    "go1": (Source("Go1", "go1"), "floating"),
    "tiago": (Source("TIAGo", "tiago_no_hand"), "planar"),
}

TARGETS = {
    "inverse": 0.08,
    "forward": 0.1,
    "centroidal_momentum": 0.1,
    "centroidal_matrix": 0.1,
    "inverse_derivatives": 0.1,
}
"""Largest ratio that is aimed at."""


def calls(key: str, folder: Path) -> Iterator[tuple[str, Call, Call]]:
    """Quantity, our call and Pinocchio's for one robot, after a check that both agree."""
    import pinocchio as pin

    source, kind = ROBOTS[key]
    case = make_case(key, source.title, stripped_urdf(source), folder)
    base = getattr(case.robot, f"with_{kind}_base")()
    arm, n = Dynamics(base), base.dof
    root = pin.JointModelFreeFlyer() if kind == "floating" else pin.JointModelPlanar()
    model = pin.buildModelFromUrdf(str(case.path), root)
    data = model.createData()
    rng = np.random.default_rng(0)
    q = arm.integrate(arm.neutral(), rng.normal(size=n))
    qd, qdd = rng.normal(size=(2, n))
    first, count = base.nq - case.robot.dof, n - case.robot.dof
    order = np.arange(n)
    places = [model.joints[model.getJointId(name)] for name in case.robot.joint_names]
    their_q = np.zeros(model.nq)
    their_q[:first] = q[:first]
    for i, place in enumerate(places):
        order[place.idx_v] = count + i
        angle = q[first + i]
        own = (np.cos(angle), np.sin(angle)) if place.nq == 2 else (angle,)
        their_q[place.idx_q : place.idx_q + place.nq] = own
    v, a = qd[order], qdd[order]
    tau = pin.rnea(model, data, their_q, v, a)
    ours: dict[str, tuple[Any, ...]] = {
        "inverse": (q, qd, qdd),
        "forward": (q, qd, tau[np.argsort(order)]),
        "centroidal_momentum": (q, qd),
        "centroidal_matrix": (q,),
        "inverse_derivatives": (q, qd, qdd),
    }
    theirs = {
        "inverse": Call(pin.rnea, (model, data, their_q, v, a)),
        "forward": Call(pin.aba, (model, data, their_q, v, tau)),
        "centroidal_momentum": Call(pin.computeCentroidalMomentum, (model, data, their_q, v)),
        "centroidal_matrix": Call(pin.computeCentroidalMap, (model, data, their_q)),
        "inverse_derivatives": Call(pin.computeRNEADerivatives, (model, data, their_q, v, a)),
    }
    found = arm.inverse(q, qd, qdd)[order]
    assert np.max(np.abs(found - tau)) < 1e-9 * np.max(np.abs(tau)), f"{key} disagrees"
    for quantity, arguments in ours.items():
        method = getattr(arm, quantity)
        method(*arguments)
        yield quantity, Call(getattr(arm, quantity), arguments), theirs[quantity]


def main() -> None:
    """Print the table."""
    table = Table("robot", *(f"{name} (<= {most:g})" for name, most in TARGETS.items()))
    with TemporaryDirectory() as folder:
        for key in sys.argv[1:] or ROBOTS:
            cells = []
            for quantity, mine, other in calls(key, Path(folder)):
                best = best_times({"ours": mine, "pin": other}, turns=200, duration=0.002)
                ratio = best["ours"] / best["pin"]
                cells.append(f"{ratio:.3f} ({1e6 * best['ours']:.2f} us)")
                print(key, quantity, cells[-1], flush=True)
            table.add_row(ROBOTS[key][0].title, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
