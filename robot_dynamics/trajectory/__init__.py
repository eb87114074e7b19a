"""Motions of the joints: waypoints in, positions, velocities and accelerations out."""

from robot_dynamics.trajectory.follower import Follower
from robot_dynamics.trajectory.interpolation import interpolate
from robot_dynamics.trajectory.motions import (
    circle_law,
    cycloidal,
    excitation,
    polynomial_345,
    random_poses,
)
from robot_dynamics.trajectory.trajectory import State, Trajectory
from robot_dynamics.trajectory.waypoints import Point, Waypoints, read_points

__all__ = [
    "Follower",
    "Point",
    "State",
    "Trajectory",
    "Waypoints",
    "circle_law",
    "cycloidal",
    "excitation",
    "interpolate",
    "polynomial_345",
    "random_poses",
    "read_points",
]
