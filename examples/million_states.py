"""Torques of a million states of a Panda in one call: one thread, two threads, single precision."""

from time import perf_counter

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

N = 1_000_000
arm = Dynamics(read_urdf(find_robot("panda")).with_locked({"panda_finger_joint1": 0.0}))
states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, N, arm.robot.dof))
arm.inverse(*states[:, :2])  # compiles

for threads in (1, 2):
    start = perf_counter()
    tau = arm.inverse(*states, threads=threads)
    seconds = perf_counter() - start
    print(f"float64, {threads} thread(s): {seconds:.3f} s, {1e9 * seconds / N:.0f} ns per state")

floats = states.astype(np.float32)
arm.kernel("inverse")(*floats[:, :2])
start = perf_counter()
tau_32 = arm.kernel("inverse")(*floats, threads=1)
seconds = perf_counter() - start
worst = np.max(np.abs(tau_32 - tau)) / np.max(np.abs(tau))
print(f"float32, 1 thread:    {seconds:.3f} s, {worst:.0e} of the largest torque apart")
print("largest torque of each joint, N m:", np.abs(tau).max(axis=0).round(1))
