"""Joints stay within their ranges in task space, and the line that says for which target."""

import re
from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from choices import first
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Settings, Status, gains_for
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_space import IMPEDANCE, OPERATIONAL_SPACE
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Pose, rotation_about

START = {
    "panda": np.array([0.3, -0.6, 0.1, -2.0, 0.2, 1.7, 1.5]),
    "ur5": np.array([0.0, -1.2, 1.5, -0.5, -1.5, 0.2]),
}
END_EFFECTORS = {"panda": "panda_hand_tcp", "ur5": "tool0"}
STEP = 1e-3


class Arm:
    """A frictionless arm without stops under the default settings, with states that come late."""

    def __init__(self, name, mode, late):
        whole = read_urdf(find_robot(name))
        fingers = {joint: 0.0 for joint in whole.joint_names if "finger" in joint}
        self.arm = Dynamics(whole.with_locked(fingers) if fingers else whole)
        model = Model(self.arm, gains_for(self.arm))
        self.task = Task(model, END_EFFECTORS[name])
        self.controller = Controller(model, Settings(mode=mode), self.task)
        self.q, self.qd, self.now = START[name].copy(), np.zeros(self.arm.robot.dof), 0.0
        self.states = deque([(self.q, self.qd)] * (round(late / STEP) + 1))
        self.fastest, self.farthest = 0.0, -np.inf

    def run(self, seconds):
        limits = self.arm.robot.limits
        for _ in range(round(seconds / STEP)):
            self.controller.set_state(Measured(*self.states[0]), self.now)
            tau = self.controller.update(self.now).tau
            self.qd = self.qd + STEP * self.arm.forward(self.q, self.qd, tau)
            self.q = self.q + STEP * self.qd
            self.states.append((self.q, self.qd))
            self.states.popleft()
            self.now += STEP
            self.fastest = max(self.fastest, (np.abs(self.qd) / limits.velocity).max())
            ends = limits.lower - self.q, self.q - limits.upper
            self.farthest = max(self.farthest, np.max(ends))
        return self

    @property
    def pose(self):
        return self.task.pose(self.controller.model, self.q)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", first([IMPEDANCE], [IMPEDANCE, OPERATIONAL_SPACE]))
def test_a_turn_beyond_the_range_of_a_joint_ends_within_it_and_names_it(mode):
    arm = Arm("panda", mode, 0.002).run(0.5)
    for _ in range(10):
        turn = rotation_about(arm.pose.rotation[:, 2], np.asarray(0.5))
        arm.task.aim(Pose(turn @ arm.pose.rotation, arm.pose.translation), arm.now)
        arm.run(1.5)
    assert arm.farthest < 0.0
    assert arm.controller.status is Status.HOLDING
    assert re.fullmatch(
        r"the end effector stays \S+ m and \S+ rad from its target: joint 'panda_joint7' would "
        r"have to leave its range, and is stopped 0.0\d* rad before the end; give a target or a "
        r"posture within the range",
        arm.task.obstacle,
    )
    back = arm.task.pose(arm.controller.model, START["panda"])
    arm.task.aim(back, arm.now)
    arm.run(6.0)
    assert arm.task.obstacle == ""
    assert np.abs(arm.pose.rotation - back.rotation).max() < 0.02


def test_a_joint_that_keeps_a_target_slightly_out_of_reach_is_named():
    """From 20 mrad on, which an arm without friction reaches everywhere else."""
    arm = Arm("panda", IMPEDANCE, 0.0).run(0.5)
    to_stop = arm.arm.robot.limits.upper[6] - 0.05 - START["panda"][6]
    turn = rotation_about(arm.pose.rotation[:, 2], np.asarray(to_stop + 0.1))
    arm.task.aim(Pose(turn @ arm.pose.rotation, arm.pose.translation), arm.now)
    arm.run(6.0)
    assert 0.02 < np.linalg.norm(arm.task.field("task_error")[3:]) < 0.04
    assert "joint 'panda_joint7' would have to leave its range" in arm.task.obstacle


@pytest.mark.parametrize("late", first([0.005], [0.002, 0.005]))
@pytest.mark.parametrize("mode", [IMPEDANCE, OPERATIONAL_SPACE])
@pytest.mark.parametrize("name", first(["ur5"], ["panda", "ur5"]))
def test_an_arm_of_default_settings_comes_back_from_out_of_reach_with_late_states(name, mode, late):
    arm = Arm(name, mode, late).run(0.5)
    start = arm.pose
    arm.task.aim(replace(start, translation=3.0 * start.translation), arm.now)
    arm.run(5.0)
    arm.task.aim(start, arm.now)
    arm.run(6.0)
    assert arm.controller.status is Status.HOLDING
    assert arm.fastest < 1.2
    assert arm.farthest < 0.0
    assert np.abs(arm.pose.translation - start.translation).max() < 2e-3


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.thorough) for k in (1, 2))]
)
@pytest.mark.parametrize("mode", first([IMPEDANCE], [IMPEDANCE, OPERATIONAL_SPACE]))
def test_a_stretched_arm_bends_back_to_the_side_from_which_it_has_come(mode, seed):
    """From the stretched pose the elbow of a Panda bends by 0.4 rad to one side, or by 2.6."""
    arm, rng = Arm("panda", mode, 0.002), np.random.default_rng(seed)
    limits = arm.arm.robot.limits
    middle, half = (limits.lower + limits.upper) / 2.0, (limits.upper - limits.lower) / 2.0
    arm.q = middle + half * rng.uniform(-0.6, 0.6, 7)
    while arm.pose.translation[2] < 0.2:
        arm.q = middle + half * rng.uniform(-0.6, 0.6, 7)
    arm.states = deque([(arm.q, arm.qd)] * len(arm.states))
    start = arm.run(0.5).pose
    outward = start.translation * [1.0, 1.0, 0.0] + [0.0, 0.0, 0.3]
    away = start.translation + 1.2 * outward / np.linalg.norm(outward)
    arm.task.aim(replace(start, translation=away), arm.now)
    arm.run(5.0)
    assert arm.task.field("singularity") > 0.5
    arm.task.aim(start, arm.now)
    arm.run(6.0)
    assert arm.farthest < 0.0
    assert np.abs(arm.pose.translation - start.translation).max() < 2e-3
