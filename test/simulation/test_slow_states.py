"""States that come slowly or late: default gains hold every arm still, as a node uses them."""

from dataclasses import replace

import numpy as np
import pytest

from choices import first
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import (
    Controller,
    Friction,
    Gains,
    Measured,
    Model,
    Reference,
    Settings,
    Status,
)
from robot_dynamics.control.sampling.loop_tuning import LoopTuning
from robot_dynamics.control.sampling.tuning import gains_for
from robot_dynamics.control.stability import stability_limit
from robot_dynamics.control.status import Cause
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import Plant
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.trajectory import Follower, Waypoints
from robot_dynamics.trajectory.motions import middle_pose

STEPS = {50: 5e-3, 100: 5e-3, 125: 4e-3, 250: 4e-3, 500: 2e-3, 1000: 1e-3}  # s, of the plant
AT_REST = 1e-3  # rad, of an arm at rest
REST = 0.1  # rad/s
IN_MOTION = 0.05  # rad: slow feedback on the way; at 0.5 rad/s that is a tenth of a second
KICK = 2e-3  # rad/s: at 9 rad/s an arm moves by it no further than that

FEEDING_BACK = ("feedforward", "computed_torque", "impedance", "pd_gravity", "pd")

TWO = ["panda", "planar_2r"]
"""With light joints far from the base, and with heavy ones: the UR5 is between."""

RATES = [50, 100, 125, 250, 500, 1000]
ROBOTS = {name: Dynamics(read_urdf(find_robot(name))) for name in ("ur5", "panda", "planar_2r")}


class Loop:
    """A plant, a controller as its node has it, and messages that are slow and late."""

    def __init__(self, dynamics, rate, states_late=0.0, commands_late=0.0, tuned=True, **settings):
        self.q0 = middle_pose(dynamics.robot)
        step = self.step = STEPS[rate]
        self.plant = fastest_plant(dynamics.robot, self.q0, dynamics=dynamics, step=step)
        self.follower = Follower(dynamics.robot.joint_names, self.q0)
        wanted = gains_for(dynamics)
        self.model = Model(dynamics, wanted)
        self.tuning = LoopTuning(dynamics, wanted, self.model.bandwidth, 1e-3)
        if tuned:
            self.model = self.tuning.model(self.model)
        self.controller = Controller(self.model, Settings(**settings))
        self.tuned, self.now, self.tau = tuned, 0.0, dynamics.gravity(self.q0)
        self.every, self.lines = round(1.0 / (rate * step)), []
        self.late = round(states_late / step), round(commands_late / step)
        self.states, self.commands, self.errors, self.speeds = [], [], [], []

    def run(self, seconds, silent=False):
        for _ in range(round(seconds / self.step)):
            k = round(self.now / self.step)
            if silent and k % self.every == 0:
                self.command(k, self.now - self.last)
            elif k % self.every == 0:
                self.states.append((k + self.late[0], Measured(self.plant.q, self.plant.qd)))
            if self.states and self.states[0][0] <= k:
                self.answer(self.states.pop(0)[1], k)
            while self.commands and self.commands[0][0] <= k:
                self.tau = self.commands.pop(0)[1]
            self.plant.step(self.tau)
            self.speeds.append(np.abs(self.plant.qd).max())
            self.errors.append(self.follower.sample(self.now).q - self.plant.q)
            self.now += self.step
        return np.array(self.errors[-round(seconds / self.step) :])

    def answer(self, measured, k):
        age = self.late[0] * self.step
        self.controller.set_state(measured, self.now)
        self.tuning.feed(self.now, age)
        self.last = self.now - age
        self.command(k, age)

    def command(self, k, age):
        due = self.follower.sample(self.now - age)  # as the history of references has it
        now = self.follower.sample(self.now)
        reference = Reference(due.q, due.qd, self.model.feedforward(*now))
        present = np.array([now.q, now.qd])
        self.controller.set_reference(reference, self.now, present=present)
        command = self.controller.update(self.now)
        if self.tuned and (new := self.tuning.retune(self.model)):
            self.model, line = new
            self.lines += [line] if line else []
            self.controller.change(self.model)
        self.status = command.status
        self.commands.append((k + self.late[1], command.tau))


def peak_to_peak(errors):
    return np.ptp(errors, axis=0).max()


