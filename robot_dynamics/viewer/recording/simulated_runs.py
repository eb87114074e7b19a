"""Simulated runs as a recording of the topics that nodes would have had; without ROS."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.arrays import Array
from robot_dynamics.control import Model
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.recordings.bag_files import JOINT_STATE
from robot_dynamics.simulation import Log
from robot_dynamics.trajectory import Trajectory
from robot_dynamics.viewer.effort_causes import CAUSE_TOPICS, EffortSplitter
from robot_dynamics.viewer.recording.link_transforms import TF_TOPIC, TF_TYPE, LinkTransforms
from robot_dynamics.viewer.recording.mcap_file import McapFile
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

PAUSE_S = 1.0
"""Time between two runs, s."""

SLOW_PERIOD_S = 0.05
"""Time between two messages of tf and of the efforts by cause, s, as recorder_node has it."""

NONE: Array = np.zeros(0)


class SimulatedRecording:
    """A new MCAP file of a simulated robot.

    It holds robot_description, joint_states with the efforts that acted, reference with those of
    feedforward, tf, and efforts/*: what the model says that the motion takes, by cause.

    Args:
        path: File to make.
        description: URDF text.
        dynamics: The equations of the robot.
        still: Positions of other joints of the URDF, which are locked, by name.

    Raises:
        RecordingError: If the file exists, or cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        description: str,
        dynamics: Dynamics,
        still: Mapping[str, float] | None = None,
    ) -> None:
        self._file = file = McapFile(path)
        self._names = list(dynamics.robot.joint_names)
        self._still = {} if still is None else still
        self._store = get_typestore(Stores.ROS2_JAZZY)
        self._start = time.time_ns()
        text = file.channel("/robot_description", "std_msgs/msg/String")
        self._put(text, self._start, "std_msgs/msg/String", data=description)
        self._states = file.channel("/joint_states", JOINT_STATE)
        self._reference = file.channel("/reference", JOINT_STATE)
        self._causes = [file.channel(f"/efforts/{name}", JOINT_STATE) for name in CAUSE_TOPICS]
        self._tf, self._links = file.channel(TF_TOPIC, TF_TYPE), LinkTransforms(dynamics.robot)
        self._splitter = EffortSplitter(dynamics.robot, dynamics, tool_frame(dynamics.robot))
        self._due = -np.inf

    def add(
        self, now: Snapshot, qd_d: Array | None = None, feedforward: Array | None = None
    ) -> None:
        """Add a moment; times count from the beginning of the recording.

        Args:
            now: The moment; no later than the next one.
            qd_d: Desired velocities, shape (n,), where anything is desired.
            feedforward: Efforts of feedforward, shape (n,), N m or N, likewise.
        """
        stamp = self._start + round(1e9 * now.time)
        self._joints(self._states, stamp, now.q, now.qd, now.tau, self._still)
        if now.q_d is not None and qd_d is not None and feedforward is not None:
            self._joints(self._reference, stamp, now.q_d, qd_d, feedforward)
        if now.time >= self._due:
            self._due = now.time + SLOW_PERIOD_S - 1e-6
            self._file.write(self._tf, stamp, self._links.message(stamp, now.q))
            causes = self._splitter.split(now).by_cause
            for channel, effort in zip(self._causes, causes, strict=True):
                self._joints(channel, stamp, NONE, NONE, effort)

    def flush(self) -> None:
        """Bring everything so far into the file; see `McapFile.flush`."""
        self._file.flush()

    def close(self) -> None:
        """Complete the file."""
        self._file.close()

    def _joints(
        self,
        channel: int,
        stamp: int,
        position: Array,
        velocity: Array,
        effort: Array,
        still: Mapping[str, float] | None = None,
    ) -> None:
        types = self._store.types
        seconds, rest = divmod(stamp, 1_000_000_000)
        when = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=rest)
        header = types["std_msgs/msg/Header"](stamp=when, frame_id="")
        still = still or {}
        more, none = np.array(list(still.values())), np.zeros(len(still))
        values = {
            "position": np.append(position, more),
            "velocity": np.append(velocity, none),
            "effort": np.append(effort, none + np.nan),  # nobody says
        }
        names = [*self._names, *still]
        self._put(channel, stamp, JOINT_STATE, header=header, name=names, **values)

    def _put(self, channel: int, stamp: int, kind: str, **fields: Any) -> None:
        message = self._store.types[kind](**fields)
        self._file.write(channel, stamp, bytes(self._store.serialize_cdr(message, kind)))


def write_runs(
    path: str | os.PathLike[str],
    description: str,
    model: Model,
    trajectory: Trajectory,
    runs: Iterable[Log],
    still: Mapping[str, float] | None = None,
) -> None:
    """Write runs, one behind the other, into a new MCAP file.

    Args:
        path: File to make.
        description: URDF text.
        model: What the law knew of the robot, with the joints of the runs.
        trajectory: What the runs were to follow.
        runs: What happened.
        still: As of `SimulatedRecording`.

    Raises:
        RecordingError: If the file exists, or cannot be written.
    """
    recording = SimulatedRecording(path, description, model.dynamics, still)
    begin = 0.0
    try:
        for log in runs:
            feedforward = model.feedforward(*trajectory.sample(log.t))
            moved = len(log.t) > 1
            qdd = np.gradient(log.qd, log.t, axis=0) if moved else np.zeros_like(log.qd)
            for k, t in enumerate(log.t):
                state = (log.q[k], log.qd[k], qdd[k], log.tau[k], log.q_d[k])
                recording.add(Snapshot(begin + t, *state), log.qd_d[k], feedforward[k])
            begin += log.t[-1] + PAUSE_S
    finally:
        recording.close()
