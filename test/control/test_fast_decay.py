"""Joints whose friction stops them within a cycle: predicted, and held without states."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_bench import READY, Bench
from robot_dynamics import read_urdf
from robot_dynamics.control import (
    Controller,
    Friction,
    Measured,
    Model,
    Settings,
    Status,
    gains_for,
)
from robot_dynamics.dynamics.dynamics import Dynamics

FINGER = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0 0 0.15"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="finger"><inertial><mass value="0.01"/>
    <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="3" effort="60"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="3" effort="30"/></joint>
  <joint name="grip" type="revolute"><parent link="fore"/><child link="finger"/>
    <origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="3" effort="50"/></joint>
</robot>
"""
N = 3


def sizes(low, high):
    """Numbers of all orders of magnitude from 10**low to 10**high, or none."""
    return st.one_of(st.just(0.0), st.floats(low, high).map(lambda x: 10.0**x))


@pytest.fixture(scope="module")
def finger():
    return Dynamics(read_urdf(FINGER))


@settings(max_examples=15, deadline=None)
@given(sizes(-4, 1), sizes(-4, 0.5), st.floats(-6.0, -2.0), st.floats(0.05, 0.95))
def test_a_finger_without_states_comes_to_rest_whatever_its_friction_and_inertia(
    finger, viscous, coulomb, inertia, phase
):
    rotor = np.array([0.1, 0.05, 10.0**inertia])
    friction = Friction(np.array([5.0, 5.0, viscous]), np.array([1.0, 1.0, coulomb]))
    model = Model(finger, gains_for(finger), friction, rotor_inertia=rotor)
    q = np.array([0.3, 0.5, 0.2])
    # A lasting effort of feedback would go on pushing a joint without friction
    settings = Settings(integral_time=0.0)
    bench = Bench(model, settings, q=q, friction=friction, rotor_inertia=rotor).run(READY)
    bench.move(0.9, 0.9, 0.9)
    bench.run(phase)
    speeds, planned = [], 0.7 * 15.0 / 8.0  # of 0.7 rad in a second
    for _ in range(130):
        bench.run(0.01, states=False)
        speeds.append(np.abs(bench.plant.qd))
    assert bench.statuses[-1] is Status.SILENT
    assert np.isfinite(bench.efforts).all()
    assert np.max(speeds) < planned + 0.1 * 3.0
    # The last effort holds the arm: that of gravity where it is
    held = finger.gravity(bench.plant.q)
    np.testing.assert_allclose(bench.efforts[-1], held, rtol=0.0, atol=0.3)
    # Nothing brakes a light joint without friction: 0.03 rad/s are left, the worst of 50 cases
    np.testing.assert_allclose(bench.plant.qd, 0.0, rtol=0.0, atol=0.05)


def test_an_effort_of_the_open_loop_phase_that_is_no_number_passes_to_that_of_gravity(finger):
    model = Model(finger, gains_for(finger), Friction.none(N))
    controller = Controller(model, Settings())
    q = np.array([0.3, 0.5, 0.2])
    controller.set_state(Measured(q, np.zeros(N)), 1.0)
    for k in range(200):
        controller.update(1.0 + 1e-3 * k)
    assert controller.status is Status.OPEN_LOOP
    pushed = controller.field("tau").copy() + [5.0, 0.0, 0.0]
    for name, value in (("tau", pushed), ("coefficients", np.nan)):
        controller.field(name)[...] = value
    efforts = [controller.update(1.2 + 1e-3 * k).tau for k in range(500)]
    np.testing.assert_allclose(efforts[-1], finger.gravity(q), rtol=1e-9, atol=1e-9)
