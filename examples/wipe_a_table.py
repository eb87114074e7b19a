"""Press a UR5's end effector on a table with 10 N and wipe it, in simulation; needs no ROS."""

from dataclasses import replace

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Settings, Task, gains_for
from robot_dynamics.robot import Pose, find_robot

END_EFFECTOR, PERIOD = "tool0", 1e-3
STIFFNESS, DAMPING, FRICTION = 2e4, 200.0, 0.2  # of the table: N/m, N s/m, 1

arm = Dynamics(read_urdf(find_robot("ur5")))
model = Model(arm, gains_for(arm))
task = Task(model, END_EFFECTOR)
task.use(replace(task.settings, controlled=("motion", "motion", "force", *["motion"] * 3)))
controller = Controller(model, Settings(mode="cartesian_impedance"), task)

q, qd = np.array([0.0, -1.4, 1.9, -0.5 - np.pi / 2.0, -np.pi / 2.0, 0.0]), np.zeros(6)
height = arm.pose(q, END_EFFECTOR).position[2] - 0.01  # the table is 1 cm below the end effector


def contact(q, qd):
    """Return the force of the table on the end effector, shape (3,), N."""
    velocity = arm.jacobian(q, END_EFFECTOR)[:3] @ qd
    depth = height - arm.pose(q, END_EFFECTOR).position[2]
    if depth < 0.0:
        return np.zeros(3)
    normal = max(STIFFNESS * depth - DAMPING * velocity[2], 0.0)
    along = velocity * [1.0, 1.0, 0.0]
    return np.array([0.0, 0.0, normal]) - FRICTION * normal * np.tanh(along / 1e-3)


forces, path = [], []
for cycle in range(6000):
    now = PERIOD * cycle
    controller.set_state(Measured(q, qd), now)
    tau = controller.update(now).tau
    if cycle == 0:
        start = task.target.pose
        task.exert(np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0]), now, lasts=np.inf)
    if cycle >= 2000 and cycle % 10 == 0:  # 0.1 m/s to and fro, 100 targets a second
        way = 0.1 * np.sin(np.clip(now - 2.0, 0.0, np.pi))
        task.aim(Pose(start.rotation, start.translation + [0.0, way, 0.0]), now)
    force = contact(q, qd)
    J = arm.jacobian(q, END_EFFECTOR)
    qd = qd + PERIOD * arm.forward(q, qd, tau + J[:3].T @ force)
    q = q + PERIOD * qd
    forces.append(force[2])
    path.append(arm.pose(q, END_EFFECTOR).position[1] - start.translation[1])

pressed, wiped = np.array(forces[1500:2000]), np.array(forces[2500:])
print(f"pressing: {pressed.min():.2f} to {pressed.max():.2f} N")
print(f"wiping over {1e3 * np.ptp(path):.0f} mm: {wiped.min():.2f} to {wiped.max():.2f} N")
