"""The plant: integrates the motion of a robot under joint efforts, one step at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from robot_dynamics.control.friction import ELEMENTS, Friction, slipped
from robot_dynamics.control.limits import effort_limits, saturate
from robot_dynamics.control.two_masses import (
    IMPLICIT,
    LINK,
    MOTOR,
    TwoMasses,
    check_motors,
    parts_of_step,
)
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
    """Effect of friction and stops in one step; shape (N,) each."""

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

    The plant of a robot with elastic joints has two masses per elastic joint; see
    `transforms.with_joint_elasticity`. Friction and the command act on the motors, stops on the
    links. Semi-implicit Euler takes the springs implicitly, so that any stiffness is stable.
    Runge-Kutta divides a step where the springs are faster.

    Args:
        robot: The true robot; see `perturbed` for one that differs from its model.
        q: Initial positions, shape (n,), rad or m; by default zero, clipped to the limits.
        dynamics: Compiled equations of `robot`, if the caller has them.
        friction: Joint friction; by default as in the URDF.
        limit_effort: Cut efforts at the limits of the URDF.
        stops: Stop joints inelastically at their position limits.
        rotor_inertia: Inertia of motors and gears reflected to the joints, shape (n,), kg m^2 or
            kg; by default none. Those of elastic joints are their motors.
        step: Time of one step, s.
        integrator: "runge_kutta" or "semi_implicit_euler".
        base: Motion of the root link in time; by default it stands still.

    Attributes:
        q: Positions of the links, shape (n,), rad or m.
        qd: Their velocities, shape (n,), rad/s or m/s.
        motor_q: Positions of the motors as seen at the joints, shape (n,); those of the links
            where a joint is rigid.
        motor_qd: Their velocities, shape (n,).
        rows: `q`, `qd` and `tau` as one array, shape (3, n); a new array after every step.

    Raises:
        UnknownNameError: If there is no such integrator.
        ShapeError: If q does not have one entry per joint.
        ArgumentError: If the step is not positive, an entry of q is not finite, or the motor of an
            elastic joint has no inertia.
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
        self._by_impulse = integrator == "semi_implicit_euler"
        rotors = np.zeros(n)
        if rotor_inertia is not None:
            rotors = per_joint("rotor_inertia", rotor_inertia, n)
        self.rotor_inertia = rotors
        self.masses = masses = TwoMasses.of(robot)
        elastic, springs = list(masses.joints), robot.joint_elasticity
        check_motors(robot, rotors)
        self._stiffness, self._spring_damping = springs.stiffness[elastic], springs.damping[elastic]
        self._motors = rotors[elastic]
        self._springs = masses.coupling(self._stiffness)
        on_links = rotors.copy()
        on_links[elastic] = 0.0
        self._rotors = np.diag(on_links) if on_links.any() else None
        at_drives = masses.at_drives
        self._lower = masses.at_links(robot.limits.lower if stops else -unbounded, -np.inf)
        self._upper = masses.at_links(robot.limits.upper if stops else unbounded, np.inf)
        self._can_hold = self.friction.is_dry or stops
        self._offset = at_drives(self.friction.offset)
        self._viscous = at_drives(self.friction.viscous)
        rubs = self._can_hold or self.friction.viscous.any() or self._offset.any()
        self._dissipates = bool(rubs) or self._by_impulse
        self._damping = np.diag(self._viscous) + masses.coupling(self._spring_damping)
        self._none = np.zeros(masses.size, dtype=bool)
        self._is_elastic = np.isfinite(springs.stiffness)
        self._push = self._no_push = np.zeros(n)
        at_rest = np.zeros(masses.size)
        self._parts = 1
        self._forward(0.0, at_rest, at_rest, at_rest)  # refuses a joint that moves no inertia
        if elastic and not self._by_impulse:
            self._parts = parts_of_step(robot, self.dynamics, rotors, step)
        self._h = step / self._parts
        self.reset(np.clip(0.0, robot.limits.lower, robot.limits.upper) if q is None else q)

    def reset(
        self, q: npt.ArrayLike, qd: npt.ArrayLike | None = None, *, time: float = 0.0
    ) -> None:
        """Place the robot at given positions and velocities.

        The base then is where its motion is at `time`, s. The motors are where the springs bear
        gravity, and move with the links; see `place_motors`.

        Args:
            q: Positions, shape (n,), rad or m.
            qd: Velocities, shape (n,), rad/s or m/s; by default zero.
            time: Time of the motion of the base, s.

        Raises:
            ShapeError: If q or qd does not have one entry per joint.
        """
        n = self.robot.dof
        q = vector("q", q, n)
        qd = np.zeros(n) if qd is None else vector("qd", qd, n)
        self._qd_before = qd
        self.tau = np.zeros(n)
        self.saturated = np.zeros(n, dtype=bool)
        self.time = time
        x, v = q, qd
        if self.masses.joints:
            elastic = list(self.masses.joints)
            borne = self._bias(time, q, np.zeros(n))[elastic]
            x = np.concatenate([q, q[elastic] + borne / self._stiffness])
            v = np.concatenate([qd, qd[elastic]])
        self._p = np.zeros(len(x))
        self._z = np.zeros((ELEMENTS, n))
        self._put(x, v)

    def place_motors(self, motor_q: npt.ArrayLike, motor_qd: npt.ArrayLike) -> None:
        """Place the motors of elastic joints.

        Args:
            motor_q: Positions as seen at the joints, shape (n,), rad or m.
            motor_qd: Velocities, shape (n,), rad/s or m/s.

        Raises:
            ShapeError: If an argument does not have one entry per joint.
        """
        n, elastic = self.robot.dof, list(self.masses.joints)
        x, v = vector("motor_q", motor_q, n)[elastic], vector("motor_qd", motor_qd, n)[elastic]
        self._put(np.concatenate([self.q, x]), np.concatenate([self.qd, v]))

    def take_over(self, plant: Plant) -> None:
        """Go on with the motion of another plant of the same joints.

        Args:
            plant: Plant whose state is taken over.
        """
        self.reset(plant.q, plant.qd, time=plant.time)
        if self.masses.joints and plant.masses.joints:
            self.place_motors(plant.motor_q, plant.motor_qd)

    def _put(self, x: Array, v: Array) -> None:
        """Take over the positions and velocities of links and motors, shape (N,) each."""
        n = self.robot.dof
        self._x, self._v = x, v
        self.q = self.motor_q = x
        self.qd = self.motor_qd = v
        if len(x) > n:
            drives = self.masses.drives
            self.q, self.qd, self.motor_q, self.motor_qd = x[:n], v[:n], x[drives], v[drives]
        self.rows = np.array((self.q, self.qd, self.tau))

    @property
    def qdd(self) -> Array:
        """Mean accelerations of the last step, shape (n,), rad/s^2 or m/s^2; zero before it."""
        return (self.qd - self._qd_before) / self.step_time

    @property
    def spring_effort(self) -> Array:
        """Efforts of motors on links through the springs, shape (n,); zero where rigid."""
        found = np.zeros(self.robot.dof)
        found[list(self.masses.joints)] = self._spring_effort(self._x, self._v)
        return found

    def measured(self, encoders: str = LINK) -> tuple[Array, Array]:
        """Return the positions and velocities that encoders measure.

        Args:
            encoders: One of `two_masses.ENCODERS`.

        Returns:
            Positions, rad or m, and velocities, rad/s or m/s, shape (n,) each.
        """
        q = self.motor_q if encoders == MOTOR else self.q
        return q, self.qd if encoders == LINK else self.motor_qd

    def step(self, tau: Array, push: Array | None = None) -> None:
        """Apply joint efforts for one step; updates `q`, `qd`, `qdd`, `tau` and `time`.

        Args:
            tau: Efforts, shape (n,), N m or N. `self.tau` holds the efforts after limiting, and
                `self.saturated` the joints whose effort was cut.
            push: Efforts by which the surroundings push the links, shape (n,). The push of a
                rigid joint counts as a part of its effort. By default none.

        Raises:
            ShapeError: If tau does not have one entry per joint.
            ArgumentError: If an effort is not finite; the state is then unchanged.
            SimulationError: If the motion diverged.
        """
        tau = vector("tau", self._pushed_by(tau, push), self.robot.dof)
        self.tau, self.saturated = saturate(tau, self.limit)
        before = self.qd
        for _ in range(self._parts):
            self._advance()
        self._qd_before = before

    def _pushed_by(self, tau: Array, push: Array | None) -> Array:
        """Return the efforts with the push of rigid joints, and keep that of elastic ones."""
        if push is None:
            self._push = self._no_push
            return tau
        self._push = np.where(self._is_elastic, push, 0.0)
        return np.asarray(tau) + (push - self._push)

    def _advance(self) -> None:
        """Move on by a part of a step."""
        q, qd, h = self._x, self._v, self._h
        acting = self.masses.at_drives(self.tau)
        if self._push.any():
            acting = acting + self.masses.at_links(self._push)
        passive = self._resolve(acting) if self._dissipates else None
        if self._by_impulse and passive is not None:
            self._arrive(q + h * passive.v, passive.v)
            return
        if passive is not None:
            acting = acting + passive.effort
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
        if self.friction.has_memory:
            slips, elastic = self.friction.elements
            drives = self.masses.drives
            self._z = slipped(self._z, (new_q - self._x)[drives] / slips, elastic)
        self._put(new_q, new_qd)
        self.time += self._h

    def _mass_matrix(self, q: Array) -> Array:
        n = self.robot.dof
        M = self.dynamics.mass_matrix(q[:n])
        M = M if self._rotors is None else M + self._rotors
        if not self.masses.joints:
            return M
        whole = np.diag(np.concatenate([np.zeros(n), self._motors]))
        whole[:n, :n] = M
        return whole

    def _spring_effort(self, x: Array, v: Array) -> Array:
        """Return the efforts of the springs on the links, one per elastic joint."""
        displacement, rate = self.masses.extensions(x), self.masses.extensions(v)
        return np.asarray(self._stiffness * displacement + self._spring_damping * rate)

    def _forward(self, t: float, x: Array, v: Array, tau: Array) -> Array:
        if not self.masses.joints:
            return self._forward_links(t, x, v, tau)
        n = self.robot.dof
        tau = tau + self.masses.pull(self._spring_effort(x, v))
        return np.concatenate(
            [self._forward_links(t, x[:n], v[:n], tau[:n]), tau[n:] / self._motors]
        )

    def _forward_links(self, t: float, q: Array, qd: Array, tau: Array) -> Array:
        if self._rotors is not None:
            M = self.dynamics.mass_matrix(q) + self._rotors
            return np.linalg.solve(M, tau - self._bias(t, q, qd))
        if self.base is None:
            return self.dynamics.forward(q, qd, tau)
        moved: Array = self.dynamics.forward(q, qd, tau, base=self.base(t)).qdd  # type: ignore
        return moved

    def _bias(self, t: float, q: Array, qd: Array) -> Array:
        if self.base is None:
            return self.dynamics.bias(q, qd)
        return self.dynamics.bias(q, qd, base=self.base(t)).tau  # type: ignore

    def _resolve(self, tau: Array) -> _Dissipation:
        """Solve for the mean effort of friction and stops, and the joints that they hold."""
        h, q, qd, n = self._h, self._x, self._v, self.robot.dof
        M = self._mass_matrix(q)
        viscous, at_drives = self._viscous, self.masses.at_drives
        bias = self.masses.at_links(self._bias(self.time, q[:n], qd[:n]))
        if self.masses.joints:
            M = M + IMPLICIT * h * h * self._springs
            bias = bias + self._springs @ q
        A = M + h * self._damping
        c = M @ qd + h * (tau - self._offset - bias)
        if self.friction.has_memory:
            return self._resolve_with_memory(A, c, tau)
        if not self._can_hold:
            v = np.linalg.solve(A, c)
            return _Dissipation(-viscous * v - self._offset, v, self._none)
        lower = np.minimum((self._lower - q) / h, 0.0)
        upper = np.maximum((self._upper - q) / h, 0.0)
        drives = self.masses.drives
        borne = (tau - self._offset + self._p / h - viscous * qd)[drives]  # in the last step
        dry = self.friction.resistance(qd[drives]) + self.friction.load * np.abs(borne)
        v, self._p, held = resolve(A, c, Passive(at_drives(h * dry), lower, upper), qd, self._p)
        return _Dissipation(self._p / h - viscous * v - self._offset, v, held)

    def _resolve_with_memory(self, A: Array, c: Array, tau: Array) -> _Dissipation:
        """Solve as `_resolve` with elements that are springs until they slip.

        Each element acts in the step like a spring of the stiffness between its old and its new
        state. That depends on the new velocity, which is found in a few rounds.
        """
        h, q, qd, f = self._h, self._x, self._v, self.friction
        drives, at_drives = self.masses.drives, self.masses.at_drives
        slips, elastic = f.elements
        lower = np.minimum((self._lower - q) / h, 0.0)
        upper = np.maximum((self._upper - q) / h, 0.0)
        dry = f.resistance(qd[drives]) + f.load * np.abs(tau - self._offset)[drives]
        passive = Passive(at_drives(h * dry * (1.0 - f.memory)), lower, upper)
        share = dry * f.memory / ELEMENTS
        v, p = qd, self._p
        for _ in range(ROUNDS):
            moved = v[drives]
            displacement = h * np.where(np.abs(moved) < SLOWEST, SLOWEST, moved) / slips
            slope = (slipped(self._z, displacement, elastic) - self._z) / displacement
            stiffness = np.diag(at_drives(h * h * (share * slope / slips).sum(axis=0)))
            before = at_drives(h * share * self._z.sum(axis=0))
            v, p, held = resolve(A + stiffness, c - before, passive, v, p)
        spring = share * (self._z + slope * (h * v[drives] / slips)).sum(axis=0)
        self._p = p
        effort = p / h - at_drives(spring) - self._viscous * v - self._offset
        return _Dissipation(effort, v, held)

    def _diverged(self, state: Array) -> SimulationError:
        wrong = ~np.isfinite(state)
        n = self.robot.dof
        joint = int(np.flatnonzero(wrong[:n] if wrong[:n].any() else wrong[self.masses.drives])[0])
        name = self.robot.joint_names[joint]
        return SimulationError(
            f"joint '{name}' diverged at {self.time:.3f} s; use a shorter step or smaller gains"
        )
