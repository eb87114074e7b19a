"""Friction that the estimator does not know: identification and tracking of simulated robots.

    python -m benchmark.friction [--robots 30] [--tracked 3]

Writes records/friction-in-simulation.md. The friction of a robot is that of LuGre, integrated as
[CanudasDeWit1995] has it; of eight stops of random slip distances; or of Stribeck without memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np

from benchmark.record import RECORDS, conditions
from robot_dynamics import Dynamics
from robot_dynamics.control import Friction, Gains, Model
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.identification import Identification, Recording, identify
from robot_dynamics.identification.link_inertias import LinkInertias
from robot_dynamics.identification.regimes import moves
from robot_dynamics.recordings.signals import Signals, signals
from robot_dynamics.robot import Robot, find_robot, read_urdf
from robot_dynamics.simulation import perturbed
from robot_dynamics.simulation.closed_loop import LawController, simulate
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.trajectory import Trajectory, Waypoints, interpolate

PAGE = RECORDS / "friction-in-simulation.md"
ROBOTS = (
    "ur3", "ur5", "ur10", "kinova", "panda", "xarm",
    "z1", "so100", "so101", "iris", "planar_2r", "double_pendulum",
    "TwoDofs", "borinot", "double_pendulum_simple", "finger_edu", "hextilt", "bolt",
    "quadruped", "solo", "tiago_no_hand", "a1", "anymal_b", "anymal_c",
    "b1", "go1", "go2", "hyq", "laikago", "solo12",
)  # fmt: skip
KINDS = ("LuGre", "Maxwell slip", "Stribeck")
RATE = 500.0
NOISE = 0.01
"""Noise of the efforts, over their rms."""
ENCODER = 1e-4
"""Step of the encoders, rad or m."""
MASS_ERROR = 0.3
RUBS = 0.15
"""Coulomb friction over the rms effort of the motion."""
REVERSES_S = 0.2
"""Time about a reversal that counts as reversing, s."""
FEWEST = 8
"""Samples of a regime from which a residual is judged."""
REGIMES = ("moving", "reversing", "at rest")


def point_to_point(robot: Robot, seed: int, duration: float) -> Trajectory:
    """Return moves of all joints at several speeds, with rests between them."""
    rng = np.random.default_rng(seed)
    lower, upper = np.clip([robot.limits.lower, robot.limits.upper], -1.5, 1.5)
    middle, half = (lower + upper) / 2.0, 0.4 * np.abs(upper - lower)
    times, poses = [0.0], [middle]
    while times[-1] < duration:
        pose = middle + half * rng.uniform(-1.0, 1.0, robot.dof)
        move = rng.uniform(0.6, 2.0)
        times += [times[-1] + move, times[-1] + move + rng.choice([0.0, 0.5, 1.5])]
        poses += [pose, pose]
        if times[-1] == times[-2]:
            times.pop(), poses.pop()
    rest = np.zeros((len(poses), robot.dof))
    points = Waypoints(robot.joint_names, np.array(times), np.array(poses), rest, rest)
    return interpolate(points)


def hidden_friction(kind: str, coulomb: np.ndarray, seed: int) -> Callable[..., np.ndarray]:
    """Return the friction of a path (M, n) of positions and velocities at steps of dt."""
    rng, n = np.random.default_rng(seed), len(coulomb)
    viscous, excess = coulomb * rng.uniform(0.2, 0.8, n), rng.uniform(0.1, 0.4, n)
    stribeck = rng.uniform(0.05, 0.2, n)
    slips = 10.0 ** rng.uniform(-3.5, -2.3, (8, n))
    weights = rng.dirichlet(np.ones(8), n).T

    def friction(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        fall = np.exp(-((qd / stribeck) ** 2))
        if kind == "Stribeck":
            return viscous * qd + coulomb * (1.0 + excess * fall) * np.tanh(qd / 2e-3)
        z, out = np.zeros_like(slips), np.empty_like(q)
        displacement = np.diff(q, axis=0, prepend=q[:1])
        for i, x in enumerate(displacement):
            if kind == "LuGre":  # z over its slip distance; exact where g is constant
                g, sign = 1.0 + excess * fall[i], np.sign(x)
                z[0] = sign * g + (z[0] - sign * g) * np.exp(-np.abs(x) / (slips[0] * g))
                out[i] = z[0]
            else:
                z = np.clip(z + x / slips, -1.0, 1.0)
                out[i] = (weights * z).sum(axis=0)
        return viscous * qd + coulomb * out

    return friction


def recorded(
    true: Robot, motion: Trajectory, friction: Callable[..., np.ndarray], seed: int
) -> tuple[Recording, Recording]:
    """Return a recording as sensors have it, and the true one."""
    rng = np.random.default_rng(seed)
    fine = np.arange(0.0, motion.end, 0.5 / RATE)
    state = motion.sample(fine)
    tau = Dynamics(true).inverse(*state) + friction(state.q, state.qd)
    time, late = fine[::2], rng.uniform(1e-3, 5e-3)
    noise = NOISE * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=(len(time), true.dof))
    delayed = np.column_stack([np.interp(time - late, fine, one) for one in tau.T])
    q = ENCODER * np.round(state.q[::2] / ENCODER)
    seen = Recording(time, q, None, delayed + noise, "simulated")
    return seen, Recording(time, state.q[::2], state.qd[::2], tau[::2], "true")


def regimes(motion: Signals) -> dict[str, np.ndarray]:
    """Return which samples of each joint belong to a regime, shape (N, n)."""
    stands = ~moves(motion)
    step = float(np.median(np.diff(motion.time)))
    near = max(1, round(REVERSES_S / step))
    turns = np.zeros_like(stands)
    changes = np.diff(np.sign(motion.qd), axis=0) != 0
    for k, j in zip(*np.nonzero(changes), strict=True):
        turns[max(0, k - near) : k + near, j] = True
    turns &= ~stands
    return {"moving": ~stands & ~turns, "reversing": turns, "at rest": stands}


@dataclass
class Result:
    """Residual over noise by regime, deviations of the base parameters, and models by joint."""

    robot: str
    kind: str
    ratio: dict[str, float]
    deviations: np.ndarray
    models: list[str]


def measured(name: str, kind: str, seed: int) -> Result:
    """Identify a robot from one motion, and predict another."""
    robot = read_urdf(find_robot(name))
    true = perturbed(robot, MASS_ERROR, seed)
    first, other = point_to_point(robot, seed, 40.0), point_to_point(robot, seed + 1000, 15.0)
    sample = first.sample(np.arange(0.0, first.end, 0.01))
    size = np.sqrt(np.mean(Dynamics(true).inverse(*sample) ** 2, axis=0))
    friction = hidden_friction(kind, RUBS * size, seed)
    found = identify(robot, recorded(true, first, friction, seed)[0])
    seen, truth = recorded(true, other, friction, seed + 1)
    motion, exact = signals(seen, found.cutoff), signals(truth, found.cutoff)
    left, noise = motion.tau - found.model.efforts(motion), motion.tau - exact.tau
    ratio = {}
    for regime, rows in regimes(motion).items():
        parts = [
            np.sqrt(np.mean(left[rows[:, j], j] ** 2) / np.mean(noise[rows[:, j], j] ** 2))
            for j in range(robot.dof)
            if rows[:, j].sum() > FEWEST
        ]
        ratio[regime] = float(np.median(parts)) if parts else np.nan
    links = LinkInertias.of(robot)
    values = links.K @ replace(links, robot=true).parameters
    off = [
        (one.value - value) / one.deviation
        for one, value in zip(found.parameters, values, strict=True)
        if np.isfinite(one.deviation)
    ]
    models = [shape.model for shape in found.model.shapes]
    return Result(name, kind, ratio, np.array(off), models)


def tracked(name: str, kind: str, seed: int) -> tuple[dict[str, float], Identification]:
    """Return the error with memory over that of today's model, worst joint, by regime."""
    robot = read_urdf(find_robot(name))
    first, other = point_to_point(robot, seed, 40.0), point_to_point(robot, seed + 1000, 12.0)
    arm = Dynamics(robot)
    sample = first.sample(np.arange(0.0, first.end, 0.01))
    coulomb = RUBS * np.sqrt(np.mean(arm.inverse(*sample) ** 2, axis=0))
    n = robot.dof
    elastic, slip_ratio = (0.3, 1.0) if kind == "LuGre" else (1.0, 3.0)
    hidden = Friction(
        0.5 * coulomb, coulomb, stiction=0.2 * coulomb, stribeck=np.full(n, 0.1),
        memory=np.ones(n), slip=np.full(n, 1e-3), slip_ratio=np.full(n, slip_ratio),
        elastic=np.full(n, elastic),
    )  # fmt: skip

    def path(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        model = Model(arm, Gains(np.zeros(n), np.zeros(n)), hidden)
        assert model.memory is not None
        out = []
        for position, velocity in zip(q, qd, strict=True):
            model.memory.follow(position)
            out.append(hidden.smooth(velocity, 1e-3, presliding=model.memory.direction))
        return np.array(out)

    found = identify(robot, recorded(robot, first, path, seed)[0])
    static = replace(found.friction, memory=np.zeros(n))
    errors = []
    for friction in (static, found.friction):
        law = LawController(
            Model(Dynamics(found.robot), ideal_gains(arm), friction), "feedforward", period=1e-3
        )
        log = simulate(Plant(robot, friction=hidden, dynamics=arm), law, other)
        errors.append((log, log.error))
    log = errors[0][0]
    speed = np.abs(log.qd_d)
    stands = speed < 1e-6
    after = np.zeros_like(stands)
    for k, j in zip(*np.nonzero(stands[:-1] & ~stands[1:]), strict=True):
        after[k : k + 200, j] = True
    turns = np.zeros_like(stands)
    for k, j in zip(*np.nonzero(np.diff(np.sign(log.qd_d), axis=0) != 0), strict=True):
        turns[max(0, k - 100) : k + 100, j] = True
    rows = {"after rest": after, "reversing": turns & ~after, "at rest": stands}
    return {
        key: float(
            np.max([
                np.sqrt(np.mean(errors[1][1][at[:, j], j] ** 2)
                        / np.mean(errors[0][1][at[:, j], j] ** 2))
                for j in range(n)
                if at[:, j].any()
            ])
        )
        for key, at in rows.items()
    }, found  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--robots", type=int, default=len(ROBOTS))
    parser.add_argument("--tracked", type=int, default=3)
    given = parser.parse_args(arguments)
    results: list[Result] = []
    failed = []
    for seed, (name, kind) in enumerate(zip(ROBOTS[: given.robots], cycle(KINDS))):
        try:
            results.append(measured(name, kind, seed))
        except RobotDynamicsError as error:
            failed.append(f"{name} ({error})")
            continue
        print(results[-1], flush=True)
    lines = [
        "# Friction in simulation",
        "",
        f"Written by `python -m benchmark.friction` ({conditions()}). Friction of {len(results)} "
        "robots is that of LuGre, of eight stops of random slip distances, or of Stribeck; the "
        f"estimator knows none of them. Positions have steps of {1e3 * ENCODER:g} mrad, efforts "
        f"{100 * NOISE:g} % of noise and come 1 to 5 ms late. Moves of 0.6 to 2 s "
        "alternate with rests.",
        "",
        "Residual over noise: rms of recorded less predicted efforts of another motion, over "
        "rms of recorded less true efforts, median of the joints.",
        "",
        "| robot | friction | " + " | ".join(REGIMES) + " | within 2 deviations | models |",
        "| --- |" + " --- |" * 6,
    ]
    for one in results:
        share = 100.0 * np.mean(np.abs(one.deviations) < 2.0) if len(one.deviations) else np.nan
        cells = " | ".join(f"{one.ratio[regime]:.2f}" for regime in REGIMES)
        models = ", ".join(f"{one.models.count(m)} {m}" for m in dict.fromkeys(one.models))
        lines.append(f"| {one.robot} | {one.kind} | {cells} | {share:.0f} % | {models} |")
    every = np.concatenate([one.deviations for one in results])
    lines += [
        "",
        f"Of {len(every)} base parameters {100 * np.mean(np.abs(every) < 2.0):.0f} % are within "
        "two of their standard deviations (normal errors: 95 %).",
        "",
        *([f"Not measured: {'; '.join(failed)}.", ""] if failed else []),
        "## Tracking",
        "",
        "Position error of feedforward with the identified model over that with the same friction "
        "without memory, worst joint; the friction of the plant has memory.",
        "",
        "| robot | friction | after rest | reversing | at rest |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in ROBOTS[1 : 1 + given.tracked]:
        for kind in KINDS[:2]:
            ratio, _ = tracked(name, kind, 1)
            cells = " | ".join(
                f"{ratio[key]:.2f}" for key in ("after rest", "reversing", "at rest")
            )
            lines.append(f"| {name} | {kind} | {cells} |")
            print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
