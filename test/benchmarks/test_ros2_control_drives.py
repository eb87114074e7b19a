"""The plant of benchmark.ros2_control: drives of robots that can be bought, faults of drivers."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo comes with the extra 'bench'")

from benchmark.faults.managed_arm import ManagedArm
from benchmark.ros2_control.workspace import HERE, mujoco_folder

DRIVER = """
#include "fault.hpp"
#include "mujoco_arm.hpp"
using namespace compiled_plant;
extern "C" void run(
  const char * model, int n, const double * q, const double * limit, const double * traits,
  const double * added, const double * command, double seconds, double * state)
{
  const auto row = [=](const double * p, int k) {
      return std::vector<double>(p + k * n, p + (k + 1) * n);
    };
  const std::vector<double> kp(n, traits[0]), kd(n, traits[1]);
  MujocoArm arm(
    model, row(q, 0),
    {row(limit, 0), kp, kd, traits[2], traits[3], traits[4], traits[5] > 0.5},
    {added[0], added[1], added[2], added[3]});
  arm.command({row(command, 0), row(command, 1), row(command, 2)});
  arm.step(seconds);
  for (const auto * values : {&arm.q, &arm.qd, &arm.tau}) {
    state = std::copy(values->begin(), values->end(), state);
  }
  *state = arm.braked();
}

extern "C" void report(
  const char * kind, double lasts, int cycles, double period, double * reported)
{
  Fault fault(kind, 0.1, lasts, {0.0, 0.0});
  for (int k = 0; k < cycles; ++k) {
    const double t = (k + 1) * period;
    const Reported measured{{t, 2.0 * t}, {1.0, 2.0}};
    fault.watch(t, measured.q);
    const Reported & found = fault.report(t, measured);
    for (const auto * values : {&found.q, &found.qd}) {
      reported = std::copy(values->begin(), values->end(), reported);
    }
  }
}
"""

DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
Q = np.array([0.3, -1.2, 0.9, -0.4, 0.7, 0.2])
NONE = np.full(6, np.nan)
ARM = ManagedArm("ur5", friction=0.0)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("drives")
    (folder / "driver.cpp").write_text(DRIVER)
    mujoco = mujoco_folder()
    (shared,) = mujoco.glob("libmujoco.so.*")
    subprocess.run(
        [compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        + [f"-I{HERE}", "-isystem", str(mujoco / "include"), str(folder / "driver.cpp")]
        + [str(shared), f"-Wl,-rpath,{mujoco}", "-o", str(folder / "driver.so")],
        check=True,
    )
    library = ctypes.CDLL(str(folder / "driver.so"))
    library.run.argtypes = [ctypes.c_char_p, ctypes.c_int, *[DOUBLES] * 5, ctypes.c_double, DOUBLES]
    library.report.argtypes = [
        ctypes.c_char_p, ctypes.c_double, ctypes.c_int, ctypes.c_double, DOUBLES
    ]  # fmt: skip
    library.model = str(ARM.write_plant(folder)["model"]).encode()
    return library


def moved(library, seconds, *, position=NONE, effort=NONE, added=(0.0, 0.0, 0.0, 0.0), **traits):
    """Return positions, velocities and efforts after a time, and whether brakes are closed."""
    given = {"kp": 0.0, "kd": 0.0, "effort_rate": 0.0, "watchdog": 0.0, "first": np.nan, "nan": 0}
    given.update(traits)
    command = np.array([position, NONE, effort])
    state = np.empty(19)
    library.run(
        library.model, 6, Q, ARM.robot.limits.effort, np.array(list(given.values())),
        np.array(added), command, seconds, state
    )  # fmt: skip
    return *state[:18].reshape(3, 6), bool(state[18])


@pytest.mark.thorough
def test_a_robot_that_adds_gravity_holds_itself_without_efforts(library):
    q, *_ = moved(library, 0.5, effort=np.zeros(6), added=(1.0, 0.0, 0.0, 0.0))
    np.testing.assert_allclose(q, Q, atol=1e-5)  # gravity is that of the step before
    fallen, *_ = moved(library, 0.5, effort=np.zeros(6))
    assert abs(fallen - Q).max() > 0.5


def test_the_loop_of_a_drive_pulls_to_its_first_position_where_none_is_commanded(library):
    effort = ARM.dynamics.gravity(Q)
    _, _, tau, _ = moved(library, 1e-4, effort=effort, kp=70.0, kd=2.0, first=0.0)
    np.testing.assert_allclose(tau, np.clip(effort - 70.0 * Q, *limits()))
    _, _, tau, _ = moved(library, 1e-4, position=Q + 0.1, effort=effort, kp=70.0, kd=2.0, first=0.0)
    np.testing.assert_allclose(tau, np.clip(effort + 7.0, *limits()))


def limits():
    return -ARM.robot.limits.effort, ARM.robot.limits.effort


def test_no_position_is_no_effort_where_a_drive_needs_one(library):
    _, _, tau, _ = moved(library, 1e-3, effort=np.ones(6), nan=1)
    np.testing.assert_array_equal(tau, 0.0)
    _, _, tau, _ = moved(library, 1e-3, position=Q, effort=np.ones(6), nan=1)
    np.testing.assert_array_equal(tau, 1.0)


def test_commanded_efforts_change_at_their_rate(library):
    _, _, tau, _ = moved(library, 5e-3, effort=np.full(6, 20.0), effort_rate=1000.0)
    np.testing.assert_allclose(tau, 5.0)


@pytest.mark.parametrize(("seconds", "braked"), [(0.039, False), (0.045, True)])
def test_a_watchdog_closes_the_brakes_where_commands_are_late(library, seconds, braked):
    _, qd, _, closed = moved(library, seconds, effort=np.zeros(6), watchdog=0.04)
    assert closed == braked
    assert (abs(qd).max() < 1e-3) == braked


def reported(library, kind, lasts):
    """Return times of 1000 Hz, and the positions and velocities that a driver reports."""
    found = np.empty((500, 4))
    library.report(kind.encode(), lasts, 500, 1e-3, found)
    return 1e-3 * np.arange(1, 501), found[:, :2], found[:, 2:]


# The motion has begun after 0.006 s, and the fault begins 0.1 s later
def test_states_that_come_late_stand_and_go_on_behind(library):
    t, q, _ = reported(library, "late", 0.3)
    standing, late, after = t[105:180], t[200:390], t[410:]
    np.testing.assert_allclose(q[105:180, 0], standing[0] - 1e-3, atol=2e-3)
    np.testing.assert_allclose(q[200:390, 0], late - 0.08, atol=1.1e-3)  # a cycle
    np.testing.assert_allclose(q[410:, 0], after)


def test_a_glitch_is_one_wrong_state(library):
    t, q, qd = reported(library, "position glitch", 0.0)
    wrong = abs(q - np.column_stack([t, 2.0 * t])) > 1e-9
    assert wrong.sum() == 1 and wrong[:, 1].any()
    _, _, qd = reported(library, "velocity glitch", 0.0)
    assert (qd[:, 1] == 1002.0).sum() == 1


def test_a_joint_freezes_while_the_others_move(library):
    t, q, _ = reported(library, "frozen joint", 0.2)
    assert len(set(q[110:300, 1])) == 1
    np.testing.assert_allclose(q[:, 0], t)


def test_a_missing_joint_is_not_a_number(library):
    _, q, _ = reported(library, "missing joint", 0.2)
    assert np.isnan(q[110:300, 1]).all() and np.isfinite(q[:, 0]).all()
    assert np.isfinite(q[310:]).all()
