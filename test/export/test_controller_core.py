"""The C++ core of an exported controller against `control.Controller`, step by step."""

import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.control import (
    MODES,
    Controller,
    Friction,
    Gains,
    Load,
    Measured,
    Model,
    Reference,
    Settings,
    SoftLimits,
)
from robot_dynamics.control.base_estimate import BaseEstimate
from robot_dynamics.control.collision import (
    REACTIONS,
    Collision,
    default_thresholds,
)
from robot_dynamics.control.control_cycle import JointSettings
from robot_dynamics.control.laws import ALL_MODES, TASK_MODES
from robot_dynamics.control.limits import velocity_limits
from robot_dynamics.control.sampling.tuning import gains_for
from robot_dynamics.control.status import Status
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import FRAME, ForceFeedback
from robot_dynamics.dynamics.variant import payload_numbers
from robot_dynamics.errors import ArgumentError
from robot_dynamics.export.control_kernels import (
    ControlKernels,
    DriveRows,
    hand_frame,
    payload_frame,
)
from robot_dynamics.export.hand_header import hand_hpp
from robot_dynamics.export.kernel_files import kernels_c, kernels_hpp
from robot_dynamics.export.robot_header import robot_hpp
from robot_dynamics.identification import Drives
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.kinematics.selection import SELECTION_AXES
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import Inertia, Pose
from robot_dynamics.statics.hand_statics import moved_wrench

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None, reason="g++ compiles the exported code; install it"
)

PARTS = ("base_estimate", "controller_core", "contacts", "friction_memory", "task")
RUNNER = Path(__file__).with_name("core_runner.cpp")
STRICT = [
    *("-O0", "-g", "-Wall", "-Wextra", "-Wconversion", "-Werror"),
    "-fsanitize=address,undefined",
]
STATUSES = [
    *(Status.WAITING, Status.SETTLING, Status.TRACKING, Status.HOLDING, Status.BLIND),
    *(Status.SILENT, Status.STOPPED, Status.RESUMED),
]
"""Statuses in the order of the C++ enumeration."""

ROUND_OFF = 1e-9
"""Largest difference per effort limit: both sides sum the same terms in another order."""


ROBOTS = ["ur5", *(pytest.param(x, marks=pytest.mark.thorough) for x in ("panda", "planar_2r"))]
POSE, TWIST, WRENCH = 1, 2, 3
TREMBLE = 2e-4  # rad or m: a joint that moves by more than 1e-4 has an open brake


BASE_TIMEOUT = 0.2
"""As of `Settings` of the C++ core, s."""

WAY = {"slip": np.array([2e-3]), "slip_ratio": np.array([3.0]), "elastic": np.array([0.4])}
"""Fields of friction with memory that an export fixes."""


def robot_named(name):
    robot = read_urdf(find_robot(name))
    locked = {n: 0.0 for n in robot.joint_names if "finger" in n}
    return robot.with_locked(locked) if locked else robot


@pytest.fixture(scope="module", params=ROBOTS)
def exported(request, tmp_path_factory):
    """A robot and the program that runs its core."""
    return built_core(request.param, tmp_path_factory)


@pytest.fixture(
    scope="module",
    params=["planar_2r", *(pytest.param(x, marks=pytest.mark.thorough) for x in ("panda", "ur5"))],
)
def on_moving_base(request, tmp_path_factory):
    """A robot and the program that runs its core on a base that may move."""
    return built_core(request.param, tmp_path_factory, "moving")


def built_core(name, tmp_path_factory, base="fixed"):
    robot = robot_named(name)
    folder = tmp_path_factory.mktemp(name)
    dynamics, endpoint = Dynamics(robot), payload_frame(robot)
    drives = Drives(replace(Friction.of(robot), **WAY), np.zeros(robot.dof))
    programs = ControlKernels(dynamics, endpoint, base=base).programs()
    (folder / "kernels.c").write_text(kernels_c("pkg", programs, {}))
    (folder / "kernels.hpp").write_text(kernels_hpp("pkg", programs))
    (folder / "robot.hpp").write_text(
        robot_hpp("pkg", dynamics, 20.0, None, endpoint, drives, base=base)
    )
    (folder / "hand.hpp").write_text(hand_hpp("pkg", dynamics, endpoint, None, "consistent"))
    parts = [f"{name}.{end}" for name in PARTS for end in ("hpp", "cpp")]
    for part in [*parts, "refusal.hpp", "rotation.hpp"]:
        text = (files("robot_dynamics.export") / "package" / "src" / part).read_text()
        (folder / part).write_text(text.replace("@package@", "pkg"))
    compile_c = ["gcc", "-std=c99", *STRICT, "-c", "kernels.c"]
    subprocess.run(compile_c, cwd=folder, check=True)
    core = ["g++", "-std=c++17", *STRICT, "-I.", RUNNER, *parts[1::2], "kernels.o"]
    subprocess.run([*core, "-o", "runner", "-lm"], cwd=folder, check=True)
    return robot, endpoint, folder / "runner"


