"""Draw how much feedback a sampled, late loop bears, into docs/figures/gains.png.

Run it as `python docs/make_gains_figure.py`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")  # no display needed

import matplotlib.pyplot as plt

from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.stability import GAIN_MARGIN, stability_limit

PAGE = Path(__file__).parent / "figures" / "gains.png"


def error_grows(mu: float, r: float, sampling: Sampling, step: float = 5e-4) -> bool:
    """Return whether e'' = -mu (r e + e'), marched sample by sample, is larger at its end."""
    every, late = round(sampling.period / step), round(sampling.delay / step)
    e, v, u, sizes, pending = 1.0, 0.0, 0.0, [], []
    for k in range(8000):
        if k % every == 0:
            pending.append((k + late, -mu * (r * e + v)))
        while pending and pending[0][0] <= k:
            u = pending.pop(0)[1]
        e, v = e + step * v + step**2 / 2.0 * u, v + step * u
        sizes.append(abs(e) + abs(v) / mu)
    return max(sizes[-2600:]) > max(sizes[2600:5200])


def draw() -> None:
    """Draw the stability limit and the part in use, over the rate of states, for several delays."""
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    r = 10.0  # 1/s: kp/kd of 20 rad/s, critically damped
    rates = np.geomspace(50.0, 1000.0, 40)
    for way, colour in ((0.0, "C0"), (10e-3, "C1"), (20e-3, "C3")):
        loops = [Sampling.of(1.0 / rate, way) for rate in rates]
        limit = np.array([stability_limit(r, *loop) for loop in loops])
        axes.loglog(rates, limit, colour, label=f"stability limit, states {1e3 * way:.0f} ms old")
        axes.loglog(rates, limit / GAIN_MARGIN, f"{colour}", linestyle="--")
        for rate in (50.0, 100.0, 250.0, 500.0):
            loop = Sampling.of(1.0 / rate, way)
            mu = np.geomspace(0.5, 2.0, 13) * stability_limit(r, *loop)
            for value in mu:
                mark = "x" if error_grows(value, r, loop) else "."
                axes.plot(rate, value, colour + mark, markersize=4)
    for mu, text in (
        (40.0, "20 rad/s,\nby the\nmass matrix"),
        (300.0, "default gains\nof a UR5,\nfastest mode"),
    ):
        axes.axhline(mu, color="0.5", linewidth=1.0)
        axes.text(1080.0, mu, text, color="0.4", fontsize=9, va="center")  # beside the axes
    axes.set(xlim=(45.0, 1050.0), xlabel="rate of joint_states, Hz", ylabel="$\\mu$, 1/s")
    axes.legend(fontsize=8)
    PAGE.parent.mkdir(exist_ok=True)
    figure.savefig(PAGE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    draw()
