"""Streams of target poses: a short buffer, from which the goal moves smoothly along them.

Poses that follow one another closely are one motion. Their stamps tell how they lie in time,
however late each one comes. The goal is behind the stream by one and a half of its intervals, or by
one interval and the largest lateness if that is more, so that the next pose comes before it is
needed.

The clock of the sender may differ by any constant: lateness counts from the pose that came fastest.
Poses without stamps are taken as given when they came.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.piecewise import maximum, minimum
from robot_dynamics.control.fields import SCALAR, Field
from robot_dynamics.control.logic import both, chosen, less, negated
from robot_dynamics.control.target_motion import moved, pose_difference
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.trajectory.streams import (
    BEYOND,
    FORGOTTEN_S,
    GAP,
    MARGIN,
    STREAM_S,
    filter_gains,
    mean_interval,
)

DRIFT = 1e-3
"""Rate at which two clocks may drift apart."""

SHORTEST_S = 0.08
"""Time over which poses are filtered, and the goal comes to its stream, at least, s: in half of it
the noise of poses at 100 Hz would ask for more than the largest acceleration."""

ANOTHER_CLOCK_S = 0.5
"""Lateness beyond which a stamp comes from another clock, s."""

STREAM = {
    "flow": Field((6,), "twist of the goal in a stream of poses"),
    "flow_rate": Field((6,), "its derivative in time"),
    "flow_lasts": Field(SCALAR, "time for which the goal moves on, s"),
    "last_rotation": Field((3, 3), "filtered axes of the last pose of the stream"),
    "last_position": Field((3,), "its filtered origin, m"),
    "last_flow": Field((6,), "twist there"),
    "last_bend": Field((6,), "its derivative in time"),
    "last_stamp": Field(SCALAR, "stamp of that pose, or the time at which it came, s"),
    "in_stream": Field(SCALAR, "1 if that pose may begin a stream"),
    "stream_offset": Field(SCALAR, "time from stamp to arrival of the fastest pose, s"),
    "stream_late": Field(SCALAR, "largest lateness, s"),
    "stream_age": Field(SCALAR, "time since the first pose, s"),
    "stream_interval": Field(SCALAR, "mean time between two poses, s"),
}
"""State of a stream."""


class _Times(NamedTuple):
    """Times of the last pose in its stream, and whether it goes on with one."""

    streams: Any
    third: Any  # or a later one
    stamp: Any
    passed: Any
    age: Any
    interval: Any
    offset: Any
    late: Any


class PoseStream:
    """A stream while a cycle takes poses from it and moves the goal on.

    Args:
        x: Fields of the step.
        begins: Whether the target begins anew.

    Attributes:
        fields: State of the stream after this cycle.
    """

    def __init__(self, x: Any, begins: Any) -> None:
        self.fields: dict[str, Any] = {name: getattr(x, name) for name in STREAM}
        self.end(begins)

    def __getattr__(self, name: str) -> Any:
        return self.fields[name]

    def _change(self, now: Any, **values: Any) -> None:
        for name, value in values.items():
            self.fields[name] = chosen(now, value, self.fields[name])

    def end(self, now: Any) -> None:
        """Forget the stream."""
        self._change(now, in_stream=0.0)
        self._rest(now)

    def _rest(self, now: Any) -> None:
        none = np.zeros(6)
        self._change(now, flow=none, flow_rate=none, flow_lasts=0.0)

    @property
    def flows(self) -> Any:
        """Return whether the goal moves."""
        return less(0.0, self.flow_lasts)

    def take(self, x: Any, now: Any) -> Any:
        """Take the last pose; return whether it goes on with a stream.

        Args:
            x: Fields of the step.
            now: Whether to take it.
        """
        times = self._times(x)
        streams, interval = times.streams, times.interval
        rotation, position, flow, bend = self._filtered(x, times)
        behind = interval + maximum(MARGIN * interval, times.late) + BEYOND * interval
        self._rest(both(now, negated(streams)))
        self._change(
            now,
            flow_lasts=chosen(streams, times.stamp + times.offset + behind - x.now + x.dt, 0.0),
            last_rotation=rotation,
            last_position=position,
            last_flow=flow,
            last_bend=bend,
            last_stamp=times.stamp,
            in_stream=1.0,
            stream_offset=times.offset,
            stream_late=times.late,
            stream_age=times.age,
            stream_interval=interval,
        )
        return streams

    def _times(self, x: Any) -> _Times:
        """Return the times of the last pose."""
        stamp = chosen(less(0.0, x.pose_stamp), x.pose_stamp, x.pose_came)
        offset, passed, mean = x.pose_came - stamp, stamp - self.last_stamp, self.stream_interval
        streams = both(
            self.in_stream,
            less(0.0, passed),
            less(passed, maximum(STREAM_S, GAP * mean)),
            less(abs(offset - self.stream_offset), ANOTHER_CLOCK_S),
        )
        third = both(streams, less(0.0, mean))
        passed = chosen(streams, passed, 1.0)
        age = self.stream_age + passed
        mean = mean_interval(mean, passed, age)
        least = minimum(self.stream_offset + DRIFT * passed, offset)
        late = self.stream_late * (1.0 - minimum(passed / FORGOTTEN_S, 1.0))
        return _Times(
            streams,
            third,
            stamp,
            passed,
            age=chosen(streams, age, 0.0),
            interval=chosen(third, mean, chosen(streams, passed, 0.0)),
            offset=chosen(streams, least, offset),
            late=chosen(streams, maximum(late, offset - least), 0.0),
        )

    def _filtered(self, x: Any, times: _Times) -> tuple[Array, Array, Array, Array]:
        """Return axes, origin and twist at the last pose, and the derivative of the twist."""
        passed = times.passed
        of_pose, of_flow, of_bend = filter_gains(passed, maximum(SHORTEST_S, times.interval))
        ahead = passed * (self.last_flow + passed / 2.0 * self.last_bend)
        expected = moved(self.last_rotation, self.last_position, ahead)
        off = pose_difference(*expected, x.pose_rotation, x.pose_position)
        flow = self.last_flow + passed * self.last_bend + of_flow * off
        bend = self.last_bend + of_bend * off
        none = np.zeros(6)
        flow = chosen(times.third, flow, chosen(times.streams, off / passed, none))
        back = chosen(times.third, (of_pose - 1.0) * off, none)
        return (
            *moved(x.pose_rotation, x.pose_position, back),
            flow,
            chosen(times.third, bend, none),
        )

    def step(self, goal: Any, dt: Any, moves: Any) -> Any:
        """Move the twist of the goal on by a time; return whether the stream has ended.

        The goal moves so that it is at the last pose, with the twist of the stream, when this pose
        is due; after that, so that it is where the stream would be.

        Args:
            goal: What has `goal_rotation` and `goal_position`.
            dt: The time, s.
            moves: Whether the goal is followed.
        """
        flows, interval = both(moves, self.flows), self.stream_interval
        due = self.flow_lasts - BEYOND * interval
        left = maximum(maximum(due, 0.5 * interval), maximum(SHORTEST_S, 5.0 * dt))
        left = chosen(flows, left, 1.0)
        on = left - due
        displacement = pose_difference(
            goal.goal_rotation, goal.goal_position, self.last_rotation, self.last_position
        )
        displacement = displacement + on * (self.last_flow + on / 2.0 * self.last_bend)
        away = displacement - left * (self.flow + left / 2.0 * self.flow_rate)
        faster = self.last_flow + on * self.last_bend - self.flow - left * self.flow_rate
        # Of all motions that end so, the one with the least integral of the squared jerk
        jerk = (40.0 * away / left - 12.0 * faster) / (left * left)
        rate = self.flow_rate + dt * jerk
        self._change(
            flows, flow_rate=rate, flow=self.flow + dt * rate, flow_lasts=self.flow_lasts - dt
        )
        ends = both(flows, less(self.flow_lasts, 1e-12))
        self._rest(ends)
        return ends
