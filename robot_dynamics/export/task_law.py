"""A law in task space as C: the law of one robot and the motion of its target, in one file.

No law stands here: the equations are those of `control.task_space` and `control.target_motion`,
traced for one robot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.compiler.source.c import c_source
from robot_dynamics.control import target_motion
from robot_dynamics.control.end_effector import task_program
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH
from robot_dynamics.control.model import FASTEST
from robot_dynamics.control.task import largest_joint_speeds
from robot_dynamics.control.task_settings import EndEffectorMobility
from robot_dynamics.control.task_space import CONSISTENT
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.foundation.names import identifier
from robot_dynamics.robot.robot import Robot
from robot_dynamics.version import SITE, __version__

MEANINGS: Mapping[str, str] = {
    "q": "joint positions in the order of joints, rad or m",
    "qd": "joint velocities, rad/s or m/s",
    "rotation": "of the target in the root link '{root}'",
    "position": "of the target in the root link, m",
    "twist": "of the target, linear over angular, axes of the root link, m/s and rad/s",
    "acceleration": "of the target, m/s^2 and rad/s^2",
    "wrench": "force and moment that the end effector exerts beside spring and damper, N and N m",
    "axes": "columns: axes of stiffness and directions in the root link",
    "root": "L of the stiffness L L^T, such as its square root on the diagonal",
    "damping": "beside that of the damping ratio, N s/m and N m s/rad",
    "mobility": "inverse of the desired inertia, for operational_space alone",
    "largest": "error that counts at most, m and rad",
    "selection": "1 where the position is controlled, else 0",
    "held": "1 where position or force is controlled, 0 where the end effector is free",
    "free_axis": "axis of the end effector, about which it may turn; zeros for none",
    "posture": "joint positions for the null space",
    "numbers": "damping ratio; sum of apparent masses that counts as singular, kg; length that "
    "stands for an angle, m; frequency of the posture, rad/s; rate of the null space, 1/s; "
    "largest natural frequency with which the loop is stable, rad/s",
    "rotor": "inertia of the rotors at the joints, kg m^2 or kg",
    "fastest": "joint speeds that a target asks for at most, rad/s or m/s",
    "payload": "load at the end effector: mass, first moment x, y, z, inertia xx, xy, xz, yy, yz, "
    "zz about the origin of the end effector, in its axes",
    "effort": "joint efforts; add gravity and friction, N m or N",
    "velocity": "joint velocities of the target, rad/s or m/s",
    "error": "target minus measured in the axes, m and rad",
    "singularity": "0 away from singularities, 1 at one",
    "attainable": "share of its speed that the target may keep",
    "goal_rotation": "of the goal in the root link",
    "goal_position": "of the goal, m",
    "flow": "twist of the goal",
    "flow_rate": "its derivative in time",
    "requested": "twist in place of a goal",
    "follows": "1 for a goal, 0 for the twist",
    "speed": "largest, m/s and rad/s",
    "largest_acceleration": "of the target, m/s^2 and rad/s^2",
    "dt": "time since the last call, s",
    "next_error": "distance to the goal that the twist before this step leaves, m and rad",
}
"""Meaning of inputs and outputs by name."""

REMARKS = (
    "damping ratio",
    "sum of apparent masses, kg",
    "length, m",
    "posture, rad/s",
    "null space, 1/s",
    "stable, rad/s",
)
"""Remarks on the entries of `numbers`."""


CONSTANTS = (
    *("root", "damping", "mobility", "largest", "selection", "held", "free_axis", "numbers"),
)
"""Inputs that only settings and loop determine."""


def _defaults(end_effector: EndEffectorMobility, robot: Robot) -> dict[str, Mapping[str, float]]:
    """Return the default values of constant inputs, by remark on each number."""
    settings = end_effector.defaults(DEFAULT_BANDWIDTH)
    given = end_effector.settings(settings.parameters, DEFAULT_BANDWIDTH, FASTEST)
    given |= end_effector.of_stiffness(settings, FASTEST)
    arrays = {name: np.asarray(given[f"task_{name}"]) for name in CONSTANTS}
    numbers = dict(zip(REMARKS, arrays.pop("numbers").tolist(), strict=True))
    arrays["rotor"] = np.zeros(robot.dof)
    arrays["fastest"] = largest_joint_speeds(robot)
    found: dict[str, Mapping[str, float]] = {
        name: {f"{name}, entry {i}": float(x) for i, x in enumerate(array.ravel())}
        for name, array in arrays.items()
    }
    return {**found, "numbers": numbers}


def task_law_source(
    dynamics: Dynamics,
    end_effector: str,
    mode: str,
    projector: str = CONSISTENT,
    scalar: str = "double",
) -> str:
    """Write a law and the motion of its target as C99 functions of one file.

    Args:
        dynamics: Equations of the robot.
        end_effector: Link or frame that is controlled, and that carries the payload.
        mode: One of `control.TASK_MODES`.
        projector: One of `task_space.PROJECTORS`.
        scalar: "double" or "float".

    Raises:
        UnknownNameError: If there is no such end effector.
        ArgumentError: If `scalar` is neither.
    """
    robot = dynamics.robot
    robot.frame(end_effector)
    name = identifier(robot.name, "robot")
    law = replace(
        task_program(dynamics, end_effector, mode, projector, end_effector), name=f"{name}_{mode}"
    )
    target = trace(
        f"{name}_target_motion",
        lambda **x: target_motion.target_equations(x),
        target_motion.SHAPES,
    )
    target = optimize(target)
    defaults = _defaults(EndEffectorMobility(dynamics, end_effector), robot)
    joints = ", ".join(f"{i} {joint}" for i, joint in enumerate(robot.joint_names))
    head = {
        "generator": f"robot_dynamics {__version__}",
        "license": "Apache-2.0",
        "robot": robot.name,
        "joints": joints,
        "end effector": end_effector,
        "law": f"{mode}, projector {projector}; {SITE}/task-space.html",
        "defaults": f"of {DEFAULT_BANDWIDTH:g} rad/s, for a loop at 1 kHz with states up to 5 ms "
        "old; a slower one needs a lower stable frequency",
        "left out": "gravity, friction, limits of efforts and joints",
    }
    texts = []
    for program, about in ((law, head), (target, {"robot": robot.name})):
        arrays = _arrays(program, robot.links[0].name)
        texts.append(
            c_source(program, scalar=scalar, header={**about, **arrays}, defaults=defaults)
        )
    return "\n".join(texts)


def _arrays(program: Program, root: str) -> dict[str, str]:
    """Return the meaning of every input and output of a program."""
    shapes = {**program.inputs, **{name: out.shape for name, out in program.outputs.items()}}
    found = {}
    for name, shape in shapes.items():
        kind = "output" if name in program.outputs else "input"
        known = MEANINGS.get(name)
        meaning = known or f"{MEANINGS[name.removeprefix('next_')]}, from now on"
        rows = f"; row by row, entry i, j at {shape[1]} i + j" if len(shape) == 2 else ""
        found[f"{name}{list(shape)}"] = f"{kind}: {meaning.format(root=root)}{rows}"
    return found
