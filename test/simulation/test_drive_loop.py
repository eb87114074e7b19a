"""The step of a plant behind drives that close their own loop."""

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.control.gains import Gains
from robot_dynamics.control.laws import Measured
from robot_dynamics.robot import read_urdf
from robot_dynamics.simulation import Plant
from robot_dynamics.simulation.drive_loop import PERIOD_S, drive_effort, drive_step

INERTIA = 5e-4  # kg m^2, of a wrist without its rotor
ROTOR = np.array([0.05])  # kg m^2
RATE = 300.0  # Hz
WRIST = f"""
<robot name="wrist">
  <link name="base"/>
  <link name="hand"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="roll" type="revolute"><parent link="base"/><child link="hand"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="30" effort="1000"/></joint>
</robot>
"""


@pytest.fixture(scope="module")
def wrist():
    return Dynamics(read_urdf(WRIST))


@pytest.mark.parametrize("kd", [0.5, 25.0, 250.0])
def test_drives_brake_a_light_joint_without_shaking_it(wrist, kd):
    step, kd = drive_step(wrist, np.array([kd]), RATE), np.array([kd])
    plant = Plant(wrist.robot, dynamics=wrist, step=step)
    plant.reset([0.0], [1.0])
    speeds = [1.0]
    for _ in range(200):
        gains = Gains(np.zeros(1), kd)
        plant.step(drive_effort(np.zeros((3, 1)), Measured(plant.q, plant.qd), gains))
        speeds.append(plant.qd[0])
    assert (np.diff(speeds) <= 1e-12).all() and min(speeds) > -1e-12


@pytest.mark.parametrize(("kd", "rotor"), [(0.5, None), (25.0, ROTOR)])
def test_steps_of_joints_that_are_heavy_enough_are_the_period_of_the_drives(wrist, kd, rotor):
    step = drive_step(wrist, np.array([kd]), 100.0, rotor)
    assert step == PERIOD_S


@pytest.mark.parametrize("kd", [1e9, 1e300])
def test_steps_have_a_least_length_however_stiff_the_drives(wrist, kd):
    assert drive_step(wrist, np.array([kd]), RATE) == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("kd", [0.0, 0.5, 25.0])
def test_a_cycle_is_a_whole_number_of_steps(wrist, kd):
    cycle = 1.0 / (RATE * drive_step(wrist, np.array([kd]), RATE))
    assert cycle == pytest.approx(round(cycle), abs=1e-9)
    assert cycle >= 33.0
