"""Superword-level parallelism: isomorphic operations in the SIMD lanes of short vectors.

Equal limbs, such as the arms of a humanoid or the legs of a quadruped, have the same equations
with different numbers. Two nodes have the same *shape* if their operation and the shapes of their
operands agree. A sum and a difference count as the same operation; inputs, constants and signs are
ignored. Nodes of one shape have the same height above the inputs, so that no pack depends on
itself.

`find_packs` changes no equation: it only selects the nodes that share an instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import zip_longest
from typing import NamedTuple
from weakref import WeakKeyDictionary

from robot_dynamics.compiler.graph.expression import Expression
from robot_dynamics.compiler.graph.operations import (
    ADD,
    CONSTANT,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SUBTRACT,
)
from robot_dynamics.compiler.graph.trace import Program

_ARITHMETIC = (ADD, SUBTRACT, MULTIPLY)

_LEAST_SAVED = 0.1
"""Share of the sums and products that packing must save. Derivatives of arms lose instructions;
those of a humanoid save 0.32, those of a quadruped 0.72."""

Signed = tuple[Expression, bool]
"""A node, and whether it is negated."""

_Operands = tuple[Signed, Signed]


@dataclass(frozen=True, eq=False)
class PackOperand:
    """One side of the operations of a pack.

    Args:
        nodes: Node of each SIMD lane; never a change of sign.
        negative: Whether each of them is negated.
    """

    nodes: tuple[Expression, ...]
    negative: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Pack:
    """Isomorphic operations, all sums or all products; a difference is a sum with a sign.

    Args:
        nodes: Operation of each SIMD lane.
        left: Their first operands.
        right: Their second operands.
    """

    nodes: tuple[Expression, ...]
    left: PackOperand
    right: PackOperand

    @property
    def multiplies(self) -> bool:
        """True for products, False for sums."""
        return self.nodes[0].op == MULTIPLY


Place = dict[int, tuple[Pack, int]]
"""Pack and SIMD lane of every packed node, by its index."""


@dataclass(frozen=True, eq=False)
class Packing:
    """The packs of a program.

    Args:
        packs: All of them, operands first.
        place: Pack and SIMD lane of every packed node, by its index.
        negations: Nodes that negate a packed node, by the index of the packed node.
    """

    packs: tuple[Pack, ...] = ()
    place: Place = field(default_factory=dict)
    negations: dict[int, Expression] = field(default_factory=dict)

    def pack_of(self, nodes: tuple[Expression, ...]) -> Pack | None:
        """Return the pack with exactly these nodes in this order, or None."""
        pack, _ = self.place.get(nodes[0].index, (None, 0))
        if pack is None or len(pack.nodes) != len(nodes):
            return None
        same = all(x is y for x, y in zip(pack.nodes, nodes, strict=True))
        return pack if same else None

    def in_order(self, nodes: Iterable[Expression], done: set[int]) -> Iterator[Expression | Pack]:
        """Yield nodes and packs, each after its operands, otherwise in the order of the nodes.

        Args:
            nodes: Nodes to compute, operands first.
            done: Indices of nodes already computed; yielded nodes are added.
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
        """Return the nodes of a pack and their negations, which cost nothing."""
        negated = (self.negations.get(x.index) for x in pack.nodes)
        return [*pack.nodes, *(x for x in negated if x is not None)]


def find_packs(program: Program, width: int) -> Packing:
    """Pack operations if vectors, scalars and moves between them are clearly fewer in total.

    Args:
        program: The equations.
        width: SIMD lanes of the widest vector.
    """
    found = _found.setdefault(program, {})
    if width not in found:
        found[width] = _best_packing(program, width)
    return found[width]


_found: WeakKeyDictionary[Program, dict[int, Packing]] = WeakKeyDictionary()  # by width


def _best_packing(program: Program, width: int) -> Packing:
    shapes = _shapes(program)
    best, most = Packing(), _LEAST_SAVED * sum(x.op in _ARITHMETIC for x in program.nodes)
    solves = any(x.op == RECIPROCAL for x in program.nodes)
    rows = _row_packs(program, width, shapes.height) if solves else {}
    for place in (rows, {}) if rows else ({},):
        packing = _with_limbs(program, width, shapes, place)
        saved = _saved(program, packing)
        if saved > most and (place is not rows or _acyclic(program, packing)):
            best, most = packing, saved
    return best


