"""The C library of a model against the compiled step in Python, cycle by cycle."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hostile_arm import HOSTILE, hostile_urdf
from hostile_cycles import HostileCycles
from loaded_model import LoadedModel, built, request_of
from robot_dynamics.control.chained_reference import chained_reference
from robot_dynamics.control.guard import FLAWS, Flaw
from robot_dynamics.control.imu_gravity import gravity_by_imu
from robot_dynamics.control.obstacles import OBSTACLES
from robot_dynamics.control.refusals import REFUSALS
from robot_dynamics.control.status import SENTENCES, Cause, Status
from robot_dynamics.control.step_kernels import RunningStep, StepKernels
from robot_dynamics.export.model_library import (
    ModelParts,
    ModelRequest,
    model_source,
)
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.robot import read_urdf
from robot_dynamics.robot.endpoint import end_effector_by_rule

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

ROBOTS = ["planar_2r", *(pytest.param(x, marks=pytest.mark.thorough) for x in ("panda", "ur5"))]

ROUND_OFF = 1e-9
"""Largest difference per effort limit: both sides sum the same terms, with other sines."""

SEQUENCES, CYCLES = 4, 5000

DRIVER = Path(__file__).with_name("model_driver.c")


@pytest.fixture(scope="module", params=ROBOTS)
def request_(request):
    return request_of(request.param)


@pytest.fixture(scope="module")
def parts(request_):
    return ModelParts(request_)


@pytest.fixture(scope="module")
def library(request_, tmp_path_factory):
    return LoadedModel(built(request_, tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def kernels(parts):
    return StepKernels(parts.step, parts.dynamics._digest)


def test_the_library_steps_as_the_kernels_of_python_do(parts, library, kernels):
    step, seen = parts.step, set()
    limit = parts.robot.limits.effort
    for seed in range(SEQUENCES):
        run, initial = RunningStep(kernels), parts.initial()
        run.arrived[:], run.settings[:] = initial["arrived"], initial["settings"]
        run.state[:] = initial["state"]
        cycles = HostileCycles(
            np.random.default_rng(seed),
            library.views("arrived", run.arrived),
            library.views("settings", run.settings),
        )
        states = [library.initial("state") for _ in range(2)]
        found = [library.views("state", state) for state in states]
        expected = [step.state.views(state) for state in run.states]
        for k in range(CYCLES):
            cycles.next()
            run.advance()
            library.call("step", states[k % 2], run.arrived, run.settings, states[1 - k % 2])
            ours, theirs = found[1 - k % 2], expected[run.turn]
            place = f"sequence {seed}, cycle {k}, {cycles._event}"
            for name in ("status", "cause", "law", "touched", "brake_joint", "commands"):
                assert ours[name][0] == theirs[name][0], (name, place)
            assert np.abs((ours["tau"] - theirs["tau"]) / limit).max() < ROUND_OFF, place
            seen.add(Status(int(ours["status"][0])))
    assert seen >= {Status.WAITING, Status.RESUMED, Status.TRACKING, Status.STOPPED}


def test_initial_vectors_are_those_of_python(parts, library):
    for name, values in parts.initial().items():
        np.testing.assert_allclose(library.initial(name), values, rtol=1e-12, err_msg=name)


def test_frames_are_those_of_the_robot(parts, library):
    q = np.random.default_rng(1).uniform(-1.0, 1.0, library.n)
    poses = np.zeros((library.model.frame_count, 12))
    library.call("frames", q, poses)
    for row, name in zip(poses, parts.robot.frame_names, strict=True):
        found = frame_pose(parts.robot, q, name)
        np.testing.assert_allclose(row[:9].reshape(3, 3), found.rotation, atol=1e-14)
        np.testing.assert_allclose(row[9:], found.translation, atol=1e-14)


def test_references_of_a_chain_are_those_of_python(library):
    rng, n = np.random.default_rng(2), library.n
    found = np.zeros(3 + 4 * n)
    for _ in range(200):
        written, chain = rng.normal(size=(4, n)), np.array([rng.integers(2), 1e-3])
        written[rng.random((4, n)) < 0.1] = rng.choice([np.nan, np.inf, 1e8, -1e12])
        library.call("reference", written, chain, found)
        expected = chained_reference(written, *chain)
        if expected["comes"]:
            values = np.concatenate([np.ravel(value) for value in expected.values()])
            np.testing.assert_allclose(found, values, rtol=1e-12)
        assert found[:3].tolist() == [expected[x] for x in ("comes", "with_velocities", "has_tau")]


def test_a_wrench_that_joints_cannot_bear_is_refused(request_, parts, library):
    q, found = np.full(library.n, 0.3), library.configured()
    wrench, refusal = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), library.initial("refusal")
    limit, held = parts.robot.limits.effort, parts.dynamics.gravity(q)
    effort = parts.dynamics.jacobian(q, request_.end_effector).T @ wrench
    most = np.min((limit - np.sign(effort) * held)[effort != 0.0] / np.abs(effort)[effort != 0.0])
    for factor, refused in ((0.99, False), (1.01, True)):
        given = found["settings"], found["load"], factor * most * wrench
        library.call("check_wrench", q, *given, refusal)
        assert (library.refusal(refusal) is not None) is refused
    name, joint, value, share = library.refusal(refusal)
    assert name == "heavy_wrench"
    assert value == pytest.approx(1.01 * limit[joint], rel=0.02)
    assert share == pytest.approx(100.0 / 1.01)


def test_gravity_by_an_imu_is_that_of_python(library):
    before, force = np.array([1.0, 2.0, -9.0]), np.array([3.0, 0.5, 9.3])
    times = np.array([0.1, 0.5])
    gravity, refusal = np.zeros(3), library.initial("refusal")
    library.call("imu_gravity", before, force, times, gravity, refusal)
    np.testing.assert_allclose(gravity, gravity_by_imu(before, force, *times), rtol=1e-14)
    assert library.refusal(refusal) is None
    for wrong in (0.1 * force, np.nan * force):
        library.call("imu_gravity", before, wrong, times, gravity, refusal)
        assert library.refusal(refusal)[0] == "implausible_imu"


def test_a_load_beyond_an_effort_limit_is_refused_and_a_lighter_one_is_not(parts, library):
    q = np.zeros(library.n)
    light, heavy = (library.configured(payload__mass=mass) for mass in (0.1, 500.0))
    refusal, settings = library.initial("refusal"), light["settings"]
    library.call("check_load", q, settings, light["load"], heavy["load"], refusal)
    name, joint, value, limit = library.refusal(refusal)
    assert name == "heavy_load"
    held = parts.dynamics.gravity(q)
    assert limit == parts.robot.limits.effort[joint] < abs(value)
    assert abs(held[joint]) < abs(value)
    library.call("check_load", q, settings, heavy["load"], light["load"], refusal)
    assert library.refusal(refusal) is None


def test_the_efforts_that_hold_the_arm_are_within_the_limits_and_bear_an_unknown_load(
    parts, library
):
    tau, found, state = np.zeros(library.n), library.configured(), library.initial("state")
    fields = library.views("state", state)
    fields["q"][:] = 0.2
    gravity, limit = parts.dynamics.gravity(fields["q"]), parts.robot.limits.effort
    fields["mean_effort"][:] = np.tile(gravity + 0.2 * limit, 2)
    for rests in (0.0, 1.0):  # a motion that goes on tells no load
        fields["at_rest"][:] = rests
        library.call("hold", state, found["settings"], found["load"], tau)
        np.testing.assert_allclose(tau, gravity + 0.2 * rests * limit, atol=1e-10)
    fields["mean_effort"][:] = np.tile(gravity + 0.05 * limit, 2)  # friction may bear as much
    library.call("hold", state, found["settings"], found["load"], tau)
    np.testing.assert_allclose(tau, gravity, atol=1e-10)
    fields["at_rest"][:] = 0.0
    heavy = library.configured(payload__mass=1000.0)
    library.call("hold", state, heavy["settings"], heavy["load"], tau)
    assert np.abs(tau / limit).max() == 1.0


def test_effective_parameters_configure_the_same_settings(library):
    found = library.configured(rate=500.0)
    effective = library.views("parameters", found["effective"])
    again = library.configured(**{name: value.copy() for name, value in effective.items()})
    np.testing.assert_array_equal(again["settings"], found["settings"])
    np.testing.assert_array_equal(again["load"], found["load"])
    assert not np.isnan(found["effective"]).any()


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"limits__effort": 1e6}, "effort_beyond_urdf"),
        ({"limits__velocity": 1e6}, "velocity_beyond_urdf"),
        ({"gains__i": 1e6}, "unstable_i"),
        ({"gains__p": 1e8}, "unstable_p"),
        ({"gains__d": 1e6}, "unstable_d"),
        ({"gravity": (0.0, 0.0, -40.0)}, "gravity"),
        ({"payload__mass": 3000.0}, "payload_in_grams"),
        ({"payload__mass": 1.0, "payload__com": (0.0, 30.0, 0.0)}, "payload_in_millimetres"),
        ({"task__speed": (0.0, 1.0)}, "task_speed"),
        ({"task__force_proportional": 1.9}, "force_oscillates"),
        ({"payload__inertia": (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)}, "payload_without_mass"),
        (
            {"payload__mass": 1.0, "payload__inertia": (1.0, 2.0, 0.0, 1.0, 0.0, 1.0)},
            "payload_indefinite",
        ),
        (
            {"payload__mass": 1.0, "payload__inertia": (1.0, 0.0, 0.0, 1.0, 0.0, 3.0)},
            "payload_triangle",
        ),
        (
            {"payload__mass": 1.0, "payload__inertia": (1e3, 0.0, 0.0, 1e3, 0.0, 1e3)},
            "payload_too_large",
        ),
    ],
)
def test_parameters_that_fit_no_robot_are_refused(library, given, refusal):
    assert library.refusal(library.configured()["refusal"]) is None
    name, *_ = library.refusal(library.configured(**given)["refusal"])
    assert name == refusal


def test_own_gains_end_feedback_by_the_mass_matrix(library):
    settings = library.configured(rate=1000.0, gains__p=10.0, gains__d=1.0)["settings"]
    fields = library.views("settings", settings)
    assert (fields["kp"] == 10.0).all() and (fields["kd"] == 1.0).all()
    assert fields["inertia_weighted"][0] == 0.0


@pytest.mark.parametrize(
    ("factor", "told"), [(1.0005, False), (1.01, True)], ids=["printed digits", "another gain"]
)
def test_one_own_gain_ends_feedback_by_the_mass_matrix_and_is_told_with_its_joint(
    parts, library, factor, told
):
    rate = 100.0
    usual = library.configured(rate=rate)
    assert library.notice(usual["refusal"]) is None
    couples = library.views("settings", usual["settings"])["inertia_weighted"][0]
    p = library.views("parameters", usual["effective"])["gains.p"].copy()
    p[0] *= factor
    found = library.configured(rate=rate, gains__p=p)
    inertia_weighted = library.views("settings", found["settings"])["inertia_weighted"][0]
    assert inertia_weighted == (0.0 if told else couples)
    assert library.refusal(found["refusal"]) is None
    assert library.notice(found["refusal"]) == (("own_gains", 0) if told and couples else None)


def test_a_soft_margin_makes_a_spring_that_reaches_the_effort_limit_at_the_stop(parts, library):
    settings = library.configured(limits__soft_margin=0.1)["settings"]
    fields, limits = library.views("settings", settings), parts.robot.limits
    bounded = np.isfinite(limits.upper - limits.lower)
    width = (limits.upper - fields["soft_upper"])[bounded]
    np.testing.assert_allclose(width, 0.1, rtol=1e-6)
    np.testing.assert_allclose(
        (fields["soft_stiffness"] * 0.1)[bounded], limits.effort[bounded], rtol=1e-6
    )


@pytest.mark.thorough
def test_the_c_file_has_no_fault_that_sanitizers_find(request_, tmp_path):
    (tmp_path / "model.c").write_text(model_source(request_).whole())
    sources = [str(DRIVER), str(tmp_path / "model.c")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address,undefined"]
    include = DRIVER.parents[2] / "robot_dynamics_controllers" / "include"
    command = ["cc", *flags, "-fno-sanitize-recover=all", f"-I{include}", *sources]
    subprocess.run([*command, "-o", str(tmp_path / "driver"), "-lm"], check=True)
    done = subprocess.run([tmp_path / "driver"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "5000 cycles, all commands finite\n"


def test_sentences_are_those_of_the_controller_with_their_numbers(parts, library):
    model, robot = library.model, parts.robot
    units = {
        row.name.decode(): (row.of_translation, row.of_rotation)[model.joints[0].rotates].decode()
        for row in model.quantities[: model.quantity_count]
    }
    causes = [SENTENCES.get(one, FLAWS[Flaw.NONE]) for one in Cause]
    for rows, sentences in (
        (model.causes[: model.cause_count], causes),
        (model.refusals[: model.refusal_count], REFUSALS.values()),
        (model.flaws[: model.flaw_count], FLAWS.values()),
        (model.obstacles[: model.obstacle_count], OBSTACLES.values()),
    ):
        for row, sentence in zip(rows, sentences, strict=True):
            numbers = {"joint": robot.joint_names[0]}
            for name, x in (("value", 0.1234567), ("limit", 34567.8)):
                quantity = getattr(row, f"{name}_quantity").decode()
                is_whole = row.whole_from <= x < row.whole_below
                number = ("%.0f" if is_whole else row.format.decode()) % x
                numbers[name] = f"{number} {units.get(quantity, quantity)}".rstrip()
            text, remedy = row.text.decode(), row.remedy.decode()
            line = (f"{text}; {remedy}" if remedy else text).format(**numbers)
            assert line == sentence.line(robot, 0, 0.1234567, 34567.8)


@pytest.mark.thorough
def test_hostile_names_are_texts_and_one_symbol_is_exported(tmp_path):
    urdf = hostile_urdf()
    robot = read_urdf(urdf)
    command = 'robot-dynamics export model "*/ int x; /*"'
    request = ModelRequest(urdf, robot, {}, endpoint=end_effector_by_rule(robot), command=command)
    path = built(request, tmp_path)
    library = LoadedModel(path)
    assert library.joint_names == list(HOSTILE)
    assert library.model.robot.decode() == robot.name
    assert library.model.command.decode() == command
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in symbols.splitlines()] == ["robot_dynamics_model"]


@pytest.mark.thorough
def test_two_sources_of_a_robot_are_the_same_and_another_mass_changes_the_fingerprint():
    request = request_of("planar_2r")
    source = model_source(request).whole()
    assert source == model_source(request).whole() and source.isascii()
    other = request_of("planar_2r", bandwidth=10.0)

    def fingerprint(text):
        (line,) = [x for x in text.splitlines() if ".fingerprint" in x]
        return line

    assert fingerprint(source) != fingerprint(model_source(other).whole())
