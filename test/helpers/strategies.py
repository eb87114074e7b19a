"""Random robots and states for property tests.

Hypothesis draws the structure (so that a failure shrinks to a small tree) and a
seed; the numbers come from the seed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics.robot.kinematic_tree import Joint, JointLimits, JointType, Link, Mimic
from robot_dynamics.robot.manifold import integrate, neutral
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, Pose

MOVING = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)

FREE = (JointType.FLOATING, JointType.PLANAR)


# -- robots ---------------------------------------------------------------------------------


@st.composite
def robots(draw, *, min_joints=1, max_joints=7, fixed=True, mimic=True, branches=True, free=False):
    """Random tree with at least one independent joint, physical inertias and oblique axes.

    Args:
        draw: Given by hypothesis.
        min_joints: Least number of joints, fixed ones included.
        max_joints: Greatest number of joints, fixed ones included.
        fixed: Whether joints may be fixed.
        mimic: Whether joints may follow others.
        branches: Whether a link may carry several joints; otherwise the robot is a chain.
        free: Whether joints may be floating or planar, the latter about the z axis.

    Returns:
        Robot. Joint names descend through the alphabet, so that an oracle that sorts them
        disagrees with tree order.
    """
    types = st.sampled_from(MOVING + (JointType.FIXED,) * fixed + FREE * free)
    kinds = draw(st.lists(types, min_size=min_joints, max_size=max_joints))
    if all(kind is JointType.FIXED for kind in kinds):
        kinds[-1] = JointType.REVOLUTE
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    plain_axes = draw(st.booleans())

    links, joints, path = [Link("base", random_inertia(rng))], [], ["base"]
    for k, kind in enumerate(kinds):
        steps_back = draw(st.integers(0, len(path) - 1)) if branches else 0
        path = path[: len(path) - steps_back]  # keeps the tree depth first
        joints.append(
            Joint(
                name=f"{chr(ord('z') - k)}_joint",
                type=kind,
                parent=path[-1],
                child=f"link_{k + 1}",
                origin=Pose(random_rotation(rng), rng.uniform(-0.5, 0.5, 3)),
                axis=np.eye(3)[2] if kind in FREE else random_axis(rng, plain_axes),
                limits=random_limits(rng, kind),
                damping=float(rng.uniform(0.0, 2.0)),
                friction=float(rng.uniform(0.0, 2.0)),
            )
        )
        links.append(Link(f"link_{k + 1}", random_inertia(rng)))
        path.append(links[-1].name)
    if mimic and draw(st.booleans()):
        joints = couple(joints, draw, rng)
    return Robot("random", tuple(links), tuple(joints), gravity=rng.uniform(-10.0, 10.0, 3))


def chains(**options):
    """Random robots whose links carry one joint each."""
    return robots(branches=False, **options)


@st.composite
def limbed_robots(draw):
    """Limbs of the same joints on one base, of other numbers, their axes mirrored at random."""
    kinds = draw(st.lists(st.sampled_from(MOVING), min_size=2, max_size=3))
    limbs = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    axes = [random_axis(rng, plain=True) for _ in kinds]
    links, joints = [Link("base", random_inertia(rng))], []
    for limb in range(limbs):
        parent = "base"
        for k, (kind, axis) in enumerate(zip(kinds, axes, strict=True)):
            child = f"link_{limb}_{k}"
            origin = Pose(random_rotation(rng), rng.uniform(-0.5, 0.5, 3))
            mirrored = rng.choice((-1.0, 1.0)) * axis
            joints.append(Joint(f"joint_{limb}_{k}", kind, parent, child, origin, mirrored))
            links.append(Link(child, random_inertia(rng)))
            parent = child
    return Robot("limbed", tuple(links), tuple(joints), gravity=rng.uniform(-10.0, 10.0, 3))


def couple(joints, draw, rng):
    """Let some moving joints follow one leader, which may stand before or after them."""
    moving = [k for k, joint in enumerate(joints) if joint.type in MOVING]
    if not moving:
        return joints
    leader = draw(st.sampled_from(moving))
    followers = draw(st.sets(st.sampled_from(moving)))
    for k in followers - {leader}:
        multiplier = float(rng.choice((-1.0, 1.0)) * rng.uniform(0.3, 2.0))
        mimic = Mimic(joints[leader].name, multiplier, float(rng.uniform(-0.5, 0.5)))
        joints[k] = replace(joints[k], mimic=mimic)
    return joints


def random_rotation(rng):
    """Rotation matrix, uniform over all orientations."""
    return Rotation.random(random_state=rng).as_matrix()


def random_axis(rng, plain=False):
    """Unit vector: any direction, or along plus or minus a coordinate axis."""
    if plain:
        return rng.choice((-1.0, 1.0)) * np.eye(3)[rng.integers(3)]
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def random_inertia(rng):
    """Inertia of a solid body: the moments of some density, so the triangle rule holds."""
    mass = float(rng.uniform(0.2, 8.0))
    com = rng.uniform(-0.3, 0.3, 3)
    deviation = rng.uniform(0.02, 0.15, 3)  # standard deviation of the mass along three axes, m
    sigma = mass * deviation**2
    R = random_rotation(rng)
    return Inertia.from_com(mass, com, R @ np.diag(sigma.sum() - sigma) @ R.T)


def random_limits(rng, kind):
    """Finite limits around zero; none on the position of a continuous joint."""
    lower, upper = -rng.uniform(0.5, 3.0), rng.uniform(0.5, 3.0)
    velocity, effort = rng.uniform(1.0, 5.0), rng.uniform(50.0, 500.0)
    if kind is JointType.FIXED:
        return JointLimits()
    if kind is JointType.CONTINUOUS:
        return JointLimits(velocity=float(velocity), effort=float(effort))
    return JointLimits(float(lower), float(upper), float(velocity), float(effort))


# -- states ---------------------------------------------------------------------------------


def seeds():
    """Seed of the numbers of one example."""
    return st.integers(0, 2**32 - 1)


def random_state(robot, seed, samples=None):
    """Positions, velocities and accelerations, shape (n,) each, or (samples, n).

    Positions of floating and planar joints are on their manifold.
    """
    rng = np.random.default_rng(seed)
    shape = (robot.dof,) if samples is None else (samples, robot.dof)
    q = rng.uniform(-3.0, 3.0, shape)
    if robot.nq > robot.dof:
        q = integrate(robot, neutral(robot), q)
    return q, rng.normal(size=shape), rng.normal(size=shape)


def state_of(tree, seed):
    """Positions, velocities and accelerations of all joints of a tree, shape (3, n)."""
    return np.random.default_rng(seed).uniform(-3, 3, (3, len(tree.joints)))


def random_wrenches(tree, seed):
    """Force and moment that some moving links exert on their surroundings, by link index."""
    rng = np.random.default_rng(seed)
    links = [i for i in range(1, len(tree.links)) if rng.uniform() < 0.5]
    return {i: (rng.uniform(-20.0, 20.0, 3), rng.uniform(-5.0, 5.0, 3)) for i in links}