def packed_count(program: Program) -> int:
    """Count sums and products, each pack as one, and the moves between packs and scalars.

    Packs are those of vectors of 512 bits on every machine, so that one robot has one program.
    """
    packing = find_packs(program, 8)
    return sum(x.op in _ARITHMETIC for x in program.nodes) - _saved(program, packing)


def _saved(program: Program, packing: Packing) -> int:
    """Return how many instructions packing saves."""
    return len(packing.place) - len(packing.packs) - _moves(program, packing)


def _with_limbs(program: Program, width: int, shapes: _Shapes, place: Place) -> Packing:
    """Add packs of nodes of one shape, from the largest shapes down, to those of `place`."""
    by_shape: dict[int, list[Expression]] = defaultdict(list)
    for node in program.nodes:
        if node.op in _ARITHMETIC:
            by_shape[shapes.shape[node.index]].append(node)
    height = shapes.height
    crossed = partial(_crossed, shape=shapes.shape, place=place)
    for nodes in sorted(by_shape.values(), key=lambda nodes: -height[nodes[0].index]):
        for seed in _seeds((x for x in nodes if x.index not in place), shapes.joint, width):
            _pack_with_operands(seed, place, crossed)
    packs = {pack: max(height[x.index] for x in pack.nodes) for pack, _ in place.values()}
    negated = ((x.args[0].index, x) for x in program.nodes if x.op == NEGATE)
    negations = {k: x for k, x in negated if k in place}
    return Packing(tuple(sorted(packs, key=packs.__getitem__)), place, negations)


def _moves(program: Program, packing: Packing) -> int:
    """Count scalars inserted into vectors and scalars extracted from them."""
    sides = (side for pack in packing.packs for side in (pack.left, pack.right))
    gathered = {
        tuple(x.index for x in side.nodes)
        for side in sides
        if side.nodes[0].op != CONSTANT and packing.pack_of(side.nodes) is None
    }
    scalars = (x for x in program.nodes if x.index not in packing.place and x.op != NEGATE)
    taken_out = {x.index for node in scalars for x in node.args if x.index in packing.place}
    return sum(len(set(lanes)) for lanes in gathered) + len(taken_out)


class _Shapes(NamedTuple):
    """Shape number, height and last joint that a node depends on, by index of the node."""

    shape: dict[int, int]
    height: dict[int, int]
    joint: dict[int, int]


def _shapes(program: Program) -> _Shapes:
    """Compute the shapes of all nodes."""
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
    return _Shapes(shape, height, joint)


def _seeds(
    nodes: Iterable[Expression], joint: dict[int, int], width: int
) -> Iterator[tuple[Expression, ...]]:
    """Yield tuples of nodes of different joints; equal limbs have them in the same order."""
    by_joint: dict[int, list[Expression]] = defaultdict(list)
    for node in nodes:
        by_joint[joint[node.index]].append(node)
    columns = [by_joint[k] for k in sorted(by_joint)]
    for row in zip_longest(*columns):
        isomorphic = tuple(x for x in row if x is not None)
        for start in range(0, len(isomorphic) - 1, width):
            yield isomorphic[start : start + width]


def _pack_with_operands(
    seed: tuple[Expression, ...],
    place: Place,
    crossed: Callable[[_Operands, _Operands], bool],
) -> None:
    """Pack nodes of one kind, then their operands lane by lane, as long as none is packed yet.

    Args:
        seed: The nodes.
        place: As in `Packing`; changed.
        crossed: Whether the swapped operands of a lane match those of the first lane better.
    """
    waiting = [seed]
    while waiting:
        nodes = waiting.pop()
        free = {x.index for x in nodes if x.index not in place}
        if len(free) < len(nodes) or _kind(nodes[0]) is None or len(set(map(_kind, nodes))) > 1:
            continue
        first = _operands(nodes[0])
        sides = [first]
        for left, right in map(_operands, nodes[1:]):
            sides.append((right, left) if crossed(first, (left, right)) else (left, right))
        lefts, rights = zip(*sides, strict=True)
        pack = Pack(
            nodes, PackOperand(*zip(*lefts, strict=True)), PackOperand(*zip(*rights, strict=True))
        )
        place.update((x.index, (pack, lane)) for lane, x in enumerate(nodes))
        waiting += pack.right.nodes, pack.left.nodes


def _kind(node: Expression) -> str | None:
    """Return the operation of a pack that the node may be in."""
    return {ADD: ADD, SUBTRACT: ADD, MULTIPLY: MULTIPLY}.get(node.op)


def _operands(node: Expression) -> _Operands:
    a, b = map(unsigned, node.args)
    return a, (b[0], b[1] != (node.op == SUBTRACT))


