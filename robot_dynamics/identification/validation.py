"""Validation: prediction errors of every joint's effort by regime, and a verdict with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.control.friction import Friction
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.progress import Progress, quiet
from robot_dynamics.foundation.text_tables import TextTable
from robot_dynamics.identification.effort_bands import EffortBands, coverage
from robot_dynamics.identification.effort_model import EffortModel
from robot_dynamics.identification.friction_and_bodies import Fit
from robot_dynamics.identification.regimes import (
    AT_REST,
    MOVING,
    REGIMES,
    STANDING,
    WAITING,
    regimes,
    waits,
)
from robot_dynamics.recordings.data_quality import QualityWarning, checked_motion, still
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.signals import Signals, recordings_of, signals
from robot_dynamics.robot.joint_units import unit_of
from robot_dynamics.robot.robot import Robot

GOOD = 0.15
"""Largest relative residual of a good model."""

SMALL = 0.01
"""Residual over the effort limit that is negligible for control."""

USABLE = 0.5
"""Relative residual above which a model is worse than none."""

GOOD_ALL, GOOD_MOVING, GRAVITY, WORTHLESS = VERDICTS = (
    "good",
    "good in motion",
    "gravity only",
    "do not use",
)
"""Verdicts on a joint and on a robot, the best first."""

NARROW, WIDE = COVERED = (0.90, 0.98)
"""Least and largest share of the samples within a 95 % band that holds."""

EXTRAPOLATED = 1.1
"""Highest speed, relative to that of the training, beyond which a band is extrapolated."""

ALL = "all"
"""Name of all regimes together."""


@dataclass(frozen=True)
class Errors:
    """Prediction errors of one joint in one regime: of efforts below the cutoff, or as recorded.

    Args:
        relative: Residual over effort, both rms; infinite without an effort.
        rms: Residual, N m or N, rms.
        of_limit: The same over the effort limit; zero without a limit.
        within: Share of the samples within the 95 % band; NaN without bands.
    """

    relative: float
    rms: float
    of_limit: float
    within: float


@dataclass(frozen=True)
class RegimeFit:
    """Prediction errors of one joint in one regime.

    Args:
        regime: "moving", "reversing", "at rest", or "all".
        samples: Their number.
        filtered: Errors of efforts below the cutoff of the filter.
        recorded: Errors of efforts as recorded.
    """

    regime: str
    samples: int
    filtered: Errors
    recorded: Errors


@dataclass(frozen=True)
class JointFit:
    """Prediction errors of the effort of one joint.

    Args:
        joint: Its name.
        regimes: Errors in the regimes that the recording has, and in all of them.
        bias: Mean residual, N m or N.
        correlation: Of predicted and measured effort.
        verdict: One of `VERDICTS`: "good" by all regimes, others by the first of them.
    """

    joint: str
    regimes: tuple[RegimeFit, ...]
    bias: float
    correlation: float
    verdict: str

    def of(self, regime: str) -> RegimeFit | None:
        """Return the errors of a regime, if the recording has it."""
        return next((one for one in self.regimes if one.regime == regime), None)

    @property
    def within(self) -> tuple[float, float]:
        """Shares of all samples within the 95 % bands, below the cutoff and as recorded."""
        return self.regimes[-1].filtered.within, self.regimes[-1].recorded.within

    @property
    def narrow(self) -> bool:
        """True if a band holds less than it should."""
        return min(self.within) < NARROW

    @property
    def wide(self) -> bool:
        """True if a band holds more than it should, and none less."""
        return max(self.within) > WIDE and not self.narrow

    @property
    def relative(self) -> float:
        """Residual over effort of all samples, both rms."""
        return self.regimes[-1].filtered.relative

    @property
    def rms(self) -> float:
        """Residual of all samples, N m or N, rms."""
        return self.regimes[-1].filtered.rms

    @property
    def moving(self) -> float:
        """Residual over effort while moving; infinite for a joint that never moves."""
        moving = self.of(REGIMES[MOVING])
        return np.inf if moving is None else moving.filtered.relative


@dataclass(frozen=True, eq=False)
class Report:
    """A verdict with its reasons.

    Args:
        robot: Name.
        fits: Of every joint.
        quality_warnings: Data-quality warnings about the recordings.
        verdict: One of `VERDICTS`.
        reasons: The largest error, reasons, and advice for the next recording.
        time: Shape (N,), s.
        measured: Filtered efforts, shape (N, n).
        predicted: Shape (N, n).
        held_out: Residuals on held-out samples, shape (N, n).
        width: Half-widths of the 95 % bands, shape (N, n), if there are any.
        regime: See `regimes`, shape (N, n).
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
    width: Array | None
    regime: Array
    cutoff: float

    @property
    def good(self) -> bool:
        """True if feedforward can rely on the model while the robot moves."""
        return self.verdict in (GOOD_ALL, GOOD_MOVING)

    @property
    def usable(self) -> bool:
        """True if the model is better than none."""
        return self.verdict != WORTHLESS

    @property
    def narrow(self) -> bool:
        """True if the 95 % bands of a joint hold less than they should."""
        return any(fit.narrow for fit in self.fits)

    @property
    def headline(self) -> str:
        """Verdict on the model and on its bands."""
        return self.verdict + ", with bands that are too narrow" * self.narrow

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
        return "\n".join([*self.sentences, str(self.table)])

    @property
    def sentences(self) -> list[str]:
        """The verdict, its reasons and warnings about the recordings."""
        lines = [f"{self.robot}: {self.headline}", *(f"  - {reason}" for reason in self.reasons)]
        return [*lines, *(f"  ? {warning.text}" for warning in self.quality_warnings)]

    @property
    def table(self) -> TextTable:
        """Table of errors, with a row of each joint and regime."""
        table = TextTable(None, self.headings[:2], self.headings[2:])
        for row in self.rows:
            table.add_row(*row)
        return table

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings of `rows`."""
        each = ("below cutoff", "N m or N", "of limit", "in band")
        as_recorded = ("as recorded", *each[1:])
        return ("joint", "regime", "samples", *each, *as_recorded, "verdict")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Cells of `table`."""
        return [
            (fit.joint, one.regime, str(one.samples), *_cells(one.filtered), *_cells(one.recorded),
             fit.verdict if one.regime == ALL else "")
            for fit in self.fits
            for one in fit.regimes
        ]  # fmt: skip


