"""Why an end effector does not come to its target: a sentence for each cause, no wrong one."""

from functools import cache

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Settings, gains_for
from robot_dynamics.control.fields import Facts
from robot_dynamics.control.obstacles import OBSTACLES, Obstacle, find_obstacle
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_space import IMPEDANCE, OPERATIONAL_SPACE
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Pose

PERIOD = 2e-3
ELBOW = 1.2  # rad


@cache
def model():
    arm = Dynamics(read_urdf(find_robot("ur5")))
    return Model(arm, gains_for(arm))


def standing(q, away, mode=IMPEDANCE, seconds=4.0):
    """The task of a UR5 that friction holds at a position, with a target away from it, m."""
    task = Task(model(), "tool0")
    controller = Controller(model(), Settings(mode=mode, settling_time=0.0), task)
    pose, state = task.pose(model(), q), Measured(q, np.zeros(6))
    for k in range(round(seconds / PERIOD)):
        now = PERIOD * k
        if k == 10:
            task.aim(Pose(pose.rotation, pose.translation + away), now)
        controller.set_state(state, now)
        controller.update(now)
    return task, controller


@pytest.mark.parametrize("mode", [IMPEDANCE, OPERATIONAL_SPACE])
@pytest.mark.parametrize("elbow", [-0.6, -0.1, 0.03, 0.3])
@pytest.mark.parametrize("way", [-0.25, 0.25])
def test_a_stretched_arm_is_held_on_the_way_back_and_out_of_reach_on_the_way_out(mode, elbow, way):
    q = np.array([0.3, -1.0, elbow, -1.2, -1.57, 0.1])
    arm = model().dynamics
    # From the shoulder to the wrist: the direction in which the stretched arm ends
    along = arm.pose(q, "wrist_1_link").position - arm.pose(q, "upper_arm_link").position
    task, _ = standing(q, way * along / np.linalg.norm(along), mode)
    number = Obstacle(int(task.field("obstacle")[0]))
    assert number is (Obstacle.OUT_OF_REACH if way > 0.0 else Obstacle.HELD), task.obstacle
    assert task.obstacle.startswith("the end effector stays 0.25 m and 0 rad from its target: ")
    assert ("out of reach" in task.obstacle) == (way > 0.0)


@cache
def waiting():
    """Every field of a UR5 that friction has held away from its target for a while."""
    _, controller = standing(np.array([0.3, -1.0, ELBOW, -1.2, -1.57, 0.1]), [0.1, 0.0, 0.0])
    run = controller.run_of_step
    step, known = run.kernels.step, {"continuous": run.kernels.step.continuous}
    for layout, vector in (
        (step.state, run.state),
        (step.arrived, run.arrived),
        (step.settings, run.settings),
    ):
        known |= {name: layout.of(vector.copy(), name) for name in layout}
    return known | {"obstacle": 0.0}


LATE = {"ended_since": -9.0, "stretched_since": -9.0}
AT_END = {**LATE, "held_back": np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])}
NEAR, FAR = (np.tile([[ELBOW - 4.0], [ELBOW + at]], 6) for at in (0.03, 1.0))
STRETCHED = {**LATE, "nearer": 0.1}
SATURATED = {"saturation": np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])}
RESTLESS = {"stays_speed": 0.5, "stays_joint": 4.0}


@pytest.mark.parametrize(
    ("changed", "found", "joint"),
    [
        ({}, Obstacle.HELD, None),
        ({**STRETCHED, "nearer": 1.0}, Obstacle.HELD, None),
        (STRETCHED, Obstacle.OUT_OF_REACH, None),
        (SATURATED, Obstacle.SATURATED, 3),
        (RESTLESS, Obstacle.RESTLESS, 4),
        ({**SATURATED, **RESTLESS}, Obstacle.RESTLESS, 4),
        ({**STRETCHED, **AT_END}, Obstacle.END_OF_RANGE, 2),
        ({"stays_since": 1e9}, Obstacle.NONE, None),
    ],
)
def test_each_cause_has_its_own_sentence(changed, found, joint):
    x = Facts(waiting(), changed)
    result = find_obstacle(x, 1.0, 0.0, 1.0, np.array([0.1, 0.0, 0.0]), NEAR)
    assert result["obstacle"] == found
    if joint is not None:
        assert result["obstacle_joint"] == joint


def test_a_joint_far_from_its_end_is_not_said_to_leave_its_range():
    x = Facts(waiting(), AT_END)
    result = find_obstacle(x, 1.0, 0.0, 1.0, np.zeros(3), FAR)
    assert result["obstacle"] == Obstacle.HELD


def test_an_arm_at_its_target_has_no_obstacle():
    for changed in (AT_END, STRETCHED, SATURATED, RESTLESS):
        x = Facts(waiting(), {**changed, "task_error": np.full(6, 1e-3)})
        result = find_obstacle(x, 1.0, 1.0, 1.0, np.zeros(3), NEAR)
        assert result["obstacle"] == Obstacle.NONE
        assert (result["behind"][0], result["least_error"]) == (0.0, 0.0)


def test_joint_and_numbers_stay_those_of_the_moment_at_which_it_was_found():
    last = {"obstacle": float(Obstacle.HELD), "obstacle_joint": 5.0, "obstacle_value": 3.0}
    result = find_obstacle(Facts(waiting(), last), 1.0, 0.0, 1.0, np.zeros(3), NEAR)
    assert [result[name] for name in last] == list(last.values())


def test_each_obstacle_is_reported_once_until_there_is_none():
    known = waiting() | {"obstacles_told": np.zeros(len(Obstacle)), "obstacle_reports": 0.0}
    none = {"stays_since": 1e9}
    reports = []
    for changed in ({}, {}, SATURATED, {}, SATURATED, none, SATURATED):
        known |= find_obstacle(
            Facts(known, {"stays_since": -9.0}, changed), 1.0, 0.0, 1.0, np.zeros(3), NEAR
        )
        reports.append(known["obstacle_reports"])
    assert reports == [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0]


def test_every_obstacle_has_a_sentence_and_a_remedy():
    assert list(OBSTACLES) == list(Obstacle)
    assert all(OBSTACLES[one].remedy for one in Obstacle if one is not Obstacle.NONE)
