"""The circle of Gupta's example, closed in a loop: what goes out by one route comes back by all."""

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.papers.paper_arms import INCH, puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.trajectory.motions import circle_law

STEPS = 180  # of 50 ms each, by the rule of Runge and Kutta
RATE = 5.0  # of the feedback, 1/s; without it errors grow a hundredfold in a second and more


@pytest.fixture(scope="module")
def travelled():
    """Wanted joints at the ends of the steps, and where direct dynamics has taken them."""
    zero = puma_type_arm()
    arm = Dynamics(zero.robot, "zero_reference")
    wanted = circle_motion(zero, np.linspace(0.0, CIRCLE_TIME_S, 2 * STEPS + 1))
    h, n = CIRCLE_TIME_S / STEPS, 6

    def rate(state, k):
        q, qd = state[:n], state[n:]
        qdd = wanted.qdd[k] + 2 * RATE * (wanted.qd[k] - qd) + RATE**2 * (wanted.q[k] - q)
        tau = arm.inverse(q, qd, qdd)
        return np.concatenate((qd, arm.forward(q, qd, tau)))

    states = [np.concatenate((wanted.q[0], wanted.qd[0]))]
    for k in range(0, 2 * STEPS, 2):
        x = states[-1]
        k_1 = rate(x, k)
        k_2 = rate(x + h / 2 * k_1, k + 1)
        k_3 = rate(x + h / 2 * k_2, k + 1)
        k_4 = rate(x + h * k_3, k + 2)
        states.append(x + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4))
    return wanted.q[::2], np.array(states)[:, :n]


def test_the_hand_is_on_the_circle_all_the_way(travelled):
    psi = circle_law(np.linspace(0.0, CIRCLE_TIME_S, STEPS + 1)).angle
    circle = INCH * np.column_stack((34.0 + 0 * psi, 6.0 * np.sin(psi), 6.0 * np.cos(psi)))
    robot = puma_type_arm().robot
    hand = np.array([frame_pose(robot, q, "hand").translation for q in travelled[1]])
    # 4th order at 50 ms, with a jump of the jerk at 3 s and 6 s
    assert np.abs(hand - circle).max() < 1e-5  # m, on a circle of 0.15 m


def test_the_hand_is_back_where_it_started_and_joint_4_has_made_a_turn(travelled):
    robot = puma_type_arm().robot
    first, last = (frame_pose(robot, q, "hand") for q in travelled[1][[0, -1]])
    assert last.translation == pytest.approx(first.translation, abs=1e-6)
    assert last.rotation == pytest.approx(first.rotation, abs=1e-5)
    turned = travelled[1][-1] - travelled[1][0]
    assert np.abs(turned) == pytest.approx([0, 0, 0, 2 * np.pi, 0, 0], abs=1e-5)
