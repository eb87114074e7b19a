"""A dynamics loss with PyTorch: a network learns the efforts that the model of an arm lacks.

The arm has friction of which its URDF knows nothing. A small network adds to the model, and the
loss is the error of the accelerations that forward dynamics predicts.
"""

import numpy as np
import torch

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

torch.manual_seed(0)
arm = Dynamics(read_urdf(find_robot("planar_2r")))
forward = arm.as_torch("forward")

q, qd, tau = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 512, 2)).astype(np.float32)
measured = arm.forward(q, qd, tau - 1.5 * np.tanh(5.0 * qd) - 0.8 * qd)  # the real arm
q, qd, tau, measured = map(torch.from_numpy, (q, qd, tau, measured))

friction = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(friction.parameters(), lr=0.02)
losses = []
for k in range(300):
    optimizer.zero_grad()
    loss = ((forward(q, qd, tau - friction(qd)) - measured) ** 2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if k % 60 == 59:
        print(f"step {k + 1}: RMS error {losses[-1] ** 0.5:.3f} rad/s^2")
