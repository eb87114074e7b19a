"""hand.hpp of an exported package: constants of the hand that the modes in task space control."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control import target_motion, task
from robot_dynamics.control.task_settings import (
    MOST_DAMPING,
    ROUND_OFF,
    SMOOTHING,
    ForceFeedback,
    HandMobility,
    TaskSettings,
)
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.export.control_kernels import hand_frame, payload_frame
from robot_dynamics.export.literals import number, text, vector
from robot_dynamics.foundation.names import comment
from robot_dynamics.robot.transforms import merge_fixed


def hand_hpp(
    package: str, dynamics: Dynamics, endpoint: str | None, hand: str | None, projector: str
) -> str:
    """Write the constants of the hand of a robot.

    Args:
        package: Name of the package.
        dynamics: Equations of the robot.
        endpoint: Link or frame of payloads; None for none.
        hand: Link or frame that is controlled; by default see `hand_frame`.
        projector: One of `task_space.PROJECTORS`.

    Raises:
        UnknownNameError: If there is no such hand.
    """
    robot, name = dynamics.robot, hand_frame(dynamics.robot, endpoint, hand)
    robot.frame(name)
    mobility = HandMobility(dynamics, name)
    usual = TaskSettings(np.ones(6), np.ones(6))
    frames = ",\n".join(f"  {text(frame)}" for frame in robot.frame_names)
    chosen = hand is not None or endpoint is not None or payload_frame(robot) is not None
    rows = ",\n".join(f"  {vector(A[np.triu_indices(6)])}" for A in mobility.mobilities)
    tree = merge_fixed(robot)
    own = tree.frame(name).link
    links = [tree.frame(frame).link for frame in robot.frame_names]
    fixed, still = (
        ", ".join("true" if link == body else "false" for link in links)
        for body in (own, tree.links[0].name)
    )
    within = ", ".join("true" if x else "false" for x in mobility.within)
    return f"""// Constants of the hand {comment(name)}
#ifndef {package}_HAND_HPP_
#define {package}_HAND_HPP_

#include <array>
#include <cstddef>

#include "robot.hpp"

namespace {package}
{{

/// Number for each direction: x, y, z and the rotations about them.
using Six = std::array<double, 6>;
using SixBySix = std::array<double, 36>;

/// Links and frames of the kernel `frames`, in its order.
constexpr std::array<const char *, {len(robot.frame_names)}> FRAMES = {{{{
{frames}}}}};

/// The hand, its place among them, which of them are fixed to it and to the root link, and whether
/// it is the only one.
constexpr const char * HAND = {text(name)};
constexpr std::size_t HAND_FRAME = {robot.frame_names.index(name)};
constexpr std::array<bool, {len(robot.frame_names)}> FIXED_TO_HAND = {{{{{fixed}}}}};
constexpr std::array<bool, {len(robot.frame_names)}> FIXED_TO_ROOT = {{{{{still}}}}};
constexpr bool HAS_HAND = {"true" if chosen else "false"};
constexpr const char * TIPS = {text(", ".join(tree.tips))};
constexpr const char * PROJECTOR = {text(projector)};

/// Usual apparent masses, kg and kg m^2; directions that the arm moves; see `HandMobility`.
constexpr Six HAND_MASSES = {vector(mobility.masses)};
constexpr std::array<bool, 6> HAND_WITHIN = {{{{{within}}}}};
constexpr double HAND_HEAVIEST = {number(float(mobility.heaviest))};
constexpr double HAND_LENGTH = {number(float(mobility.length))};

/// Mobilities of the hand in poses all over the joint ranges: upper triangles, row by row.
constexpr std::array<std::array<double, 21>, {len(mobility.mobilities)}> MOBILITIES = {{{{
{rows}}}}};

/// Default settings; see `TaskSettings`.
constexpr double TASK_DAMPING_RATIO = {number(usual.damping_ratio)};
constexpr double TASK_POSTURE_FREQUENCY = {number(usual.posture_frequency)};
constexpr double TASK_SETTLING = {number(usual.settling)};
constexpr Six TASK_LARGEST_ERROR = {vector(usual.largest_error)};
constexpr std::array<double, 2> TASK_SPEED = {vector(usual.speed)};
constexpr std::array<double, 2> TASK_ACCELERATION = {vector(usual.acceleration)};
constexpr double FORCE_PROPORTIONAL = {number(ForceFeedback.proportional)};
constexpr double FORCE_INTEGRAL = {number(ForceFeedback.integral)};
constexpr std::array<double, 2> FORCE_LARGEST = {vector(ForceFeedback.largest)};
constexpr double FORCE_TIMEOUT = {number(ForceFeedback.timeout)};
constexpr double FORCE_SMOOTHING = {number(SMOOTHING)};
constexpr double MOST_DAMPING = {number(MOST_DAMPING)};
constexpr double MATRIX_ROUND_OFF = {number(ROUND_OFF)};

/// Motion of the target, and what the task does with it; times in s.
constexpr double TARGET_LONGEST_STEP = {number(target_motion.LONGEST_STEP_S)};
constexpr double TARGET_NEAR = {number(target_motion.NEAR)};  // m and rad
constexpr double TARGET_LONGEST_STOP = {number(target_motion.LONGEST_STOP_S)};
constexpr double TARGET_STREAM = {number(target_motion.STREAM_S)};
constexpr double TARGET_LATE = {number(target_motion.LATE)};
constexpr double WRENCH_RAMP = {number(task.WRENCH_RAMP_S)};
constexpr double STIFFER = {number(task.STIFFER)};
constexpr double LEAD = {number(task.LEAD)};
constexpr double SLIGHT = {number(task.SLIGHT)};
constexpr double RESTING = {number(target_motion.RESTING)};
constexpr Vector FASTEST = {vector(task.largest_joint_speeds(robot))};  // that a target asks for

}}  // namespace {package}

#endif  // {package}_HAND_HPP_
"""
