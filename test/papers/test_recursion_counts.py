"""Operation counts of two recursions beside the printed ones, and what lies between."""

import pytest

from robot_dynamics.papers.counts.recursions import (
    compare_direct_dynamics,
    compare_kane,
    compare_zero_reference,
    compare_zero_reference_arm,
    kane_count,
    kane_with_coincident_frames,
    zero_reference_count,
)


def both(count):
    return count.multiplications, count.additions


# -- Angeles, Ma, Rojas -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4, 6, 8])
def test_every_difference_to_the_kane_paper_is_explained(n):
    comparison = compare_kane(n)
    assert both(comparison.printed) == (105 * n - 109, 90 * n - 105)
    assert comparison.unexplained == (0, 0)


def test_one_more_joint_costs_kane_what_the_paper_says_but_for_a_constant_difference():
    four, five, six = (both(kane_count(n)) for n in (4, 5, 6))
    step = (105, 87)  # printed: 105 and 90, 3 of them for a_i - rho_(i-1)
    assert (five[0] - four[0], five[1] - four[1]) == step
    assert (six[0] - five[0], six[1] - five[1]) == step


def test_six_joints_by_kane():
    comparison = compare_kane(6)
    assert both(comparison.printed) == (521, 435)
    assert both(comparison.ours) == (514, 418)
    assert comparison.ours.sines_cosines == 12


def test_coincident_frames_save_what_the_constant_twist_has_not_saved_already():
    # printed: 513 and 432, that is 8 and 3 less than 521 and 435
    any_gravity, along_axis = kane_with_coincident_frames(6)
    assert both(any_gravity) == both(kane_count(6))
    assert both(along_axis) == (510, 414)


# -- Gupta ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("letter", "printed"), [("R", (136, 118)), ("P", (139, 118))])
def test_what_the_printed_count_of_one_joint_leaves_open_is_the_same_for_both_types(
    letter, printed
):
    comparison = compare_zero_reference(letter)
    assert both(comparison.printed) == printed
    assert comparison.unexplained == (8, 8)


@pytest.mark.parametrize("letter", ["R", "P"])
def test_one_product_of_inertia_leaves_nothing_open(letter):
    assert compare_zero_reference(letter, one_product=True).unexplained == (0, 0)
    assert compare_zero_reference_arm(one_product=True).unexplained == (0, 0)


def test_one_joint_in_the_zero_reference_position():
    assert both(compare_zero_reference("R").ours) == (156, 132)
    assert both(compare_zero_reference("P").ours) == (99, 89)


def test_six_joints_in_the_zero_reference_position():
    comparison = compare_zero_reference_arm()
    assert both(comparison.printed) == (816, 708) == (6 * 136, 6 * 118)
    assert both(comparison.ours) == both(zero_reference_count("RRRRRR")) == (879, 723)
    assert comparison.unexplained == (6 * 8, 6 * 8)  # what one joint leaves open, six times


def test_direct_dynamics_of_six_joints():
    comparison = compare_direct_dynamics()
    assert both(comparison.printed) == (2468, 1879)
    assert both(comparison.ours) == (2027, 1647)
    assert comparison.ours.sines_cosines == comparison.printed.sines_cosines == 12
    assert comparison.unexplained == (-456, -214)
