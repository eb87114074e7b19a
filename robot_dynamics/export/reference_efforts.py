"""reference_efforts.hpp of an exported package: efforts that its kernels are compared with.

They come from another formulation than the kernels, evaluated without a compiler.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.friction import DEFAULT_WIDTH
from robot_dynamics.dynamics.variant import payload_numbers
from robot_dynamics.export.literals import vector
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification import Drives
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia

STATES = 8
"""Random states."""

REFERENCE = "newton_euler"
"""Formulation of the reference; the kernels come from another one."""

_MASS, _COM, _I_C = 1.5, np.array([0.02, -0.03, 0.08]), np.diag([0.004, 0.005, 0.003])
_TILT = np.array([2.0, -1.0, -9.0])


def reference_efforts_hpp(
    package: str, robot: Robot, endpoint: str | None, drives: Drives, base: str = "fixed"
) -> str:
    """Write motions, loads and their efforts.

    Args:
        package: Name of the package.
        robot: Robot that is controlled, without payload.
        endpoint: Link or frame of payloads; None for none.
        drives: Friction and rotors.
        base: "fixed" or "moving".
    """
    rng = np.random.default_rng(0)
    nothing, load = Inertia.zero(), Inertia.from_com(_MASS, _COM, _I_C)
    loads = [(nothing, np.asarray(robot.gravity)), (nothing, _TILT)]
    if endpoint is not None:
        loads += [(load, np.asarray(robot.gravity)), (load, _TILT)]
    rows = []
    for k in range(STATES):
        q, qd, qdd = np.round(rng.uniform(-1.5, 1.5, (3, robot.dof)), 3)
        if k % 4 == 3:  # at rest
            qd, qdd = np.zeros_like(q), np.zeros_like(q)
        for body, gravity in loads:
            loaded = robot.with_gravity(gravity)
            if body.mass and endpoint is not None:
                loaded = loaded.with_payload(endpoint, _MASS, _COM, _I_C)
            moved = np.round(rng.uniform(-1.0, 1.0, 12), 3) * (base == "moving")
            tau = _effort(loaded, q, qd, qdd, *np.split(moved, 2))
            tau += drives.rotor_inertia * qdd
            begin = np.zeros_like(q)  # of a motion, which friction does not yet remember
            feedforward = tau + drives.friction.smooth(qd, DEFAULT_WIDTH, tau, begin)
            motion = np.concatenate([q, qd, qdd])
            numbers = (motion, payload_numbers(body), np.append(gravity, moved), feedforward)
            rows.append("  {" + ",\n   ".join(map(_rounded, numbers)) + "}")
    cases = ",\n".join(rows)
    return f"""#ifndef {package}_REFERENCE_EFFORTS_HPP_
#define {package}_REFERENCE_EFFORTS_HPP_

#include <array>
#include <cstddef>

#include "robot.hpp"

namespace {package}
{{

/// A motion under a load, and its efforts by the formulation {REFERENCE}.
struct ReferenceEfforts
{{
  std::array<double, 3 * N> motion;  // positions, velocities, accelerations
  std::array<double, 10> payload;    // as PAYLOAD in robot.hpp
  std::array<double, 15> base;       // gravity, twist and acceleration of the root link, its axes
  Vector feedforward;                // N m or N, with friction and rotors of DRIVES
}};

/// Width of the crossing of dry friction, rad/s or m/s.
constexpr double REFERENCE_FRICTION_WIDTH = {DEFAULT_WIDTH!r};

constexpr std::array<ReferenceEfforts, {len(rows)}> REFERENCE_EFFORTS = {{{{
{cases}}}}};

}}  // namespace {package}

#endif  // {package}_REFERENCE_EFFORTS_HPP_
"""


def _effort(robot: Robot, q: Array, qd: Array, qdd: Array, twist: Array, rate: Array) -> Array:
    """Return joint efforts, shape (n,), on a base with a twist and its rate, shape (6,)."""
    if not (twist.any() or rate.any()):
        return inverse_dynamics(robot, q, qd, qdd, formulation=REFERENCE)
    place, free = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), robot.with_floating_base()
    motion = np.append(place, q), np.append(twist, qd), np.append(rate, qdd)
    return inverse_dynamics(free, *motion, formulation=REFERENCE)[6:]


def _rounded(values: Array) -> str:
    # The last digits depend on the sines of the machine
    return vector([float(f"{x:.12e}") for x in values])
