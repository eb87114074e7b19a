"""Report as one HTML file without external resources: verdict, tables, efforts."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

from robot_dynamics.errors import MissingPackageError
from robot_dynamics.foundation.names import plot_text
from robot_dynamics.foundation.pictures import new_figure, picture_bytes, with_gaps
from robot_dynamics.foundation.text_tables import html_table
from robot_dynamics.identification.estimation import Identification
from robot_dynamics.identification.export.parameter_file import TERMS
from robot_dynamics.identification.regimes import AT_REST, REVERSING
from robot_dynamics.identification.validation import VERDICTS, Report

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1.5rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid #ddd; text-align: right; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.key { margin-right: 1rem; white-space: nowrap; }
.key b { display: inline-block; width: 1.4em; height: .7em; margin-right: .4em; }
.wide { overflow-x: auto; }
img { width: 100%; } .verdict { font-size: 1.3rem; font-weight: 600; }
"""

COLOURS = dict(zip(VERDICTS, ("#007a4d", "#007a4d", "#a86400", "#b00020"), strict=True))
MEASURED, PREDICTED, RESIDUAL, BAND = "#222222", "#0072b2", "#d55e00", "#56b4e966"
SHADES = {REVERSING: "#f5ead0", AT_REST: "#ececec"}
"""Colours behind the samples of these regimes."""


def html_report(report: Report, identification: Identification | None = None) -> str:
    """Return the page.

    Args:
        report: Report of a validation or of `identification`.
        identification: Adds base parameters, friction and masses.
    """
    colour = COLOURS[report.verdict]
    fits = html_table("How well efforts are predicted", report.headings, report.rows)
    body = [
        f"<h1>{escape(report.robot)}</h1>",
        f'<p class="verdict" style="color:{colour}">{escape(report.headline)}</p>',
        _list(report.reasons),
        f'<div class="wide">{fits}</div>',
        f"<p>Efforts below {report.cutoff:.3g} Hz, N m or N: "
        + _key(MEASURED, "measured")
        + _key(PREDICTED, "predicted")
        + (_key("#56b4e9", "95 % band") if report.width is not None else "")
        + _key(RESIDUAL, "their difference on held-out samples")
        + _key("#d9c9a0", "reversing")
        + _key("#c0c0c0", "at rest")
        + "</p>",
        _plots(report),
    ]
    if report.quality_warnings:
        body += ["<h2>Data-quality warnings</h2>"]
        body += [_list(warning.text for warning in report.quality_warnings)]
    if identification is not None:
        body += _found(identification)
    head = f"<meta charset='utf-8'><title>{escape(report.robot)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>"


def _key(colour: str, text: str) -> str:
    return f'<span class="key"><b style="background:{colour}"></b>{text}</span>'


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _found(found: Identification) -> list[str]:
    robot, friction = found.robot, found.friction
    masses = [(link.name, float(link.inertia.mass)) for link in robot.links if link.inertia.mass]
    rubbing: Sequence[tuple[object, ...]] = [
        (joint, *(float(getattr(friction, term)[j]) for term in TERMS),
         float(found.rotor_inertia[j]))
        for j, joint in enumerate(robot.joint_names)
    ]  # fmt: skip
    base = [(p.name, p.before, p.value, p.deviation, p.consistent) for p in found.parameters]
    return [
        html_table("Friction", ("joint", *TERMS, "rotor inertia"), rubbing),
        html_table("Masses", ("link", "kg"), masses),
        html_table(
            "Base parameters",
            ("name", "URDF", "least squares", "standard deviation", "physically consistent"),
            base,
        ),
    ]


def _plots(report: Report) -> str:
    """Return the picture, or the package that it lacks."""
    try:
        return f'<img alt="measured and predicted efforts" src="{_picture(report)}">'
    except MissingPackageError as error:
        return f"<p>no plots: {escape(str(error))}</p>"


def _picture(report: Report) -> str:
    """Plot efforts and bands of every joint, and under them residuals in their bands."""
    n = len(report.fits)
    figure = new_figure(figsize=(11.0, 0.8 + 2.2 * n), dpi=100, layout="constrained")
    axes = figure.subplots(2 * n, 1, sharex=True, height_ratios=[2, 1] * n)
    time = report.time - report.time[0]
    cut = with_gaps(time)
    at = cut(time)
    for j, (efforts, errors, fit) in enumerate(
        zip(axes[::2], axes[1::2], report.fits, strict=True)
    ):
        predicted = report.predicted[:, j]
        for regime, colour in SHADES.items():
            for axis in (efforts, errors):
                axis.fill_between(at, 0, 1, cut(report.regime[:, j] == regime) > 0.0, color=colour,
                                  transform=axis.get_xaxis_transform(), lw=0)  # fmt: skip
        if report.width is not None:
            width = report.width[:, j]
            efforts.fill_between(
                at, cut(predicted - width), cut(predicted + width), color=BAND, lw=0
            )
            errors.fill_between(at, cut(-width), cut(width), color=BAND, lw=0)
        efforts.plot(at, cut(report.measured[:, j]), color=MEASURED, lw=1.4)
        efforts.plot(at, cut(predicted), color=PREDICTED, lw=0.9)
        errors.plot(at, cut(report.held_out[:, j]), color=RESIDUAL, lw=0.8)
        efforts.set_title(plot_text(fit.joint), fontsize=9, loc="left", pad=2)
        for axis in (efforts, errors):
            axis.tick_params(labelsize=8)
            axis.margins(x=0)
            axis.grid(color="#eeeeee")
    axes[-1].set_xlabel("time, s", fontsize=9)
    return "data:image/png;base64," + base64.b64encode(picture_bytes(figure, "png")).decode()
