"""Cost of a cycle of a law in task space, beside the same law with Pinocchio and NumPy."""

from __future__ import annotations

import timeit
from collections.abc import Callable

import numpy as np
import pinocchio

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Settings, gains_for
from robot_dynamics.control.controller import kernels_of
from robot_dynamics.control.laws import LAWS
from robot_dynamics.control.step_kernels import RunningStep
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_space import IMPEDANCE, OPERATIONAL_SPACE
from robot_dynamics.robot import find_robot

END_EFFECTORS = {"panda": "panda_hand", "ur5": "tool0"}
REPEATS, CALLS = 15, 300


def _time(call: Callable[[], object]) -> float:
    """Return the least mean duration of a call, us."""
    return 1e6 * min(timeit.repeat(call, number=CALLS, repeat=REPEATS)) / CALLS


class PinocchioLaw:
    """Impedance with gravity, damping by a matrix and a null space, as controllers have it."""

    def __init__(self, robot: str, end_effector: str) -> None:
        self.model = pinocchio.buildModelFromUrdf(str(find_robot(robot)))
        locked = [k for k, name in enumerate(self.model.names) if "finger" in name]
        if locked:
            rest = pinocchio.neutral(self.model)
            self.model = pinocchio.buildReducedModel(self.model, locked, rest)
        self.data, self.frame = self.model.createData(), self.model.getFrameId(end_effector)
        n = self.model.nv
        self.K, self.D = np.full(6, 400.0), 40.0 * np.eye(6)
        self.eye, self.posture = np.eye(n), np.zeros(n)

    def effort(self, q: np.ndarray, qd: np.ndarray, pose: pinocchio.SE3) -> np.ndarray:
        """Return the efforts of one cycle, shape (n,)."""
        model, data = self.model, self.data
        g = pinocchio.computeGeneralizedGravity(model, data, q)
        M = pinocchio.crba(model, data, q)
        J = pinocchio.computeFrameJacobian(
            model, data, q, self.frame, pinocchio.LOCAL_WORLD_ALIGNED
        )
        pinocchio.updateFramePlacement(model, data, self.frame)
        here = data.oMf[self.frame]
        turn = pinocchio.log3(pose.rotation @ here.rotation.T)
        error = np.concatenate([pose.translation - here.translation, turn])
        moved = np.linalg.solve(M, J.T)
        inertia = np.linalg.inv(J @ moved + 1e-6 * np.eye(6))
        idle = M @ (4.0 * (self.posture - q) - 10.0 * qd)
        projector = self.eye - J.T @ (inertia @ moved.T)
        return g + J.T @ (self.K * error - self.D @ (J @ qd)) + projector @ idle


def rows() -> list[str]:
    """Return a table of the cost of a cycle."""
    table = [
        "| arm | mode | kernel, us | whole cycle of the controller, us "
        "| law with Pinocchio and NumPy, us | kernel / Pinocchio |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for robot, end_effector in END_EFFECTORS.items():
        peer = PinocchioLaw(robot, end_effector)
        description = read_urdf(find_robot(robot))
        locked = {name: 0.0 for name in description.joint_names if "finger" in name}
        arm = Dynamics(description.with_locked(locked) if locked else description)
        rng = np.random.default_rng(0)
        q, qd = rng.uniform(-1.0, 1.0, arm.robot.dof), rng.normal(size=arm.robot.dof)
        theirs = _time(lambda q=q, qd=qd, peer=peer: peer.effort(q, qd, pinocchio.SE3.Identity()))
        for mode in (IMPEDANCE, OPERATIONAL_SPACE):
            model = Model(arm, gains_for(arm))
            task = Task(model, end_effector)
            state = Measured(q, qd)
            controller = Controller(model, Settings(mode=mode), task)
            kernels = kernels_of(model, end_effector)
            run = RunningStep(kernels)
            kernel, inputs = kernels.law(LAWS.index(mode)), (*run.states, run.arrived, run.settings)
            ours = _time(lambda kernel=kernel, inputs=inputs: kernel(*inputs))
            now = 0.0

            def cycle(controller: Controller = controller, state: Measured = state) -> None:
                nonlocal now
                now += 1e-3
                controller.set_state(state, now)
                controller.update(now)

            whole = _time(cycle)
            table.append(
                f"| {robot} | {mode} | {ours:.1f} | {whole:.1f} | {theirs:.1f} "
                f"| {ours / theirs:.2f} |"
            )
    return table
