"""Solvers of inverse kinematics: what each calls, on arms that all of them are given alike.

Every peer gets the axes of the arm (or the same URDF), and every result is held against the pose by
the forward kinematics of this package before it is timed: a solver that misses must not win by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics import Dynamics, Robot, read_urdf
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain
from robot_dynamics.robot import JointType, find_robot
from robot_dynamics.robot.denavit_hartenberg import DHRow, Table

Array = npt.NDArray[np.float64]
Solve = Callable[[Array, Array], Any]

REACHED = 1e-4  # m and entries of the matrix: numeric peers stop at 1e-5 or before


@dataclass(frozen=True)
class IkProblem:
    """Poses that an arm reaches.

    Attributes:
        title: Name in tables.
        robot: The arm.
        frame: What is brought to the poses.
        urdf: Text of its URDF, or "" where there is none.
        q: Positions that make the poses, shape (N, n).
        R: Rotations, shape (N, 3, 3).
        p: Positions, shape (N, 3), m.
    """

    title: str
    robot: Robot
    frame: str
    urdf: str
    q: Array
    R: Array
    p: Array

    @staticmethod
    def of(title: str, robot: Robot, frame: str, urdf: str, count: int) -> IkProblem:
        """Random poses within the limits, of one turn at most."""
        chain = AxisChain.of(robot, frame)
        lower, upper = (np.clip(x, -np.pi, np.pi) for x in (chain.lower, chain.upper))
        q = np.random.default_rng(0).uniform(lower, upper, (count, len(chain)))
        R, p = _pose(robot, frame, chain.names, q)
        return IkProblem(title, robot, frame, urdf, q, np.ascontiguousarray(R), p)

    @staticmethod
    def named(title: str, name: str, frame: str, count: int) -> IkProblem:
        """Of a robot of example-robot-data."""
        path = find_robot(name)
        return IkProblem.of(title, read_urdf(path), frame, path.read_text(), count)

    @property
    def chain(self) -> AxisChain:
        """The joints that move the frame."""
        return AxisChain.of(self.robot, self.frame)

    def with_zero(self, *joints: int) -> tuple[Array, Array]:
        """Pose number 0 with some joints, counted from 1, at 0."""
        q = self.q[:1].copy()
        q[0, [joint - 1 for joint in joints]] = 0.0
        R, p = _pose(self.robot, self.frame, self.chain.names, q)
        return R[0].copy(), p[0].copy()

    def transform(self, k: int) -> Array:
        """Pose number k, shape (4, 4)."""
        return _transform(self.R[k], self.p[k])

    def reached(self, k: int, q: Any) -> bool:
        """Return whether positions reproduce pose number k within the limits."""
        if q is None or not np.isfinite(q).all():
            return False
        R, p = _pose(self.robot, self.frame, self.chain.names, np.asarray(q, float)[None])
        near = np.abs(R[0] - self.R[k]).max() < REACHED and np.abs(p[0] - self.p[k]).max() < REACHED
        lower, upper = self.chain.lower - REACHED, self.chain.upper + REACHED
        return bool(near and (lower <= q).all() and (q <= upper).all())


def _transform(R: Array, p: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def _pose(robot: Robot, frame: str, names: tuple[str, ...], q: Array) -> tuple[Array, Array]:
    every = np.zeros((len(q), robot.dof))
    every[:, [robot.joint_names.index(name) for name in names]] = q
    R, p = Dynamics(robot).pose(every, frame)
    return R, p


def skew_shoulder_arm() -> Robot:
    """Six joints: neighbouring ones of the first three neither meet nor are parallel."""
    lengths, twists = (0.1, 0.35, 0.08, 0.0, 0.0, 0.0), np.radians([-70, 35, -80, 90, -90, 0])
    offsets = (0.4, 0.12, 0.05, 0.42, 0.0, 0.08)
    rows = [
        DHRow(JointType.REVOLUTE, a, float(alpha), d, 0.0)
        for a, alpha, d in zip(lengths, twists, offsets, strict=True)
    ]
    return Table(tuple(rows), name="skew shoulder").to_robot()


# -- all solutions of a pose ----------------------------------------------------------------------


def ours_all(problem: IkProblem) -> Mapping[str, Solve]:
    """One checked call for a pose or for all."""
    ik = InverseKinematics(problem.robot, problem.frame)
    return {"one": lambda R, p: partial(ik, R, p), "many": ik}


def eaik_all(problem: IkProblem) -> Mapping[str, Solve]:
    """C++ (Eigen) through pybind11."""
    from eaik.IK_HP import HPRobot

    chain = problem.chain
    offsets = [chain.p[:1], np.diff(chain.p, axis=0), chain.tool.translation - chain.p[-1:]]
    arm = HPRobot(np.array(chain.h), np.vstack(offsets))
    back = chain.tool.rotation.T
    many = np.array([_transform(R @ back, p) for R, p in zip(problem.R, problem.p, strict=True)])
    return {
        "one": lambda R, p: partial(arm.IK, _transform(R @ back, p)),
        "many": lambda R, p: arm.IK_batched(many, 1),
    }


def ssik_all(problem: IkProblem) -> Mapping[str, Solve]:
    """Python with C++ kernels."""
    import ssik

    chain = problem.chain
    offsets = [chain.p[:1], np.diff(chain.p, axis=0), chain.tool.translation - chain.p[-1:]]
    arm = ssik.Manipulator.from_axes(chain.h, np.vstack(offsets))
    solve = partial(arm.solve, respect_limits=False, enumerate_windings=False)
    return {"one": lambda R, p: partial(solve, _transform(R @ chain.tool.rotation.T, p))}


ALL_SOLUTIONS: Mapping[str, Callable[[IkProblem], Mapping[str, Solve]]] = {
    "robot_dynamics": ours_all,
    "EAIK": eaik_all,
    "ssik": ssik_all,
}
"""Contenders that find all solutions, by name: "one" prepares the call for a pose."""


# -- one solution, searched -----------------------------------------------------------------------


def ours_search(problem: IkProblem) -> Solve:
    """The search, one pose a call."""
    ik = InverseKinematics(problem.robot, problem.frame, solver="numeric")

    def solve(R: Array, p: Array) -> Any:
        found = ik(R, p).q
        return found[0] if len(found) else None

    return solve


def trac_ik(problem: IkProblem) -> Solve:
    """TRAC-IK: KDL's Newton and SQP side by side, 5 ms at most."""
    import pytracik
    from scipy.spatial.transform import Rotation

    root = problem.robot.links[0].name
    arm = pytracik.TRAC_IK(root, problem.frame, problem.urdf, 0.005, 1e-5, pytracik.SolveType.Speed)
    # it takes the soft limits of a safety controller, which are zero where they are not given
    pytracik.set_joint_limits(arm, problem.chain.lower, problem.chain.upper)
    middle = 0.5 * np.sum(
        np.clip([problem.chain.lower, problem.chain.upper], -np.pi, np.pi), axis=0
    )

    def solve(R: Array, p: Array) -> Any:
        found = pytracik.ik(arm, middle, *p, *Rotation.from_matrix(R).as_quat())
        return found[1:] if found[0] >= 0 else None

    return solve


