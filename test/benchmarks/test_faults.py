"""A short run of `python -m benchmark.faults`, and its tables."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
pytest.importorskip("mujoco", reason="MuJoCo comes with the extra 'bench'")

from benchmark.faults.__main__ import QUICK, Ears, cases, in_nodes
from benchmark.faults.arm import FRICTION, Arm, description
from benchmark.faults.page import fault_table, start_table, unsafe
from benchmark.faults.poses import POSES
from benchmark.faults.runs import Case, Result, words
from benchmark.faults.starts import ALLOWED, starts
from benchmark.table import replace_part
from robot_dynamics import Dynamics, read_urdf

SAFE = Result(0.02, 0.001, 0.5, "stopped: because", "stopped")


def test_the_table_has_a_row_for_each_fault_and_a_column_for_each_arm_and_rate():
    runs = cases(["ur5", "panda"], [100.0, 1000.0])
    lines = fault_table(dict.fromkeys(runs, SAFE), "1 to 2")
    assert lines[2].count("|") == 2 + 3 + 3
    assert len(lines) == 4 + len(runs) // 4
    assert lines[4] == "| no fault |" + " 0.02, 0.00 |" * 4 + " stopped: because | stopped |"


def test_starts_are_counted_by_what_happened_meanwhile():
    lines = start_table({start: 0.2 * start.moved for start in starts(["ur5"], 100.0)}, "1")
    assert (
        lines[4] == "| none | 0 of 4, 0.0000 | 0 of 4, 0.0000 | 4 of 4, 0.2000 | 4 of 4, 0.2000 |"
    )


def test_a_fast_arm_is_unsafe_unless_nothing_holds_it():
    fast = Result(0.5, 0.0)
    assert unsafe(Case("ur5", 100.0, "gap"), fast)
    assert not unsafe(Case("ur5", 100.0, "gap"), SAFE)
    assert not unsafe(Case("ur5", 100.0, "all nodes, kill -9"), fast)


def test_the_sentence_of_the_cause_comes_before_other_warnings():
    log = (
        "[INFO] [1.0] [controller_node]: tracking the reference\n"
        "[WARN] [2.0] [controller_node]: states come every 10 ms\n"
        "[WARN] [2.1] [controller_node]: stopped: joint 'a' stands\n"
    )
    assert words(log, 1.5) == ("stopped: joint 'a' stands", "stopped")


def test_a_part_of_a_page_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end -->\nb\n")
    replace_part(page, "x", ["new"])
    assert page.read_text() == "a\n<!-- x -->\nnew\n<!-- end -->\nb\n"


@pytest.mark.parametrize("name", POSES)
def test_the_plant_moves_as_the_model_says_but_for_its_friction(name):
    text, q = description(name), np.array(POSES[name][0])
    robot = read_urdf(text)
    dynamics = Dynamics(robot)
    tau = dynamics.gravity(q) + FRICTION * robot.limits.effort
    free, held = Arm(text, q, friction=0.0), Arm(text, q, friction=2.0 * FRICTION)
    for arm in (free, held):
        assert tuple(arm.names) == robot.joint_names
        arm.tau, arm.braked = tau, False
        arm.advance(1)
    # A step of 1 ms, in which the damping of the URDF is implicit
    expected = dynamics.forward(q, 0.0 * q, tau) * 1e-3
    np.testing.assert_allclose(free.qd, expected, rtol=0.05)
    held.advance(1000)
    assert abs(held.q - q).max() < 1e-4  # its constraint is not rigid


@pytest.mark.thorough
def test_what_has_to_hold_the_arm_holds_it():
    ears = Ears()
    for run in QUICK:
        result = in_nodes(run, ears)
        if isinstance(run, Case):
            assert not result.failure, result.failure
            assert not unsafe(run, result), (run, result)
        else:
            assert result < ALLOWED, run
