"""Identify real robots from their recordings, and write docs/identification-results.md.

    ROBOT_DYNAMICS_RECORDINGS=/folder/of/recordings python -m benchmark.identification

`benchmark.real_recordings` says what is looked for in the folder. What it lacks is left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import process_time

import numpy as np

from benchmark.friction import regimes
from benchmark.identification_peers import table as beside_peers
from benchmark.real_recordings import VARIABLE, RecordedCase, cases, staubli
from robot_dynamics import Dynamics
from robot_dynamics.identification import Identification, Recording, identify, validate
from robot_dynamics.identification.signals import Signals, signals
from robot_dynamics.robot import Robot

PAGE = Path(__file__).parents[1] / "docs" / "identification-results.md"
POSES = 10_000
PEERS = (
    "Time of the whole of an identification after imports, on the same recording, by "
    "`python -m benchmark.identification_peers`. Each does what it does by default: ours chooses "
    "friction on held-out blocks and solves for consistent inertias; FIGAROH has weighted least "
    "squares of base parameters and friction; FloBaRoID a semidefinite programme that is held "
    "near the URDF, whose masses are far off here."
)


def plain(robot: Robot, first: Recording, last: Recording, cutoff: float) -> np.ndarray:
    """Return the residual of plain least squares on the last part, percent by joint.

    Base parameters, viscous and Coulomb friction and an offset by least squares, joints weighted by
    what a first fit leaves of them.
    """
    arm = Dynamics(robot)
    fitted, held_out = signals(first, cutoff), signals(last, cutoff)
    X, weight = plain_columns(arm, fitted), np.ones(robot.dof)
    for _ in range(2):
        rows = (X * weight[:, None]).reshape(-1, X.shape[-1])
        z = np.linalg.lstsq(rows, (fitted.tau * weight).ravel())[0]
        weight = 1.0 / np.std(fitted.tau - X @ z, axis=0)
    return percent(held_out.tau - plain_columns(arm, held_out) @ z, held_out.tau)


def plain_columns(arm: Dynamics, motion: Signals) -> np.ndarray:
    """Regressor of bodies and friction, shape (N, n, p + 3 n)."""
    Y, own = arm.regressor(motion.q, motion.qd, motion.qdd), np.eye(arm.robot.dof)
    friction = [
        v[:, :, None] * own for v in (motion.qd, np.sign(motion.qd), np.ones_like(motion.qd))
    ]
    return np.concatenate([Y, *friction], axis=2)


def percent(residual: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Residual over effort by joint, rms, percent."""
    return 100.0 * np.sqrt(np.sum(residual**2, axis=0) / np.sum(tau**2, axis=0))


def row(label: str, values: np.ndarray) -> str:
    """A line of a table, with the mean last."""
    cells = " | ".join(f"{value:.1f}" for value in values)
    return f"| {label} | {cells} | {np.mean(values):.2f} |"


def section(case: RecordedCase) -> list[str]:
    """Return the section of the page about a case."""
    middle = 0.7 * case.recording.duration
    first, last = case.recording.between(0.0, middle), case.recording.between(middle, np.inf)
    identify(case.robot, first, cutoff=case.cutoff)  # compiles, imports
    begin = process_time()
    found = identify(case.robot, first, cutoff=case.cutoff)
    took = process_time() - begin
    forgets = identify(case.robot, first, cutoff=case.cutoff, memory=False)
    motion = signals(last, found.cutoff)
    without = percent(motion.tau - forgets.model.efforts(motion), motion.tau)
    free, model = (
        percent(motion.tau - one.efforts(motion), motion.tau) for one in (found.free, found.model)
    )
    raw = percent(last.tau - found.predict(last), last.tau)
    before = validate(case.robot, last, cutoff=found.cutoff).relative * 100.0
    fitted = signals(first, found.cutoff)
    left = np.linalg.norm(fitted.tau - found.free.efforts(fitted))
    overall = 100.0 * left / np.linalg.norm(fitted.tau)
    joints = " | ".join(str(j + 1) for j in range(case.robot.dof))
    lines = [
        f"## {case.name}",
        "",
        f"{case.recording.duration:.1f} s at {case.recording.rate:.0f} Hz, filtered at "
        f"{found.cutoff:.3g} Hz; identified in {took:.1f} s of one core. Percent of the effort "
        "that stays unexplained, by joint:",
        "",
        f"| last 30 % | {joints} | mean |",
        "| --- |" + " --- |" * (case.robot.dof + 1),
        row("URDF", before),
        row("plain least squares", plain(case.robot, first, last, found.cutoff)),
        row("least squares, chosen friction", free),
        row("physically consistent", model),
        row("the same, friction without memory", without),
        row("the same, efforts as recorded", raw),
        "",
        f"On the first 70 % least squares leave {overall:.2f} % of all efforts together. "
        f"Physically consistent inertias cost {model.mean() - free.mean():+.2f} points. "
        f"{definite(found)}",
        "",
        "Friction: " + ", ".join(shape.model for shape in found.model.shapes) + ".",
        "",
        *by_regime(motion, {"with memory": found, "without": forgets}, joints),
    ]
    return lines


