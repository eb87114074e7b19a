"""This package and its peers on one robot: what they call, and whether they agree.

Every contender offers some of the quantities. Its result, brought to the joint
order of this package, is compared with ours before it is timed: a peer that computes
something else (another gravity, a friction term) must not win by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark import peers
from benchmark.cases import Case
from benchmark.kernels.timing import Call
from robot_dynamics import Dynamics
from robot_dynamics.formulations import FORMULATIONS, inverse_dynamics
from robot_dynamics.robot import Inertia
from robot_dynamics.robot.transforms import merge_fixed

Array = npt.NDArray[np.float64]

QUANTITIES = {
    "inverse": "inverse dynamics",
    "mass_matrix": "mass matrix",
    "forward": "forward dynamics",
    "inverse_derivatives": "derivatives of inverse dynamics",
    "forward_derivatives": "derivatives of forward dynamics",
}
"""Quantities timed as a single call, with their names in tables."""


@dataclass
class Contender:
    """One package on one robot.

    Attributes:
        name: Name in tables.
        calls: What is timed, by quantity.
        results: For some quantities, a function that gives the result in our joint order.
    """

    name: str
    calls: dict[str, Call] = field(default_factory=dict)
    results: dict[str, Callable[[], Array]] = field(default_factory=dict)


OURS = "robot_dynamics"
OURS_KERNEL = "robot_dynamics, kernel"
OURS_HELD = "robot_dynamics, results held"
HELD = 5
OURS_KEPT = "robot_dynamics, all results kept"
KEPT = 500  # more than an entry remembers

KEYWORD_INPUTS = ("gravity", "payload", "wrench")
"""Inputs beside the motion that are timed."""


def ours(case: Case, arm: Dynamics) -> list[Contender]:
    """The methods of Dynamics, with results let go and held, and the kernels behind them."""
    q, qd, qdd, tau = case.q, case.qd, case.qdd, case.tau
    arguments = {
        "inverse": (q, qd, qdd),
        "mass_matrix": (q,),
        "forward": (q, qd, tau),
        "inverse_derivatives": (q, qd, qdd),
        "forward_derivatives": (q, qd, tau),
    }
    for name, values in arguments.items():
        getattr(arm, name)(*values)  # from its second call on, a method is the compiled entry
    methods = Contender(OURS, {k: Call(getattr(arm, k), a) for k, a in arguments.items()})
    kernels = Contender(OURS_KERNEL, {k: Call(arm.kernel(k), a) for k, a in arguments.items()})
    for contender in (methods, kernels):
        for quantity in ("inverse", "mass_matrix", "forward"):
            contender.results[quantity] = contender.calls[quantity]
        for quantity in ("inverse_derivatives", "forward_derivatives"):
            call = contender.calls[quantity]
            contender.results[quantity] = lambda call=call: np.hstack(call())
    held = {k: replace(call, held=HELD) for k, call in methods.calls.items()}
    kept = {k: replace(call, held=KEPT) for k, call in methods.calls.items()}
    return [methods, Contender(OURS_HELD, held), Contender(OURS_KEPT, kept), kernels]


def calls_beside(case: Case, arm: Dynamics) -> dict[str, Call]:
    """Inverse and forward dynamics with and without inputs beside the motion, by method."""
    tips = case.robot.tips
    at = {} if len(tips) == 1 else {"frame": tips[0]}
    given: dict[str, dict[str, Any]] = {
        "": {},
        "gravity": {"gravity": np.array([0.0, 0.0, -9.81])},
        "payload": {"payload": Inertia.from_com(1.2, (0.0, 0.0, 0.1), np.zeros((3, 3))), **at},
        "wrench": {"wrench": np.ones(6), **at},
    }
    motions = {"inverse": (case.q, case.qd, case.qdd), "forward": (case.q, case.qd, case.tau)}
    for _ in range(2):  # from the second call on, a method is the compiled entry
        for name, motion in motions.items():
            for keywords in given.values():
                getattr(arm, name)(*motion, **keywords)
    return {
        f"{name} {what}".strip(): Call(getattr(arm, name), motion, keywords)
        for name, motion in motions.items()
        for what, keywords in given.items()
    }


def plain(case: Case) -> list[Contender]:
    """The formulations on floats, uncompiled."""
    contenders = []
    for name in FORMULATIONS:
        call = Call(
            inverse_dynamics, (case.robot, case.q, case.qd, case.qdd), {"formulation": name}
        )
        contenders.append(Contender(f"{name}, plain", {"inverse": call}, {"inverse": call}))
    return contenders


def pinocchio(case: Case) -> Contender:
    """C++ through its Python interface."""
    import pinocchio as pin

    model, order = peers.pinocchio_model(case.path.read_text(), case.robot)
    data = model.createData()
    v, a, tau = case.qd[order], case.qdd[order], case.tau[order]
    q = peers.configurations(model, case.q[order][None, :])[0]
    back = np.argsort(order)
    calls = {
        "inverse": Call(pin.rnea, (model, data, q, v, a)),
        "mass_matrix": Call(pin.crba, (model, data, q)),
        "forward": Call(pin.aba, (model, data, q, v, tau)),
        "inverse_derivatives": Call(pin.computeRNEADerivatives, (model, data, q, v, a)),
        "forward_derivatives": Call(pin.computeABADerivatives, (model, data, q, v, tau)),
    }

    def square(matrix: Array) -> Array:
        return matrix[np.ix_(back, back)]

    def symmetric(upper: Array) -> Array:
        return square(np.triu(upper) + np.triu(upper, 1).T)

    def inverse_derivatives() -> Array:
        calls["inverse_derivatives"]()
        return np.hstack([square(data.dtau_dq), square(data.dtau_dv), symmetric(data.M)])

    def forward_derivatives() -> Array:
        calls["forward_derivatives"]()
        return np.hstack([square(data.ddq_dq), square(data.ddq_dv), symmetric(data.Minv)])

    return Contender(
        "pin",
        calls,
        {
            "inverse": lambda: calls["inverse"]()[back],
            "mass_matrix": lambda: symmetric(calls["mass_matrix"]()),
            "forward": lambda: calls["forward"]()[back],
            "inverse_derivatives": inverse_derivatives,
            "forward_derivatives": forward_derivatives,
        },
    )


def mujoco_model(case: Case) -> tuple[Any, Any, npt.NDArray[np.intp]]:
    """MuJoCo's model without friction and contacts, data, and our joint of every degree."""
    import mujoco

    model, order = peers.mujoco_model(case.path.read_text(), case.robot)
    return model, mujoco.MjData(model), order


