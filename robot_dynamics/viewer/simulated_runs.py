"""Recordings of runs, with the topics of the nodes, without ROS."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.control import Model
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.recordings.mcap_writer import McapWriter
from robot_dynamics.recordings.ros_messages import (
    JOINT_STATE,
    RUN_TOPIC,
    STRING,
    duration,
    header,
    new_message,
    serialized,
)
from robot_dynamics.robot import Robot
from robot_dynamics.robot.kinematic_tree import joint_pose
from robot_dynamics.simulation import Log
from robot_dynamics.trajectory import Trajectory
from robot_dynamics.viewer.effort_causes import CAUSE_TOPICS, EffortSplitter
from robot_dynamics.viewer.marks import Mark, Marks
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

PAUSE_S = 1.0
"""Time between two runs, s."""

SLOW_PERIOD_S = 0.05
"""Time between two messages of tf, markers and efforts by cause, s; recorder_node uses it too."""

MARKERS_TYPE = "visualization_msgs/msg/MarkerArray"

DELETE = 2
"""Action of visualization_msgs/Marker."""

NONE: Array = np.zeros(0)

TF_TOPIC, TF_TYPE = "/tf", "tf2_msgs/msg/TFMessage"


class ModelTopics:
    """Topics of a recording that the model computes: poses of links, markers, efforts by cause.

    Args:
        file: The recording.
        dynamics: The equations of the robot.
        resolve: Returns the full name of a topic.
    """

    def __init__(
        self, file: McapWriter, dynamics: Dynamics, resolve: Callable[[str], str] = "/{}".format
    ) -> None:
        self._file, self._robot = file, dynamics.robot
        self._marks = Marks(dynamics)
        self._splitter = EffortSplitter(self._robot, dynamics, tool_frame(self._robot))
        self._causes = [
            file.channel(resolve(f"efforts/{name}"), JOINT_STATE) for name in CAUSE_TOPICS
        ]
        self._tf = file.channel(TF_TOPIC, TF_TYPE)
        self._markers = file.channel(resolve("markers"), MARKERS_TYPE)

    def write_places(self, now: Snapshot, stamp: int, arrival: int) -> None:
        """Write the poses of the links, and markers; times in ns."""
        self._file.write(self._tf, arrival, transforms_message(self._robot, now.q, stamp))
        shown = markers_message(self._marks.of(now), self._marks.frame, stamp)
        self._file.write(self._markers, arrival, shown)

    def write_causes(self, now: Snapshot, stamp: int, arrival: int) -> None:
        """Write the efforts of the model by cause; times in ns."""
        names = list(self._robot.joint_names)
        for channel, effort in zip(self._causes, self._splitter.split(now).by_cause, strict=True):
            state = joint_state(stamp, names, effort=effort)
            self._file.write(channel, arrival, state)


class SimulatedRecording:
    """A new MCAP file of a simulated robot.

    It holds robot_description, joint_states with the applied efforts, reference with the efforts
    of feedforward, tf, markers, and efforts/*: the efforts of the model for the motion, by cause.

    Args:
        path: File to create.
        description: URDF text.
        dynamics: The equations of the robot.
        still: Positions of the locked joints of the URDF, by name.

    Raises:
        RecordingError: If the file exists or cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        description: str,
        dynamics: Dynamics,
        still: Mapping[str, float] | None = None,
    ) -> None:
        self._file = file = McapWriter(path)
        self._names = list(dynamics.robot.joint_names)
        self._still = {} if still is None else still
        self._start = time.time_ns()
        text = file.channel("/robot_description", STRING)
        urdf = new_message(STRING, data=description)
        file.write(text, self._start, serialized(urdf))
        self._runs = file.channel(f"/{RUN_TOPIC}", STRING)
        self._states = file.channel("/joint_states", JOINT_STATE)
        self._reference = file.channel("/reference", JOINT_STATE)
        self._model = ModelTopics(file, dynamics)
        self._due = -np.inf

    def add(
        self, now: Snapshot, qd_d: Array | None = None, feedforward: Array | None = None
    ) -> None:
        """Add a snapshot; its time counts from the start of the recording.

        Args:
            now: Snapshot, no earlier than the one before.
            qd_d: Desired velocities, shape (n,), if there is a reference.
            feedforward: Efforts of feedforward, shape (n,), N m or N, if there is a reference.
        """
        stamp = self._start + round(1e9 * now.time)
        self._joints(self._states, stamp, now.q, now.qd, now.tau, self._still)
        if now.q_d is not None and qd_d is not None and feedforward is not None:
            self._joints(self._reference, stamp, now.q_d, qd_d, feedforward)
        if now.time >= self._due:
            self._due = now.time + SLOW_PERIOD_S - 1e-6
            self._model.write_places(now, stamp, stamp)
            self._model.write_causes(now, stamp, stamp)

    def begin_run(self, name: str, time: float) -> None:
        """Mark the beginning of a run, s after the start of the recording."""
        stamp = self._start + round(1e9 * time)
        self._file.write(self._runs, stamp, serialized(new_message(STRING, data=name)))

    def flush(self) -> None:
        """Write all snapshots so far into the file; see `McapWriter.flush`."""
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
        still = still or {}
        more, none = np.array(list(still.values())), np.zeros(len(still))
        state = joint_state(
            stamp,
            [*self._names, *still],
            np.append(position, more),
            np.append(velocity, none),
            np.append(effort, none + np.nan),  # unknown
        )
        self._file.write(channel, stamp, state)


def joint_state(
    stamp: int,
    names: list[str],
    position: Array = NONE,
    velocity: Array = NONE,
    effort: Array = NONE,
) -> bytes:
    """Return a serialized JointState; its stamp is in ns."""
    values = {"position": position, "velocity": velocity, "effort": effort}
    return serialized(new_message(JOINT_STATE, header=header(stamp), name=names, **values))


def markers_message(marks: Iterable[Mark], frame: str, stamp: int) -> bytes:
    """Return a serialized MarkerArray.

    Args:
        marks: The marks.
        frame: Name of their frame.
        stamp: Time of the state, ns.
    """
    head, none = header(stamp, frame), np.zeros(0, dtype=np.uint8)
    image = new_message("sensor_msgs/msg/CompressedImage", header(0), "", none)
    mesh = new_message("visualization_msgs/msg/MeshFile", "", none)
    upright = new_message("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0)

    def point(p: tuple[float, float, float]) -> object:
        return new_message("geometry_msgs/msg/Point", *p)

    def marker(mark: Mark) -> object:
        rgb = (value / 255.0 for value in mark.colour)
        return new_message(
            "visualization_msgs/msg/Marker",
            header=head,
            ns=mark.name,
            id=mark.number,
            type=int(mark.kind),
            action=0 if mark.shown else DELETE,
            pose=new_message("geometry_msgs/msg/Pose", point(mark.position), upright),
            scale=new_message("geometry_msgs/msg/Vector3", *mark.scale),
            color=new_message("std_msgs/msg/ColorRGBA", *rgb, mark.alpha),
            lifetime=duration(0),
            frame_locked=False,
            points=[point(p) for p in mark.points],
            colors=[],
            texture_resource="",
            texture=image,
            uv_coordinates=[],
            text=mark.text,
            mesh_resource="",
            mesh_file=mesh,
            mesh_use_embedded_materials=False,
        )

    return serialized(new_message(MARKERS_TYPE, [marker(mark) for mark in marks]))


def write_runs(
    path: str | os.PathLike[str],
    description: str,
    model: Model,
    trajectory: Trajectory,
    runs: Mapping[str, Log],
    still: Mapping[str, float] | None = None,
) -> None:
    """Write runs, one after the other, into a new MCAP file; each begins with its name.

    Args:
        path: File to create.
        description: URDF text.
        model: Model of the control law, with the joints of the runs.
        trajectory: Reference of the runs.
        runs: Logs of the runs by name.
        still: As of `SimulatedRecording`.

    Raises:
        RecordingError: If the file exists or cannot be written.
    """
    recording = SimulatedRecording(path, description, model.dynamics, still)
    begin = 0.0
    try:
        for name, log in runs.items():
            recording.begin_run(name, begin + log.t[0])
            feedforward = model.feedforward(*trajectory.sample(log.t))
            moved = len(log.t) > 1
            qdd = np.gradient(log.qd, log.t, axis=0) if moved else np.zeros_like(log.qd)
            for k, t in enumerate(log.t):
                state = (log.q[k], log.qd[k], qdd[k], log.tau[k], log.q_d[k])
                recording.add(Snapshot(begin + t, *state), log.qd_d[k], feedforward[k])
            begin += log.t[-1] + PAUSE_S
    finally:
        recording.close()


def transforms_message(robot: Robot, q: Array, stamp: int) -> bytes:
    """Return a serialized TFMessage with the poses of all links in their parents.

    Args:
        robot: The robot; its link names are the names of frames.
        q: Joint positions, shape (n,), rad or m.
        stamp: Time of q, ns.
    """
    moving = (joint.name for joint in robot.moving_joints)
    positions = dict(zip(moving, robot.coupling.positions(q).tolist(), strict=True))
    poses = [joint_pose(joint, positions.get(joint.name, 0.0)) for joint in robot.joints]
    rotations = np.reshape([pose.rotation for pose in poses], (-1, 3, 3))
    quaternions = Rotation.from_matrix(rotations).as_quat().tolist()
    transforms = [
        new_message(
            "geometry_msgs/msg/TransformStamped",
            header(stamp, joint.parent),
            joint.child,
            new_message(
                "geometry_msgs/msg/Transform",
                new_message("geometry_msgs/msg/Vector3", *pose.translation.tolist()),
                new_message("geometry_msgs/msg/Quaternion", *quaternion),
            ),
        )
        for joint, pose, quaternion in zip(robot.joints, poses, quaternions, strict=True)
    ]
    return serialized(new_message(TF_TYPE, transforms))
