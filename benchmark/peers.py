"""Calls of Pinocchio and MuJoCo that compute our quantities, for one state and for many.

Both read one URDF text, in the order of its joints here. A peer that is not installed or refuses
the robot is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from lxml import etree

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot import Robot

_LEFT_OUT = ("visual", "collision", "dynamics", "transmission", "gazebo", "material")


class Work(NamedTuple):
    """One quantity by one package.

    Attributes:
        single: Computes one state.
        batch: Computes all states in one thread, by the package's own loop where it has one.
        result: The quantity at the first state, in the joint order of the robot.
    """

    single: Callable[[], object]
    batch: Callable[[], object]
    result: Callable[[], Array]


class States(NamedTuple):
    """Random motion states, shape (N, n) each: q, qd, qdd, and efforts for forward dynamics."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def ordered(self, order: npt.NDArray[np.intp]) -> States:
        """The same with the joints in another order."""
        return States(*(np.ascontiguousarray(x[:, order]) for x in self))


def bare_urdf(text: str) -> str:
    """A URDF without what no dynamics depends on, followers of mimic joints held at zero.

    Meshes, friction, simulator extensions and mimic tags are read differently, or not at all, by
    others.
    """
    root = etree.fromstring(text.encode(), etree.XMLParser(remove_comments=True))
    for element in list(root.iter(*_LEFT_OUT)):
        element.getparent().remove(element)
    for mimic in list(root.iter("mimic")):
        joint = mimic.getparent()
        joint.set("type", "fixed")
        joint.remove(mimic)
    return str(etree.tostring(root, encoding="unicode"))


def pinocchio(text: str, robot: Robot, states: States) -> dict[str, Work]:
    """C++ through its Python interface; it offers all four quantities."""
    import pinocchio as pin  # optional, and slow to import

    model, order = pinocchio_model(text, robot)
    data = model.createData()
    back = np.argsort(order)
    q, v, a, tau = states.ordered(order)
    q = configurations(model, q)
    each = {
        "inverse": (pin.rnea, (q, v, a), lambda: np.array(data.tau)[back]),
        "forward": (pin.aba, (q, v, tau), lambda: np.array(data.ddq)[back]),
        "mass_matrix": (pin.crba, (q,), lambda: _symmetric(data.M)[np.ix_(back, back)]),
        "inverse_derivatives": (
            pin.computeRNEADerivatives,
            (q, v, a),
            lambda: np.hstack(
                [x[np.ix_(back, back)] for x in (data.dtau_dq, data.dtau_dv, _symmetric(data.M))]
            ),
        ),
    }
    work = {}
    for name, (function, arguments, read) in each.items():
        single = partial(function, model, data, *(x[0] for x in arguments))
        batch = partial(_one_by_one, partial(function, model, data), arguments)
        work[name] = Work(single, batch, partial(_after, single, read))
    for name, loop in (("inverse", "rneaInParallel"), ("forward", "abaInParallel")):
        if hasattr(pin, loop):  # built with OpenMP
            columns = [np.asfortranarray(x.T) for x in each[name][1]]
            out = np.zeros((model.nv, len(q)), order="F")
            batch = partial(getattr(pin, loop), 1, pin.ModelPool(model, 1), *columns, out)
            work[name] = work[name]._replace(batch=batch)
    return work


def pinocchio_model(text: str, robot: Robot) -> tuple[Any, npt.NDArray[np.intp]]:
    """Pinocchio's model of a URDF, and our joint of every velocity of it."""
    import pinocchio as pin  # optional, and slow to import

    model = pin.buildModelFromXML(text)
    model.gravity.linear = np.array(robot.gravity, dtype=float)
    order = np.zeros(model.nv, dtype=np.intp)
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        order[joint.idx_v] = robot.joint_names.index(name)
    return model, order


def configurations(model: Any, angles: Array) -> Array:
    """Pinocchio's configurations (N, nq) of joint positions (N, nv): continuous joints have two."""
    q = np.zeros((len(angles), model.nq))
    for joint in list(model.joints)[1:]:
        column = angles[:, joint.idx_v]
        if joint.nq == 2:
            q[:, joint.idx_q], q[:, joint.idx_q + 1] = np.cos(column), np.sin(column)
        else:
            q[:, joint.idx_q] = column
    return q


def _symmetric(upper: Any) -> Array:
    return np.triu(upper) + np.triu(upper, 1).T


def _one_by_one(function: Callable[..., object], arguments: Iterable[Array]) -> None:
    for state in zip(*arguments, strict=True):
        function(*state)


def _after(call: Callable[[], object], read: Callable[[], Array]) -> Array:
    call()
    return read()


def _copied(values: Array, order: npt.NDArray[np.intp]) -> Array:
    return np.array(values)[order]


def mujoco_model(text: str, robot: Robot) -> tuple[Any, npt.NDArray[np.intp]]:
    """MuJoCo's model of a URDF without friction and contacts, and our joint of every degree."""
    import mujoco as mj  # optional, and slow to import

    settings = (
        '<mujoco><compiler fusestatic="true" discardvisual="true" balanceinertia="false"/></mujoco>'
    )
    end = text.rindex("</robot>")
    model = mj.MjModel.from_xml_string(text[:end] + settings + text[end:])
    model.dof_damping[:] = model.dof_frictionloss[:] = model.dof_armature[:] = 0.0
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.gravity[:] = robot.gravity
    order = np.zeros(model.nv, dtype=np.intp)
    for j in range(model.njnt):
        order[model.jnt_dofadr[j]] = robot.joint_names.index(model.joint(j).name)
    return model, order


def mujoco(text: str, robot: Robot, states: States) -> dict[str, Work]:
    """C through its Python interface; mj_forward also updates what contacts and sensors need."""
    import mujoco as mj  # optional, and slow to import

    model, order = mujoco_model(text, robot)
    back = np.argsort(order)
    q, qd, qdd, tau = states.ordered(order)
    work = {}
    for name, solve, given, last in (
        ("inverse", mj.mj_inverse, ("qpos", "qvel", "qacc"), qdd),
        ("forward", mj.mj_forward, ("qpos", "qvel", "qfrc_applied"), tau),
    ):
        data = mj.MjData(model)
        inputs = [getattr(data, field) for field in given]
        output = data.qfrc_inverse if name == "inverse" else data.qacc

        def one(*state: Array, solve: Any = solve, data: Any = data, inputs: Any = inputs) -> None:
            for field, value in zip(inputs, state, strict=True):
                field[:] = value
            solve(model, data)

        rows = (q, qd, last)
        first = partial(one, *(x[0] for x in rows))
        work[name] = Work(
            partial(solve, model, data),
            partial(_one_by_one, one, rows),
            partial(_after, first, partial(_copied, output, back)),
        )
    return work


PEERS: Mapping[str, Callable[[str, Robot, States], dict[str, Work]]] = {
    "pin": pinocchio,
    "mujoco": mujoco,
}
"""Other packages by the name that pip installs them by."""