def unsigned(x: Expression) -> Signed:
    """Return a node without its negation, and whether it was negated."""
    return (x.args[0], True) if x.op == NEGATE else (x, False)


def _crossed(
    first: _Operands,
    here: _Operands,
    shape: dict[int, int],
    place: Place,
) -> bool:
    """Return True if swapped operands match those of the first lane better."""
    (p, _), (q, _) = first
    (a, _), (b, _) = here
    if shape[p.index] != shape[q.index]:
        return shape[a.index] != shape[p.index]

    def share(x: Expression, y: Expression) -> bool:
        packs = [place[z.index][0] for z in (x, y) if z.index in place]
        return x is y or (len(packs) == 2 and packs[0] is packs[1])

    return (share(b, p) or share(a, q)) and not (share(a, p) or share(b, q))


# -- rows of a matrix of results -----------------------------------------------------------------


def _row_packs(program: Program, width: int, height: dict[int, int]) -> Place:
    """Pack the entries of rows of results and what they are computed from, where that pays.

    The columns of the solution of linear equations take the same steps.
    """
    place: Place = {}
    crossed = partial(_crossed_in_row, place=place)
    likeness = _likeness(program)
    for output in program.outputs.values():
        if len(output.shape) != 2:
            continue
        alike: dict[tuple[int, ...], list[list[Expression]]] = defaultdict(list)
        for column in output.array.T:
            entries = [unsigned(x)[0] for x in column]
            alike[tuple(likeness[x.index] for x in entries)].append(entries)
        for columns in alike.values():
            count = -(-len(columns) // width)
            for k in range(count):
                chosen = columns[k * len(columns) // count : (k + 1) * len(columns) // count]
                for row in zip(*chosen, strict=True):
                    if len({x.index for x in row}) == len(row) > 1:
                        _pack_with_operands(row, place, crossed)
    users: dict[int, list[Expression]] = defaultdict(list)
    for node in program.nodes:
        for x in node.args if node.op != NEGATE else ():
            users[unsigned(x)[0].index].append(node)
    packs = sorted(
        dict.fromkeys(pack for pack, _ in place.values()),
        key=lambda pack: max(height[x.index] for x in pack.nodes),
    )
    before = 0
    while before != (before := len(packs)):
        for pack in packs:
            if not _pays(pack, place, users):
                for x in pack.nodes:
                    del place[x.index]
        packs = [pack for pack in packs if pack.nodes[0].index in place]
    return place


def _likeness(program: Program) -> dict[int, int]:
    """Return a number that nodes share whose operation and operands are of one kind, by index."""
    kinds = [_kind(x) or ("constant" if x.op == CONSTANT else "other") for x in program.nodes]
    kind = {x.index: k for x, k in zip(program.nodes, kinds, strict=True)}
    numbers: dict[tuple[str, ...], int] = {}
    return {
        x.index: numbers.setdefault((kind[x.index], *sorted(below)), len(numbers))
        for x in program.nodes
        for below in [[kind[unsigned(y)[0].index] for y in x.args if _kind(x)]]
    }


def _crossed_in_row(first: _Operands, here: _Operands, place: Place) -> bool:
    """Return True if swapped operands match those of the first lane better."""

    def likeness(x: Expression, y: Expression) -> int:
        if x is y:
            return 3
        packs = [place[z.index][0] for z in (x, y) if z.index in place]
        if packs:
            return 2 * (len(packs) == 2 and packs[0] is packs[1])
        return _kind(x) == _kind(y)

    (p, _), (q, _) = first
    (a, _), (b, _) = here
    return likeness(b, p) + likeness(a, q) > likeness(a, p) + likeness(b, q)


def _pays(pack: Pack, place: Place, users: dict[int, list[Expression]]) -> bool:
    """Return whether a pack saves more operations than it costs moves, beside the others."""
    lanes = len(pack.nodes)
    saved = lanes - 1
    for side in (pack.left, pack.right):
        known = all(x.op == CONSTANT or x is side.nodes[0] for x in side.nodes)
        if not known and Packing(place=place).pack_of(side.nodes) is None:
            saved -= lanes
    inside = [[user.index in place for user in users[x.index]] for x in pack.nodes]
    saved -= sum(not all(flags) for flags in inside)  # lanes to extract
    return saved + lanes * any(map(any, inside)) > 0  # else another pack gathers the lanes


def _acyclic(program: Program, packing: Packing) -> bool:
    """Return whether packs and other nodes can be computed one after the other."""

    def unit(x: Expression) -> Pack | int:
        return packing.place[x.index][0] if x.index in packing.place else x.index

    needs: dict[Pack | int, set[Pack | int]] = defaultdict(set)
    for node in program.nodes:
        needs[unit(node)].update(map(unit, node.args))
    try:
        TopologicalSorter(needs).prepare()
    except CycleError:
        return False
    return True


# -- signs of SIMD lanes -------------------------------------------------------------------------

Source = PackOperand | tuple[int, ...]
"""A vector whose signs are free: constants of one operand, or scalars, by their indices."""

Equation = int
"""A sum over the field of two elements: bit 0 is the constant 1, bit k the unknown k."""


class LaneSigns:
    """The signs of all free vectors of a program.

    Left and right limbs are mirror images: where one side adds, the other subtracts, and one
    vector instruction cannot do both. But a vector of constants, or one assembled from scalars,
    may store any lane negated. A product multiplies the signs of its operands; a sum requires the
    signs of its operands to differ equally in all lanes. These are linear equations over the field
    of two elements, as are those of SIMD lanes that are used alone, which come last. They are
    added one by one. An equation that contradicts earlier ones is dropped and costs a change of
    sign where the vector is used.

    Args:
        program: The equations.
        packing: Its packs.
    """

    def __init__(self, program: Program, packing: Packing) -> None:
        self._unknowns: dict[tuple[Source, int], int] = {}
        self._equations: dict[int, Equation] = {}  # by the last unknown of each
        self._packing = packing
        self._of: dict[Pack, list[Equation]] = {}
        for pack in packing.packs:
            left, right = self._signs(pack.left), self._signs(pack.right)
            both = [a ^ b for a, b in zip(left, right, strict=True)]
            if not pack.multiplies:
                for of_lane in both[1:]:
                    self._take_up(of_lane ^ both[0])
            self._of[pack] = both if pack.multiplies else left
        for node, minus in _used_alone(program, packing):
            pack, lane = packing.place[node.index]
            self._take_up(self._of[pack][lane] ^ minus)
        self._solution = self._solve()

    def chosen(self, operand: PackOperand) -> tuple[bool, ...]:
        """Return, for each SIMD lane of a free vector, whether it holds the negated node."""
        source = source_of(operand)
        unknowns = [self._unknowns.get((source, lane), 0) for lane in range(len(operand.nodes))]
        return tuple(k > 0 and bool(self._solution >> k & 1) for k in unknowns)

    def _signs(self, operand: PackOperand) -> list[Equation]:
        """Return the sign of every SIMD lane as an equation."""
        pack = self._packing.pack_of(operand.nodes)
        signs = self._of[pack] if pack is not None else self._free(source_of(operand), operand)
        return [sign ^ minus for sign, minus in zip(signs, operand.negative, strict=True)]

    def _free(self, source: Source, operand: PackOperand) -> list[Equation]:
        places = [(source, lane) for lane in range(len(operand.nodes))]
        return [1 << self._unknowns.setdefault(p, len(self._unknowns) + 1) for p in places]

    def _take_up(self, equation: Equation) -> None:
        """Require a sum to be zero, unless it contradicts the equations so far."""
        while equation > 1:
            last = equation.bit_length() - 1
            if last not in self._equations:
                self._equations[last] = equation
                return
            equation ^= self._equations[last]

    def _solve(self) -> Equation:
        """Return the unknowns that are 1, and the constant; undetermined unknowns are 0."""
        solution = 1
        for last in sorted(self._equations):
            if (self._equations[last] & solution).bit_count() % 2:
                solution |= 1 << last
        return solution


def _used_alone(program: Program, packing: Packing) -> list[Signed]:
    """Return the packed nodes, with the sign of each use, that others than packs take."""
    sides = (side for pack in packing.packs for side in (pack.left, pack.right))
    gathered = (x for side in sides if packing.pack_of(side.nodes) is None for x in side.nodes)
    scalars = (x for x in program.nodes if x.index not in packing.place and x.op != NEGATE)
    taken = (x for node in scalars for x in node.args)
    results = (x for output in program.outputs.values() for x in output.entries)
    uses = dict.fromkeys(map(unsigned, (*results, *taken, *gathered)))
    return [(node, minus) for node, minus in uses if node.index in packing.place]


def source_of(operand: PackOperand) -> Source:
    """Return the identity of a free vector; constants are distinct at every use."""
    if all(x.op == CONSTANT for x in operand.nodes):
        return operand
    return tuple(x.index for x in operand.nodes)
