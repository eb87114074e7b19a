"""Load: payload, gravity and wrench on an arm, each ramped to a new value.

Joint efforts are linear in all three, so a linear ramp of a load is a linear ramp of efforts.
A load that the joints cannot bear is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.control.refusals import REFUSALS
from robot_dynamics.control.transitions import Ramp
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia, Pose
from robot_dynamics.statics.end_effector_statics import moved_wrench
from robot_dynamics.trajectory.motion_limits import violations
from robot_dynamics.trajectory.trajectory import State, Trajectory

if TYPE_CHECKING:
    from robot_dynamics.control.model import Model


class Load:
    """Loads on an arm besides its own links, which may change while it moves.

    Payload and wrench act on the body of the endpoint, in any frame fixed to it.

    Args:
        robot: The arm.
        endpoint: Link or frame that carries the payload and exerts the wrench; by default the
            only tip, or none yet if there are several.
        gravity: Initial acceleration of gravity, shape (3,), m/s^2, axes of the root link.

    Raises:
        UnknownNameError: If there is no such endpoint.
    """

    def __init__(self, robot: Robot, endpoint: str | None, gravity: Array) -> None:
        self._robot = robot
        self._tree = merge_fixed(robot)
        if endpoint is None and len(self._tree.tips) == 1:
            endpoint = only_tip(self._tree)
        if endpoint is not None:
            self._tree.frame(endpoint)
        self.endpoint = endpoint
        self.payload = Ramp(_numbers(Inertia.zero()), 0.0)
        self.gravity = Ramp(gravity, 0.0)
        self.wrench = Ramp(np.zeros(6), 0.0)
        self._last: tuple[object, ...] = (None, None, None, None)
        self._model: Model | None = None

    def pose(self, frame: str = "", q: Array | None = None) -> Pose:
        """Return the pose of a frame in the endpoint.

        A robot with several tips has no endpoint until one is set; any frame will do then.

        Args:
            frame: Link or frame; by default the endpoint itself.
            q: Joint positions, shape (n,), for a frame that is not fixed to the same body.

        Returns:
            Pose of the frame in the endpoint.

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: If a joint is between the two and q is not given, or neither is named.
        """
        endpoint = self.endpoint or frame
        if not endpoint:
            raise ArgumentError(
                f"robot '{self._robot.name}' has {len(self._tree.tips)} tips "
                f"({', '.join(self._tree.tips)}); name the frame that carries the load in the "
                "parameter payload.frame"
            )
        own, given = self._tree.frame(endpoint), self._tree.frame(frame or endpoint)
        if given.link == own.link:
            return own.pose.inverse() @ given.pose
        if q is None:
            raise ArgumentError(
                f"frame '{frame}' moves against '{endpoint}', where the load acts; give a frame "
                "fixed to that, or start with another payload.frame"
            )
        X_BE, X_BF = (Pose(*frame_pose(self._tree, q, name)) for name in (endpoint, frame))
        return X_BE.inverse() @ X_BF

    def carries(self, frame: str) -> bool:
        """Return whether a frame is fixed to the body of the endpoint: a load in it acts there.

        Args:
            frame: Link or frame; empty for the endpoint.

        Returns:
            True if they are fixed to each other.

        Raises:
            UnknownNameError: If there is no such frame.
        """
        if self.endpoint is None:
            if frame:
                self._tree.frame(frame)
            return False
        endpoint = self._tree.frame(self.endpoint)
        return self._tree.frame(frame or self.endpoint).link == endpoint.link

    def to_root(self, vector: Array, frame: str) -> Array:
        """Turn a vector from a frame that is fixed to the root link into axes of that link.

        Args:
            vector: Shape (3,), in axes of `frame`.
            frame: Link or frame; empty for the root link.

        Returns:
            Vector in axes of the root link, shape (3,).

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: If a joint moves the frame.
        """
        return self.place_in_root(frame).rotation @ vector

    def place_in_root(self, frame: str) -> Pose:
        """Return the pose of a frame that is fixed to the root link, in that link.

        Args:
            frame: Link or frame; empty for the root link.

        Returns:
            The pose.

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: If a joint moves the frame.
        """
        root = self._tree.links[0].name
        place = self._tree.frame(frame or root)
        if place.link != root:
            raise ArgumentError(
                f"frame '{frame}' moves with '{place.link}'; give one that is fixed to the root "
                f"link '{root}'"
            )
        return place.pose

    def carry(self, payload: Inertia, frame: str) -> None:
        """Set the payload, given in a frame (see `pose`); a massless one removes it.

        Args:
            payload: Payload, in `frame`; a massless one removes it.
            frame: Link or frame; empty for the endpoint.

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: As `pose`.
        """
        self.payload.aim(_numbers(payload.expressed_in(self.pose(frame))))

    def exert(self, wrench: Array, X_EF: Pose) -> None:
        """Set the wrench on the surroundings.

        Args:
            wrench: Force (N) and moment (N m) about the origin of a frame F, in its axes,
                shape (6,).
            X_EF: Pose of F in the endpoint.
        """
        self.wrench.aim(moved_wrench(X_EF, wrench))

    def on(self, model: Model, now: float) -> Model:
        """Return the model with the load at present; the same object until it changes.

        Args:
            model: Model without load.
            now: Present time, s, of the clock of the caller.

        Returns:
            The model with its load.
        """
        last = self._last
        if (  # in nearly every cycle
            model is last[0]
            and self.payload.target is last[1]
            and self.gravity.target is last[2]
            and self.wrench.target is last[3]
            and self._model is not None
        ):
            return self._model
        parts = tuple(ramp.value(now) for ramp in (self.payload, self.gravity, self.wrench))
        self._model = self._applied(model, self.endpoint, *parts)
        self._last = (model, *parts)
        return self._model

    def _applied(
        self, model: Model, endpoint: str | None, payload: Array, gravity: Array, wrench: Array
    ) -> Model:
        """Return the model without a load as it is, and with any load in one form."""
        own_gravity = np.array_equal(gravity, self._robot.gravity)
        if own_gravity and not payload.any() and not wrench.any():
            return model
        if endpoint is None:
            return replace(model, gravity_vector=gravity)
        return replace(
            model, payload=_inertia(payload), frame=endpoint, gravity_vector=gravity, wrench=wrench
        )

    def prepare(self, model: Model, endpoint: str | None = None) -> None:
        """Compile the equations under load before a loop uses them.

        Args:
            model: Model without load.
            endpoint: Endpoint from now on, if there is none yet.

        Raises:
            UnknownNameError: If there is no such endpoint.
        """
        endpoint = self.endpoint or endpoint
        other = self._robot.gravity + 1.0
        loaded = self._applied(model, endpoint, _numbers(Inertia.zero()), other, np.zeros(6))
        zero = np.zeros(self._robot.dof)
        loaded.inverse(zero, zero, zero)
        if endpoint is not None:
            model.dynamics.jacobian(zero, endpoint)  # of the wrench that external efforts show
        self.endpoint = endpoint

    def target(self, model: Model) -> Model:
        """Return a model without load as it is once all ramps have ended.

        Args:
            model: Model without load.

        Returns:
            The model with the load that the ramps end at.
        """
        ramps = (self.payload, self.gravity, self.wrench)
        return self._applied(model, self.endpoint, *(ramp.target for ramp in ramps))

    def bearing(self, model: Model, payload: Inertia, frame: str) -> Model:
        """Return a model without load as it is with another payload, given in a frame.

        Args:
            model: Model without load.
            payload: Payload, in `frame`; a massless one removes it.
            frame: Link or frame; empty for the endpoint.

        Returns:
            The model with that payload and the other loads.
        """
        if not self.carries(frame) and payload.mass:  # another link is to carry it
            numbers = _numbers(payload)
            return self._applied(model, frame, numbers, self.gravity.target, np.zeros(6))
        numbers = _numbers(payload.expressed_in(self.pose(frame))) if payload.mass else np.zeros(13)
        return self._applied(model, self.endpoint, numbers, self.gravity.target, self.wrench.target)

    def exerting(self, model: Model, wrench: Array, X_EF: Pose) -> Model:
        """Return a model without load as it is with another wrench; see `exert`.

        Args:
            model: Model without load.
            wrench: Force (N) and moment (N m) about the origin of F, in its axes, shape (6,).
            X_EF: Pose of F in the endpoint.

        Returns:
            The model with that wrench and the other loads.
        """
        payload, gravity = self.payload.target, self.gravity.target
        return self._applied(model, self.endpoint, payload, gravity, moved_wrench(X_EF, wrench))

    def describe(self) -> Mapping[str, str]:
        """Return the target payload, gravity and wrench, in words."""
        payload, g = _inertia(self.payload.target), self.gravity.target
        load = f"{payload.mass:g} kg at ({_list(payload.com)}) m of {self.endpoint}"
        return {
            "payload": load if payload.mass else "none",
            "gravity": f"{_list(g)} m/s^2",
            "wrench": f"{_list(self.wrench.target)} N, N m at {self.endpoint}"
            if self.wrench.target.any()
            else "none",
        }


def check_load(before: Model, after: Model, motion: Trajectory) -> None:
    """Refuse a load under which a motion, or a pose, needs more effort than a joint has.

    A load that takes less effort than the one before is accepted.

    Args:
        before: Model with the present load.
        after: Model with the new load.
        motion: Motion from now on.

    Raises:
        ArgumentError: One line that names the joint, its effort, the time and the limit.
    """

    def added(state: State) -> Array:
        tau, present = after.feedforward(*state), before.feedforward(*state)
        return np.where(np.abs(tau) > np.abs(present), tau, 0.0)

    found = violations(motion, after.dynamics.robot, added)
    worst = max((v for v in found if v.quantity == "effort"), key=lambda v: v.ratio, default=None)
    if worst is None:
        return
    robot = after.dynamics.robot
    i = robot.joint_names.index(worst.joint)
    line = REFUSALS["heavy_load"].line(robot, i, worst.value, abs(worst.limit))
    if motion.end > 0.0:
        line = line.replace(" here,", f" in {worst.time:.3g} s, on the commanded path,")
    raise ArgumentError(line)


def _numbers(body: Inertia) -> Array:
    """Return the moments of a body, shape (13,), in which torques are linear."""
    return np.concatenate([[body.mass], body.first_moment, body.second_moment.ravel()])


def _inertia(numbers: Array) -> Inertia:
    return Inertia(float(numbers[0]), numbers[1:4], numbers[4:].reshape(3, 3))


def _list(values: Array) -> str:
    return ", ".join(f"{round(x, 9) + 0.0:.4g}" for x in values)  # without round-off
