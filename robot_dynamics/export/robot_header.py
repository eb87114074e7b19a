"""robot.hpp of an exported package: the constants of one robot that its controller uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from robot_dynamics.control import base_estimate, collision
from robot_dynamics.control.collision import ObserverState, default_thresholds
from robot_dynamics.control.control_cycle import JointSettings, Scalars
from robot_dynamics.control.friction import ELEMENTS, JUMP, MEASURED_JUMP
from robot_dynamics.control.gains import DEFAULT_DAMPING_RATIO, ideal_gains
from robot_dynamics.control.laws import ALL_MODES, FLOATING
from robot_dynamics.control.limits import (
    FAST,
    NEAR,
    default_effort_rates,
    default_tracking_errors,
    effort_limits,
    velocity_limits,
)
from robot_dynamics.control.model import Model, continuous_joints
from robot_dynamics.control.sampling.dead_reckoning import MOST_SHARE, MOVES, WINDOW_S
from robot_dynamics.control.sampling.tuning import Sampling, Tuner
from robot_dynamics.control.setpoint import SHORTEST_JOIN_S, USUAL_SPEED
from robot_dynamics.control.status import SHORTEST_PAUSE_S, Brakes
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.variant import payload_numbers
from robot_dynamics.export.control_kernels import DriveRows
from robot_dynamics.export.literals import number, text, vector
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.names import comment
from robot_dynamics.identification import Drives
from robot_dynamics.spatial import Inertia
from robot_dynamics.trajectory.motions import middle_pose, sample_poses

RATES = (50.0, 100.0, 200.0, 250.0, 333.0, 400.0, 500.0, 800.0, 1000.0, 2000.0, 4000.0)
"""Update rates for which default gains are written, Hz; one between two uses the lower one."""


def robot_hpp(
    package: str,
    dynamics: Dynamics,
    bandwidth: float,
    payload: Inertia | None,
    endpoint: str | None,
    drives: Drives,
    coupling: Array | None = None,
    base: str = "fixed",
) -> str:
    """Write the constants of a robot.

    Args:
        package: Name of the package.
        dynamics: Equations of the robot.
        bandwidth: Natural frequency under the default gains, rad/s.
        payload: Load that `endpoint` carries from the start, in that frame.
        endpoint: Link or frame of payloads; None for none.
        drives: Friction and rotors.
        coupling: Movement of the actuators (rows) per movement of the joints, shape (n, n); None
            where it is unknown.
        base: "fixed" or "moving".
    """
    robot = dynamics.robot
    limits = robot.limits
    given = {**vars(drives.friction), "direction": 0.0, "rotor": drives.rotor_inertia}
    slip, elastic = (x.ravel() for x in drives.friction.elements)
    actuators = np.zeros((robot.dof, robot.dof)) if coupling is None else coupling
    names = ",\n".join(f"  {text(name)}" for name in robot.joint_names)
    rotates = _list("true" if joint.type.rotates else "false" for joint in robot.independent_joints)
    turns = _list("true" if turning else "false" for turning in continuous_joints(robot))
    laws = {**ALL_MODES, "floating": FLOATING}
    modes = ",\n".join(f"  {name}" for name in laws)
    mode_names = _list(text(name) for name in ALL_MODES)
    adds = _cases({name: law.by_joint for name, law in laws.items()})
    follows = _cases({name: law.feedback for name, law in laws.items()})
    tasks = _cases({name: law.in_task_space for name, law in laws.items()})
    rows = ",\n".join(
        f"  {vector(np.broadcast_to(given[name], robot.dof))}" for name in DriveRows._fields
    )
    effort_rate = default_effort_rates(robot, bandwidth, DEFAULT_DAMPING_RATIO)
    inertia = np.diag(dynamics.mass_matrix(middle_pose(robot)))
    return f"""// Constants of robot {comment(robot.name)}
#ifndef {package}_ROBOT_HPP_
#define {package}_ROBOT_HPP_

#include <array>
#include <cstddef>
#include <limits>

