"""The expression graph: arithmetic on symbols builds nodes, each distinct node once.

A formulation is plain arithmetic on scalars. Called with `Expression` symbols
instead of floats, it builds a graph of operations. Nodes are hash-consed: the same
operation on the same operands is the same object, so that common subexpressions
never exist twice. Known values are folded as nodes are built:

* operations on constants, sums with 0, products with 0 and 1, x - x, c + (1 - c);
* constant multiples: 2 (3 x) becomes 6 x, and 2 x + 3 x becomes 5 x;
* signs: a minus sign moves outwards, a (-b) = -(a b), (-a) - b = -(a + b), until an
  addition turns it into a subtraction. Changing a sign therefore costs nothing;
* choices: x where a < b, else y, if a and b are numbers or x and y are the same.

Constants are stored without their sign: -2 is the negation of the node 2.
"""

from __future__ import annotations

import math
from numbers import Real
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from robot_dynamics.compiler.graph import operations
from robot_dynamics.compiler.graph.operations import (
    ADD,
    CONSTANT,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SUBTRACT,
)
from robot_dynamics.errors import ArgumentError, TraceError


class Expression:
    """One node of an expression graph: an input, a constant or an operation.

    Arithmetic on nodes, Python numbers and NumPy object arrays creates nodes.
    Operands are always older than the node, so the order of `index` is a
    topological order.

    Attributes:
        op: Kind of node, one of the names in `operations`.
        args: Operands.
        value: Magnitude of a constant; (name, flat position) of an input; else None.
        index: Age of the node in its graph.
        graph: The graph that holds the node.
    """

    __slots__ = ("__weakref__", "args", "graph", "index", "op", "value")

    def __init__(
        self, graph: Graph, index: int, op: str, args: tuple[Expression, ...], value: Any
    ) -> None:
        self.graph = graph
        self.index = index
        self.op = op
        self.args = args
        self.value = value

    # -- arithmetic: NotImplemented lets NumPy arrays work elementwise ------------------------

    def __add__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else add(self, other)

    def __radd__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else add(other, self)

    def __sub__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else add(self, negate(other))

    def __rsub__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else add(other, negate(self))

    def __mul__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else multiply(self, other)

    def __rmul__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else multiply(other, self)

    def __truediv__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else multiply(self, reciprocal(other))

    def __rtruediv__(self, other: Any) -> Expression:
        other = self.graph.lift(other)
        return NotImplemented if other is None else multiply(other, reciprocal(self))

    def __pow__(self, exponent: Any) -> Expression:
        """Whole powers, and 0.5 for the square root."""
        if exponent == 0.5:
            return self.sqrt()
        whole = int(exponent) if isinstance(exponent, (int, float, np.number)) else None
        if whole is None or whole != exponent:
            raise TraceError(f"power {exponent!r} of a symbol; use whole powers or sqrt")
        power = self.graph.one
        for _ in range(abs(whole)):
            power = multiply(power, self)
        return power if whole >= 0 else reciprocal(power)

    def __neg__(self) -> Expression:
        return negate(self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return function(operations.ABS, self)

    # -- functions: np.sin(x) on an object array calls x.sin() --------------------------------

    def sin(self) -> Expression:
        """Sine of an angle in rad."""
        return function(operations.SIN, self)

    def cos(self) -> Expression:
        """Cosine of an angle in rad."""
        return function(operations.COS, self)

    def sqrt(self) -> Expression:
        """Square root."""
        return function(operations.SQRT, self)

    def exp(self) -> Expression:
        """Exponential."""
        return function(operations.EXP, self)

    def tanh(self) -> Expression:
        """Hyperbolic tangent."""
        return function(operations.TANH, self)

    def abs(self) -> Expression:
        """Absolute value."""
        return function(operations.ABS, self)

    def __floor__(self) -> Expression:
        """The largest integer not above the value."""
        return function(operations.FLOOR, self)

    def arctan2(self, x: Any) -> Expression:
        """Angle of the point (x, self) from the x axis, rad, in [-pi, pi]."""
        lifted = self.graph.lift(x)
        if lifted is None:
            raise TraceError(f"arctan2 of {self!r} and {x!r}, which is no number")
        return function(operations.ARCTAN2, self, lifted)

    def arctan(self) -> Expression:
        """The angle in [-pi/2, pi/2] whose tangent it is."""
        return self.arctan2(1.0)

    def arcsin(self) -> Expression:
        """The angle in [-pi/2, pi/2] whose sine it is."""
        return self.arctan2(((1.0 - self) * (1.0 + self)).sqrt())

    def arccos(self) -> Expression:
        """The angle in [0, pi] whose cosine it is."""
        return ((1.0 - self) * (1.0 + self)).sqrt().arctan2(self)

    def conjugate(self) -> Expression:
        """The expression itself: symbols are real."""
        return self

    # -- a symbol has no value: equations that need one cannot be traced ----------------------

    def _no_value(self, *_: object) -> NoReturn:
        raise TraceError(
            f"equations must not branch on a value: {self!r} is a symbol while they are traced"
        )

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_value
    __int__ = __index__ = _no_value
    __hash__ = object.__hash__

    def __float__(self) -> float:
        known = constant_value(self)
        if known is None:
            self._no_value()
        return known

    def __repr__(self) -> str:
        known = constant_value(self)
        if known is not None:
            return repr(known)
        if self.op == INPUT:
            name, position = self.value
            return f"{name}[{position}]"
        shown = [repr(a) if a.op in (INPUT, CONSTANT) else "..." for a in self.args]
        return f"{self.op}({', '.join(shown)})"


class Graph:
    """The nodes of one trace, each distinct one once."""

    __slots__ = ("_count", "_table", "one", "zero")

    def __init__(self) -> None:
        self._table: dict[tuple[Any, ...], Expression] = {}
        self._count = 0
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    def node(self, op: str, *args: Expression) -> Expression:
        """Return the node of an operation without folding."""
        key = (op, *map(_INDEX, args))
        found = self._table.get(key)
        if found is None:  # as `_insert`, which a call would make slower
            self._count = index = self._count + 1
            found = self._table[key] = Expression(self, index, op, args, None)
        return found

    def input(self, name: str, position: int) -> Expression:
        """Entry `position` (flat, row by row) of the input `name`."""
        key = (INPUT, name, position)
        found = self._table.get(key)
        return found if found is not None else self._insert(key, INPUT, (name, position))

    def constant(self, value: float) -> Expression:
        """A number; a negative one is the negation of its magnitude.

        Raises:
            ArgumentError: If it is infinite or not a number.
        """
        value = float(value)
        if value < 0.0:
            return self.node(NEGATE, self.constant(-value))
        if not value < math.inf:
            raise ArgumentError(f"a constant of the equations is {value}; it must be finite")
        key = (CONSTANT, value)
        found = self._table.get(key)
        return found if found is not None else self._insert(key, CONSTANT, value + 0.0)

    def lift(self, value: Any) -> Expression | None:
        """Return the node of a number, or None if the value is neither a number nor a node."""
        if type(value) is Expression:
            if value.graph is not self:
                raise TraceError(f"{value!r} belongs to another trace; trace all symbols together")
            return value
        if isinstance(value, Real):
            return self.constant(float(value))
        return None

    def forget(self) -> None:
        """Drop the table, so that unused nodes are freed."""
        self._table = {}

    def _insert(self, key: tuple[Any, ...], op: str, value: Any) -> Expression:
        self._count += 1
        made = self._table[key] = Expression(self, self._count, op, (), value)
        return made


_INDEX = attrgetter("index")


def constant_value(x: Expression) -> float | None:
    """Return the number of a constant node, or None for any other node."""
    if x.op is CONSTANT:
        return x.value
    if x.op is NEGATE and x.args[0].op is CONSTANT:
        return -x.args[0].value
    return None


# -- operations that fold; their operands are nodes of one graph ----------------------------------


def negate(x: Expression) -> Expression:
    """-x."""
    if x.op is NEGATE:
        return x.args[0]
    if x.op is CONSTANT and x.value == 0.0:
        return x
    return x.graph.node(NEGATE, x)


def add(a: Expression, b: Expression) -> Expression:
    """The sum a + b; operands with a minus sign make it a subtraction."""
    graph = a.graph
    a_minus, b_minus = a.op is NEGATE, b.op is NEGATE
    if a_minus:
        a = a.args[0]
    if b_minus:
        b = b.args[0]
    if a is graph.zero:
        return negate(b) if b_minus else b
    if b is graph.zero:
        return negate(a) if a_minus else a
    if a.op is CONSTANT and b.op is CONSTANT:
        return graph.constant(
            (-a.value if a_minus else a.value) + (-b.value if b_minus else b.value)
        )
    # Multiples of the same node: 2 x + 3 x = 5 x
    a_factor, a_base = _multiple(a)
    b_factor, b_base = _multiple(b)
    if a_base is b_base:
        factor = (-a_factor if a_minus else a_factor) + (-b_factor if b_minus else b_factor)
        return multiply(graph.constant(factor), a_base)
    # One operand inside the other: c + (1 - c) = 1, (x + 2) + 3 = x + 5
    for (x, x_minus), (y, y_minus) in (((a, a_minus), (b, b_minus)), ((b, b_minus), (a, a_minus))):
        if y.op is ADD or y.op is SUBTRACT:
            terms = (y.args[0], y_minus), (y.args[1], y_minus != (y.op is SUBTRACT))
            for (t, t_minus), (rest, rest_minus) in (terms, terms[::-1]):
                if t is x and t_minus != x_minus:
                    return negate(rest) if rest_minus else rest
                if t.op is CONSTANT and x.op is CONSTANT:
                    known = (-t.value if t_minus else t.value) + (-x.value if x_minus else x.value)
                    return add(negate(rest) if rest_minus else rest, graph.constant(known))
    # The older operand comes first, so that a + b and b + a, a - b and b - a are one node
    if a.index > b.index:
        a, a_minus, b, b_minus = b, b_minus, a, a_minus
    total = graph.node(ADD if a_minus == b_minus else SUBTRACT, a, b)
    return negate(total) if a_minus else total


def multiply(a: Expression, b: Expression) -> Expression:
    """The product a b; minus signs of the operands move outwards, a constant comes first."""
    graph = a.graph
    minus = False
    if a.op is NEGATE:
        a, minus = a.args[0], True
    if b.op is NEGATE:
        b, minus = b.args[0], not minus
    if b.op is CONSTANT or (b.index < a.index and a.op is not CONSTANT):
        a, b = b, a
    if a.op is CONSTANT:
        if a is graph.zero:
            return a
        if b.op is CONSTANT:
            return graph.constant(-a.value * b.value if minus else a.value * b.value)
        factor, base = _multiple(b)
        if factor != 1.0:
            a, b = graph.constant(a.value * factor), base
        if a is graph.one:
            return negate(b) if minus else b
        if a is graph.zero:  # a product of tiny constants
            return a
    elif a.op is RECIPROCAL or b.op is RECIPROCAL:
        above, below = (a, b.args[0]) if b.op is RECIPROCAL else (b, a.args[0])
        left = [graph.one] if above is below else []
        if above.op is MULTIPLY:  # (m x) / m
            left = [above.args[1 - i] for i in (0, 1) if above.args[i] is below]
        if left:
            return negate(left[0]) if minus else left[0]
    product = graph.node(MULTIPLY, a, b)
    return negate(product) if minus else product


def reciprocal(x: Expression) -> Expression:
    """1 / x."""
    if x.op is NEGATE:
        return negate(reciprocal(x.args[0]))
    if x.op is RECIPROCAL:
        return x.args[0]
    if x.op is CONSTANT:
        if x.value == 0.0:
            raise ArgumentError("the equations divide by a constant that is zero")
        return x.graph.constant(1.0 / x.value)
    return x.graph.node(RECIPROCAL, x)


def function(name: str, x: Expression, *others: Expression) -> Expression:
    """Apply one of `operations.FUNCTIONS`; minus signs move out of even and odd functions."""
    if name is operations.SELECT:
        return select(x, *others)
    if x.op is NEGATE:
        if name in operations.EVEN:
            return function(name, x.args[0])
        if name in operations.ODD:
            return negate(function(name, x.args[0], *others))
    known = [constant_value(a) for a in (x, *others)]
    numbers = [value for value in known if value is not None]
    if len(numbers) == len(known):
        if name is operations.SQRT and numbers[0] < 0.0:
            raise ArgumentError(f"the equations take the square root of {numbers[0]}")
        return x.graph.constant(operations.FUNCTIONS[name](*numbers))
    return x.graph.node(name, x, *others)


def select(a: Expression, b: Expression, x: Expression, y: Expression) -> Expression:
    """Select x where a < b, else y."""
    if a.op is NEGATE and b.op is NEGATE:
        a, b = b.args[0], a.args[0]
    a_known, b_known = constant_value(a), constant_value(b)
    if a is b or x is y:
        return y
    if a_known is not None and b_known is not None:
        return x if a_known < b_known else y
    if x.op is NEGATE and y.op is NEGATE:
        return negate(select(a, b, x.args[0], y.args[0]))
    return a.graph.node(operations.SELECT, a, b, x, y)


def _multiple(x: Expression) -> tuple[float, Expression]:
    """Split c y into c and y; any other node is 1 times itself."""
    if x.op is MULTIPLY and x.args[0].op is CONSTANT:
        return x.args[0].value, x.args[1]
    return 1.0, x
