"""Replacement of a running motion, without a jump in position, velocity or acceleration.

Polynomials that are cut, shifted and added remain polynomials, so the result of
every replacement is again an exact `Trajectory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from robot_dynamics.compiler.graph.piecewise import clip, select
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.units import FULL_TURN
from robot_dynamics.trajectory.interpolation import interpolate, quintic
from robot_dynamics.trajectory.trajectory import MOMENT_S, ORDER, State, Trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

DEFAULT_BLEND_S = 0.2
"""Time to join a motion that does not start at the present state, s."""

DEFAULT_STOP_S = 0.5
"""Time to bring a motion to rest, s."""

SETTLE_S = 0.1
"""Time in which the acceleration at the end of a motion fades out, s: 10 rad/s^2 is 2 mrad."""

SHORTEST_STOP_S = 0.05
"""Shortest time to stop a joint that would otherwise rest beyond its limit, s."""

LONGEST_S = 12 * 3600.0
"""Latest end of a motion, s from now; its check, sample by sample, blocks other requests."""

AT_REST = 1e-5
"""Speed below which a joint counts as at rest at the end, rad/s or m/s: as in waypoints."""

Bounds = tuple[Array, Array]
"""Lower and upper position limits of n joints, shape (n,) each, rad or m."""

ROUND_OFF = 1e-7
"""Largest difference in state that counts as round-off of a motion with many pieces."""


def replaced(
    current: Trajectory,
    t: float,
    waypoints: Waypoints,
    *,
    delay: float = 0.0,
    continuous: Sequence[bool] | Array | None = None,
    blend: float = DEFAULT_BLEND_S,
    stop: float = DEFAULT_STOP_S,
) -> Trajectory:
    """Compute the motion from now on after new waypoints arrive at time t of `current`.

    The current motion continues until the new one starts, and for joints that the
    new one does not name. A first point in the future is reached from the state at
    the start. If the new motion has no such point, its difference from that state
    fades out over `blend`. A motion that does not end at rest is brought to rest
    over `stop`.

    Args:
        current: Present motion of all joints of the robot.
        t: Now, on the clock of `current`, s.
        waypoints: The new motion, of some or all of its joints.
        delay: Start of the new motion, s from now; negative if it has already started.
        continuous: Which joints of `current` are continuous, shape (n,).
        blend: Time to fade out a difference at the start, s.
        stop: Time to come to rest after the last point, s.

    Returns:
        Trajectory of all joints of `current`; its time zero is now.

    Raises:
        TrajectoryError: If the new motion is already over, ends too far ahead, or names a joint
            that `current` lacks.
    """
    if delay + waypoints.duration < 0.0:
        raise TrajectoryError(
            f"trajectory: it ended {-delay - waypoints.duration:.3f} s ago; send it earlier, "
            "or with stamp zero to start on arrival, and let all nodes use the same clock"
        )
    if delay + waypoints.duration > LONGEST_S:
        raise TrajectoryError(
            f"trajectory: it would end in {delay + waypoints.duration:.0f} s, later than the limit "
            f"of {LONGEST_S:.0f} s; check time_from_start and the stamp, or send it in parts"
        )
    names = current.joint_names
    given = np.array([name in waypoints.joint_names for name in names])
    switch = max(delay, 0.0)
    start = current.sample(t + switch)
    if delay < 0.0 < delay + waypoints.times[0]:  # begun, but before its first point
        waypoints, delay = waypoints.delayed(delay), 0.0
    new = interpolate(waypoints, start=start, joint_names=names, continuous=continuous)
    new = brought_to_rest(new, stop)

    now = new.sample(switch - delay)
    turns = np.zeros(len(names))
    if continuous is not None:
        turns = np.where(continuous, FULL_TURN * np.round((start.q - now.q) / FULL_TURN), 0.0)
    gap = State(start.q - now.q - turns, start.qd - now.qd, start.qdd - now.qdd)
    fade = _fade(names, gap, given, blend)

    stays = current.breaks - t
    breaks = _union(
        [0.0, switch],
        switch + fade.breaks[fade.breaks > 0.0],
        stays[stays < switch] if given.all() else stays,
        new.breaks[new.breaks + delay > switch] + delay,
    )
    old = _on_breaks(current, breaks + t)
    ours = _on_breaks(new, breaks - delay) + _on_breaks(fade, breaks - switch)
    ours[:, :, 0] += turns
    later = _middles(breaks) > switch
    takes_over = later[:, None, None] & given[:, None]
    return Trajectory(names, breaks, np.where(takes_over, ours, old))


def equivalent_angles(waypoints: Waypoints, trajectory: Trajectory, continuous: Array) -> str:
    """Name the joints whose waypoints a planned motion took as another equivalent angle.

    Args:
        waypoints: Motion that was asked for.
        trajectory: Planned motion of all joints.
        continuous: Which joints of `trajectory` are continuous, shape (n,).

    Returns:
        One line, empty if no joint is shifted.
    """
    end = dict(zip(trajectory.joint_names, trajectory.sample(trajectory.end).q, strict=True))
    turning = dict(zip(trajectory.joint_names, continuous, strict=True))
    shifted = [
        f"joint '{name}': {q:.4g} rad is taken as {q + FULL_TURN * turns + 0.0:.4g} rad"
        for name, q in zip(waypoints.joint_names, waypoints.positions[-1], strict=True)
        if (turns := np.round((end[name] - q) / FULL_TURN)) and turning[name]
    ]
    if not shifted:
        return ""
    return (
        f"{', '.join(shifted)}, because the first point is taken as the nearest equivalent angle; "
        "to turn further, begin less than half a turn from the joint"
    )


def remaining(current: Trajectory, t: float) -> Trajectory:
    """Return the rest of a motion from time t, before its end; its time zero is now."""
    breaks = _union([0.0], current.breaks - t)
    return Trajectory(current.joint_names, breaks, _on_breaks(current, breaks + t))


def stopped(current: Trajectory, t: float, stop: float, within: Bounds | None = None) -> Trajectory:
    """Compute the motion from now on that comes to rest over `stop` seconds.

    Velocity falls to zero by a cubic, so that velocity and acceleration are
    continuous at both ends.

    Args:
        current: Present motion.
        t: Now, on the clock of `current`, s.
        stop: Time to come to rest, s.
        within: Position limits: a joint that would rest beyond them stops sooner.

    Returns:
        Trajectory whose time zero is now.
    """
    joint_names, state = current.joint_names, current.sample(t)
    if stop <= 0.0:
        return Trajectory.hold(joint_names, state.q)
    lower, upper = within or (np.full_like(state.q, -np.inf), np.full_like(state.q, np.inf))
    T, c = stop_within(state, stop, lower, upper)
    breaks = np.array([0.0, *np.unique(T)])
    if len(breaks) == 2:
        return Trajectory(joint_names, breaks, c[None])
    coefficients = np.empty((len(breaks) - 1, len(T), ORDER))
    for i, duration in enumerate(T):
        own = Trajectory(joint_names, np.array([0.0, duration]), c[None])
        coefficients[:, i] = _on_breaks(own, breaks)[:, i]
    return Trajectory(joint_names, breaks, coefficients)


def stop_within(state: State, stop: Any, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Compute the motion of each joint to rest within position limits, of numbers or symbols.

    A joint that would rest beyond its limits stops sooner; one that is outside them already stops
    as usual.

    Args:
        state: State at time zero, shape (n,) each.
        stop: Usual duration, s, above zero.
        lower: Lower limits, shape (n,), rad or m.
        upper: Upper limits, shape (n,), rad or m.

    Returns:
        Durations, shape (n,), s, and coefficients of ascending powers of time, shape (n, 6).
    """
    q, v, _ = state
    none = np.zeros(len(q))
    stop_to_rest = _stop(state, stop)
    rest = stop_to_rest @ np.array([stop**p for p in range(ORDER)])
    end = clip(rest, lower, upper)
    # inside the limits, and beyond them in the direction of motion
    inside = select(q, lower, 0.0, select(upper, q, 0.0, 1.0))
    beyond = select(0.0, inside * (rest - end) * v, 1.0, 0.0)
    # A velocity that falls by a cubic covers half the distance of a constant one
    speed = select(0.5, beyond, v, 1.0)
    sooner = clip(2.0 * (end - q) / speed, SHORTEST_STOP_S, stop)
    T = select(0.5, beyond, sooner, stop + none)
    first, last = (State(*(x[:, None] for x in s)) for s in (state, State(end, none, none)))
    early = quintic(T, first, last)
    return T, np.asarray(select(0.5, beyond[:, None], early[:, 0], stop_to_rest))


