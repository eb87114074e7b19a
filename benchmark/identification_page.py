"""The page on robots that were identified through the nodes."""

from __future__ import annotations

import numpy as np

from benchmark.identified_robot import DEVIATIONS, RobotResult
from benchmark.record import conditions
from examples.identify_and_follow import MASS_ERROR, RUBBING

EXPECTED = 0.0027
"""Part of estimates with normal errors that are off by more than `DEVIATIONS`."""


def page(found: list[RobotResult], left: list[str], duration: float, rate: float) -> str:
    """The page: a table, what it comes to, and the robots that were not measured."""
    all_of_them = sum(len(one.deviations) for one in found)
    beyond = sum(one.beyond for one in found)
    spread = float(np.sqrt(np.mean(np.concatenate([one.deviations for one in found]) ** 2)))
    unfit = [one for one in found if one.verdict == "do not use"]
    noisy = [one.robot for one in found if max(one.noise) > np.sqrt(2.0)]
    lines = [
        "# Identification of simulated robots",
        "",
        f"Written by `python -m benchmark.identification_through_nodes` ({conditions()}). Masses "
        f"differ by up to {100 * MASS_ERROR:.0f} % from the URDF; joints rub by "
        f"{100 * RUBBING:.0f} % of their largest effort, once by Coulomb and once by viscous "
        "friction, beyond what the URDF knows; `joint_states` have noise, steps of "
        f"encoders and stamps that are late. The nodes follow an excitation of {duration:g} s at "
        f"{rate:g} Hz and then another motion, recorder_node writes, `identify` reads the first.",
        "",
        f"Of {all_of_them} base parameters of {len(found)} robots {beyond} are off by more than "
        f"{DEVIATIONS:g} of their standard deviations ({100 * beyond / all_of_them:.2f} %; normal "
        f"errors would leave {100 * EXPECTED:.2f} %, {EXPECTED * all_of_them:.1f} of them). "
        + (
            f"{sum(one.beyond for one in unfit)} of these are of "
            f"{', '.join(one.robot for one in unfit)}, of whose recording the report says: do not "
            "use. "
            if unfit
            else ""
        )
        + f"All errors together are {spread:.2f} deviations rms: 1 if these are exact, less if "
        "they are too large. "
        + (
            "On the other motion the model is off by less than the noise in every joint"
            + (f", but for {', '.join(noisy)}." if noisy else ".")
        ),
        "",
        "| robot | joints | samples a second | base parameters | not shown | largest error, "
        f"deviations | beyond {DEVIATIONS:g} | residual over noise, worst joint | URDF read again "
        "| verdict |",
        "| --- |" + " --- |" * 9,
    ]
    for one in found:
        largest = max(one.deviations, default=0.0)
        lines.append(
            f"| {one.robot} | {one.joints} | {one.rate:.0f} | {len(one.deviations)} "
            f"| {one.undetermined} | {largest:.1f} | {one.beyond} | {max(one.noise):.2f} "
            f"| {one.again:.0e} | {one.verdict} |"
        )
    lines += [
        "",
        "Errors are those against the numbers that have the efforts of the true robot. Residual "
        "over noise: rms of recorded less predicted efforts on the other motion, below the cutoff "
        "of the filter and while the joint moves, over that of the true robot; up to 1.41 "
        "the model is off by less than the noise. URDF read again: largest difference between "
        "efforts of the written file and those of the regressor, over the largest of the joint.",
    ]
    if left:
        lines += ["", f"Not measured, {len(left)} of {len(left) + len(found)}: {', '.join(left)}."]
    return "\n".join(lines) + "\n"
