"""Formulations of numbers on a base that moves."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from scipy.spatial.transform import Rotation

from oracles import relative_error
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.spatial import Pose
from strategies import random_state, robots, seeds

ROUND_OFF = 1e-11  # float64, sums in another order; one wrong sign gives 1e-2 and more


@given(robots(), seeds())
def test_a_base_at_rest_is_what_every_formulation_takes_for_granted(robot, seed):
    state = random_state(robot, seed)
    found = inverse_dynamics(robot, *state, base=BaseMotion())
    assert relative_error(found, inverse_dynamics(robot, *state)) < ROUND_OFF


@given(robots(), seeds())
def test_an_accelerated_base_is_felt_as_gravity(robot, seed):
    state = random_state(robot, seed)
    push = np.random.default_rng(seed).uniform(-5.0, 5.0, 3)
    found = inverse_dynamics(
        robot, *state, base=BaseMotion(acceleration=np.append(push, np.zeros(3)))
    )
    expected = inverse_dynamics(robot, *state, gravity=robot.gravity - push)
    assert relative_error(found, expected) < ROUND_OFF


def on_a_ship(robot):
    """The robot behind six joints that carry its base: three slides, then turns about z, y, x."""
    z = [f"carrier_{k}" for k in range(6)]
    axes = np.vstack([np.eye(3), np.eye(3)[::-1]])
    links, joints = [Link("world")], []
    for k, (name, axis) in enumerate(zip(z, axes, strict=True)):
        kind = JointType.PRISMATIC if k < 3 else JointType.REVOLUTE
        child = robot.links[0].name if k == 5 else name
        joints.append(Joint(f"{name}_joint", kind, links[-1].name, child, Pose.identity(), axis))
        links.append(robot.links[0] if k == 5 else Link(name))
    return replace(
        robot, links=(*links, *robot.links[1:]), joints=(*joints, *robot.joints), frames={}
    )


def test_joints_feel_the_same_on_a_base_that_six_other_joints_carry():
    robot = read_urdf(find_robot("ur5"))
    ship, rng = on_a_ship(robot), np.random.default_rng(4)
    for _ in range(10):
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 6))
        base_q, base_qd, base_qdd = rng.uniform(-1.0, 1.0, (3, 6))
        whole = [np.concatenate(x) for x in ((base_q, q), (base_qd, qd), (base_qdd, qdd))]
        expected = inverse_dynamics(ship, *whole)[6:]

        # The base's motion in its own axes, from derivatives of its rotation R = Rz Ry Rx
        def rotation(t, base_q=base_q, base_qd=base_qd, base_qdd=base_qdd):
            return Rotation.from_euler("ZYX", (base_q + base_qd * t + base_qdd * t**2 / 2)[3:])

        h = 1e-4
        R = rotation(0.0).as_matrix()
        before, now, after = (rotation(t) for t in (-h, 0.0, h))
        w_after = (now.inv() * after).as_rotvec() / h  # in axes of the base, at h / 2
        w_before = (before.inv() * now).as_rotvec() / h
        w, wd = (before.inv() * after).as_rotvec() / (2 * h), (w_after - w_before) / h
        none = np.zeros(
            3
        )  # the linear velocity has no effect beside the acceleration of the origin
        base = BaseMotion(twist=np.append(none, w), acceleration=np.append(R.T @ base_qdd[:3], wd))
        turned = robot.with_gravity(R.T @ robot.gravity)
        found = inverse_dynamics(turned, q, qd, qdd, base=base)
        # differences over h = 1e-4: h^2 of angular rates of 1, and round-off over h^2
        assert relative_error(found, expected) < 1e-6
