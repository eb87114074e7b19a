"""controller_node: desired and measured motion in, effort commands out.

It answers every joint_states message at once, in the control mode of its
parameter `mode`, within the effort limits of the URDF and the limits that its
parameters set for each joint. Without a reference it holds the joints where
they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.control import (
    MODES,
    Controller,
    Gains,
    Measured,
    Model,
    Reference,
    Settings,
    SoftLimits,
    Status,
    gains_for,
    position_error,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes.arm_model import ArmModel, ModelParameters, check_gravity
from robot_dynamics.nodes.diagnostics import Fault, Level
from robot_dynamics.nodes.loop import Loop
from robot_dynamics.nodes.messages import SECOND, JointReader, effort_msg, named_effort_msg
from robot_dynamics.nodes.parameters import Declared, parameter
from robot_dynamics.nodes.process import run
from robot_dynamics.nodes.qos import LATEST, PUBLISHED, STATES
from robot_dynamics.nodes.robot_node import RobotNode, moved
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.trajectory.motions import middle_pose

LOOK = 1.0
"""Time between two looks for other nodes that command the same joints, s."""

FARTHEST_SHIFT = 0.02
"""Largest difference of stamps over which a reference is brought to the time of a state, s."""


@dataclass(frozen=True)
class ControllerParameters(ModelParameters):
    """Parameters of controller_node."""

    mode: str = parameter("feedforward", "Control law", one_of=MODES)
    bandwidth: float = parameter(
        20.0,
        "Natural frequency of each joint under the default gains, rad/s",
        low=0.1,
        high=1000.0,
        read_only=True,
    )
    damping_ratio: float = parameter(
        1.0,
        "Damping ratio of each joint under the default gains",
        low=0.01,
        high=10.0,
        read_only=True,
    )
    fade: float = parameter(
        0.2, "Time to pass from one mode or set of gains to another, s", low=0.0, high=10.0
    )
    state_timeout: float = parameter(
        0.1, "Age of the last joint_states at which feedback stops, s", low=1e-3, high=3600.0
    )
    reference_timeout: float = parameter(
        0.2,
        "Age of the last reference at which the joints are brought to rest, s",
        low=1e-3,
        high=3600.0,
    )


@dataclass(frozen=True)
class GainParameters:
    """Gains of one joint."""

    p: float = parameter(0.0, "Gain on the position error, N m/rad or N/m", low=0.0)
    i: float = parameter(0.0, "Gain on its integral, N m/(rad s) or N/(m s)", low=0.0)
    d: float = parameter(0.0, "Gain on the velocity error, N m s/rad or N s/m", low=0.0)


@dataclass(frozen=True)
class LimitParameters:
    """What one joint may do; every limit is off at zero."""

    effort_rate: float = parameter(
        0.0, "Largest change of effort, N m/s or N/s; 0 for any", low=0.0
    )
    soft_margin: float = parameter(
        0.0,
        "Width of a spring and a damper inside both ends of the position range, rad or m; "
        "0 for none",
        low=0.0,
    )
    velocity: float = parameter(
        0.0, "Speed above which d of the gains brakes, rad/s or m/s; 0 for none", low=0.0
    )
    tracking_error: float = parameter(
        0.0, "Position error that stops the arm, rad or m; 0 for any", low=0.0
    )


class ControllerNode(RobotNode[ControllerParameters]):
    """Closes the loop around the robot."""

    NAME = "controller_node"
    PARAMETERS = ControllerParameters

    def begin(self, robot: Robot) -> None:
        """Work out the gains and open the topics."""
        parameters = self.parameters
        self.robot, self._order = moved(robot, parameters.joints)
        names = self.robot.joint_names
        dynamics = Dynamics(self.robot, parameters.formulation)
        default = gains_for(
            dynamics, bandwidth=parameters.bandwidth, damping_ratio=parameters.damping_ratio
        )
        inertia = np.diag(dynamics.mass_matrix(middle_pose(self.robot)))
        self._gains = [
            Declared(
                self,
                GainParameters,
                f"gains.{name}",
                defaults=GainParameters(p=float(default.kp[i]), d=float(default.kd[i])),
                check=partial(check_gains, name, float(inertia[i])),
                changed=lambda _: self._use_gains(),
            )
            for i, name in enumerate(names)
        ]
        self._limits = [
            Declared(
                self, LimitParameters, f"limits.{name}", changed=lambda _: self._use_settings()
            )
            for name in names
        ]
        model = Model(
            dynamics,
            self._gains_now(),
            bandwidth=parameters.bandwidth,
            damping_ratio=parameters.damping_ratio,
        )
        self.arm = ArmModel(self, model)
        self._settings = self._settings_now()
        self._in_use = (self.arm.base, self._settings)
        self.controller = Controller(self.arm.at(monotonic()), self._settings)
        self._prepare(parameters.mode)
        self._doing: Status | None = None
        self._states = JointReader("joint_states", names, ("position", "velocity"))
        self._reference = JointReader("reference", names, ("position", "velocity", "effort"))
        self._reference_at = 0.0
        self._command = self.create_publisher(Float64MultiArray, "effort_command", PUBLISHED)
        self._named = self.create_publisher(JointState, "effort_command_named", PUBLISHED)
        self._names = [names[i] for i in self._order]
        self._states_in = self.fast_subscription(
            JointState, "joint_states", self._on_joint_states, STATES
        )
        self._reference_in = self.fast_subscription(
            JointState, "reference", self._on_reference, LATEST
        )
        self.saturated = np.zeros(len(names), dtype=np.int64)
        """Cycles in which the effort of each joint was cut at its limit."""
        unlimited = [
            name for name, x in zip(names, self.controller.limit, strict=True) if np.isinf(x)
        ]
        if unlimited:
            self.get_logger().warning(
                f"no effort limit in the URDF for {', '.join(unlimited)}; not saturated"
            )
        if not parameters.compensate_gravity:
            self.get_logger().info("gravity is left out: compensate_gravity is false")
        self.create_service(Trigger, "~/resume", self._on_resume)
        self._others: frozenset[str] = frozenset()
        self.create_timer(LOOK, self._look_for_others)

    def attach(self, loop: Loop) -> None:
        """See `RobotNode.attach`."""
        loop.add(
            self.NAME,
            self.parameters.rate,
            self.tick,
            inputs=[self._reference_in],
            trigger=self._states_in,
        )

    # -- the fast work ----------------------------------------------------------------------

    def tick(self) -> None:
        """Publish the command for the last state and reference."""
        stamp = self.get_clock().now() if self._named.get_subscription_count() else None
        now = monotonic()
        self._take_up_changes(now)
        if self._reference.complete:
            self.controller.refer(self._reference_at_state(), self._reference_at)
        command = self.controller.update(now)
        if command is None:
            return
        tau = command.tau[self._order]
        self._command.publish(effort_msg(tau))
        if stamp is not None:
            self._named.publish(named_effort_msg(self._names, tau, stamp.to_msg()))
        self.saturated += command.saturated
        if command.status is not self._doing:
            self._doing = command.status
            self._tell(command.status)

    def _take_up_changes(self, now: float) -> None:
        """Use what parameters and topics have changed; only the load passes over by itself."""
        model, wanted = self.arm.at(now), (self.arm.base, self._settings)
        if wanted != self._in_use:
            self.controller.change(model, self._settings)
            self._in_use = wanted
        else:
            self.controller.model = model

    def _tell(self, status: Status) -> None:
        log = self.get_logger()
        if status is Status.STOPPED:
            log.warning(
                f"{status.value}, of joint '{self.controller.stopped_by}'; call "
                f"{self.get_name()}/resume to go on"
            )
        else:
            log.info(status.value)

    def _reference_at_state(self) -> Reference:
        """The reference, brought to the time at which the state was measured.

        Stamps differ by what messages take; at speed that would look like a tracking error.
        """
        reference = self._reference
        ahead = (self._states.stamp - reference.stamp) / SECOND
        ahead = min(max(ahead, -FARTHEST_SHIFT), FARTHEST_SHIFT)
        q = reference.position + ahead * reference.velocity
        return Reference(q, reference.velocity, reference.effort)

    def _on_joint_states(self, msg: JointState) -> None:
        states = self._states
        try:
            if states.read(msg) and states.complete:
                self.controller.measure(Measured(states.position, states.velocity), monotonic())
        except RobotDynamicsError as error:
            self.complaints.say("joint_states", error)

    def _on_reference(self, msg: JointState) -> None:
        try:
            self._reference.read(msg)
            self._reference_at = monotonic()
        except RobotDynamicsError as error:
            self.complaints.say("reference", error)

    # -- parameters, in the executor's thread; the loop takes them up between two cycles ------

    def check(self, value: ControllerParameters) -> None:
        """See `RobotNode.check`."""
        check_gravity(value)

    def changed(self, value: ControllerParameters) -> None:
        """Use new settings from the next cycle on."""
        self._prepare(value.mode)
        self.arm.changed()
        self._use_settings()

    def _prepare(self, mode: str) -> None:
        """Have the kernels of a mode compiled, and those of holding still, before the loop asks."""
        model = self.controller.model
        zero = np.zeros(self.robot.dof)
        model.feedforward(zero, zero, zero)
        model.dynamics.gravity(zero)
        MODES[mode](model, Reference(zero, zero, zero), Measured(zero, zero))

    def _use_gains(self) -> None:
        self.arm.base = replace(self.arm.base, gains=self._gains_now())
        self._use_settings()

    def _use_settings(self) -> None:
        self._settings = self._settings_now()

    def _gains_now(self) -> Gains:
        values = [declared.value for declared in self._gains]
        return Gains(*(np.array([getattr(v, term) for v in values]) for term in ("p", "d", "i")))

    def _settings_now(self) -> Settings:
        parameters = self.parameters
        return Settings(
            mode=parameters.mode,
            fade=parameters.fade,
            effort_rate=self._limits_now("effort_rate"),
            soft_limits=self._soft_limits_now(),
            tracking_limit=self._limits_now("tracking_error"),
            state_timeout=parameters.state_timeout,
            reference_timeout=parameters.reference_timeout,
        )

    def _soft_limits_now(self) -> SoftLimits | None:
        margin, velocity = self._limits_now("soft_margin"), self._limits_now("velocity")
        none = np.isinf(margin)
        if none.all() and np.isinf(velocity).all():
            return None
        zones = SoftLimits.of(self.robot, self._gains_now().kd, margin=np.where(none, 0.0, margin))
        return replace(
            zones,
            lower=np.where(none, -np.inf, zones.lower),
            upper=np.where(none, np.inf, zones.upper),
            velocity=velocity,
        )

    def _limits_now(self, name: str) -> Array:
        """One limit of all joints, shape (n,), infinite where it is off."""
        values = np.array([getattr(declared.value, name) for declared in self._limits])
        return np.where(values > 0.0, values, np.inf)

    # -- the rest of the system, in the executor's thread -------------------------------------

    def diagnostics(self) -> Mapping[str, object]:
        """What it does, how well, and with which terms and load."""
        names = self.robot.joint_names
        error: object = None
        if self._states.complete and self._reference.complete:
            q_d, q = self._reference.position, self._states.position
            errors = position_error(q_d, q, self.arm.base.continuous).tolist()
            error = dict(zip(names, errors, strict=True))
        load = self.arm.load.describe()
        cycles = zip(names, self.saturated.tolist(), strict=True)
        return {
            "mode": self.parameters.mode,
            "status": (self._doing or Status.WAITING).value,
            "tracking error (rad or m)": error,
            "cycles saturated": {name: count for name, count in cycles if count},
            "compensate_gravity": self.parameters.compensate_gravity,
            **{name: load[name] for name in ("gravity", "payload")},
        }

    def faults(self) -> Sequence[Fault]:
        """See `RobotNode.faults`."""
        found = list(super().faults())
        if self._doing is Status.STOPPED:
            found.append(Fault(Level.ERROR, f"stopped by joint '{self.controller.stopped_by}'"))
        if self._others:
            found.append(Fault(Level.WARN, f"{_list(self._others)} commands the same joints"))
        return found

    def _on_resume(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.controller.stopped_by is not None
        response.message = "following the reference" if response.success else "not stopped"
        self.controller.resume()
        return response

    def _look_for_others(self) -> None:
        """Warn, once, of nodes that publish commands to the same topics."""
        me = self.get_fully_qualified_name()
        found: set[str] = set()
        for publisher in (self._command, self._named):
            names = [
                f"{info.node_namespace.rstrip('/')}/{info.node_name}"
                for info in self.get_publishers_info_by_topic(publisher.topic_name)
            ]
            if me in names:
                names.remove(me)
            found.update(names)
        new = found - self._others
        if new:
            self.get_logger().warning(
                f"{_list(new)} publishes {self._command.topic_name} too; stop one of us, or the "
                "joints get the commands of both by turns"
            )
        self._others = frozenset(found)


def check_gains(name: str, inertia: float, gains: GainParameters) -> None:
    """Refuse an integral gain that makes the joint swing up, whatever else is right.

    A joint of that inertia under PID obeys M s^3 + d s^2 + p s + i = 0, whose
    motions die out only if p d > M i (Routh).

    Raises:
        ArgumentError: If i is too large for p and d.
    """
    most = gains.p * gains.d / inertia if inertia > 0.0 else np.inf
    if gains.i > 0.0 and gains.i >= most:
        raise ArgumentError(
            f"gains.{name}: i of {gains.i:g} makes the joint swing up; keep it below p d / "
            f"inertia = {most:.4g}"
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    sys.exit(run(ControllerNode, args))


if __name__ == "__main__":
    main()
