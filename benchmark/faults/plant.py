"""The process of the arm: its driver, which publishes states, right or wrong, and takes efforts.

States name the joints in reversed order, have no efforts, and noisy velocities. Brakes open with
the first command; a command stays where no other one comes. The arm moves in real time, however
late the process is.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmark.faults.arm import STEP_S, Arm, Array
from robot_dynamics.nodes.ros.messages import time_msg
from robot_dynamics.nodes.ros.topics import OUTPUT_QOS
from robot_dynamics.nodes.runtime.loop_topics import LoopCallbackGroup

VELOCITY_NOISE = 0.005
"""Standard deviation of the noise of velocities, rad/s."""

ENABLED_S = 1.0
"""Time after its start from which the arm takes commands, s, as drives do that switch on."""

LEADING_S = 1.0
"""Time in which an arm is moved by hand, s."""

LATEST_S = 0.1
"""Longest time that the arm catches up with, s."""

BEGUN = 0.01
"""Way after which a motion has begun, rad."""

DELAY_S, BURST_S, JUMP, RUNAWAY = 0.08, 0.03, 0.3, 1e3
"""Delay of late states and period of bursts, s; wrong position, rad, and velocity, rad/s."""

KINDS = {
    "none": 0.0,
    "gap": 0.09,
    "long gap": 0.5,
    "missing joint": 0.5,
    "not a number": 0.5,
    "late": 0.5,
    "bursts": 0.5,
    "position glitch": 0.0,
    "velocity glitch": 0.0,
    "frozen joint": 0.3,
    "two publishers": 1.0,
    "leftover publisher": 2.0,
    "reference jumps": 0.3,
    "two references": 0.5,
    "brakes": 0.5,
}
"""Faults of states, references and brakes, and for how long they last, s; 0 for one message."""

OF_REFERENCES = ("reference jumps", "two references")


@dataclass(frozen=True)
class Fault:
    """A fault that begins once the arm is under way.

    Args:
        kind: One of `KINDS`; the process reports any other one when it is due.
        after: Time from the begin of the motion, s.
    """

    kind: str
    after: float


class Plant:
    """The loop of the process.

    Args:
        pipe: Takes orders (name, argument), and answers.
        text: URDF.
        start: First positions, shape (n,), rad or m.
        rate: Rate of the states, Hz.
    """

    def __init__(self, pipe: Any, text: str, start: Array, rate: float) -> None:
        self._pipe, self._rate = pipe, rate
        self._arm, self._rng = Arm(text, start), np.random.default_rng(0)
        self._node = node = rclpy.create_node("hardware", enable_rosout=False)
        group = LoopCallbackGroup()
        ignore = lambda _: None  # noqa: E731
        self._commands = node.create_subscription(
            Float64MultiArray, "effort_command", ignore, 100, callback_group=group
        )
        self._planned = node.create_subscription(
            JointState, "planned", ignore, 100, callback_group=group
        )
        self._states = node.create_publisher(JointState, "joint_states", 100)
        self._others: Any = None
        self._reference: Any = None
        self._fault: Fault | None = None
        self._from, self._begun_at, self._fault_at = start, 0.0, 0.0
        self._held: deque[tuple[float, JointState]] = deque()
        self._trace: list[tuple[float, Array, Array, Array, int]] = []
        self._leading: tuple[Array, float] | None = None
        self._waits, self._enabled_at = True, time.monotonic() + ENABLED_S
        self._count = 0
        self._frozen = 0.0, 0.0

    def run(self) -> None:
        """Run until the order to end."""
        period, due = 1.0 / self._rate, time.monotonic()
        simulated = due
        while True:
            while self._pipe.poll():
                name, argument = self._pipe.recv()
                if name == "end":
                    return
                getattr(self, f"_{name}")(argument)
            new = self._take_commands()
            self._relay_references()
            now = time.monotonic()
            simulated = max(simulated, now - LATEST_S)
            steps = int((now - simulated) / STEP_S)
            simulated += steps * STEP_S
            during = self._watch(now)
            self._arm.braked = self._waits or (during and self._is("brakes"))
            if not self._led(steps * STEP_S, now):
                self._arm.advance(steps)
            self._trace.append((now, self._arm.q, self._arm.qd, self._arm.tau.copy(), new))
            self._publish(now, during)
            due = max(due + period, now)
            time.sleep(max(due - time.monotonic(), 0.0))

    # -- orders -------------------------------------------------------------------------------

    def _arrange(self, fault: Fault) -> None:
        if fault.kind in ("two publishers", "leftover publisher"):
            node = rclpy.create_node("joint_state_publisher", enable_rosout=False)
            self._others = node, node.create_publisher(JointState, "joint_states", 10)
        self._fault, self._begun_at, self._fault_at = fault, 0.0, 0.0
        self._from = self._arm.q
        self._trace.clear()

    def _brake(self, _: object) -> None:
        """Close the brakes until a command comes."""
        self._take_commands()
        self._waits = True

    def _lead(self, displacement: Array) -> None:
        self._leading = displacement, time.monotonic()

    def _report(self, _: object) -> None:
        t, q, qd, tau, new = (np.array(x) for x in zip(*self._trace, strict=True))
        self._trace.clear()
        self._pipe.send((t, q, qd, tau, new, self._fault_at))

    # -- the loop -----------------------------------------------------------------------------

    def _take_commands(self) -> int:
        count = 0
        while (taken := self._commands.handle.take_message(Float64MultiArray, False)) is not None:
            data = np.array(taken[0].data)
            if len(data) == len(self._arm.names) and np.isfinite(data).all():
                self._arm.tau = data
                self._waits = time.monotonic() < self._enabled_at
                count += 1
        return count

    def _is(self, *kinds: str) -> bool:
        return self._fault is not None and self._fault.kind in kinds

    def _watch(self, now: float) -> bool:
        """Return whether the fault acts."""
        fault = self._fault
        if fault is None:
            return False
        if not self._begun_at and abs(self._arm.q - self._from).max() > BEGUN:
            self._begun_at = now
        if not self._begun_at or now < self._begun_at + fault.after:
            return False
        first = not self._fault_at
        if first:
            self._fault_at = now
            self._frozen = float(self._arm.q[-1]), float(self._arm.qd[-1])
            self._pipe.send("due")
        return first or now < self._fault_at + KINDS.get(fault.kind, 0.0)

    def _led(self, seconds: float, now: float) -> bool:
        """Return whether the arm is moved by hand: drives are off, and brakes open afterwards."""
        if self._leading is None:
            return False
        displacement, begin = self._leading
        ends = now > begin + LEADING_S
        self._arm.lead(displacement / LEADING_S, 0.0 if ends else seconds)
        if ends:
            self._leading = None
            self._brake(None)
            self._trace.clear()
            self._pipe.send("led")
        return True

    def _publish(self, now: float, during: bool) -> None:
        arm, count = self._arm, self._count
        self._count += 1
        q, qd = arm.q, arm.qd + self._rng.normal(0.0, VELOCITY_NOISE, len(arm.names))
        names = arm.names
        if not during:
            self._send_held(now + DELAY_S)
            self._states.publish(message(names, q, qd))
            return
        if self._is("gap", "long gap"):
            return
        if self._is("missing joint"):
            names, q, qd = names[:-1], q[:-1], qd[:-1]
        elif self._is("not a number"):
            q[-1] = np.nan
        elif self._is("position glitch"):
            q[-1] += 1.0
        elif self._is("velocity glitch"):
            qd[-1] += RUNAWAY
        elif self._is("frozen joint"):
            q[-1], qd[-1] = self._frozen
        msg = message(names, q, qd)
        if self._is("late"):
            self._held.append((now + DELAY_S, msg))
            self._send_held(now)
        elif self._is("bursts"):
            self._held.append((now, msg))
            if now - self._held[0][0] > BURST_S:
                self._send_held(now)
        else:
            self._states.publish(msg)
        if self._others is not None and count % max(1, round(self._rate / 10.0)) == 0:
            zeros, known = 0.0 * q, self._is("two publishers")
            other = message(names, self._from, zeros) if known else message(names, zeros, None)
            self._others[1].publish(other)

    def _send_held(self, now: float) -> None:
        while self._held and self._held[0][0] <= now:
            self._states.publish(self._held.popleft()[1])

    def _relay_references(self) -> None:
        """Pass references on, which go through here where a fault is to change them."""
        while (taken := self._planned.handle.take_message(JointState, False)) is not None:
            msg = taken[0]
            if self._reference is None:
                self._reference = self._node.create_publisher(JointState, "reference", OUTPUT_QOS)
            kind = self._fault.kind if self._fault_at and self._fault is not None else ""
            if time.monotonic() < self._fault_at + KINDS.get(kind, 0.0):
                if self._is("reference jumps"):
                    msg.position[-1] += JUMP
                else:
                    self._reference.publish(msg)
                    msg = message(self._arm.names, self._from, 0.0 * self._from)
            self._reference.publish(msg)


def message(names: list[str], q: Array, qd: Array | None) -> JointState:
    """Return a state that names the joints in reversed order."""
    msg = JointState(name=names[::-1], position=q[::-1].tolist())
    if qd is not None:
        msg.velocity = qd[::-1].tolist()
    msg.header.stamp = time_msg(time.time_ns())
    return msg


def run_plant(
    pipe: Any, text: str, start: Array, rate: float, variables: Mapping[str, str]
) -> None:
    """Run the arm in this process, until the order to end."""
    os.environ.update(variables)
    rclpy.init()
    Plant(pipe, text, start, rate).run()
    os._exit(0)
