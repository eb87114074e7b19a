"""OnlineModel: a node's model, updated by parameters and topics while a loop uses it.

Parameters choose its terms. Payload and gravity come by parameters or topics, are ramped, and are
inputs of kernels that are already compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from sensor_msgs.msg import Imu

from robot_dynamics.control import Load, Model
from robot_dynamics.control.configuration import refuse_payload
from robot_dynamics.control.imu_gravity import check_imu, gravity_by_imu
from robot_dynamics.control.load import check_load
from robot_dynamics.control.refusals import Refusal, refusal_words
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.load_messages import (
    body_from_msg,
    check_gravity,
    inertia_matrix,
    measured_force,
)
from robot_dynamics.nodes.ros.node_parameters import Declared, listed, listed_group
from robot_dynamics.nodes.ros.topics import STATE_QOS, TRAJECTORY_QOS
from robot_dynamics.nodes.runtime.base_input import BaseInput
from robot_dynamics.nodes.runtime.drive_parameters import DriveParameters
from robot_dynamics.nodes.runtime.friction_input import FrictionInput
from robot_dynamics.nodes.runtime.loop_topics import LoopSubscriber
from robot_dynamics.nodes.runtime.robot_node import LoopParameters, RobotNode
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Inertia
from robot_dynamics.trajectory import Trajectory

IMU_TIMEOUT_S = 1.0
"""Age of the last IMU message at which to report a fault, s."""


@dataclass(frozen=True)
class ModelParameters(LoopParameters):
    """Parameters of nodes that use a model of the arm."""

    formulation: str = listed("formulation")
    compensate_gravity: bool = listed("compensate_gravity")
    compensate_friction: bool = listed("compensate_friction")
    compensate_velocity_terms: bool = listed("compensate_velocity_terms")
    compensate_rotor_inertia: bool = listed("compensate_rotor_inertia")
    encoders: str = listed("encoders")
    friction_width: float = listed("friction_width")
    gravity: tuple[float, ...] = listed("gravity")
    gravity_from_imu: bool = listed("gravity_from_imu")
    imu_filter: float = listed("imu_filter")
    load_ramp: float = listed("load_ramp")
    base_motion: str = listed("base_motion")
    base_filter: float = listed("base_filter")
    base_timeout: float = listed("base_timeout")

    def check(self) -> None:
        """See `RobotParameters.check`."""
        check_gravity(self.gravity)
        if self.base_motion == "none":
            return
        if not self.compensate_gravity:
            raise ArgumentError(
                "base_motion: needs compensate_gravity, as gravity turns with the base"
            )
        if self.gravity_from_imu:
            raise ArgumentError(
                f"base_motion: gravity comes from {self.base_motion}; set gravity_from_imu to false"
            )


ObserverParameters = listed_group("collision", "gain")
"""Parameters of the observer of external efforts; see `control.collision`."""

PayloadParameters = listed_group("payload")
"""Payload at the endpoint; set together with `set_parameters_atomically`."""


class OnlineModel:
    """The model of an arm, with its terms, its payload and its gravity.

    The loop calls `at`; all else runs in the executor's thread.

    Args:
        node: Node with the parameters and topics.
        model: Equations and gains; the parameters set its terms and load.
        motion: Returns the motion from now on that a new load must permit; None if unknown.
        scale: Friction that is tracked; by default none is.

    Attributes:
        at: Returns the model at a steady time, s; the same object while nothing changes.
        prepare: Called with a model and the frame that is about to carry its load, before `at`
            returns it.
        drives_changed: Called after a change of rotors or of elasticity.
    """

    def __init__(
        self,
        node: RobotNode[ModelParameters],
        model: Model,
        motion: Callable[[], Trajectory | None] = lambda: None,
        scale: FrictionInput | None = None,
    ) -> None:
        self._node, self._motion, self._scale = node, motion, scale
        self.prepare: Callable[[Model, str | None], None] = lambda model, endpoint: None
        self.drives_changed: Callable[[], None] = lambda: None
        self._drives = DriveParameters(node, self.change_friction, self._change_drives)
        self._moving: BaseInput | None = None
        if node.parameters.base_motion != "none":
            gravity = self._given_gravity(model.dynamics.robot)
            self._moving = BaseInput(node, gravity, lambda: self.load)
            model = replace(model, base=self._moving.estimate.at(node.now()))
        self._moved: tuple[object, object, Model] = None, None, model
        self._imu_gravity: Array | None = None
        self._imu_at = self._imu_since = 0.0
        self._imu_in: Subscription | None = None
        self._begun = False
        self.payload: Declared[Any] = node.group(
            PayloadParameters, "payload", check=self._check, changed=self._carry
        )
        self._replace(*self._build(model, self.payload.value.frame))
        self.change_load()
        self._begun = True
        self._payload_in = node.create_subscription(
            InertiaStamped, "payload", self._on_payload, TRAJECTORY_QOS
        )

    @property
    def rotor_inertia(self) -> Array:
        """Rotor inertia at the joints, shape (n,), kg m^2 or kg."""
        return self._drives.rotor_inertia

    @property
    def base(self) -> Model:
        """The model without load; replaced as a whole when its terms change."""
        return self._present[0]

    @base.setter
    def base(self, model: Model) -> None:
        self._replace(model, self.load)

    @property
    def settled(self) -> Model:
        """The model without load, with the friction that it moves to."""
        return self.base if self._scale is None else self._scale.friction.target(self.base)

    @property
    def load(self) -> Load:
        """Load of the arm: payload, wrench and gravity."""
        return self._present[1]

    def _replace(self, base: Model, load: Load) -> None:
        """Replace model and load at once, as another thread may ask for both."""
        self._present = base, load
        plain = self._moving is None and self._scale is None
        self.at = partial(load.on if plain else self._with_inputs, base)

    @property
    def inputs(self) -> list[LoopSubscriber]:
        """Subscribers that a loop reads before it calls `at`."""
        return [] if self._moving is None else [self._moving.source]

    def _with_inputs(self, model: Model, now: float) -> Model:
        """Return the model with friction, load and motion of the base of now.

        The same object until one of them changes.
        """
        if self._scale is not None:
            model = self._scale.friction.on(model, now)
        loaded = self._present[1].on(model, now)
        if self._moving is None:
            return loaded
        base = self._moving.estimate.at(now)
        last = self._moved
        if loaded is last[0] and base is last[1]:
            return last[2]
        moved = replace(loaded, base=base)
        self._moved = loaded, base, moved
        return moved

    def standing(self, model: Model) -> Model:
        """Return a model on a base that stands from now on."""
        return model if self._moving is None else replace(model, base=self._moving.estimate.still)

    # -- another robot ----------------------------------------------------------------------

    def use(self, dynamics: Dynamics) -> None:
        """Pass over to the equations of another robot of the same joints, carrying the same load.

        Raises:
            RobotDynamicsError: If the new robot does not have the frame that carries the load.
        """
        before = self.load
        base, load = self._build(replace(self.base, dynamics=dynamics), before.endpoint or "")
        load.wrench = before.wrench
        self._replace(base, load)
        self.change_load()

    def _build(self, model: Model, endpoint: str) -> tuple[Model, Load]:
        """Return a model with the terms and the load of the parameters, compiled."""
        robot = model.dynamics.robot
        self._friction = self._drives.friction(robot)
        base = self._with_terms(model)
        load = Load(robot, endpoint or None, self._gravity(robot))
        load.prepare(base)
        if load.endpoint is not None:  # one set of equations with and without a load
            base = replace(base, frame=load.endpoint)
        self.prepare(base, load.endpoint)
        self._set_payload(self.payload.value, base, load)
        load.on(base, self._node.now())  # the initial payload acts at once
        return base, load

    # -- diagnostics ------------------------------------------------------------------------

    def faults(self) -> list[Fault]:
        """Return the faults of the model's inputs."""
        found = [] if self._scale is None else self._scale.faults()
        if self._moving is not None:
            return found + self._moving.faults()
        if not self._node.parameters.gravity_from_imu:
            return found
        age = self._node.now() - max(self._imu_at, self._imu_since)
        if age < IMU_TIMEOUT_S:
            return found
        kept = "its last direction" if self._imu_at else "the direction of the parameter"
        return [*found, Fault(Level.STALE, f"no imu for {age:.1f} s; gravity keeps {kept}")]

    def describe(self) -> Mapping[str, object]:
        """Return load and scale of friction, for diagnostics."""
        return {**self.load.describe(), **({} if self._scale is None else self._scale.values())}

    def terms(self) -> Mapping[str, str]:
        """Return gravity and payload by their settings, for comparison with another node."""
        parameters, load = self._node.parameters, self.load.describe()
        gravity = load["gravity"]
        if not parameters.compensate_gravity:
            gravity = "none, as compensate_gravity is false"
        elif parameters.base_motion != "none":
            gravity = f"that of a base moved by {parameters.base_motion}"
        elif parameters.gravity_from_imu:
            gravity = "that of the topic imu"
        payload, frame = load["payload"], self.load.endpoint
        mass = payload.split(" at ")[0]
        # Places in different frames cannot be compared as words
        placed = {} if payload == "none" else {f"payload in {frame}": payload}
        return {"gravity": gravity, "mass of the payload": mass, **placed}

    def forget(self) -> None:
        """Return to the friction of the model, before the loop begins."""
        if self._scale is not None:
            self._scale.forget()

    # -- parameters -------------------------------------------------------------------------

    def changed(self) -> None:
        """Apply new parameters of the node."""
        self.change_terms()
        self.change_load()

    def change_terms(self) -> None:
        """Rebuild the model if its terms have changed."""
        self.base = self._with_terms(self.base)

    def _with_terms(self, base: Model) -> Model:
        """Return the model with the terms of the parameters; the same object if it has them."""
        parameters, springs = self._node.parameters, self._drives.elasticity
        rotors = parameters.compensate_rotor_inertia * self._drives.rotor_inertia
        terms: dict[str, Any] = {
            "friction": self._friction if parameters.compensate_friction else None,
            "friction_width": parameters.friction_width,
            "velocity_terms": parameters.compensate_velocity_terms,
            "elasticity": springs,
            "encoders": parameters.encoders,
            "rotor_inertia": rotors if rotors.any() else None,
        }
        known = {**terms, "elasticity": springs if np.isfinite(springs.stiffness).any() else None}
        same = all(_same(getattr(base, name), value) for name, value in known.items())
        return base if same else replace(base, **terms)

    def _change_drives(self) -> None:
        self.change_terms()
        self.drives_changed()

    def change_friction(self) -> None:
        """Use the friction of the parameters."""
        self._friction = self._drives.friction(self.base.dynamics.robot)
        self.change_terms()

    def change_load(self) -> None:
        """Ramp to the gravity of the parameters, and open the topic imu when it is needed."""
        parameters = self._node.parameters
        self.load.payload.duration = self.load.gravity.duration = parameters.load_ramp
        if not parameters.gravity_from_imu:
            self._imu_gravity = None
        elif self._imu_in is None:
            self._imu_since = self._node.now()
            self._imu_in = self._node.create_subscription(Imu, "imu", self._on_imu, STATE_QOS)
        gravity = self._gravity(self.base.dynamics.robot)
        if not np.array_equal(gravity, self.load.gravity.target):
            self.load.gravity.aim(gravity)
            if self._begun and self._imu_gravity is None:
                why = "" if parameters.compensate_gravity else ", as compensate_gravity is false"
                self._node.get_logger().info(f"gravity: {self.load.describe()['gravity']}{why}")

    def _gravity(self, robot: Robot) -> Array:
        """Return the gravity to compensate, m/s^2, shape (3,)."""
        if not self._node.parameters.compensate_gravity:
            return np.zeros(3)
        imu = self._imu_gravity
        return self._given_gravity(robot) if imu is None else imu

    def _given_gravity(self, robot: Robot) -> Array:
        given = self._node.parameters.gravity
        return np.array(given) if given else robot.gravity

    def _check(self, payload: Any) -> None:
        """Refuse a physically impossible payload, and a frame that moves against the endpoint."""
        refusal = Refusal()
        moments = np.array(payload.inertia or 6 * (0.0,))
        refuse_payload(refusal, payload.mass, np.array(payload.com), moments)
        if why := refusal_words(refusal.found, self._node.robot):
            raise ArgumentError(why)
        if self._begun and payload.frame:
            self.load.carries(payload.frame)
        elif self._begun and payload.mass:
            self.load.pose()
        if self._begun and payload.mass:
            body = Inertia.from_com(payload.mass, *_com_and_inertia(payload))
            try:
                self.check_load(self.load.bearing(self.settled, body, payload.frame))
            except ArgumentError as error:
                raise ArgumentError(f"payload of {payload.mass:g} kg: {error}") from None

    def check_load(self, after: Model, motion: Trajectory | None = None) -> None:
        """Refuse a model with a load under which a motion, by default the present, is too hard.

        Raises:
            ArgumentError: See `control.load.check_load`.
        """
        motion = motion or self._motion()
        if motion is not None:
            check_load(self.load.target(self.settled), after, motion)

    def _carry(self, payload: Any) -> None:
        """Set the payload; compiles only if another link carries it."""
        before = self.load
        if before.endpoint is None or before.carries(payload.frame) or not payload.mass:
            self._set_payload(payload, self.base, before)
        else:
            # A new model object, so that efforts fade to it as to other terms
            base, load = self._build(replace(self.base), payload.frame)
            load.wrench.duration = before.wrench.duration
            self._replace(base, load)
            self.change_load()
        self._node.get_logger().info(f"payload: {self.load.describe()['payload']}")

    def _set_payload(self, payload: Any, base: Model, load: Load) -> None:
        if load.endpoint is None:
            if not payload.frame and not payload.mass:
                return
            load.pose(payload.frame)  # refuses a payload without a frame, naming the tips
            self.prepare(base, payload.frame)
            load.prepare(base, payload.frame)
        body = Inertia.from_com(payload.mass, *_com_and_inertia(payload))
        load.carry(body, payload.frame if payload.mass else "")

    # -- topics -----------------------------------------------------------------------------

    def _on_payload(self, msg: InertiaStamped) -> None:
        """Set the payload parameters to the values of a message."""
        try:
            mass, com, moments = body_from_msg(msg)
        except RobotDynamicsError as error:
            self._node.throttled_log.warn("payload", f"payload refused: {error}")
            return
        result = self._node.set_parameters_atomically(
            [
                Parameter("payload.mass", value=mass),
                Parameter("payload.com", value=com),
                Parameter("payload.inertia", value=moments),
                Parameter("payload.frame", value=msg.header.frame_id),
            ]
        )
        if not result.successful:
            self._node.throttled_log.warn("payload", f"payload refused: {result.reason}")

    def _on_imu(self, msg: Imu) -> None:
        parameters, now = self._node.parameters, self._node.now()
        if not parameters.gravity_from_imu:
            return
        try:
            force = self.load.to_root(measured_force(msg), msg.header.frame_id)
            if why := refusal_words(check_imu(force), self._node.robot):
                raise ArgumentError(why)
        except RobotDynamicsError as error:
            self._node.throttled_log.warn("imu", f"imu: {error}; the message is ignored")
            return
        robot, before, passed = self.base.dynamics.robot, self._imu_gravity, now - self._imu_at
        if before is None:
            before, passed = self._given_gravity(robot), 0.0
        self._imu_gravity = gravity_by_imu(before, force, passed, parameters.imu_filter)
        self._imu_at = now
        self.load.gravity.aim(self._gravity(robot))


def _com_and_inertia(payload: Any) -> tuple[Array, Array]:
    return np.array(payload.com), inertia_matrix(payload.inertia)


def _same(a: Any, b: Any) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