@pytest.mark.parametrize("delay", first([0.0, 20e-3], [0.0, 5e-3, 20e-3]))
@pytest.mark.parametrize("rate", first([50, 1000], RATES))
@pytest.mark.parametrize("name", first(TWO, ROBOTS))
def test_an_arm_at_rest_does_not_oscillate_whatever_the_rate_and_the_age_of_its_states(
    name, rate, delay
):
    loop = Loop(ROBOTS[name], rate, states_late=delay)
    loop.run(1.5)
    assert loop.status is Status.TRACKING
    loop.plant.reset(loop.plant.q, np.full(loop.plant.robot.dof, KICK))
    errors = loop.run(4.0)
    count = len(errors) // 4
    assert peak_to_peak(errors[-count:]) < AT_REST
    assert max(loop.speeds[-count:]) <= max(loop.speeds[-4 * count : -3 * count])


@pytest.mark.parametrize("delay", first([0.0, 20e-3], [0.0, 5e-3, 10e-3, 20e-3]))
@pytest.mark.parametrize("rate", first([100], RATES))
@pytest.mark.parametrize("name", first(TWO, ROBOTS))
def test_an_arm_that_moved_comes_to_rest_and_does_not_oscillate_whatever_rate_and_age(
    name, rate, delay
):
    loop = Loop(ROBOTS[name], rate, states_late=delay)
    robot = loop.plant.robot
    loop.run(1.5)
    displacement = np.minimum(0.5, 0.2 * (robot.limits.upper - robot.limits.lower))
    goal = Waypoints(robot.joint_names, [2.0], [loop.q0 + displacement])
    loop.follower.accept(goal, loop.now)
    assert np.abs(loop.run(2.0)).max() < IN_MOTION
    loop.run(6.0)  # the lasting effort of feedback fades by e each second
    errors = loop.run(1.0)
    assert loop.status is Status.TRACKING
    assert peak_to_peak(errors) < AT_REST and np.abs(errors).max() < 2.0 * AT_REST


@pytest.mark.parametrize(("rate", "delay"), [(100, 0.0), (100, 5e-3)])
@pytest.mark.parametrize("name", ROBOTS)
def test_an_arm_is_unstable_beyond_the_stability_limit_that_is_derived_and_not_before(
    name, rate, delay
):
    ratio, ends = 10.0, []
    mode = stability_limit(ratio, 1.0 / rate, delay)
    for share in (0.9, 1.1):
        loop = Loop(ROBOTS[name], rate, commands_late=delay, tuned=False, settling_time=0.0)
        M = loop.model.dynamics.mass_matrix(loop.q0)
        kd = np.diag(M) / np.linalg.eigvals(np.linalg.solve(M, np.diag(np.diag(M)))).real.max()
        gains = Gains(ratio * share * mode * kd, share * mode * kd)
        loop.controller.change(replace(loop.model, gains=gains))
        loop.run(0.5)
        loop.plant.reset(loop.plant.q, np.full(loop.plant.robot.dof, 1e-3 * KICK))
        loop.run(2.0)
        ends.append(max(loop.speeds[-50:]) / (1e-3 * KICK))
    # Slow modes, 175 times as slow on a Panda, are still on their way and push each other
    assert ends[0] < 2.0 and ends[1] > 10.0, ends


@pytest.mark.parametrize("name", ROBOTS)
def test_without_tuning_the_same_arm_oscillates_at_100_hz_or_is_stopped_at_its_limits(name):
    loop = Loop(ROBOTS[name], 100, tuned=False)
    loop.run(0.5)
    loop.plant.reset(loop.plant.q, np.full(loop.plant.robot.dof, KICK))
    loop.run(1.5)
    assert peak_to_peak(loop.run(0.5)) > 5.0 * AT_REST or loop.status is Status.STOPPED


@pytest.mark.parametrize("delay", first([20e-3], [20e-3, 4e-3, 10e-3, 15e-3]))
@pytest.mark.parametrize("rate", first([100, 1000], [50, 100, 250, 500, 1000]))
@pytest.mark.parametrize("name", first(TWO, ROBOTS))
def test_an_arm_that_oscillates_as_commands_are_late_is_stopped_and_comes_to_rest(
    name, rate, delay
):
    loop = Loop(ROBOTS[name], rate, commands_late=delay)
    loop.run(0.6)
    loop.plant.reset(loop.plant.q, np.full(loop.plant.robot.dof, KICK))
    loop.run(8.0)
    assert max(loop.speeds[-100:]) < 0.05
    if loop.status is Status.STOPPED:
        assert "oscillates by" in loop.controller.stopped_by


