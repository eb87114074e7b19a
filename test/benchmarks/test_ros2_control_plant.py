"""The plant of benchmark.ros2_control without ROS: its masses, its friction, its brakes."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from benchmark.ros2_control.arms import Arm
from benchmark.ros2_control.plant_log import PlantLog
from benchmark.ros2_control.workspace import HERE
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

DRIVER = """
#include "compiled_arm.hpp"
extern "C" void run(
  compiled_plant::Forward forward, int n, const double * p, const double * command,
  double seconds, double * state)
{
  const auto row = [=](int k) {return std::vector<double>(p + k * n, p + (k + 1) * n);};
  compiled_plant::CompiledArm arm(
    forward, {row(0), row(1), row(2), row(3), row(4), row(5)}, {row(1)});
  const std::vector<double> none(n, compiled_plant::kNone);
  arm.command({none, none, {command, command + n}});
  arm.step(seconds);
  std::copy(arm.q.begin(), arm.q.end(), state);
  std::copy(arm.qd.begin(), arm.qd.end(), state + n);
}
"""

DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("plant")
    (folder / "driver.cpp").write_text(DRIVER)
    library = folder / "driver.so"
    subprocess.run(
        [compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        + [f"-I{HERE}", str(folder / "driver.cpp"), "-o", str(library)],
        check=True,
    )
    run = ctypes.CDLL(str(library)).run
    run.argtypes = [ctypes.c_void_p, ctypes.c_int, DOUBLES, DOUBLES, ctypes.c_double, DOUBLES]
    arm = Arm("ur5")
    kernel = ctypes.CDLL(str(arm.write_kernel(folder))).plant_forward
    address = ctypes.cast(kernel, ctypes.c_void_p)

    def moved(q, command, seconds, viscous=0.0, coulomb=0.0):
        n = len(q)
        effort, far = arm.robot.limits.effort, np.full(n, np.inf)
        rows = [q, effort, -far, far, np.full(n, viscous), np.full(n, coulomb)]
        state = np.empty(2 * n)
        run(address, n, np.array(rows, float), np.array(command, float), seconds, state)
        return state[:n], state[n:]

    return moved


Q = np.array([0.3, -1.2, 0.9, -0.4, 0.7, 0.2])


def heavier():
    return Dynamics(read_urdf(Arm("ur5").plant_urdf))


def test_the_plant_has_more_mass_by_the_same_share_everywhere():
    nominal = Dynamics(read_urdf(find_robot("ur5")))
    # Round-off of decimal numbers in a URDF
    np.testing.assert_allclose(heavier().inverse(Q, Q, Q), 1.1 * nominal.inverse(Q, Q, Q), 1e-12)


def test_the_first_step_has_the_acceleration_of_the_heavier_robot(plant):
    command, seconds = np.array([3.0, 40.0, 20.0, 2.0, 1.0, 0.5]), 1e-5
    _, qd = plant(Q, command, seconds)
    np.testing.assert_allclose(qd / seconds, heavier().forward(Q, 0.0 * Q, command), rtol=1e-9)


def test_a_fall_gains_the_speed_of_the_energy_lost(plant):
    q, qd = plant(Q, np.zeros(6), 0.2)
    dynamics = heavier()
    before, after = dynamics.energy(Q, 0.0 * Q), dynamics.energy(q, qd)
    # Steps of 0.1 ms; one step of 0.2 s would leave the energy wrong by half
    assert after.T > 1.0
    np.testing.assert_allclose(sum(after), sum(before), atol=3e-3 * after.T)


def test_dry_friction_holds_what_it_exceeds(plant):
    command = heavier().gravity(Q) + np.array([0.5, 0.5, 0.5, 0.1, 0.1, 0.1])
    _, slipping = plant(Q, command, 0.2)
    _, held = plant(Q, command, 0.2, coulomb=1.0)
    # Smoothed friction yields at up to 0.01 rad/s atanh(0.5) = 0.0055
    assert np.abs(held).max() < 0.006
    assert np.abs(slipping).max() > 0.1


def test_the_brakes_hold_until_every_joint_has_a_command(plant):
    command = np.zeros(6)
    command[3] = np.nan
    q, qd = plant(Q, command, 0.2)
    np.testing.assert_array_equal(q, Q)
    np.testing.assert_array_equal(qd, 0.0)


def test_a_step_is_counted_from_the_last_finite_command():
    nan = np.nan
    command = np.array([[nan, 1.0], [0.0, 1.0], [nan, nan], [2.0, 1.5]])
    empty = np.zeros(4)
    log = PlantLog(*[empty] * 6, command, command, command, command)
    np.testing.assert_array_equal(log.steps, [2.0, 0.5])
