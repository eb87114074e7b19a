"""Values that lie in memory anyway, for programs of far more values than registers.

What a register cannot hold until its next use, the compiler stores and loads again. Inputs and
outputs have a place in memory of their own: they are loaded from there where they are used, and
stored when they are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import INPUT
from robot_dynamics.compiler.graph.trace import Program, use_counts
from robot_dynamics.compiler.native.program_ir import Values

NEAR = 24
"""Operations over which a value stays in its register: of the 32, most have such a neighbour."""

Place = tuple[str, int]
"""Array and entry."""


class MemoryValues(Values):
    """Values of one program.

    Args:
        program: The equations.
        writes: Array that an output goes to, where it has another name.
        load: Writes the load of an entry.
        store: Writes the store of a value to an entry.
    """

    def __init__(
        self,
        program: Program,
        writes: Mapping[str, str],
        load: Callable[[str, int], str],
        store: Callable[[str, int, str], None],
    ) -> None:
        super().__init__(load)
        self._load, self._store, self._count = load, store, 0
        self._home: dict[int, Place] = {}
        self._loaded_at: dict[int, int] = {}
        self._uses = use_counts(program)
        self._inputs = {node.value: node.index for node in program.nodes if node.op == INPUT}
        self._targets: dict[int, list[Place]] = defaultdict(list)
        for name, output in program.outputs.items():
            for i, entry in enumerate(output.entries):
                self._targets[entry.index].append((writes.get(name, name), i))

    def enter(self, node: Expression) -> None:
        """See `Values`; it is loaded where it is used."""
        self._home[node.index], self.known[node.index] = node.value, ""

    def define(self, node: Expression, name: str) -> None:
        """See `Values`; an output is stored, unless what lies there is still wanted."""
        super().define(node, name)
        self._count += 1
        for place in list(self._targets.get(node.index, ())):
            if self._uses.get(self._inputs.get(place, -1), 0) == 0:
                self._store(*place, name)
                self._targets[node.index].remove(place)
                self._home[node.index], self._loaded_at[node.index] = place, self._count

    def use(self, node: Expression) -> str:
        """See `Values`."""
        self._uses[node.index] -= 1
        return self.result(node)

    def result(self, node: Expression) -> str:
        """See `Values`."""
        k, last = node.index, self._loaded_at.get(node.index)
        if k in self._home and (last is None or self._count - last > NEAR):
            self.known[k], self._loaded_at[k] = self._load(*self._home[k]), self._count
        return self.known[k]

    def finish(self, program: Program) -> None:
        """Store the outputs that had to wait."""
        nodes = {e.index: e for output in program.outputs.values() for e in output.entries}
        waiting = [
            (place, self.result(nodes[k])) for k, left in self._targets.items() for place in left
        ]
        for place, name in waiting:
            self._store(*place, name)
