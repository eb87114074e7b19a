"""Studies of drives that close their own loop."""

import json
from dataclasses import replace

import numpy as np
import pytest

from driven_arm import openarm
from robot_dynamics import Dynamics
from robot_dynamics.cli import main
from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation import Plant, with_mass_scaled
from robot_dynamics.simulation.drive_loop import PERIOD_S
from robot_dynamics.simulation.driven_loop import simulate_drives
from robot_dynamics.study import StudyPlan, distribution_of, in_process, study
from robot_dynamics.study.run_record import replay
from robot_dynamics.trajectory import Waypoints

GAINS = Gains(np.array([3000.0, 800.0]), np.array([300.0, 50.0]))
REST_S = 2.0
RATE = 100.0
START, FAR = np.array([0.3, -0.6]), np.array([-0.5, 0.7])

SAME_MOTION = 1e-9
"""rad; the order of operations differs, 1e-13 after a second."""

SAG = 2e-5
"""rad: what 2 s leave of the 6e-3 by which the start differs: one arm sags in the half second
before it, the other one after it."""


@pytest.fixture
def driven(planar):
    """One run that rests before it moves."""
    poses = [START, START, FAR, FAR]
    motion = Waypoints(planar.joint_names, [0.0, REST_S, REST_S + 1.0, REST_S + 1.5], poses)
    return StudyPlan(
        planar, runs=1, motions=(motion,), duration=REST_S + 1.5, rate=RATE, feedback="drive",
        gains=GAINS, stops=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mass_error", "slides", "tolerance"),
    [
        pytest.param(0.0, False, SAME_MOTION, marks=pytest.mark.thorough),
        (0.1, True, SAG),
    ],
)
def test_a_run_is_what_the_single_simulation_of_drives_does(driven, mass_error, slides, tolerance):
    vary = {"mass_error": distribution_of("mass_error", str(mass_error))}
    arm = driven.robot
    # Dry friction would hold a joint that fell where it is
    friction = Friction.none(arm.dof) if slides else Friction.of(arm)
    log = replay(replace(driven, vary=vary, friction=friction), 0).log
    real = with_mass_scaled(arm, 1.0 + mass_error)
    plant = Plant(real, step=PERIOD_S, friction=friction, integrator="semi_implicit_euler")
    model = Model(Dynamics(arm), GAINS, friction)
    wanted = simulate_drives(plant, model, driven.trajectories()[0], RATE)
    cycle, moves = round(1.0 / (RATE * PERIOD_S)), slice(round(REST_S * RATE), -1)
    ours = log.q[::cycle][moves]
    off = np.abs(ours - wanted.q[: len(log.q[::cycle])][moves]).max()
    assert off <= tolerance
    assert np.abs(ours - START).max() > 0.5  # it does move


def test_drives_act_ten_thousand_times_a_second_at_every_rate(driven):
    assert driven.plant_step == PERIOD_S
    assert replace(driven, rate=333.0).plant_step == pytest.approx(1.0 / (31 * 333.0))
    assert replace(driven, feedback="controller").plant_step == 1.0 / RATE
    stiff = replace(driven, gains=Gains(GAINS.kp, 1e3 * GAINS.kd))
    assert stiff.plant_step < PERIOD_S / 2.0  # the joints would oscillate


def test_a_rare_command_costs_accuracy_and_the_model_saves_it(driven):
    # Held commands are those of the middle of a period: errors grow with its square
    vary = {"rate": distribution_of("rate", "25,100")}
    slow, fast = study(replace(driven, runs=2, vary=vary, sampling="grid"), in_process(1))[
        "peak_error[joint_2]"
    ]
    assert 8.0 < slow / fast < 32.0
    without = study(replace(driven, modes=("pd_gravity",)), in_process(1))["peak_error[joint_2]"]
    assert without[0] > 20.0 * fast


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feedback": "motor"}, "no feedback 'motor' in robot_dynamics.study"),
        ({"gains": "fitted"}, "gains are fitted; with feedback by drives give theirs"),
    ],
)
def test_drives_without_gains_are_refused(driven, change, message):
    with pytest.raises(RobotDynamicsError) as refused:
        replace(driven, **change)
    assert str(refused.value).startswith(message)


@pytest.fixture
def arm(tmp_path):
    return openarm(tmp_path)


def test_the_verb_takes_rate_gains_and_joints_of_the_driver(arm, capsys):
    short = ["--runs", "2", "--duration", "0.5", "--json"]
    assert main(["study", arm, "--driver", "openarm", *short]) == 0
    captured = capsys.readouterr()
    assert "left out: finger_joint1" in captured.err
    (found,) = json.loads(captured.out)["modes"].values()
    assert found["runs"] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--driver", "franka"], "its drives close no loop"),
        (["--driver", "openarm", "--gains", "ideal"], "those of openarm are in its drives"),
        (["--driver", "openarm", "--keep", "0.9"], "drives have gains of their own"),
        (["--driver", "openarm", "--modes", "computed_torque"], "has feedback of its own"),
    ],
)
def test_the_verb_refuses_what_does_not_fit_in_one_line(arm, capsys, options, words):
    assert main(["study", arm, *options]) == 1
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err
