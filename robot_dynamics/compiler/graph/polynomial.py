"""Programs as polynomials: like terms cancel, c^2 + s^2 is 1, and common factors are collected.

Equations of robots are polynomials in their inputs and in sines and cosines of joint angles. As
expanded sums they have one form, which does not depend on the way they were computed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from robot_dynamics.compiler.graph.expression import (
    Expression,
    Graph,
    add,
    function,
    multiply,
    negate,
    reciprocal,
)
from robot_dynamics.compiler.graph.operations import (
    ADD,
    CONSTANT,
    COS,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SIN,
    SUBTRACT,
)
from robot_dynamics.compiler.graph.trace import (
    Output,
    Program,
    Rewritten,
    nary_operations,
    rebuilt,
    rewrite,
    use_counts,
)

MOST_TERMS = 1000
"""Terms of a polynomial; larger ones are harder to read than what they were made from."""

ROUND_OFF = 1e-12
"""Part of two numbers that is left where they cancel."""

Monomial = tuple[tuple[int, int], ...]
"""Exponents by atom, sorted."""

Polynomial = dict[Monomial, float]

ONE: Monomial = ()


class TooLarge(Exception):
    """A program whose polynomials have more than `MOST_TERMS` terms."""


def collected(program: Program) -> Program | None:
    """Expand a program, cancel its terms, and collect common factors.

    Returns:
        Equations with the same results; None if they are too large.
    """
    ring = _Ring()
    polynomials: dict[int, Polynomial] = {}
    try:
        for node in program.nodes:
            polynomials[node.index] = ring.of_node(node, [polynomials[a.index] for a in node.args])
    except TooLarge:
        return None
    writer = _Writer(ring)
    outputs = {
        name: Output(
            output.shape,
            tuple(writer.written(ring.shortened(polynomials[e.index])) for e in output.entries),
        )
        for name, output in program.outputs.items()
    }
    result = Program(program.name, program.inputs, outputs)
    _ = result.nodes
    writer.graph.forget()
    return result


class _Ring:
    """Polynomials in atoms: inputs, sines and cosines, and what no polynomial is."""

    def __init__(self) -> None:
        self.atoms: list[tuple[str, Any]] = []
        self.sine_of: dict[int, int] = {}  # by the cosine of the same angle
        self._index: dict[Any, int] = {}

    def of_node(self, node: Expression, given: list[Polynomial]) -> Polynomial:
        """Return the polynomial of a node from those of its operands."""
        if node.op == CONSTANT:
            return {ONE: node.value} if node.value else {}
        if node.op == INPUT:
            return self.atom(INPUT, node.value)
        if node.op == NEGATE:
            return _scaled(given[0], -1.0)
        if node.op == ADD:
            return self.sum(given)
        if node.op == SUBTRACT:
            return self.sum([given[0], _scaled(given[1], -1.0)])
        if node.op == MULTIPLY:
            return self.product(*given)
        if node.op == RECIPROCAL and len(given[0]) == 1:
            ((monomial, value),) = given[0].items()
            return {tuple((atom, -power) for atom, power in monomial): 1.0 / value}
        if node.op in (SIN, COS):
            return self.wave(node.op, given[0])
        return self.atom(node.op, given)

    def atom(self, op: str, content: Any) -> Polynomial:
        """Return the polynomial of one atom."""
        return {((self.number(op, content), 1),): 1.0}

    def number(self, op: str, content: Any) -> int:
        """Return the number of an atom, a new one if it is new."""
        key = (op, content if op == INPUT else tuple(frozenset(p.items()) for p in content))
        if key not in self._index:
            self._index[key] = len(self.atoms)
            self.atoms.append((op, content))
        return self._index[key]

    def wave(self, op: str, angle: Polynomial) -> Polynomial:
        """Return a sine or cosine; that of a sum of inputs by its addition theorem."""
        single = all(len(m) == 1 and m[0][1] == 1 and abs(x) == 1.0 for m, x in angle.items())
        if len(angle) > 1 and single:
            first = dict([next(iter(angle.items()))])
            rest = {m: x for m, x in angle.items() if m not in first}
            s, c = self.wave(SIN, first), self.wave(COS, first)
            s_rest, c_rest = self.wave(SIN, rest), self.wave(COS, rest)
            if op == SIN:
                return self.sum([self.product(s, c_rest), self.product(c, s_rest)])
            return self.sum([self.product(c, c_rest), _scaled(self.product(s, s_rest), -1.0)])
        if len(angle) == 1 and next(iter(angle.values())) < 0.0:
            return _scaled(self.wave(op, _scaled(angle, -1.0)), -1.0 if op == SIN else 1.0)
        self.sine_of[self.number(COS, [angle])] = self.number(SIN, [angle])
        return self.atom(op, [angle])

    def sum(self, polynomials: Iterable[Polynomial]) -> Polynomial:
        """Return the sum, without terms that cancel."""
        total: Polynomial = {}
        for polynomial in polynomials:
            for monomial, value in polynomial.items():
                _add(total, monomial, value)
        if len(total) > MOST_TERMS:
            raise TooLarge
        return total

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return the product, in which no cosine is squared."""
        if len(a) * len(b) > 20 * MOST_TERMS:
            raise TooLarge
        total: Polynomial = {}
        for left, x in a.items():
            for right, y in b.items():
                powers: dict[int, int] = defaultdict(int, left)
                for atom, power in right:
                    powers[atom] += power
                for monomial, value in self._reduced(powers, x * y):
                    _add(total, monomial, value)
        if len(total) > MOST_TERMS:
            raise TooLarge
        return total

    def _reduced(self, powers: dict[int, int], value: float) -> Iterable[tuple[Monomial, float]]:
        """Replace c^2 by 1 - s^2."""
        for atom, power in powers.items():
            if power >= 2 and atom in self.sine_of:
                sine = self.sine_of[atom]
                less = {**powers, atom: power - 2}
                yield from self._reduced(less, value)
                yield from self._reduced({**less, sine: less.get(sine, 0) + 2}, -value)
                return
        yield tuple(sorted((atom, power) for atom, power in powers.items() if power)), value

    def shortened(self, polynomial: Polynomial) -> Polynomial:
        """Replace r - r s^2 by r c^2."""
        result = dict(polynomial)
        for cosine, sine in self.sine_of.items():
            for monomial in polynomial:
                powers = dict(monomial)
                if powers.get(sine, 0) < 2 or monomial not in result:
                    continue
                powers[sine] -= 2
                rest = tuple(sorted((atom, power) for atom, power in powers.items() if power))
                x, y = result[monomial], result.get(rest, 0.0)
                if abs(x + y) <= ROUND_OFF * abs(x):
                    del result[monomial], result[rest]
                    squared = {**dict(rest), cosine: dict(rest).get(cosine, 0) + 2}
                    _add(result, tuple(sorted(squared.items())), y)
        return result


