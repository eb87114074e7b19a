"""Programs to compile: equations of small robots, and every operation at once."""

import numpy as np

from robot_dynamics.compiler.graph.piecewise import select
from robot_dynamics.compiler.graph.trace import trace
from robot_dynamics.formulations.newton_euler import inverse_dynamics
from robot_dynamics.robot.kinematic_tree import Joint, JointType, Link
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Pose
from strategies import random_axis, random_inertia, random_rotation


def chain(joints, seed=0):
    """A robot of revolute joints, one after the other, with a prismatic one in third place."""
    rng = np.random.default_rng(seed)
    links = [Link(f"link_{k}", random_inertia(rng)) for k in range(joints + 1)]
    return Robot(
        f"chain_{joints}",
        tuple(links),
        tuple(
            Joint(
                f"joint_{k}",
                JointType.PRISMATIC if k == 2 else JointType.REVOLUTE,
                f"link_{k}",
                f"link_{k + 1}",
                Pose(random_rotation(rng), rng.uniform(-0.5, 0.5, 3)),
                random_axis(rng, plain=True),
            )
            for k in range(joints)
        ),
    )


def inverse_of(robot):
    """Inverse dynamics of a robot, as a function of q, qd, qdd on any scalar."""
    return lambda q, qd, qdd: {"tau": inverse_dynamics(robot, q, qd, qdd, {})}


def inverse_program(robot):
    """The same as a program."""
    n = robot.dof
    return trace("inverse_dynamics", inverse_of(robot), {"q": (n,), "qd": (n,), "qdd": (n,)})


def everything(x, A, s):
    """Uses every operation on a vector (3,), a matrix (2, 2) and a number (); three outputs.

    The arguments of root and reciprocal stay away from zero, so that the comparison of two
    evaluations is one of round-off.
    """
    y = A @ x[:2] - np.sin(x[2]) * x[:2]
    root = np.sqrt(4.0 + x[0] * x[0])
    nested = np.cos(np.sin(x[0] + x[1]) - np.tanh(s))
    angle = np.arctan2(y[1], x[0])
    last = select(x[0], x[1], np.floor(3.0 * x[2]), np.cos(angle) - np.arctan2(nested, angle))
    return {
        "vector": np.array([y[0] / root, -y[1], np.exp(-abs(x[2])), nested, last]),
        "matrix": np.outer(x, y) * 3.0 - np.ones((3, 2)),
        "number": s - x[0],
    }


EVERYTHING_INPUTS = {"x": (3,), "A": (2, 2), "s": ()}


def everything_program():
    """`everything` as a program."""
    return trace("everything", everything, EVERYTHING_INPUTS)


def random_inputs(inputs, seed, samples=None):
    """Normal numbers for every input of a program, one sample or many."""
    rng = np.random.default_rng(seed)
    lead = () if samples is None else (samples,)
    return [rng.normal(size=(*lead, *shape)) for shape in inputs.values()]


def random_motion(arm, seed, samples=None):
    """Arguments of the inverse dynamics of a robot, one sample or many."""
    return random_inputs(dict.fromkeys(("q", "qd", "qdd"), (arm.dof,)), seed, samples)


# -- kernels that a test finds on disk -------------------------------------------------------


def assert_right(kernel, arm):
    """Efforts of one and of many samples, against the plain equations (round-off: 1e-13)."""
    q, qd, qdd = random_inputs(kernel.inputs, seed=1, samples=9)
    expected = np.array([inverse_of(arm)(*row)["tau"] for row in zip(q, qd, qdd, strict=True)])
    np.testing.assert_allclose(kernel(q, qd, qdd), expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(kernel(q[0], qd[0], qdd[0]), expected[0], rtol=0, atol=1e-11)


class CompilerCalledError(Exception):
    pass


def compiler_called(*_, **__):
    raise CompilerCalledError


def kernels_in(folder):
    return sorted(folder.glob("*.kernel"))
