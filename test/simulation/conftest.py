"""Robots for the tests of this folder."""

import pytest

import arms
from oracles import all_example_urdfs, example_robot
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.robot.urdf.reader import read_urdf

PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="bob"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="bob"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="10" effort="5"/></joint>
</robot>
"""


@pytest.fixture(scope="session")
def pendulum():
    """2 kg half a metre below a hinge; 0.6 kg m^2 about it."""
    return read_urdf(PENDULUM)


@pytest.fixture(scope="session")
def slider():
    """2 kg on a level rail with 3 N of dry friction."""
    return arms.slider(effort=100.0, friction=3.0)


@pytest.fixture(scope="session")
def panda():
    """Equations of the Panda of example-robot-data, fingers locked; skips where there is none.

    Left free and without stops, the fingers would be flung out of the end effector.
    """
    paths = [path for path in all_example_urdfs() if path.name == "panda.urdf"]
    if not paths:
        pytest.skip("example-robot-data is not installed")
    return Dynamics(example_robot(paths[0]).with_locked({"panda_finger_joint1": 0.02}))
