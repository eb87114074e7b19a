"""Studies: the same results with every executor; statistics of a table."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from robot_dynamics.control import Friction
from robot_dynamics.control.task_settings import TaskSettings
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.simulation import (
    Imperfections,
    LawController,
    Plant,
    Sensor,
    simulate,
    with_mass_scaled,
)
from robot_dynamics.simulation.base_motions import Sine
from robot_dynamics.study import (
    Chunk,
    RunLimits,
    StudyPlan,
    distribution_of,
    executor,
    first_order,
    in_process,
    on_dask,
    part,
    parts,
    sobol_indices,
    study,
)
from robot_dynamics.study.run_record import replay
from robot_dynamics.study.runs import chunks_of, model_of

SHAKE = Sine("y", 0.05, 1.0)


@pytest.fixture
def table(plan):
    return study(plan, in_process(1))


def test_results_are_the_same_on_one_thread_and_on_two(plan, table, same):
    same(table, study(plan, in_process(2)))


def test_results_are_the_same_in_any_order_and_when_some_were_done_before(plan, table, same):
    backwards = lambda plan, chunks: in_process(1)(plan, list(reversed(chunks)))  # noqa: E731
    done = {}
    first = chunks_of(plan)[2]
    study(dataclasses.replace(plan), lambda p, _: in_process(1)(p, [first]), done=done)
    assert list(done) == [first]
    same(table, study(plan, backwards, done=done))


def test_results_are_the_same_on_dask(plan, table, same):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as client:
        same(table, study(plan, on_dask(client=client)))


REMEMBERS = Friction(
    np.array([0.3, 0.2]), np.array([2.0, 1.0]), load=np.array([0.05]), memory=np.array([1.0, 0.75]),
    slip_ratio=np.array([3.0]), elastic=np.array([0.4]),
)  # fmt: skip


@pytest.mark.parametrize("identified", [{}, {"friction": REMEMBERS, "rotor_inertia": [0.2, 0.1]}])
def test_a_run_is_what_the_scalar_simulation_does(plan, identified):
    rotors = np.array(identified.get("rotor_inertia", [0.0, 0.0]))
    friction = identified.get("friction")
    if identified:
        plan = dataclasses.replace(plan, runs=8, friction=friction, rotor_inertia=rotors)
    table, row = study(plan, in_process(1)), 7
    wanted = {name: table[name][row] for name in plan.dimensions()}
    robot = with_mass_scaled(
        plan.robot,
        {
            name.partition("[")[2][:-1]: 1.0 + error
            for name, error in wanted.items()
            if name.startswith("mass_error")
        },
    ).with_payload(plan.robot.tips[0], mass=wanted["payload"])
    plant = Plant(
        robot,
        friction=friction or Friction.of(plan.robot),
        rotor_inertia=rotors,
        limit_effort=False,
        stops=True,
        integrator="semi_implicit_euler",
    )
    sensor = Sensor(
        Imperfections(
            position_noise=wanted["noise"],
            delay=round(wanted["delay"] / plan.plant_step),
            stream=int(table["seed"][row]),
        )
    )
    law = LawController(model_of(plan), "feedforward", period=plan.plant_step)
    motion = plan.trajectories()[0]
    last = plan.duration - plan.plant_step
    log = simulate(plant, law, motion, duration=last, sensor=sensor)
    # As for single members: the order of operations differs, 1e-13 after a second
    for i, joint in enumerate(plan.robot.joint_names):
        assert table[f"peak_error[{joint}]"][row] == pytest.approx(log.peak_error[i], abs=1e-9)
        assert table[f"rms_error[{joint}]"][row] == pytest.approx(log.rms_error[i], abs=1e-9)


def test_a_replayed_run_is_the_run_bit_for_bit(plan, table):
    for row in (3, 599, 611):
        run, mode = int(table["run"][row]), str(table["mode"][row])
        again = replay(plan, run, mode)
        for name, values in again.table.columns.items():
            assert values[0] == table[name][row], name
        error = np.abs(again.log.q_d - again.log.q).max()
        assert error == table["error"][row]


def test_the_error_of_the_end_effector_is_measured_and_judged(plan):
    modes, limits = ("pd", "operational_space"), RunLimits(end_effector_position=0.02)
    plan = dataclasses.replace(plan, modes=modes, limits=limits, runs=64)
    table, arm = study(plan, in_process(1)), Dynamics(plan.robot)
    for row in (5, 69):
        again = replay(plan, int(table["run"][row]), str(table["mode"][row]))
        desired, real = (arm.pose(q).position for q in (again.log.q_d, again.log.q))
        off = np.linalg.norm(desired - real, axis=1)
        # Round-off: both sides compute the same poses in another order
        assert table["end_effector_peak_position"][row] == pytest.approx(off.max(), abs=1e-12)
        assert table["end_effector_rms_position"][row] == pytest.approx(
            np.sqrt(np.mean(off**2)), abs=1e-12
        )
    assert table.units["end_effector_peak_rotation"] == "rad"
    within = table["end_effector_peak_position"] <= 0.02
    assert 0 < within.sum() < len(table)
    assert table["ok[end_effector]"].tolist() == within.tolist()
    led = table.of_mode("operational_space")
    assert led["ok[error]"].all()  # joints that nothing controls
    assert (
        led["end_effector_peak_position"][led.worst(1)[0]]
        == led["end_effector_peak_position"].max()
    )


def test_an_end_effector_gives_way_by_the_square_of_its_bandwidth(planar):
    vary = {
        "gain_error": distribution_of("gain_error", "-0.5..0.5"),
        "payload": distribution_of("payload", "0.1"),
    }
    plan = StudyPlan(
        planar,
        runs=9,
        sampling="grid",
        motions=("hold",),
        modes=("cartesian_impedance",),
        vary=vary,
        duration=3.0,
    )
    soft, usual, stiff = study(plan, in_process(1))["end_effector_peak_position"][::3]
    # K = (w / w_0)^2 K_0. The end effector sinks by up to 2 mm of an arm of a metre, so that the
    # directions of K turn by a few thousandths. The loop takes a hundredth of the stiffest one
    assert soft / usual == pytest.approx(4.0, rel=0.005)
    assert usual / stiff == pytest.approx(2.25, rel=0.012)


def test_settings_of_the_end_effector_are_part_of_the_study(planar):
    settings = TaskSettings(np.full(6, 100.0), np.ones(6))
    modes = ("cartesian_impedance",)
    plan = StudyPlan(planar, modes=modes, end_effector="link_1", task=settings)
    softer = dataclasses.replace(settings, stiffness=np.full(6, 100.0 - 1e-12))
    digests = {
        plan.digest(),
        dataclasses.replace(plan, task=softer).digest(),
        dataclasses.replace(plan, end_effector="endpoint").digest(),
    }
    assert len(digests) == 3


def test_columns_have_units_and_become_an_arrow_table(table):
    arrow = pytest.importorskip("pyarrow")
    made = table.to_arrow()
    assert made.num_rows == 1200
    assert made.schema.field("payload").metadata == {b"unit": b"kg"}
    assert made.schema.field("run").type == arrow.int64()
    assert made["error"].to_numpy().tolist() == table["error"].tolist()


def test_samplings_fill_their_distributions(planar):
    vary = {
        "payload": distribution_of("payload", "1..3"),
        "tilt": distribution_of("tilt", "0+-2deg"),
    }
    for sampling in ("random", "latin", "sobol"):
        plan = StudyPlan(planar, runs=2000, vary=vary, sampling=sampling)
        values = plan.values()
        uniform = stats.kstest(values["payload"][:, 0], stats.uniform(1.0, 2.0).cdf)
        normal = stats.kstest(values["tilt"][:, 0], stats.norm(0.0, np.radians(2.0)).cdf)
        assert min(uniform.pvalue, normal.pvalue) > 0.001, sampling
    grid = StudyPlan(planar, runs=130, vary={"payload": vary["payload"]}, sampling="grid")
    assert grid.values()["payload"][:, 0] == pytest.approx(np.linspace(1.0, 3.0, 130))


def test_the_interval_of_a_part_holds_the_true_part_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = [
        low <= 0.97 <= high for *_, low, high in (part(rng.random(200) < 0.97) for _ in range(500))
    ]
    # Wilson's interval holds it in 95 %, by a few percent more or less at so few failures
    assert 0.92 <= np.mean(inside) <= 0.99


def test_the_quantity_that_costs_most_is_named(planar):
    vary = {
        "payload": distribution_of("payload", "0..3"),
        "friction_error": distribution_of("friction_error", "1%", symmetric=True),
    }
    plan = StudyPlan(planar, runs=512, vary=vary, duration=0.5, bandwidth=5.0)
    shares = first_order(study(plan))
    assert next(iter(shares)) == "payload"
    assert shares["payload"] > 0.9
    indices = sobol_indices(plan, 64)
    assert indices.first["payload"] > 0.9
    assert indices.total["payload"] >= indices.first["payload"] - 0.05


def test_limits_decide_what_fails(plan):
    loose = study(dataclasses.replace(plan, limits=RunLimits(error=10.0)))
    tight = study(dataclasses.replace(plan, limits=RunLimits(error=1e-6)))
    assert parts(loose)["error"].share == 1.0
    assert parts(tight)["error"].share == 0.0
    assert tight["failed"].all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": 0}, "runs is 0; a study takes at least one"),
        (
            {"vary": {"mas": distribution_of("mas", "1")}},
            "nothing called 'mas' can vary (known: mass_error, com_error, payload, friction_error,",
        ),
        ({"modes": ("pid",)}, "no mode 'pid' in robot_dynamics.control"),
        ({"duration": -1.0}, "duration is -1.0; give a positive number"),
        ({"end_effector": "gripper"}, "no frame 'gripper' in robot 'planar_2r'"),
        (
            {"vary": {"tilt": distribution_of("tilt", "0..1deg")}, "base_motion": SHAKE},
            "tilt turns the base that base_motion moves; leave one out",
        ),
        ({"known_base": "odom"}, "no knowledge of the base 'odom' in robot_dynamics.study"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(plan, change, message):
    with pytest.raises((ArgumentError, UnknownNameError)) as refused:
        dataclasses.replace(plan, **change)
    assert str(refused.value).startswith(message)


def test_a_motion_of_the_base_is_part_of_a_plan(plan):
    moving = dataclasses.replace(plan, base_motion=SHAKE)
    plans = [plan, moving, dataclasses.replace(moving, known_base="still")]
    plans.append(dataclasses.replace(moving, base_motion=Sine("y", 0.05, 2.0)))
    assert len({x.digest() for x in plans}) == len(plans)


def test_a_distribution_that_reaches_a_negative_mass_is_refused_before_any_run(planar):
    plan = StudyPlan(planar, runs=500, vary={"mass_error": distribution_of("mass_error", "0+-0.5")})
    with pytest.raises(ArgumentError) as refused:
        study(plan)
    text = str(refused.value)
    assert text.startswith("mass_error: the distribution reaches -1.")
    assert "a negative mass; narrow it, for example to A..B" in text
    assert "\n" not in text


def test_no_scheduler_at_the_address_is_one_line(plan, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(executor, "CONNECT_S", 0.5)
    with pytest.raises(ArgumentError) as refused:
        study(plan, on_dask(scheduler="tcp://127.0.0.1:9"))
    assert str(refused.value) == (
        "no scheduler answers at tcp://127.0.0.1:9; start one with 'dask scheduler' and give its "
        "address, such as tcp://host:8786"
    )


def test_chunks_cover_all_runs_once(plan):
    assert chunks_of(plan) == [
        Chunk(0, 0, 512), Chunk(0, 512, 600), Chunk(1, 0, 512), Chunk(1, 512, 600)
    ]  # fmt: skip
