"""Superword-level parallelism: isomorphic operations side by side in the lanes of short vectors.

Equal limbs, the arms of a humanoid or the legs of a quadruped, have the same equations on other
numbers. Two nodes have the same *shape* if their operations have, and those of their operands:
a sum and a difference count as one operation, and which input, which constant and which sign is
left out. Nodes of one shape are equally high above the inputs, so that whichever of them are
packed together, no vector ever waits for itself.

Nothing of this changes an equation: `find_packs` only says which nodes share an instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import (
    ADD,
    CONSTANT,
    INPUT,
    MULTIPLY,
    NEGATE,
    SUBTRACT,
)
from robot_dynamics.compiler.graph.trace import Program

_ARITHMETIC = (ADD, SUBTRACT, MULTIPLY)

_LEAST_SAVED = 0.1
"""Instructions to save, of the sums and products: derivatives of arms cost some, those of a
humanoid save 0.32, those of four legs 0.72."""

Signed = tuple[Expression, bool]
"""A node, and whether it stands there with the other sign."""


@dataclass(frozen=True, eq=False)
class Operand:
    """One side of the operations of a pack.

    Args:
        nodes: What stands in the lanes; never a change of sign.
        negative: Which of them stand there with the other sign.
    """

    nodes: tuple[Expression, ...]
    negative: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Pack:
    """Isomorphic operations, all sums or all products; a difference is a sum with a sign.

    Args:
        nodes: One operation to a lane.
        left: Their first operands.
        right: Their second operands.
    """

    nodes: tuple[Expression, ...]
    left: Operand
    right: Operand

    @property
    def multiplies(self) -> bool:
        """Whether these are products."""
        return self.nodes[0].op == MULTIPLY


@dataclass(frozen=True, eq=False)
class Packing:
    """The packs of a program.

    Args:
        packs: All of them, operands first.
        place: Pack and lane of every packed node, by its index.
        negations: The nodes that change the sign of a packed node, by the index of that.
    """

    packs: tuple[Pack, ...] = ()
    place: dict[int, tuple[Pack, int]] = field(default_factory=dict)
    negations: dict[int, Expression] = field(default_factory=dict)

    def pack_of(self, nodes: tuple[Expression, ...]) -> Pack | None:
        """The pack that has just these nodes in these lanes."""
        pack, _ = self.place.get(nodes[0].index, (None, 0))
        if pack is None or len(pack.nodes) != len(nodes):
            return None
        same = all(x is y for x, y in zip(pack.nodes, nodes, strict=True))
        return pack if same else None

    def in_order(self, nodes: Iterable[Expression], done: set[int]) -> Iterator[Expression | Pack]:
        """Nodes and packs, each after what it needs and else in the order of the nodes.

        Args:
            nodes: What is wanted, operands first.
            done: Nodes that are there already, by their index; those given out come in.
        """
        for root in nodes:
            stack = [root]
            while stack:
                node = stack[-1]
                pack, _ = self.place.get(node.index, (None, 0))
                needs = node.args if pack is None else (*pack.left.nodes, *pack.right.nodes)
                if node.index in done:
                    stack.pop()
                elif missing := [x for x in needs if x.index not in done]:
                    stack += reversed(missing)
                else:
                    stack.pop()
                    done.update(x.index for x in (self.with_negations(pack) if pack else [node]))
                    yield pack or node

    def with_negations(self, pack: Pack) -> list[Expression]:
        """The nodes of a pack, each with its negation: signs cost nothing."""
        negated = (self.negations.get(x.index) for x in pack.nodes)
        return [*pack.nodes, *(x for x in negated if x is not None)]


def find_packs(program: Program, width: int) -> Packing:
    """Pack operations where vectors, scalars and the moves between them are clearly fewer.

    Args:
        program: The equations.
        width: Lanes of the widest vector.
    """
    shape, height, joint = _shapes(program)
    by_shape: dict[int, list[Expression]] = defaultdict(list)
    for node in program.nodes:
        if node.op in _ARITHMETIC:
            by_shape[shape[node.index]].append(node)
    place: dict[int, tuple[Pack, int]] = {}
    for nodes in sorted(by_shape.values(), key=lambda nodes: -height[nodes[0].index]):
        for seed in _seeds((x for x in nodes if x.index not in place), joint, width):
            _pack_with_operands(seed, shape, place)
    packs = {pack: height[pack.nodes[0].index] for pack, _ in place.values()}
    negated = ((x.args[0].index, x) for x in program.nodes if x.op == NEGATE)
    negations = {k: x for k, x in negated if k in place}
    packing = Packing(tuple(sorted(packs, key=packs.__getitem__)), place, negations)
    operations = sum(map(len, by_shape.values()))
    saved = len(place) - len(packs) - _moves(program, packing)
    return packing if saved > _LEAST_SAVED * operations else Packing()


def _moves(program: Program, packing: Packing) -> int:
    """Scalars that are put into lanes, and lanes that scalar operations take out."""
    sides = (side for pack in packing.packs for side in (pack.left, pack.right))
    gathered = {
        tuple(x.index for x in side.nodes)
        for side in sides
        if side.nodes[0].op != CONSTANT and packing.pack_of(side.nodes) is None
    }
    scalars = (x for x in program.nodes if x.index not in packing.place and x.op != NEGATE)
    taken_out = {x.index for node in scalars for x in node.args if x.index in packing.place}
    return sum(map(len, gathered)) + len(taken_out)


def _shapes(program: Program) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Of every node, by its index: number of its shape, height, last joint that it depends on."""
    shape: dict[int, int] = {}
    height: dict[int, int] = {}
    joint: dict[int, int] = {}
    numbers: dict[tuple[object, ...], int] = {}
    for node in program.nodes:
        k, operands = node.index, [x.index for x in node.args]
        if node.op == NEGATE:
            shape[k], height[k], joint[k] = (of[operands[0]] for of in (shape, height, joint))
            continue
        below: list[object] = [shape[x] for x in operands]
        if node.op in _ARITHMETIC and shape[operands[0]] > shape[operands[1]]:
            below.reverse()
        elif node.op == INPUT:
            below = [node.value[0]]
        key = (ADD if node.op == SUBTRACT else node.op, *below)
        shape[k] = numbers.setdefault(key, len(numbers))
        height[k] = 1 + max((height[x] for x in operands), default=0)
        joint[k] = max((joint[x] for x in operands), default=-1)
        if node.op == INPUT:
            joint[k] = node.value[1]
    return shape, height, joint


