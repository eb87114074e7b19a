"""Kernels of the step: its stages traced and compiled, and a step that runs them in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from robot_dynamics.compiler.graph.optimize import join_numbers, optimize
from robot_dynamics.compiler.graph.trace import Program, trace
from robot_dynamics.compiler.native.native_kernel import NativeKernel, compile_native
from robot_dynamics.compiler.native.sequence import Call, KernelSequence
from robot_dynamics.control.fields import Layout
from robot_dynamics.control.laws import LAWS
from robot_dynamics.control.step import Stage, Step
from robot_dynamics.foundation.arrays import Array


class PlacedStage(NamedTuple):
    """A stage with its place in the state.

    Args:
        stage: The stage.
        block: Entries of the state that it writes.
    """

    stage: Stage
    block: slice


def parts_of(step: Step, stages: Sequence[Stage]) -> Iterator[PlacedStage]:
    """Return stages with their places."""
    for stage in stages:
        names = list(stage.fields)
        first, last = step.state.slices[names[0]], step.state.slices[names[-1]]
        yield PlacedStage(stage, slice(first.start, last.stop))


def stage_program(step: Step, stage: Stage) -> Program:
    """Trace a stage: (state, after, arrived, settings) -> its block of the state."""
    done: set[str] = set()
    for other in step.stages:
        if set(other.fields) == set(stage.fields):
            break
        done |= set(other.fields)

    def equations(state: Array, after: Array, arrived: Array, settings: Array) -> dict[str, Array]:
        values = stage.function(step.facts(state, after, arrived, settings, done))
        own = Layout(stage.fields, step.n)
        return {"block": own.packed(values)}

    shapes = {
        "state": (step.state.size,),
        "after": (step.state.size,),
        "arrived": (step.arrived.size,),
        "settings": (step.settings.size,),
    }
    return optimize(join_numbers(trace(f"step_{stage.name}", equations, shapes)))


def shape_of(step: Step) -> str:
    """Return a fingerprint of the joints and the layouts of a step."""
    turning = "none" if step.continuous is None else step.continuous.astype(int).tolist()
    return f"{step.n}/{turning}/{step.state.size}"


def key_of(step: Step, robot: str) -> str:
    """Return a fingerprint of all that the stages of a step depend on.

    Args:
        step: The step.
        robot: Fingerprint of the robot's equations.
    """
    key = f"step/{shape_of(step)}/{robot}/{step.equations.endpoint}/{step.equations.base_moves}"
    end = step.end_effector
    return key if end is None else f"{key}/{end.frame}/{step.projector}"


def stage_kernel(step: Step, stage: Stage, robot: str) -> NativeKernel:
    """Compile a stage.

    Args:
        step: The step.
        stage: The stage.
        robot: Fingerprint of the robot's equations.
    """
    key = f"step/{stage.name}/{shape_of(step)}"
    if stage.of_robot:
        key = f"{key_of(step, robot)}/{stage.name}"
    return compile_native(lambda: stage_program(step, stage), key=key)


class StepKernels:
    """The compiled stages of one robot, shared by its controllers.

    Args:
        step: The step.
        robot: Fingerprint of the robot's equations.
    """

    def __init__(self, step: Step, robot: str) -> None:
        self.step, self.robot = step, robot
        self._kernels: dict[str, NativeKernel] = {}
        self.stages = [(stage, block) for stage, block in parts_of(step, step.stages)]

    def kernel(self, stage: Stage) -> NativeKernel:
        """Return the kernel of a stage, compiled when it is first needed."""
        if stage.name not in self._kernels:
            self._kernels[stage.name] = stage_kernel(self.step, stage, self.robot)
        return self._kernels[stage.name]

    def law(self, number: int) -> NativeKernel:
        """Return the kernel of a law by its number."""
        return self.kernel(laws_of(self.step)[number])

    def prepare(self, laws: Sequence[int], stages: Collection[str] = ()) -> None:
        """Compile some stages, by default all, and some laws before a loop uses them."""
        for stage, _ in self.stages:
            if stage.name in stages or not (stages or stage.name == "law"):
                self.kernel(stage)
        for number in laws:
            self.law(number)


@cache
def laws_of(step: Step) -> dict[int, Stage]:
    """Return the stages of the laws by their numbers."""
    return {LAWS.index(stage.law): stage for stage in step.law_stages}


class RunningStep:
    """A step that runs: two states in turns, and what the driver needs to call the kernels.

    Args:
        kernels: The compiled stages.

    Attributes:
        state: The present state.
        arrived: What arrived, to be filled before `advance`.
        settings: The settings.
        states: The present state and the one before, in turns.
        turn: Index of the present one.
    """

    def __init__(self, kernels: StepKernels) -> None:
        self.kernels, step = kernels, kernels.step
        self.arrived, self.settings = step.arrived.initial(), step.settings.initial()
        self.states = step.state.initial(), step.state.initial()
        self.turn = 0
        self._sequences = tuple(
            self._sequence(before, after) for before, after in (self.states, self.states[::-1])
        )

    @property
    def state(self) -> Array:
        """The present state, which the next but one `advance` overwrites."""
        return self.states[self.turn]

    def begin(self) -> None:
        """Return to the initial state."""
        self.state[:] = self.kernels.step.state.initial()

    def go_on_from(self, other: RunningStep) -> None:
        """Go on from the state of other kernels of the same joints."""
        self.state[:], self.arrived[:], self.settings[:] = (
            other.state,
            other.arrived,
            other.settings,
        )

    def _sequence(self, before: Array, after: Array) -> KernelSequence:
        step, calls = self.kernels.step, []
        inputs = before, after, self.arrived, self.settings
        for stage, block in self.kernels.stages:
            is_law, flag = stage.name == "law", None
            kernels: list[NativeKernel | None] = [None] * (len(LAWS) if is_law else 1)
            choice = after[step.state.slices["law"]] if is_law else None
            if stage.when:
                of_state = stage.when in step.state.slices
                layout, vector = (step.state, after) if of_state else (step.settings, self.settings)
                flag = vector[layout.slices[stage.when]]
            calls.append(Call(kernels, choice, flag, inputs, after[block], before[block]))
        return KernelSequence(calls, self._compiled)

    def _compiled(self, index: int, number: int) -> NativeKernel:
        stage, _ = self.kernels.stages[index]
        return self.kernels.law(number) if stage.name == "law" else self.kernels.kernel(stage)

    def advance(self) -> Array:
        """Evaluate one step, and return the new state."""
        self._sequences[self.turn]()
        self.turn = 1 - self.turn
        return self.states[self.turn]

    def copy_on(self) -> None:
        """Copy the present state to the next one, of which `evaluate` evaluates some stages."""
        self.states[1 - self.turn][:] = self.state

    def evaluate(self, stages: Sequence[str]) -> Array:
        """Evaluate some stages alone."""
        names = [stage.name for stage, _ in self.kernels.stages]
        for name in stages:
            self._sequences[self.turn].run(names.index(name), 1)
        self.turn = 1 - self.turn
        return self.states[self.turn]
