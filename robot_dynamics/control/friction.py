"""Joint friction, for compensation in control and for the plant in simulation.

    tau_f = viscous qd + (coulomb + load |tau| + stiction exp(-(qd / stribeck)^2)) s + offset
    s = (1 - memory) sign(qd) + memory mean(z)

tau is the effort that the joint transmits. The sign makes control chatter at rest, so compensation
replaces it by a smooth crossing of a given width. The plant keeps the sign, and stiction.

The states z of `ELEMENTS` elements are the presliding state of the joint: a joint that has stopped
keeps the friction of its last direction. `slipped` moves them on, and `FrictionMemory` holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.graph.piecewise import maximum, minimum, select
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.compiler.kernel import compile_program
from robot_dynamics.dynamics.joint_vectors import per_joint
from robot_dynamics.dynamics.variant import FRICTION_WIDTH
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array, frozen
from robot_dynamics.foundation.lazy import cached_property
from robot_dynamics.robot.robot import Robot

DEFAULT_WIDTH = FRICTION_WIDTH
"""Speed at which smoothed Coulomb friction reaches tanh(1) = 76 %, rad/s or m/s."""

DEFAULT_SLIP = 1e-3
"""Slip distance of a joint without memory, rad or m, which has no effect."""

JUMP = 0.1
"""Change of a desired position from cycle to cycle that is no motion, rad or m."""

MEASURED_JUMP = 1.0
"""Change of a measured position from state to state that is no motion, rad or m."""

HELD = 0.9
"""Part of the friction of the last direction that is compensated while a joint rests."""

ELEMENTS = 3
"""Elements of friction with memory, in parallel."""

MOST_LOAD = 0.9
"""Largest sliding friction per transmitted effort of friction that is scaled."""

SLOW = 1e-6
"""Speed over the width of the crossing at which the slope of friction at rest is taken."""

RIGID = 1e-9
"""Least distance of sliding within which an element slips, over its slip distance."""


def slip_distances(slip: Any, slip_ratio: Any) -> list[Any]:
    """Return the slip distances of the elements of a joint, a factor `slip_ratio` apart."""
    return [slip / slip_ratio, slip, slip * slip_ratio]


def slipped(z: Any, displacement: Any, elastic: Any) -> Any:
    """Return the state of an element after a displacement of any length, exactly.

    The state z in [-1, 1] is the friction over its limit. It grows with the displacement like a
    spring up to the elastic part, then approaches the limit exponentially:

        dz/dx = 1 for |z| < elastic or x away from the limit, else (1 - |z|) / (1 - elastic)

    With elastic 1 this is the stop operator ([Prandtl1928]), with 0 the model of [Dahl1968], and
    between them the elasto-plastic one of [Dupont2002], whose state cannot drift below the
    elastic part as that of LuGre ([CanudasDeWit1995]) does. Stops in parallel are a generalised
    Maxwell slip model ([AlBender2005]).

    Args:
        z: State, number, array or symbol.
        displacement: Change of position over the slip distance.
        elastic: Elastic part, 0 to 1.
    """
    sign = select(displacement, 0.0, -1.0, 1.0)
    left, w = sign * displacement, sign * z
    spring = select(0.0, elastic, minimum(left, maximum(elastic - w, 0.0)), 0.0)
    w, left = w + spring, left - spring
    return sign * (1.0 - (1.0 - w) * np.exp(-left / maximum(1.0 - elastic, RIGID)))


def held(direction: Any, qd: Any, width: Any) -> Any:
    """Return the part of a direction that feedforward compensates; see `Model.follow`.

    At rest that is `HELD` of it: a joint whose friction is compensated in full drifts.

    Args:
        direction: Of presliding friction, shape (n,).
        qd: Velocities, shape (n,), rad/s or m/s.
        width: See `Model.friction_width`.
    """
    part = HELD + (1.0 - HELD) * abs(np.tanh(qd / width))
    return select(0.0, abs(direction), direction * part, 0.0)


def breakaway(stiction: Any, stribeck: Any, qd: Any) -> Array:
    """Return what static friction adds to sliding friction at slow speed, shape (n,), N m or N.

    Args:
        stiction: Static minus sliding friction, shape (n,), N m or N; compiled code skips zeros.
        stribeck: Speed at which it has fallen to 1/e of that, shape (n,), rad/s or m/s.
        qd: Velocities, shape (n,), rad/s or m/s.
    """
    return select(0.0, abs(stiction), stiction * np.exp(-((qd / stribeck) ** 2)), 0.0)


class _Terms(NamedTuple):
    """Optional terms of friction."""

    stiction: bool
    load: bool
    offset: bool
    width: bool
    memory: bool


_ALL = _Terms(stiction=True, load=True, offset=True, width=True, memory=True)


class FrictionRows(NamedTuple):
    """The first fields of `Friction` in order, shape (n,) each, for numbers or symbols."""

    viscous: Array
    coulomb: Array
    stiction: Array
    stribeck: Array
    load: Array
    offset: Array
    width: Array
    memory: Array


def friction_effort(
    f: FrictionRows | Friction,
    qd: Array,
    width: Any,
    tau: Array | None = None,
    terms: _Terms = _ALL,
    presliding: Any = None,
) -> Array:
    """Compute the effort that compensates friction; see `Friction.smooth`.

    Args:
        f: Friction, of numbers or symbols.
        qd: As of `Friction.smooth`.
        width: As of `Friction.smooth`.
        tau: As of `Friction.smooth`.
        terms: Terms that may not be zero, as the others only take time.
        presliding: As of `Friction.smooth`.
    """
    dry = f.coulomb
    if terms.stiction:
        dry = dry + breakaway(f.stiction, f.stribeck, qd)
    if terms.load and tau is not None:
        dry = dry + f.load * abs(tau)
    effort = f.viscous * qd + dry * _sign(f, qd, width, terms, presliding)
    return effort + f.offset if terms.offset else effort


def effort_beyond_friction(
    f: FrictionRows | Friction,
    qd: Array,
    tau: Array,
    width: Any,
    terms: _Terms = _ALL,
    presliding: Any = None,
) -> Array:
    """Compute efforts tau at velocity qd less friction; see `Friction.overcome`."""
    left = tau - friction_effort(f, qd, width, terms=terms, presliding=presliding)
    sign = _sign(f, qd, width, terms, presliding)
    return np.asarray(left / (1.0 + f.load * sign * select(left, 0.0, -1.0, 1.0)))


def _sign(
    f: FrictionRows | Friction, qd: Array, width: Any, terms: _Terms, presliding: Any = None
) -> Array:
    """Return the direction of friction, -1 to 1, with a smooth crossing."""
    if terms.width:
        width = select(0.0, f.width, f.width, width)
    sign = np.asarray(np.tanh(qd / width))
    if terms is _ALL:  # compiled code skips what is not selected
        sign = select(0.0, f.coulomb + abs(f.stiction) + f.load, sign, 0.0)
    if presliding is None or not terms.memory:
        return sign
    return np.asarray(sign + f.memory * (presliding - sign))


@cache
def slip_kernel() -> Callable[[Array, Array, Array], Array]:
    """Return `slipped` of many elements, shape (k, 1) each, compiled."""
    shapes = {"z": (1,), "displacement": (1,), "elastic": (1,)}

    def program() -> Any:
        return optimize(trace("slipped", lambda **x: {"next": slipped(**x)}, shapes))

    return partial(compile_program(program, key="slipped"), threads=1)


def slipped_along(q: Array, slip: Array, elastic: Array) -> Array:
    """Return the states of k elements along a path of M positions, shape (M, k).

    Args:
        q: Positions, shape (M, k), or (M, 1) for all elements.
        slip: Slip distances, shape (k,).
        elastic: Elastic parts, shape (k,).
    """
    z, part = np.zeros((len(slip), 1)), np.ascontiguousarray(elastic[:, None])
    displacements = np.diff(q, axis=0, prepend=q[:1])[..., None] / slip[:, None]
    states, step = np.empty((len(q), len(slip))), slip_kernel()
    for i, displacement in enumerate(displacements):
        z = step(z, displacement, part)
        states[i] = z[:, 0]
    return states


@dataclass(frozen=True, eq=False)
class Friction:
    """Friction of n joints; every field has shape (n,), or one number for all joints.

    Args:
        viscous: N m s/rad or N s/m.
        coulomb: Sliding friction, N m or N.
        stiction: Excess of friction at rest over sliding friction, N m or N; by default zero.
            Negative, down to -coulomb, where friction bends as it rises with speed.
        stribeck: Speed at which that excess has fallen to 1/e, rad/s or m/s.
        load: Sliding friction per effort that the joint transmits, below one, by default zero.
        offset: Effort in one direction at all speeds, N m or N, by default zero.
        width: Speed at which smoothed dry friction reaches tanh(1) = 76 %, rad/s or m/s; zero
            (the default) for the width that `smooth` is given.
        memory: Part of dry friction with presliding, 0 to 1, by default none.
        slip: Way on which that part builds up, rad or m.
        slip_ratio: Ratio of the slip distances of neighbouring elements, one or more.
        elastic: Part of dry friction up to which an element is a spring, 0 to 1; see `slipped`.

    Raises:
        ShapeError: If the fields differ in length.
        ArgumentError: If a number is negative that cannot be, or not finite, or a Stribeck speed is
            zero.
    """

    viscous: Array
    coulomb: Array
    stiction: Array = field(default_factory=lambda: frozen([0.0]))
    stribeck: Array = field(default_factory=lambda: frozen([DEFAULT_WIDTH]))
    load: Array = field(default_factory=lambda: frozen([0.0]))
    offset: Array = field(default_factory=lambda: frozen([0.0]))
    width: Array = field(default_factory=lambda: frozen([0.0]))
    memory: Array = field(default_factory=lambda: frozen([0.0]))
    slip: Array = field(default_factory=lambda: frozen([DEFAULT_SLIP]))
    slip_ratio: Array = field(default_factory=lambda: frozen([1.0]))
    elastic: Array = field(default_factory=lambda: frozen([1.0]))

    def __post_init__(self) -> None:
        n = max(np.size(getattr(self, setting.name)) for setting in fields(self))
        for setting in fields(self):
            what, values = f"friction: {setting.name}", getattr(self, setting.name)
            signed = setting.name in ("stiction", "offset")
            size = per_joint(what, np.abs(values) if signed else values, n,
                             positive=setting.name in ("stribeck", "slip"))  # fmt: skip
            sign = np.where(np.asarray(values) < 0.0, -1.0, 1.0) if signed else 1.0
            object.__setattr__(self, setting.name, frozen(sign * size))
        for name, low, high in (
            ("memory", 0.0, 1.0),
            ("elastic", 0.0, 1.0),
            ("slip_ratio", 1.0, np.inf),
        ):
            values = getattr(self, name)
            if ((values < low) | (values > high)).any():
                i = int(np.argmax((values < low) | (values > high)))
                allowed = f"{low:g} or more" if np.isinf(high) else f"{low:g} to {high:g}"
                raise ArgumentError(f"friction: {name}[{i}] is {values[i]:.6g}; give {allowed}")
        at_rest = self.coulomb + self.stiction
        if (at_rest < -1e-9 * self.coulomb).any():
            i = int(np.argmin(at_rest))
            raise ArgumentError(
                f"friction: stiction[{i}] is {self.stiction[i]:.6g}; give {-self.coulomb[i]:.6g} "
                "or more, or friction at rest would drive the joint"
            )
        never_drives = np.maximum(self.stiction, -self.coulomb)  # not even by round-off
        object.__setattr__(self, "stiction", frozen(never_drives))

    @staticmethod
    def none(n: int) -> Friction:
        """Return zero friction of n joints.

        Args:
            n: Number of joints.

        Returns:
            Friction without effect.
        """
        return Friction(np.zeros(n), np.zeros(n))

    @staticmethod
    def of(robot: Robot) -> Friction:
        """Return the `<dynamics damping friction>` of the URDF.

        Args:
            robot: Any robot.

        Returns:
            Viscous and Coulomb friction of its independent joints.
        """
        return Friction(*robot.joint_friction)

    @cached_property
    def acts(self) -> bool:
        """Return whether there is any friction."""
        return self.is_dry or bool((self.viscous + np.abs(self.offset)).any())

    @property
    def is_dry(self) -> bool:
        """Return whether any joint can stick."""
        return bool((self.coulomb + np.abs(self.stiction) + self.load).any())

    @property
    def has_memory(self) -> bool:
        """Return whether dry friction of any joint has a presliding part."""
        return bool(self.memory.any())

    @cached_property
    def elements(self) -> tuple[Array, Array]:
        """Return slip distances and elastic parts of the elements, shape (ELEMENTS, n) each."""
        n = len(self.memory)
        slips = np.array(
            [np.broadcast_to(one, n) for one in slip_distances(self.slip, self.slip_ratio)]
        )
        return slips, np.broadcast_to(self.elastic, slips.shape).copy()

    @property
    def has_load_or_offset(self) -> bool:
        """Return whether friction of any joint depends on load or direction."""
        return bool((self.load + np.abs(self.offset)).any())

    def scaled(self, dry: Array, viscous: Array) -> Friction:
        """Multiply dry and viscous friction.

        A loop may call it in every cycle: nothing is checked again.

        Args:
            dry: Factors on dry friction, shape (n,), positive.
            viscous: Factors on viscous friction, shape (n,), positive.

        Returns:
            The scaled friction.
        """
        scaled = copy(self)
        for name, values in (
            ("viscous", viscous * self.viscous),
            ("coulomb", dry * self.coulomb),
            ("stiction", dry * self.stiction),
            ("load", np.minimum(dry * self.load, MOST_LOAD)),
        ):
            object.__setattr__(scaled, name, frozen(values))
        return scaled

    def resistance(self, qd: Array) -> Array:
        """Compute dry friction while sliding without load.

        Args:
            qd: Joint velocities, shape (n,), rad/s or m/s.

        Returns:
            Shape (n,), N m or N, never negative.
        """
        return np.asarray(self.coulomb + breakaway(self.stiction, self.stribeck, qd))

    def smooth(
        self,
        qd: Array,
        width: float | Array = DEFAULT_WIDTH,
        tau: Array | None = None,
        presliding: Array | None = None,
    ) -> Array:
        """Return the effort that compensates friction at velocity qd, without a step at rest.

        Args:
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s; desired ones have no noise.
            width: Speed scale of the crossing where the friction has none, rad/s or m/s.
            tau: Transmitted efforts, same shape as qd, if friction grows with them.
            presliding: Presliding direction, same shape, -1 to 1; by default that
                of qd.

        Returns:
            Efforts, same shape as qd, N m or N, in the direction of qd.
        """
        return friction_effort(self, qd, width, tau, self._terms, presliding)

    @cached_property
    def _terms(self) -> _Terms:
        """Return which terms are not zero, as the others only take time."""
        return _Terms(*(bool(getattr(self, name).any()) for name in _Terms._fields))

    def overcome(
        self,
        qd: Array,
        tau: Array,
        width: float | Array = DEFAULT_WIDTH,
        presliding: Array | None = None,
    ) -> Array:
        """Subtract friction from efforts: the inverse of adding `smooth`.

        Args:
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            tau: Efforts, same shape, N m or N.
            width: As in `smooth`.
            presliding: As in `smooth`.

        Returns:
            Efforts that are left for the bodies, same shape, N m or N.
        """
        return effort_beyond_friction(self, qd, tau, width, self._terms, presliding)

    def stuck(self, qd: Array, tau: Array, width: float | Array = DEFAULT_WIDTH) -> Array:
        """Return how far dry friction may differ from `smooth`, since it may hold a joint at rest.

        Args:
            qd: Velocities, shape (n,) or (N, n), rad/s or m/s.
            tau: Transmitted efforts, same shape.
            width: As in `smooth`.

        Returns:
            Efforts, same shape, never negative: all of dry friction at rest, none while sliding.
        """
        dry = self.resistance(qd) + self.load * np.abs(tau)
        return np.asarray(dry * (1.0 - np.abs(_sign(self, qd, width, self._terms))))


class FrictionMemory:
    """States of the elements of friction along a motion.

    Positions that make a step of more than `jump` belong to another motion, and leave the states as
    they are.

    Args:
        friction: Of n joints.
        jump: Largest change of a position that is motion, rad or m.

    Attributes:
        direction: Mean state of the elements of each joint, shape (n,), -1 to 1: zero at first, so
            that the effort begins without a step. None before the motion begins.
    """

    def __init__(self, friction: Friction, jump: float = JUMP) -> None:
        self.friction, self.jump = friction, jump
        self._slip, self._elastic = (x.reshape(-1, 1) for x in friction.elements)
        self.forget()

    def forget(self) -> None:
        """Forget the presliding state, such as where another controller has moved the arm."""
        self._z = np.zeros_like(self._slip)
        self._q: Array | None = None
        self.direction: Array | None = None

    def follow(self, q: Array) -> None:
        """Move on to positions q, shape (n,)."""
        if self.direction is None:
            self.direction = np.zeros(len(q))
        if self._q is not None:
            displacement = q - self._q
            if not displacement.any():
                return
            displacement = np.where(np.abs(displacement) < self.jump, displacement, 0.0)
            steps = np.tile(displacement, ELEMENTS)[:, None] / self._slip
            self._z = slip_kernel()(self._z, steps, self._elastic)
            self.direction = self._z.reshape(ELEMENTS, -1).mean(axis=0)
        self._q = q.copy()

    def fits(self, friction: Friction) -> bool:
        """Return whether another friction has the same elements, such as one that warmed up."""
        ours, theirs = self.friction.elements, friction.elements
        return ours is theirs or all(map(np.array_equal, ours, theirs))
