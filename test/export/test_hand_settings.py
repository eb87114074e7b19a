"""Settings of the hand in the exported C++ against those of the nodes."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Model, gains_for
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import FRAME, ROOT, ForceFeedback, TaskSettings
from robot_dynamics.control.task_space import CONSISTENT
from robot_dynamics.errors import ArgumentError
from robot_dynamics.export.control_kernels import payload_frame
from robot_dynamics.export.hand_header import hand_hpp
from robot_dynamics.export.robot_header import robot_hpp
from robot_dynamics.identification import Drives
from robot_dynamics.robot import find_robot

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None, reason="g++ compiles the exported code; install it"
)

RUNNER = Path(__file__).with_name("hand_runner.cpp")
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
ROUND_OFF = 1e-9  # of the largest number of a matrix; eigenvalues by other rotations

LISTS = (
    *("stiffness", "damping", "inertia"),
    *("largest_error", "free_axis", "speed", "acceleration", "force_largest", "controlled"),
)


@pytest.fixture(scope="module")
def arm():
    robot = read_urdf(find_robot("planar_2r"))
    dynamics = Dynamics(robot)
    return Task(Model(dynamics, gains_for(dynamics)), payload_frame(robot))


@pytest.fixture(scope="module")
def program(arm, tmp_path_factory):
    folder, dynamics = tmp_path_factory.mktemp("hand"), arm.dynamics
    drives = Drives(Friction.of(dynamics.robot), np.zeros(dynamics.robot.dof))
    (folder / "robot.hpp").write_text(robot_hpp("pkg", dynamics, 20.0, None, arm.hand, drives))
    (folder / "hand.hpp").write_text(hand_hpp("pkg", dynamics, arm.hand, None, CONSISTENT))
    for name in ("task.hpp", "refusal.hpp", "hand_settings.hpp", "hand_settings.cpp"):
        text = (files("robot_dynamics.export") / "package" / "src" / name).read_text()
        (folder / name).write_text(text.replace("@package@", "pkg"))
    words = ["g++", "-std=c++17", "-O1", *WARNINGS, "-I.", RUNNER, "hand_settings.cpp"]
    subprocess.run([*words, "-o", "hand"], cwd=folder, check=True)
    return folder / "hand"


def line_of(bandwidth, fastest, given):
    usual = TaskSettings(np.ones(6), np.ones(6))
    x = {k: getattr(usual, k) for k in LISTS[3:7]} | dict.fromkeys((*LISTS[:3], "controlled"), ())
    x |= {"damping_ratio": 1.0, "posture_frequency": 2.0, "settling": 10.0, "axes": ROOT} | given
    force = x.pop("feedback", None)
    feels, force = force is not None, force or ForceFeedback()
    if isinstance(force, ForceFeedback):
        force = vars(force)
    x["force_largest"] = force["largest"]
    lists = [" ".join(map(str, [np.size(x[k]), *np.ravel(x[k])])) for k in LISTS]
    numbers = (x["axes"], x["damping_ratio"], x["posture_frequency"], x["settling"], int(feels))
    numbers = (*numbers, force["proportional"], force["integral"])
    return " ".join(map(str, [bandwidth, fastest, *numbers, *lists]))


def answers(program, lines):
    done = subprocess.run(
        [program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def random_matrix(rng, rank=6):
    A = rng.normal(size=(6, rank)) * rng.uniform(1.0, 30.0)
    return (A @ A.T).ravel()


def random_settings(rng):
    given = {"axes": str(rng.choice([ROOT, FRAME])), "damping_ratio": rng.uniform(0.0, 2.0)}
    if rng.random() < 0.7:
        given["stiffness"] = random_matrix(rng, int(rng.integers(1, 7)))
    if rng.random() < 0.3:
        given["damping"] = random_matrix(rng)
    if rng.random() < 0.5:
        given["inertia"] = random_matrix(rng) if rng.random() < 0.5 else rng.uniform(0.1, 9.0, 6)
    if rng.random() < 0.5:
        given["controlled"] = tuple(map(str, rng.choice(["motion", "force", "free"], 6)))
    if rng.random() < 0.5:
        given["free_axis"] = rng.normal(size=3)
    if rng.random() < 0.5:
        given["feedback"] = ForceFeedback(rng.uniform(0.0, 0.9), rng.uniform(0.0, 0.5), (9.0, 2.0))
    return given


def test_settings_equal_those_of_the_nodes(arm, program):
    rng = np.random.default_rng(0)
    cases = [
        (rng.uniform(2.0, 40.0), rng.choice([5.0, 50.0, 500.0]), random_settings(rng))
        for _ in range(60)
    ]
    shares = set()
    for case, line in zip(cases, answers(program, [line_of(*c) for c in cases]), strict=True):
        bandwidth, fastest, given = case
        usual = arm.mobility.defaults(bandwidth, fastest)
        settings = TaskSettings(
            **{"stiffness": usual.stiffness, "inertia": usual.inertia}
            | {"controlled": usual.controlled}
            | given
        )
        share = arm.share(settings, fastest)
        x = arm.mobility.constants(settings, bandwidth, fastest, share)
        expected = [
            settings.stiffness.diagonal(),
            x["root"] @ x["root"].T,
            *(x[k] for k in ("damping", "mobility", "largest", "selection", "held")),
            *(x[k] for k in ("free_axis", "numbers")),
            arm.mobility.returning(settings, fastest, share),
            arm.mobility.feedback(settings, bandwidth),
            *(settings.speed, settings.acceleration, [settings.axes == FRAME, share]),
        ]
        found = np.array(line.split(), dtype=float)
        for part in (np.ravel(np.asarray(x, dtype=float)) for x in expected):
            ours, found = np.split(found, [len(part)])
            assert np.abs(ours - part).max() <= ROUND_OFF * max(np.abs(part).max(), 1e-3)
        shares.add(share < 1.0)
    assert shares == {True, False}


def test_impossible_settings_are_refused_as_by_the_nodes(program):
    skew = np.eye(6)
    skew[0, 1] = 1.0
    cases = [
        {"stiffness": skew.ravel()},
        {"stiffness": np.array([1.0, 1.0, 1.0, 1.0, 1.0, -2.0])},
        {"inertia": np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])},
        {"controlled": ("motion",) * 5 + ("fre",)},
        {"controlled": ("motion",) * 5},
        {"largest_error": np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])},
        {"speed": np.array([1.0, 0.0])},
    ]
    lines = answers(program, [line_of(20.0, 100.0, case) for case in cases])
    for case, line in zip(cases, lines, strict=True):
        with pytest.raises(ArgumentError) as refused:
            TaskSettings(**{"stiffness": np.ones(6), "inertia": np.ones(6)} | case)
        assert line == f"task.{refused.value}"


def test_impossible_feedback_of_the_force_is_refused_as_by_the_nodes(program):
    cases = [
        {"proportional": 1.5, "integral": 0.3, "largest": (20.0, 5.0)},
        {"proportional": 0.5, "integral": 0.2, "largest": (20.0, 0.0)},
    ]
    lines = answers(program, [line_of(20.0, 100.0, {"feedback": case}) for case in cases])
    for case, line in zip(cases, lines, strict=True):
        with pytest.raises(ArgumentError) as refused:
            ForceFeedback(**case)
        assert line == f"task.force_{refused.value}"
    given = {
        "feedback": ForceFeedback(), "damping": np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
        "controlled": ("motion", "force", "motion", "free", "free", "motion"),
    }  # fmt: skip
    (line,) = answers(program, [line_of(20.0, 100.0, given)])
    with pytest.raises(ArgumentError) as refused:
        TaskSettings(**{"stiffness": np.ones(6), "inertia": np.ones(6)} | given)
    assert line == f"task.{refused.value}"
