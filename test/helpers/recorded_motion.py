"""Recordings of simulated robots whose bodies and friction are known."""

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics import Dynamics
from robot_dynamics.control import Friction
from robot_dynamics.identification import Recording
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.spatial import Inertia


def heavier(robot, seed=1, error=0.4):
    """The robot with masses off by up to `error`, bodies of the same shape."""
    rng = np.random.default_rng(seed)
    links = tuple(
        replace(link, inertia=scaled(link.inertia, 1.0 + rng.uniform(-error, error)))
        for link in robot.links
    )
    return replace(robot, links=links)


def scaled(body, factor):
    return Inertia(
        float(body.mass) * factor, body.first_moment * factor, body.second_moment * factor
    )


def series(time, n, seed=0, harmonics=5, period=10.0, size=0.5):
    """Fourier series of n joints: q, qd, qdd, shape (N, n) each."""
    rng = np.random.default_rng(seed)
    w = 2 * np.pi / period * np.arange(1, harmonics + 1)
    a, b = rng.normal(size=(2, harmonics, n)) * size / np.sqrt(np.arange(1, harmonics + 1))[:, None]
    S, C = np.sin(np.outer(time, w)), np.cos(np.outer(time, w))
    return S @ a + C @ b, (C * w) @ a - (S * w) @ b, -(S * w**2) @ a - (C * w**2) @ b


@dataclass
class Simulated:
    """A URDF that is wrong, the robot that it stands for, and how that moves."""

    urdf: object
    true: object
    friction: Friction

    @staticmethod
    def of(name, friction=(0.8, 2.0), seed=1):
        urdf = read_urdf(find_robot(name))
        n = urdf.dof
        viscous, coulomb = (np.full(n, value) for value in friction)
        width = np.full(n, 0.02)
        return Simulated(urdf, heavier(urdf, seed), Friction(viscous, coulomb, width=width))

    def recording(self, seed=0, rate=250.0, duration=20.0, noise=0.02, jitter=0.0, velocities=True):
        rng = np.random.default_rng(100 + seed)
        time = np.arange(0.0, duration, 1.0 / rate)
        time = time + jitter / rate * rng.uniform(-0.5, 0.5, len(time))
        q, qd, qdd = series(time, self.urdf.dof, seed)
        tau = self.efforts(q, qd, qdd)
        size = np.abs(tau).max(axis=0)
        tau = tau + noise * size * rng.normal(size=tau.shape)
        return Recording(time, q, qd if velocities else None, tau, f"simulated_{seed}")

    def efforts(self, q, qd, qdd):
        rigid = Dynamics(self.true).inverse(q, qd, qdd)
        return rigid + self.friction.smooth(qd, tau=rigid)
