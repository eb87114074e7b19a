"""The benchmark: what it compares, how it counts, and what it writes. No time is asserted."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from benchmark.cases import SOURCES, cases, chain_urdf, make_case
from benchmark.kernels.contenders import OURS, PEERS, disagreements, ours
from benchmark.kernels.kernel_benchmark import main
from benchmark.kernels.kernel_report import _missed, _three_digits
from benchmark.kernels.kernel_results import Results
from benchmark.kernels.targets import FORWARD, WHY, targets
from benchmark.kernels.timing import Call, best_times
from benchmark.table import Table
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.errors import RobotDynamicsError


@pytest.fixture
def case(tmp_path):
    try:
        return cases(["panda"], tmp_path)[0]
    except RobotDynamicsError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("peer", ["pin", "mujoco"])
def test_peers_compute_what_we_compute(case, peer):
    pytest.importorskip({"pin": "pinocchio"}.get(peer, peer), reason=f"{peer} is not installed")
    reference = ours(case, Dynamics(case.robot))[0]
    errors = disagreements(reference, PEERS[peer](case))
    assert {"inverse", "forward"} <= set(errors)
    # float64 on both sides; a friction term or another gravity would give 1e-4 and more
    assert max(errors.values()) < 1e-9, errors


def test_locked_joints_are_fixed_and_meshes_left_out(case):
    text = case.path.read_text()
    assert case.robot.dof == 7
    assert "mesh" not in text
    assert SOURCES["panda"].locked[0] in text


@pytest.mark.parametrize("n", [1, 2, 100])
def test_chains_have_the_joints_they_should(n):
    robot = read_urdf(chain_urdf(n).decode())
    assert robot.dof == n
    assert robot.tips == (f"link{n}",)


def test_states_of_a_case_stand_in_rows(tmp_path):
    case = make_case("chain", "chain", chain_urdf(3), tmp_path)
    assert [x.shape for x in case.states(5)] == [(5, 3)] * 3


def test_calls_are_timed_per_evaluation():
    slow = Call(sum, (range(1000),))
    shared = Call(sum, (range(1000),), evaluations=1000)
    best = best_times({"slow": slow, "shared": shared}, turns=3, duration=1e-3)
    assert best["shared"] < best["slow"]  # the same work, divided by a thousand


def test_a_call_passes_arguments_by_name():
    call = Call(sorted, ([3, 1, 2],), {"reverse": True})
    assert call() == [3, 2, 1]
    assert call.timer().timeit(1) > 0.0


def test_targets_compare_with_the_peer_of_the_same_run(tmp_path):
    case = make_case("panda", "Panda", chain_urdf(2), tmp_path)
    results = Results(cases=[case])
    results.calls = {"panda": {"inverse": {OURS: 1e-7, "pin": 1e-6}, "forward": {OURS: 1e-6}}}
    results.first_calls = {"panda": {"cold": 0.7, "cached": 0.1, "memory": 3.0}}
    judged = {target.text: (target.measured, target.met) for target in targets(results)}
    assert judged["inverse dynamics, one checked call, to pin.rnea"] == (pytest.approx(0.1), True)
    assert judged["import, read, compile, first torque"] == (0.7, False)
    assert not any("forward" in text for text in judged)  # nothing to compare with


def test_missed_targets_are_listed_once_for_every_reason(tmp_path):
    arms = [make_case(key, key, chain_urdf(2), tmp_path) for key in ("ur5", "panda", "talos")]
    results = Results(cases=arms)
    results.calls = {case.key: {"forward": {OURS: 1.0, "pin": 2.0}} for case in arms[:2]}
    results.calls["talos"] = {"forward": {OURS: 0.1, "pin": 2.0}}
    (line,) = _missed(results)
    assert line.startswith("ur5, forward dynamics, one call, to pin.aba: 0.5 (0.12); panda, ")
    assert line.endswith(WHY[FORWARD])
    assert "talos" not in line


def test_a_call_can_hold_its_latest_results():
    made = []

    def make():
        made.append(np.zeros(3))
        return made[-1]

    timer = Call(make, held=2).timer()
    timer.timeit(4)
    first, *_, last = [sys.getrefcount(x) for x in made]
    assert last == first + 1
    del timer


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.012345, "0.0123"), (1.2345, "1.23"), (99.96, "100"), (1234.5, "1234")],
)
def test_numbers_have_three_digits(value, text):
    assert _three_digits(value) == text


def test_tables_become_markdown():
    table = Table("Title", "About.", ["a", "b"], [["1", "2"]])
    assert table.markdown() == "## Title\n\nAbout.\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |"


@pytest.mark.thorough
def test_a_quick_run_writes_report_and_plots(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", str(tmp_path / "cache"))
    try:
        cases(["ur5"], tmp_path)
    except RobotDynamicsError as missing:
        pytest.skip(str(missing))
    assert main(["--quick", "--robots", "ur5", "--output", str(tmp_path)]) == 0
    assert "Targets" in capsys.readouterr().out
    text = (tmp_path / "kernels.md").read_text()
    for heading in ("## Targets", "## Inverse dynamics", "## Batches", "## First call"):
        assert heading in text
    for name in ("calls", "batch", "joints"):
        picture = tmp_path / f"kernels_{name}.png"
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert f"({picture.name})" in text
    assert str(Path.home()) not in text
    assert str(tmp_path) not in text


def test_an_unknown_robot_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["--robots", "pandda"])
    assert "choose from" in capsys.readouterr().err


def test_a_chain_has_the_torques_of_its_urdf(tmp_path):
    pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    case = make_case("chain", "chain", chain_urdf(12), tmp_path)
    tau = Dynamics(case.robot, cache=False).inverse(case.q, case.qd, case.qdd)
    theirs = PEERS["pin"](case).results["inverse"]()
    assert np.max(np.abs(tau - theirs)) < 1e-11 * np.max(np.abs(theirs))