def _cells(errors: Errors) -> tuple[str, ...]:
    shares = (percent(x) + " %" * bool(np.isfinite(x)) for x in (errors.relative, errors.of_limit))
    relative, of_limit = shares
    within = f"{100 * errors.within:.0f} %" if np.isfinite(errors.within) else "-"
    return relative, f"{errors.rms:.4g}", of_limit, within


def validate(
    robot: Robot,
    recording: Recording | Sequence[Recording],
    *,
    friction: Friction | None = None,
    rotor_inertia: Array | None = None,
    cutoff: float | None = None,
    bands: EffortBands | None = None,
    progress: Progress = quiet,
) -> Report:
    """Judge a robot by recordings that it was not fitted on.

    Args:
        robot: The robot, identified or not.
        recording: One motion or several.
        friction: By default that of the URDF.
        rotor_inertia: As the joints feel it, shape (n,), kg m^2 or kg; by default none.
        cutoff: Of the low-pass, Hz; by default from the motion.
        bands: 95 % bands of the model, of which the report gives the coverage.
        progress: Called with the stage and the share of the work done.

    Returns:
        Errors by joint and regime, and a verdict.

    Raises:
        RecordingError: If the recording cannot be used.
    """
    progress("filtering", 0.0)
    motion, found = checked_motion(robot, recording, cutoff)
    progress("predicting efforts", 0.3)
    model = EffortModel.of(robot, friction or Friction.of(robot), rotor_inertia)
    predicted = model.efforts(motion)
    residual = motion.tau - predicted
    recorded = residual_as_recorded(model, recording, motion)
    progress("judging", 0.9)
    widths = None
    if bands is not None:
        parameter = bands.parameter_deviation(model, motion)
        widths = bands.widths(parameter, own_regimes(robot, motion), motion.qd)
    report = reported(robot, motion, residual, predicted, None, found, recorded, widths)
    beyond = () if bands is None else tuple(_extrapolated(robot, motion, bands))
    return replace(report, reasons=(*report.reasons, *beyond))


def predicted_efforts(model: EffortModel, recording: Recording, cutoff: float | None) -> Array:
    """Return efforts of a recorded motion by a model, at the recorded times, shape (N, n).

    The motion is filtered, friction is not: its steps are part of the effort.
    """
    motion = signals(recording, cutoff, thinned=False).unfiltered()
    efforts = model.efforts(motion)
    columns = [np.interp(recording.time, motion.time, column) for column in efforts.T]
    return np.column_stack(columns)


