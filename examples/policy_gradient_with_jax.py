"""Gradient of a policy with JAX: a controller learns gravity and gains through the dynamics.

Many planar arms move to random targets side by side. The loss is differentiated through every
step, and each step is a compiled kernel with its own derivatives.
"""

import jax
import jax.numpy as jnp

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

jax.config.update("jax_enable_x64", True)
forward = Dynamics(read_urdf(find_robot("planar_2r"))).as_jax("forward")
h, steps, arms = 0.01, 100, 64  # s


def loss(weights, q, target):
    def step(state, _):
        q, qd = state
        angles = jnp.concatenate([q, q.sum(-1, keepdims=True)], axis=-1)
        gravity = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1) @ weights["gravity"]
        tau = jnp.exp(weights["kp"]) * (target - q) - jnp.exp(weights["kd"]) * qd + gravity
        qd = qd + h * forward(q, qd, tau)
        return (q + h * qd, qd), ((q - target) ** 2).mean()

    return jax.lax.scan(step, (q, jnp.zeros_like(q)), None, length=steps)[1][steps // 2 :].mean()


q, target = jax.random.uniform(jax.random.key(0), (2, arms, 2), minval=-1.0, maxval=1.0)
weights = {"kp": jnp.full(2, 4.0), "kd": jnp.full(2, 2.5), "gravity": jnp.zeros((6, 2))}
rates = {"kp": 0.03, "kd": 0.03, "gravity": 2.0}
improve, losses, size = jax.jit(jax.value_and_grad(loss)), [], jax.tree.map(jnp.zeros_like, weights)
for _ in range(60):  # RMSprop
    value, slope = improve(weights, q, target)
    losses.append(float(value))
    size = jax.tree.map(lambda s, g: 0.9 * s + 0.1 * g**2, size, slope)
    change = jax.tree.map(lambda r, s, g: r * g / (jnp.sqrt(s) + 1e-9), rates, size, slope)
    weights = jax.tree.map(jnp.subtract, weights, change)
print("RMS error:", *(f"{1000 * x**0.5:.0f}" for x in losses[::10] + losses[-1:]), "mrad")