class Core:
    """Requests to the C++ core, and its answers once it has run."""

    def __init__(self, n, program):
        self._n, self._program, self._asked = n, program, []
        self.updates = 0

    def ask(self, code, *numbers):
        flat = [np.ravel(np.asarray(x, dtype=float)) for x in (code, *numbers)]
        self._asked.append(np.concatenate(flat))

    def update(self, now, q, qd):
        self.ask(4, now, q, qd)
        self.updates += 1

    def answers(self):
        sent = np.concatenate(self._asked).tobytes()
        done = subprocess.run([self._program], input=sent, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        n = self._n
        rows = np.frombuffer(done.stdout).reshape(self.updates, 3 + 9 * n + 20)
        self.contacts = rows[:, 3 + 7 * n :][:, : 1 + 2 * n]
        self.hand = rows[:, 4 + 9 * n :]
        return rows[:, :3], rows[:, 3 : 3 + 7 * n].reshape(-1, 7, n)


def packed_task(task, model, settings):
    """Settings of the hand in the order of the runner; zeros without a task."""
    if task is None:
        return np.zeros(1 + 24 + 108 + 15 + 9)
    share = task.share(settings, model.fastest)
    x = task.mobility.constants(settings, model.bandwidth, model.fastest, share)
    names = ["largest", "selection", "held", "root", "damping", "mobility", "free_axis", "numbers"]
    return np.concatenate(
        [
            [settings.axes == FRAME],
            settings.stiffness.diagonal(),
            *(np.ravel(x[name]) for name in names),
            task.mobility.returning(settings, model.fastest, share),
            [settings.feedback is not None],
            task.mobility.feedback(settings, model.bandwidth),
            [0.1 if settings.feedback is None else settings.feedback.timeout],
            settings.speed,
            settings.acceleration,
        ]
    )


def packed(model, settings, load_ramp, load, task=None, of_task=None):
    """Settings of the C++ core."""
    n = model.dynamics.robot.dof
    none, infinite = np.zeros(n), np.full(n, np.inf)
    zones = settings.soft_limits or SoftLimits(-infinite, infinite, infinite, none, none)
    rows = {**vars(zones), **vars(model.gains), "allowed": settings.tracking_limit}
    rows |= {"rate": settings.effort_rate, "limit": model.dynamics.robot.limits.effort}
    friction = model.friction or Friction.none(n)
    rotor = none if model.rotor_inertia is None else model.rotor_inertia
    drives = {**{k: getattr(friction, k, none) for k in DriveRows._fields}, "rotor": rotor}
    s = settings
    return np.concatenate(
        [
            [list(ALL_MODES).index(s.mode), model.coupled],
            *(np.broadcast_to(rows[k], n) for k in JointSettings._fields),
            velocity_limits(model.dynamics.robot),
            *(np.broadcast_to(drives[k], n) for k in DriveRows._fields),
            [model.bandwidth, model.damping_ratio, model.friction_width],
            [s.fade, s.settle, s.stop, s.join, s.state_timeout, s.reference_timeout],
            [s.blind_time, load_ramp, s.longest_cycle],
            *load,
            [REACTIONS.index(s.collision.reaction), s.collision.gain, s.collision.time],
            default_thresholds(model.dynamics.robot)
            if s.collision.threshold is None
            else s.collision.threshold,
            packed_task(task, model, of_task),
        ]
    )


class Pair:
    """A Python controller and a C++ core that are given the same."""

    def __init__(self, robot, endpoint, program, rng, mode):
        n, self.robot, self.endpoint, self.rng = robot.dof, robot, endpoint, rng
        dynamics = Dynamics(robot)
        self.load = Load(robot, endpoint, np.array(robot.gravity))
        for ramp in (self.load.payload, self.load.gravity):
            ramp.duration = 0.1
        uneven = Friction(
            *(rng.uniform(0.1, 1.0, (2, n))), stiction=rng.uniform(0.0, 0.2, n),
            load=rng.uniform(0.0, 0.1, n), offset=rng.uniform(-0.1, 0.1, n),
            width=rng.choice([0.0, 0.05], n), memory=rng.choice([0.0, 0.75, 1.0], n), **WAY,
        )  # fmt: skip
        gains = Gains(*(rng.uniform(5.0, 50.0, (3, n))), i_clamp=np.full(n, 3.0))
        self.model = Model(
            dynamics, gains, uneven, bandwidth=15.0, rotor_inertia=rng.uniform(0.0, 0.1, n)
        )
        self.settings = Settings(
            mode, effort_rate=5.0 * robot.limits.effort, fade=0.03, settle=0.05, stop=0.1, join=0.1,
            reference_timeout=0.05, tracking_limit=0.3,
            soft_limits=SoftLimits.of(robot, gains.kd, margin=0.3),
        )  # fmt: skip
        self.task = Task(self.model, hand_frame(robot, endpoint, None))
        self.of_task = self.task.defaults
        self.python = Controller(self.model, self.settings, self.task)
        self.core = Core(n, program)
        self.payload, self.gravity = np.zeros(10), np.array(robot.gravity)
        self._send(0)
        self.expected, self.felt = [], []
        self.base = None

    def _send(self, code):
        load = self.payload, self.gravity
        task = self.task, self.of_task
        self.core.ask(code, packed(self.model, self.settings, 0.1, load, *task))

    def change(self, model=None, settings=None, of_task=None):
        self.model = model or self.model
        self.settings = settings or self.settings
        self.of_task = of_task or self.of_task
        self.python.change(self.model, self.settings)
        self.task.use(self.of_task)
        self._send(1)

    def target(self, kind, value, frame, lasts, now):
        """Send a pose, twist or wrench in axes of a frame at the last state."""
        if not self.python.in_task_space:
            return
        names, pose = self.robot.frame_names, Pose.identity()
        if frame is not None:
            pose = Pose(*frame_pose(self.robot, self.python._measured.q, frame))
        given, numbers = Pose.identity(), np.zeros(6)
        if kind == POSE:
            given = value
            self.task.aim(pose @ value, now)
        else:
            numbers = value
            turned = (pose.rotation @ value.reshape(2, 3).T).T.ravel()
            (self.task.drive if kind == TWIST else self.task.exert)(turned, now, lasts)
        index = len(names) if frame is None else names.index(frame)
        self.core.ask(6, now, kind, index, given.rotation, given.translation, numbers, lasts)

    def feel(self, wrench, frame, now):
        """Send a wrench of the surroundings on the hand, measured in a frame of its link."""
        tree = merge_fixed(self.robot)
        own, sensor = tree.frame(self.task.hand), tree.frame(frame)
        if self.task.settings.feedback is not None:
            self.task.feel(-moved_wrench(own.pose.inverse() @ sensor.pose, wrench), now)
            self.core.ask(8, now, self.robot.frame_names.index(frame), wrench)

    def carry(self, body, gravity):
        if self.endpoint is not None:
            self.load.carry(body, "")
            self.payload = payload_numbers(body)
        self.load.gravity.aim(gravity)
        self.gravity = gravity
        self.core.ask(2, self.payload, self.gravity)

    def take_base(self, time_constant):
        """Take the motion of the base by measurements from now on."""
        self.base = BaseEstimate(np.array(self.robot.gravity), time_constant, BASE_TIMEOUT)
        self.core.ask(9, self.robot.gravity, time_constant, BASE_TIMEOUT)

    def measure_base(self, kind, now, *numbers):
        """Give both a measurement, which both may refuse."""
        with suppress(ArgumentError):
            getattr(self.base, kind)(*numbers, now, now)
        self.core.ask({"imu": 10, "odometry": 11}[kind], *numbers, now)

    def reference(self, q, qd, tau, now):
        self.referred = now
        self.python.set_reference(Reference(q, qd, tau), now)
        self.core.ask(3, now, q, qd, np.zeros_like(q), 1.0, tau)

    def update(self, q, qd, now):
        self.python.model = self.load.on(self.model, now)
        if self.base is not None:
            self.python.model = replace(self.python.model, base=self.base.at(now))
        self.python.set_state(Measured(q, qd), now)
        if self.python._reference is not None:  # the node extrapolates between two messages
            ahead = min(now - self.referred, self.settings.reference_timeout)
            self.python._reference = self.python._reference._replace(ahead=ahead)
        self.core.update(now, q, qd)
        command = self.python.update(now)
        contacts, last = self.python.contacts, self.task.last
        touched = self.robot.dof if self.python.touched is None else self.python.touched
        hand = None
        if self.python.in_task_space and last is not None:
            pose = self.task.target.pose
            hand = [*pose.rotation.ravel(), *pose.translation, *last.error, last.singularity]
        self.expected.append((command, self.python.error))
        self.felt.append(([touched, *contacts.effort, *contacts.threshold], hand))

    def compare(self):
        head, rows = self.core.answers()
        limit = self.robot.limits.effort
        for k, (command, error) in enumerate(self.expected):
            if command is None:
                assert head[k, 0] == 0.0
                continue
            assert head[k, 0] == 1.0
            assert STATUSES[int(head[k, 1])] is command.status, k
            assert (np.abs(rows[k, 0]) <= limit).all()
            where = f"cycle {k}, {command.status}"
            np.testing.assert_allclose(
                rows[k, 0] / limit, command.tau / limit, rtol=0.0, atol=ROUND_OFF, err_msg=where
            )
            if error is not None:
                np.testing.assert_allclose(rows[k, 1], error, atol=ROUND_OFF)
            felt, hand = self.felt[k]
            if self.settings.collision.reaction != "none":
                np.testing.assert_allclose(self.core.contacts[k], felt, atol=1e-6, err_msg=where)
            if hand is not None:
                np.testing.assert_allclose(self.core.hand[k], hand, atol=1e-8, err_msg=where)
        return head, rows


def middle_of(robot):
    """A pose off the ends of the ranges, where soft limits push."""
    middle = (robot.limits.lower + robot.limits.upper) / 2.0
    return np.where(np.isfinite(middle), np.clip(middle, -1.7, 1.7), 0.0)


def random_load(rng, robot):
    body = Inertia.from_com(rng.uniform(0.1, 1.0), rng.uniform(-0.1, 0.1, 3), 0.01 * np.eye(3))
    return body, np.array(robot.gravity) + rng.normal(0.0, 0.5, 3)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_commands_what_the_python_controller_commands(exported, mode):
    robot, endpoint, program = exported
    rng = np.random.default_rng(list(MODES).index(mode))
    pair = Pair(robot, endpoint, program, rng, mode)
    n = robot.dof
    middle = middle_of(robot)
    amplitude, phase = rng.uniform(0.1, 0.3, n), rng.uniform(0.0, 6.0, n)
    now = 100.0
    seen = set()
    silent = (200, 260)
    for k in range(900):
        now += rng.choice([0.001, 0.002, 0.004])
        t = now - 100.0
        q_d = middle + amplitude * np.sin(2.0 * t + phase)
        qd_d = 2.0 * amplitude * np.cos(2.0 * t + phase)
        q = q_d + 0.02 * np.sin(3.0 * t) + rng.normal(0.0, 1e-4, n)
        qd = qd_d + rng.normal(0.0, 1e-3, n)
        if rng.random() < 0.004:
            silent = (k, k + int(rng.integers(20, 60)))
        if not silent[0] <= k < silent[1]:
            tau = pair.model.feedforward(q_d, qd_d, -4.0 * amplitude * np.sin(2.0 * t + phase))
            pair.reference(q_d, qd_d, tau, now)
        if rng.random() < 0.004:
            pair.carry(*random_load(rng, robot))
        if rng.random() < 0.003:
            w = rng.uniform(5.0, 20.0)
            pair.change(replace(pair.model, coupled=bool(rng.integers(2)), bandwidth=w))
        if rng.random() < 0.002:
            other = str(rng.choice(list(MODES)))
            pair.change(settings=replace(pair.settings, mode=other))
        pair.update(q, qd, now)
        seen.add(pair.python.status)
    pair.compare()
    assert {Status.SETTLING, Status.TRACKING, Status.HOLDING} <= seen


@pytest.mark.thorough
@pytest.mark.parametrize("measured_by", ["imu", "odometry"])
@pytest.mark.parametrize("mode", [*MODES, *TASK_MODES])
def test_on_a_moving_base_the_core_commands_what_the_python_controller_commands(
    on_moving_base, mode, measured_by
):
    robot, endpoint, program = on_moving_base
    rng = np.random.default_rng(list(ALL_MODES).index(mode))
    pair = Pair(robot, endpoint, program, rng, mode)
    pair.take_base(0.004)
    q, none, now = middle_of(robot), np.zeros(robot.dof), 5.0
    for k in range(700):
        now += 0.002
        phase = 2.0 * np.pi * (now - 5.0) * np.array([1.0, 1.7, 0.6])
        if 50 < k < 350 or k > 550:  # it begins late, and pauses for longer than its timeout
            turn, bad = 0.4 * np.sin(phase), rng.random() < 0.05
            spoilt = rng.choice([np.nan, 1e6]) if bad else 0.0
            turn += 30.0 * (rng.random() < 0.05)  # a jump
            if measured_by == "imu":
                force = np.array([0.5, 0.2, 9.5]) + 2.0 * np.sin(phase + 1.0)
                pair.measure_base("imu", now, force + spoilt, turn, [0.1, -0.2, 0.3])
            else:
                quaternion = np.append(0.1 * np.sin(phase), 1.0)
                twist = np.append(0.2 * np.cos(phase), turn)
                size = np.linalg.norm(quaternion)
                pair.measure_base("odometry", now, quaternion / size, twist + spoilt)
        sway = 0.05 * np.sin(3.0 * (now - 5.0))
        if not pair.python.in_task_space:
            tau = pair.model.feedforward(q + sway, none, none)
            pair.reference(q + sway, np.full_like(q, 0.15 * np.cos(3.0 * (now - 5.0))), tau, now)
        pair.update(q + 0.9 * sway + TREMBLE * np.sin(k), none + 0.1 * sway, now)
    pair.compare()
    assert np.abs(pair.base.at(now) - pair.base.still).max() > 0.1  # the base did move


def at_rest(exported, mode="feedforward", cycles=100):
    """Return a pair after a time at rest at a reference, its state and its time."""
    robot, endpoint, program = exported
    rng = np.random.default_rng(1)
    pair = Pair(robot, endpoint, program, rng, mode)
    q, none = middle_of(robot) + rng.uniform(-0.1, 0.1, robot.dof), np.zeros(robot.dof)
    tau = pair.model.feedforward(q, none, none)
    now = 5.0
    for k in range(cycles):
        now += 0.002
        pair.reference(q, none, tau, now)
        pair.update(q + TREMBLE * np.sin(k), none, now)
    return pair, q, none, tau, now


CAUSES = {1: "from its reference", 2: "against its reference", 3: "the reference of joint"}


def check_stop(pair, cause):
    head, _ = pair.compare()
    assert pair.python.status is Status.STOPPED
    assert head[-1, 2] == cause
    assert CAUSES[cause] in pair.python.stopped_by


def test_a_tracking_error_stops_the_arm_until_it_is_resumed(exported):
    pair, q, none, tau, now = at_rest(exported)
    for _ in range(50):
        now += 0.002
        pair.reference(q, none, tau, now)
        pair.update(q + 0.4, none, now)
    check_stop(pair, 1)
    q = q + 0.4
    pair.python.resume()
    pair.core.ask(5)
    for k in range(300):
        now += 0.002
        pair.reference(q, none, tau, now)
        pair.update(q + TREMBLE * np.sin(k), none, now)
    pair.compare()
    assert pair.python.status is Status.TRACKING


def test_a_reference_faster_than_a_joint_stops_the_arm(exported):
    pair, q, none, tau, now = at_rest(exported)
    for _ in range(50):
        now += 0.002
        pair.reference(q, none + 1.02 * pair.robot.limits.velocity, tau, now)
        pair.update(q, none, now)
    check_stop(pair, 3)


def test_motion_at_the_effort_limit_that_was_not_asked_for_stops_the_arm(exported):
    pair, q, none, _, now = at_rest(exported)
    for _ in range(500):
        now += 0.002
        pair.reference(q, none, 1.5 * pair.robot.limits.effort, now)
        pair.update(q, none + 0.5, now)
    check_stop(pair, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_states_that_are_not_finite_end_in_rest_by_the_model_and_then_in_silence(exported, bad):
    pair, q, none, tau, now = at_rest(exported)
    limit, rate = pair.robot.limits.effort, pair.settings.effort_rate
    pair.update(q, none, now)
    known = pair.core.updates
    for k in range(700):  # 1.4 s: 0.1 s of trust, 1 s without states
        now += 0.002
        pair.reference(q, none, tau, now)
        broken = q.copy()
        broken[k % len(q)] = bad
        pair.core.update(now, broken, none if k % 2 else none + bad)
    head, rows = pair.core.answers()
    commanded = head[known:, 0] == 1.0
    assert [STATUSES[int(s)] for s in dict.fromkeys(head[known:, 1])] == [
        *(Status.TRACKING, Status.BLIND, Status.SILENT),
    ]
    assert not commanded[-1]
    efforts = rows[known - 1 :, 0][np.concatenate([[True], commanded])]
    assert np.isfinite(efforts).all()
    assert (np.abs(efforts) <= limit).all()
    assert (np.abs(np.diff(efforts, axis=0)) <= rate * 0.002 * (1.0 + ROUND_OFF)).all()
    # At rest the last efforts hold the arm by the model alone
    holding = pair.model.feedforward(q, none, none)
    np.testing.assert_allclose(efforts[-1], holding, atol=1e-3)  # what the trembling leaves


def test_without_states_the_core_keeps_holding_a_load_that_the_model_does_not_know(exported):
    pair, q, none, tau, now = at_rest(exported)
    sunk = q + 0.02  # until feedback carries the load
    for _ in range(300):
        now += 0.002
        pair.reference(q, none, tau, now)
        pair.update(sunk, none, now)
    known = pair.core.updates
    for _ in range(400):
        now += 0.002
        pair.core.update(now, sunk + np.nan, none)
    head, rows = pair.core.answers()
    assert STATUSES[int(head[-1, 1])] is Status.BLIND
    before, after = rows[known - 1, 0], rows[-1, 0]
    carried = before - tau
    unknown = after - pair.model.feedforward(sunk, none, none)
    assert (np.abs(carried) > 0.1).all()
    # Feedback integrates for 0.1 s more, until the states count as stale
    np.testing.assert_allclose(unknown, carried, rtol=0.1)


def largest_step(pair, head, rows, first):
    commanded = rows[first - 1 :, 0][np.append(True, head[first:, 0] == 1.0)]
    return (np.abs(np.diff(commanded, axis=0)) / pair.robot.limits.effort).max()


SMOOTH = 0.05
"""Change of an effort in 2 ms per limit: a quarter of what `without_rate` allows."""


def without_rate(pair):
    """Let efforts change at once, so that steps show, under the default gains."""
    gains = gains_for(pair.model.dynamics, period=1e-3, delay=1e-3)
    rate = 100.0 * pair.robot.limits.effort
    settings = replace(pair.settings, effort_rate=rate, join=0.5)
    pair.change(replace(pair.model, gains=gains), settings)


def test_a_reference_that_goes_on_elsewhere_is_joined_without_a_step(exported):
    pair, q, none, _, now = at_rest(exported)
    without_rate(pair)
    first, away = pair.core.updates, q.copy()
    away += 0.25  # within the tracking error, so that the arm goes there
    head = rows = None
    for k in range(600):
        now += 0.002
        # The arm follows what the core asks for, which the next call reveals
        pair.core.ask(3, now, away, none, none, 0.0, none)
        pair.core.update(now, q + TREMBLE * np.sin(k), none)
        if k == 60:
            head, rows = pair.core.answers()
    assert STATUSES[int(head[-1, 1])] is Status.TRACKING
    assert largest_step(pair, head, rows, first) < SMOOTH


def test_states_that_are_missing_for_a_moment_in_motion_cause_no_step(exported):
    pair, q, none, _, now = at_rest(exported, cycles=200)
    without_rate(pair)
    first, rate = pair.core.updates, none + 0.5
    for k in range(200):
        now += 0.002
        t = 0.002 * k
        ramp = min(t / 0.1, 1.0)
        along = 0.5 * (t - 0.05 if t > 0.1 else t * t / 0.2)
        pair.core.ask(3, now, q + along, ramp * rate, none, 0.0, none)
        lost = 100 <= k < 110
        pair.core.update(now, q + along + (np.nan if lost else 0.0), ramp * rate)
    head, rows = pair.core.answers()
    assert {STATUSES[int(s)] for s in head[first:, 1]} == {Status.TRACKING}
    assert largest_step(pair, head, rows, first + 60) < SMOOTH


@pytest.mark.parametrize("messages", [1, 3, 20])
def test_references_that_are_replayed_fast_are_joined_without_a_step(exported, messages):
    pair, q, none, _, now = at_rest(exported, cycles=200)
    without_rate(pair)
    speed, sent = 0.3, 0

    def send():
        nonlocal sent
        ramp = min(sent / 100, 1.0)
        along = 0.002 * speed * (sent - 50 if sent > 100 else sent * sent / 200)
        pair.core.ask(3, now, q + along, none + ramp * speed, none, 0.0, none)
        sent += 1
        return q + along

    for _ in range(200):
        now += 0.002
        at = send()
        pair.core.update(now, at, none + min(sent / 100, 1.0) * speed)
    stops = pair.core.updates
    for _ in range(150):  # longer than a timeout
        now += 0.002
        pair.core.update(now, at, none)
    begins, due = pair.core.updates, sent + 150
    while sent < due:  # those that were missed, some in each cycle, and those of the cycle
        now += 0.002
        due += 1
        sent = min(sent + messages, due - 1)  # of those that come in a cycle the last one counts
        send()
        pair.core.update(now, at + TREMBLE * np.sin(sent), none)
    head, rows = pair.core.answers()
    assert STATUSES[int(head[stops - 1, 1])] is Status.TRACKING
    assert STATUSES[int(head[begins - 1, 1])] is Status.HOLDING
    assert STATUSES[int(head[-1, 1])] is Status.TRACKING
    assert largest_step(pair, head, rows, begins) < SMOOTH
    moved = np.abs(rows[begins : begins + 40, 2] - rows[begins - 1, 2])
    assert moved.max() < 0.02  # rad or m; 0.005 of jumps are followed


def test_references_that_come_unevenly_are_followed_where_they_are(exported):
    pair, q, none, _, now = at_rest(exported, cycles=200)
    rng = np.random.default_rng(3)
    first = pair.core.updates
    planned = []
    for k in range(1000):
        now += 0.002
        t = 0.002 * k
        at, speed = q + 0.3 * (1.0 - np.cos(2.0 * t)), none + 0.6 * np.sin(2.0 * t)
        planned.append(at)
        if rng.random() < 0.7:  # the others do not come
            pair.core.ask(3, now, at, speed, none, 0.0, none)
        pair.core.update(now, at, speed)
    head, rows = pair.core.answers()
    assert {STATUSES[int(s)] for s in head[first:, 1]} == {Status.TRACKING}
    late = np.abs(rows[first:, 2] - planned)[200:].max()
    assert late < 1e-4  # rad; 1.2 rad/s^2 for the longest pause, five cycles: 6e-5


def test_references_that_jump_to_and_fro_leave_feedback_as_it_is(exported):
    efforts = []
    for jitter in (0.0, 0.005):  # s by which every second reference is late
        pair, q, none, _, now = at_rest(exported, cycles=200)
        without_rate(pair)
        for k in range(600):
            now += 0.002
            t, late = 0.002 * k, 0.002 * k - jitter * (k % 2) * (k > 100)
            along, speed = 0.2 * (1.0 - np.cos(2.0 * late)), none + 0.4 * np.sin(2.0 * late)
            pair.core.ask(3, now, q + along, speed, none, 0.0, none)
            behind = 0.2 * (1.0 - np.cos(2.0 * t)) - 0.01  # feedback works against that
            pair.core.update(now, q + behind, none + 0.4 * np.sin(2.0 * t))
        efforts.append(pair.core.answers()[1][-100:, 0].mean(axis=0))
    even, uneven = efforts
    kp = gains_for(pair.model.dynamics, period=1e-3, delay=1e-3).kp
    # The reference is half of the jitter behind, at 0.4 rad/s
    assert (np.abs(even - uneven) < 1.2e-3 * kp).all()


def test_after_a_pause_of_the_loop_the_reference_is_followed_where_it_is(exported):
    pair, q, none, _, now = at_rest(exported, cycles=200)
    first, t, planned = pair.core.updates, 0.0, []
    for k in range(600):
        step = 0.08 if k == 300 else 0.002
        now, t = now + step, t + step
        at, speed = q + 0.3 * (1.0 - np.cos(2.0 * t)), none + 0.6 * np.sin(2.0 * t)
        planned.append(at)
        pair.core.ask(3, now, at, speed, none, 0.0, none)
        pair.core.update(now, at, speed)
    head, rows = pair.core.answers()
    assert {STATUSES[int(s)] for s in head[first:, 1]} == {Status.TRACKING}
    assert np.abs(rows[first:, 2] - planned)[200:].max() < 1e-9


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_references_that_are_not_finite_count_as_none(exported, bad):
    pair, q, none, tau, now = at_rest(exported)
    for _ in range(100):
        now += 0.002
        for wrong in ((q + bad, none, tau), (q, none, np.where(tau == tau[0], bad, tau))):
            with np.errstate(invalid="ignore"):
                pair.reference(*wrong, now)
        pair.update(q, none, now)
    pair.compare()
    assert pair.python.status is Status.HOLDING


def test_without_given_efforts_the_core_computes_those_of_the_motion(exported):
    pair, q, none, _, now = at_rest(exported, cycles=200)
    rng = np.random.default_rng(2)
    qd, qdd = rng.uniform(-0.1, 0.1, (2, len(q)))
    for _ in range(3):
        now += 0.002
        pair.core.ask(3, now, q, qd, qdd, 0.0, none)
        pair.core.update(now, q, none)
    _, rows = pair.core.answers()
    asked = pair.model.feedforward(q, qd, qdd)
    limit = pair.robot.limits.effort
    np.testing.assert_allclose(rows[-1, 4] / limit, asked / limit, rtol=0.0, atol=ROUND_OFF)


class Arm:
    """A pair whose efforts move an arm without friction."""

    def __init__(self, exported, mode, seed=0, **settings):
        robot, endpoint, program = exported
        self.pair = Pair(robot, endpoint, program, np.random.default_rng(seed), mode)
        model = replace(self.pair.model, friction=None, rotor_inertia=None, bandwidth=8.0)
        self.pair.change(model, replace(self.pair.settings, **settings))
        self.dynamics, self.now = model.dynamics, 10.0
        self._uneven = np.random.default_rng(9)
        self.q, self.qd = middle_of(robot) + 0.3, np.zeros(robot.dof)

    def go(self, cycles, push=0.0):
        """Move on while efforts push the joints from outside."""
        for _ in range(cycles):
            # Uneven: with as many steps up as down, round-off decides whether a target rests
            step = 0.002 * self._uneven.uniform(0.9, 1.1)
            self.now += step
            self.pair.update(self.q.copy(), self.qd.copy(), self.now)
            tau = self.pair.expected[-1][0].tau + push
            self.qd = self.qd + step * self.dynamics.forward(self.q, self.qd, tau)
            self.q = self.q + step * self.qd

    @property
    def status(self):
        return self.pair.python.status


def random_target(rng, arm):
    """Send a target of any kind near the hand, or beside it."""
    pair = arm.pair
    kind = int(rng.choice([POSE, POSE, TWIST, WRENCH]))
    if kind == POSE:
        turn = np.linalg.qr(np.eye(3) + rng.normal(0.0, 0.1, (3, 3)))[0]
        turn *= np.sign(turn.diagonal())
        here = pair.task.pose(pair.model, arm.q)
        value, frame = Pose(turn @ here.rotation, here.translation + rng.normal(0.0, 0.1, 3)), None
        if rng.random() < 0.5:  # of the hand itself
            value, frame = Pose(turn, rng.normal(0.0, 0.1, 3)), pair.task.hand
    else:
        value = rng.normal(0.0, 0.1 if kind == TWIST else 3.0, 6)
        frame = rng.choice([None, *pair.robot.frame_names])
    pair.target(kind, value, frame, float(rng.uniform(0.02, 0.3)), arm.now)


@pytest.mark.parametrize(
    "mode", ["cartesian_impedance", pytest.param("operational_space", marks=pytest.mark.thorough)]
)
def test_the_hand_is_commanded_as_by_the_python_controller(exported, mode):
    arm, rng = Arm(exported, mode, reference_timeout=0.2), np.random.default_rng(3)
    pair, usual = arm.pair, arm.pair.of_task
    seen, most = set(), 0.0
    arm.go(1)  # a target before the first state is ignored
    for k in range(150):
        event = rng.random()
        if event < 0.5:
            random_target(rng, arm)
        elif event < 0.6:
            axes, ratio = str(rng.choice(SELECTION_AXES)), rng.uniform(0.5, 2.0)
            axis = rng.choice([0.0, 1.0], 3) * (rng.random() < 0.5)
            pair.change(
                of_task=replace(
                    usual, axes=axes, stiffness=ratio * usual.stiffness, free_axis=axis,
                    damping_ratio=float(rng.uniform(0.3, 1.0)),
                    speed=tuple(rng.uniform(0.02, 1.0, 2)),
                )
            )  # fmt: skip
        elif event < 0.65:
            pair.change(settings=replace(pair.settings, mode=str(rng.choice([*TASK_MODES]))))
        elif event < 0.67:
            pair.task.stop()
            pair.core.ask(7)
        elif event < 0.7:
            pair.carry(*random_load(rng, pair.robot))
        elif event < 0.72 and k > 50:
            pair.change(settings=replace(pair.settings, mode="feedforward"))
        elif event < 0.75:
            pair.change(settings=replace(pair.settings, mode=mode))
        elif event < 0.78:
            pair.python.resume()
            pair.core.ask(5)
        arm.go(int(rng.integers(1, 20)))
        seen.add(arm.status)
        most = max(most, np.abs(pair.task.target.twist).max())
    pair.compare()
    assert {Status.TRACKING, Status.HOLDING} <= seen
    assert most > 0.05


def test_a_pushed_hand_returns_as_by_the_python_controller(exported):
    arm = Arm(exported, "cartesian_impedance")
    pair = arm.pair
    slow = replace(pair.of_task, speed=(0.05, 0.1))
    pair.change(replace(pair.model, fastest=40.0), of_task=slow)
    arm.go(150)
    assert arm.status is Status.HOLDING
    light = pair.robot.name == "panda"
    force = np.array([20.0 if light else 0.0, 0.0, 0.0 if light else 40.0, 0.0, 0.0, 0.0])
    for _ in range(100):
        arm.go(1, push=arm.dynamics.jacobian(arm.q, pair.task.hand).T @ force)
    speeds = []
    for _ in range(300):
        arm.go(1)
        speeds.append(np.linalg.norm((arm.dynamics.jacobian(arm.q, pair.task.hand) @ arm.qd)[:3]))
    pair.compare()
    assert 0.045 < max(speeds[150:]) < 0.051  # once the hand has turned round


def test_a_target_slows_down_before_a_stretched_pose_as_by_the_python_controller(exported):
    arm = Arm(exported, "cartesian_impedance", reference_timeout=1.0)
    pair = arm.pair
    pair.change(of_task=replace(pair.of_task, speed=(2.0, 3.0), acceleration=(10.0, 10.0)))
    arm.go(150)
    here = pair.task.pose(pair.model, arm.q).translation
    out, slowed = np.array([*here[:2], 0.0, 0.0, 0.0, 0.0]) / np.linalg.norm(here[:2]), False
    for _ in range(60):
        pair.target(TWIST, 2.0 * out, None, 0.3, arm.now)
        arm.go(10)
        slowed |= pair.task.target._speed[0] < 2.0
    pair.compare()
    assert slowed


@pytest.mark.parametrize(
    "mode", ["cartesian_impedance", pytest.param("operational_space", marks=pytest.mark.thorough)]
)
def test_a_force_is_corrected_as_by_the_python_controller(exported, mode):
    arm, rng = Arm(exported, mode, reference_timeout=1.0), np.random.default_rng(4)
    pair = arm.pair
    tree = merge_fixed(pair.robot)
    link = tree.frame(pair.task.hand).link
    frames = [name for name in pair.robot.frame_names if tree.frame(name).link == link]
    controlled = (*pair.of_task.controlled[:1], "force", *pair.of_task.controlled[2:])
    without = replace(pair.of_task, controlled=controlled)
    pair.change(of_task=replace(without, feedback=ForceFeedback(largest=(4.0, 1.0))))
    arm.go(150)
    most = 0.0
    for k in range(90):
        if k % 6 == 0:
            wrench = rng.normal(0.0, 5.0, 6)
            pair.target(WRENCH, wrench, None, 0.3, arm.now)
        if not 30 <= k < 60:  # longer than the timeout, so that the correction fades
            pair.feel(rng.normal(0.0, 2.0, 6) - wrench / 2.0, str(rng.choice(frames)), arm.now)
        elif k == 59:
            assert not pair.task.feels(arm.now)
        if k in (80, 85):
            pair.change(of_task=without if k == 80 else replace(without, feedback=ForceFeedback()))
        arm.go(5)
        most = max(most, np.abs(pair.task.correction).max())
    pair.compare()
    assert most > 0.1


def test_the_efforts_of_a_wrench_are_those_of_the_node(exported):
    robot, endpoint, _ = exported
    dynamics, rng = Dynamics(robot), np.random.default_rng(5)
    model = Model(dynamics, gains_for(dynamics))
    task = Task(model, hand_frame(robot, endpoint, None))
    program = ControlKernels(dynamics, endpoint).programs()["wrench_effort"]
    kernel = compile_program(program)
    q, wrench = middle_of(robot), rng.normal(0.0, 5.0, 6)
    for axes in SELECTION_AXES:
        settings = replace(task.defaults, axes=axes, controlled=("free", *["force"] * 5))
        task.use(settings)
        task.target.begin(np.linalg.qr(rng.normal(size=(3, 3)))[0], np.zeros(3))
        S = task.target.rotation if axes == FRAME else np.eye(3)
        found = kernel(q, wrench, S, settings.held)
        expected = task.wrench_effort(model, q, wrench)
        np.testing.assert_allclose(found, expected, atol=1e-12)


USUAL = [("stop", "cartesian_impedance"), ("float", "feedforward"), ("retreat", "feedforward")]
PUSHED = [
    pytest.param(*x, marks=() if x in USUAL else pytest.mark.thorough)
    for x in product(REACTIONS, ("feedforward", "cartesian_impedance"))
]


@pytest.mark.parametrize(("reaction", "mode"), PUSHED)
def test_a_push_is_answered_as_by_the_python_controller(exported, reaction, mode):
    arm = Arm(exported, mode, collision=Collision(reaction, time=0.004))
    pair, none = arm.pair, 0.0 * arm.q
    here = arm.q.copy()

    def go(cycles, push=0.0):
        for _ in range(cycles):
            if not pair.python.in_task_space:
                pair.reference(here, none, pair.model.feedforward(here, none, none), arm.now)
            elif arm.status in (Status.HOLDING, Status.TRACKING):
                hand = pair.task.target.pose
                moved = Pose(hand.rotation, hand.translation + [0.0, 0.0, 1e-3])
                pair.target(POSE, moved, None, 0.0, arm.now)
            arm.go(1, push)

    go(80)
    assert arm.status is Status.TRACKING
    go(30, push=0.3 * default_thresholds(pair.robot)[0] * np.eye(len(here))[0])
    touched = len(pair.expected)
    go(60, push=4.0 * default_thresholds(pair.robot)[0] * np.eye(len(here))[0])
    go(300)
    pair.python.resume()
    pair.core.ask(5)
    go(200)
    head, _ = pair.compare()
    stopped = reaction not in ("none", "report")
    assert (head[touched:, 2] == len(CAUSES) + 1).any() == stopped
    assert (head[:touched, 2] == 0.0).all()
    felt = pair.core.contacts[touched:, 0] < len(here)
    assert felt.any() == (reaction not in ("none", "float"))  # a floating arm is led