class _Writer:
    """Polynomials as expressions of a new graph, with common factors collected."""

    def __init__(self, ring: _Ring) -> None:
        self.graph = Graph()
        self._ring = ring
        self._atoms: dict[int, Expression] = {}

    def written(self, polynomial: Polynomial) -> Expression:
        """Return the expression of a polynomial."""
        if not polynomial:
            return self.graph.zero
        common = _common(polynomial)
        sizes = {abs(value) for value in polynomial.values()}
        size = min(sizes) if max(sizes) - min(sizes) <= ROUND_OFF * max(sizes) else 1.0
        if common or size != 1.0:
            rest = {_without(m, dict(common)): x / size for m, x in polynomial.items()}
            return self._product(common, size, self.written(rest) if rest != {ONE: 1.0} else None)
        if len(polynomial) == 1:  # a sign is left
            ((_, value),) = polynomial.items()
            return self.graph.constant(value)
        counts = Counter(atom for m in polynomial for atom, power in m if power > 0)
        best = max(counts, key=lambda atom: (counts[atom], atom), default=None)
        if best is None or counts[best] < 2:
            return self._sum(polynomial)
        inside = {m: x for m, x in polynomial.items() if dict(m).get(best, 0) > 0}
        rest = {m: x for m, x in polynomial.items() if m not in inside}
        return add(self.written(inside), self.written(rest))

    def _sum(self, polynomial: Polynomial) -> Expression:
        total = self.graph.zero
        for monomial, value in polynomial.items():
            term = self._product(monomial, abs(value), None)
            total = add(total, negate(term) if value < 0.0 else term)
        return total

    def _product(self, monomial: Monomial, size: float, last: Expression | None) -> Expression:
        above, below = self.graph.constant(size), self.graph.one
        for atom, power in monomial:
            for _ in range(abs(power)):
                if power > 0:
                    above = multiply(above, self._atom(atom))
                else:
                    below = multiply(below, self._atom(atom))
        above = above if last is None else multiply(above, last)
        return above if below is self.graph.one else multiply(above, reciprocal(below))

    def _atom(self, number: int) -> Expression:
        if number not in self._atoms:
            op, content = self._ring.atoms[number]
            if op == INPUT:
                self._atoms[number] = self.graph.input(*content)
            else:
                operands = [self.written(p) for p in content]
                self._atoms[number] = (
                    reciprocal(*operands) if op == RECIPROCAL else function(op, *operands)
                )
        return self._atoms[number]


