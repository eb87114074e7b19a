"""Trajectories in files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.trajectory.trajectory_files import read_trajectory, write_trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

NAMES = ("shoulder", "elbow's joint")


def some_waypoints(seed, fields):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(4, 3, 2)) * 10.0 ** rng.integers(-12, 6, (4, 3, 2))
    given_fields = [array if chosen else None for array, chosen in zip(values, fields, strict=True)]
    if given_fields[1] is not None and seed % 2:
        given_fields[1][1] = np.nan  # the second point gives no velocities
    times = np.cumsum(rng.integers(1, 10**9, 3)) * 1e-9
    return Waypoints(NAMES, times, values[0], *given_fields[1:])


@pytest.mark.parametrize("suffix", ["yaml", "csv"])
@given(seed=st.integers(0, 1000), fields=st.tuples(st.just(True), *[st.booleans()] * 3))
def test_what_is_written_is_read_back_exactly(tmp_path_factory, suffix, seed, fields):
    path = tmp_path_factory.mktemp("files") / f"motion.{suffix}"
    w = some_waypoints(seed, fields)
    write_trajectory(path, w)
    again = read_trajectory(path, allow_end_velocity=True)
    assert again.joint_names == w.joint_names
    np.testing.assert_allclose(again.times, w.times, rtol=0.0, atol=1e-9)  # nanoseconds
    for field in ("positions", "velocities", "accelerations", "effort"):
        np.testing.assert_array_equal(getattr(again, field), getattr(w, field))


def test_the_output_of_ros2_topic_echo_is_read(tmp_path):
    path = tmp_path / "echo.yaml"
    path.write_text(
        """\
header:
  stamp:
    sec: 0
    nanosec: 0
  frame_id: ''
joint_names:
- shoulder
- elbow
points:
- positions:
  - 0.0
  - 0.5
  velocities: []
  accelerations: []
  effort: []
  time_from_start:
    sec: 0
    nanosec: 0
- positions: [1.0, 2e-1]
  velocities: []
  accelerations: []
  effort: []
  time_from_start:
    sec: 1
    nanosec: 500000000
---
"""
    )
    w = read_trajectory(path, ["elbow", "shoulder"])
    assert w.joint_names == ("shoulder", "elbow")
    assert w.times.tolist() == [0.0, 1.5]
    assert w.positions.tolist() == [[0.0, 0.5], [1.0, 0.2]]
    assert w.velocities is None


def test_times_may_be_plain_seconds(tmp_path):
    path = tmp_path / "short.yml"
    path.write_text("joint_names: [a]\npoints: [{positions: [1], time_from_start: 0.25}]\n")
    assert read_trajectory(path).times.tolist() == [0.25]


# suffix, content, and what is said about it after the path
FAULTY = {
    "not YAML": ("yaml", "points: [1, 2\n: }", "line 2: not YAML; write joint_names and points"),
    "no names": (
        "yaml",
        "points: []",
        "no joint_names; write them as in trajectory_msgs/JointTrajectory",
    ),
    "names that are numbers": ("yaml", "joint_names: [1]", "joint_names is not a list of names"),
    "points that are none": (
        "yaml",
        "joint_names: [a]\npoints: 3",
        "points is not a list",
    ),
    "a point that is none": (
        "yaml",
        "joint_names: [a]\npoints: [3]",
        "point 0 is not a mapping; give positions and time_from_start",
    ),
    "text for a number": (
        "yaml",
        "joint_names: [a]\npoints: [{positions: [one], time_from_start: 0}]",
        "point 0: positions holds 'one'; give a number",
    ),
    "no time": (
        "yaml",
        "joint_names: [a]\npoints: [{positions: [1]}]",
        "point 0: time_from_start holds None; give a number",
    ),
    "a position that is no number": (
        "yaml",
        "joint_names: [a]\npoints: [{positions: [.nan], time_from_start: 0}]",
        "trajectory point 0: positions are all nan; every number must be finite",
    ),
    "no header": (
        "csv",
        "1,2,3",
        "no header; the first row is: time, q.<joint>, ..., qd.<joint>, ...",
    ),
    "an unknown column": (
        "csv",
        "time,x.a\n0,1",
        "column 'x.a' is unknown; name columns time, q.<joint>, qd.<joint>, qdd.<joint>, "
        "tau.<joint>",
    ),
    "a column twice": ("csv", "time,q.a,q.a\n0,1,1", "column 'q.a' stands twice; give it once"),
    "a column too few": (
        "csv",
        "time,q.a,q.b,qd.a\n0,1,1,1",
        "joint 'b' has no column 'qd.b'; give each kind of column for every joint or none",
    ),
    "a short row": (
        "csv",
        "time,q.a,q.b\n0,1",
        "point 0: 2 entries for 3 columns; give one per column",
    ),
    "an empty file": (
        "yaml",
        "\n",
        "the file is empty; write joint_names and points, or a .csv table",
    ),
    "another kind of file": ("txt", "", "unknown kind of file; use .yaml or .csv"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_faulty_file_is_refused_in_one_line_that_names_it(tmp_path, case):
    suffix, content, message = FAULTY[case]
    path = tmp_path / f"motion.{suffix}"
    path.write_text(content)
    with pytest.raises(TrajectoryError) as refusal:
        read_trajectory(path)
    assert str(refusal.value) == f"{path}: {message}"


def test_a_file_that_does_not_exist_is_named(tmp_path):
    path = tmp_path / "none.yaml"
    with pytest.raises(TrajectoryError) as refusal:
        read_trajectory(path)
    assert str(refusal.value) == (
        f"{path}: cannot be read (No such file or directory); give a text file"
    )


def test_joints_that_the_robot_does_not_have_are_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("time,q.knee\n0,1\n")
    with pytest.raises(TrajectoryError, match="no joint 'knee'"):
        read_trajectory(path, ["elbow"])
