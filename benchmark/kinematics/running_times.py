"""The running times that [Gupta1986] prints, beside those of the same equations compiled."""

from __future__ import annotations

import time

import numpy as np

from benchmark.kernels.timing import Call, best_times
from benchmark.table import Table
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.papers.paper_arms import puma_type_arm
from robot_dynamics.papers.paper_motions import CIRCLE_TIME_S, circle_motion
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation.integrators import integrate

PRINTED = {"drive torques of a state": 0.003, "a cycle of the simulation": 0.018}
"""Seconds of CPU on an IBM 3081, double precision Fortran: sections 3 and 4."""

STEPS = 200


def running_times(turns: int) -> Table:
    """Inverse dynamics, and direct dynamics with an integration step, on the paper's circle."""
    arm = Dynamics(read_urdf(find_robot("puma_gupta")), formulation="zero_reference")
    q, qd, qdd = (x[0] for x in circle_motion(puma_type_arm(), np.array([0.3 * CIRCLE_TIME_S])))
    tau = arm.inverse(q, qd, qdd)

    def simulate(q: np.ndarray, qd: np.ndarray) -> object:
        return integrate(
            lambda t, q, qd: arm.forward(q, qd, tau),
            q,
            qd,
            duration=1e-3 * STEPS,
            step=1e-3,
            method="adams_bashforth_moulton",
        )

    calls = {
        "drive torques of a state": Call(arm.inverse, (q, qd, qdd)),
        "a cycle of the simulation": Call(simulate, (q, qd), evaluations=STEPS),
    }
    times = best_times(calls, turns=turns, duration=0.05, clock=time.process_time)
    rows = [
        [name, f"{1e6 * printed:.0f}", f"{1e6 * times[name]:.3g}", f"{printed / times[name]:.0f}"]
        for name, printed in PRINTED.items()
    ]
    return Table(
        "The running times of Gupta",
        "Of the PUMA-type arm, by `zero_reference`, one call of Python each. The paper's are of an "
        "IBM 3081, in double precision Fortran; its cycle is one of direct dynamics with the step "
        "of a predictor-corrector method, as here, where the method is written in Python and asks "
        "for two accelerations. Forty years of processors are between: how much of the quotient "
        "is theirs is not known.",
        ["µs", "printed", "here", "quotient"],
        rows,
    )