@pytest.mark.parametrize("speed", first([5.0], [5.0, 20.0]))
@pytest.mark.parametrize("seed", first([0], range(4)))
@pytest.mark.parametrize("name", first(TWO, ROBOTS))
def test_an_arm_that_is_thrown_comes_to_rest_once_it_is_stopped(name, seed, speed):
    loop = Loop(ROBOTS[name], 1000, commands_late=10e-3, tracking_limit=0.5)
    loop.run(1.0)
    velocity = np.random.default_rng(seed).uniform(-speed, speed, loop.plant.robot.dof)
    slides = [not joint.type.rotates for joint in loop.plant.robot.independent_joints]
    loop.plant.reset(loop.plant.q, np.where(slides, 0.0, velocity))
    loop.run(4.0)
    # It must not race around, pushed by a spring of many turns from one side to the other
    assert max(loop.speeds[-300:]) < REST


@pytest.mark.thorough
def test_motions_modes_and_untrue_loads_that_change_all_the_time_are_no_oscillation():
    random, dynamics = np.random.default_rng(0), ROBOTS["panda"]
    tree, joints = dynamics.robot, dynamics.robot.joint_names[:7]
    end_effector = tree.tips[0]
    loads = [
        Dynamics(
            tree.with_payload(end_effector, random.uniform(0.0, 1.0), random.uniform(0.0, 0.1, 3))
        )
        for _ in range(8)
    ]
    loop, settings = Loop(dynamics, 1000), Settings()
    loop.run(1.0)
    due, mode = dict.fromkeys(("motion", "load", "mode"), 0.0), "feedforward"
    while loop.now < 60.0:
        if loop.now >= due["motion"]:
            q = loop.q0[:7] + 0.3 * random.uniform(-1.0, 1.0, (4, 7))
            still = np.zeros_like(q)
            goal = Waypoints(joints, [0.8, 1.8, 2.8, 3.8], q, velocities=still, accelerations=still)
            loop.follower.accept(goal, loop.now)
            due["motion"] = loop.now + random.uniform(1.0, 4.0)
        if loop.now >= due["load"]:
            loop.model = replace(loop.model, dynamics=random.choice(loads))
            loop.controller.change(loop.model)
            due["load"] = loop.now + random.uniform(0.5, 4.0)
        if loop.now >= due["mode"]:
            mode = "feedforward" if mode == "pd" else random.choice(FEEDING_BACK)
            settings = replace(settings, mode=str(mode))
            loop.controller.change(loop.model, settings)
            due["mode"] = loop.now + (0.2 if mode == "pd" else random.uniform(0.5, 4.0))
        loop.run(0.1)
    assert loop.controller.stopped_by is None


def test_an_oscillation_stops_the_arm_until_it_is_resumed_without_its_cause():
    loop = Loop(ROBOTS["ur5"], 1000, commands_late=20e-3)
    loop.run(0.6)
    loop.plant.reset(loop.plant.q, np.full(loop.plant.robot.dof, KICK))
    loop.run(5.0)
    assert loop.status is Status.STOPPED and loop.controller.cause is Cause.OSCILLATION
    assert max(loop.speeds[-100:]) < KICK
    loop.late = (0, 0)  # the delay is gone
    loop.run(2.0)
    assert loop.status is Status.STOPPED
    assert loop.controller.resume()
    loop.follower = Follower(loop.plant.robot.joint_names, loop.plant.q)  # the next motion
    loop.run(2.0)
    assert loop.status is Status.TRACKING
    assert peak_to_peak(loop.run(1.0)) < AT_REST


def test_a_slow_arm_still_follows_and_comes_to_rest():
    loop = Loop(ROBOTS["ur5"], 100, states_late=5e-3)
    loop.run(1.0)
    goal = loop.q0 + 0.5
    loop.follower.accept(Waypoints(loop.plant.robot.joint_names, [2.0], [goal]), loop.now)
    assert np.abs(loop.run(2.5)).max() < 0.02
    errors = loop.run(1.0)
    assert np.abs(errors).max() < 5.0 * AT_REST
    assert peak_to_peak(errors) < 3.0 * AT_REST


