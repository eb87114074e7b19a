"""Targets in task space: the pose of the end effector that the law leads it to, without a jump.

The target moves to the pose or with the twist that was given, at limited speed and acceleration,
and waits for an end effector that does not follow. Poses are those of the end effector in the root
link; twists and wrenches are about its origin in axes of the root link, linear over angular.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum
from robot_dynamics.control.fields import SCALAR, VECTOR, Field
from robot_dynamics.control.laws import position_error
from robot_dynamics.control.logic import (
    NEVER,
    any_of,
    both,
    chosen,
    either,
    equal,
    largest,
    less,
    negated,
)
from robot_dynamics.control.obstacles import OBSTACLE, find_obstacle, short
from robot_dynamics.control.pose_stream import STREAM, PoseStream
from robot_dynamics.control.status import Status
from robot_dynamics.control.target_motion import (
    LONGEST_STEP_S,
    LONGEST_STOP_S,
    NEAR,
    RESTING,
    SLOW,
    pose_difference,
    size_of,
    target_equations,
)
from robot_dynamics.foundation.arrays import Array

WRENCH_RAMP_S = 0.2
"""Time from a wrench to another, s."""

STIFFER = 10.0
"""Factor on the stiffness of a direction from which it was too soft to hold the end effector."""

LEAD = 2.0
"""Error, relative to the largest that counts, from which the target waits."""

SLIGHT = 1e-3
"""Share of the motion of a target that counts as none."""

END, LARGEST_SHARE = 0.05, 0.05
"""Distance from the ends of its range at which a joint is stopped, rad or m, at most this share of
the range."""

POSTURE_SPEED = 0.5
"""Largest speed of a joint of the posture, rad/s or m/s."""

AT_ONCE_S = 1e-9
"""Time within which a posture is reached at once, s."""

NO_TARGET, POSE, TWIST = 0.0, 1.0, 2.0
"""Kinds of a target."""

MEASURED, UNMEASURED = 1.0, 2.0
"""Values of `pressing`: a measured wrench controls the force, or none comes."""

AXES: tuple[int, ...] = (3, 3)
"""Shape of a rotation matrix: axes in the root link, as columns."""

TARGET_ARRIVED = {
    "pose_came": Field(SCALAR, "time at which the last target pose came, s", NEVER),
    "pose_stamp": Field(SCALAR, "time of its header, s, of any clock; 0 without one"),
    "pose_rotation": Field(AXES, "its axes"),
    "pose_position": Field((3,), "its origin, m"),
    "twist_came": Field(SCALAR, "time at which the last target twist came, s", NEVER),
    "twist_given": Field((6,), "this twist, m/s and rad/s"),
    "twist_lasts": Field(SCALAR, "time for which it lasts, s"),
    "push_came": Field(SCALAR, "time at which the last target wrench came, s", NEVER),
    "push_given": Field((6,), "this wrench, N and N m"),
    "push_lasts": Field(SCALAR, "time for which it lasts, s"),
    "posture_came": Field(SCALAR, "time at which the last target posture came, s", NEVER),
    "posture_given": Field(VECTOR, "this posture, rad or m"),
    "measured_wrench_came": Field(SCALAR, "time at which the last measured wrench came, s", NEVER),
    "measured_wrench": Field(
        (6,), "this wrench that the end effector exerts, in its axes, N and N m"
    ),
}
"""Inputs of modes in task space."""

TARGET_EVENTS = {
    "drops_target": Field(SCALAR, "1 to give up the target"),
    "drops_pose": Field(SCALAR, "1 to hold the end effector where it is"),
}
"""Of that, what holds for one cycle."""

TARGET_SETTINGS = {
    "task_root": Field((6, 6), "L of the stiffness L L^T, N/m and N m/rad"),
    "task_damping": Field((6, 6), "damping beside that of the damping ratio, N s/m and N m s/rad"),
    "task_mobility": Field((6, 6), "inverse of the desired inertia, 1/kg and 1/(kg m^2)"),
    "task_largest": Field((6,), "errors that count at most, m and rad", 1.0),
    "task_selection": Field((6,), "1 where the position is controlled"),
    "task_held": Field((6,), "0 where the end effector is free, else 1"),
    "task_free_axis": Field((3,), "axis about which it may turn; zeros for none"),
    "task_numbers": Field((6,), "see `TaskNumbers`", 1.0),
    "task_returning": Field((4,), "see `ReturnNumbers`", 1.0),
    "task_feedback": Field((5,), "first numbers of `ForceNumbers`"),
    "task_timeout": Field(SCALAR, "age at which a measured wrench counts no more, s"),
    "task_in_frame": Field(SCALAR, "1 if the axes are those of the target, not of the root link"),
    "task_speed": Field((2,), "largest speeds of the target, m/s and rad/s", 1.0),
    "task_acceleration": Field((2,), "its largest accelerations, m/s^2 and rad/s^2", 1.0),
    "task_fast": Field(VECTOR, "joint speeds that a target asks for at most, rad/s or m/s", np.inf),
}
"""Settings of modes in task space."""

TARGET = {
    "target_held": Field(SCALAR, "1 once there is a target"),
    "target_rotation": Field(AXES, "axes of the target"),
    "target_position": Field((3,), "origin of the target, m"),
    "target_twist": Field((6,), "twist of the target, m/s and rad/s"),
    "target_acceleration": Field((6,), "its derivative in time, m/s^2 and rad/s^2"),
    "posture": Field(VECTOR, "joint positions towards which the null space moves, rad or m"),
    "posture_goal": Field(VECTOR, "joint positions to which the posture moves, rad or m"),
    "posture_taken": Field(SCALAR, "time at which the last posture that was taken came, s", NEVER),
    "along": Field(SCALAR, "1 if the target is that of the desired motion of the joints"),
    "given": Field(SCALAR, "kind of the target that was given: 0 none, 1 pose, 2 twist"),
    "given_until": Field(SCALAR, "time at which it ends, s", NEVER),
    "goal_rotation": Field(AXES, "axes of the goal"),
    "goal_position": Field((3,), "origin of the goal, m"),
    "requested_twist": Field((6,), "twist in place of a goal, m/s and rad/s"),
    "seeks": Field(SCALAR, "1 while the target moves to a goal"),
    "rests": Field(SCALAR, "1 while the target rests", 1.0),
    "reached": Field(SCALAR, "1 once the target has reached its goal"),
    "aimed": Field(SCALAR, "1 once the target moves to the pose that was given"),
    "waits": Field(SCALAR, "1 while the target waits for the end effector"),
    "braking": Field((2,), "accelerations of this stop, m/s^2 and rad/s^2; 0 without one"),
    "pose_taken": Field(SCALAR, "time at which the last pose that was taken came, s", NEVER),
    **STREAM,
    "twist_taken": Field(SCALAR, "time at which the last twist that was taken came, s", NEVER),
    "push_until": Field(SCALAR, "time at which the wrench ends, s", NEVER),
    "push_taken": Field(SCALAR, "time at which the wrench came, s", NEVER),
    "exerted": Field((6,), "wrench that the end effector exerts now, N and N m"),
    "push_start": Field((6,), "wrench where the present ramp began, N and N m"),
    "push_goal": Field((6,), "wrench where it ends, N and N m"),
    "push_began": Field(SCALAR, "time at which it began, s"),
    "used_pull": Field((6,), "stiffness in use in the directions of motion, N/m and N m/rad"),
    "used_axis": Field((3,), "free axis in use"),
    "dropped": Field(SCALAR, "twists that have ended by themselves, in motion"),
    "pressing": Field(SCALAR, "1 if a measured wrench controls a force, 2 if none comes, else 0"),
    **OBSTACLE,
}
"""State of a target."""


def target_moves(x: Any) -> Any:
    """Return whether a target asks for motion in this cycle."""
    new = either(less(x.pose_taken, x.pose_came), less(x.twist_taken, x.twist_came))
    goes_on = both(less(0.5, x.given), less(x.now, x.given_until))
    return both(either(new, goes_on), negated(either(x.drops_target, x.unheard)))


def move_target(x: Any, rotation: Array, position: Array) -> dict[str, Any]:
    """Move the target on by a cycle.

    Args:
        x: Fields of the step.
        rotation: Measured axes of the end effector, shape (3, 3).
        position: Its measured origin, shape (3,), m.
    """
    tracking = equal(x.status, Status.TRACKING)
    pushing = either(tracking, equal(x.status, Status.HOLDING))
    pull, stiffer = _changed_pull(x)
    begins = either(negated(x.target_held), x.forgets, x.enters_task, stiffer, x.drops_pose)
    drops = either(x.gives_up, x.drops_target, x.drops_pose, x.unheard)

    # What was given last
    new_pose = less(x.pose_taken, x.pose_came)
    new_twist = both(less(x.twist_taken, x.twist_came), negated(less(x.twist_came, x.pose_came)))
    new_pose = both(new_pose, negated(both(new_twist, less(x.pose_came, x.twist_came))))
    until = chosen(new_pose, -NEVER, x.given_until)
    until = chosen(new_twist, x.twist_came + x.twist_lasts, until)
    kept = chosen(begins, NO_TARGET, x.given)  # what comes in this cycle is for the new target
    given = chosen(new_pose, POSE, chosen(new_twist, TWIST, kept))
    given = chosen(drops, NO_TARGET, given)
    over = negated(less(x.now, until))
    ended = both(equal(given, TWIST), over)
    led = both(less(0.5, given), tracking, negated(over))

    pose = _Target(x, rotation, position, begins)
    seeks = equal(given, POSE)
    new = both(seeks, negated(both(x.aimed, negated(new_pose))))
    away = pose_difference(pose.rotation, pose.position, x.pose_rotation, x.pose_position)
    leaves_for, behind = _leaves(x, pose.rotation, away), _behind(x, 1.0)
    waited = both(x.waits, led)
    # A stream that turns back passes the place at which the target ran off and waits
    released = both(waited, seeks, either(negated(leaves_for), negated(any_of(behind))))
    runs_off = both(
        led, seeks, negated(waited), negated(new), _leaves(x, pose.rotation, pose.twist)
    )
    waits = both(led, seeks, either(both(waited, negated(released)), runs_off))
    aims = both(led, seeks, either(released, both(new, negated(waited))))
    moves = any_of(less(0.0, abs(x.twist_given)))
    drives = both(led, equal(given, TWIST))
    rests = either(negated(led), runs_off)
    done = both(led, seeks, negated(new), negated(waits), negated(aims), pose.reached)
    given = chosen(done, NO_TARGET, given)

    pose.aim(x, aims)
    pose.drive(drives, _within_lead(x, pose.rotation, x.twist_given))
    pose.rest(rests)
    pose.step(x)
    wrench = _push(x, both(pushing, negated(drops)))
    held = both(pushing, negated(begins))
    ends = either(begins, drops, new_twist, both(equal(x.given, NO_TARGET), negated(short(x))))
    sought = chosen(new_pose, 1.0, chosen(ends, 0.0, x.sought))
    quiet = both(pose.rests, negated(any_of(less(0.0, abs(wrench["exerted"])))))
    goal = chosen(equal(x.given, POSE), x.pose_position, pose.position)
    to_goal = (goal - position) @ axes_of_task(x, pose.rotation)
    return {
        "target_held": 1.0,
        "target_rotation": pose.rotation,
        "target_position": pose.position,
        "target_twist": pose.twist,
        "target_acceleration": pose.acceleration,
        **_posture(x, begins, drops, pushing),
        "along": 0.0,
        "given": given,
        "given_until": until,
        "goal_rotation": pose.goal_rotation,
        "goal_position": pose.goal_position,
        "requested_twist": pose.requested,
        "seeks": pose.seeks,
        "rests": pose.rests,
        "reached": pose.reached,
        "aimed": both(led, seeks),
        "waits": waits,
        "braking": pose.braking,
        "pose_taken": x.pose_came,
        **pose.stream.fields,
        "twist_taken": x.twist_came,
        **wrench,
        "sought": sought,
        **find_obstacle(
            x, held, less(0.5, given), both(sought, quiet), to_goal, ends_of(x.lower, x.upper)
        ),
        "used_pull": pull,
        "used_axis": x.task_free_axis,
        "dropped": x.dropped + both(ended, moves, less(x.now - x.dt, until)),
        "pressing": less(0.0, x.task_feedback[2]) * chosen(lacks_wrench(x), UNMEASURED, MEASURED),
    }


def lacks_wrench(x: Any) -> Any:
    """Return whether no measured wrench is new enough for feedback of the force."""
    return less(x.task_timeout, x.now - x.measured_wrench_came)


def ends_of(lower: Array, upper: Array) -> Array:
    """Return the positions at which joints are stopped in task space, shape (2, n)."""
    margin = minimum(END, LARGEST_SHARE * (upper - lower))
    return np.array([lower + margin, upper - margin])


def _changed_pull(x: Any) -> tuple[Array, Any]:
    """Return the stiffness in use, and whether an end effector led away would spring back."""
    pull = x.task_selection * (x.task_root * x.task_root).sum(axis=1)
    far = less(STIFFER * x.used_pull, pull)
    off = less(0.0, pull) * less(x.task_largest, abs(x.task_error))
    other = any_of(less(1e-9, abs(pull - x.used_pull)))
    turned = any_of(less(1e-12, abs(x.task_free_axis - x.used_axis)))
    springs = both(other, any_of(either(far, off)))
    return pull, both(x.target_held, either(springs, turned))


def axes_of_task(x: Any, rotation: Array) -> Array:
    """Return the axes of the task in the root link, as columns, shape (3, 3)."""
    return np.asarray(chosen(x.task_in_frame, rotation, np.eye(3)))


def _behind(x: Any, share: float) -> Array:
    """Return the directions in which the end effector is a share of the largest error behind."""
    return np.asarray(less(share * x.task_largest, x.task_selection * abs(x.task_error)))


def _leaves(x: Any, rotation: Array, twist: Array) -> Any:
    """Return whether a twist takes the target on from an end effector that is too far behind.

    One that leads back to it in other directions may leave it slightly in this one. Any multiple of
    the twist gives the same answer; the difference of two poses, m and rad, is one.
    """
    behind = _behind(x, LEAD)
    along = (twist.reshape(2, 3) @ axes_of_task(x, rotation)).ravel()
    away = along * x.task_error * x.task_selection / x.task_largest**2
    return both(any_of(behind), less(SLIGHT * abs(away).sum(), (behind * away).sum()))


def _within_lead(x: Any, rotation: Array, twist: Array) -> Array:
    """Return a twist without the directions in which it leaves the end effector too far behind."""
    S = axes_of_task(x, rotation)
    along = (twist.reshape(2, 3) @ S).ravel()
    leaves = _behind(x, LEAD) * less(0.0, along * x.task_error)
    return np.asarray((((1.0 - leaves) * along).reshape(2, 3) @ S.T).ravel())


def _push(x: Any, may: Any) -> dict[str, Any]:
    """Move the exerted wrench on along its ramp."""
    new = less(x.push_taken, x.push_came)
    until = chosen(new, x.push_came + x.push_lasts, x.push_until)
    until = chosen(either(x.gives_up, x.drops_target, x.forgets, x.unheard), NEVER, until)
    goal = chosen(both(may, less(x.now, until)), x.push_given, 0.0 * x.push_given)
    other = any_of(less(0.0, abs(goal - x.push_goal)))
    moving = less(x.now - x.dt, x.push_began + WRENCH_RAMP_S)
    began = chosen(other, chosen(moving, x.now - x.dt, x.now), x.push_began)
    start = chosen(other, x.exerted, x.push_start)
    u = clip((x.now - began) / WRENCH_RAMP_S, 0.0, 1.0)
    return {
        "push_until": until,
        "push_taken": x.push_came,
        "exerted": start + u * (goal - start),
        "push_start": start,
        "push_goal": goal,
        "push_began": began,
    }


def _posture(x: Any, begins: Any, drops: Any, may: Any) -> dict[str, Any]:
    """Move the posture on towards the one that was given, all its joints in the same time."""
    before = chosen(begins, x.q, x.posture)
    lower, upper = ends_of(x.lower, x.upper)
    given = clip(before + position_error(x.posture_given, before, x.continuous), lower, upper)
    goal = chosen(less(x.posture_taken, x.posture_came), given, chosen(begins, x.q, x.posture_goal))
    goal = chosen(drops, before, goal)
    away = goal - before
    lasts = largest(abs(away) / minimum(x.task_fast, POSTURE_SPEED))
    share = minimum(minimum(x.dt, LONGEST_STEP_S) / maximum(lasts, AT_ONCE_S), 1.0)
    return {
        "posture": before + chosen(may, share, 0.0) * away,
        "posture_goal": goal,
        "posture_taken": x.posture_came,
    }


class _Target:
    """The target while a cycle moves it on."""

    def __init__(self, x: Any, rotation: Array, position: Array, begins: Any) -> None:
        none = np.zeros(6)
        self.rotation = chosen(begins, rotation, x.target_rotation)
        self.position = chosen(begins, position, x.target_position)
        self.twist = chosen(begins, none, x.target_twist)
        self.acceleration = chosen(begins, none, x.target_acceleration)
        self.goal_rotation = chosen(begins, rotation, x.goal_rotation)
        self.goal_position = chosen(begins, position, x.goal_position)
        self.requested = chosen(begins, none, x.requested_twist)
        self.seeks = chosen(begins, 0.0, x.seeks)
        self.rests = chosen(begins, 1.0, x.rests)
        self.reached = chosen(begins, 1.0, x.reached)
        self.braking = chosen(begins, np.zeros(2), x.braking)
        self.stream = PoseStream(x, begins)

    def aim(self, x: Any, now: Any) -> None:
        """Move to the pose that was given, as part of a stream if there is one."""
        streams = self.stream.take(x, now)
        new = both(now, negated(streams))
        self.goal_rotation = chosen(new, x.pose_rotation, self.goal_rotation)
        self.goal_position = chosen(new, x.pose_position, self.goal_position)
        self.seeks = chosen(now, 1.0, self.seeks)
        self.rests = chosen(now, 0.0, self.rests)
        self.reached = chosen(now, 0.0, self.reached)

    def drive(self, now: Any, twist: Array) -> None:
        """Move with a twist."""
        self.requested = chosen(now, twist, self.requested)
        self.stream.end(now)
        self.seeks = chosen(now, 0.0, self.seeks)
        self.rests = chosen(now, 0.0, self.rests)

    def rest(self, now: Any) -> None:
        """Come to rest on the way."""
        self.requested = chosen(now, 0.0 * self.requested, self.requested)
        self.seeks = chosen(now, 0.0, self.seeks)

    def step(self, x: Any) -> None:
        """Move on by the time of a cycle."""
        dt = minimum(x.dt, LONGEST_STEP_S)
        moves = both(negated(self.rests), less(0.0, dt))
        stream = self.stream
        ends = stream.step(self, dt, both(moves, self.seeks))
        goal_R = chosen(ends, x.pose_rotation, self.goal_rotation)
        goal_p = chosen(ends, x.pose_position, self.goal_position)

        speeds = np.array([size_of(self.twist[:3]), size_of(self.twist[3:])])
        slower = both(less(x.attainable, 1.0), less(RESTING * x.task_speed, speeds))
        speed = chosen(slower, x.attainable * speeds, x.task_speed)
        goes = either(self.seeks, any_of(less(0.0, abs(self.requested))))
        begun = less(0.0, self.braking)
        stop = chosen(begun, self.braking, maximum(speeds / LONGEST_STOP_S, x.task_acceleration))
        braking = chosen(goes, 0.0 * stop, stop)
        found = target_equations(
            {
                "rotation": self.rotation,
                "position": self.position,
                "twist": self.twist,
                "acceleration": self.acceleration,
                "goal_rotation": goal_R,
                "goal_position": goal_p,
                "flow": stream.flow,
                "flow_rate": stream.flow_rate,
                "requested": self.requested,
                "follows": np.array([self.seeks]),
                "speed": speed,
                "largest_acceleration": chosen(goes, x.task_acceleration, stop),
                "dt": np.array([chosen(moves, dt, 1.0)]),
            }
        )
        slow = less(largest(abs(found["next_twist"])), SLOW)
        arrives = both(
            self.seeks,
            slow,
            negated(stream.flows),
            less(largest(abs(found["next_error"])), NEAR),
        )
        stands = both(negated(goes), slow)
        halts = either(arrives, stands)

        def after(new: Any, old: Any) -> Any:
            return chosen(moves, new, old)

        rotation = chosen(arrives, goal_R, found["next_rotation"])
        position = chosen(arrives, goal_p, found["next_position"])
        none = np.zeros(6)
        self.rotation, self.position = (
            after(rotation, self.rotation),
            after(position, self.position),
        )
        self.twist = after(chosen(halts, none, found["next_twist"]), self.twist)
        self.acceleration = after(
            chosen(halts, none, found["next_acceleration"]), self.acceleration
        )
        self.goal_rotation = after(found["next_goal_rotation"], goal_R)
        self.goal_position = after(found["next_goal_position"], goal_p)
        self.braking = after(braking, self.braking)
        self.reached = after(either(self.reached, arrives), self.reached)
        self.rests = after(halts, self.rests)