namespace {package}
{{

constexpr double UNLIMITED = std::numeric_limits<double>::infinity();
constexpr std::size_t N = {robot.dof};
using Vector = std::array<double, N>;

/// Names of the joints, in the order of every vector.
constexpr std::array<const char *, N> JOINTS = {{{{
{names}}}}};
constexpr std::array<bool, N> ROTATES = {{{{{rotates}}}}};
constexpr std::array<bool, N> CONTINUOUS = {{{{{turns}}}}};

/// Limits of the robot description; rad or m, rad/s or m/s, N m or N.
constexpr Vector LOWER = {vector(limits.lower)};
constexpr Vector UPPER = {vector(limits.upper)};
constexpr Vector VELOCITY = {vector(velocity_limits(robot))};
constexpr Vector EFFORT = {vector(effort_limits(robot))};

/// Inertia that each joint moves in the middle of the ranges, kg m^2 or kg.
constexpr Vector INERTIA = {vector(inertia)};

/// Default limits: position error that stops the arm, and change of effort per second.
constexpr Vector TRACKING_ERROR = {vector(default_tracking_errors(robot))};
constexpr Vector EFFORT_RATE = {vector(effort_rate)};

/// Distance at which a reference is where the arm is, rad or m.
constexpr Vector NEAREST = {vector(NEAR * default_tracking_errors(robot))};
constexpr double FAST = {FAST!r};  // velocity of a reference that is not followed, per limit
constexpr double SHORTEST_PAUSE = {SHORTEST_PAUSE_S!r};  // s, after a joint did not move

/// Detection of closed brakes: displacement, rad or m; changes of effort per limit; times, s.
constexpr double BRAKES_STILL = {Brakes.STILL!r};
constexpr double BRAKES_SHARE = {Brakes.SHARE!r};
constexpr double BRAKES_DELAY = {Brakes.DELAY_S!r};
constexpr double BRAKES_UNANSWERED_SHARE = {Brakes.UNANSWERED_SHARE!r};
constexpr double BRAKES_UNANSWERED_DELAY = {Brakes.UNANSWERED_S!r};
constexpr double BRAKES_PERIOD = {Brakes.LOOK_S!r};

/// Estimate of what the model does not contain: time, s, share of the limit, speed, rad/s or m/s.
constexpr double DISTURBANCE_WINDOW = {WINDOW_S!r};
constexpr double DISTURBANCE_SHARE = {MOST_SHARE!r};
constexpr double DISTURBANCE_SPEED = {MOVES!r};

constexpr double USUAL_SPEED = {USUAL_SPEED!r};  // rad/s or m/s, where no limit is known

/// Default external effort that counts as a contact, and constants of its detection: see
/// `Contacts`; times in s.
constexpr Vector EXTERNAL_EFFORT = {vector(default_thresholds(robot))};
constexpr std::size_t OBSERVER_ROWS = {len(ObserverState._fields)};
constexpr double CONTACT_RELEASE = {collision.RELEASE!r};
constexpr double CONTACT_LONGEST_GAP = {collision.LONGEST_GAP_S!r};
constexpr double CONTACT_FADE = {collision.FADE_S!r};
constexpr double CONTACT_STOP = {collision.STOP_S!r};
constexpr double RETREAT_TIME = {collision.RETREAT_S!r};
constexpr double RETREAT_NOTE = {collision.NOTE_S!r};
constexpr double SHORTEST_JOIN = {SHORTEST_JOIN_S!r};

/// Control laws; the last one is that after a collision, and no mode.
enum class Mode : int
{{
{modes}
}};
constexpr std::array<const char *, {len(ALL_MODES)}> MODES = {{{{{mode_names}}}}};

/// Returns whether a law brings the arm to the reference; if not, a hand may lead it.
constexpr bool follows_reference(Mode mode)
{{
  switch (mode) {{
{follows}
  }}
  return false;
}}

/// Returns whether a law controls the hand.
constexpr bool in_task_space(Mode mode)
{{
  switch (mode) {{
{tasks}
  }}
  return false;
}}

/// Returns whether feedback joint by joint is added to the effort of a law.
constexpr bool adds_pd(Mode mode)
{{
  switch (mode) {{
{adds}
  }}
  return false;
}}

/// Sizes of the inputs of the kernels.
constexpr std::size_t SETTING_ROWS = {len(JointSettings._fields)};
constexpr std::size_t SCALARS = {len(Scalars._fields)};

/// Friction and rotors: {", ".join(DriveRows._fields)}.
constexpr std::size_t DRIVE_ROWS = {len(DriveRows._fields)};
constexpr std::array<Vector, DRIVE_ROWS> DRIVES = {{{{
{rows}
}}}};
constexpr std::size_t MEMORY_ROW = {DriveRows._fields.index("memory")};
constexpr std::size_t DIRECTION_ROW = {DriveRows._fields.index("direction")};
constexpr std::size_t ROTOR_ROW = {DriveRows._fields.index("rotor")};

/// Elements of friction that remember the way: slip distances, rad or m, and elastic parts, element
/// by element; changes of position that are no motion, rad or m.
constexpr std::size_t ELEMENTS = {ELEMENTS};
constexpr std::array<double, ELEMENTS * N> SLIP = {vector(slip)};
constexpr std::array<double, ELEMENTS * N> ELASTIC = {vector(elastic)};
constexpr double DESIRED_JUMP = {JUMP!r};
constexpr double MEASURED_JUMP = {MEASURED_JUMP!r};

/// Movement of every actuator per rad or m of every joint, row by row, by the transmissions.
constexpr bool HAS_TRANSMISSIONS = {"false" if coupling is None else "true"};
constexpr std::array<double, N * N> TRANSMISSIONS = {vector(actuators.ravel())};

/// Gravity in axes of the root link, m/s^2.
constexpr std::array<double, 3> GRAVITY = {vector(np.asarray(robot.gravity))};

/// Whether the equations take the motion of the base; constants of its estimate, see
/// `BaseEstimate`: times, s, accelerations less gravity, m/s^2, velocities and accelerations.
constexpr bool MOVING_BASE = {"true" if base == "moving" else "false"};
constexpr double BASE_STEADY = {base_estimate.STEADY_S!r};
constexpr double BASE_FADE = {base_estimate.FADE_S!r};
constexpr std::array<double, 2> BASE_FORCE = {vector(base_estimate.PLAUSIBLE_FORCE)};
constexpr std::array<double, 6> BASE_LARGEST_TWIST = {vector(base_estimate.LARGEST_TWIST)};
constexpr std::array<double, 6> BASE_LARGEST_RATE = {vector(base_estimate.LARGEST_RATE)};

/// Payload at its frame: mass, first moment, inertia about the origin of the frame.
constexpr bool CARRIES_PAYLOAD = {"true" if endpoint else "false"};
constexpr const char * PAYLOAD_FRAME = {text(endpoint or "")};
constexpr std::array<double, 10> PAYLOAD = {vector(payload_numbers(payload or Inertia.zero()))};

{_tunings(dynamics, bandwidth)}

}}  // namespace {package}

