"""Model predictive control with CasADi: a Panda reaches a point within torque limits.

Multiple shooting on the forward dynamics, solved again from each state that was reached.
"""

import casadi as ca
import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.robot import find_robot

robot = read_urdf(find_robot("panda"))
arm = Dynamics(robot.with_locked(dict.fromkeys(robot.joint_names[7:], 0.0)))
forward, pose = arm.as_casadi("forward"), arm.as_casadi("pose", Variant(frame="panda_hand"))
n, N, h, target = 7, 8, 0.05, np.array([0.45, 0.25, 0.45])  # joints, steps ahead, s, m
limits = np.array([87.0] * 4 + [12.0] * 3)  # N m

problem = ca.Opti()
x, tau, start = problem.variable(2 * n, N + 1), problem.variable(n, N), problem.parameter(2 * n)
problem.subject_to(x[:, 0] == start)
for k in range(N):
    q, qd = x[:n, k], x[n:, k]
    qd_next = qd + h * forward(q, qd, tau[:, k])
    problem.subject_to(x[:, k + 1] == ca.vertcat(q + h * qd_next, qd_next))
    problem.subject_to(problem.bounded(-limits, tau[:, k], limits))
miss = [ca.sumsqr(pose(x[:n, k])[1] - target) for k in range(1, N + 1)]
cost = 100.0 * sum(miss) + 1000.0 * miss[-1] + 0.01 * ca.sumsqr(x[n:, :]) + ca.sumsqr(x[n:, N])
problem.minimize(cost + 1e-5 * ca.sumsqr(tau))
problem.solver("ipopt", {"expand": True, "print_time": False}, {"print_level": 0, "sb": "yes"})

state = np.concatenate([[0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8], np.zeros(n)])
misses = []
for _ in range(10):
    problem.set_value(start, state)
    solution = problem.solve()
    state = solution.value(x)[:, 1]
    problem.set_initial(solution.value_variables())
    misses.append(np.linalg.norm(arm.pose(state[:n], "panda_hand").position - target))
    print(f"{1000 * misses[-1]:6.1f} mm from the target")
