"""The report shows names and reasons as text."""

import re

import numpy as np

from robot_dynamics.identification.export.html_report import html_report
from robot_dynamics.identification.validation import JointFit, Report

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> $\\frac"


def test_names_and_reasons_are_text_and_no_markup():
    curve = np.linspace(0.0, 1.0, 5)
    fit = JointFit(EVIL, *[0.1] * 5, EVIL)
    report = Report(EVIL, (fit,), (), "good", (EVIL,), curve, *[curve[:, None]] * 3, 5.0)
    page = html_report(report)
    assert "<script" not in page
    assert len(re.findall("<img", page)) == 1  # that of the efforts
    assert page.count("&lt;script&gt;alert(1)") == 5
