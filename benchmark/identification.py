"""Identify real robots from their recordings, and write records/identification-results.md.

    ROBOT_DYNAMICS_RECORDINGS=/folder/of/recordings python -m benchmark.identification

`benchmark.real_recordings` says what is looked for in the folder. What it lacks is left out.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from benchmark.friction import regimes
from benchmark.identification_peers import predicted
from benchmark.identification_peers import table as beside_peers
from benchmark.real_recordings import VARIABLE, RecordedCase, cases, staubli
from benchmark.record import RECORDS, conditions
from robot_dynamics import Dynamics
from robot_dynamics.identification import Identification, identify, validate
from robot_dynamics.identification.effort_model import drive_matrix
from robot_dynamics.identification.friction_terms import successive_blocks
from robot_dynamics.identification.regimes import WAITING
from robot_dynamics.identification.validation import own_regimes
from robot_dynamics.recordings.signals import Signals, signals
from robot_dynamics.robot import Robot, find_robot

PAGE = RECORDS / "identification-results.md"
POSES = 10_000
AT_REST = 0.02
"""Speed below which a joint creeps or rests, rad/s."""

PREDICTING = {"figaroh": "FIGAROH 1.0", "mujoco": "mujoco.sysid 4.0"}
"""Peers that predict the last part."""

PEERS = (
    "Time of the whole of an identification after imports, on the same recording, by "
    "`python -m benchmark.identification_peers`. Each does what it does by default: ours chooses "
    "friction on held-out blocks and solves for consistent inertias; FIGAROH has weighted least "
    "squares of base parameters and friction; FloBaRoID a semidefinite programme that is held "
    "near the URDF, whose masses are far off here. It ended with an error in two runs of three; in "
    "the other one it took 13 s and left 15.9 %."
)


def plain(
    robot: Robot, fitted: Signals, held_out: Signals, drive: np.ndarray | None = None
) -> np.ndarray:
    """Return the efforts of plain least squares along another motion, shape (N, n).

    Base parameters, viscous and Coulomb friction and an offset by least squares, joints weighted by
    what a first fit leaves of them.

    Args:
        robot: Of the URDF.
        fitted: Samples of the fit.
        held_out: Samples of the other motion.
        drive: Movement of every drive, where friction sits, per movement of every joint.
    """
    arm, drive = Dynamics(robot), np.eye(robot.dof) if drive is None else drive
    X, weight = plain_columns(arm, fitted, drive), np.ones(robot.dof)
    for _ in range(2):
        rows = (X * weight[:, None]).reshape(-1, X.shape[-1])
        z = np.linalg.lstsq(rows, (fitted.tau * weight).ravel())[0]
        weight = 1.0 / np.std(fitted.tau - X @ z, axis=0)
    return np.asarray(plain_columns(arm, held_out, drive) @ z)


def plain_columns(arm: Dynamics, motion: Signals, drive: np.ndarray) -> np.ndarray:
    """Regressor of bodies and friction, shape (N, n, p + 3 n)."""
    Y, qd = arm.regressor(motion.q, motion.qd, motion.qdd), motion.qd @ drive.T
    friction = [v[:, None, :] * drive.T for v in (qd, np.sign(qd), np.ones_like(qd))]
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
    fitted, motion = signals(first, found.cutoff), signals(last, found.cutoff)
    without = percent(motion.tau - forgets.model.efforts(motion), motion.tau)
    source = find_robot("ur10" if case.name == "UR10" else "panda")
    others = {"plain least squares": plain(case.robot, fitted, motion)}
    notes = []
    for peer, title in PREDICTING.items():
        efforts = predicted(peer, source, case.robot, first, motion)
        if isinstance(efforts, str):
            notes.append(f"{title}: {efforts}.")
        else:
            others[title] = efforts
    free, model = (
        percent(motion.tau - one.efforts(motion), motion.tau) for one in (found.free, found.model)
    )
    raw = percent(last.tau - found.predict(last), last.tau)
    before = validate(case.robot, last, cutoff=found.cutoff).relative * 100.0
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
        *(row(name, percent(motion.tau - one, motion.tau)) for name, one in others.items()),
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
        *notes,
        *by_regime(
            motion,
            {
                "with memory": found.model.efforts(motion),
                "without": forgets.model.efforts(motion),
                **others,
            },
            joints,
        ),
    ]
    return lines


def by_regime(motion: Signals, predictions: dict[str, np.ndarray], joints: str) -> list[str]:
    """Return a table of residuals by regime, N m or N, rms, of efforts (N, n) by name."""
    n = motion.tau.shape[1]
    lines = [f"| residual, N m or N, rms | {joints} |", "| --- |" + " --- |" * n]
    for regime, rows in regimes(motion).items():
        for name, efforts in predictions.items():
            left = np.where(rows, motion.tau - efforts, np.nan)
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


def of_rows(motion: Signals, rows: np.ndarray) -> Signals:
    """Return states and efforts of some samples."""
    part = {name: getattr(motion, name)[rows] for name in ("time", "q", "qd", "qdd", "tau")}
    return replace(motion, **part)


def staubli_section(folder: Path) -> list[str]:
    """The TX40: its motion differs from end to end, so that blocks are left out in turn."""
    robot, recording, actuators = staubli(folder)
    found, forgets = (
        identify(robot, recording, actuators=actuators, physical=False, memory=memory)
        for memory in (True, False)
    )
    motion, drive = signals(recording, found.cutoff), drive_matrix(robot, actuators)
    regime = own_regimes(robot, motion)
    motion = of_rows(motion, np.flatnonzero((regime != WAITING).all(axis=1)))
    efforts = np.empty_like(motion.tau)
    for block in successive_blocks(motion.time):
        rest = np.setdiff1d(np.arange(len(efforts)), block)
        efforts[block] = plain(robot, of_rows(motion, rest), of_rows(motion, block), drive)
    joints = " | ".join(str(j + 1) for j in range(robot.dof))
    return [
        "## TX40",
        "",
        "9 s at 5 kHz, motor side, currents for efforts, the sixth motor coupled to the fifth "
        f"joint; filtered at {found.cutoff:.3g} Hz. Each sixth of the time is predicted by a fit "
        "of the rest; samples before and after the motion do not count:",
        "",
        f"| held-out blocks | {joints} | mean |",
        "| --- |" + " --- |" * (robot.dof + 1),
        row("plain least squares", percent(motion.tau - efforts, motion.tau)),
        row("least squares, chosen friction", 100.0 * found.report.relative),
        row("the same, friction without memory", 100.0 * forgets.report.relative),
        "",
        "Friction: " + ", ".join(shape.model for shape in found.model.shapes) + ".",
        "",
        *(f"- {warning.text}\n" for warning in found.report.quality_warnings),
    ]


def rest_section(case: RecordedCase, j: int) -> list[str]:
    """Return the section about a joint whose effort at rest the motion does not tell."""
    found = identify(case.robot, case.recording)
    motion = signals(case.recording, found.cutoff)
    efforts = np.empty_like(motion.tau)
    for block in successive_blocks(motion.time):
        others = np.setdiff1d(np.arange(len(efforts)), block)
        efforts[block] = plain(case.robot, of_rows(motion, others), of_rows(motion, block))
    slow = np.abs(motion.qd[:, j]) < AT_REST
    runs = np.split(np.arange(len(slow)), np.flatnonzero(np.diff(slow)) + 1)
    rests = [run for run in runs if slow[run[0]] and np.ptp(motion.time[run]) > 1.0]
    rest = np.concatenate(rests)
    tau, speed = motion.tau[rest, j], motion.qd[rest, j]
    left = np.sqrt(np.mean((tau - efforts[rest, j]) ** 2) / np.mean(tau**2))
    crept = 1e3 * max(np.ptp(motion.q[run, j]) for run in rests)
    joints = " | ".join(str(k + 1) for k in range(case.robot.dof))
    return [
        f"## {case.name}, joint {j + 1} at rest",
        "",
        f"Joint {j + 1} stays below {AT_REST} rad/s for more than a second at "
        f"{' and at '.join(f'{motion.time[run[0]]:.0f} s' for run in rests)}; the last 30 % of the "
        f"recording begin at {0.7 * case.recording.duration:.0f} s. Each sixth of the time "
        "predicted by a fit of the others, percent of the effort that stays unexplained:",
        "",
        f"| held-out sixths | {joints} | mean |",
        "| --- |" + " --- |" * (case.robot.dof + 1),
        row("plain least squares", percent(motion.tau - efforts, motion.tau)),
        row("physically consistent", 100.0 * found.report.relative),
        "",
        f"There plain least squares leave {100.0 * left:.0f} % of its effort, which changes "
        f"between {tau.min():.1f} and {tau.max():.1f} N m while the joint creeps over "
        f"{crept:.0f} mrad, and opposes the velocity in {100.0 * np.mean(tau * speed < 0.0):.0f} % "
        "of the samples: no friction by velocity or displacement does that. The drive pushes "
        "against static friction, which takes any value up to its limit.",
        "",
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
        f"Written by `python -m benchmark.identification` ({conditions()}). Each robot is "
        "identified from the first 70 % of its recording, and the last 30 % are predicted. Plain "
        "least squares have viscous and Coulomb friction and an offset, on the same filtered "
        "signals. FIGAROH has the same terms, weighted, with filters of its own, and keeps every "
        "tenth sample, which is few at 30 Hz. mujoco.sysid fits bodies within its "
        "default bounds, damping and friction loss to `mj_inverse`, stopped after 20 evaluations, "
        "at which it had not converged on the UR10: its figures are not its best. "
        "The last 30 % are in no fit, but had been looked at when the defaults of `identify` were "
        "chosen.",
        "",
    ]
    for case in cases(folder):
        lines += section(case)
    for case in cases(folder):
        if case.name == "UR10":
            lines += rest_section(case, 5)
    if (folder / "tx40").is_dir():
        lines += staubli_section(folder / "tx40")
    if (folder / "franka_1khz").is_dir():
        lines += ["## Beside peers", "", PEERS, "", *beside_peers(), ""]
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
