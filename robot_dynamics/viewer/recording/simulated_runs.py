"""Simulated runs as a recording of the topics that nodes would have had; without ROS."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.arrays import Array
from robot_dynamics.control import Model
from robot_dynamics.identification.recordings.bag_files import JOINT_STATE
from robot_dynamics.simulation import Log
from robot_dynamics.trajectory import Trajectory
from robot_dynamics.viewer.effort_causes import CAUSES, EffortSplitter
from robot_dynamics.viewer.recording.mcap_file import McapFile

PAUSE_S = 1.0
"""Time between two runs, s."""

CAUSES_PERIOD_S = 0.05
"""Time between two messages of the efforts by cause, s, as recorder_node has it."""

NONE: Array = np.zeros(0)


def write_runs(
    path: str | os.PathLike[str],
    description: str,
    model: Model,
    trajectory: Trajectory,
    runs: Iterable[Log],
) -> None:
    """Write runs, one behind the other, into a new MCAP file.

    It holds robot_description, joint_states with the efforts that acted, reference with those of
    feedforward, and efforts/*: what the model says that the motion takes, by cause.

    Args:
        path: File to make.
        description: URDF text.
        model: What the law knew of the robot, with the joints of the runs.
        trajectory: What the runs were to follow.
        runs: What happened.

    Raises:
        RecordingError: If the file exists, or cannot be written.
    """
    file = McapFile(path)
    try:
        recording = _Recording(file, description, model)
        for log in runs:
            recording.add(log, trajectory)
    finally:
        file.close()


class _Recording:
    """The channels of a file, and the messages on them."""

    def __init__(self, file: McapFile, description: str, model: Model) -> None:
        self._file, self._model = file, model
        self._names = list(model.dynamics.robot.joint_names)
        self._store = get_typestore(Stores.ROS2_JAZZY)
        self._now = time.time_ns()
        text = file.channel("/robot_description", "std_msgs/msg/String")
        self._put(text, self._now, "std_msgs/msg/String", data=description)
        self._states = file.channel("/joint_states", JOINT_STATE)
        self._reference = file.channel("/reference", JOINT_STATE)
        names = [cause.lower().replace(", ", "_") for cause in CAUSES if cause != "payload"]
        self._causes = [file.channel(f"/efforts/{name}", JOINT_STATE) for name in names]
        self._splitter = EffortSplitter(model.dynamics.robot, model.dynamics, None)

    def add(self, log: Log, trajectory: Trajectory) -> None:
        stamps = self._now + np.round(1e9 * log.t).astype(np.int64)
        feedforward = self._model.feedforward(*trajectory.sample(log.t))
        moved = len(log.t) > 1
        qdd = np.gradient(log.qd, log.t, axis=0) if moved else np.zeros_like(log.qd)
        period = max(1, round(CAUSES_PERIOD_S / (log.t[1] - log.t[0]))) if moved else 1
        for k, stamp in enumerate(stamps.tolist()):
            self._joints(self._states, stamp, log.q[k], log.qd[k], log.tau[k])
            self._joints(self._reference, stamp, log.q_d[k], log.qd_d[k], feedforward[k])
            if k % period == 0:
                causes = self._splitter.split(log.q[k], log.qd[k], qdd[k])
                for channel, effort in zip(self._causes, causes.by_cause, strict=False):
                    self._joints(channel, stamp, NONE, NONE, effort)
        self._now = int(stamps[-1]) + round(1e9 * PAUSE_S)

    def _joints(
        self, channel: int, stamp: int, position: Array, velocity: Array, effort: Array
    ) -> None:
        types = self._store.types
        seconds, rest = divmod(stamp, 1_000_000_000)
        when = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=rest)
        header = types["std_msgs/msg/Header"](stamp=when, frame_id="")
        values = {"position": position, "velocity": velocity, "effort": effort}
        self._put(channel, stamp, JOINT_STATE, header=header, name=self._names, **values)

    def _put(self, channel: int, stamp: int, kind: str, **fields: Any) -> None:
        message = self._store.types[kind](**fields)
        self._file.write(channel, stamp, bytes(self._store.serialize_cdr(message, kind)))