def residual_as_recorded(
    model: EffortModel,
    recording: Recording | Sequence[Recording],
    motion: Signals,
) -> Array:
    """Return recorded less predicted efforts at the samples of a motion, shape (N, n).

    Args:
        model: Efforts of the robot.
        recording: What the motion was filtered from.
        motion: Filtered samples.
    """
    parts, cutoff = [], motion.cutoff
    for one in recordings_of(recording):
        efforts, time = predicted_efforts(model, one, cutoff), signals(one, cutoff).time
        parts += [np.column_stack([np.interp(time, one.time, column) for column in efforts.T])]
    return np.asarray(motion.raw - np.concatenate(parts))


def own_regimes(robot: Robot, motion: Signals) -> Array:
    """Return the regimes of the joints of a robot; one that hardly moves is at rest.

    Samples before and after the motion are `WAITING`.
    """
    found = regimes(motion, least=still(robot))
    found[waits(motion, found != AT_REST)] = WAITING
    return found


def reported(
    robot: Robot,
    motion: Signals,
    held_out: Array,
    predicted: Array,
    fit: Fit | None,
    found: Sequence[QualityWarning],
    recorded: Array,
    widths: tuple[Array, Array] | None = None,
) -> Report:
    """Judge a model.

    Args:
        robot: Whose joints these are.
        motion: Filtered samples, N of n joints.
        held_out: Measured less predicted efforts on held-out samples, shape (N, n).
        predicted: Efforts of the model, shape (N, n).
        fit: The least squares, if any base parameters were identified.
        found: Data-quality warnings about the recordings.
        recorded: As `held_out`, of efforts as recorded.
        widths: Half-widths of the bands of both, shape (N, n) each.
    """
    regime = own_regimes(robot, motion)
    none = np.full_like(held_out, np.nan)
    low, high = (none, none) if widths is None else widths
    tau, raw, limit = motion.tau, motion.raw, robot.limits.effort
    fits = tuple(
        _fit(
            robot.joint_names[j],
            limit[j],
            regime[:, j],
            _Side(tau[:, j], held_out[:, j], low[:, j]),
            _Side(raw[:, j], recorded[:, j], high[:, j]),
        )
        for j in range(robot.dof)
    )
    verdict, reasons = _verdict(fits, found)
    reasons += _about_bands(fits)
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
        robot.name, fits, tuple(found), verdict, tuple(reasons), motion.time, motion.tau, predicted,
        held_out, None if widths is None else low, regime, motion.cutoff,
    )  # fmt: skip


class _Side(NamedTuple):
    """Efforts of a joint, residuals and half-widths of bands, shape (N,) each."""

    tau: Array
    residual: Array
    width: Array


def _fit(name: str, limit: float, regime: Array, filtered: _Side, recorded: _Side) -> JointFit:
    judged = regime != WAITING
    where = [(REGIMES[k], regime == k) for k in range(len(REGIMES))]
    found = tuple(
        RegimeFit(
            label,
            int(own.sum()),
            _errors(filtered, own, limit),
            _errors(recorded, own, limit),
        )
        for label, own in (*where, (ALL, judged))
        if own.any()
    )
    tau, residual = filtered.tau[judged], filtered.residual[judged]
    predicted = tau - residual
    scale = float(predicted.std() * tau.std())
    covariance = float(np.mean((predicted - predicted.mean()) * (tau - tau.mean())))
    first = found[0].filtered  # moving, if it does
    if scale <= 1e-12 * float(np.mean(tau**2)):
        verdict = WORTHLESS  # a constant effort is explained by any model with an offset
    elif found[0].regime == REGIMES[AT_REST] or not _is_good(first):
        verdict = GRAVITY if first.relative <= USABLE else WORTHLESS
    else:
        verdict = GOOD_ALL if all(_is_good(one.filtered) for one in found) else GOOD_MOVING
    return JointFit(
        name, found, float(residual.mean()), covariance / scale if scale > 0.0 else 0.0, verdict
    )


def _is_good(errors: Errors) -> bool:
    return errors.relative <= GOOD or 0.0 < errors.of_limit <= SMALL


def _errors(side: _Side, own: Array, limit: float) -> Errors:
    rms = _rms(side.residual[own])
    of_limit = rms / limit if 0.0 < limit < np.inf else 0.0
    within = np.nan if np.isnan(side.width).any() else coverage(side.residual, side.width, own)
    return Errors(_ratio(rms, _rms(side.tau[own])), rms, of_limit, within)


