"""The plant: integrates the motion of a robot under joint efforts, one step at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.friction import ELEMENTS, Friction, slipped
from robot_dynamics.control.limits import effort_limits, saturate
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.joint_vectors import per_joint
from robot_dynamics.errors import ArgumentError, SimulationError, check_known
from robot_dynamics.foundation.arrays import Array, vector
from robot_dynamics.robot.robot import Robot
from robot_dynamics.simulation.base_motions import BaseMotions
from robot_dynamics.simulation.integrators import runge_kutta
from robot_dynamics.simulation.passive import Passive, resolve

ROUNDS = 3
"""Rounds of the velocity and the stiffness of friction with memory."""

SLOWEST = 1e-9
"""Speed at which the stiffness of friction at rest is taken, rad/s or m/s."""


class _Dissipation(NamedTuple):
    """Effect of friction and stops in one step; shape (n,) each."""

    effort: Array
    v: Array
    held: Array


class Plant:
    """Simulated robot with friction, effort limits and optional joint stops.

    Each step first solves implicitly for the effort of friction and stops, so that stiff damping
    is stable and a sticking joint stands still. It then integrates the equations of motion by the
    Runge-Kutta method of order four; friction reduces the order of its own effort to one.
    Semi-implicit Euler, of order one, uses the velocities of the implicit solution directly: one
    solution of the equations of motion a step instead of five.

    Args:
        robot: The true robot; see `perturbed` for one that differs from its model.
        q: Initial positions, shape (n,), rad or m; by default zero, clipped to the limits.
        dynamics: Compiled equations of `robot`, if the caller has them.
        friction: Joint friction; by default as in the URDF.
        limit_effort: Cut efforts at the limits of the URDF.
        stops: Stop joints inelastically at their position limits.
        rotor_inertia: Inertia of motors and gears reflected to the joints, shape (n,), kg m^2 or
            kg; by default none.
        step: Time of one step, s.
        integrator: "runge_kutta" or "semi_implicit_euler".
        base: Motion of the root link in time; by default it stands still.

    Attributes:
        rows: `q`, `qd` and `tau` as one array, shape (3, n); a new array after every step.

    Raises:
        UnknownNameError: If there is no such integrator.
        ShapeError: If q does not have one entry per joint.
        ArgumentError: If the step is not positive, or an entry of q is not finite.
        SingularMassMatrixError: If a joint moves no inertia.
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
        rotor_inertia: npt.ArrayLike | None = None,
        step: float = 1e-3,
        integrator: str = "runge_kutta",
        base: BaseMotions | None = None,
    ) -> None:
        check_known("integrator", integrator, "a Plant", ("runge_kutta", "semi_implicit_euler"))
        if not (np.isfinite(step) and step > 0.0):
            raise ArgumentError(f"step is {step} s; give a positive time")
        n = robot.dof
        self.robot = robot
        self.base = base
        self.dynamics = dynamics or Dynamics(robot, base="fixed" if base is None else "moving")
        self.friction = friction or Friction.of(robot)
        self.step_time = step
        self.limit = effort_limits(robot) if limit_effort else np.full(n, np.inf)
        unbounded, self._stops = np.full(n, np.inf), stops
        self._lower = robot.limits.lower if stops else -unbounded
        self._upper = robot.limits.upper if stops else unbounded
        self._can_hold = self.friction.is_dry or stops
        self._offset = self.friction.offset
        self._by_impulse = integrator == "semi_implicit_euler"
        rubs = self._can_hold or self.friction.viscous.any() or self._offset.any()
        self._dissipates = bool(rubs) or self._by_impulse
        self._damping = np.diag(self.friction.viscous)
        self._rotors = (
            None if rotor_inertia is None else np.diag(per_joint("rotor_inertia", rotor_inertia, n))
        )
        self._none = np.zeros(n, dtype=bool)
        at_rest = np.zeros(n)
        self._forward(0.0, at_rest, at_rest, at_rest)  # refuses a joint that moves no inertia
        self.reset(np.clip(0.0, robot.limits.lower, robot.limits.upper) if q is None else q)

    def reset(
        self, q: npt.ArrayLike, qd: npt.ArrayLike | None = None, *, time: float = 0.0
    ) -> None:
        """Place the robot at positions q and velocities qd (by default zero), shape (n,) each.

        The base then is where its motion is at `time`, s.
        """
        n = self.robot.dof
        self.q = vector("q", q, n)
        self.qd = np.zeros(n) if qd is None else vector("qd", qd, n)
        self._qd_before = self.qd
        self.tau = np.zeros(n)
        self.rows = np.array((self.q, self.qd, self.tau))
        self.saturated = np.zeros(n, dtype=bool)
        self.time = time
        self._p = np.zeros(n)
        self._z = np.zeros((ELEMENTS, n))

    @property
    def qdd(self) -> Array:
        """Mean accelerations of the last step, shape (n,), rad/s^2 or m/s^2; zero before it."""
        return (self.qd - self._qd_before) / self.step_time

    def step(self, tau: Array) -> None:
        """Apply joint efforts for one step; updates `q`, `qd`, `qdd`, `tau` and `time`.

        Args:
            tau: Efforts, shape (n,), N m or N. `self.tau` holds the efforts after limiting, and
                `self.saturated` the joints whose effort was cut.

        Raises:
            ShapeError: If tau does not have one entry per joint.
            ArgumentError: If an effort is not finite; the state is then unchanged.
            SimulationError: If the motion diverged.
        """
        tau = vector("tau", tau, self.robot.dof)
        self.tau, self.saturated = saturate(tau, self.limit)
        q, qd, h = self.q, self.qd, self.step_time
        passive = self._resolve() if self._dissipates else None
        if self._by_impulse and passive is not None:
            self._arrive(q + h * passive.v, passive.v)
            return
        acting = self.tau if passive is None else self.tau + passive.effort
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # reported below, with a name
                new_q, new_qd = runge_kutta(
                    lambda t, q, qd: self._forward(t, q, qd, acting), self.time, q, qd, h
                )
        except ArgumentError:  # numbers that overflow within the step are refused by the equations
            raise self._diverged(np.full_like(q, np.nan)) from None
        if passive is not None:
            new_qd = np.where(passive.held, passive.v, new_qd)
            new_q = np.where(passive.held, q + h * passive.v, new_q)
        self._arrive(new_q, new_qd)

    def _arrive(self, new_q: Array, new_qd: Array) -> None:
        if not (np.isfinite(new_q).all() and np.isfinite(new_qd).all()):
            raise self._diverged(new_q + new_qd)
        if self.friction.remembers:
            slips, elastic = self.friction.elements
            self._z = slipped(self._z, (new_q - self.q) / slips, elastic)
        self._qd_before, self.q, self.qd = self.qd, new_q, new_qd
        self.rows = np.array((new_q, new_qd, self.tau))
        self.time += self.step_time

    def _mass_matrix(self, q: Array) -> Array:
        M = self.dynamics.mass_matrix(q)
        return M if self._rotors is None else M + self._rotors

    def _forward(self, t: float, q: Array, qd: Array, tau: Array) -> Array:
        if self._rotors is not None:
            return np.linalg.solve(self._mass_matrix(q), tau - self._bias(t, q, qd))
        if self.base is None:
            return self.dynamics.forward(q, qd, tau)
        moved: Array = self.dynamics.forward(q, qd, tau, base=self.base(t)).qdd  # type: ignore
        return moved

    def _bias(self, t: float, q: Array, qd: Array) -> Array:
        if self.base is None:
            return self.dynamics.bias(q, qd)
        return self.dynamics.bias(q, qd, base=self.base(t)).tau  # type: ignore

    def _resolve(self) -> _Dissipation:
        """Solve for the mean effort of friction and stops, and the joints that they hold."""
        h, q, qd = self.step_time, self.q, self.qd
        M = self._mass_matrix(q)
        viscous = self.friction.viscous
        A = M + h * self._damping
        c = M @ qd + h * (self.tau - self._offset - self._bias(self.time, q, qd))
        if self.friction.remembers:
            return self._resolve_with_memory(A, c)
        if not self._can_hold:
            v = np.linalg.solve(A, c)
            return _Dissipation(-viscous * v - self._offset, v, self._none)
        lower = np.minimum((self._lower - q) / h, 0.0)
        upper = np.maximum((self._upper - q) / h, 0.0)
        borne = self.tau - self._offset + self._p / h - viscous * qd  # in the last step
        dry = h * (self.friction.resistance(qd) + self.friction.load * np.abs(borne))
        v, self._p, held = resolve(A, c, Passive(dry, lower, upper), qd, self._p)
        return _Dissipation(self._p / h - viscous * v - self._offset, v, held)

    def _resolve_with_memory(self, A: Array, c: Array) -> _Dissipation:
        """Solve as `_resolve` with elements that are springs until they slip.

        Each element acts in the step like a spring of the stiffness between its old and its new
        state. That depends on the new velocity, which is found in a few rounds.
        """
        h, q, qd, f = self.step_time, self.q, self.qd, self.friction
        slips, elastic = f.elements
        lower = np.minimum((self._lower - q) / h, 0.0)
        upper = np.maximum((self._upper - q) / h, 0.0)
        dry = f.resistance(qd) + f.load * np.abs(self.tau - self._offset)
        passive = Passive(h * dry * (1.0 - f.memory), lower, upper)
        share = dry * f.memory / ELEMENTS
        v, p = qd, self._p
        for _ in range(ROUNDS):
            way = h * np.where(np.abs(v) < SLOWEST, SLOWEST, v) / slips
            slope = (slipped(self._z, way, elastic) - self._z) / way
            stiffness = np.diag(h * h * (share * slope / slips).sum(axis=0))
            before = h * share * self._z.sum(axis=0)
            v, p, held = resolve(A + stiffness, c - before, passive, v, p)
        spring = share * (self._z + slope * (h * v / slips)).sum(axis=0)
        self._p = p
        return _Dissipation(p / h - spring - f.viscous * v - self._offset, v, held)

    def _diverged(self, state: Array) -> SimulationError:
        name = self.robot.joint_names[int(np.flatnonzero(~np.isfinite(state))[0])]
        return SimulationError(
            f"joint '{name}' diverged at {self.time:.3f} s; use a shorter step or smaller gains"
        )
