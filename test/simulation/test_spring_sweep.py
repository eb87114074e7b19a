"""Arms on springs under the whole step, in SIMD lanes: the watch finds each oscillation."""

import numpy as np
import pytest

from robot_dynamics import read_urdf
from robot_dynamics.control.status import Cause, Status
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import Plant, fault_sweep
from robot_dynamics.simulation.fault_sweep import FaultSweep, Springs

ROBOT = read_urdf(find_robot("planar_2r"))
SOFT = ROBOT.with_joint_elasticity([8e3, 4e3], [40.0, 10.0])
ROTORS = np.array([4.0, 0.5])
RATE, COUNT = 1000.0, 16


def sweep(known):
    return FaultSweep(ROBOT, springs=Springs(SOFT.joint_elasticity, ROTORS, "link", known))


def test_oscillations_of_unknown_springs_end_in_a_stop():
    found = sweep(known=False).run(0, RATE, count=COUNT, faults=False)
    assert (found.status == Status.STOPPED).all()
    assert (found.cause == Cause.OSCILLATION).all()


def test_gains_that_fit_the_springs_do_not_oscillate():
    found = sweep(known=True).run(0, RATE, count=COUNT, faults=False)
    assert (found.cause != Cause.OSCILLATION).all()
    assert (found.swing < 1e-3).all()


@pytest.mark.thorough
def test_parameters_of_elastic_joints_put_the_arm_on_springs():
    values = {
        "rotor.joint_1.inertia": 0.04,
        "rotor.joint_1.ratio": 10.0,
        "elasticity.joint_1.stiffness": 8e3,
        "elasticity.joint_1.damping": 40.0,
        "encoders": "motor",
        "resonance_share": 0.1,
    }
    swept = FaultSweep(ROBOT, values)
    assert swept.unused == []
    assert swept.springs.elasticity.stiffness.tolist() == [8e3, np.inf]
    assert swept.springs.rotor_inertia.tolist() == [4.0, 0.0]
    assert swept.springs.encoders == "motor"
    assert swept.springs.resonance_share == 0.1
    assert swept.run(0, RATE, count=4).finite.all()
    del values["rotor.joint_1.inertia"]
    with pytest.raises(ArgumentError, match="'joint_1' is elastic, but its rotor has no inertia"):
        FaultSweep(ROBOT, values)
    with pytest.raises(ArgumentError, match="not swept with feedback by drives"):
        FaultSweep(ROBOT, {**values, "rotor.joint_1.inertia": 4.0, "feedback": "drive"})


def test_the_arm_moves_as_the_plant_under_the_same_efforts(monkeypatch):
    for name in ("MASS_ERROR", "UNKNOWN_FRICTION", "SPRING_ERROR", "SPRING_DAMPING_ERROR"):
        monkeypatch.setattr(fault_sweep, name, 0.0)
    log = sweep(known=True).replay(0, RATE, 3, faults=False).log
    plant = Plant(
        SOFT, rotor_inertia=ROTORS, step=1e-3, integrator="semi_implicit_euler", stops=False
    )
    plant.reset(log.q[0])
    moved = []
    for tau in log.tau[1:]:  # a record begins with the efforts of the cycle before
        moved.append(plant.q)
        plant.step(tau)
    assert np.ptp(log.q, axis=0).min() > 0.1
    # The last digits of 5000 steps
    np.testing.assert_allclose(moved, log.q[:-1], atol=1e-7)


def test_the_swing_is_the_mean_size_of_the_half_waves(monkeypatch):
    """Of an arm that oscillates until it is stopped."""
    monkeypatch.setattr(fault_sweep, "REST_S", 4.0)
    one = sweep(known=False)
    log = one.replay(0, RATE, 0, faults=False).log
    found = one.run(0, RATE, count=1, faults=False).swing[0]
    late = log.t >= fault_sweep.DURATION_S - 4.0
    sizes = []
    for q, qd in zip(log.q[late].T, log.qd[late].T, strict=True):
        turns = np.flatnonzero(qd[1:] * qd[:-1] < 0.0)
        way = np.abs(np.diff(q)).sum() - abs(q[-1] - q[0])
        sizes.append(way / max(len(turns), 1))
    assert found == pytest.approx(max(sizes), rel=0.05)
    assert found > 1e-4
