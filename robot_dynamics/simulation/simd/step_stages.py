"""The step of the controller in SIMD lanes: its stages as stages of a native loop.

Each batch member has its own state, inputs and settings. A stage runs if its flag is set for any
member of a block; the other members keep their part of the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.compiler.native.loop.loop_steps import When
from robot_dynamics.compiler.native.loop.native_loop import NativeLoop
from robot_dynamics.control import step as of_control
from robot_dynamics.control.fields import Facts, Layout
from robot_dynamics.control.laws import LAWS
from robot_dynamics.control.logic import both, chosen, equal, less
from robot_dynamics.control.step_kernels import key_of, laws_of, parts_of
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.simd.stage import Item, LoopStage, fused

ARRIVED, SETTINGS = "arrived", "settings"
"""Arrays of what arrives in a cycle, and of the settings."""


class StepLanes:
    """The stages of a step for a native loop.

    The state is in one array per stage, and is overwritten from stage to stage. `ARRIVED` and
    `SETTINGS` are to be filled before: from outside, by a `LookUp`, or by other stages.

    Args:
        step: The step.
        laws: Numbers of the laws that can act; by default all. A batch member in which another law
            acts keeps the last efforts of the law.

    Attributes:
        blocks: Entries of the state in every array of the state.
        sizes: Number of entries of every array.
    """

    def __init__(self, step: of_control.Step, laws: Sequence[int] | None = None) -> None:
        self.step = step
        self.laws = tuple(laws_of(step)) if laws is None else tuple(laws)
        parts = list(parts_of(step, step.stages))
        self.blocks = {f"step_{part.stage.name}": part.block for part in parts}
        self.sizes = {name: block.stop - block.start for name, block in self.blocks.items()}
        self.sizes |= {ARRIVED: step.arrived.size, SETTINGS: step.settings.size}
        flags = (*(stage.name for stage, _ in parts if stage.when), *(LAWS[i] for i in self.laws))
        self.sizes |= {_flag(name): 1 for name in flags}
        self._inputs = (*self.blocks, ARRIVED, SETTINGS)

    def items(self) -> tuple[Item, ...]:
        """Return the stages and steps of one cycle, to be fused with others; see `fused`."""
        items: list[Item] = []
        for stage in self.step.stages:
            if stage.name == "law":
                items += self._laws(stage)
            elif stage.when:
                items += self._conditional(stage)
            else:
                items.append(self._stage(stage, stage.name))
        return tuple(items)

    def loop(self, robot: str) -> NativeLoop:
        """Return a loop of the step alone.

        Args:
            robot: Fingerprint of the robot's equations.
        """
        key = f"{key_of(self.step, robot)}/simd/{self.laws}"
        return NativeLoop(self.sizes, lambda: fused(self.items(), self.sizes, self.blocks), key)

    def place(self, field: str) -> tuple[str, slice]:
        """Return the array that holds a field of the state, and its entries there."""
        part = self.step.state.slices[field]
        for name, block in self.blocks.items():
            if block.start <= part.start and part.stop <= block.stop:
                return name, slice(part.start - block.start, part.stop - block.start)
        raise KeyError(field)

    def set_state(self, loop: NativeLoop, memory: Array, states: Array) -> None:
        """Write the states of all SIMD lanes, shape (N, size), or one for all, shape (size,)."""
        for name, block in self.blocks.items():
            loop.set(memory, name, states[..., block])

    def state(self, loop: NativeLoop, memory: Array, count: int) -> Array:
        """Read the states, shape (count, size)."""
        return np.concatenate([loop.get(memory, name, count) for name in self.blocks], axis=1)

    def _facts(self, arrays: dict[str, Array]) -> Facts:
        """Return the facts of a stage: every array has the values of the stages that are done."""
        state = np.concatenate([arrays[name] for name in self.blocks])
        return self.step.facts(state, state, arrays[ARRIVED], arrays[SETTINGS], set())

    def _conditional(self, stage: of_control.Stage) -> tuple[Item, ...]:
        """Return a stage and its flag."""
        flag = _flag(stage.name)

        def function(**arrays: Array) -> dict[str, Any]:
            return {flag: np.array([less(0.5, getattr(self._facts(arrays), stage.when))])}

        body = self._stage(stage, stage.name, flag)
        return LoopStage(flag, function, self._inputs, (flag,)), When(flag, (body,))

    def _laws(self, stage: of_control.Stage) -> tuple[Item, ...]:
        """Return the laws; at most one acts in a batch member."""
        flags = tuple(_flag(LAWS[law]) for law in self.laws)

        def function(**arrays: Array) -> dict[str, Any]:
            x = self._facts(arrays)
            acts = less(0.5, getattr(x, stage.when))
            return {
                flag: np.array([both(acts, equal(x.law, law))])
                for flag, law in zip(flags, self.laws, strict=True)
            }

        pick: Item = LoopStage("pick_law", function, self._inputs, flags)
        stages = laws_of(self.step)
        bodies = (self._stage(stages[law], stage.name, _flag(LAWS[law])) for law in self.laws)
        return pick, *(When(flag, (body,)) for flag, body in zip(flags, bodies, strict=True))

    def _stage(self, stage: of_control.Stage, place: str, flag: str = "") -> LoopStage:
        """Return a stage that writes its block, for the batch members whose flag is set."""
        block, own = f"step_{place}", Layout(stage.fields, self.step.n)

        def function(**arrays: Array) -> dict[str, Any]:
            values = own.packed(stage.function(self._facts(arrays)))
            if flag:
                values = chosen(arrays[flag][0], values, arrays[block])
            return {block: values}

        return LoopStage(stage.name, function, (*self._inputs, *([flag] if flag else [])), (block,))


def _flag(name: str) -> str:
    return f"when_{name}"
