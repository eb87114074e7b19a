"""Graph passes: the same outputs with fewer operations.

A pass takes a program and returns a program, the same one if it finds nothing to do;
`optimize` runs all of them in order. Dead operations and repeated subexpressions need
no pass: a program lists live nodes only, and a graph holds each distinct node once. A
new pass is a function that ends in `trace.rewrite` and is listed in `PASSES`. Code that passes
share is in `trace`, so that a pass can have a file of its own without an import cycle.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from robot_dynamics.compiler.graph.expression import Expression, add, multiply, negate
from robot_dynamics.compiler.graph.operations import ADD, CONSTANT, MULTIPLY, SUBTRACT
from robot_dynamics.compiler.graph.trace import (
    Program,
    Rewritten,
    collector_paused,
    factors,
    nary_operations,
    operation_count,
    rebuilt,
    rewrite,
    use_counts,
)
from robot_dynamics.compiler.operation_count import OperationCount

Pass = Callable[[Program], Program]


@collector_paused()
def optimize(program: Program, passes: Sequence[Pass] | None = None) -> Program:
    """Run graph passes in order and keep each result that saves operations.

    A pass that replaces additions by as many multiplications is kept as long as the program has
    no more multiplications than the given one.

    Args:
        program: The equations.
        passes: Passes to run; by default all of `PASSES`.
    """
    most = operation_count(program).multiplications
    for one in PASSES if passes is None else passes:
        candidate = one(program)
        before, after = operation_count(program), operation_count(candidate)
        traded = after.additions < before.additions and after.multiplications <= most
        if _cost(after) < _cost(before) or (_cost(after) == _cost(before) and traded):
            program = candidate
    return program


ROUND_OFF = 4e-15
"""Relative difference of two numbers that came about in two ways."""

EXACT = (0.5, 1.0, 2.0)
"""Numbers next to which another one stands for a reason."""


def join_numbers(program: Program) -> Program:
    """Let numbers that differ by round-off be one.

    Robots of the same joints with other masses then have the same equations but for the numbers.
    """
    found = dict.fromkeys(node.value for node in program.nodes if node.op == CONSTANT)
    order = {value: k for k, value in enumerate(found)}
    groups: list[list[float]] = []
    for value in sorted(found):
        if groups and value - groups[-1][-1] <= ROUND_OFF * value:
            groups[-1].append(value)
        else:
            groups.append([value])
    numbers = {
        value: min(group, key=order.__getitem__)
        for group in groups
        if len(group) > 1 and not set(group) & set(EXACT)
        for value in group
    }
    return rewrite(program, rebuilt, numbers) if numbers else program


def factor_sums(program: Program) -> Program:
    """Factor out common factors of products in a sum: a x + b y - a z = a (x - z) + b y."""
    uses = use_counts(program)
    sums: dict[int, list[_Product]] = {}  # products of the sums in which two share a factor
    for operation in nary_operations(program, uses, (ADD, SUBTRACT)):
        products = [_Product(factors(term, uses), minus) for term, minus in operation.terms]
        if _best_factor(products) is not None:
            sums[operation.root.index] = products

    def rule(node: Expression, new: Rewritten) -> Expression:
        return _factored(sums[node.index], new) if node.index in sums else rebuilt(node, new)

    return rewrite(program, rule) if sums else program


def share_sums(program: Program) -> Program:
    """Compute a pair of terms once that several sums contain: a + b in a + b + c and a + d + b."""
    return _share_pairs(program, (ADD, SUBTRACT), add)


def share_products(program: Program) -> Program:
    """Compute a pair of factors once that several products contain: a b in a b c and a d b."""
    return _share_pairs(program, (MULTIPLY,), multiply)


def gather_multiples(program: Program) -> Program:
    """Combine equal terms of a sum without products: x + y + x = 2 x + y.

    A multiplication replaces an addition, and the remaining pair is one fused operation. In a sum
    with a product nothing would be saved, because the addition is already fused with the product.
    """
    uses = use_counts(program)
    multiples: dict[int, dict[Expression, int]] = {}  # how often a sum contains each of its terms
    for operation in nary_operations(program, uses, (ADD, SUBTRACT)):
        times: Counter[Expression] = Counter()
        for term, minus in operation.terms:
            times[term] += -1 if minus else 1
        fused = any(term.op == MULTIPLY and uses[term.index] == 1 for term in times)
        if len(times) < len(operation.terms) and not fused:
            multiples[operation.root.index] = times

    def rule(node: Expression, new: Rewritten) -> Expression:
        if node.index not in multiples:
            return rebuilt(node, new)
        graph = new[node.args[0].index].graph
        return _sum(
            [
                (multiply(graph.constant(abs(count)), new[term.index]), count < 0)
                for term, count in multiples[node.index].items()
            ]
        )

    return rewrite(program, rule) if multiples else program


PASSES: Sequence[Pass] = (
    *(factor_sums, share_sums, share_products, factor_sums, gather_multiples),
    share_products,  # again: factoring makes new products
)


def _cost(count: OperationCount) -> int:
    return count.arithmetic + count.sines_cosines + count.divisions + count.others


# -- factoring ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Product:
    factors: tuple[Expression, ...]
    minus: bool


def _best_factor(products: list[_Product]) -> Expression | None:
    """Return the factor that most products share, or None if no two share one."""
    found = {f.index: f for p in products if len(p.factors) > 1 for f in p.factors}
    count = Counter(
        index
        for p in products
        if len(p.factors) > 1
        for index in dict.fromkeys(f.index for f in p.factors)
    )
    index, most = max(count.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    return found[index] if most > 1 else None


def _factored(products: list[_Product], new: Rewritten) -> Expression:
    """The sum of products, with common factors taken out greedily."""
    factor = _best_factor(products)
    if factor is None:
        return _sum([(_product(p.factors, new), p.minus) for p in products])
    inside, outside = [], []
    for p in products:
        position = next((i for i, f in enumerate(p.factors) if f is factor), None)
        if position is None or len(p.factors) == 1:
            outside.append(p)
        else:
            rest = p.factors[:position] + p.factors[position + 1 :]
            inside.append(_Product(rest, p.minus))
    grouped = multiply(new[factor.index], _factored(inside, new))
    return add(grouped, _factored(outside, new)) if outside else grouped


def _product(factors: tuple[Expression, ...], new: Rewritten) -> Expression:
    product = new[factors[0].index]
    for f in factors[1:]:
        product = multiply(product, new[f.index])
    return product


def _sum(terms: list[tuple[Expression, bool]]) -> Expression:
    total, minus = terms[0]
    total = negate(total) if minus else total
    for term, minus in terms[1:]:
        total = add(total, negate(term) if minus else term)
    return total


# -- sharing pairs ------------------------------------------------------------------------------

_Pair = tuple[int, int, bool]  # two terms, older first, and whether their signs differ


def _share_pairs(
    program: Program,
    ops: tuple[str, ...],
    combine: Callable[[Expression, Expression], Expression],
) -> Program:
    """Compute pairs of terms that several sums or products contain once, most frequent first.

    A pair gets a number like a term and may be part of a later pair. Pairs are numbered
    downwards from -1, terms by their nodes.
    """
    uses = use_counts(program)
    content = {
        operation.root.index: [(term.index, minus) for term, minus in operation.terms]
        for operation in nary_operations(program, uses, ops)
    }
    holders: dict[_Pair, set[int]] = defaultdict(set)
    for root, terms in content.items():
        for pair in _pairs_among(terms):
            holders[pair].add(root)
    heap = [(-len(roots), pair) for pair, roots in holders.items() if len(roots) > 1]
    heapq.heapify(heap)
    made: dict[int, _Pair] = {}
    touched: set[int] = set()
    while heap:
        count, pair = heapq.heappop(heap)
        roots = holders[pair]
        if len(roots) != -count:  # out of date
            if len(roots) > 1:
                heapq.heappush(heap, (-len(roots), pair))
            continue
        number = -len(made) - 1
        made[number] = pair
        for root in sorted(roots):
            touched.add(root)
            terms = content[root]
            for stale in _pairs_among(terms):
                holders[stale].discard(root)
            content[root] = terms = _replace_pair(terms, pair, number)
            for fresh in _pairs_among(terms):
                holders[fresh].add(root)
                if number in fresh[:2] and len(holders[fresh]) > 1:
                    heapq.heappush(heap, (-len(holders[fresh]), fresh))

    def rule(node: Expression, new: Rewritten) -> Expression:
        if node.index not in touched:
            return rebuilt(node, new)

        def value(number: int) -> Expression:
            if number >= 0:
                return new[number]
            first, second, differ = made[number]
            b = value(second)
            return combine(value(first), negate(b) if differ else b)

        total: Expression | None = None
        for number, minus in content[node.index]:
            term = negate(value(number)) if minus else value(number)
            total = term if total is None else combine(total, term)
        assert total is not None  # every sum or product has terms
        return total

    return rewrite(program, rule) if touched else program


def _pairs_among(terms: list[tuple[int, bool]]) -> set[_Pair]:
    ordered = sorted(terms)
    return {
        (a, b, a_minus != b_minus)
        for k, (a, a_minus) in enumerate(ordered)
        for b, b_minus in ordered[k + 1 :]
    }


def _replace_pair(
    terms: list[tuple[int, bool]], pair: _Pair, number: int
) -> list[tuple[int, bool]]:
    """Replace two terms by the pair that they form."""
    first, second, differ = pair
    rest = list(terms)
    for k, (term, minus) in enumerate(rest):
        partner = (second, minus != differ)
        if term == first and partner in rest[:k] + rest[k + 1 :]:
            del rest[k]
            rest.remove(partner)
            return [(number, minus), *rest]
    return rest
