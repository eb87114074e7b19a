"""Estimates of inertias that a URDF does not give."""

import json

import numpy as np
import pytest

pytest.importorskip("trimesh", reason="shapes come with the extra 'view'")

from robot_dynamics.cli import main
from robot_dynamics.robot import read_urdf
from robot_dynamics.robot.urdf.document import ESTIMATES
from robot_dynamics.viewer.estimated_inertia import DENSITY, NARROW_M, with_estimated_inertias

BARE = """<robot name="bare"><link name="base"/>
<link name="a"><visual><origin xyz="0.1 0 0.2" rpy="0 0 1.5707963267948966"/>
<geometry><box size="0.2 0.1 0.4"/></geometry></visual></link>
<link name="flange"/><link name="b"/><link name="c">
<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="2" effort="5"/></joint>
<joint name="weld" type="fixed"><parent link="a"/><child link="flange"/></joint>
<joint name="j2" type="revolute"><parent link="flange"/><child link="b"/><axis xyz="0 1 0"/>
<origin xyz="0 0 0.4"/><limit lower="-2" upper="2" velocity="2" effort="5"/></joint>
<joint name="j3" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/>
<origin xyz="0 0 -0.5"/><limit lower="-2" upper="2" velocity="2" effort="5"/></joint></robot>"""


def of_box(mass, x, y, z):
    """Principal moments of a solid box."""
    return np.diag(mass / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y]))


def test_a_link_with_a_shape_gets_that_of_its_hull_and_one_without_that_of_a_box():
    robot, ways = with_estimated_inertias(read_urdf(BARE, require_inertia=False), BARE)
    assert ways == {"a": "hull", "b": "box"}
    bodies = {link.name: link.inertia for link in robot.links}
    mass = DENSITY * 0.2 * 0.1 * 0.4
    assert bodies["a"].mass == pytest.approx(mass)
    np.testing.assert_allclose(bodies["a"].com, [0.1, 0.0, 0.2], atol=1e-12)
    # A quarter turn about z: the box is 0.1 wide along x
    np.testing.assert_allclose(bodies["a"].about_com, of_box(mass, 0.1, 0.2, 0.4), atol=1e-9)
    mass = DENSITY * NARROW_M**2 * 0.5
    assert bodies["b"].mass == pytest.approx(mass)
    np.testing.assert_allclose(bodies["b"].com, [0.0, 0.0, -0.25])
    expected = of_box(mass, NARROW_M, NARROW_M, 0.5)
    np.testing.assert_allclose(bodies["b"].about_com, expected, rtol=1e-12)
    assert (bodies["c"].mass, bodies["flange"].mass) == (2.0, 0.0)  # as they were


@pytest.fixture
def bare(tmp_path):
    path = tmp_path / "bare.urdf"
    path.write_text(BARE)
    return str(path)


def test_a_urdf_with_estimates_is_marked_in_every_verb(bare, tmp_path, capsys):
    out = str(tmp_path / "estimated.urdf")
    assert main(["info", bare, "--estimate-inertia", "--density", "500", "-o", out]) == 0
    said = capsys.readouterr().out
    assert "estimated inertias" in said and f"wrote {out}" in said
    assert "efforts of them may be off by a half" in said
    assert main(["torque", out]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "estimated inertias of 2 links, 500 kg/m^3: efforts of them may be off" in line
    assert read_urdf(out).links[1].inertia.mass == pytest.approx(500 * 0.2 * 0.1 * 0.4)


def test_json_has_what_is_estimated_and_counts_the_operations_with_it(bare, capsys):
    assert main(["info", bare, "--estimate-inertia", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["estimated"] == {"a": "hull", "b": "box"}
    assert found["links"]["a"] == pytest.approx(8.0)
    assert found["operations"]["inverse"]["multiplications"] > 0
    assert main(["info", bare, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimated"] == {}


def test_the_mark_goes_with_the_estimates(bare, tmp_path):
    from dataclasses import replace

    from robot_dynamics.identification.export.write_back import with_identified

    out = tmp_path / "estimated.urdf"
    assert main(["info", bare, "--estimate-inertia", "-o", str(out)]) == 0
    assert ESTIMATES in out.read_text()
    robot = read_urdf(out)
    heavier = replace(robot.links[1], inertia=robot.links[1].inertia + robot.links[1].inertia)
    found = replace(robot, links=(robot.links[0], heavier, *robot.links[2:]))
    assert ESTIMATES.encode() not in with_identified(out, found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["info", "planar_2r", "--estimate-inertia"], "every link that moves has a mass"),
        (["info", "planar_2r", "-o", "x.urdf"], "--output writes a URDF with estimates; add"),
    ],
)
def test_what_cannot_be_is_refused(words, said, capsys):
    assert main(words) == 1
    assert said in capsys.readouterr().err
