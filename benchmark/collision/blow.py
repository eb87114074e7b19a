"""A free arm in a closed loop that hits a body at 0.5 m/s: detection, stop, and force.

The body is a mass that can give way, or it is clamped. The contact is a spring along the motion,
without damping: it lies on the safe side, and nothing like a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark.table import Table
from robot_dynamics import Dynamics, Robot
from robot_dynamics.control import Controller, Measured, Model, Reference, Settings, gains_for
from robot_dynamics.control.collision import FLOAT, REPORT, RETREAT, STOP, Collision
from robot_dynamics.control.limits import default_effort_rates
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.kinematics.rates import weighted_inverse
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.simulation.compiled_plant import fastest_plant

SPEED, MASS = 0.5, 20.0
STIFFNESS = 75e3
"""Of the contact, N/m: effective spring constant of hand and fingers in ISO/TS 15066, from
secondary sources."""

QUASI_STATIC, TRANSIENT = 140.0, 280.0
"""Largest quasi-static and transient force on hand and fingers in ISO/TS 15066, N, likewise."""

PERIOD_S, STEPS = 1e-3, 10
BANDWIDTH = 20.0
RISE_S, BEFORE_S, AFTER_S, WATCH_S = 0.3, 0.1, 0.2, 1.5
"""Time to reach the speed, at the speed before the contact and after it, and the time watched."""

STANDS = 0.02
"""Speed of the end effector below which it stands, m/s."""

START = {
    "Panda": [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785],
    "UR5": [0.0, -1.8, 2.2, -0.4, 1.571, 0.0],
}
AXIS = 0
"""Direction of the motion in the root link: x."""


@dataclass
class Blow:
    """Results of a blow; times from the contact on, s.

    Attributes:
        detected: Time of the alarm; infinite without one.
        stood: Time from which the end effector stands.
        peak: Largest force, N.
        later: Force after half a second, N.
        displacement: Way of the end effector after the contact until it first turns or stands, m.
    """

    detected: float
    stood: float
    peak: float
    later: float
    displacement: float


def straight_motion(dynamics: Dynamics, frame: str, start: Array) -> tuple[Array, Array, Array]:
    """A straight motion of the end effector: q, qd and qdd, shape (N, n) each."""
    q, rows = np.array(start), []
    t = np.arange(round((RISE_S + BEFORE_S + AFTER_S + RISE_S) / PERIOD_S)) * PERIOD_S
    ends = RISE_S, RISE_S + BEFORE_S + AFTER_S
    for now in t:
        u = np.clip((now if now < ends[1] else t[-1] - now) / RISE_S, 0.0, 1.0)
        twist = np.zeros(6)
        twist[AXIS] = SPEED * u**2 * (3.0 - 2.0 * u)
        qd = weighted_inverse(dynamics.jacobian(q, frame), damping=1e-3) @ twist
        rows.append((q.copy(), qd))
        q = q + PERIOD_S * qd
    q, qd = (np.array(x) for x in zip(*rows, strict=True))
    return q, qd, np.gradient(qd, PERIOD_S, axis=0)


def blow(robot: Robot, frame: str, start: Array, truth: Robot, reaction: str, mass: float) -> Blow:
    """Hit a body of a mass, kg, which is infinite for a clamped one, with a true robot."""
    dynamics, true = Dynamics(robot), Dynamics(truth)
    model = Model(dynamics, gains_for(dynamics, bandwidth=BANDWIDTH)).prepare()
    settings = Settings(
        collision=Collision(reaction), effort_rate=default_effort_rates(robot, BANDWIDTH, 1.0)
    )
    controller, motion = Controller(model, settings), straight_motion(dynamics, frame, start)
    plant = fastest_plant(truth, start, dynamics=true, step=PERIOD_S / STEPS, limit_effort=False)
    tau_d = model.feedforward(*motion)
    wait = round((settings.settling_time + 0.1) / PERIOD_S)
    place = speed = force = 0.0
    begin: float | None = None
    detected, rows = np.inf, []
    # The body stands where the end effector passes at full speed
    surface = dynamics.pose(motion[0][round((RISE_S + BEFORE_S) / PERIOD_S)], frame).position[AXIS]
    for k in range(wait + len(motion[0]) + round(WATCH_S / PERIOD_S)):
        now = k * PERIOD_S
        i = min(max(k - wait, 0), len(motion[0]) - 1)
        controller.set_state(Measured(plant.q, plant.qd), now)
        controller.set_reference(Reference(motion[0][i], motion[1][i], tau_d[i]), now)
        command = controller.update(now)
        if controller.index("contact") is not None and begin is not None:
            detected = min(detected, now - begin)
        for _ in range(STEPS):
            x = true.pose(plant.q, frame).position[AXIS] - surface
            J = true.jacobian(plant.q, frame)[AXIS]
            force = STIFFNESS * max(x - place, 0.0)
            if force > 0.0 and begin is None:
                begin = now
            speed += force / mass * PERIOD_S / STEPS
            place += speed * PERIOD_S / STEPS
            plant.step(command.tau - J * force)
            if begin is not None:
                rows.append((x, J @ plant.qd, force))
        if begin is not None and now > begin + WATCH_S:
            break
    x, v, force_at = np.array(rows).T
    period = PERIOD_S / STEPS
    moving = np.flatnonzero(np.abs(v) > STANDS)
    turned = int(np.argmax(v < STANDS)) if (v < STANDS).any() else len(v) - 1
    return Blow(
        detected,
        (moving[-1] + 1) * period,
        force_at.max(),
        force_at[round(0.5 / period)],
        x[turned],
    )


def blows(name: str, robot: Robot, frame: str) -> Table:
    """Table of the blows of one robot."""
    start, rows = np.array(START[name]), []
    for body, mass in (("20 kg, free", MASS), ("clamped", np.inf)):
        for reaction in (REPORT, STOP, FLOAT, RETREAT):
            found = [
                blow(robot, frame, start, with_mass_scaled(robot, factor), reaction, mass)
                for factor in (1.0, 0.9, 1.1)
            ]
            rows.append(
                [
                    f"{body}; {reaction}",
                    _range([1e3 * one.detected for one in found]),
                    _range([1e3 * one.stood for one in found]),
                    _range([1e3 * one.displacement for one in found]),
                    _range([one.peak for one in found]),
                    _range([one.later for one in found]),
                ]
            )
    header = ["body; reaction", "detected, ms", "end effector stands after, ms",
              "way after contact, mm", "peak force, N", "force after 0.5 s, N"]  # fmt: skip
    about = (
        f"`{frame}` moves along x at {SPEED:g} m/s, in mode `feedforward` at 1 kHz, into a spring "
        f"of {STIFFNESS / 1e3:g} kN/m. Exact model, and all masses 10 % less and more: exact "
        f"(least to largest). ISO/TS 15066 allows {TRANSIENT:.0f} N of transient and "
        f"{QUASI_STATIC:.0f} N of quasi-static force on hand and fingers."
    )
    return Table(f"{name}: a blow", about, header, rows)


def _range(values: list[float]) -> str:
    exact, least, most = values[0], min(values), max(values)
    if not np.isfinite(exact):
        return "none"
    return f"{exact:.0f} ({least:.0f} to {most:.0f})"
