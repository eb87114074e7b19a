"""The report shows names and reasons as text."""

import re

import numpy as np

from robot_dynamics.identification.export.html_report import html_report
from robot_dynamics.identification.validation import Errors, JointFit, RegimeFit, Report

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> $\\frac"


def test_names_and_reasons_are_text_and_no_markup():
    curve = np.linspace(0.0, 1.0, 5)
    errors = Errors(0.1, 0.1, 0.1, 0.95)
    fit = JointFit(EVIL, (RegimeFit("all", 5, errors, errors),), 0.0, 1.0, EVIL)
    curves = [curve[:, None]] * 4
    regime = np.zeros((5, 1), dtype=int)
    report = Report(EVIL, (fit,), (), "good", (EVIL,), curve, *curves, regime, 5.0)
    page = html_report(report)
    assert "<script" not in page
    assert len(re.findall("<img", page)) == 1  # that of the efforts
    assert page.count("&lt;script&gt;alert(1)") == 5