def mujoco(case: Case) -> Contender:
    """C through its Python interface. mj_forward also updates what contacts and sensors need."""
    import mujoco as mj

    model, data, order = mujoco_model(case)
    back = np.argsort(order)
    data.qpos[:], data.qvel[:], data.qacc[:] = case.q[order], case.qd[order], case.qdd[order]
    forward = mj.MjData(model)
    forward.qpos[:], forward.qvel[:] = case.q[order], case.qd[order]
    forward.qfrc_applied[:] = case.tau[order]
    calls = {
        "inverse": Call(mj.mj_inverse, (model, data)),
        "forward": Call(mj.mj_forward, (model, forward)),
    }

    def inverse() -> Array:
        calls["inverse"]()
        return np.array(data.qfrc_inverse)[back]

    def accelerations() -> Array:
        calls["forward"]()
        return np.array(forward.qacc)[back]

    return Contender("mujoco", calls, {"inverse": inverse, "forward": accelerations})


def dynibo(case: Case) -> Contender:
    """Rust through its Python interface."""
    from dynibo import Robot

    robot = Robot.from_urdf(str(case.path))
    tree = merge_fixed(case.robot)
    depth: list[int] = []
    for parent in tree.parents:  # its joints stand breadth first, ours depth first
        depth.append(0 if parent == 0 else depth[parent - 1] + 1)
    order = np.argsort(depth, kind="stable")
    back = np.argsort(order)
    q, qd, qdd, tau = (x[order] for x in (case.q, case.qd, case.qdd, case.tau))
    calls = {
        "inverse": Call(robot.inverse_dynamics, (q, qd, qdd)),
        "mass_matrix": Call(robot.mass_matrix, (q,)),
        "forward": Call(robot.forward_dynamics, (q, qd, tau)),
    }
    n = case.robot.dof
    return Contender(
        "dynibo",
        calls,
        {
            "inverse": lambda: calls["inverse"]()[back],
            "mass_matrix": lambda: calls["mass_matrix"]().reshape(n, n)[np.ix_(back, back)],
            "forward": lambda: calls["forward"]()[back],
        },
    )


def robotics_toolbox(case: Case) -> Contender:
    """Python, by Peter Corke's Robotics Toolbox."""
    from roboticstoolbox import Robot

    robot = Robot.URDF(str(case.path))
    child = {joint.child: joint.name for joint in case.robot.joints}
    ours = {name: i for i, name in enumerate(case.robot.joint_names)}
    order = np.zeros(robot.n, dtype=np.intp)
    for link in robot.links:
        if link.isjoint:
            order[link.jindex] = ours[child[link.name]]
    back = np.argsort(order)
    q, qd, qdd, tau = (x[order] for x in (case.q, case.qd, case.qdd, case.tau))
    calls = {
        "inverse": Call(robot.rne, (q, qd, qdd)),
        "mass_matrix": Call(robot.inertia, (q,)),
        "forward": Call(robot.accel, (q, qd, tau)),
    }
    return Contender(
        "roboticstoolbox",
        calls,
        {
            "inverse": lambda: calls["inverse"]()[back],
            "mass_matrix": lambda: calls["mass_matrix"]()[np.ix_(back, back)],
            "forward": lambda: calls["forward"]()[back],
        },
    )


PEERS: Mapping[str, Callable[[Case], Contender]] = {
    "pin": pinocchio,
    "mujoco": mujoco,
    "dynibo": dynibo,
    "roboticstoolbox": robotics_toolbox,
}
"""Other packages; one that is not installed or refuses a robot is left out, with its reason."""


def disagreements(reference: Contender, other: Contender) -> dict[str, float]:
    """Worst difference from the reference over its largest entry, by quantity both offer."""
    errors = {}
    for quantity, result in other.results.items():
        expected, found = np.asarray(reference.results[quantity]()), np.asarray(result())
        if expected.shape != found.shape:
            errors[quantity] = float("inf")
            continue
        scale = np.max(np.abs(expected), initial=1e-300)
        errors[quantity] = float(np.max(np.abs(found - expected), initial=0.0) / scale)
    return errors
