"""Studies of elastic joints: the scalar loop moves as a run does; what varies; refusals."""

import numpy as np
import pytest

from choices import first
from elastic_arm import elastic
from robot_dynamics.control import Friction
from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation import ElasticController, Plant, simulate
from robot_dynamics.study import StudyPlan
from robot_dynamics.study.distributions import Distribution
from robot_dynamics.study.run_record import replay
from robot_dynamics.study.runs import model_of, runner

ROBOT, ROTORS = elastic("ur5", {"shoulder_pan_joint": 1e4, "elbow_joint": 8e3}, 20.0)


def plan(**how):
    given = {"friction": Friction.none(6), "rotor_inertia": ROTORS, "duration": 0.5, "runs": 2}
    return StudyPlan(ROBOT, **{**given, **how})


@pytest.mark.parametrize("known", first([True], [True, False]))
@pytest.mark.parametrize("encoders", first(["link"], ["link", "motor", "both"]))
def test_the_scalar_loop_moves_as_a_run_does(encoders, known):
    study = plan(encoders=encoders, elasticity_known=known)
    (motion,) = study.trajectories()
    run = replay(study, 0).log
    plant = Plant(
        ROBOT, friction=Friction.none(6), rotor_inertia=ROTORS,
        step=1e-3, integrator="semi_implicit_euler", stops=True,
    )  # fmt: skip
    law = ElasticController(model_of(study), motion, period=1e-3)
    log = simulate(plant, law, motion, encoders=encoders, duration=0.3)
    steps = len(log.t)
    assert np.abs(log.q[-1] - log.q[0]).max() > 0.05
    np.testing.assert_allclose(log.q, run.q[:steps], atol=1e-9)
    np.testing.assert_allclose(log.tau, run.tau[:steps], atol=1e-6)


def test_the_springs_of_runs_vary():
    soft = plan(
        vary={"stiffness_error": Distribution("uniform", (-0.9, -0.9))}, elasticity_known=False
    )
    usual = plan(elasticity_known=False)
    errors = [
        runner(study, "feedforward").run(0, 1).statistics["peak_error"][0]
        for study in (usual, soft)
    ]
    # gravity twists a spring of a tenth ten times as far; the elbow bears it
    assert errors[1][2] > 2.0 * errors[0][2]


def test_a_study_of_rigid_joints_has_no_springs_to_vary():
    rigid = ROBOT.with_joint_elasticity(np.inf)
    with pytest.raises(ArgumentError, match="stiffness_error: robot 'ur5' has no elastic joint"):
        StudyPlan(rigid, vary={"stiffness_error": Distribution("uniform", (-0.1, 0.1))})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rotor_inertia": None}, "joint 'shoulder_pan_joint' is elastic, but its rotor has no"),
        ({"integrator": "runge_kutta"}, "elastic joints are studied with semi_implicit_euler"),
    ],
)
def test_what_a_study_cannot_simulate_is_refused(how, message):
    with pytest.raises(ArgumentError, match=message):
        plan(**how)


def test_another_stiffness_is_another_study():
    other = ROBOT.with_joint_elasticity({"elbow_joint": 9e3}, {"elbow_joint": 20.0})
    again = StudyPlan(other, friction=Friction.none(6), rotor_inertia=ROTORS, duration=0.5, runs=2)
    assert again.digest() != plan().digest()
