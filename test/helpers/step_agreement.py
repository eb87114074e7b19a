"""The variants of the step side by side: plain Python, native kernels, SIMD lanes, the C library.

In every cycle all variants start from the same state, that of the native kernels. A variant can
then decide differently only where a comparison is within round-off of its threshold, and no
difference hides a later one.
"""

import tempfile
import timeit
from dataclasses import dataclass, field, replace

import numpy as np

from hostile_cycles import HostileCycles
from loaded_model import LoadedModel, built
from robot_dynamics.compiler.native.loop.loop_steps import LookUp
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control import Controller, Friction, Model, Settings, gains_for
from robot_dynamics.control.limits import default_tracking_errors, effort_limits
from robot_dynamics.control.step_kernels import RunningStep
from robot_dynamics.control.task import Task
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.export.model_library import ModelRequest
from robot_dynamics.robot import read_urdf, urdf_text
from robot_dynamics.robot.endpoint import end_effector_by_rule
from robot_dynamics.simulation.simd.stage import fused
from robot_dynamics.simulation.simd.step_stages import ARRIVED, SETTINGS, StepLanes

AGREE = 1e-9
"""Largest difference of efforts per effort limit; of other fields relative to their own size."""

SHAKES = 8 * tuple(10.0**-k for k in range(10, 17))
"""Relative changes of the inputs, which find decisions within round-off; a square root near zero
magnifies the larger ones."""

RATE = 20.0
"""Largest change of effort per second, relative to the effort limit."""

DECISIONS = (
    *("status", "cause", "stop_joint", "law", "touched", "brake_joint", "commands", "follows"),
    *("entered", "begins", "paused", "armed", "jumps", "blends", "looks", "observes"),
)

