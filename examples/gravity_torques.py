"""Gravity torques of a Panda in three poses: what its motors hold while it stands still."""

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

fingers = {"panda_finger_joint1": 0.0}  # the second finger follows the first
robot = read_urdf(find_robot("panda")).with_locked(fingers)
arm = Dynamics(robot)

poses = {
    "upright": np.zeros(7),
    "ready": np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4]),
    "stretched out": np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0]),
}

print("N m           " + "".join(f"{name.removeprefix('panda_'):>9}" for name in robot.joint_names))
for name, q in poses.items():
    print(f"{name:14}" + "".join(f"{tau:9.2f}" for tau in arm.gravity(q).round(2) + 0.0))
print("limit         " + "".join(f"{limit:9.0f}" for limit in robot.limits.effort))
