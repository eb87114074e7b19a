"""`python -m benchmark.one_robot`: our calls beside those of peers that compute the same."""

import json
import os
import re
import sys

import numpy as np
import pytest

from benchmark import one_robot
from benchmark.one_robot import main
from benchmark.peers import PEERS, States, bare_urdf, pinocchio
from robot_dynamics.robot import read_urdf, urdf_text
from robot_dynamics.robot.catalogue import known_robots

FOLLOWED = """
<robot name="followed">
  <link name="base"/>
  <link name="arm"><inertial><mass value="2"/><origin xyz="0.1 0.2 0.3"/>
    <inertia ixx="1" iyy="1.2" izz="1.3" ixy="0.1" ixz="0" iyz="0"/></inertial></link>
  <link name="slide"><inertial><mass value="1"/><origin xyz="0 0.1 0"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="finger"><inertial><mass value="0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 1 0"/><dynamics damping="3" friction="1"/></joint>
  <joint name="push" type="prismatic"><parent link="arm"/><child link="slide"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="1" velocity="1" effort="9"/></joint>
  <joint name="follow" type="revolute"><parent link="arm"/><child link="finger"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="1" velocity="1" effort="9"/>
    <mimic joint="push"/></joint>
</robot>
"""
"""A joint with two coordinates in Pinocchio, friction, and a follower of another joint."""


def rows(text):
    cells = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells if row[0] in one_robot.QUANTITIES}


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    monkeypatch.setattr(one_robot, "TURN_S", 1e-3)
    monkeypatch.setattr(one_robot, "TURNS", 2)


def test_every_quantity_has_its_times_and_the_ratios_of_installed_peers(capsys):
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    assert main(["planar_2r"]) == 0
    found = rows(capsys.readouterr().out)
    assert set(found) == set(one_robot.QUANTITIES)
    for quantity, cells in found.items():
        call, *ratios = cells
        assert float(call) > 0.0
        offered = [cell for cell in ratios if cell.endswith(" x")]
        assert len(offered) == (4 if quantity in ("inverse", "forward") else 2)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", ["followed", "panda"])
def test_peers_compute_what_we_compute(peer, name):
    pytest.importorskip("pinocchio" if peer == "pin" else peer)
    if name == "panda" and name not in known_robots():
        pytest.skip("example-robot-data is not installed")
    text = bare_urdf(FOLLOWED if name == "followed" else urdf_text(name))
    robot = read_urdf(text)
    states = States(*np.random.default_rng(0).uniform(-1.0, 1.0, (4, 3, robot.dof)))
    work, reference = PEERS[peer](text, robot, states), one_robot.ours(robot, states)
    for quantity, done in work.items():
        expected = reference[quantity].result()
        error = np.abs(done.result() - expected).max() / np.abs(expected).max()
        assert error < 1e-9, quantity  # float64 on both sides, and a forward solution


def test_a_peer_that_computes_something_else_is_left_out(capsys, monkeypatch):
    pytest.importorskip("pinocchio")

    def of_other_states(text, robot, states):
        return pinocchio(text, robot, States(*(1.5 * x for x in states)))

    monkeypatch.setattr(one_robot, "PEERS", {"pin": of_other_states})
    assert main(["planar_2r"]) == 0
    printed = capsys.readouterr().out
    assert "pin: left out, its inverse, forward, mass_matrix, inverse_derivatives differ" in printed
    assert " x" not in printed


def test_without_peers_our_times_are_shown_and_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert main(["planar_2r"]) == 0
    printed = capsys.readouterr().out
    assert set(rows(printed)) == set(one_robot.QUANTITIES)
    assert "pin: left out, not installed (pip install pin)" in printed
    assert "mujoco: left out, not installed (pip install mujoco)" in printed


def test_json_has_seconds_by_quantity_and_package(capsys):
    assert main(["planar_2r", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["seconds"]) == set(one_robot.QUANTITIES)
    assert all(row[one_robot.OURS]["call"] > 0.0 for row in found["seconds"].values())


def test_a_robot_from_a_pipe_is_refused_in_one_line(capsys):
    reader, writer = os.pipe()
    os.write(writer, FOLLOWED.encode())
    os.close(writer)
    try:
        assert main([f"/dev/fd/{reader}"]) == 1
    finally:
        os.close(reader)
    assert "can be read only once, and is needed again; give a file" in capsys.readouterr().err
