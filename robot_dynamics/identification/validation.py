"""Validation: prediction error of every joint's effort, and a verdict with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.friction import Friction
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.friction_and_bodies import Fit
from robot_dynamics.identification.regimes import moves
from robot_dynamics.identification.signals import Signals
from robot_dynamics.recordings.data_quality import QualityWarning, checked_motion, still
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.robot.robot import Robot

GOOD = 0.15
"""Largest relative residual of a good model."""

SMALL = 0.01
"""Residual over the effort limit that is negligible for control."""

USABLE = 0.5
"""Relative residual above which a model is worse than none."""


@dataclass(frozen=True)
class JointFit:
    """Prediction error of the effort of one joint.

    Args:
        joint: Its name.
        relative: Residual over effort, both rms.
        rms: Residual, N m or N, rms.
        bias: Its mean, N m or N.
        correlation: Of predicted and measured effort.
        moving: As `relative`, of the samples that friction at rest has no part in: it may be
            anything up to its limit, which no function of speed predicts. Infinite if it never
            moves.
        verdict: By `moving`: "good", "gravity only" or "do not use".
    """

    joint: str
    relative: float
    rms: float
    bias: float
    correlation: float
    moving: float
    verdict: str


@dataclass(frozen=True, eq=False)
class Report:
    """A verdict with its reasons.

    Args:
        robot: Name.
        fits: Of every joint.
        quality_warnings: Data-quality warnings about the recordings.
        verdict: "good", "usable for gravity only", or "do not use".
        reasons: Reasons, and advice for the next recording.
        time: Shape (N,), s.
        measured: Filtered efforts, shape (N, n).
        predicted: Shape (N, n).
        held_out: Residuals on held-out samples, shape (N, n).
        cutoff: Of the filter, Hz.
    """

    robot: str
    fits: tuple[JointFit, ...]
    quality_warnings: tuple[QualityWarning, ...]
    verdict: str
    reasons: tuple[str, ...]
    time: Array
    measured: Array
    predicted: Array
    held_out: Array
    cutoff: float

    @property
    def good(self) -> bool:
        """True if feedforward can rely on the model."""
        return self.verdict == "good"

    @property
    def usable(self) -> bool:
        """True if the model is better than none."""
        return self.verdict != "do not use"

    @property
    def relative(self) -> Array:
        """Residual over effort of every joint, rms, shape (n,)."""
        return np.array([fit.relative for fit in self.fits])

    @property
    def verdicts(self) -> dict[str, object]:
        """Return the content of the report without the curves."""
        kept = ("robot", "verdict", "reasons", "fits", "quality_warnings", "cutoff")
        return {name: getattr(self, name) for name in kept}

    def __str__(self) -> str:
        width = max(len(fit.joint) for fit in self.fits)
        lines = [f"{self.robot}: {self.verdict}", *(f"  - {reason}" for reason in self.reasons)]
        lines += [f"  ? {warning.text}" for warning in self.quality_warnings]
        lines.append(
            f"{'joint':{width}}  residual  moving  N m or N rms      bias  correlation  verdict"
        )
        lines += [
            f"{fit.joint:{width}}  {100 * fit.relative:6.1f} %  {percent(fit.moving):>4} %"
            f"  {fit.rms:12.4g}  {fit.bias:8.3g}  {fit.correlation:11.4f}  {fit.verdict}"
            for fit in self.fits
        ]
        return "\n".join(lines)


def validate(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    friction: Friction | None = None,
    rotor_inertia: Array | None = None,
    cutoff: float | None = None,
) -> Report:
    """Judge a robot by recordings that it was not fitted on.

    Args:
        robot: The robot, identified or not.
        recording: One motion or several.
        friction: By default that of the URDF.
        rotor_inertia: As the joints feel it, shape (n,), kg m^2 or kg; by default none.
        cutoff: Of the low-pass, Hz; by default from the motion.

    Raises:
        RecordingError: If the recording cannot be used.
    """
    motion, found = checked_motion(robot, recording, cutoff)
    model = EffortModel.of(robot, friction or Friction.of(robot), rotor_inertia)
    predicted = model.efforts(motion)
    return reported(robot, motion, motion.tau - predicted, predicted, None, found)


def reported(
    robot: Robot,
    motion: Signals,
    held_out: Array,
    predicted: Array,
    fit: Fit | None,
    found: Sequence[QualityWarning],
) -> Report:
    """Judge a model.

    Args:
        robot: Whose joints these are.
        motion: Filtered samples, N of n joints.
        held_out: Measured less predicted efforts on held-out samples, shape (N, n).
        predicted: Efforts of the model, shape (N, n).
        fit: The least squares, if any base parameters were identified.
        found: Data-quality warnings about the recordings.
    """
    tau, limit = motion.tau, robot.limits.effort
    moving = moves(motion) & (np.ptp(motion.q, axis=0) > still(robot))
    fits = tuple(
        _fit(robot.joint_names[j], tau[:, j], held_out[:, j], limit[j], moving[:, j])
        for j in range(robot.dof)
    )
    verdict, reasons = _verdict(fits, found)
    if fit is not None:
        lost = fit.inseparable
        count = int((~np.isfinite(fit.seen)).sum()) - len(lost)
        if count > 0:
            reasons.append(
                f"the motion does not show {count} of {len(fit.seen)} base parameters, which stay "
                "as the URDF has them; record a motion of `robot-dynamics excite`"
            )
        if lost:
            reasons.append(
                f"no motion of this arm tells {', '.join(lost)} from rotor inertia or friction of "
                "the same effect; only their sums are identified, which is all that efforts need"
            )
    return Report(
        robot.name, fits, tuple(found), verdict, tuple(reasons), motion.time, tau, predicted,
        held_out, motion.cutoff,
    )  # fmt: skip


def _fit(name: str, tau: Array, residual: Array, limit: float, seen: Array) -> JointFit:
    size = _rms(tau)
    predicted = tau - residual
    scale = float(predicted.std() * tau.std())
    covariance = float(np.mean((predicted - predicted.mean()) * (tau - tau.mean())))
    moving = _ratio(_rms(residual[seen]), _rms(tau[seen])) if seen.any() else np.inf
    if scale <= 1e-12 * size**2:
        verdict = "do not use"  # a constant effort is explained by any model with an offset
    elif not seen.any():
        verdict = "gravity only" if _ratio(_rms(residual), size) <= USABLE else "do not use"
    elif moving <= GOOD or _rms(residual[seen]) <= SMALL * limit < np.inf:
        verdict = "good"
    else:
        verdict = "gravity only" if moving <= USABLE else "do not use"
    return JointFit(
        name, _ratio(_rms(residual), size), _rms(residual), float(residual.mean()),
        covariance / scale if scale > 0.0 else 0.0, moving, verdict,
    )  # fmt: skip


def percent(part: float) -> str:
    """Format a share as per cent for tables; a dash if it is not finite."""
    return f"{100 * part:.1f}" if np.isfinite(part) else "-"


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else np.inf


def _verdict(fits: Sequence[JointFit], found: Sequence[QualityWarning]) -> tuple[str, list[str]]:
    serious = [warning.text for warning in found if warning.serious]
    if serious:
        return "do not use", serious
    bad = [fit for fit in fits if fit.verdict == "do not use"]
    half = [fit for fit in fits if fit.verdict == "gravity only"]
    reasons = []
    for fit in (*bad, *half):
        cause = next((warning.text for warning in found if warning.joint == fit.joint), "")
        left = (
            f"{100 * fit.moving:.0f} % of its effort stays unexplained while it moves"
            if np.isfinite(fit.moving)
            else "it does not move, so that nothing is known of its inertia and friction"
        )
        reasons.append(
            f"joint '{fit.joint}': {left} ({fit.rms:.3g} N m or N rms in all)"
            + (f"; {cause}" if cause else "")
        )
    if bad:
        reasons.append("record these joints faster and further, with nothing touching the arm")
        return "do not use", reasons
    if half:
        reasons.append("record a longer motion that turns these joints back at several speeds")
        return "usable for gravity only", reasons
    small = [fit for fit in fits if fit.moving > GOOD]
    worst = max(fits, key=lambda fit: fit.relative)
    reasons.append(
        f"at most {percent(worst.relative)} % of an effort stays unexplained (joint "
        f"'{worst.joint}'), on samples that the fit did not see"
    )
    reasons += [
        f"joint '{fit.joint}': {percent(fit.moving)} % of its effort stays unexplained while it "
        f"moves, but that is {fit.rms:.3g} N m or N rms, below {100 * SMALL:.0f} % of its limit"
        for fit in small
    ]
    return "good", reasons
