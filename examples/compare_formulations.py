"""Seven formulations of five publications, one arm, one answer: Gupta's PUMA-type robot."""

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.formulations import FORMULATIONS, inverse_dynamics
from robot_dynamics.robot import find_robot

robot = read_urdf(find_robot("puma_gupta"))
q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, robot.dof))
reference = inverse_dynamics(robot, q, qd, qdd, formulation="newton_euler")
print("tau =", np.array2string(reference, precision=4), "N m\n")

print(f"{'formulation':15} {'difference':>11} {'operations':>11}")
differences = {}
for name, title in FORMULATIONS.items():
    tau = inverse_dynamics(robot, q, qd, qdd, formulation=name)
    differences[name] = np.max(np.abs(tau - reference))
    count = Dynamics(robot, formulation=name).operation_count("inverse")
    operations = count.multiplications + count.additions
    print(f"{name:15} {differences[name]:8.1e} N m {operations:7}   {title}")
