"""Count the operations of a robot's equations, and print the equations where they are few."""

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

SHOWN = ("inverse", "gravity", "bias", "mass_matrix", "forward", "inverse_derivatives", "energy")

for name in ("planar_2r", "ur5", "panda"):
    robot = read_urdf(find_robot(name))
    arm = Dynamics(robot)
    print(f"{name}, {robot.dof} joints: multiplications / additions, sines and cosines")
    for kernel in SHOWN:
        count = arm.operation_count(kernel)
        pair = f"{count.multiplications:6} / {count.additions}"
        print(f"  {kernel:20} {pair:16} {count.sines_cosines:4}")

print("\nAll of the inverse dynamics of planar_2r:\n")
planar = Dynamics(read_urdf(find_robot("planar_2r")))
print(planar.source("text"))
