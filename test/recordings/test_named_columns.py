"""Tables of text whose header is missing or has other names."""

import re

import numpy as np
import pytest

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import Recording
from robot_dynamics.robot import find_robot, read_urdf

ROBOT = read_urdf(find_robot("planar_2r"))
TIME = np.arange(100) / 100.0
Q, QD, TAU = (np.random.default_rng(0).normal(size=(3, 100, 2)) * 0.1).round(6)


def written(path, columns, header="", delimiter=",", comments=""):
    rows = np.column_stack(columns)
    np.savetxt(path, rows, header=header, delimiter=delimiter, comments=comments, fmt="%.6f")
    return path


def read(path, columns):
    return Recording.read(path, ROBOT, columns=columns)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "   "])
def test_a_table_without_a_header_is_read_by_the_order_of_its_columns(tmp_path, delimiter):
    path = written(tmp_path / "run.txt", [TIME, Q, np.ones((100, 3)), QD, TAU], "", delimiter)
    found = read(path, "time, q, -3, qd, tau")
    for name, true in (("time", TIME), ("q", Q), ("qd", QD), ("tau", TAU)):
        np.testing.assert_array_equal(getattr(found, name), true)


@pytest.mark.parametrize(
    ("header", "columns"),
    [  # of RTDE, of libfranka's logToCSV (names from 0), and from 1
        (
            "timestamp actual_q_0 actual_q_1 mode actual_current_0 actual_current_1",
            "time=timestamp,q=actual_q_*,tau=actual_current_*",
        ),
        (
            "time, state.q[0], state.q[1], success_rate, state.tau_J[0], state.tau_J[1]",
            "time=time,q=state.q[*],tau=state.tau_J[*]",
        ),
        ("t,a1,a2,a3,b1,b2", "time=t,q=a*,tau=b*"),
    ],
)
def test_a_table_with_other_names_is_read_by_their_pattern(tmp_path, header, columns):
    path = tmp_path / "run.csv"
    between = "," if "," in header else " "
    written(path, [TIME, Q, np.ones(100), TAU], header, between)
    text = path.read_text().replace(f"{between}1.000000{between}", f"{between}RUNNING{between}")
    path.write_text(text)  # columns that do not count may hold text
    found = read(path, columns)
    np.testing.assert_array_equal(found.q, Q)
    np.testing.assert_array_equal(found.tau, TAU)
    assert found.qd is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "time,q",
            "columns name tau 0 times; name time, q and tau once, and qd if it was measured",
        ),
        ("time,q,q,tau", "columns name q 2 times; name time, q and tau once, and qd if it was"),
        ("time,q,effort", "columns: 'effort' is not understood; give time,q,qd,tau with -N for N "),
        ("time,q=a*,tau", "columns: 'time' is not understood; give"),
        ("time,q,tau,-0", "columns: '-0' is not understood; give"),
        ("time=t,q=a,tau=b*", "columns: 'q=a' needs one *, where the names have the number of the"),
        ("time=t,q=c*,tau=b*", "has no column 'c1' (columns: t, a1, a2, a3, b1, b2); name its"),
        ("time,q,tau", "line 1: 6 entries for 5 columns; give one per column"),
        ("time,q,-1,tau", "line 1: column 'time' holds 't'; give a number"),
    ],
)
def test_a_wrong_description_of_columns_is_one_line_with_file_and_remedy(
    tmp_path, columns, message
):
    path = written(tmp_path / "run.csv", [TIME, Q, np.ones(100), TAU], "t,a1,a2,a3,b1,b2")
    with pytest.raises(RecordingError, match=re.escape(f"{path}: {message}")) as caught:
        read(path, columns)
    assert "\n" not in str(caught.value)
