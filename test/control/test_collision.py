"""External efforts by the momentum observer, their thresholds, and the reactions to a contact."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from choices import first
from controller_bench import READY, STEP, Bench
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Friction, Gains, Measured, Model, Settings, Status
from robot_dynamics.control.collision import (
    FRICTION_SHARE,
    REACH,
    Collision,
    ObserverSettings,
    ObserverState,
    ThresholdBands,
    end_effector_wrench,
    observer_equations,
)
from robot_dynamics.control.collision_monitor import CollisionMonitor
from robot_dynamics.control.friction import FrictionRows
from robot_dynamics.control.laws import FLOAT_DAMPING
from robot_dynamics.control.limits import default_thresholds
from robot_dynamics.control.status import Cause
from robot_dynamics.control.task import Task
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.spatial import Inertia
from strategies import random_state, robots, seeds

ROUND_OFF = 1e-12
GAIN = 40.0

SLIDER = """
<robot name="slider"><link name="base"/>
  <link name="cart"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" velocity="9" effort="100"/></joint>
</robot>
"""


def model_of(robot, **options):
    none = np.zeros(robot.dof)
    return Model(Dynamics(robot), Gains(none, none), **options)


# -- the observer ------------------------------------------------------------------------------


@pytest.mark.parametrize("gain", [10.0, 40.0, 5000.0])
@pytest.mark.parametrize("period", [1e-3, 0.01, 0.05])
def test_a_constant_push_is_approached_with_the_time_constant_of_the_gain(gain, period):
    """A cart of 2 kg and a rotor of 1 kg under 6 N: qd = 2 t, and r = 6 (1 - exp(-K t))."""
    model = model_of(read_urdf(SLIDER), rotor_inertia=np.array([1.0]))
    monitor, collision = CollisionMonitor(1), Collision(gain=gain)
    for k in range(40):
        t = k * period
        state = Measured(np.array([t**2]), np.array([2.0 * t]))
        monitor.feed(model, collision, state, np.zeros(1), 7.0 + t)
        exact = 6.0 * (1.0 - np.exp(-gain * t))
        # Times near 7 s are known to 1e-15, and a period of 1e-3 makes 1e-12 of it
        assert monitor.effort[0] == pytest.approx(exact, abs=1e-9)


def simulated(robot, seed, period, push):
    """External efforts that the observer finds on a motion whose efforts are exact means."""
    model = model_of(robot, friction=Friction.none(robot.dof))
    q0, speed, _ = random_state(robot, seed)
    monitor, collision = CollisionMonitor(robot.dof), Collision(gain=GAIN)
    w, found = 2.0, []

    def state(t):
        s, c = np.sin(w * t), np.cos(w * t)
        return q0 + speed * s / w, speed * c, -w * speed * s

    for k in range(round(0.1 / period) + 1):
        t = k * period
        # Simpson's rule: the effort of a drive that holds it for a period
        ends = [model.inverse(*state(t - share * period)) for share in (1.0, 0.5, 0.0)]
        tau = (ends[0] + 4.0 * ends[1] + ends[2]) / 6.0 - push
        monitor.feed(model, collision, Measured(*state(t)[:2]), tau, t)
        found.append(monitor.effort)
    return np.array(found), np.abs(ends[2]).max() + np.abs(speed).max() ** 2


@settings(max_examples=6)  # each compiles a robot
@given(robots(max_joints=5), seeds())
def test_without_a_push_only_the_error_of_the_trapezoidal_rule_is_left(robot, seed):
    """It falls with the square of the period, down to round-off."""
    coarse, size = simulated(robot, seed, 2e-3, np.zeros(robot.dof))
    fine, _ = simulated(robot, seed, 1e-3, np.zeros(robot.dof))
    worst = np.abs(coarse).max()
    # Speeds of 2 rad/s turn C^T qd and g in 2e-3 s by 4e-3: h^2 / 12 of their second derivative
    assert worst < 1e-4 * size
    # A quarter, and round-off of p over a period
    assert np.abs(fine).max() < 0.3 * worst + 1e-11 * size / 1e-3


@settings(max_examples=6)  # each compiles a robot
@given(robots(max_joints=4), seeds())
def test_a_push_adds_to_the_external_efforts_as_a_low_pass_has_it(robot, seed):
    push = np.random.default_rng(seed).uniform(-20.0, 20.0, robot.dof)
    free, _ = simulated(robot, seed, 2e-3, np.zeros(robot.dof))
    pushed, size = simulated(robot, seed, 2e-3, push)
    t = 2e-3 * np.arange(len(free))
    exact = push * (1.0 - np.exp(-GAIN * t))[:, None]
    np.testing.assert_allclose(pushed - free, exact, atol=1e-10 * (size + 20.0))


def test_payload_gravity_friction_and_rotors_of_the_model_are_no_external_efforts():
    robot = read_urdf(find_robot("planar_2r"))
    model = replace(
        model_of(robot, rotor_inertia=np.array([0.3, 0.1])),
        friction=Friction([0.5, 0.2], [1.0, 0.4], load=[0.05, 0.0], offset=[0.1, 0.0]),
        payload=Inertia.from_com(2.0, np.array([0.1, 0.0, 0.05]), 0.01 * np.eye(3)),
        frame="endpoint",
        gravity_vector=np.array([3.0, 0.0, -8.0]),
        wrench=np.array([5.0, 0.0, 4.0, 0.0, 0.3, 0.0]),
    )
    monitor, bare = CollisionMonitor(2), CollisionMonitor(2)
    for k in range(300):
        # At a steady speed friction and rotors change little; efforts are those amid the period
        t = 1e-3 * k

        def state(t):
            angles = 0.4 + 0.8 * t + 0.05 * np.sin(4.0 * t), 0.8 + 0.2 * np.cos(4.0 * t)
            return *(np.full(2, x) for x in angles), np.full(2, -0.8 * np.sin(4.0 * t))

        tau = model.feedforward(*state(t - 0.5e-3))
        monitor.feed(model, Collision(), Measured(*state(t)[:2]), tau, t)
        bare.feed(model_of(robot), Collision(), Measured(*state(t)[:2]), tau, t)
    assert np.abs(bare.effort).min() > 1.0
    assert np.abs(monitor.effort).max() < 1e-4  # h^2 of 1e-6, of efforts of 20 N m


def test_many_motions_are_observed_at_once():
    moving = ("p", "rate", "qd", "direction", "tau")
    n, rng, states = 2, np.random.default_rng(6), 5
    x = {name: rng.uniform(0.1, 2.0, (states, n)) for name in moving}
    x |= {"dt": 1e-3, "gain": GAIN, "afresh": 0.0}
    last = ObserverState(*rng.uniform(0.1, 2.0, (len(ObserverState._fields), states, n)))
    friction = FrictionRows(*rng.uniform(0.1, 1.0, (len(FrictionRows._fields), n)))
    settings = ObserverSettings.of(friction, 0.01, np.ones(n), rng.uniform(0.1, 2.0, (6, n)))
    found = observer_equations(x, last, settings)
    for k in range(states):
        own = {name: x[name][k] for name in moving}
        one = observer_equations({**x, **own}, ObserverState(*np.array(last)[:, k]), settings)
        np.testing.assert_allclose(np.array(found["state"])[:, k], one["state"], rtol=1e-13)


def test_it_starts_afresh_after_a_gap_and_when_the_clock_goes_back():
    model, monitor = model_of(read_urdf(SLIDER)), CollisionMonitor(1)
    collision = Collision(gain=1000.0)

    def feed(t, speed):
        state = Measured(np.zeros(1), np.array([speed]))
        monitor.feed(model, collision, state, np.zeros(1), t)
        return monitor.effort[0]

    feed(1.0, 0.0)
    assert feed(1.01, 0.3) > 10.0
    assert feed(1.01, 0.3) > 10.0  # the same state again
    assert feed(1.2, 0.0) == 0.0
    assert feed(1.21, 0.3) > 10.0
    assert feed(0.5, 0.0) == 0.0


# -- thresholds --------------------------------------------------------------------------------


def test_the_default_threshold_is_a_tenth_of_the_effort_limit(arm):
    np.testing.assert_allclose(default_thresholds(arm.robot), [4.0, 1.5], rtol=1e-12)


def fed(model, threshold, speeds, tau, period=1e-3):
    """A monitor after states at velocities, shape (N, n), with one effort."""
    monitor, collision = CollisionMonitor(len(speeds[0])), Collision(threshold=threshold)
    for k, qd in enumerate(speeds):
        monitor.feed(model, collision, Measured(np.zeros(len(qd)), qd), tau, 1.0 + k * period)
    return monitor


def test_at_rest_all_dry_friction_is_uncertain_and_in_motion_a_share_of_friction():
    friction = Friction([2.0], [3.0])
    model, tau = model_of(read_urdf(SLIDER), friction=friction), np.zeros(1)
    resting = fed(model, np.array([5.0]), np.zeros((3, 1)), tau)
    assert resting.threshold == pytest.approx([5.0 + 3.0], rel=1e-9)
    moving = fed(model, np.array([5.0]), np.full((3, 1), 0.9), tau)
    assert moving.threshold == pytest.approx([5.0 + FRICTION_SHARE * (3.0 + 1.8)], rel=1e-9)


@given(seeds())
def test_friction_that_is_wrong_by_its_uncertainty_is_no_contact(seed):
    """Sticking, starting and reversing, with 0.7 to 1.3 times the friction of the model."""
    rng, robot = np.random.default_rng(seed), read_urdf(SLIDER)
    friction = Friction(rng.uniform(0.0, 5.0, 1), rng.uniform(0.0, 9.0, 1))
    model = model_of(robot, friction=friction)
    share = rng.uniform(1.0 - FRICTION_SHARE, 1.0 + FRICTION_SHARE)
    speed, w = rng.uniform(0.05, 2.0), rng.uniform(0.5, 8.0)
    monitor, collision = CollisionMonitor(1), Collision(threshold=np.array([1e-2]))
    for k in range(400):
        t, period = 1e-3 * k, 1e-3
        qd = speed * np.sin(w * t)
        before = speed * np.sin(w * (t - period))
        mean = sum(friction.smooth(np.array([v]), model.friction_width) for v in (before, qd)) / 2.0
        tau = 2.0 * (qd - before) / period + share * mean
        monitor.feed(model, collision, Measured(np.zeros(1), np.array([qd])), tau, t)
        assert np.abs(monitor.effort) <= monitor.threshold
        assert monitor.joint is None


def test_bands_of_an_identified_model_are_thresholds_by_regime_and_speed():
    """Moving 2 N and 0.5 N s/m, slow 6 N below 0.1 m/s; twice these, without those of friction."""
    friction = Friction(np.array([0.6]), np.array([3.0]), width=np.array([0.01]))
    model = model_of(read_urdf(SLIDER), friction=friction)
    bands = ThresholdBands(*(np.array([x]) for x in (2.0, 0.5, 6.0, 0.1)))
    for speed, threshold in ((0.0, 2.0 * 6.0), (0.1, 0.0), (3.0, 2.0 * (2.0 + 0.5 * 3.0))):
        monitor, collision = CollisionMonitor(1), Collision(bands=bands, factor=2.0)
        for k in range(5):
            state = Measured(np.array([speed * k]), np.array([speed]))
            monitor.feed(model, collision, state, np.zeros(1), 0.001 * k)
        slow = 2.0 * (6.0 - 2.0) * (1.0 - np.tanh(speed / (REACH * 0.1)))
        expected = threshold or 2.0 * (2.0 + 0.05) + slow
        assert monitor.threshold == pytest.approx([expected], rel=1e-6)
    assert slow == pytest.approx(0.0, abs=1e-6)
    unknown = ThresholdBands(*(np.array([x]) for x in (0.0, 0.0, 0.0, 0.0)))
    monitor.feed(model, Collision(bands=unknown), state, np.zeros(1), 1.0)
    assert monitor.threshold == pytest.approx([1.0])  # a hundredth of the effort limit


def test_a_contact_begins_after_its_time_above_the_threshold_and_ends_below_half_of_it():
    model, monitor = model_of(read_urdf(SLIDER)), CollisionMonitor(1)
    collision = Collision(gain=1e4, time=0.005, threshold=np.array([4.0]))
    tau = {10: 4.5, 13: 0.0, 20: 4.5, 30: 3.5, 40: 1.5}  # the drive holds against a push
    now, joints = 0.0, []
    for k in range(50):
        now = tau.get(k, now)
        state = Measured(np.zeros(1), np.zeros(1))
        joints.append(monitor.feed(model, collision, state, np.array([-now]), 1e-3 * k))
    begun = [k for k, joint in enumerate(joints) if joint is not None]
    assert begun == list(range(26, 40))  # the change of the command may act one period late


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": 0.0}, "gain is 0.0 1/s; give a positive number"),
        ({"time": -1.0}, "time is -1.0 s; give zero or more"),
        (
            {"threshold": np.array([1.0, 0.0])},
            "threshold is [1. 0.]; give positive numbers",
        ),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ArgumentError) as refusal:
        Collision(**options)
    assert str(refusal.value) == message


def test_an_unknown_reaction_is_refused():
    with pytest.raises(UnknownNameError, match="no reaction 'flee'"):
        Collision("flee")


# -- the wrench at the end effector
# --------------------------------------------------------------------


def test_the_wrench_at_the_end_effector_of_a_six_joint_arm_is_found():
    arm = Dynamics(read_urdf(find_robot("puma_gupta")))
    J = arm.jacobian(np.array([0.3, -0.7, 0.9, 0.4, 0.8, -0.2]))
    wrench = np.array([10.0, -20.0, 5.0, 1.0, 2.0, -0.5])
    found = end_effector_wrench(J, J.T @ wrench)
    assert found.unobservable.shape == (6, 0)
    # Damping of 0.02 beside the least singular value, squared
    least = np.linalg.svd(J)[1][-1]
    np.testing.assert_allclose(found.wrench, wrench, rtol=0.0, atol=25.0 * (0.02 / least) ** 2)


def test_a_planar_arm_does_not_feel_four_of_six_directions():
    arm = Dynamics(read_urdf(find_robot("planar_2r")))
    J = arm.jacobian(np.array([0.3, 0.9]))
    found = end_effector_wrench(J, J.T @ np.array([10.0, 3.0, -20.0, 1.0, 0.0, 2.0]))
    assert found.unobservable.shape == (6, 4)
    np.testing.assert_allclose(J.T @ found.unobservable, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.unobservable.T @ found.wrench, 0.0, atol=1e-9)
    assert str(found).endswith("N, N m; 4 of 6 directions move no joint")


# -- reactions ---------------------------------------------------------------------------------


class PushedBench(Bench):
    """An arm with a push on its joints, which the controller does not know."""

    push = np.zeros(2)

    def run(self, seconds, **options):
        step = self.plant.step
        self.plant.step = lambda tau: step(tau + self.push)
        try:
            return super().run(seconds, **options)
        finally:
            self.plant.step = step


def pushed(model, reaction, mode="feedforward", **options):
    """A bench that has been pushed on the shoulder for 0.1 s in the midst of a motion."""
    settings = Settings(mode, collision=Collision(reaction), **options)
    bench = PushedBench(model, settings).run(READY + 0.1)
    bench.move(1.3, 0.3)
    bench.run(0.5)
    assert bench.statuses[-1] is Status.TRACKING
    assert bench.controller.index("contact") is None
    bench.push = np.array([-15.0, 0.0])
    bench.at = bench.plant.q.copy()
    return bench.run(0.1)


def test_without_a_reaction_nothing_is_computed(model):
    bench = pushed(model, "none")
    assert bench.statuses[-1] is Status.TRACKING
    assert not bench.controller.field("external").any()
    assert bench.controller.index("touched") is None


def test_a_reported_contact_changes_no_effort(model):
    bench, ignorant = pushed(model, "report"), pushed(model, "none")
    assert bench.statuses[-1] is Status.TRACKING
    assert bench.controller.index("touched") == 0
    np.testing.assert_array_equal(bench.efforts, ignorant.efforts)
    # The push less what 0.3 N m of dry friction and the lag leave
    assert bench.controller.field("external")[0] == pytest.approx(-15.0, abs=0.5)


def test_a_stop_says_the_joint_the_effort_and_the_threshold(model):
    bench = pushed(model, "stop")
    assert bench.statuses[-1] is Status.STOPPED
    assert bench.statuses.index(Status.STOPPED) - (len(bench.statuses) - 100) < 20
    value, limit = (float(bench.controller.field(f"stop_{name}")[0]) for name in ("value", "limit"))
    assert abs(value) > limit
    assert bench.controller.stopped_by == (
        f"joint 'shoulder' feels an external {abs(value):.3g} N m, beyond its threshold of "
        f"{limit:.3g} N m"
    )
    assert bench.controller.cause is Cause.COLLISION
    bench.push = np.zeros(2)
    bench.run(1.5)
    assert np.abs(bench.plant.qd).max() < 1e-3
    assert np.abs(bench.plant.q - bench.at).max() < 0.2
    assert bench.controller.resume()
    bench.follower.hold(bench.plant.q)
    bench.run(0.5)
    assert bench.statuses[-1] is Status.TRACKING


def test_a_floating_arm_gives_way_and_is_held_where_it_is_when_it_resumes(model):
    bench = pushed(model, "float")
    assert bench.statuses[-1] is Status.STOPPED
    begin = bench.plant.q[0]
    bench.push = np.array([-3.0, 0.0])
    bench.run(0.4)
    assert bench.plant.q[0] < begin - 0.1
    damped = model.gravity(bench.plant.q) - FLOAT_DAMPING * model.gains.kd * bench.plant.qd
    np.testing.assert_allclose(bench.efforts[-1], damped, atol=0.1)  # the state of 1 ms before
    bench.push = np.zeros(2)
    bench.run(2.0)
    assert np.abs(bench.plant.qd).max() < 0.05
    where, steps = bench.plant.q.copy(), len(bench.efforts)
    bench.controller.resume()
    bench.run(0.5, references=False)
    assert np.abs(bench.plant.q - where).max() < 0.05
    assert np.abs(np.diff(bench.efforts[steps - 1 :], axis=0)).max() < 0.5


def test_a_retreat_takes_back_the_last_motion_at_limited_speed_and_holds(model):
    bench = pushed(model, "retreat")
    assert bench.statuses[-1] is Status.STOPPED
    bench.push = np.zeros(2)
    speeds = np.array([bench.run(STEP).plant.qd for _ in range(2000)])
    # A quarter of 3 and 4 rad/s, after the motion before, and what feedback adds
    assert np.abs(speeds[150:]).max() < 1.1
    assert np.abs(speeds[-1]).max() < 1e-3
    back = bench.at - bench.plant.q
    assert 0.05 < back[0] < 0.5  # 0.2 s at up to 2 rad/s, against the motion
    rests = bench.plant.q.copy()
    bench.run(0.3, states=False)
    assert bench.statuses[-1] is Status.OPEN_LOOP
    bench.run(0.5)
    assert bench.statuses[-1] is Status.STOPPED
    np.testing.assert_allclose(bench.plant.q, rests, atol=0.02)  # dry friction: 0.3 / 50, twice
    assert bench.controller.index("touched") is None


def test_closed_brakes_a_person_who_leads_and_missing_receivers_are_no_contacts(model):
    led = pushed(model, "stop", "gravity_compensation")
    assert led.controller.cause in (Cause.NONE, Cause.OVERSPEED)  # pushed with all its force
    bench = PushedBench(model, Settings(collision=Collision("stop"))).run(READY)
    bench.move(1.3, 0.3)
    bench.run(0.3, brakes=True)
    assert Status.STOPPED not in bench.statuses
    bench.controller.postpone()
    bench.run(STEP)
    assert not bench.controller.field("external").any()


def test_wrong_masses_are_no_contact(model, arm):
    for factor in (0.9, 1.1):
        robot = with_mass_scaled(arm.robot, factor)
        bench = Bench(model, Settings(collision=Collision("stop")), robot, q=np.array([0.3, -0.7]))
        bench.run(READY + 0.2)
        bench.move(1.1, 0.3)
        bench.run(1.2)
        bench.move(0.0, 0.9)
        bench.run(1.2)
        assert bench.statuses[-1] is Status.TRACKING


class NoisyBench(Bench):
    """An arm whose encoders and velocities have noise, under feedback of them."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        rng, take = np.random.default_rng(7), self.controller.set_state

        def set_noisy(measured, now):
            q, qd = (
                x + s * rng.normal(size=2) for x, s in zip(measured, (1e-5, 1e-3), strict=True)
            )
            return take(Measured(q, qd), now)

        self.controller.set_state = set_noisy


