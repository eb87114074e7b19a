"""The benchmark of the nodes: what it counts and what it writes. No time is asserted."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from benchmark.nodes import bare_timer, nodes_report
from benchmark.nodes.node_results import NODES, QUICK, NodeResults

KEPT = {"held": 1000.0, "cycles": 5000, "missed": 3, "median": 2e-5, "p99": 1e-4, "worst": 2e-3}


def results(missed=3, slower=1.0):
    """As a run would leave them: nodes that miss so many cycles, and are so much slower."""
    node = {**KEPT, "missed": missed, "busy": 1e-4, "cpu": 0.3, "memory": 200.0}
    timer = {**KEPT, "requested": 1000.0, "late": [], "cpu": 0.05}
    echo = np.linspace(3e-4, 5e-4, 1000)
    composed = {"cpu": 0.6, "nodes": {NODES[0]: KEPT}}
    return NodeResults(
        "panda",
        QUICK,
        loads={"three processes": 0.5},
        stolen=(0.01, 0.02, 0.004),
        nodes=dict.fromkeys(NODES, node),
        timer=timer,
        watched=dict.fromkeys(("without", "with"), dict.fromkeys(NODES, KEPT)),
        busy_timers=[timer],
        published=1000,
        delays={"command": 0.8 * slower * echo, "echo": echo, "bytes": 0.7 * echo},
        answering_cpu={"command": 0.3, "echo": 0.3, "bytes": 0.1},
        composed={"ordinary scheduling": composed},
        composed_timers={"ordinary scheduling": timer},
        composed_busy_timers={"ordinary scheduling": timer},
    )


def met(found):
    """The last column of the targets, by the first."""
    table = next(nodes_report.tables(found))
    return {row[0]: row[-1] for row in table.rows}


def test_every_cycle_of_the_timer_is_either_kept_or_missed():
    seen = bare_timer.run(200.0, 0.25)
    assert seen["cycles"] + seen["missed"] >= 49  # the last one may lie beyond the end
    assert len(seen["late"]) <= seen["cycles"]


def test_nodes_that_miss_no_more_than_the_timer_and_answer_like_an_echo_meet_every_target():
    assert set(met(results()).values()) == {"yes"}


def test_a_target_that_is_not_met_is_marked():
    missing = met(results(missed=4))
    assert missing["simulator_node: cycles missed, to 1.2 of a bare timer's"] == "**no**"
    slow = met(results(slower=1.125))
    assert slow["latency, median, to a bare echo of messages"] == "yes"
    assert slow["latency, 99 %, to a bare echo of messages"] == "yes"
    slower = met(results(slower=1.2))
    assert slower["latency, median, to a bare echo of messages"] == "**no**"
    assert slower["latency, 99 %, to a bare echo of bytes"] == "**no**"


def test_the_page_holds_every_table_and_the_plot(tmp_path):
    page, plot = nodes_report.write(results(), tmp_path)
    text = page.read_text()
    for table in nodes_report.tables(results()):
        assert f"## {table.title}" in text
    assert plot.name in text
    assert plot.stat().st_size > 0
    assert "load average before each part: 0.50 (three processes)" in text
