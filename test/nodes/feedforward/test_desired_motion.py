"""Efforts of the desired motion, which are computed anew only where something has changed."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy")  # nodes are made of it

from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.control.load import Load
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.nodes.feedforward.desired_motion import DesiredMotion
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.spatial import Inertia
from robot_dynamics.trajectory import Trajectory

FADE_S, RAMP_S = 0.5, 0.2
TIGHT = 1e-12  # the same kernel on the same numbers; a load is added up in another order


class Arm:
    """A model under a load, as an OnlineModel has them, without a node."""

    def __init__(self):
        robot = read_urdf(find_robot("planar_2r"))
        n = robot.dof
        self.base = Model(Dynamics(robot), Gains(np.zeros(n), np.zeros(n)))
        self.load = Load(robot, None, robot.gravity)
        for ramp in (self.load.payload, self.load.gravity, self.load.wrench):
            ramp.duration = RAMP_S

    @property
    def settled(self):
        return self.base

    def at(self, now):
        return self.load.on(self.base, now)


@pytest.fixture
def arm():
    return Arm()


@pytest.fixture
def desired(arm):
    return DesiredMotion(arm, 0.0, FADE_S)


@pytest.fixture
def pose():
    """A state of rest, as a trajectory gives it after its end: the same object every time."""
    hold = Trajectory.hold(("shoulder", "elbow"), np.array([0.4, -0.7]))
    assert hold.sample(1.0) is hold.sample(2.0)
    return hold.sample(1.0)


def asked(arm, state, now):
    """Position, velocity and effort, computed without any memory."""
    return np.array((state.q, state.qd, arm.at(now).feedforward(*state)))


def test_an_arm_at_rest_gets_the_very_same_numbers(arm, desired, pose):
    first = desired.rows_at(pose, 1.0)
    np.testing.assert_allclose(first, asked(arm, pose, 1.0), rtol=TIGHT)
    assert desired.rows_at(pose, 1.1) is first


def test_another_state_is_answered_with_its_own_efforts_and_leaves_the_last_answer_as_it_was(
    arm, desired, pose
):
    first = desired.rows_at(pose, 1.0)
    kept = first.copy()
    other = pose._replace(qdd=np.array([1.0, -2.0]))  # at the same place
    np.testing.assert_allclose(desired.rows_at(other, 1.1), asked(arm, other, 1.1), rtol=TIGHT)
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize(
    "change",
    [
        lambda load: load.carry(Inertia.from_com(2.0, np.array([0.1, 0.0, 0.0]), np.eye(3)), ""),
        lambda load: load.gravity.aim(np.array([1.0, 0.0, -5.0])),
        lambda load: load.wrench.aim(np.array([5.0, 0.0, 3.0, 0.0, 1.0, 0.0])),
    ],
    ids=["payload", "gravity", "wrench"],
)
def test_efforts_of_an_arm_at_rest_follow_its_load(arm, desired, pose, change):
    before = desired.rows_at(pose, 1.0)
    change(arm.load)
    desired.rows_at(pose, 1.0)  # the ramp begins
    halfway = desired.rows_at(pose, 1.0 + RAMP_S / 2.0)
    np.testing.assert_allclose(halfway, asked(arm, pose, 1.0 + RAMP_S / 2.0), rtol=TIGHT)
    after = desired.rows_at(pose, 2.0)
    np.testing.assert_allclose(after, asked(arm, pose, 2.0), rtol=TIGHT)
    np.testing.assert_allclose(halfway, (before + after) / 2.0, atol=TIGHT * abs(after).max())
    assert abs(after - before).max() > 0.1
    assert desired.rows_at(pose, 3.0) is after


def test_an_arm_at_rest_passes_to_other_terms_without_a_step(arm, desired, pose):
    before = desired.rows_at(pose, 1.0)
    heavy = Friction(np.zeros(2), np.zeros(2), offset=np.array([3.0, -1.0]))
    arm.base = replace(arm.base, friction=heavy)
    np.testing.assert_allclose(desired.rows_at(pose, 1.0), before, rtol=TIGHT)
    end = asked(arm, pose, 1.0)
    halfway = desired.rows_at(pose, 1.0 + FADE_S / 2.0)
    np.testing.assert_allclose(halfway, (before + end) / 2.0, rtol=TIGHT)
    after = desired.rows_at(pose, 2.0)
    np.testing.assert_allclose(after, end, rtol=TIGHT)
    assert desired.rows_at(pose, 3.0) is after


def test_terms_that_changed_while_nothing_was_followed_are_taken_at_once(arm, desired, pose):
    desired.rows_at(pose, 1.0)
    arm.base = replace(arm.base, friction=Friction(np.zeros(2), np.zeros(2), offset=np.ones(2)))
    desired.forget()
    np.testing.assert_allclose(desired.rows_at(pose, 2.0), asked(arm, pose, 2.0), rtol=TIGHT)
