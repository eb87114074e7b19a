"""Drives that close their own loop: the controller gives them motion and model."""

from dataclasses import replace

import numpy as np
import pytest

from choices import first
from driven_arm import urdf
from robot_dynamics import Dynamics
from robot_dynamics.control import (
    Collision,
    Controller,
    Friction,
    Gains,
    Measured,
    Model,
    Reference,
    Settings,
    Status,
)
from robot_dynamics.control.status import Cause
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.simulation.drive_loop import PERIOD_S, drive_effort
from robot_dynamics.trajectory import Follower, Waypoints

PERIOD = 0.01  # s: the rate of slow buses
KP = np.array([400.0, 400.0, 300.0, 40.0, 40.0, 20.0])  # N m/rad
KD = np.array([40.0, 40.0, 30.0, 2.0, 2.0, 1.0])  # N m s/rad
START = np.array([0.0, -1.2, 1.5, -0.5, 0.3, 0.2])
FAR = np.array([0.9, -0.6, 0.9, 0.1, 0.9, 0.8])
READY_S = 0.5
AT_REST = 5e-3  # rad/s: these drives take half a second to come to rest


@pytest.fixture(scope="module")
def model():
    arm = Dynamics(read_urdf(find_robot("ur5")))
    return Model(arm, Gains(KP, KD))


class Driven:
    """The arm of a model behind drives, or another one."""

    def __init__(self, model, settings=None, robot=None, takes_velocity=True, friction=None):
        settings = settings or Settings(feedback="drive")
        robot = robot or model.dynamics.robot
        plant = fastest_plant(robot, START, step=PERIOD_S, friction=friction)
        self.model, self.plant = model, plant
        self.takes_velocity = takes_velocity
        self.controller = Controller(
            model, replace(settings, drive_velocity=takes_velocity, longest_cycle=5.0 * PERIOD)
        )
        self.follower, self.now, self.errors = Follower(robot.joint_names, START), 0.0, []

    def field(self, name):
        return self.controller.field(name).copy()

    def run(self, seconds, states=True, push=0.0, brakes=False):
        for _ in range(round(seconds / PERIOD)):
            if states:
                self.controller.set_state(Measured(self.plant.q, self.plant.qd), self.now)
            due = self.follower.sample(self.now)
            self.controller.set_reference(
                Reference(due.q, due.qd, self.model.feedforward(*due)), self.now
            )
            self.errors.append(np.abs(due.q - self.plant.q).max())
            command = self.controller.update(self.now)
            if command is not None and not brakes:
                self.drive(command.tau + push)
            self.now += PERIOD
        return self

    def drive(self, efforts):
        """Let the drives close their loop for a period."""
        command = np.array(
            [self.field("commanded_position"), self.field("commanded_velocity"), efforts]
        )
        for _ in range(round(PERIOD / PERIOD_S)):
            measured = Measured(self.plant.q, self.plant.qd)
            gains = self.model.gains
            self.plant.step(drive_effort(command, measured, gains, self.takes_velocity))

    def move(self, seconds=1.5):
        self.follower.accept(Waypoints(self.plant.robot.joint_names, [seconds], [FAR]), self.now)
        return self


def largest_error(driven):
    driven.run(READY_S).move().errors.clear()
    driven.run(2.5)
    assert driven.controller.status is Status.TRACKING
    return max(driven.errors)


@pytest.mark.parametrize("takes_velocity", first([True], [True, False]))
def test_the_model_makes_stiff_drives_exact(model, takes_velocity):
    own = Settings(feedback="drive")
    exact = largest_error(Driven(model, own, takes_velocity=takes_velocity))
    alone = largest_error(Driven(model, replace(own, mode="pd", tracking_limit=np.inf)))
    # Commands are those of the middle of the period for which they are held; given efforts are of
    # its beginning, 10 ms before its end
    assert exact < 2e-3
    assert alone > 20.0 * exact


def test_a_smooth_reference_of_fast_joints_is_followed_as_it_is():
    fast = Dynamics(read_urdf(urdf().replace('velocity="2"', 'velocity="20"')))
    moves = np.array([1.0, 1.0, 0.0])  # the last one is a finger
    gains = Gains(100.0 * np.ones(3), 10.0 * np.ones(3))
    controller = Controller(Model(fast, gains), Settings(feedback="drive", tracking_limit=np.inf))
    for now in np.arange(0.0, 2.0, PERIOD):
        phase = 15.0 * max(now - READY_S, 0.0)
        q, qd = 0.75 * (1.0 - np.cos(phase)) * moves, 0.75 * 15.0 * np.sin(phase) * moves
        controller.set_state(Measured(q, qd), now)
        controller.set_reference(Reference(q, qd, np.zeros(3)), now)
        controller.update(now)
        assert np.allclose(controller.field("compared"), [q, qd], rtol=0.0, atol=1e-9)
    assert controller.status is Status.TRACKING


