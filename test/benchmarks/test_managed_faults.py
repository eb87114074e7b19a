"""The table of `python -m benchmark.faults.manager`, and the arm behind its controller_manager."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
pytest.importorskip("mujoco", reason="MuJoCo comes with the extra 'bench'")

from benchmark.faults.managed_arm import ManagedArm
from benchmark.faults.managed_page import exceeded, manager_table
from benchmark.faults.managed_runs import FAULTS, OF_PLANT, relative_steps
from benchmark.faults.runs import Case, Result
from benchmark.ros2_control.plant_log import PlantLog
from benchmark.ros2_control.workspace import HERE
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO
from robot_dynamics.control.limits import default_effort_rates

SAFE = Result(0.02, 0.001, 0.5, "stopped: because", "stopped")


def test_the_table_has_a_row_for_each_fault_and_a_column_for_each_arm_and_rate():
    found = {Case(r, 250.0, fault): SAFE for r in ("ur5", "panda") for fault in FAULTS}
    lines = manager_table(found, "1")
    assert len(lines) == 4 + len(FAULTS)
    assert lines[4] == "| no fault |" + " 0.02, 0.00, 0.50 |" * 2 + " stopped: because | stopped |"
    assert not any("{" in line for line in lines)


@pytest.mark.parametrize(
    "wrong",
    [
        {"excess": 0.2},
        {"beyond": 0.1},
        {"step": 1.2},
        {"step": np.nan},
        {"final": 0.1},
        {"failure": "it ended"},
    ],
)
def test_each_bound_counts(wrong):
    assert not exceeded(SAFE)
    assert exceeded(replace(SAFE, **wrong))


def test_steps_are_relative_to_the_rate_of_efforts_in_the_period_that_passed():
    arm, period = ManagedArm("planar_2r"), np.array([1e-3, 1e-3, 2e-3])
    rates = default_effort_rates(arm.robot, DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO)
    command = np.array([[0.0, 0.0], [0.0, 5.0], [0.0, 5.0]])
    command[2] += 0.5 * rates * 2e-3
    log = PlantLog(period, period, *[np.zeros(3)] * 4, *[command] * 4)
    assert relative_steps(arm, log, 2) == pytest.approx(0.5)
    assert relative_steps(arm, replace(log, command=command * np.nan), 2) == np.inf


def test_the_component_has_the_joints_in_another_order_than_the_controller():
    arm = ManagedArm("ur5")
    root = ElementTree.fromstring(arm.description(100.0, {}))
    names = [joint.get("name") for joint in root.iterfind("ros2_control/joint")]
    assert names == list(arm.robot.joint_names)[::-1]
    (joints,) = root.iterfind("ros2_control/hardware/param[@name='joints']")
    assert joints.text == " ".join(arm.robot.joint_names)


def test_each_fault_of_the_component_is_one_that_it_knows():
    source = "".join((HERE / name).read_text() for name in ("fault.hpp", "compiled_plant.cpp"))
    assert all(f'"{kind}"' in source for kind in OF_PLANT if kind != "none")
