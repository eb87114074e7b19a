"""Shapes of links, and substitutes where the URDF has none."""

import logging
from pathlib import Path

import numpy as np
import pytest

trimesh = pytest.importorskip("trimesh")

from robot_dynamics.robot import Inertia, read_urdf  # noqa: E402
from robot_dynamics.viewer.link_shapes import (  # noqa: E402
    link_shapes,
    mesh_path,
    stand_in,
)

ROUND_OFF = 1e-9  # coordinates of a metre in float64
FACETS = 0.05  # an icosphere of 320 triangles has 3 % less inertia than the ball about it

ARM = """<robot name="arm">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><visual><geometry><box size="0.2 0.4 0.6"/></geometry>
    <material name="red"/></visual></link>
  <link name="rod">
    <inertial><origin xyz="0.1 0 0.3"/><mass value="2"/>
      <inertia ixx="0.04" iyy="0.05" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
      <geometry><mesh filename="{mesh}" scale="0.001 0.001 0.001"/></geometry></visual>
  </link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
</robot>"""


@pytest.fixture
def brick(tmp_path: Path) -> Path:
    """A brick of 100 x 200 x 300 mm in a package of its own."""
    path = tmp_path / "bricks" / "meshes" / "brick.stl"
    path.parent.mkdir(parents=True)
    trimesh.creation.box(extents=(100.0, 200.0, 300.0)).export(path)
    return path


def shapes_of(urdf: Path):
    return link_shapes(read_urdf(urdf), urdf).visual


def test_mesh_is_scaled_turned_and_moved_as_its_visual_says(tmp_path, brick):
    urdf = tmp_path / "bricks" / "arm.urdf"
    urdf.write_text(ARM.format(mesh="package://bricks/meshes/brick.stl"))
    (shape,) = shapes_of(urdf)["rod"]
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    # A quarter turn about z swaps x and y
    np.testing.assert_allclose(high - low, [0.2, 0.1, 0.3], atol=ROUND_OFF)
    np.testing.assert_allclose((high + low) / 2.0, [0.0, 0.0, 1.0], atol=ROUND_OFF)


def test_material_by_name_colours_a_box(tmp_path, brick):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ARM.format(mesh=brick))
    (box,) = shapes_of(urdf)["base"]
    assert box.colour == (255, 0, 0)
    np.testing.assert_allclose(np.ptp(box.vertices, axis=0), [0.2, 0.4, 0.6], atol=ROUND_OFF)


@pytest.mark.parametrize(
    ("variable", "root"), [("AMENT_PREFIX_PATH", "share"), ("ROS_PACKAGE_PATH", "")]
)
def test_package_is_found_where_ros_says(tmp_path, monkeypatch, variable, root):
    mesh = tmp_path / root / "bricks" / "brick.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    assert mesh_path("package://bricks/brick.stl") is None
    monkeypatch.setenv(variable, str(tmp_path))
    assert mesh_path("package://bricks/brick.stl") == mesh


def test_package_is_found_above_the_urdf(brick):
    assert mesh_path("package://bricks/meshes/brick.stl", brick.parent).samefile(brick)


def test_missing_mesh_is_replaced_and_named_in_one_warning(tmp_path, caplog):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ARM.format(mesh="package://nobody/brick.stl"))
    with caplog.at_level(logging.WARNING):
        shapes = shapes_of(urdf)
    assert len(shapes["rod"]) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"{urdf}: 1 meshes are replaced by stand-ins, the first because "
        "package://nobody/brick.stl is nowhere; source its workspace or correct the path"
    ]


def test_stand_in_has_the_inertia_of_the_link():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    com, moments = np.array([0.1, -0.2, 0.3]), np.array([0.05, 0.08, 0.10])
    (shape,) = stand_in(Inertia.from_com(3.0, com, turn @ np.diag(moments) @ turn.T))
    mesh = trimesh.Trimesh(shape.vertices, shape.faces)
    mesh.density = 3.0 / mesh.volume
    np.testing.assert_allclose(mesh.center_mass, com, atol=1e-6)
    np.testing.assert_allclose(
        mesh.moment_inertia, turn @ np.diag(moments) @ turn.T, atol=FACETS * moments.max()
    )
