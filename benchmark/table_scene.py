"""A table below the end effector of an arm in MuJoCo, for control of contact forces.

The arm is a Panda or a UR5 from its URDF, with torque actuators and without friction in its joints.
A ball at its tip, without mass, touches a flat box. The step is 1 ms; the contact gives way by
about 10 micrometres under 10 N, critically damped with a time constant of 4 ms. The ball sticks or
slides by Coulomb friction.

    scene = TableScene("panda")
    state = scene.state
    while scene.time < 1.0:
        state = scene.step(effort(state.q, state.qd))
    state.wrench[2]  # N, negative where the end effector presses on the table

Needs the packages mujoco and example-robot-data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from lxml import etree

from benchmark.cases import SOURCES, quiet, stripped_urdf
from robot_dynamics import read_urdf
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.kinematics import frame_pose

STEP = 1e-3
"""Step of the simulation and period of the efforts, s."""

TIP = "tip"
"""Frame at the centre of the ball, with the axes of the end effector; z points out of it."""

RADIUS = 0.01
"""Radius of the ball, m."""

GAP = 0.005
"""Distance of the ball from the table in the home pose, m."""

TABLE = (0.4, 0.6, 0.04)
"""Size of the box along x, y and z of the root link, m."""

CONTACT = (4.0 * STEP, 1.0)
"""Time constant, s, and damping ratio of contacts and of the stops of joints; MuJoCo takes no time
constant below two steps."""

IMPEDANCE = (0.8, 0.8, 0.001, 0.5, 2.0)
"""Share of the contact forces that is rigid, 0.8 at any depth."""

SLIDING = (0.4, 1.0)
"""As `CONTACT`, along the table. MuJoCo lifts a ball that slides, the more the faster it would stop
it: with the time constant of the contact it hops at 0.1 m/s."""

STICTION = 100.0
"""Ratio of the rigidity along the table to that across it, so that a ball that sticks creeps
little: 0.2 mm/s where it is pushed with 1 N and presses with 10 N."""


class EndEffector(NamedTuple):
    """Where an arm has its ball: link, distance along z of the link, m, and pose at the start."""

    link: str
    reach: float
    home: tuple[float, ...]


END_EFFECTORS = {  # the fingers of the Panda are closed; both hands point downwards at home
    "panda": EndEffector("panda_hand", 0.1034, (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)),
    "ur5": EndEffector("tool0", 0.05, (0.0, -1.4, 1.9, -0.5 - np.pi / 2.0, -np.pi / 2.0, 0.0)),
}


class TableState(NamedTuple):
    """State of the arm, and the contact in the step that led to it.

    Attributes:
        q: Joint positions, shape (n,), in the order of `robot.joint_names`.
        qd: Joint velocities, shape (n,).
        wrench: Force and moment that the end effector exerts on the table, about the origin of
            `TIP` in axes of the root link, shape (6,), N and N m.
    """

    q: Array
    qd: Array
    wrench: Array


class TableScene:
    """An arm above a table.

    Args:
        name: "panda" or "ur5".
        friction: Coefficient of friction between ball and table.
        limits: Clip efforts to the limits of the URDF, and stop joints at their position limits.

    Attributes:
        robot: The same arm for this package, with the frame `TIP`.
        table: Centre of the upper side of the table in the root link, shape (3,), m.
        home: Joint positions at the start, shape (n,).
        model: Model of MuJoCo.
        data: Its data.
    """

    def __init__(self, name: str, *, friction: float = 0.3, limits: bool = True) -> None:
        import mujoco as mj  # optional, and slow to import

        self._mj, end_effector = mj, END_EFFECTORS[name]
        urdf = _with_tip(stripped_urdf(SOURCES[name]), end_effector)
        with quiet():
            self.robot = read_urdf(urdf)
        n, self.home = self.robot.dof, np.array(end_effector.home)
        at = frame_pose(self.robot, self.home, TIP).translation
        self.table = np.array(at - [0.0, 0.0, RADIUS + GAP])
        spec = mj.MjSpec.from_string(_with_contact(urdf, self.robot.links[0].name, self.table))
        effort = self.robot.limits.effort if limits else np.full(n, np.inf)
        for joint, limit in zip(self.robot.joint_names, effort, strict=True):
            actuator = spec.add_actuator(name=joint, target=joint, trntype=mj.mjtTrn.mjTRN_JOINT)
            if np.isfinite(limit):
                actuator.forcelimited, actuator.forcerange = True, (-limit, limit)
        ball, box = sorted(spec.geoms, key=lambda geom: geom.type != mj.mjtGeom.mjGEOM_SPHERE)
        ball.name, box.name = TIP, "table"
        ball.contype = ball.conaffinity = box.contype = box.conaffinity = 0  # but for the pair
        spec.add_pair(
            geomname1=TIP,
            geomname2="table",
            condim=3,
            friction=(friction, friction, 0.0, 0.0, 0.0),
            solref=CONTACT,
            solreffriction=SLIDING,
            solimp=IMPEDANCE,
        )
        self.model = model = spec.compile()
        joints = [model.joint(joint) for joint in self.robot.joint_names]
        self._q = [int(joint.qposadr[0]) for joint in joints]
        self._qd = [int(joint.dofadr[0]) for joint in joints]
        self._ball = model.geom(TIP).id
        model.opt.timestep, model.opt.gravity[:] = STEP, self.robot.gravity
        model.opt.cone, model.opt.impratio = mj.mjtCone.mjCONE_ELLIPTIC, STICTION
        model.opt.tolerance, model.opt.iterations = 1e-12, 100
        model.dof_damping[:] = model.dof_frictionloss[:] = model.dof_armature[:] = 0.0
        model.jnt_actfrclimited[:] = 0
        model.jnt_limited[:] &= limits
        model.jnt_solref[:], model.jnt_solimp[:] = CONTACT, IMPEDANCE
        self.data = mj.MjData(model)
        self.reset()

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self.data.time)

    @property
    def state(self) -> TableState:
        """The present state."""
        q, qd = np.array(self.data.qpos)[self._q], np.array(self.data.qvel)[self._qd]
        return TableState(q, qd, self._wrench())

    def reset(self, q: npt.ArrayLike | None = None) -> TableState:
        """Put the arm at rest at joint positions, by default at home."""
        self._mj.mj_resetData(self.model, self.data)
        self.data.qpos[self._q] = self.home if q is None else vector("q", q, self.robot.dof)
        self._mj.mj_forward(self.model, self.data)
        return self.state

    def step(self, tau: npt.ArrayLike, push: npt.ArrayLike | None = None) -> TableState:
        """Apply joint efforts for one step.

        Args:
            tau: Joint efforts, shape (n,), N m.
            push: Further joint efforts from outside, shape (n,), as of a push: no limit applies.

        Returns:
            State after the step, and the contact during it.
        """
        self.data.ctrl[:] = vector("tau", tau, self.robot.dof)
        self.data.qfrc_applied[self._qd] = 0.0 if push is None else push
        self._mj.mj_step(self.model, self.data)
        return self.state

    def _wrench(self) -> Array:
        """Sum of the contact forces, and of their moments about the centre of the ball."""
        total, force = np.zeros(6), np.zeros(6)
        for k, contact in enumerate(self.data.contact[: self.data.ncon]):
            self._mj.mj_contactForce(self.model, self.data, k, force)
            side = 1.0 if contact.geom1 == self._ball else -1.0  # of geom1 on geom2
            F = side * contact.frame.reshape(3, 3).T @ force[:3]
            total += [*F, *np.cross(contact.pos - self.data.geom_xpos[self._ball], F)]
        return total


def _with_tip(urdf: bytes, end_effector: EndEffector) -> str:
    """Return a URDF with the frame of the ball."""
    root = etree.fromstring(urdf)
    etree.SubElement(root, "link", name=TIP)
    _fix(root, end_effector.link, TIP, (0.0, 0.0, end_effector.reach))
    return str(etree.tostring(root, encoding="unicode"))


_COMPILER = {"fusestatic": "true", "balanceinertia": "false", "inertiafromgeom": "false"}
"""Settings of MuJoCo: the inertias are those of the URDF, and ball and table have no mass."""


def _with_contact(urdf: str, base: str, table: Array) -> str:
    """Return a URDF for MuJoCo, with the ball and the table."""
    root: Any = etree.fromstring(urdf)
    ball = root.find(f"link[@name='{TIP}']")
    _add_shape(ball, "sphere", radius=repr(RADIUS))
    box = etree.SubElement(root, "link", name="table")
    _add_shape(box, "box", size=" ".join(map(repr, TABLE)))
    _fix(root, base, "table", tuple(map(float, table - [0.0, 0.0, 0.5 * TABLE[2]])))
    settings = etree.SubElement(etree.SubElement(root, "mujoco"), "compiler")
    for name, value in _COMPILER.items():
        settings.set(name, value)
    return str(etree.tostring(root, encoding="unicode"))


def _add_shape(link: Any, kind: str, **size: str) -> None:
    etree.SubElement(
        etree.SubElement(etree.SubElement(link, "collision"), "geometry"), kind, **size
    )


def _fix(root: Any, parent: str, child: str, place: tuple[float, ...]) -> None:
    """Add a fixed joint to a URDF."""
    joint = etree.SubElement(root, "joint", name=f"{child}_joint", type="fixed")
    etree.SubElement(joint, "parent", link=parent)
    etree.SubElement(joint, "child", link=child)
    etree.SubElement(joint, "origin", xyz=" ".join(map(repr, place)))
