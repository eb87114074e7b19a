"""Model of the arm for the control laws: equations, load, friction and gains."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.control.friction import DEFAULT_WIDTH, Friction, FrictionMemory, held
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO, Gains
from robot_dynamics.control.sampled_loop import UNKNOWN, largest_frequency
from robot_dynamics.control.two_masses import ENCODERS, LINK
from robot_dynamics.dynamics.joint_vectors import per_joint
from robot_dynamics.errors import check_known
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.kinematic_tree import JointElasticity, JointType
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia

FASTEST = largest_frequency(DEFAULT_DAMPING_RATIO, UNKNOWN)
"""Largest stable natural frequency of a loop of which nothing is known, rad/s."""

if TYPE_CHECKING:
    from robot_dynamics.dynamics.dynamics import Base, Dynamics


def continuous_joints(robot: Robot) -> Array:
    """Find the joints that turn without end.

    Args:
        robot: Any robot.

    Returns:
        Shape (n,), in the order of `robot.joint_names`.
    """
    return np.array(
        [joint.type is JointType.CONTINUOUS for joint in robot.independent_joints], dtype=bool
    )


@dataclass(frozen=True, eq=False)
class Model:
    """Model of the arm that the laws control.

    Payload, gravity and wrench are inputs of compiled equations: a model with another value
    (`dataclasses.replace`) needs no compilation, but the first one of a kind does; see `prepare`.

    Args:
        dynamics: Equations of motion.
        gains: Feedback gains.
        friction: To compensate; by default none.
        bandwidth: Natural frequency of the error under computed torque, rad/s.
        damping_ratio: Damping ratio of the error under computed torque.
        friction_width: Speed at which compensated dry friction reaches 76 %, rad/s or m/s.
        payload: Load that `frame` carries, in that frame.
        frame: Link or named frame of payload and wrench; by default the only tip.
        gravity_vector: Acceleration of gravity, shape (3,), m/s^2, axes of the root link; by
            default that of the robot. Zero where the hardware compensates gravity itself.
        wrench: Force (N) and moment (N m) that the arm exerts on its surroundings at `frame`,
            shape (6,), in the axes of `frame`.
        rotor_inertia: Inertia of motors and gears as the joints feel it (the motor's, times the
            square of the reduction), shape (n,), kg m^2 or kg; by default none.
        velocity_terms: Whether Coriolis and centrifugal efforts count; not where the hardware adds
            them itself.
        inertia_weighted: Whether feedback of the mode feedforward uses the mass matrix and
            `bandwidth` instead of `gains` joint by joint; a slow loop is stable with more of it.
        fastest: Largest natural frequency with which the loop is stable, rad/s; by default that of
            a loop at 1 kHz whose states are up to 5 ms old.
        delay: Time from a state to its effort that the feedback fits, s.
        base: Motion of the root link now, with gravity; by default it stands. Then the equations
            are those of `dynamics.on_moving_base`.
        elasticity: Stiffness and damping between motors and links, for `elastic_feedforward`; by
            default that of the robot.
        encoders: Side of elastic joints whose positions and velocities are measured, one of
            `two_masses.ENCODERS`.
        resonance_share: Largest natural frequency of the feedback of an elastic joint that a
            `Tuner` allows, relative to its lowest resonance; 0 for any that is stable.
        softened: Resonances for which a `Tuner` made the feedback of joints softer than wanted,
            shape (n,), Hz; 0 where it did not.
        memory: State of presliding friction; by default a new one, if the friction has it.
            Models that `dataclasses.replace` makes share it, unless their elements differ; a loop
            moves it on by `follow`.

    Examples:
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.control import Model, gains_for
        >>> from robot_dynamics.robot import find_robot
        >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
        >>> model = Model(arm, gains_for(arm), rotor_inertia=[0.5, 0.2])
        >>> model.inverse(*[[0.0, 0.0]] * 2, [1.0, 0.0]).round(2)
        array([189.37,  45.94])
    """

    dynamics: Dynamics
    gains: Gains
    friction: Friction | None = None
    bandwidth: float = DEFAULT_BANDWIDTH
    damping_ratio: float = DEFAULT_DAMPING_RATIO
    friction_width: float = DEFAULT_WIDTH
    payload: Inertia | None = None
    frame: str | None = None
    gravity_vector: Array | None = None
    wrench: Array | None = None
    rotor_inertia: Array | None = None
    velocity_terms: bool = True
    inertia_weighted: bool = False
    fastest: float = FASTEST
    delay: float = 0.0
    base: Base = None
    elasticity: JointElasticity | None = None
    encoders: str = LINK
    resonance_share: float = 0.0
    softened: Array | None = None
    memory: FrictionMemory | None = None
    continuous: Array | None = field(init=False)

    def __post_init__(self) -> None:
        turning = continuous_joints(self.dynamics.robot)
        object.__setattr__(self, "continuous", turning if turning.any() else None)
        friction, memory = self.friction, self.memory
        if friction is None or not friction.has_memory:
            object.__setattr__(self, "memory", None)
        elif memory is None or not memory.fits(friction):
            object.__setattr__(self, "memory", FrictionMemory(friction))
        springs = self.elasticity or self.dynamics.robot.joint_elasticity
        check_known("encoders", self.encoders, "a Model", ENCODERS)
        bends = bool(np.isfinite(springs.stiffness).any())
        object.__setattr__(self, "elasticity", springs if bends else None)
        if self.rotor_inertia is not None:
            checked = per_joint("rotor_inertia", self.rotor_inertia, self.dynamics.robot.dof)
            object.__setattr__(self, "rotor_inertia", checked)

    def prepare(self) -> Model:
        """Compile the kernels of the laws before a loop uses them.

        Returns:
            The model itself.
        """
        q = np.zeros(self.dynamics.robot.dof)
        self.inverse(q, q, q)
        self.bias(q, q)
        self.gravity(q)
        self.forward(q, q, q)
        if self.friction is not None and self.friction.has_memory:
            memory = FrictionMemory(self.friction)
            memory.follow(q)
            memory.follow(q + 1e-6)
        return self

    def follow(self, q: Array) -> None:
        """Advance presliding friction to desired positions, shape (n,).

        Args:
            q: Desired positions, shape (n,), rad or m.
        """
        if self.memory is not None:
            self.memory.follow(q)

    def forget(self) -> None:
        """Forget the presliding state, where a new motion begins."""
        if self.memory is not None:
            self.memory.forget()

    def _presliding(self, qd: Array) -> Array | None:
        """Return what is compensated of the presliding direction; see `held`.

        None if qd, shape (n,), is not of one motion.
        """
        if self.memory is None or self.memory.direction is None or np.ndim(qd) != 1:
            return None
        return np.asarray(held(self.memory.direction, qd, self.friction_width))

    @cached_property
    def _loaded(self) -> bool:
        """Return whether a load acts on the arm."""
        beside = self.payload, self.gravity_vector, self.wrench, self.base
        return any(value is not None for value in beside)

    @cached_property
    def _load(self) -> dict[str, Any]:
        """Return the arguments of `Dynamics.inverse` beside the motion."""
        at_tip = self.payload is not None or self.wrench is not None
        return {
            "wrench": self.wrench,
            "frame": self.frame if at_tip else None,
            "payload": self.payload,
            "gravity": None if self.base is not None else self.gravity_vector,
            "base": self.base,
        }

    @property
    def _equations(self) -> Dynamics:
        """Return the equations that take the base as it is."""
        return self.dynamics if self.base is None else self.dynamics.on_moving_base

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Compute the efforts of a motion without friction.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m.
            qd: Joint velocities, same shape, rad/s or m/s.
            qdd: Joint accelerations, same shape, rad/s^2 or m/s^2.

        Returns:
            Efforts, same shape, N m or N.
        """
        if not self.velocity_terms:
            qd = np.zeros_like(qd)
        if self._loaded:
            tau = self._equations.inverse(q, qd, qdd, **self._load)
            if self.base is not None:
                tau = tau.tau  # type: ignore  # beside the wrench of the base
        else:
            tau = self.dynamics.inverse(q, qd, qdd)
        return tau if self.rotor_inertia is None else tau + self.rotor_inertia * qdd

    def inverse_rates(self, *motion: Array) -> tuple[Array, Array, Array] | None:
        """Return the efforts of a motion without friction and rotors, and two time derivatives.

        None on a base that moves, and where the robot adds Coriolis efforts itself.

        Args:
            motion: q, qd, qdd, jerk and snap, shape (n,) or (N, n) each.

        Returns:
            Efforts, N m or N, and their derivatives, per s and per s^2, same shape each; or None.
        """
        if self.base is not None or not self.velocity_terms:
            return None
        load = {name: value for name, value in self._load.items() if name != "base"}
        return self.dynamics.inverse_rates(*motion, **(load if self._loaded else {}))

    def bias(self, q: Array, qd: Array) -> Array:
        """Compute Coriolis, centrifugal, gravity and wrench efforts.

        Args:
            q: Joint positions, shape (n,), rad or m.
            qd: Joint velocities, shape (n,), rad/s or m/s.

        Returns:
            Efforts, shape (n,), N m or N.
        """
        if self._loaded or not self.velocity_terms:
            return self.inverse(q, qd, np.zeros_like(q))
        return self.dynamics.bias(q, qd)

    def gravity(self, q: Array) -> Array:
        """Compute the efforts that hold the arm at rest.

        Args:
            q: Joint positions, shape (n,), rad or m.

        Returns:
            Efforts, shape (n,), N m or N.
        """
        if self._loaded:
            return self.inverse(q, np.zeros_like(q), np.zeros_like(q))
        return self.dynamics.gravity(q)

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        """Compute the accelerations by efforts without friction.

        Args:
            q: Joint positions, shape (n,), rad or m.
            qd: Joint velocities, shape (n,), rad/s or m/s.
            tau: Joint efforts, shape (n,), N m or N.

        Returns:
            Accelerations, shape (n,), rad/s^2 or m/s^2.
        """
        if self.rotor_inertia is None and self.velocity_terms and not self._loaded:
            return self.dynamics.forward(q, qd, tau)
        # Columns of the mass matrix: efforts of unit accelerations, less those of none
        n = len(q)
        still = self.bias(q, np.zeros(n))
        columns = self.inverse(np.tile(q, (n, 1)), np.zeros((n, n)), np.eye(n)) - still
        return np.linalg.solve(columns.T, tau - self.bias(q, qd))

    def friction_effort(
        self, qd: Array, tau: Array | None = None, presliding: Array | None = None
    ) -> Array | float:
        """Return the effort that compensates friction, shape of qd; zero without compensation.

        Args:
            qd: Velocities, shape (n,) or (N, n).
            tau: Efforts of the bodies, same shape, if friction grows with them.
            presliding: Presliding direction, same shape; by default of the motion that
                the model follows.

        Returns:
            Efforts, shape of qd, N m or N; zero without compensation.
        """
        if self.friction is None or not self.friction.acts:
            return 0.0
        if presliding is None:
            presliding = self._presliding(qd)
        return self.friction.smooth(qd, self.friction_width, tau, presliding)

    def without_friction(self, qd: Array, tau: Array) -> Array:
        """Compute the part of efforts that accelerates the bodies.

        Args:
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            tau: Joint efforts, same shape, N m or N.

        Returns:
            Efforts, same shape, N m or N.
        """
        if self.friction is None:
            return tau
        return self.friction.overcome(qd, tau, self.friction_width, self._presliding(qd))

    def feedforward(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Compute the efforts of a desired motion with friction.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m.
            qd: Joint velocities, same shape, rad/s or m/s.
            qdd: Joint accelerations, same shape, rad/s^2 or m/s^2.

        Returns:
            Efforts, same shape, N m or N.
        """
        tau = self.inverse(q, qd, qdd)
        return tau + self.friction_effort(qd, tau)
