"""Kernels as functions of an array library: which, with which arguments, and their derivatives."""

from importlib.util import find_spec

import numpy as np

from robot_dynamics.dynamics.kernels import KERNELS, OF_FRAMES
from robot_dynamics.dynamics.variant import MOTION_ONLY, Variant
from robot_dynamics.formulations import inverse_dynamics

ROUND_OFF = 1e-11  # float64 on both sides, other orders of sums, entries up to 100
STEP = 1e-30  # of the complex step: far below round-off
RNG = np.random.default_rng(5)

EVERY = [
    *((name, Variant(frame="endpoint" if name in OF_FRAMES else None)) for name in KERNELS),
    ("inverse", Variant(wrench_at="endpoint", payload_at="endpoint", gravity=True)),
    ("forward", Variant(friction=True)),
]
SHORT = [("inverse", MOTION_ONLY), ("energy", MOTION_ONLY), ("pose", Variant(frame="endpoint"))]


def installed(*libraries):
    """Return those that are installed: what is true of several is tested with each of them."""
    return [name for name in libraries if find_spec(name)]


def states(kernel, *leading):
    """Arguments of a kernel; loads stay small beside the masses, so that M can be inverted."""
    return [RNG.uniform(0.1, 0.5, (*leading, *shape)) for shape in kernel.inputs.values()]


def listed(results):
    return list(results) if isinstance(results, tuple) else [results]


def by_complex_step(arm, q, qd, qdd):
    """Derivatives of the efforts with respect to q, qd and qdd; by an uncompiled formulation."""
    motion, columns = np.concatenate([q, qd, qdd]), []
    for k in range(len(motion)):
        moved = motion.astype(complex)
        moved[k] += 1j * STEP
        tau = inverse_dynamics(arm.robot, *np.split(moved, 3), formulation="newton_euler")
        columns.append(tau.imag / STEP)
    return np.split(np.array(columns).T, 3, axis=1)
