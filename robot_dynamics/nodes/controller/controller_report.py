"""Report of controller_node: its log lines and diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from diagnostic_msgs.msg import KeyValue

from robot_dynamics.control import Status, position_error
from robot_dynamics.control.collision import NONE, end_effector_wrench
from robot_dynamics.control.guard import FLAWS, Flaw
from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.status import (
    LEVELS,
    LOG_LEVELS,
    REMEDIES,
    WORDS,
    WORDS_IN_TASK,
    Cause,
)
from robot_dynamics.nodes.controller.controller_base import ControllerBase
from robot_dynamics.nodes.controller.task_space_control import TaskSpaceControl
from robot_dynamics.nodes.ros.diagnostics import Fault, Level
from robot_dynamics.nodes.ros.messages import UNFOLLOWED_TOPIC
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS, other_publishers_of, publishers_of
from robot_dynamics.nodes.runtime.conflicting_publishers import ConflictingPublishers
from robot_dynamics.nodes.runtime.model_agreement import ModelAgreement

DISCOVERY_S = 2.0
"""Time from activation to the first report that commands have no subscriber, s: a motion that goes
on meanwhile, as after a restart, is not cancelled by it."""

SEVERITIES = (Level.OK, Level.WARN, Level.ERROR)
"""Severities by the numbers of `LEVELS` and `LOG_LEVELS`."""

SLOWED = (Cause.TRACKING_ERROR, Cause.SATURATION, Cause.OVERSPEED)
"""Causes behind which there may be feedback that slow states made softer."""


class ControllerReport:
    """Reports on a controller node, each fact once when it changes.

    The loop calls `log`; other threads call the rest.

    Args:
        node: The node.
        task_space: Its control of the end effector.

    Attributes:
        status: The last status reported.
        cause: The last cause of a stop reported.
        braked_by: The last joint reported as not moving.
        warning: Cause that was last reported without a stop.
        at_work: Whether the node is active or about to be.
    """

    def __init__(self, node: ControllerBase, task_space: TaskSpaceControl) -> None:
        self._node, self._task_space = node, task_space
        self.at_work = False
        self._others: frozenset[str] = frozenset()
        self._leaders: list[str] = []
        self._states = ConflictingPublishers(
            node, node.resolve_topic_name("joint_states"), node.robot.joint_names
        )
        self._announce = node.create_publisher(KeyValue, UNFOLLOWED_TOPIC, DESCRIPTION_QOS)
        self._announced: str | None = None
        self._models = ModelAgreement(node, node.arm)
        self._forget()
        self._warn_of_unlimited_joints()

    def begin(self) -> None:
        """Start reporting afresh; announce that references are followed."""
        self._began = self._node.now()
        self._forget()
        self.at_work = True
        self.announce()

    def _warn_of_unlimited_joints(self) -> None:
        controller = self._node.controller
        limits = zip(controller.joint_names, controller.limit, strict=True)
        if unlimited := [name for name, limit in limits if np.isinf(limit)]:
            self._node.get_logger().warning(
                f"no effort limit in the URDF for {', '.join(unlimited)}; not saturated"
            )

    def _forget(self) -> None:
        self.status: Status | None = None
        self.cause: Cause | None = None
        self._stop = Status.STOPPED.words
        self.braked_by: str | None = None
        self.warning = Cause.NONE

    @property
    def unfollowed(self) -> str:
        """Reason for which the reference moves no joint; empty if it moves them or is about to."""
        node, status = self._node, self.status
        resume = f"call {node.get_name()}/resume"
        if not self.at_work:
            return "not active"
        if status is Status.STOPPED:
            return f"{self._stop}; {resume}"
        if status is Status.PAUSED:
            return f"{status.words}; {resume}"
        if status in (None, Status.WAITING, Status.SILENT, Status.OPEN_LOOP, Status.RESUMED):
            return (status or Status.WAITING).words
        if not ALL_MODES[node.parameters.mode].feedback:
            return f"mode '{node.parameters.mode}' follows no reference"
        if not node.listened_to and node.now() > self._began + DISCOVERY_S:
            return f"no node subscribes to {node.command.topic}"
        # Only until the next attempt: nothing else could show that the joints are free by now
        braked = self.braked_by is not None and status is Status.SETTLING
        return node.refusal or (node.controller.brakes if braked else "")

    def announce(self) -> None:
        """Publish whether the reference is followed, if that is new."""
        why = self.unfollowed
        if why != self._announced:
            self._announced = why
            self._announce.publish(KeyValue(key=self._node.get_name(), value=why))

    def remind(self, now: float) -> None:
        """Log which joints no message has named, once they are overdue."""
        self._node.warn_of_missing_joints(self._node.states, now - self._began)

    def log(self, status: Status) -> None:
        """Log a status and brakes if they are new."""
        if self._node.controller.braked_by != self.braked_by:
            self.braked_by = self._node.controller.braked_by
            self._log_brakes()
        cause = self._node.controller.cause if status is Status.STOPPED else None
        if status is not self.status or cause != self.cause:
            self.status, self.cause = status, cause
            if status is Status.WAITING:
                return
            if self.braked_by is None:  # or every attempt would be logged
                self._log_status(status)

    def log_warning(self) -> None:
        """Log that a contact, or friction that counts twice, was found or has ended."""
        controller, log = self._node.controller, self._node.get_logger()
        self.warning = controller.warning
        if controller.cause is Cause.COLLISION:
            return  # the stop is logged
        if self.warning is Cause.NONE:
            log.info("the warning has ended")
        else:
            log.warning(self._warning)

    @property
    def _warning(self) -> str:
        """Words for the present warning; empty without one."""
        return self._node.controller.line("warning")

    def _log_status(self, status: Status) -> None:
        node, log, level = self._node, self._node.get_logger(), SEVERITIES[LOG_LEVELS[status]]
        words = f"{self._words_for(status)}{self._reason}"
        if status is Status.STOPPED:
            words = self._stop = self._reason_of_stop()
        elif status is Status.HOLDING and not node.listened_to:
            words = f"holding still: no node subscribes to {node.command.topic} yet"
        line = f"{words}{REMEDIES[status].format(node=node.get_name())}"
        if level == Level.ERROR:  # a logger requires one severity per line of code
            log.error(line)
        elif level == Level.WARN:
            log.warning(line)
        else:
            log.info(line)

    def _words_for(self, status: Status) -> str:
        return (WORDS_IN_TASK if self._node.controller.in_task_space else WORDS)[status]

    def _reason_of_stop(self) -> str:
        """Return what stopped the arm, with numbers, and the likely cause."""
        node, controller = self._node, self._node.controller
        line = controller.line("cause", "stop")
        if not line:  # resumed in this moment
            return Status.STOPPED.words
        if node.tuning.lowered and controller.cause in SLOWED:
            line = f"{controller.stopped_by}; {node.tuning.describe()}"
        return f"{Status.STOPPED.words}: {line}"

    @property
    def _reason(self) -> str:
        """Return why states are missing or references are not followed, behind a colon."""
        if self._node.controller.status in (Status.OPEN_LOOP, Status.SILENT):
            if missing := self._node.states.missing:
                return f"; {_list(missing)} missing in joint_states"
            if self._node.state_refusal:
                return f": {self._node.state_refusal}"
        field = self._node.controller.field
        flaw, joint, value = (field(f"reason{part}").item() for part in ("", "_joint", "_value"))
        words = FLAWS[Flaw(int(flaw))].line(self._node.robot, int(joint), value)
        return f": {words}" if words else ""

    def _log_brakes(self) -> None:
        if self.braked_by is None:
            self._node.get_logger().info("the joints move")
        else:
            self._node.get_logger().warning(
                f"{self._node.controller.brakes} The controller keeps trying"
            )

    def values(self) -> Mapping[str, object]:
        """Return mode, status, errors, terms and load."""
        node = self._node
        names, tuning = node.robot.joint_names, node.tuning
        error: object = None
        if node.states.complete and node.reference.complete:
            q_d, q = node.reference.position, node.states.position
            errors = position_error(q_d, q, node.arm.base.continuous).tolist()
            error = dict(zip(names, errors, strict=True))
        limited = zip(names, node.controller.field("at_limit").tolist(), strict=True)
        return {
            "mode": node.parameters.mode,
            "status": self._words_for(self.status or Status.WAITING),
            "tracking error (rad or m)": error,
            **self._external(),
            **self._task_space.values(),
            "effort at its limit (% of the time)": {name: round(share) for name, share in limited},
            "feedback": tuning.describe(),
            "actuator_space": node.parameters.actuator_space,
            "order of effort_command": node.output[0],
            "compensate_gravity": node.parameters.compensate_gravity,
            "compensate_velocity_terms": node.parameters.compensate_velocity_terms,
            **{name: x for name, x in node.arm.describe().items() if name != "wrench"},
        }

    def _external(self) -> Mapping[str, object]:
        """Return the external efforts, and the wrench at the end effector that they show."""
        node = self._node
        if node.controller.settings.collision.reaction == NONE:
            return {}
        effort, frame = node.controller.field("external").copy(), node.arm.load.endpoint
        names = node.robot.joint_names
        found = {"external effort (N m or N)": dict(zip(names, effort.tolist(), strict=True))}
        if frame is None or not node.states.complete:
            return found
        J = node.arm.base.dynamics.jacobian(node.states.position, frame)
        return {**found, f"external wrench at {frame}": str(end_effector_wrench(J, effort))}

    def faults(self) -> list[Fault]:
        """Return the present faults."""
        node, found = self._node, []
        if self.status is not None and LEVELS[self.status]:
            stopped = self.status is Status.STOPPED
            words = self._stop if stopped else f"{self._words_for(self.status)}{self._reason}"
            found.append(Fault(SEVERITIES[LEVELS[self.status]], words))
        if node.active and not node.listened_to:
            topic = node.command.topic
            found.append(
                Fault(Level.WARN, f"no node subscribes to {topic}; the arm is held where it is")
            )
        if warning := self._warning:
            found.append(Fault(Level.WARN, warning))
        if self.braked_by is not None:
            found.append(Fault(Level.WARN, self._node.controller.brakes))
        if len(self._leaders) > 1:
            found.append(Fault(Level.WARN, f"{_list(self._leaders)} publish reference"))
        if self._states.found:
            found.append(Fault(Level.WARN, self._states.line))
        if self._others:
            found.append(Fault(Level.WARN, f"{_list(self._others)} commands the same joints"))
        if self._models.difference:
            found.append(Fault(Level.WARN, self._models.difference))
        if node.refusal:
            found.append(Fault(Level.ERROR, f"references are not followed: {node.refusal}"))
        elif node.tuning.lowered:
            found.append(Fault(Level.WARN, node.tuning.describe()))
        if node.active and (limited := node.controller.line("limited")):
            node.throttled_log.warn("limited", limited)
            found.append(Fault(Level.WARN, limited))
        return found

    def look_for_others(self) -> None:
        """Warn once of a second publisher of commands, references or states."""
        node = self._node
        self._states.update()
        found = set(other_publishers_of(node, [node.command.topic]))
        new = found - self._others
        if new:
            node.get_logger().warning(
                f"{_list(new)} publishes {node.command.topic} too; stop one of us, or the "
                "joints get the commands of both by turns"
            )
        self._others = frozenset(found)
        leaders = publishers_of(node, [node.resolve_topic_name("reference")])
        if len(leaders) > 1 and leaders != self._leaders:
            node.get_logger().warning(
                f"{_list(leaders)} publish reference; stop all but one, or the reference jumps"
            )
        self._leaders = leaders


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
