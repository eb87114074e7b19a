"""Links as convex hulls: distances in closed form, of boxes on slides."""

import itertools

import numpy as np
import pytest

from robot_dynamics.identification import excite
from robot_dynamics.identification.excitation.surroundings import Surroundings
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.viewer.link_shapes import outlines

pytest.importorskip("coal", reason="clearance of meshes needs coal")

BODY = """<inertial><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>"""
SLIDES = f"""
<robot name="slides"><link name="base">{BODY}</link><link name="x">{BODY}</link>
  <link name="y">{BODY}</link><link name="tool">{BODY}</link>
  <joint name="along" type="prismatic"><parent link="base"/><child link="x"/>
    <origin xyz="0.5 0 1"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="100"/></joint>
  <joint name="across" type="prismatic"><parent link="x"/><child link="y"/>
    <origin xyz="0 0.5 -1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="100"/></joint>
  <joint name="hand" type="fixed"><parent link="y"/><child link="tool"/>
    <origin xyz="0 0.2 0"/></joint>
</robot>"""
ROBOT = read_urdf(SLIDES)
SHAPES = outlines(SLIDES)


def test_links_that_are_no_neighbours_keep_the_distance_of_their_hulls():
    kept = Surroundings.of(ROBOT, clearance=0.1, shapes=SHAPES)
    for x, y in itertools.product((-0.9, 0.0, 0.4), (-0.6, 0.3, 0.9)):
        # Of boxes of 0.2 at (0.5 + x, 0.5 + y) and 0.2 further, and the one at the origin
        along = max(abs(0.5 + x) - 0.2, 0.0)
        across = min(max(abs(d + y) - 0.2, 0.0) for d in (0.5, 0.7))
        distance = np.hypot(along, across)
        if distance > 0.0:  # how deep boxes overlap is another question
            assert kept.violation(np.array([[x, y]])) == pytest.approx(0.1 - distance, abs=1e-6)
    assert kept.violation(np.array([[-0.5, -0.5]])) > 0.1


def test_hulls_that_are_always_too_near_are_left_out():
    kept = Surroundings.of(ROBOT, clearance=5.0, shapes=SHAPES)
    assert kept.hulls.pairs == () and kept.violation(np.zeros((1, 2))) < 0.0


def test_corners_of_hulls_stay_in_the_box():
    box = ((-2.0, -2.0, -0.2), (2.0, 1.4, 1.2))
    kept = Surroundings.of(ROBOT, box=box, shapes=SHAPES)
    # The tool's box ends at 0.8 + y, the higher slide's at 1.1
    assert kept.violation(np.array([[0.0, 0.5]])) == pytest.approx(-0.1)
    assert kept.violation(np.array([[0.0, 0.7]])) == pytest.approx(0.1)


@pytest.mark.thorough
def test_a_motion_keeps_the_meshes_of_an_arm_apart():
    source = find_robot("ur5")
    robot = read_urdf(source)
    shapes = outlines(source)
    found = excite(robot, 8.0, trials=30, clearance=0.12, shapes=shapes)
    kept = Surroundings.of(robot, clearance=0.12, shapes=shapes)
    assert kept.violation(found.motion.positions[::4]) < 5e-3  # between the instants looked at
    free = excite(robot, 8.0, trials=30)
    assert kept.violation(free.motion.positions[::4]) > 5e-3


def test_a_urdf_without_shapes_has_no_outlines():
    assert outlines(SLIDES.replace(BODY, BODY.partition("<collision>")[0])) == {}
