"""Figure 3-8 of [AsadaSlotine1986], and the ellipsoids of sections 4.2 and 5.4 along that track."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from robot_dynamics.foundation.arrays import Array
from robot_dynamics.papers.figures.curves import COLOURS, PaperFigure, WorkedExample, draw_joints
from robot_dynamics.papers.singular_track import Track, singular_track
from robot_dynamics.statics import (
    Ellipsoid,
    endpoint_compliance,
    force_ellipsoid,
    inertia_ellipsoid,
    principal_compliances,
    velocity_ellipsoid,
)

STIFFNESS = (1.0, 1.0)
"""Of both joints, N m/rad."""

MASS_KG = 1.0
"""Of each link, a uniform rod, kg."""

LABELS = {"A": (1.9, 0.06), "B": (0.16, 0.04), "C": (0.04, 0.2), "D": (0.06, 1.9)}
"""Positions of the labels of the track's corners, m."""

DRAWN = 9
"""Poses whose ellipsoids are drawn."""


def track_figures(points: int) -> Iterator[PaperFigure]:
    """Figure 3-8 over so many points of the track, and the ellipsoids at some of them."""
    track = singular_track(points=8 * points)
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    plane, rates = figure.subplots(1, 2, width_ratios=(1, 2))
    plane.plot(*track.position.T, color=COLOURS[0])
    for name, place in LABELS.items():
        plane.annotate(name, place)
    plane.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="endpoint, figure 3-7")
    plane.grid(alpha=0.25)
    draw_joints(rates, track.times, track.rates, range(2))
    rates.set(xlabel="time (s)", ylabel="joint velocity (rad/s)", ylim=(-15.0, 15.0))
    yield PaperFigure("3-8", "joint velocities near singular points", "book_3_8_rates", figure)

    figure = Figure(figsize=(9.0, 8.6), layout="constrained")
    shapes = ("velocity", "force", "compliance", "inertia")
    for axis, shape in zip(figure.subplots(2, 2).ravel(), shapes, strict=True):
        _draw_ellipsoids(axis, track, shape)
    yield PaperFigure("4-9, 5.4", "ellipsoids along the track", "book_ellipsoids", figure)


def _draw_ellipsoids(axis: Axes, track: Track, shape: str) -> None:
    """The arm and its ellipsoid at `DRAWN` poses, each scaled to be seen."""
    axis.plot(*track.position.T, color="0.8", linewidth=1.0)
    for k in np.linspace(0.04, 0.96, DRAWN) * (len(track.times) - 1):
        q, tip = track.angles[int(k)], track.position[int(k)]
        elbow = np.array([np.cos(q[0]), np.sin(q[0])])
        axis.plot(*np.column_stack([np.zeros(2), elbow, tip]), color="0.6", linewidth=0.8)
        found = _ellipsoid(shape, q)
        width, height = 2.0 * 0.25 * found.radii / found.radii.max()
        turn = np.degrees(np.arctan2(found.axes[1, 0], found.axes[0, 0]))
        axis.add_patch(
            Ellipse(tip, width, height, angle=turn, fill=False, color=COLOURS[0], linewidth=1.4)
        )
    axis.set(aspect="equal", title=shape, xlabel="x (m)", ylabel="y (m)")
    axis.grid(alpha=0.25)


def _ellipsoid(shape: str, q: Array) -> Ellipsoid:
    (s_1, s_12), (c_1, c_12) = np.sin(np.cumsum(q)), np.cos(np.cumsum(q))
    J = np.array([[-s_1 - s_12, -s_12], [c_1 + c_12, c_12]])  # (3-34)
    if shape == "velocity":
        return velocity_ellipsoid(J)
    if shape == "force":
        return force_ellipsoid(J)
    if shape == "compliance":
        deflections, axes = principal_compliances(endpoint_compliance(J, STIFFNESS))
        return Ellipsoid(axes, deflections)
    coupling, own = 0.5 * MASS_KG * np.cos(q[1]), MASS_KG / 3.0  # (5-12) of two uniform rods
    M = np.array([[5.0 * own + 2.0 * coupling, own + coupling], [own + coupling, own]])
    return inertia_ellipsoid(J, M)


SINGULAR_TRACK = WorkedExample(
    "Tracking near singular points",
    """\
[AsadaSlotine1986], example 3-2, figures 3-7 and 3-8. The endpoint of a planar arm with links of 1 m
goes at constant speed from A by B and C to D. The track is not in the copies at hand; the text says
that A and D are singular points, that rates are excessive there and between B and C, and that OA
and OD are radial. Chosen: A and D 1 mm inside the boundary, B and C 0.1 m from the origin, 1 m/s.
Below it the ellipsoids of section 5.4, and the principal compliances of figure 4-9, at poses of the
same motion, for joints of equal stiffness and links that are uniform rods; the longest axis of each
is drawn alike.""",
    ("book_3_8_rates", "book_ellipsoids"),
    track_figures,
)