def brought_to_rest(trajectory: Trajectory, stop: float) -> Trajectory:
    """Extend a motion that does not end at rest by `stop` seconds to rest.

    A motion that ends without velocity but with acceleration, such as a cubic, is at its goal:
    acceleration fades out within `SETTLE_S`, and every joint returns to the goal.
    """
    end = trajectory.sample(trajectory.end)
    moves = np.abs(end.qd) >= AT_REST
    T = stop if moves.any() else min(stop, SETTLE_S)
    at_rest = not moves.any() and np.abs(end.qdd).max(initial=0.0) < 1e-6
    if at_rest or T <= 0.0:
        return trajectory
    zero = np.zeros_like(end.q)
    settled = quintic(np.asarray(T), end, State(end.q, zero, zero))
    return Trajectory(
        trajectory.joint_names,
        np.append(trajectory.breaks, trajectory.end + T),
        np.concatenate(
            (trajectory.coefficients, np.where(moves[:, None], _stop(end, T), settled)[None])
        ),
    )


def _stop(state: State, T: Any) -> Array:
    """Compute coefficients of a motion to rest in T seconds, (n, 6), whose velocity is a cubic."""
    q, v, a = state
    third, fourth = (-3.0 * v / T**2 - 2.0 * a / T) / 3.0, (2.0 * v / T**3 + a / T**2) / 4.0
    return np.stack((q, v, a / 2.0, third, fourth, np.zeros(len(q))), axis=-1)


