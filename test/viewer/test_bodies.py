"""Bodies nested as they hang on each other stand where forward kinematics has them."""

import numpy as np
import pytest

pytest.importorskip("viser")

import viser
from scipy.spatial.transform import Rotation

from robot_dynamics import read_urdf
from robot_dynamics.kinematics.forward_kinematics import link_poses
from robot_dynamics.robot import find_robot, merge_fixed
from robot_dynamics.viewer.bodies import Bodies

INVISIBLE = 1e-3  # m or rad: seven joints that each may stay behind by an invisible motion


def test_nested_bodies_stand_where_forward_kinematics_has_them(free_port):
    robot = read_urdf(find_robot("panda"))  # revolute joints, and prismatic ones that mimic
    tree = merge_fixed(robot)
    server = viser.ViserServer(port=free_port, verbose=False)
    try:
        bodies = Bodies(server.scene, "/robot", tree)
        for q in np.random.default_rng(5).uniform(-1.0, 1.0, (5, robot.dof)):
            bodies.place(q)
        places = {"": (Rotation.identity(), np.zeros(3))}
        for link, parent, node in zip(tree.links[1:], tree.parents, bodies._nodes, strict=True):
            R, p = places[tree.links[parent].name if parent else ""]
            turn = Rotation.from_quat(np.roll(node.wxyz, -1))
            places[link.name] = R * turn, R.apply(node.position) + p
        for name, pose in link_poses(tree, q).items():
            if name in places:
                R, p = places[name]
                np.testing.assert_allclose(p, pose.translation, atol=INVISIBLE)
                np.testing.assert_allclose(R.as_matrix(), pose.rotation, atol=INVISIBLE)
        assert len(places) == len(tree.links)
    finally:
        server.stop()
