"""The plant: a robot that answers joint efforts with motion, one step at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.friction import Friction
from robot_dynamics.control.limits import effort_limits, saturate
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, SimulationError
from robot_dynamics.formulations import vector
from robot_dynamics.robot.robot import Array, Robot
from robot_dynamics.simulation.passive import resolve


class Plant:
    """Simulated robot with friction, effort limits and, if asked for, joint stops.

    Each step takes the new velocities from the equations of motion with
    friction at the *new* velocity (implicit, so stiff damping and stiction are
    stable at any step), then the new positions from the new velocities.

    Args:
        robot: The robot as it really is; see `perturbed` for one that differs from its model.
        q: Positions at the start, shape (n,), rad or m; by default zero, moved into the limits.
        dynamics: Compiled equations of `robot`, if the caller has them already.
        friction: By default as in the URDF.
        limit_effort: Cut efforts at the limits of the URDF.
        stops: Stop joints dead at their position limits.
        step: Time of one step, s.

    Raises:
        ShapeError: If q does not have one entry per joint.
        ArgumentError: If the step is not positive, or an entry of q is not finite.
    """

    def __init__(
        self,
        robot: Robot,
        q: npt.ArrayLike | None = None,
        *,
        dynamics: Dynamics | None = None,
        friction: Friction | None = None,
        limit_effort: bool = True,
        stops: bool = False,
        step: float = 1e-3,
    ) -> None:
        if not (np.isfinite(step) and step > 0.0):
            raise ArgumentError(f"step is {step} s; give a positive time")
        n = robot.dof
        self.robot = robot
        self.dynamics = dynamics or Dynamics(robot)
        self.friction = friction or Friction.of(robot)
        self.step_time = step
        self.limit = effort_limits(robot) if limit_effort else np.full(n, np.inf)
        unbounded = np.full(n, np.inf)
        self._lower = robot.limits.lower if stops else -unbounded
        self._upper = robot.limits.upper if stops else unbounded
        self._dry = bool(self.friction.breakaway is not None and self.friction.breakaway.any())
        self._passive = self._dry or stops
        self.reset(np.clip(0.0, robot.limits.lower, robot.limits.upper) if q is None else q)

    def reset(self, q: npt.ArrayLike, qd: npt.ArrayLike | None = None) -> None:
        """Place the robot at positions q and velocities qd (by default zero), shape (n,) each."""
        n = self.robot.dof
        self.q = vector("q", q, n)
        self.qd = np.zeros(n) if qd is None else vector("qd", qd, n)
        self.qdd = np.zeros(n)
        self.tau = np.zeros(n)
        self.saturated = np.zeros(n, dtype=bool)
        self.time = 0.0
        self._p = np.zeros(n)

    def step(self, tau: Array) -> None:
        """Apply joint efforts for one step; `q`, `qd`, `qdd`, `tau`, `time` are then new.

        Args:
            tau: Efforts, shape (n,), N m or N. What acts after limiting is `self.tau`, and
                `self.saturated` says which joints were cut.

        Raises:
            ShapeError: If tau does not have one entry per joint.
            ArgumentError: If an effort is not finite; the state is then unchanged.
            SimulationError: If the motion diverged.
        """
        tau = vector("tau", tau, self.robot.dof)
        self.tau, self.saturated = saturate(tau, self.limit)
        h, q, qd = self.step_time, self.q, self.qd
        M = self.dynamics.mass_matrix(q)
        c = M @ qd + h * (self.tau - self.dynamics.bias(q, qd))
        A = M + np.diag(h * self.friction.viscous)
        if self._passive:
            lower = np.minimum((self._lower - q) / h, 0.0)
            upper = np.maximum((self._upper - q) / h, 0.0)
            dry = h * self.friction.resistance(qd)
            v, self._p = resolve(A, c, dry, lower, upper, qd, self._p)
        else:
            v = np.linalg.solve(A, c)
        if not np.isfinite(v).all():
            i = int(np.flatnonzero(~np.isfinite(v))[0])
            raise SimulationError(
                f"joint '{self.robot.joint_names[i]}' diverged at {self.time:.3f} s; "
                "use a shorter step or smaller gains"
            )
        self.qdd = (v - qd) / h
        self.qd = v
        self.q = q + h * v
        self.time += h