#endif  // {package}_ROBOT_HPP_
"""


def default_models(dynamics: Dynamics, bandwidth: float) -> dict[float, Model]:
    """Return models with the default feedback, by update rate in Hz.

    An effort acts at the latest a cycle after its state. Where feedback joint by joint is less than
    desired, the mode feedforward uses the mass matrix if wrong masses move the arm less then.

    Args:
        dynamics: Equations of the robot.
        bandwidth: Natural frequency under the default gains, rad/s.
    """
    wanted = ideal_gains(dynamics, bandwidth)
    base, tuner = Model(dynamics, wanted, bandwidth=bandwidth), Tuner(dynamics)
    poses, allowed = sample_poses(dynamics.robot), default_tracking_errors(dynamics.robot)
    weight = dynamics.gravity(poses)
    falling = np.linalg.solve(dynamics.mass_matrix(poses), weight[..., None])[..., 0]
    models = {}
    for rate in RATES:
        model = tuner.model(base, wanted, bandwidth, Sampling(1.0 / rate, 1.0 / rate))
        by_joint = np.linalg.norm(weight / (model.gains.kp * allowed))
        by_matrix = np.linalg.norm(falling / (model.bandwidth**2 * allowed))
        coupled = model.coupled and bool(by_matrix <= by_joint)
        models[rate] = replace(model, coupled=coupled)
    return models


def _tunings(dynamics: Dynamics, bandwidth: float) -> str:
    """Write the default gains by update rate."""
    rows = [
        f"  {{{number(rate)}, {'true' if model.coupled else 'false'}, {number(model.bandwidth)}, "
        f"{number(model.fastest)},\n"
        f"    {vector(model.gains.kp)},\n    {vector(model.gains.kd)}}}"
        for rate, model in default_models(dynamics, bandwidth).items()
    ]
    return f"""/// Default gains of an update rate in Hz: N m/rad or N/m, N m s/rad or N s/m.
struct DefaultGains
{{
  double rate;
  bool coupled;      // feedback of the mode feedforward uses the mass matrix
  double bandwidth;  // rad/s
  double fastest;    // natural frequency of the hand, rad/s
  Vector kp;
  Vector kd;
}};
constexpr double DAMPING_RATIO = {DEFAULT_DAMPING_RATIO!r};
constexpr std::array<DefaultGains, {len(rows)}> DEFAULT_GAINS = {{{{
{("," + chr(10)).join(rows)}
}}}};"""


def _cases(values: Mapping[str, bool]) -> str:
    """Return the cases of a switch over the modes."""
    return "\n".join(
        f"    case Mode::{name}: return {'true' if value else 'false'};"
        for name, value in values.items()
    )


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)
