"""No start and no restart moves an arm by itself, also where another node publishes zeros.

`python -m benchmark.faults` tries all orders of start and writes its record.
"""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
pytest.importorskip("mujoco", reason="MuJoCo comes with the extra 'bench'")

from benchmark.faults.runs import Ear, Nodes
from benchmark.faults.starts import ALLOWED, Start, unrequested
from choices import first

STARTS = [
    Start("planar_2r", 100.0, 0, "controller_node", moved=True, leftover=False),
    Start("planar_2r", 100.0, 1, "feedforward_node", moved=True, leftover=True),
    Start("planar_2r", 100.0, 2, "plant", moved=True, leftover=True),
    Start("planar_2r", 100.0, 3, "none", moved=False, leftover=True),
]


@pytest.mark.parametrize(
    "start",
    first([STARTS[0], STARTS[2]], STARTS),
    ids=lambda start: f"{start.order}-{start.restart}",
)
def test_an_arm_is_moved_by_no_start(start, tmp_path):
    nodes = Nodes(start.robot, start.rate, Ear(), tmp_path)
    try:
        assert unrequested(start, nodes) < ALLOWED
    finally:
        nodes.close()
