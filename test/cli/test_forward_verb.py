"""The verb `forward`: efforts in, motion out."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import main
from robot_dynamics.robot import find_robot

ROBOT = read_urdf(find_robot("planar_2r"))
STATE = ("--q", "0.3,-0.7", "--qd", "0.2,0.4")


def motion(capsys, *words):
    assert main(["forward", "planar_2r", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return [np.array(found[name]) for name in ("time", "q", "qd", "tau")]


def test_an_arm_that_falls_keeps_its_energy(capsys):
    t, q, qd, tau = motion(capsys, *STATE, "--duration", "0.5")
    assert t[-1] == 0.5
    assert not tau.any()
    energy = sum(Dynamics(ROBOT).energy(q, qd))
    # Runge-Kutta at 1 ms: order 4, 1e-9 of some 100 J
    assert_allclose(energy, energy[0], rtol=1e-8)
    assert np.abs(q[-1] - q[0]).max() > 0.1


def test_efforts_that_hold_an_arm_hold_it(capsys):
    hold = Dynamics(ROBOT).gravity([0.3, -0.7])
    words = ",".join(map(repr, hold.tolist()))
    _, q, _, tau = motion(capsys, "--q", "0.3,-0.7", f"--efforts={words}", "--duration", "0.2")
    assert_allclose(q, np.tile([0.3, -0.7], (len(q), 1)), atol=1e-12)
    assert_allclose(tau, np.tile(hold, (len(q), 1)))


def test_efforts_may_be_expressions_of_time(capsys):
    t, _, _, tau = motion(capsys, "--efforts", "joint_2=3*sin(2*t)", "--duration", "0.1")
    assert_allclose(tau, np.column_stack((np.zeros(len(t)), 3.0 * np.sin(2.0 * t))), atol=1e-15)


@pytest.mark.parametrize("method", ["runge_kutta", "adams_bashforth_moulton"])
def test_efforts_of_a_motion_give_the_motion_back(capsys, tmp_path, method):
    t = np.linspace(0.0, 0.5, 501)
    q = np.column_stack((0.3 + 0.2 * np.sin(4 * t), -0.7 + 0.3 * np.cos(3 * t)))
    qd = np.column_stack((0.8 * np.cos(4 * t), -0.9 * np.sin(3 * t)))
    qdd = np.column_stack((-3.2 * np.sin(4 * t), -2.7 * np.cos(3 * t)))
    tau = Dynamics(ROBOT).inverse(q, qd, qdd)
    path = tmp_path / "efforts.csv"
    rows = (f"{a!r},{b!r},{c!r}" for a, b, c in np.column_stack((t, tau)).tolist())
    path.write_text("\n".join(["time,tau.joint_1,tau.joint_2", *rows]))
    start = ("--q", "0.3,-0.4", "--qd", "0.8,0")
    words = ("--efforts", str(path), *start, "--duration", "0.5", "--method", method)
    _, found, _, _ = motion(capsys, *words)
    assert_allclose(found, q, atol=1e-6)  # straight lines between efforts at 1 ms: 1e-7
    out = tmp_path / "out.csv"
    assert main(["forward", "planar_2r", *words, "-o", str(out)]) == 0
    assert_allclose(np.loadtxt(out, delimiter=",", skiprows=1)[:, 1:3], found, atol=1e-11)
    assert main(["forward", "planar_2r", "--efforts", str(out), "--duration", "0.01"]) == 0


def test_faults_of_efforts_are_named(capsys, tmp_path):
    path = tmp_path / "efforts.csv"
    for text, fault in (
        ("time,tau.joint_1\n0,1\n", "no column 'tau.joint_2' in "),
        ("time,tau.joint_1,tau.joint_2\n0,1,x\n", "line 2: tau.joint_2 holds 'x'; give a number"),
        ("time,tau.joint_1,tau.joint_2\n0,1,1\n0,1,1\n", "times must increase; sort the rows"),
        ("time,tau.joint_1,tau.joint_2\n0,1,inf\n", "a time or effort is not finite"),
        ("time,tau.joint_1,tau.joint_2\n", "has no row; give one per time"),
    ):
        path.write_text(text)
        assert main(["forward", "planar_2r", "--efforts", str(path)]) == 1
        assert fault in capsys.readouterr().err
    assert main(["forward", "planar_2r", "--step", "1e-9"]) == 1
    assert "1e+09 steps are more than 1000000" in capsys.readouterr().err
