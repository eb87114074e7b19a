"""Comparison of kernels: compiled, plain, by the complex step and with Pinocchio."""

import numpy as np

from oracles import pin_model
from robot_dynamics import Dynamics
from robot_dynamics.compiler.graph.operations import (
    ADD,
    CONSTANT,
    FUNCTIONS,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SUBTRACT,
)
from robot_dynamics.compiler.graph.optimize import optimize
from robot_dynamics.compiler.native.native_kernel import compile_native
from robot_dynamics.dynamics.kernels import OF_FRAMES, equations_of
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.robot.free_joints import free_joints
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.spatial import rotation_from_quaternion
from strategies import random_state

# float64 on both sides; the worst is 3e-11, rounded angles of a URDF that Pinocchio reads as
# quaternions; one wrong sign gives 1e-2 and more
ROUND_OFF = 1e-9

LARGEST_NATIVE = 1_000
"""Nodes of a graph that is compiled here: the passes and LLVM take about 0.1 ms for each."""


def assert_kernels_agree(robot, formulation, seed, names, source=None):
    """Compare kernels of a robot with their plain evaluation and with Pinocchio.

    Args:
        robot: The robot.
        formulation: Name of the formulation.
        seed: Seed of the state.
        names: Kernels.
        source: URDF for Pinocchio; by default the robot is written as one.
    """
    arm, tree = Dynamics(robot, formulation, cache=False), merge_fixed(robot)
    pinocchio = ByPinocchio(pin_model(robot, source), arm)
    q, qd, third = random_state(robot, seed)
    for name in names:
        equations = equations_of(name, tree, formulation, variant_of(name, robot))
        state = (q, qd, third)[: len(equations.inputs)]
        about = robot.name, formulation, name
        allowed = ROUND_OFF
        if name.startswith("forward"):
            # Solving loses as many digits as M is badly conditioned: light fingers, heavy arm
            allowed += 1e-14 * np.linalg.cond(pinocchio.model.mass_matrix(q))
        plain = arrays(equations.function(*state))
        steps = complex_step(name, tree, formulation, state)
        for found in compiled(arm, name, state):
            assert_same(found, plain, about, allowed)
            if steps:
                assert_same(found, [*steps, plain[2]], (*about, "complex step"), allowed)
            getattr(pinocchio, name)(found, (*about, "Pinocchio"), *state)


def variant_of(name, robot):
    """The frame of kinematics is the last link of a robot."""
    return Variant(frame=robot.links[-1].name) if name in OF_FRAMES else Variant()


def arrays(answer):
    """A kernel's answer as a list of arrays, whether it has one output or several."""
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    return [np.asarray(a) for a in (answer if isinstance(answer, tuple) else [answer])]


def assert_same(found, expected, about, allowed=ROUND_OFF):
    """Every output agrees, relative to all of them: one may be zero but for round-off.

    All may be, as the bias of rotors about axes of symmetry, or gravity of a balanced platform:
    below 1e-6 N m counts as that.
    """
    size = max(np.max(np.abs(values), initial=1e-6) for values in expected)
    for ours, theirs in zip(found, expected, strict=True):
        worst = np.max(np.abs(ours - theirs), initial=0.0) / size
        assert worst < allowed, (*about, worst)


def assert_solve(M, found, expected, terms, about):
    """M x = b for every output x, but for a small part of the terms that b and M x consist of.

    As in `assert_same`, of all outputs: one may be zero but for round-off.
    """
    size = max(np.max(np.abs(M) @ np.abs(x) + t) for x, t in zip(found, terms, strict=True))
    for x, b in zip(found, expected, strict=True):
        worst = np.max(np.abs(M @ x - b)) / size
        assert worst < ROUND_OFF, (*about, worst)


# -- the compiled side ------------------------------------------------------------------------


def compiled(arm, name, state):
    """Return the results of every program of a kernel: native code, or the graph if it is long."""
    for program in programs(arm, name):
        if len(program.nodes) <= LARGEST_NATIVE:
            yield arrays(native(program)(*state))
        else:
            yield arrays(evaluate(program, state))


def native_kernels(arm, name, largest):
    """Ways to compute a kernel, of graphs up to a size, as native code; and how many inputs."""
    for program in programs(arm, name):
        if len(program.nodes) <= largest:
            yield native(program), len(program.inputs)


def programs(arm, name):
    return [e.trace(name) for e in arm.equations(name, variant_of(name, arm.robot))]


def native(program):
    return compile_native(optimize(program), use_cache=False)


OPERATIONS = FUNCTIONS | {
    NEGATE: lambda a: -a,
    ADD: lambda a, b: a + b,
    SUBTRACT: lambda a, b: a - b,
    MULTIPLY: lambda a, b: a * b,
    RECIPROCAL: lambda a: 1.0 / a,
}


def evaluate(program, state, operations=OPERATIONS):
    """The outputs of a program, node by node: the shortest of all back ends, and a slow one."""
    inputs = {
        name: array.ravel().tolist() for name, array in zip(program.inputs, state, strict=True)
    }
    values = {}
    for node in program.nodes:
        if node.op == INPUT:
            name, i = node.value
            values[node.index] = inputs[name][i]
        elif node.op == CONSTANT:
            values[node.index] = node.value
        else:
            values[node.index] = operations[node.op](*[values[a.index] for a in node.args])
    return tuple(
        np.array([values[e.index] for e in output.entries]).reshape(output.shape)
        for output in program.outputs.values()
    )


# -- the oracles ------------------------------------------------------------------------------


