"""Control laws of an arm on a base that moves: their efforts, and a hand on a turntable."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Measured, Model, Reference, gains_for
from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.task import Task
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.base_motion import BaseMotion

ROBOT = read_urdf(find_robot("ur5"))
ROUND_OFF = 1e-9  # of efforts of 100 N m in kernels of a few thousand operations
BASE = BaseMotion(
    twist=(0.3, -0.2, 0.1, 0.4, -0.7, 0.9),
    acceleration=(1.0, -2.0, 0.5, 0.8, -0.6, 1.2),
    gravity=(1.0, 2.0, -9.0),
)


@pytest.mark.parametrize("mode", ALL_MODES)
def test_the_efforts_of_a_law_have_the_motion_of_the_base(mode):
    dynamics = Dynamics(ROBOT)
    model = Model(dynamics, gains_for(dynamics))
    task = Task(model, "tool0") if ALL_MODES[mode].in_task_space else None
    rng = np.random.default_rng(7)
    q, qd, q_d, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, ROBOT.dof))

    def effort(model):
        if task is not None:
            task.forget()
        reference = Reference(q_d, qd_d, model.inverse(q_d, qd_d, qdd_d), task)
        return ALL_MODES[mode].effort(model, reference, Measured(q, qd))

    moving = Dynamics(ROBOT, base="moving")
    bias = moving.bias(q, qd, base=BASE).tau - dynamics.bias(q, qd)
    at_rest = moving.bias(q, 0.0 * qd, base=BASE).tau - dynamics.gravity(q)
    desired = moving.bias(q_d, qd_d, base=BASE).tau - dynamics.bias(q_d, qd_d)
    expected = {
        "feedforward": desired,
        "pd": 0.0,
        "pd_gravity": at_rest,
        "gravity_compensation": at_rest,
    }.get(mode, bias)
    found = effort(replace(model, base=BASE)) - effort(model)
    assert found == pytest.approx(expected, abs=ROUND_OFF)
