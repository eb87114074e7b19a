"""Fill in the effort of a trajectory, for a controller that adds it to its feedback."""

from pathlib import Path

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory import (
    State,
    interpolate,
    read_trajectory,
    with_effort,
    write_trajectory,
)

Path("motion.csv").write_text(
    """time,q.joint_1,q.joint_2
0,0,0
2,0.8,-0.5
4,0,0
"""
)
arm = Dynamics(read_urdf(find_robot("planar_2r")))


def effort(state: State):
    """Inverse dynamics of many states at once, shape (N, n)."""
    return arm.inverse(*state)


motion = interpolate(read_trajectory("motion.csv", arm.robot.joint_names))
filled = with_effort(motion, effort, tolerance=0.1)  # N m, between two points
write_trajectory("motion_with_effort.csv", filled)

lines = Path("motion_with_effort.csv").read_text().splitlines()
print(f"3 waypoints became {len(filled.times)}: straight lines between them give the effort")
print("\n".join(lines[:4] + ["..."] + lines[-1:]))
