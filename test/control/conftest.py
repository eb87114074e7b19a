"""Robots for the tests of this folder."""

import numpy as np
import pytest

from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.robot.urdf.reader import read_urdf

ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="40"/>
    <dynamics damping="0.5" friction="0.3"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/><limit velocity="4" effort="15"/>
    <dynamics damping="0.1"/></joint>
</robot>
"""


@pytest.fixture(scope="session")
def arm():
    """Equations of two links in a vertical plane; the elbow turns without end."""
    return Dynamics(read_urdf(ARM))


@pytest.fixture(scope="session")
def model(arm):
    """The arm with gains and the friction of its URDF."""
    return Model(arm, Gains(np.array([50.0, 20.0]), np.array([8.0, 3.0])), Friction.of(arm.robot))