def test_a_wrong_mass_leaves_its_static_error(model):
    heavy = with_mass_scaled(model.dynamics.robot, 1.1)
    driven = Driven(model, Settings(feedback="drive", integral_time=0.0), robot=heavy)
    largest_error(driven)
    missing = 1.1 * model.gravity(driven.plant.q) - model.gravity(FAR)
    assert np.allclose(KP * (FAR - driven.plant.q), missing, atol=0.1)


def test_no_own_feedback_is_added(model):
    driven = Driven(model).run(READY_S)
    for _ in range(10):  # someone moves it
        displacement = np.full(6, 2e-3)
        driven.plant.reset(driven.plant.q + displacement, displacement / PERIOD)
        driven.run(PERIOD, brakes=True)
    assert np.allclose(driven.field("tau"), model.gravity(START), atol=1e-6)
    by_drives = -0.02 * KP - displacement / PERIOD * KD
    assert np.allclose(driven.field("total"), driven.field("tau") + by_drives, atol=1e-6)


def test_lost_states_bring_it_to_rest_on_its_way(model):
    driven = Driven(model).run(READY_S).move().run(0.7)
    driven.run(1.5, states=False)
    assert driven.controller.status in (Status.OPEN_LOOP, Status.SILENT)
    assert np.abs(driven.plant.qd).max() < AT_REST
    between = (np.minimum(START, FAR) - 0.05, np.maximum(START, FAR) + 0.05)
    assert ((driven.plant.q > between[0]) & (driven.plant.q < between[1])).all()


def test_a_stop_holds_where_the_arm_is(model):
    driven = Driven(model, Settings(feedback="drive", tracking_limit=0.05))
    driven.run(READY_S).move().run(0.7)
    driven.run(0.5, push=np.array([0.0, -60.0, 0.0, 0.0, 0.0, 0.0]))
    assert driven.controller.cause is Cause.TRACKING_ERROR
    driven.run(2.0)
    assert np.abs(driven.plant.qd).max() < AT_REST
    assert np.abs(driven.field("commanded_position") - driven.plant.q).max() < 1e-3
    assert np.allclose(driven.field("tau"), model.gravity(driven.plant.q), atol=0.1)


def test_gravity_compensation_follows_the_arm(model):
    driven = Driven(model, Settings(feedback="drive", mode="gravity_compensation")).run(READY_S)
    driven.run(0.5, push=np.array([30.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert driven.plant.q[0] > START[0] + 0.1
    assert (driven.field("commanded_velocity") == 0.0).all()
    driven.run(1.0)
    # Nothing leads it back
    assert np.abs(driven.plant.qd).max() < 0.02
    assert driven.plant.q[0] > START[0] + 0.1
    assert np.abs(driven.field("commanded_position") - driven.plant.q).max() < 1e-3


def test_contacts_are_told_from_the_drives_effort(model):
    collision = Collision(reaction="stop")
    quiet = Driven(model, Settings(feedback="drive", collision=collision)).run(READY_S)
    quiet.move().run(2.5)
    assert quiet.controller.status is Status.TRACKING
    pushed = Driven(model, Settings(feedback="drive", collision=collision)).run(READY_S)
    pushed.move().run(0.7).run(0.5, push=np.array([-40.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert pushed.controller.cause is Cause.COLLISION
    assert pushed.controller.index("stop_joint") == 0


def test_a_joint_that_does_not_answer_its_drive_is_named(model):
    rust = Friction(np.zeros(6), np.array([0.0, 200.0, 0.0, 0.0, 0.0, 0.0]))
    driven = Driven(model, friction=rust).run(READY_S).move().run(0.9)
    assert driven.controller.status is not Status.TRACKING
    assert driven.controller.braked_by == "shoulder_lift_joint"


def test_drives_at_their_limit_stop_the_arm(model):
    driven = Driven(model).run(READY_S).move().run(0.7)
    driven.run(0.5, push=np.array([-300.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert driven.controller.cause is Cause.SATURATION
    assert driven.controller.index("stop_joint") == 0


@pytest.mark.parametrize("mode", ["computed_torque"])
def test_a_mode_with_feedback_of_its_own_is_refused(mode):
    with pytest.raises(ArgumentError, match="feedback of its own"):
        Settings(mode=mode, feedback="drive")


def test_the_lasting_effort_takes_over_what_the_drives_lack(model):
    heavy = with_mass_scaled(model.dynamics.robot, 1.1)
    ends = []
    for time in (0.0, 0.5):
        driven = Driven(model, Settings(feedback="drive", integral_time=time), robot=heavy)
        largest_error(driven)
        ends.append(np.abs(FAR - driven.plant.q).max())
    assert ends[1] < 0.5 * ends[0]


def test_an_exact_model_needs_none(model):
    driven = Driven(model)
    largest_error(driven)
    # Efforts of the beginning of a period are given for all of it
    assert (np.abs(driven.field("integral")) < 0.01 * model.dynamics.robot.limits.effort).all()