def toolbox(problem: IkProblem) -> Solve:
    """Levenberg-Marquardt in C++ of the Robotics Toolbox for Python, its defaults."""
    import roboticstoolbox as rtb

    chain, elements, at = problem.chain, [], np.eye(4)
    for h, point in zip(chain.h, chain.p, strict=True):
        frame = np.eye(4)  # z along the axis
        across = np.cross(h, np.eye(3)[np.argmin(np.abs(h))])
        across /= np.linalg.norm(across)
        frame[:3, :3], frame[:3, 3] = np.column_stack([across, np.cross(h, across), h]), point
        elements += [rtb.ET.SE3(np.linalg.inv(at) @ frame), rtb.ET.Rz()]
        at = frame
    tool = np.eye(4)
    tool[:3, :3], tool[:3, 3] = chain.tool.rotation, chain.tool.translation
    arm = rtb.ETS([*elements, rtb.ET.SE3(np.linalg.inv(at) @ tool)])
    arm.qlim = np.clip([chain.lower, chain.upper], -2.0 * np.pi, 2.0 * np.pi)

    def solve(R: Array, p: Array) -> Any:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R, p
        found = arm.ik_LM(T)
        return np.asarray(found.q, float).ravel() if found.success else None

    return solve


def pinocchio_loop(problem: IkProblem) -> Solve:
    """The loop of Pinocchio's documentation, in Python, with new starts and limits."""
    import pinocchio as pin

    chain = problem.chain
    whole = pin.buildModelFromXML(problem.urdf)
    fixed = [i for i in range(1, whole.njoints) if whole.names[i] not in chain.names]
    model = pin.buildReducedModel(whole, fixed, pin.neutral(whole))
    data, frame = model.createData(), model.getFrameId(problem.frame)
    rng = np.random.default_rng(0)
    lower, upper = (np.clip(x, -np.pi, np.pi) for x in (chain.lower, chain.upper))

    def solve(R: Array, p: Array) -> Any:
        goal = pin.SE3(R, p)
        for _ in range(20):
            q = rng.uniform(lower, upper)
            for _ in range(100):
                pin.framesForwardKinematics(model, data, _configuration(model, q))
                error = pin.log(data.oMf[frame].actInv(goal)).vector
                if np.linalg.norm(error) < 1e-5:
                    return q
                J = pin.computeFrameJacobian(model, data, _configuration(model, q), frame)
                v = J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error)
                q = np.clip(q + v, lower, upper)
        return None

    return solve


def _configuration(model: Any, q: Array) -> Array:
    """Pinocchio's configuration: continuous joints have a cosine and a sine."""
    parts = [
        [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
        for joint, x in zip(list(model.joints)[1:], q, strict=True)
    ]
    return np.concatenate(parts)


SEARCHES: Mapping[str, Callable[[IkProblem], Solve]] = {
    "robot_dynamics": ours_search,
    "pytracik": trac_ik,
    "roboticstoolbox, ik_LM": toolbox,
    "pin, loop in Python": pinocchio_loop,
}
"""Contenders that search for one solution, by name."""
