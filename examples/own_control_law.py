"""A control law of one's own on a UR5 that is heavier than its model says.

The sliding variable of Slotine and Li, s = ed + L e, over inverse dynamics:
tau = M(q) (qdd_d + L ed) + b(q, qd) + K s.
"""

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import Plant, simulate, with_mass_scaled
from robot_dynamics.trajectory import excitation, interpolate

robot = read_urdf(find_robot("ur5"))
arm = Dynamics(robot)
L, K = 10.0, np.array([60.0, 60.0, 40.0, 8.0, 8.0, 2.0])  # 1/s; N m s/rad


def sliding(t, desired, measured):
    """Efforts, shape (6,), of time, desired q, qd, qdd and measured q, qd."""
    e, ed = desired.q - measured.q, desired.qd - measured.qd
    s = ed + L * e
    return arm.inverse(measured.q, measured.qd, desired.qdd + L * ed) + K * s


def feedback_alone(t, desired, measured):
    """The same without the model."""
    e, ed = desired.q - measured.q, desired.qd - measured.qd
    return K * (ed + L * e)


motion = interpolate(excitation(robot, duration=4.0))
plant = Plant(with_mass_scaled(robot, 1.1), step=0.002)  # 10 % heavier than the model
logs = {law: simulate(plant, law, motion, rate=500.0) for law in (sliding, feedback_alone)}
for law, log in logs.items():
    print(f"{law.__name__:15} RMS error, mrad:", (1e3 * log.rms_error).round(2))