@pytest.mark.thorough
@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("mode", ["feedforward", "computed_torque"])
def test_noise_of_the_sensors_in_the_loop_is_no_contact(model, arm, mode, factor):
    """Feedback turns noise into efforts, which are commanded, measured and observed."""
    robot = with_mass_scaled(arm.robot, factor)
    settings = Settings(mode, collision=Collision("stop"))
    bench = NoisyBench(model, settings, robot, q=np.array([0.3, -0.7])).run(READY + 0.2)
    shares = []
    for k in range(20):
        bench.move(0.3 + 0.8 * np.sin(2.4 * k), -0.7 + 0.9 * np.cos(1.7 * k), seconds=1.5)
        bench.run(1.6)
        field = bench.controller.field
        shares.append(np.abs(field("external") / field("threshold")).max())
    assert Status.STOPPED not in bench.statuses
    assert max(shares) < 1.0


@pytest.mark.parametrize(
    "reaction", first(["stop", "retreat"], ["report", "stop", "float", "retreat"])
)
def test_an_end_effector_that_is_pushed_reacts_as_an_arm_in_modes_of_joints(reaction, model):
    task = Task(model, model.dynamics.robot.tips[0])
    settings = Settings("cartesian_impedance", collision=Collision(reaction))
    bench = PushedBench(model, settings, task=task).run(READY + 0.1)
    bench.push = np.array([-15.0, 0.0])
    bench.run(0.1)
    if reaction == "report":
        assert bench.controller.index("touched") == 0
        assert bench.statuses[-1] is Status.HOLDING
        return
    assert bench.statuses[-1] is Status.STOPPED
    bench.push = np.array([-3.0, 0.0])
    begin = bench.plant.q.copy()
    displacement = np.abs(bench.run(0.5).plant.q - begin)[0]
    assert (displacement > 0.1) == (reaction == "float")  # rad: 3 N m are 0.06 rad of the gains
    bench.push = np.zeros(2)
    bench.run(2.0)
    where = bench.plant.q.copy()
    bench.controller.resume()
    bench.run(0.5)
    assert np.abs(bench.plant.q - where).max() < 0.05
