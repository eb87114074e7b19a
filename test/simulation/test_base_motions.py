"""Motions of a base, and a plant on it."""

import numpy as np
import pytest

from oracles import relative_error
from robot_dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.kinematics.selection import DIRECTIONS
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation import Plant
from robot_dynamics.simulation.base_motions import Poses, read_base_motion

ROBOT = read_urdf(find_robot("planar_2r"))
BAD_ROW = "line 3: give finite numbers, increasing times and quaternions of length 1"
HEADER = "t,x,y,z,qx,qy,qz,qw"


@pytest.mark.parametrize("axis", DIRECTIONS)
def test_a_sine_is_the_spline_through_its_poses(axis):
    sine, t = read_base_motion(f"sine:{axis}:0.3:1"), np.linspace(0.0, 2.0, 401)
    x = 0.3 * np.sin(2.0 * np.pi * t)[:, None] * np.eye(3)["xyz".index(axis[-1])]
    position = x if len(axis) == 1 else np.zeros((401, 3))
    spline = Poses(t, position, np.array([sine(at).orientation for at in t]))
    found, expected = (motion(0.7).numbers(ROBOT) for motion in (spline, sine))
    assert relative_error(found, expected) < 1e-3  # a spline over 5 ms of a sine of 1 Hz


def test_a_plant_on_a_moving_base_is_driven_by_it(tmp_path):
    file = tmp_path / "poses.csv"
    t = np.linspace(0.0, 1.0, 101)
    lift = np.column_stack([t, 0 * t, 0 * t, t**2, 0 * t, 0 * t, 0 * t, 1 + 0 * t])
    np.savetxt(file, lift, delimiter=",", header=HEADER, comments="")
    plant = Plant(ROBOT, [0.3, 0.4], base=read_base_motion(str(file)), limit_effort=False)
    heavier = Plant(ROBOT.with_gravity(ROBOT.gravity - (0.0, 0.0, 2.0)), [0.3, 0.4])
    held = Dynamics(ROBOT).gravity(plant.q)
    for _ in range(100):
        plant.step(held)
        heavier.step(held)
    assert relative_error(plant.q, heavier.q) < 1e-9  # lifted with 2 m/s^2; the spline is exact


@pytest.mark.parametrize("text", ("sine:q:1:1", "sine:x:a:1", "sine:x:1:1:1"))
def test_a_sine_that_is_none_is_refused(text):
    with pytest.raises(ArgumentError) as refused:
        read_base_motion(text)
    assert str(refused.value) == (
        f"base motion '{text}': give sine:AXIS:AMPLITUDE:HZ, such as sine:y:0.05:1, with an axis "
        "of x, y, z, rx, ry, rz"
    )


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("0,0,0,0,0,0,0,1", "needs the columns t, x, y, z, qx, qy, qz, qw and two or more rows"),
        ("0,0,0,0,0,0,0,1\n1,0,nan,0,0,0,0,1", BAD_ROW),
        ("0,0,0,0,0,0,0,1\n0,0,0,0,0,0,0,1", BAD_ROW),
        ("0,0,0,0,0,0,0,1\n1,0,0,0,0,0,0,0", BAD_ROW),
    ],
)
def test_poses_that_are_none_are_refused(tmp_path, rows, fault):
    file = tmp_path / "poses.csv"
    file.write_text(f"{HEADER}\n{rows}\n")
    with pytest.raises(ArgumentError) as refused:
        read_base_motion(str(file))
    assert str(refused.value) == f"base motion {file}: {fault}"
