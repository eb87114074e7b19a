"""Gravity and friction that the robot adds itself, and that the controller adds once more."""

import numpy as np
import pytest

from choices import first
from controller_bench import READY, Bench
from robot_dynamics.control import Collision, Friction, Gains, Model, Settings, Status
from robot_dynamics.control.counted_twice import LEAST, MOST
from robot_dynamics.control.status import SENTENCES, Cause
from robot_dynamics.simulation import with_mass_scaled

GAINS = Gains(np.array([200.0, 60.0]), np.array([20.0, 6.0]))
FRICTION = Friction(np.array([0.5, 0.2]), np.array([1.0, 0.4]))
FULL, LITTLE = 1.0, 0.15
AHEAD = np.array([0.1, 0.0])
LIMIT = np.array([40.0, 15.0])  # N m, of the URDF


@pytest.fixture(scope="module")
def knowing(arm):
    """The model of an arm whose friction is identified."""
    return Model(arm, GAINS, FRICTION)


def scaled(share):
    return Friction(share * FRICTION.viscous, share * FRICTION.coulomb)


def moved(model, seconds, **plant):
    """An arm that moves to and fro for a time, and what was found meanwhile."""
    bench = Bench(model, Settings(), **plant).run(READY)
    found = set()
    for k in range(round(seconds)):
        bench.move(*((0.9, 0.4) if k % 2 == 0 else (-0.2, -0.9)))
        bench.run(1.0)
        found.add(bench.controller.warning)
    return bench, found


@pytest.mark.parametrize("mode", ["feedforward", "pd_gravity", "computed_torque"])
def test_an_arm_without_weight_is_stopped_after_a_second(knowing, mode):
    robot = knowing.dynamics.robot.with_gravity((0.0, 0.0, 0.0))
    bench = Bench(knowing, Settings(mode), robot=robot).run(READY)
    assert bench.controller.cause is Cause.NONE
    bench.run(1.0)
    controller = bench.controller
    assert controller.status is Status.STOPPED
    assert controller.cause is Cause.GRAVITY_TWICE
    force, weight = (controller.field(f"stop_{x}").item() for x in ("value", "limit"))
    assert controller.stopped_by == (
        f"joint 'elbow' feels an external {abs(force):.3g} N m, which is its gravity, "
        f"{weight:.3g} N m, and the other joints feel theirs"
    ) or controller.stopped_by.startswith("joint 'shoulder' feels an external ")
    assert abs(abs(force) - weight) < 0.1 * LIMIT[controller.index("stop_joint")]
    assert "compensate_gravity: false" in SENTENCES[controller.cause].remedy
    bench.run(1.0)
    assert np.abs(bench.plant.qd).max() < 1e-2  # it is held


def test_it_goes_on_once_gravity_counts_once(knowing):
    robot = knowing.dynamics.robot.with_gravity((0.0, 0.0, 0.0))
    bench = Bench(knowing, Settings(), robot=robot).run(READY + 1.2)
    assert bench.controller.cause is Cause.GRAVITY_TWICE
    weightless = Model(knowing.dynamics, GAINS, FRICTION, gravity_vector=np.zeros(3))
    bench.model = bench.controller.model = weightless
    bench.run(0.5)
    bench.controller.resume()
    bench.follower.hold(bench.plant.q)
    bench.run(2.0)
    assert bench.controller.cause is Cause.NONE
    assert bench.controller.status is Status.TRACKING


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("share", first([-1.0, 0.5, 1.4], [-1.5, -1.0, 0.5, 0.8, 1.0, 1.4]))
def test_a_person_who_lifts_one_link_is_a_contact(knowing, joint, share):
    bench = Bench(knowing, Settings(), q=AHEAD).run(READY)
    step, effort = bench.plant.step, np.zeros(2)
    effort[joint] = share * knowing.gravity(AHEAD)[joint]
    bench.plant.step = lambda tau: step(tau + effort)
    bench.run(3.0)
    if joint == 0 and abs(share) > 0.75:
        assert bench.controller.index("touched") == 0
        assert bench.controller.warning is Cause.COLLISION
    assert bench.controller.cause is Cause.NONE


@pytest.mark.parametrize("share", [0.7, 1.0, 1.2])
def test_an_arm_that_has_borne_its_weight_and_is_then_supported_has_a_contact(knowing, share):
    """As on a table: what supports a light arm may push like its gravity for long."""
    bench = Bench(knowing, Settings(), friction=FRICTION).run(READY)
    bench.move(0.2, -0.5)
    bench.run(1.5)
    step = bench.plant.step
    bench.plant.step = lambda tau: step(tau + share * knowing.gravity(bench.plant.q))
    bench.run(2.5)
    assert bench.controller.cause is Cause.NONE
    assert bench.controller.warning is Cause.COLLISION


@pytest.mark.parametrize("factor", [0.9, 1.1, 1.5, 2.0])
def test_wrong_masses_are_no_weightless_arm(knowing, factor):
    robot = with_mass_scaled(knowing.dynamics.robot, factor)
    bench, _ = moved(knowing, 4, robot=robot, friction=FRICTION)
    assert bench.controller.cause is Cause.NONE
    assert bench.controller.field("weightless_for").item() == 0.0


def test_friction_that_the_robot_adds_itself_is_reported_and_stops_nothing(knowing):
    bench, found = moved(knowing, 14, friction=scaled(LITTLE))
    assert found == {Cause.NONE, Cause.FRICTION_TWICE}
    assert bench.controller.status is Status.TRACKING
    push, friction = (bench.controller.field(f"warning_{x}").item() for x in ("value", "limit"))
    assert LEAST * friction < push < MOST * friction
    # What the friction of the model is at the mean speed, and what the robot leaves
    i = int(bench.controller.field("warning_joint").item())
    assert FRICTION.coulomb[i] < friction < FRICTION.coulomb[i] + 2.0 * FRICTION.viscous[i]
    assert push == pytest.approx((1.0 - LITTLE) * friction, rel=0.1)
    assert bench.controller.line("warning").startswith(
        f"joint '{bench.controller.joint_names[i]}' is pushed along its motion by {push:.3g} N m, "
        f"its friction in the model is {friction:.3g} N m"
    )


@pytest.mark.parametrize(
    "plant",
    [
        {"friction": scaled(FULL)},
        {"friction": scaled(0.6)},  # of a warm gear
        {"friction": Friction(FRICTION.viscous, FRICTION.coulomb + 0.03 * LIMIT)},
    ],
    ids=["known", "warm", "more than known"],
)
@pytest.mark.parametrize("factor", first([1.1], [0.9, 1.0, 1.1]))
def test_friction_that_the_model_has_or_lacks_is_not_reported(knowing, plant, factor):
    robot = with_mass_scaled(knowing.dynamics.robot, factor)
    _, found = moved(knowing, 14, robot=robot, **plant)
    assert Cause.FRICTION_TWICE not in found


def test_nothing_is_found_without_observation(knowing):
    robot = knowing.dynamics.robot.with_gravity((0.0, 0.0, 0.0))
    silent = Settings(collision=Collision("none"))
    bench = Bench(knowing, silent, robot=robot).run(READY + 2.0)
    assert bench.controller.cause is Cause.NONE