def percent(part: float) -> str:
    """Format a share as per cent for tables; a dash if it is not finite."""
    return f"{100 * part:.1f}" if np.isfinite(part) else "-"


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else np.inf


def _figures(one: RegimeFit) -> str:
    return f"{_figure(one.filtered)} {one.regime if one.regime != ALL else 'in all'}"


def _figure(errors: Errors) -> str:
    limit = f", {percent(errors.of_limit)} % of its limit" if errors.of_limit else ""
    return f"{percent(errors.relative)} % ({errors.rms:.3g} N m or N rms{limit})"


def _headline(fits: Sequence[JointFit]) -> str:
    """Return the worst figure of the table."""
    every = [
        (errors.relative, f"{_figure(errors)} of an effort stays unexplained: joint '{fit.joint}', "
         f"{one.regime}, {signals}, on samples that the fit did not see")
        for fit in fits
        for one in fit.regimes
        for errors, signals in ((one.filtered, "below the cutoff"), (one.recorded, "as recorded"))
        if np.isfinite(errors.relative)
    ]  # fmt: skip
    return "at most " + max(every)[1] if every else "no joint has an effort"


def _about_bands(fits: Sequence[JointFit]) -> Iterator[str]:
    """Return a line about the bands that are too narrow, and one about those that are too wide."""
    about = {
        "narrow": "record the training with the speeds, poses and stops of this motion, or raise "
        "the factor of thresholds that use them",
        "wide": "thresholds that use them are higher than they need be",
    }
    for kind, advice in about.items():
        shares = [
            f"{100 * share:.0f} % of joint '{fit.joint}'"
            for fit in fits
            if getattr(fit, kind)
            for share in [min(fit.within) if kind == "narrow" else max(fit.within)]
        ]
        if shares:
            yield f"the 95 % bands are too {kind}: they hold {', '.join(shares)}; {advice}"


def _extrapolated(robot: Robot, motion: Signals, bands: EffortBands) -> Iterator[str]:
    """Return a line on each joint that is faster than in the training of its band."""
    fastest = np.abs(motion.qd).max(axis=0, initial=0.0)
    for j, known in enumerate(bands.slow / STANDING):
        if fastest[j] > EXTRAPOLATED * known > 0.0:
            unit = unit_of(robot, j, "velocity")
            yield (
                f"joint '{robot.joint_names[j]}' moves with up to {fastest[j]:.3g} {unit}, in the "
                f"training with up to {known:.3g}: its band is extrapolated"
            )


def _verdict(fits: Sequence[JointFit], found: Sequence[QualityWarning]) -> tuple[str, list[str]]:
    reasons = [_headline(fits)]
    serious = [warning.text for warning in found if warning.serious]
    if serious:
        return WORTHLESS, [*serious, *reasons]
    verdict = max((fit.verdict for fit in fits), key=VERDICTS.index)
    for fit in sorted(fits, key=lambda fit: -VERDICTS.index(fit.verdict)):
        cause = next((warning.text for warning in found if warning.joint == fit.joint), "")
        because = f"; {cause}" if cause else ""
        first, where = fit.regimes[0], f"joint '{fit.joint}' is {fit.verdict}"
        if fit.verdict == WORTHLESS:
            where = f"{WORTHLESS} the model of joint '{fit.joint}'"
        if first.regime == REGIMES[AT_REST]:
            reasons.append(
                f"{where}: it does not move, so that nothing is known of its inertia and friction"
                + because
            )
        elif fit.verdict in (GRAVITY, WORTHLESS):
            reasons.append(f"{where}: {_figures(first)} stays unexplained{because}")
        elif fit.verdict == GOOD_MOVING:
            rest = [_figures(one) for one in fit.regimes[1:] if not _is_good(one.filtered)]
            reasons.append(f"{where}: {', '.join(rest)} stays unexplained")
        if first.filtered.relative > GOOD and fit.verdict in (GOOD_ALL, GOOD_MOVING):
            reasons.append(
                f"{where}, as {_figures(first)} is below {100 * SMALL:.0f} % of its effort limit"
            )
    if verdict == WORTHLESS:
        reasons.append("record these joints faster and further, with nothing touching the arm")
    if verdict == GRAVITY:
        reasons.append("record a longer motion that turns these joints back at several speeds")
    return verdict, reasons
