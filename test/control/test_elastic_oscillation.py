"""An elastic arm with encoders on its links: stopped if it oscillates, stable if it is known."""

import re

import numpy as np
import pytest

from choices import first
from controller_bench import STEP, Bench
from elastic_arm import ROTORS, arm_of
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Model, Settings, Status, gains_for
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.status import Cause
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.trajectory.motions import middle_pose

START = np.array([0.0, -1.2, 1.2, -1.0, 1.0, 0.0])
LIMIT = 0.3  # rad, of tracking errors
ROTOR = np.array(ROTORS["ur5"])


class ElasticBench(Bench):
    """A UR5 on springs of 1e4 N m/rad, and the rates of these springs in every cycle."""

    def __init__(self, ratio, *, known, heavier=1.0):
        rigid = Dynamics(arm_of("ur5"))
        inertia = np.diag(rigid.mass_matrix(middle_pose(rigid.robot)))
        damping = 2.0 * ratio * np.sqrt(1e4 * inertia * ROTOR / (inertia + ROTOR))
        robot = rigid.robot.with_joint_elasticity(1e4, damping)
        arm = Dynamics(robot) if known else rigid
        model = Model(arm, gains_for(arm), rotor_inertia=ROTOR)
        if known:
            model = Tuner(arm).model(model, ideal_gains(arm), 20.0, Sampling.of(STEP))
        robot = with_mass_scaled(robot, heavier)
        how = {"rotor_inertia": ROTOR, "friction": Friction.none(6)}
        settings = Settings(tracking_limit=np.full(6, LIMIT))
        super().__init__(model, settings, robot, START, **how)
        self.rates = []

    def last(self, seconds):
        """Largest rate of a spring in the last seconds, rad/s."""
        rates = []
        for _ in range(round(seconds / STEP)):
            self.run(STEP)
            rates.append(np.abs(self.plant.motor_qd - self.plant.qd).max())
        return max(rates)


@pytest.mark.parametrize("ratio", [0.05, 0.01])
def test_unknown_springs_end_in_a_stop_that_names_joint_and_frequency(ratio):
    bench = ElasticBench(ratio, known=False)
    bench.run(1.0).move(*(START + 0.3))
    bench.run(1.5)
    assert bench.statuses[-1] is Status.STOPPED
    line = bench.controller.stopped_by
    assert re.fullmatch(r"joint '\w+' oscillates by [\d.]+ rad at (1\d|2\d) Hz", line), line
    # half of the bandwidth would let it grow on; it falls until the damping of the springs prevails
    early = bench.last(0.3)
    bench.run(2.0)
    assert bench.last(0.3) < 0.5 * early


@pytest.mark.parametrize("ratio", first([0.01], [0.05, 0.01]))
def test_known_springs_do_not_oscillate(ratio):
    bench = ElasticBench(ratio, known=True)
    bench.run(1.0).move(*(START + 0.3))
    bench.run(2.0)
    assert bench.statuses[-1] is Status.TRACKING
    early = bench.last(0.3)
    bench.run(2.0)
    assert bench.last(0.3) < max(early, 1e-3)
    assert bench.statuses[-1] is Status.TRACKING


def test_a_soft_arm_that_a_wrong_mass_takes_from_its_reference_names_the_resonance():
    """Feedback at half a radian a second holds no tenth of the weight: nothing resonates."""
    bench = ElasticBench(0.01, known=True, heavier=1.1)
    bench.run(2.0)
    assert bench.controller.cause is Cause.SOFTENED
    assert re.fullmatch(
        r"joint 'shoulder_lift_joint' is 0\.3\d* rad from its reference: its feedback is soft, so "
        r"that no spring of a joint oscillates at 17\.1 Hz",
        bench.controller.stopped_by,
    )


def test_feedback_that_no_resonance_makes_softer_is_not_blamed():
    bench = ElasticBench(0.05, known=False, heavier=1.1)
    assert (bench.controller.settings_vector("softened") == 0.0).all()
    bench.run(1.0)
    assert bench.statuses[-1] is Status.TRACKING
