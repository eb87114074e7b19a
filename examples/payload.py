"""Compute efforts with a payload: 2 kg in the gripper of a Panda, compiled in or given per call."""

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import Inertia, find_robot

empty = read_urdf(find_robot("panda")).with_locked({"panda_finger_joint1": 0.0})
loaded = empty.with_payload("panda_hand", mass=2.0, com=(0.0, 0.0, 0.1))  # m, from the hand

q = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 1.8, 0.8])
qd, qdd = np.full(7, 0.5), np.full(7, 2.0)

tau = Dynamics(empty).inverse(q, qd, qdd)
tau_loaded = Dynamics(loaded).inverse(q, qd, qdd)

# A load that changes while the robot works: an input of the equations, nothing is compiled again
body = Inertia.from_com(2.0, (0.0, 0.0, 0.1), np.zeros((3, 3)))  # a point mass
tau_input = Dynamics(empty).inverse(q, qd, qdd, payload=body, frame="panda_hand")

print(f"{'joint':15} {'empty':>9} {'with 2 kg':>10} {'as input':>9}   N m")
for row in zip(empty.joint_names, tau, tau_loaded, tau_input, strict=True):
    print("{:15} {:9.3f} {:10.3f} {:9.3f}".format(*row))
