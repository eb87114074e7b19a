"""Report as one HTML file without external resources: verdict, tables, efforts."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

from matplotlib.figure import Figure

from robot_dynamics.foundation.names import plot_text
from robot_dynamics.foundation.pictures import picture_bytes
from robot_dynamics.foundation.text_tables import html_table
from robot_dynamics.identification.estimation import Identification
from robot_dynamics.identification.export.parameter_file import TERMS
from robot_dynamics.identification.validation import Report, percent

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1.5rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
img { width: 100%; } .verdict { font-size: 1.3rem; font-weight: 600; }
"""

VERDICTS = {"good": "#007a4d", "usable for gravity only": "#a86400", "do not use": "#b00020"}
MEASURED, PREDICTED, RESIDUAL = "#222222", "#0072b2", "#d55e00"


def html_report(report: Report, identification: Identification | None = None) -> str:
    """Return the page.

    Args:
        report: Report of a validation or of `identification`.
        identification: Adds base parameters, friction and masses.
    """
    colour = VERDICTS[report.verdict]
    body = [
        f"<h1>{escape(report.robot)}</h1>",
        f'<p class="verdict" style="color:{colour}">{escape(report.verdict)}</p>',
        _list(report.reasons),
        _fits(report),
        f'<p>Efforts below {report.cutoff:.3g} Hz: measured <b style="color:{MEASURED}">black</b>, '
        f'predicted <b style="color:{PREDICTED}">blue</b>, their difference on held-out '
        f'samples <b style="color:{RESIDUAL}">orange</b>.</p>',
        f'<img alt="measured and predicted efforts" src="{_picture(report)}">',
    ]
    if report.quality_warnings:
        body += ["<h2>Data-quality warnings</h2>"]
        body += [_list(warning.text for warning in report.quality_warnings)]
    if identification is not None:
        body += _found(identification)
    head = f"<meta charset='utf-8'><title>{escape(report.robot)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _fits(report: Report) -> str:
    headings = (
        "joint",
        "residual, %",
        "moving, %",
        "rms, N m or N",
        "bias",
        "correlation",
        "verdict",
    )
    rows = [
        (f.joint, percent(f.relative), percent(f.moving), f"{f.rms:.4g}", f"{f.bias:.3g}",
         f"{f.correlation:.4f}", f.verdict)
        for f in report.fits
    ]  # fmt: skip
    return html_table("How well efforts are predicted", headings, rows)


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


def _picture(report: Report) -> str:
    n = len(report.fits)
    figure = Figure(figsize=(10.0, 1.2 + 1.5 * n), dpi=100, layout="tight")
    axes = figure.subplots(n, 1, squeeze=False, sharex=True)[:, 0]
    time = report.time - report.time[0]
    for j, (axis, fit) in enumerate(zip(axes, report.fits, strict=True)):
        axis.plot(time, report.measured[:, j], color=MEASURED, lw=1.6)
        axis.plot(time, report.predicted[:, j], color=PREDICTED, lw=1.0)
        axis.plot(time, report.held_out[:, j], color=RESIDUAL, lw=0.8)
        axis.set_ylabel(plot_text(fit.joint), fontsize=8)
        axis.grid(color="#eeeeee")
    axes[-1].set_xlabel("time, s")
    return "data:image/png;base64," + base64.b64encode(picture_bytes(figure, "png")).decode()