def by_regime(motion: Signals, fits: dict[str, Identification], joints: str) -> list[str]:
    """Return a table of residuals by regime, N m or N, rms."""
    n = motion.tau.shape[1]
    lines = [f"| residual, N m or N, rms | {joints} |", "| --- |" + " --- |" * n]
    for regime, rows in regimes(motion).items():
        for name, found in fits.items():
            left = np.where(rows, motion.tau - found.model.efforts(motion), np.nan)
            sizes = [
                f"{np.sqrt(np.nanmean(left[:, j] ** 2)):.3g}" if rows[:, j].any() else "-"
                for j in range(n)
            ]
            lines.append(f"| {regime}, {name} | {' | '.join(sizes)} |")
    return [*lines, ""]


def definite(found: Identification) -> str:
    """Return whether the mass matrix is positive definite at all tested poses."""
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (POSES, found.robot.dof))
    least = np.linalg.eigvalsh(Dynamics(found.robot).mass_matrix(q)).min()
    return f"Least eigenvalue of the mass matrix at {POSES} random poses: {least:.3g}."


def staubli_section(folder: Path) -> list[str]:
    """The TX40: its motion differs from end to end, so that blocks are left out in turn."""
    robot, recording, actuators = staubli(folder)
    found, forgets = (
        identify(robot, recording, actuators=actuators, physical=False, memory=memory)
        for memory in (True, False)
    )
    joints = " | ".join(str(j + 1) for j in range(robot.dof))
    return [
        "## TX40",
        "",
        "9 s at 5 kHz, motor side, currents for efforts, the sixth motor coupled to the fifth "
        f"joint; filtered at {found.cutoff:.3g} Hz. Each sixth of the time is predicted by a fit "
        "of the rest:",
        "",
        f"| held-out blocks | {joints} | mean |",
        "| --- |" + " --- |" * (robot.dof + 1),
        row("least squares, chosen friction", 100.0 * found.report.relative),
        row("the same, friction without memory", 100.0 * forgets.report.relative),
        "",
        "Friction: " + ", ".join(shape.model for shape in found.model.shapes) + ".",
        "",
        *(f"- {warning.text}\n" for warning in found.report.quality_warnings),
    ]


def main() -> int:
    """Write the page."""
    if VARIABLE not in os.environ:
        print(f"{VARIABLE} names no folder of recordings", file=sys.stderr)
        return 1
    folder = Path(os.environ[VARIABLE])
    lines = [
        "# Identification of real robots",
        "",
        "Written by `python -m benchmark.identification`. Each robot is identified from the first "
        "70 % of its recording, and the last 30 % are predicted. Plain least squares have viscous "
        "and Coulomb friction and an offset, on the same filtered signals. The last 30 % are in no "
        "fit, but had been looked at when the defaults of `identify` were chosen.",
        "",
    ]
    for case in cases(folder):
        lines += section(case)
    if (folder / "tx40").is_dir():
        lines += staubli_section(folder / "tx40")
    if (folder / "franka_1khz").is_dir():
        lines += ["## Beside peers", "", PEERS, "", *beside_peers(), ""]
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
