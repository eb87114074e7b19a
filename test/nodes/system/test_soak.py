"""A short run of what `python -m benchmark.soak` does for ten minutes."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmark.soak.sent_trajectory import FIRST, SentTrajectory
from benchmark.soak.soak import soak
from starvation import ATTEMPTS, children, counts, most_grown, waited

# Far above what the fades of modes and loads ask for, and a hundredth of a step of 100 N m in a
# millisecond: the stiff default gains of this heavy arm need it
EFFORT_RATE = 20000.0


def undisturbed_by_others(folder, domain):
    """The report of a run whose nodes had their time, or that shows no fault all the same."""
    for attempt in range(1, ATTEMPTS + 1):
        before, after = {}, {}
        attempt_folder = folder / str(attempt)
        attempt_folder.mkdir()

        def look(_gone, before=before, after=after):
            after.update(waited(children()))
            for pid, time in after.items():
                before.setdefault(pid, time)

        report = soak(
            12.0,
            attempt_folder,
            robot="planar_2r",
            rate=250.0,
            effort_rate=EFFORT_RATE,
            domain=domain,
            tick=look,
        )
        if not report.faults or counts(attempt, most_grown(before, after)):
            break
    return report


@pytest.mark.thorough
def test_an_arm_under_constant_disturbances_follows_all_commands_without_a_jump(tmp_path, domain):
    report = undisturbed_by_others(tmp_path, domain)
    assert not report.faults
    assert report.trajectories >= 3
    assert report.replaced >= 1
    assert report.accepted == report.trajectories
    assert report.payloads >= 2 and report.modes >= 2
    assert report.commands > 100
    assert all(report.memory[f"{name}_node"] for name in ("simulator", "feedforward", "controller"))


def test_the_soak_sees_a_reference_that_leaves_its_trajectory():
    import numpy as np

    sent = SentTrajectory(10.0, np.array([[0.0], [1.0], [0.0], [1.0]]), until=12.0)
    sent.compare(10.0 + FIRST - 0.1, np.array([7.0]))  # on the way to the first waypoint
    assert sent.seen == 0
    sent.compare(10.0 + FIRST + 0.5, np.array([0.5]))  # half way by symmetry
    assert sent.seen == 1 and sent.deviation < 1e-12
    sent.compare(10.0 + FIRST + 0.5, np.array([0.6]))
    assert sent.deviation == pytest.approx(0.1)
    sent.compare(12.5, np.array([7.0]))  # replaced by then
    assert sent.seen == 2
