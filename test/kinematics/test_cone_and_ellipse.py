"""The quartic of inverse kinematics: all its roots, multiple ones and those next to them too."""

import numpy as np
import pytest

from robot_dynamics.kinematics.inverse.equations.cone_and_ellipse import cone_and_ellipse

COUNT = 3000
EXACT = 1e-14  # part of the squares that cancel: worst of 20000 of every kind 5e-16
KNOWN = 5e-4  # rad: where four roots are one, it is known to the fourth root of round-off

KINDS = (
    "plain",
    "crossing",
    "touching",
    "concentric",
    "at a vertex",
    "circles",
    "flat",
    "scales",
    "in space",
    "parabola",
)


def at(conic, angle):
    """The point of each ellipse, shape (2, N) or (3, N)."""
    centre, u, v = conic
    return centre + u * np.cos(angle) + v * np.sin(angle)


def problems(kind, rng):
    """Ellipses (centre, u, v), shape (3, 2, N), and radii of circles about the origin, (N,)."""
    conic, angle = rng.normal(size=(3, 2, COUNT)), rng.uniform(-np.pi, np.pi, COUNT)
    centre, u, v = conic
    if kind == "plain":
        return conic, np.abs(rng.normal(size=COUNT))
    if kind == "touching":  # exactly, and by as little as round-off on either side
        along = v * np.cos(angle) - u * np.sin(angle)
        centre -= along * (at(conic, angle) * along).sum(axis=0) / (along**2).sum(axis=0)
        off = rng.choice([-1, 0, 1], COUNT) * 10.0 ** rng.uniform(-16.0, -3.0, COUNT)
        return conic, np.hypot(*at(conic, angle)) * (1.0 + off)
    if kind == "at a vertex":  # of curvature (four roots in one) or about the centre (two and two)
        axes = rng.uniform(0.1, 2.0, (2, COUNT))
        e = np.array([np.cos(angle), np.sin(angle)])
        turn = rng.uniform(-np.pi, np.pi, COUNT)
        a, b = axes[0] * e, axes[1] * np.array([-e[1], e[0]])
        u[:], v[:] = a * np.cos(turn) + b * np.sin(turn), b * np.cos(turn) - a * np.sin(turn)
        curved, inner = rng.random(COUNT) < 0.5, axes[1] ** 2 / axes[0]
        centre[:] = np.where(curved, (inner - axes[0]) * e, 0.0)
        return conic, np.where(curved, inner, axes[0])
    if kind == "concentric":
        centre *= 0.0
    if kind == "circles":
        v[:] = np.array([-u[1], u[0]]) * (1.0 + 10.0 ** rng.uniform(-18.0, -2.0, COUNT))
    if kind == "flat":
        v[:] = u * rng.normal(size=COUNT) * rng.integers(0, 2, COUNT)
    if kind == "scales":
        conic *= 10.0 ** rng.uniform(-9.0, 0.0, (3, 1, COUNT))
    return conic, np.hypot(*at(conic, angle))


def curves(kind, rng):
    """Ellipses in space (centre, u, v), shape (3, 3, N)."""
    if kind == "in space":
        return rng.normal(size=(3, 3, COUNT))
    conic, radius = problems("crossing" if kind == "parabola" else kind, rng)
    curve = np.concatenate([conic, np.zeros((3, 1, COUNT))], axis=1)
    curve[0, 2] = radius
    if kind == "parabola":  # two of three are nearly a line, as that of a slide
        (first, second, third), height = (
            conic * 10.0 ** rng.uniform(-6.0, 0.0, (3, 1, COUNT)),
            radius,
        )
        curve[:, :2] = first + third, first - third, second
        curve[1, 2] = height
    return curve


@pytest.mark.parametrize("kind", KINDS)
def test_every_root_of_the_quartic_is_found_and_every_one_is_right(kind):
    curve = curves(kind, np.random.default_rng(0))
    scale = (curve**2).sum(axis=(0, 1))
    with np.errstate(all="ignore"):
        pairs = cone_and_ellipse(*curve)
    turns = [(turn, pair) for pair in pairs for turn in pair.solutions]
    for turn, pair in turns:
        np.testing.assert_allclose(turn.c**2 + turn.s**2, 1.0, rtol=0.0, atol=1e-14)
        x, y, z = curve[0] + curve[1] * turn.c + curve[2] * turn.s
        missed = np.abs(x * x + y * y - z * z) / scale
        assert np.max(missed, where=np.abs(pair.d) <= 1.0, initial=0.0) < EXACT
    found = np.array([np.arctan2(turn.s, turn.c) for turn, _ in turns])
    grid = np.linspace(-np.pi, np.pi, 721)  # roots that a change of sign shows
    x, y, z = np.moveaxis([at(curve, angle) for angle in grid], 1, 0)
    values = x * x + y * y - z * z
    k, n = np.nonzero(np.diff(np.sign(values), axis=0) * (np.abs(values[:-1]) > EXACT * scale))
    off = np.abs(np.angle(np.exp(1j * (found[:, n] - 0.5 * (grid[k] + grid[k + 1])))))
    assert off.min(axis=0).max(initial=0.0) < 0.5 * (grid[1] - grid[0]) + KNOWN