def _fade(joint_names: tuple[str, ...], gap: State, given: Array, T: float) -> Trajectory:
    """Return the motion of a difference in state that fades out in T seconds."""
    gap = State(*(np.where(given, x, 0.0) for x in gap))
    zero = np.zeros_like(gap.q)
    if T <= 0.0 or max(np.abs(x).max(initial=0.0) for x in gap) < ROUND_OFF:
        return Trajectory.hold(joint_names, zero)
    return Trajectory(
        joint_names, np.array([0.0, T]), quintic(np.asarray(T), gap, State(zero, zero, zero))[None]
    )


def _union(*breaks: Sequence[float] | Array) -> Array:
    """Merge break times from zero on into two or more; times closer than `MOMENT_S` become one."""
    merged = np.unique(np.concatenate([np.asarray(b, dtype=float) for b in breaks]))
    merged = merged[merged >= 0.0]
    merged = merged[np.concatenate(([True], np.diff(merged) > MOMENT_S))]
    # A motion that is over at once still needs one piece
    return merged if len(merged) > 1 else np.append(merged, merged[-1] + MOMENT_S)


def _middles(breaks: Array) -> Array:
    """Return the middle of every piece, which round-off cannot move to another piece."""
    return (breaks[:-1] + breaks[1:]) / 2.0


def _on_breaks(trajectory: Trajectory, breaks: Array) -> Array:
    """Compute coefficients of the same motion on other breaks, shape (m, n, 6).

    Every piece must lie within one piece of `trajectory`, or outside all of them.
    """
    middles = _middles(breaks)
    last = len(trajectory.breaks) - 2
    k = np.clip(np.searchsorted(trajectory.breaks, middles, side="right") - 1, 0, last)
    c = trajectory.coefficients[k]
    d = (breaks[:-1] - trajectory.breaks[k])[:, None]
    shifted = np.zeros_like(c)
    for p in range(ORDER):  # Taylor's theorem
        for r in reversed(range(p, ORDER)):
            shifted[..., p] = shifted[..., p] * d + comb(r, p) * c[..., r]
    for outside, state in (
        (middles < trajectory.start, trajectory.sample(-np.inf)),
        (middles > trajectory.end, trajectory.sample(np.inf)),
    ):
        shifted[outside] = 0.0
        shifted[outside, :, 0] = state.q
    return shifted
