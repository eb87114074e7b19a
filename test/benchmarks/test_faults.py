"""A short run of `python -m benchmark.faults`, and its table."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from benchmark.faults import ALL, FAR, FAST, Case, Result, cases, measured, quick, table

CASES = list(cases([100.0, 1000.0], ["ur5", "panda"]))


def test_the_table_has_a_row_for_each_end_and_a_column_for_each_arm():
    lines = table({case: Result("controller_node", 0.5, 0.001) for case in CASES}, "1 to 2")
    assert lines[2].count("|") == 2 + 1 + 2 * 2 * 2
    assert len(lines) == 4 + 2 * 4 * 2
    first = "| feedforward_node, kill -9, in motion | controller_node |" + " 0.50, 0.0010 |" * 8
    assert lines[4] == first


def test_an_arm_without_friction_and_controllers_need_not_be_held():
    assert not Case("ur5", 100.0, False, ALL, "Ctrl-C", True).held
    assert not Case("ur5", 100.0, True, ALL, "kill -9", True).held
    assert Case("ur5", 100.0, True, ALL, "Ctrl-C", True).held
    assert Case("ur5", 100.0, False, "feedforward_node", "kill -9", True).held


@pytest.mark.thorough
def test_what_holds_the_arm_after_a_fault_holds_it():
    results = {}
    measured(quick(), 1, results.__setitem__)
    assert len(results) == 3
    for case, result in results.items():
        assert not result.fault, result.fault
        assert result.peak < FAST and result.drift < FAR, (case, result)