def test_what_is_lowered_is_said_once_with_period_and_delay():
    loop = Loop(ROBOTS["planar_2r"], 100)
    loop.run(3.0)
    assert len(loop.lines) == 1
    assert "states come every 10 ms" in loop.lines[0]
    assert "feedback is by the mass matrix, at a bandwidth of 20 rad/s" in loop.lines[0]
    assert loop.controller.model.inertia_weighted and not loop.tuning.lowered
    loop = Loop(ROBOTS["planar_2r"], 50, states_late=20e-3)
    loop.run(3.0)
    assert loop.controller.model.bandwidth < 15.0 and loop.tuning.lowered


@pytest.mark.parametrize("name", ["ur5", "planar_2r"])  # without the light wrist of a Panda
@pytest.mark.parametrize("timeout", [0.1, 0.5])
def test_a_motion_in_which_states_stop_for_a_second_ends_there_and_the_next_one_arrives(
    name, timeout
):
    loop = Loop(ROBOTS[name], 250, tracking_limit=0.5, state_timeout=timeout, reference_timeout=0.5)
    loop.run(2.0)
    goal, fitted = loop.q0 + 0.8, loop.tuning.sampling
    loop.follower.accept(Waypoints(loop.plant.robot.joint_names, [1.5], [goal]), loop.now)
    loop.run(0.5)
    began = len(loop.speeds)
    loop.run(1.0, silent=True)
    assert loop.status is Status.OPEN_LOOP
    loop.run(1.0)
    assert loop.status is Status.RESUMED
    loop.follower.go_to(loop.plant.q.copy(), loop.now)
    loop.run(0.5)
    assert loop.status is Status.TRACKING
    loop.follower.accept(Waypoints(loop.plant.robot.joint_names, [1.5], [goal]), loop.now)
    loop.run(3.0)
    # 15/8 of 0.8 rad in 1.5 s is 1 rad/s, of an arm that without friction slowly tips over
    # unobserved
    assert max(loop.speeds[began:]) < 1.8
    np.testing.assert_allclose(loop.plant.q, goal, rtol=0.0, atol=AT_REST)
    assert loop.tuning.sampling == fitted  # a gap is neither a period nor an age
    assert len(loop.lines) <= 1


@pytest.mark.parametrize("share", [0.01, 0.05])
@pytest.mark.parametrize("name", first(TWO, ROBOTS))
def test_an_arm_with_friction_that_nobody_knows_is_brought_to_rest_open_loop_and_stays(name, share):
    """Believed without it, the light wrist of a Panda seems to race away; stopping throws it."""
    loop = Loop(ROBOTS[name], 250, tracking_limit=0.5)
    robot = loop.plant.robot
    friction = Friction(
        viscous=share * robot.limits.effort / robot.limits.velocity,
        coulomb=share * robot.limits.effort,
    )
    loop.plant = Plant(
        robot, loop.q0, dynamics=loop.model.dynamics, step=loop.step, friction=friction
    )
    loop.run(1.5)
    displacement = np.minimum(0.8, 0.25 * (robot.limits.upper - robot.limits.lower))
    goal = Waypoints(robot.joint_names, [1.5], [loop.q0 + displacement])
    loop.follower.accept(goal, loop.now)
    loop.run(0.6)
    began, there = len(loop.speeds), loop.plant.q.copy()
    loop.run(1.0, silent=True)
    assert loop.status is Status.OPEN_LOOP
    # 15/8 of 0.8 rad in 1.5 s is 1 rad/s; without what friction takes it is 29 rad/s on a Panda
    assert max(loop.speeds[began:]) < 1.6
    assert max(loop.speeds[-50:]) < REST
    assert np.abs(loop.plant.q - there).max() < 0.5


@pytest.mark.parametrize("name", ROBOTS)
def test_an_arm_that_a_tracking_error_stops_then_stands(name):
    loop = Loop(ROBOTS[name], 250, tracking_limit=0.5)
    loop.run(1.0)
    there = loop.q0 + 0.6
    for share in np.linspace(0.0, 1.0, 75):  # pushed there by 2 rad/s
        loop.plant.reset(loop.q0 + 0.6 * share, np.full(len(there), 2.0))
        loop.run(loop.step)
    for _ in range(50):  # and held there for 0.2 s
        loop.plant.reset(there)
        loop.run(loop.step)
    loop.run(3.0)
    assert loop.status is Status.STOPPED
    # It was stopped on the way, by an error of 0.5 rad
    np.testing.assert_allclose(loop.plant.q, there, rtol=0.0, atol=0.2)
    assert max(loop.speeds[-100:]) < KICK
