"""The page of operation counts says what the code counts, and the ablation covers every trick."""

import re

import pytest

from benchmark.operation_counts.ablation import ROWS, main
from benchmark.operation_counts.count_tables import (
    differences,
)
from benchmark.operation_counts.counts_page import PAGE, arms_of_publications, at_hand
from oracles import example_folder
from robot_dynamics.compiler.operation_count import OperationCount
from robot_dynamics.papers.counts.newton_euler_count import compare_newton_euler
from robot_dynamics.papers.counts.recursions import (
    CountComparison,
    Difference,
)


@pytest.mark.thorough
@pytest.mark.parametrize("table", [at_hand, arms_of_publications])
def test_page_has_the_counts_of_robots_with_numbers(table):
    if example_folder() is None:
        pytest.skip("example-robot-data is not installed")
    # If this fails: python -m benchmark.operation_counts
    rows = table().markdown().splitlines()[4:]
    missing = [row for row in rows if row not in PAGE.read_text()]
    assert missing == []


def test_difference_without_a_reason_is_shown_as_such():
    found = CountComparison(
        OperationCount(10, 5), OperationCount(8, 6), (Difference(-1, 1, "a zero is known"),)
    )
    assert differences("Case", found) == (
        "**Case**: printed 10 / 5, ours 8 / 6.\n\n"
        "- -1 / +1: a zero is known\n"
        "- -1 / +0: not explained"
    )


def test_every_difference_to_luh_walker_paul_is_listed():
    for n in (2, 3, 6, 9):
        comparison = compare_newton_euler(n)
        assert comparison.printed.multiplications == 150 * n - 48
        assert comparison.printed.additions == 131 * n - 48
        assert comparison.unexplained == (-24 * n, -31 * n)  # the steps are not at hand


def test_luh_walker_paul_for_six_joints():
    comparison = compare_newton_euler(6)
    assert (comparison.printed.multiplications, comparison.printed.additions) == (852, 738)
    assert (comparison.ours.multiplications, comparison.ours.additions) == (591, 450)


@pytest.mark.thorough
def test_no_reduction_makes_an_arm_dearer_and_each_has_its_row(capsys):
    main(["--robots", "renaud"])
    rows = re.findall(r"│ (\S.*?) +│ +(\d+) / +(\d+) │", capsys.readouterr().out)
    counts = {title: int(products) + int(sums) for title, products, sums in rows}
    assert set(counts) == set(ROWS)
    everything = counts["all reductions, searched"]
    del counts["all, gravity absent"]  # no reduction
    assert all(everything <= other for other in counts.values())


def test_ablation_refuses_a_robot_that_it_does_not_know(capsys):
    with pytest.raises(SystemExit):
        main(["--robots", "renault"])
    assert "renault" in capsys.readouterr().err