def _seeds(
    nodes: Iterable[Expression], joint: dict[int, int], width: int
) -> Iterator[tuple[Expression, ...]]:
    """Tuples of nodes of different joints, which limbs have in the same order."""
    by_joint: dict[int, list[Expression]] = defaultdict(list)
    for node in nodes:
        by_joint[joint[node.index]].append(node)
    columns = [by_joint[k] for k in sorted(by_joint)]
    for row in zip_longest(*columns):
        isomorphic = tuple(x for x in row if x is not None)
        for start in range(0, len(isomorphic) - 1, width):
            yield isomorphic[start : start + width]


def _pack_with_operands(
    seed: tuple[Expression, ...], shape: dict[int, int], place: dict[int, tuple[Pack, int]]
) -> None:
    """Pack nodes of one shape, then their operands, lane by lane, as far as none is packed yet."""
    waiting = [seed]
    while waiting:
        nodes = waiting.pop()
        free = {x.index for x in nodes if x.op in _ARITHMETIC and x.index not in place}
        if len(free) < len(nodes):
            continue
        first = _operands(nodes[0])
        sides = [first]
        for left, right in map(_operands, nodes[1:]):
            crossed = _crossed(first, (left, right), shape, place)
            sides.append((right, left) if crossed else (left, right))
        lefts, rights = zip(*sides, strict=True)
        pack = Pack(nodes, Operand(*zip(*lefts, strict=True)), Operand(*zip(*rights, strict=True)))
        place.update((x.index, (pack, lane)) for lane, x in enumerate(nodes))
        waiting += pack.right.nodes, pack.left.nodes


def _operands(node: Expression) -> tuple[Signed, Signed]:
    a, b = map(unsigned, node.args)
    return a, (b[0], b[1] != (node.op == SUBTRACT))


def unsigned(x: Expression) -> Signed:
    """A node without its sign, and whether it had one."""
    return (x.args[0], True) if x.op == NEGATE else (x, False)


def _crossed(
    first: tuple[Signed, Signed],
    here: tuple[Signed, Signed],
    shape: dict[int, int],
    place: dict[int, tuple[Pack, int]],
) -> bool:
    """Whether the operands of a lane fit those of the first lane the other way round."""
    (p, _), (q, _) = first
    (a, _), (b, _) = here
    if shape[p.index] != shape[q.index]:
        return shape[a.index] != shape[p.index]

    def share(x: Expression, y: Expression) -> bool:
        packs = [place[z.index][0] for z in (x, y) if z.index in place]
        return x is y or (len(packs) == 2 and packs[0] is packs[1])

    return (share(b, p) or share(a, q)) and not (share(a, p) or share(b, q))
