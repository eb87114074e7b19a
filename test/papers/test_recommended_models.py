"""Section 3 of Lee, Lee and Nigam worked on a six-joint arm."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.cli import main
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.papers.recommended_models import compare_on_the_circle
from robot_dynamics.papers.simplified_models import recommended_models

PAGE = Path(__file__).parents[2] / "benchmark" / "records" / "publications" / "lee.md"


@pytest.fixture(scope="module")
def comparison():
    return compare_on_the_circle()


def test_the_recommended_inertia_is_translational_inside_and_rotational_outside():
    robot = puma_type_arm().robot
    kept = recommended_models(robot)["section 3, D"].kept
    for k, joint in enumerate(robot.joint_names):
        assert ("D_tran" in kept[joint]) == (k < 3)
        assert ("D_rot" in kept[joint]) == (k >= 3)
        assert {"H_tran", "H_rot", "G"} <= kept[joint]


def test_each_coarser_model_saves_operations(comparison):
    names = ("dalembert", "section 3, D", "section 3, D and H", "no velocity terms")
    sizes = [comparison.results[name].operations.arithmetic for name in names]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 4


def test_the_papers_choice_costs_joint_1_little_and_no_velocity_terms_cost_it_much(comparison):
    def share(name):
        return comparison.results[name].peak_error / comparison.peak_effort

    inner = slice(1, 3)  # which carry the weight
    assert 0.02 < share("section 3, D")[0] < 0.10
    assert 0.15 < share("no velocity terms")[0] < 0.30
    assert np.all(share("section 3, D")[inner] < 0.01)
    assert np.all(share("no velocity terms")[inner] < 0.01)


def test_the_page_shows_the_models(comparison):
    page = PAGE.read_text(encoding="utf-8")
    for name, result in comparison.results.items():
        count, share = result.operations, 100.0 * result.peak_error / comparison.peak_effort
        cells = [name, count.multiplications, count.additions, *[f"{x:.1f} %" for x in share]]
        assert f"| {' | '.join(map(str, cells))} |\n" in page


@pytest.mark.thorough
def test_the_verb_prints_the_models_on_the_circle(capsys):
    assert main(["simplify", "puma_gupta", "--motion", "circle"]) == 0
    printed = capsys.readouterr().out
    full = next(line for line in printed.splitlines() if line.split()[:1] == ["dalembert"])
    assert full.split()[1:3] != ["0", "0"]
    assert "section 3, D" in printed and "no velocity terms" in printed


def test_the_verb_takes_a_choice_of_terms(capsys):
    assert main(["simplify", "planar_2r", "--keep", "joint_1=G", "--others", "D_tran,G"]) == 0
    assert "your choice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["planar_2r", "--keep", "joint_9=G"], 1, "no joint 'joint_9' in robot 'planar_2r'"),
        (["planar_2r", "--keep", "G"], 2, "'G' is not JOINT=TERM,TERM"),
        (["planar_2r", "--others", "H"], 1, "no term 'H' in the structured equations"),
        (["planar_2r", "--motion", "circle"], 1, "is not the PUMA-type arm"),
    ],
)
def test_bad_input_of_the_verb_ends_in_one_line(arguments, status, said, capsys):
    try:
        ended = main(["simplify", *arguments])
    except SystemExit as end:
        ended = end.code
    assert ended == status
    assert said in capsys.readouterr().err