def _add(total: Polynomial, monomial: Monomial, value: float) -> None:
    before = total.get(monomial, 0.0)
    if abs(before + value) <= ROUND_OFF * abs(value):
        total.pop(monomial, None)
    else:
        total[monomial] = before + value


def _scaled(polynomial: Polynomial, factor: float) -> Polynomial:
    return {monomial: factor * value for monomial, value in polynomial.items()}


def _common(polynomial: Polynomial) -> Monomial:
    """Return the largest monomial that divides every term."""
    first, *others = (dict(m) for m in polynomial)
    common = {}
    for atom, power in first.items():
        powers = [power, *(other.get(atom, 0) for other in others)]
        least = min(powers) if min(powers) > 0 else max(powers) if max(powers) < 0 else 0
        if least:
            common[atom] = least
    return tuple(sorted(common.items()))


def _without(monomial: Monomial, divisor: dict[int, int]) -> Monomial:
    powers = ((atom, power - divisor.get(atom, 0)) for atom, power in monomial)
    return tuple((atom, power) for atom, power in powers if power)


# -- where a polynomial would be too large ---------------------------------------------------------


def squares_joined(program: Program) -> Program:
    """Replace x s^2 + x c^2 by x in every sum, until there is none."""
    while True:
        uses = use_counts(program)
        joined = {}
        for operation in nary_operations(program, uses, (ADD, SUBTRACT)):
            terms = [(_factors(term), minus) for term, minus in operation.terms]
            if _join(terms):
                joined[operation.root.index] = terms
        if not joined:
            return program
        program = rewrite(program, partial(_rebuilt_sum, joined))


Term = tuple[Counter[Expression], bool]
"""Factors with their powers, and True if the term is subtracted."""


def _factors(term: Expression) -> Counter[Expression]:
    if term.op != MULTIPLY:
        return Counter([term])
    return _factors(term.args[0]) + _factors(term.args[1])


def _join(terms: list[Term]) -> bool:
    """Join pairs of terms in place; return True if there was one."""
    seen: dict[Any, int] = {}
    for i, (powers, minus) in enumerate(terms):
        for wave, power in powers.items():
            if wave.op in (SIN, COS) and power >= 2:
                rest = powers - Counter({wave: 2})
                key = frozenset((x.index, n) for x, n in rest.items()), wave.args[0].index, minus
                other = COS if wave.op == SIN else SIN
                if (other, key) in seen:
                    terms[seen[other, key]] = rest, minus
                    del terms[i]
                    _join(terms)
                    return True
                seen[wave.op, key] = i
    return False


def _rebuilt_sum(joined: Mapping[int, list[Term]], node: Expression, new: Rewritten) -> Expression:
    if node.index not in joined:
        return rebuilt(node, new)
    graph = new[node.args[0].index].graph
    total = graph.zero
    for powers, minus in joined[node.index]:
        term = graph.one
        for x, power in powers.items():
            for _ in range(power):
                term = multiply(term, new[x.index])
        total = add(total, negate(term) if minus else term)
    return total