MIXED = """<robot name="mixed">
  <link name="base"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0.6 0.8"/>
    <limit effort="80" velocity="3"/><dynamics damping="0.5" friction="0.3"/></joint>
  <link name="a"><inertial><origin xyz="0.1 0 0.2"/><mass value="3"/>
    <inertia ixx="0.05" iyy="0.06" izz="0.04" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
    <origin xyz="0 0 0.4" rpy="0.3 0 0.2"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" effort="200" velocity="1"/></joint>
  <link name="b"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.03" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <joint name="bend" type="revolute"><parent link="b"/><child link="c"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="60" velocity="3"/><dynamics damping="0.1"/></joint>
  <link name="c"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="follower" type="revolute"><parent link="c"/><child link="d"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 1 0"/><mimic joint="bend" multiplier="-0.5" offset="0.1"/>
    <limit lower="-2" upper="2" effort="60" velocity="3"/></joint>
  <link name="d"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""
"""An arm with continuous, prismatic and mimic joints."""

IN_TASK_SPACE = "_in_task_space"

ARMS = ("planar_2r", "ur5", "panda", "mixed", "ur5_in_task_space")
"""The last one has modes in task space, and its base moves."""


def urdf_of(name):
    """Text of the URDF of one of `ARMS`."""
    return MIXED if name == "mixed" else urdf_text(name.removesuffix(IN_TASK_SPACE))


class Robot:
    """The step of one robot in all variants, compiled.

    Args:
        name: One of `ARMS`.
        in_c: Whether the C library is one of them.
    """

    def __init__(self, name, *, in_c=False):
        self.name = name
        whole = read_urdf(urdf_of(name))
        locked = {joint: 0.0 for joint in whole.joint_names if "finger" in joint}
        robot = whole.with_locked(locked) if locked else whole
        dynamics, frame = Dynamics(robot), end_effector_by_rule(robot)
        friction = replace(Friction.of(robot), memory=0.05 * (name == "mixed"))
        model = Model(dynamics, gains_for(dynamics), friction, frame=frame)
        settings = Settings(
            effort_rate=RATE * effort_limits(robot),
            tracking_limit=default_tracking_errors(robot),
            open_loop_timeout=0.4,
        )
        task = None
        self.in_task_space = name.endswith(IN_TASK_SPACE)
        if self.in_task_space:
            model = replace(model, base=np.concatenate([robot.gravity, np.zeros(12)]))
            settings, task = replace(settings, mode="cartesian_impedance"), Task(model, frame)
        self.first = Controller(model, settings, task)._run
        self.kernels = self.first.kernels
        self.step = self.kernels.step
        self.lanes = StepLanes(self.step)
        self.loop = self.lanes.loop(self.kernels.robot)
        self.library = None
        if in_c:
            with tempfile.TemporaryDirectory() as folder:
                request = ModelRequest(
                    urdf_of(name),
                    whole,
                    locked,
                    endpoint=frame,
                    end_effector=frame if self.in_task_space else None,
                    base_moves=self.in_task_space,
                )
                self.library = LoadedModel(built(request, folder))

    def begun(self):
        """Return a native step with the first settings."""
        run = RunningStep(self.kernels)
        run.go_on_from(self.first)
        return run

    def cycles(self, run, seed):
        """Return hostile cycles that fill what a native step is given."""
        step = self.step
        arrived, settings = (
            {name: vector[layout.slices[name]] for name in layout}
            for layout, vector in ((step.arrived, run.arrived), (step.settings, run.settings))
        )
        rng = np.random.default_rng(seed)
        return HostileCycles(rng, arrived, settings, tasks=self.in_task_space)


@dataclass
class Found:
    """Comparison of a variant with the native kernels.

    Attributes:
        sequences: Number of sequences.
        cycles: Number of cycles.
        effort: Largest difference of efforts, per effort limit.
        elsewhere: Largest relative difference of other fields of the state.
        where: Field of that difference.
        round_off: Cycles in which a comparison was within round-off of its threshold.
        faults: Descriptions of other differences.
    """

    sequences: int = 0
    cycles: int = 0
    effort: float = 0.0
    elsewhere: float = 0.0
    where: str = ""
    round_off: int = 0
    faults: list = field(default_factory=list)


class Agreement:
    """Compares variants of the step in hostile sequences that run side by side.

    Args:
        robot: The robot.
        variants: Names of variants: "lanes", "plain" or "c".
    """

    def __init__(self, robot, variants=("lanes",)):
        self.robot, self.step = robot, robot.step
        self.found = {name: Found() for name in variants}
        self.statuses, self.causes = set(), set()
        self._decisions = np.concatenate(
            [
                np.arange(part.start, part.stop)
                for part in map(self.step.state.slices.get, DECISIONS)
            ]
        )
        self._tau = self.step.state.slices["tau"]
        self._names = list(self.step.state)
        self._starts = [self.step.state.slices[name].start for name in self._names]

    def run(self, seeds, cycles):
        """Compare in sequences of these seeds; return the comparisons by variant."""
        robot, count = self.robot, len(seeds)
        runs = [robot.begun() for _ in seeds]
        sources = [robot.cycles(run, seed) for run, seed in zip(runs, seeds, strict=True)]
        memory = robot.loop.memory(count)
        for found in self.found.values():
            found.sequences += count
        for k in range(cycles):
            for source in sources:
                source.next()
            before = np.array([run.state for run in runs])
            arrived = np.array([run.arrived for run in runs])
            settings = np.array([run.settings for run in runs])
            ours = np.array([run.advance() for run in runs])
            for name, seen in (("status", self.statuses), ("cause", self.causes)):
                seen |= set(ours[:, self.step.state.slices[name].start].astype(int).tolist())
            for name in self.found:
                theirs = getattr(self, f"_{name}")(memory, before, arrived, settings)
                self._compare(name, (before, arrived, settings), ours, theirs, seeds, k)
        return self.found

    # -- the variants ---------------------------------------------------------------------------

    def _lanes(self, memory, before, arrived, settings):
        lanes, loop = self.robot.lanes, self.robot.loop
        lanes.set_state(loop, memory, before)
        loop.set(memory, "arrived", arrived)
        loop.set(memory, "settings", settings)
        loop.run(memory, 1)
        return lanes.state(loop, memory, len(before))

    def _plain(self, _memory, *given):
        with np.errstate(all="ignore"):
            return np.array([self.step.plain(*row) for row in zip(*given, strict=True)])

    def _c(self, _memory, *given):
        after = np.zeros_like(given[0])
        for row in zip(*given, after, strict=True):
            self.robot.library.call("step", *row)
        return after

    # -- the comparison -------------------------------------------------------------------------

    def _differences(self, ours, theirs, settings):
        """Differences of fields, relative to their size, (N, fields), and of efforts, (N,)."""
        with np.errstate(invalid="ignore"):
            gap = np.abs(ours - theirs)
            size = np.maximum(np.abs(ours), np.abs(theirs))
        gap[(ours == theirs) | (np.isnan(ours) & np.isnan(theirs))] = 0.0
        gap[np.isnan(gap)] = np.inf
        limit = settings[:, self.step.settings.slices["effort"]]
        efforts = (gap[:, self._tau] / limit).max(axis=1)
        size[~np.isfinite(size)] = 0.0
        fields = np.maximum.reduceat(gap, self._starts, axis=1)
        return fields / np.maximum(np.maximum.reduceat(size, self._starts, axis=1), 1.0), efforts

    def _alike(self, ours, theirs, settings):
        fields, efforts = self._differences(ours, theirs, settings)
        decides = (ours[:, self._decisions] == theirs[:, self._decisions]).all(axis=1)
        return decides & (efforts <= AGREE) & (fields.max(axis=1) <= AGREE)

    def _compare(self, name, given, ours, theirs, seeds, k):
        found = self.found[name]
        found.cycles += len(ours)
        alike = self._alike(ours, theirs, given[2])
        fields, efforts = self._differences(ours[alike], theirs[alike], given[2][alike])
        if len(efforts):
            found.effort = max(found.effort, efforts.max())
            if fields.max() > found.elsewhere:
                found.elsewhere = fields.max()
                found.where = self._names[fields.max(axis=0).argmax()]
        for i in np.flatnonzero(~alike):
            if self._within_round_off([part[i] for part in given], theirs[i], seeds[i]):
                found.round_off += 1
                continue
            fields, efforts = self._differences(*(x[i : i + 1] for x in (ours, theirs, given[2])))
            worst = [self._names[j] for j in np.argsort(-fields[0])[:4] if fields[0, j] > AGREE]
            found.faults.append(
                f"{self.robot.name}, {name}, sequence {seeds[i]}, cycle {k}: "
                f"efforts by {efforts[0]:.1e}; {', '.join(worst)} by {fields.max():.1e}"
            )

    def _within_round_off(self, given, theirs, seed):
        """Return whether the native step does the same for inputs that differ by round-off."""
        rng, run = np.random.default_rng(seed), self.robot.begun()
        for size in SHAKES:
            state, arrived, settings = (
                x * (1.0 + size * rng.uniform(-1.0, 1.0, len(x))) for x in given
            )
            state[self._decisions] = given[0][self._decisions]
            run.state[:], run.arrived[:], run.settings[:] = state, arrived, settings
            if self._nearly(run.advance(), theirs, given[2]):
                return True
        return False

    def _nearly(self, ours, theirs, settings):
        fields, _ = self._differences(ours[None], theirs[None], settings[None])
        same = (ours[self._decisions] == theirs[self._decisions]).all()
        return same and fields.max() <= 1e3 * AGREE


def times(robot, cycles, count=256):
    """Time of a cycle of the native kernels and of one SIMD lane, s: the least of some runs.

    All lanes follow a reference in the mode feedforward; each meets its own states.
    """
    run, n = robot.begun(), robot.step.n
    arrived = {name: run.arrived[robot.step.arrived.slices[name]] for name in robot.step.arrived}
    rng = np.random.default_rng(0)
    table = np.zeros((cycles, robot.step.arrived.size))
    for k in range(cycles):
        now = 1e-3 * k
        w = 1.0 + np.arange(n) % 3
        desired = 0.2 * np.sin(w * now), 0.2 * w * np.cos(w * now)
        for name in ("now", "state_came", "state_stamp", "reference_came"):
            arrived[name][0] = now
        arrived["state_new"][0] = 1.0
        arrived["state_q"][:] = desired[0] + 1e-5 * rng.normal(size=n)
        arrived["state_qd"][:] = desired[1]
        for name in ("came_reference", "came_before", "came_after"):
            arrived[name][:] = np.ravel(desired)
        table[k] = run.arrived

    def native():
        run.begin()
        for row in table:
            run.arrived[:] = row
            run.advance()

    lanes = robot.lanes
    sizes = {**lanes.sizes, "row": 1}
    items = (LookUp(ARRIVED, "row"), *lanes.items())
    key = f"{robot.kernels.robot}/timed/{robot.step.state.size}"
    loop = NativeLoop(sizes, lambda: fused(items, sizes, lanes.blocks), key)
    memory = loop.memory(count)
    loop.set(memory, SETTINGS, run.settings)
    loop.set(memory, "row", np.array([table.ctypes.data]).view(np.float64))

    def simd():
        lanes.set_state(loop, memory, robot.first.state)
        loop.run(memory, cycles)

    spent = [min(timeit.repeat(call, number=1, repeat=5)) / cycles for call in (native, simd)]
    np.testing.assert_allclose(
        lanes.state(loop, memory, count)[-1, robot.step.state.slices["tau"]],
        run.state[robot.step.state.slices["tau"]],
        rtol=1e-7,
    )
    return spent[0], spent[1] / count