def complex_step(name, tree, formulation, state):
    """Derivatives by q and qd of the efforts or accelerations, shape (n, n) each.

    They are imaginary parts of efforts at x + ih, for which no difference is taken. Those of
    accelerations follow from tau = f(q, qd, qdd(q, qd, tau)). Other kernels have none.
    """
    if not name.endswith("_derivatives"):
        return []
    efforts = equations_of("inverse", tree, formulation).function
    if name == "forward_derivatives":
        M = equations_of("mass_matrix", tree, formulation).function(state[0])
        qdd = equations_of("forward", tree, formulation).function(*state)
        state = (*state[:2], qdd)
    h, derivatives = 1e-30, []
    for k in (0, 1):
        columns = []
        for direction in np.eye(tree.dof):
            moved = [*state]
            moved[k] = displaced(tree, state[k], 1j * h * direction, k == 0)
            columns.append(np.imag(efforts(*moved)) / h)
        part = np.array(columns).T
        derivatives.append(part if name == "inverse_derivatives" else -np.linalg.solve(M, part))
    return derivatives


def displaced(tree, x, step, positions):
    """Positions or rates after a small step; rates and positions of ordinary joints add up."""
    if not positions or not free_joints(tree):
        return x + step
    made = x.astype(complex)
    for free in free_joints(tree):
        own = x[free.q]
        v, w = step[free.linear], step[free.angular]
        if free.floating:
            made[free.q][:3] += rotation_from_quaternion(own[3:]) @ v
            x_, y, z, s = own[3:]
            by_turn = [[s, -z, y], [z, s, -x_], [-y, x_, s], [-x_, -y, -z]]
            made[free.q][3:] += np.array(by_turn) @ w / 2.0
        else:
            (c, s), (v_x, v_y) = own[2:], v
            made[free.q] += [c * v_x - s * v_y, s * v_x + c * v_y, -s * w[0], c * w[0]]
    keep = np.ones(len(x), dtype=bool), np.ones(len(step), dtype=bool)
    for free in free_joints(tree):
        keep[0][free.q], keep[1][free.v] = False, False
    made[keep[0]] += step[keep[1]]
    return made


class ByPinocchio:
    """One check for every kernel, named like it: found, what it is about, and the state."""

    def __init__(self, model, arm):
        self.model = model
        self.arm = arm
        self.frame = arm.robot.links[-1].name

    def inverse(self, found, about, q, qd, qdd):
        assert_same(found, [self.model.inverse(q, qd, qdd)], about)

    def bias(self, found, about, q, qd):
        assert_same(found, [self.model.bias(q, qd)], about)

    def gravity(self, found, about, q):
        assert_same(found, [self.model.gravity(q)], about)

    def mass_matrix(self, found, about, q):
        assert_same(found, [self.model.mass_matrix(q)], about)

    def forward(self, found, about, q, qd, tau):
        b = self.model.bias(q, qd)
        terms = np.abs(tau) + np.abs(b)
        assert_solve(self.model.mass_matrix(q), found, [tau - b], [terms], about)

    forward_articulated = forward

    def inverse_derivatives(self, found, about, q, qd, qdd):
        assert_same(found, self.model.inverse_derivatives(q, qd, qdd), about)

    def forward_derivatives(self, found, about, q, qd, tau):
        # tau = f(q, qd, qdd(q, qd, tau)) differentiated by q, qd and tau
        M = self.model.mass_matrix(q)
        qdd = np.linalg.solve(M, tau - self.model.bias(q, qd))
        by_q, by_qd, _ = self.model.inverse_derivatives(q, qd, qdd)
        expected = [-by_q, -by_qd, np.eye(len(qd))]
        assert_solve(M, found, expected, [np.abs(part) for part in expected], about)

    def energy(self, found, about, q, qd):
        assert_same(found, self.model.energy(q, qd), about)

    def momentum(self, found, about, q, qd):
        assert_same(found, self.model.momentum(q, qd), about)

    def centre_of_mass(self, found, about, q):
        assert_same(found, self.model.centre_of_mass(q), about)

    def centroidal_matrix(self, found, about, q):
        A, centre = self.model.centroidal_matrix(q), self.model.centre_of_mass(q)[0]
        assert_same(found, [A, centre], about)

    def centroidal_momentum(self, found, about, q, qd):
        # Zero but for round-off where a joint turns a body about its centre: relative to rates then
        rates = [np.array(np.linalg.norm(qd))]
        expected = self.model.centroidal_matrix(q) @ qd
        assert_same([*found, *rates], [expected, *rates], about)

    def regressor(self, found, about, q, qd, qdd):
        values = np.array([parameter.value for parameter in self.arm.base_parameters])
        assert_same([found[0] @ values], [self.model.inverse(q, qd, qdd)], about)

    def pose(self, found, about, q):
        assert_same(found, self.model.frame_pose(q, self.frame), about)

    def jacobian(self, found, about, q):
        assert_same(found, [self.model.frame_jacobian(q, self.frame)], about)

    def jacobian_derivative(self, found, about, q, qd):
        # Zero but for round-off where a joint turns its own frame: relative to rates then
        rates = [np.array(np.linalg.norm(qd))]
        expected = self.model.frame_jacobian_derivative(q, qd, self.frame)
        assert_same([*found, *rates], [expected, *rates], about)

    def drift(self, found, about, q, qd):
        rates = [np.array(qd @ qd)]
        expected = self.model.frame_drift(q, qd, self.frame)
        assert_same([*found, *rates], [expected, *rates], about)
