import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.control.laws import Measured, Reference, computed_torque
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot, read_urdf

RANDOM = np.random.default_rng(0)
FRICTION = Friction(
    np.array([1.0, 0.5]), np.array([2.0, 1.0]), np.array([-1.0, 0.5]), np.array([0.3, 0.1]),
    np.array([0.2, 0.05]), np.array([0.4, -0.1]), np.array([0.05, 0.0]),
)  # fmt: skip


def test_overcoming_friction_undoes_adding_it():
    qd, rigid = RANDOM.normal(size=(2, 100, 2))
    total = 20.0 * rigid + FRICTION.smooth(qd, 0.02, 20.0 * rigid)
    # where the bodies ask for next to nothing and friction for more, the sign of the load is lost
    clear = np.abs(rigid) > 0.05
    left = FRICTION.overcome(qd, total, 0.02)
    np.testing.assert_allclose(left[clear], 20.0 * rigid[clear], rtol=1e-12, atol=1e-12)


def test_computed_torque_on_the_reference_is_the_reference_effort_with_loaded_friction():
    robot = read_urdf(find_robot("planar_2r"))
    model = Model(Dynamics(robot), Gains(np.full(2, 50.0), np.full(2, 8.0)), FRICTION)
    q, qd, qdd = np.array([0.3, 0.8]), np.array([0.5, -0.7]), np.array([1.0, -2.0])
    tau = model.feedforward(q, qd, qdd)
    assert tau == pytest.approx(
        model.inverse(q, qd, qdd) + FRICTION.smooth(qd, tau=model.inverse(q, qd, qdd))
    )
    command = computed_torque(model, Reference(q, qd, tau), Measured(q, qd))
    np.testing.assert_allclose(command, tau, atol=1e-9)


def test_each_joint_has_the_width_that_it_was_given():
    slow = np.array([0.05, 0.02])
    dry = FRICTION.smooth(slow, 0.02) - FRICTION.viscous * slow - FRICTION.offset
    np.testing.assert_allclose(dry, FRICTION.resistance(slow) * np.tanh(1.0))


def test_friction_that_would_drive_a_joint_at_rest_is_refused():
    with pytest.raises(ArgumentError, match=r"stiction\[0\] is -3; give -2 or more"):
        Friction(np.array([0.0]), np.array([2.0]), np.array([-3.0]))
