"""Compute the torques of a million states of a Panda in one call.

Each time is the best of five calls that write to the same array. A first call with a new array
takes longer, because the system provides its memory page by page.
"""

from timeit import repeat

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

N = 1_000_000
arm = Dynamics(read_urdf(find_robot("panda")).with_locked({"panda_finger_joint1": 0.0}))
states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, N, arm.robot.dof))
floats = states.astype(np.float32)
tau, tau_32 = arm.inverse(*states), arm.inverse(*floats)  # compiles, and allocates the results


def report(what, motion, out, threads):
    calls = repeat(lambda: arm.inverse(*motion, out=out, threads=threads), repeat=5, number=1)
    print(f"{what}, {threads} thread(s): {1e9 * min(calls) / N:.0f} ns per state")


report("float64", states, tau, threads=1)
report("float64", states, tau, threads=2)
report("float32", floats, tau_32, threads=1)

worst = np.max(np.abs(tau_32 - tau)) / np.max(np.abs(tau))
print(f"float32 and float64 differ by {worst:.0e} of the largest torque")
print("largest torque of each joint, N m:", np.abs(tau).max(axis=0).round(1))
