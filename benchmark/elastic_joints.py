"""Elastic joints in simulation: python -m benchmark.elastic_joints.

Writes the tables of benchmark/records/elastic-joints.md: tracking with and without knowledge of the
springs, the gains that the resonances allow, and studies of springs that differ from the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from benchmark.record import RECORDS
from benchmark.table import Table, replace_part
from robot_dynamics import Dynamics, Robot, read_urdf
from robot_dynamics.control import Friction, Model
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.simulation import ElasticController, Log, simulate, with_mass_scaled
from robot_dynamics.simulation.compiled_plant import CompiledPlant
from robot_dynamics.study import Distribution, StudyPlan
from robot_dynamics.study.plan import quintic
from robot_dynamics.study.runs import runner
from robot_dynamics.study.study_table import GROWTH, QUIET
from robot_dynamics.trajectory import interpolate
from robot_dynamics.trajectory.motions import middle_pose

Array = npt.NDArray[np.float64]

PAGE = RECORDS / "elastic-joints.md"
ROTORS: Mapping[str, tuple[float, ...]] = {
    "ur5": (1.1, 1.1, 0.9, 0.2, 0.2, 0.2),
    "panda": (0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.2),
}
"""Plausible rotor inertias at the joints, kg m^2."""

STIFFNESSES = (5e3, 1e4, 3e4)
ENCODERS = ("motor", "both", "link")
RATIOS = (0.05, 0.01)
RUNS, DURATION_S, PERIOD_S = 10_000, 2.0, 1e-3


def arm_of(name: str) -> Robot:
    """Return an arm without moving fingers."""
    robot = read_urdf(find_robot(name))
    return robot.with_locked({"panda_finger_joint1": 0.02}) if name == "panda" else robot


def elastic(name: str, stiffness: float, ratio: float) -> tuple[Robot, Array]:
    """Return an arm on springs with a damping ratio in the middle of its ranges, and its rotors."""
    arm, rotors = arm_of(name), np.array(ROTORS[name])
    inertia = np.diag(Dynamics(arm).mass_matrix(middle_pose(arm)))
    damping = 2.0 * ratio * np.sqrt(stiffness * inertia * rotors / (inertia + rotors))
    return arm.with_joint_elasticity(stiffness, damping), rotors


def fitted(robot: Robot, rotors: Array, encoders: str) -> tuple[Model, Array]:
    """Return the model with gains that fit, and their shares of the natural frequency."""
    arm = Dynamics(robot)
    wanted, tuner = ideal_gains(arm), Tuner(arm)
    model = Model(arm, wanted, rotor_inertia=rotors, encoders=encoders)
    model = tuner.model(model, wanted, model.bandwidth, Sampling.of(PERIOD_S))
    return model, np.sqrt(model.gains.kp / wanted.kp)


def errors(real: Robot, model: Model) -> list[str]:
    """Return the errors of three feedforwards on the same arm, mrad."""
    n, rotors = real.dof, model.rotor_inertia
    plant = CompiledPlant(real, friction=Friction.none(n), rotor_inertia=rotors)
    rigid = JointElasticity(np.full(n, np.inf), np.zeros(n))
    unknown = Model(
        model.dynamics,
        model.gains,
        rotor_inertia=rotors,
        elasticity=rigid,
        encoders=model.encoders,
    )
    found = []
    for known, smoothness in ((unknown, 4), (model, 2), (model, 4)):
        motion = interpolate(quintic(real, DURATION_S), smoothness=smoothness)
        law = ElasticController(known, motion, period=PERIOD_S)
        found.append(_rms(simulate(plant, law, motion, encoders=model.encoders)))
    return [f"{1e3 * error:.2g}" for error in found]


def _rms(log: Log) -> float:
    return float(np.sqrt(np.mean(log.error**2)))


def tracking() -> Table:
    """Track with and without knowledge of the springs."""
    rows = []
    for name in ROTORS:
        for stiffness in STIFFNESSES:
            robot, rotors = elastic(name, stiffness, RATIOS[0])
            for encoders in ENCODERS:
                model, _ = fitted(robot, rotors, encoders)
                rows.append([f"{name}, {stiffness:g} N m/rad", encoders, *errors(robot, model)])
        robot, rotors = elastic(name, STIFFNESSES[1], RATIOS[0])
        K, D = robot.joint_elasticity
        real = with_mass_scaled(robot, 1.1).with_joint_elasticity(0.8 * K, D)
        model, _ = fitted(robot, rotors, "motor")
        about = f"{name}, {STIFFNESSES[1]:g} N m/rad in the model, masses +10 %, stiffness -20 %"
        rows.append([about, "motor", *errors(real, model)])
    return Table(
        "Tracking",
        f"Root mean square error of the links on a quintic of {DURATION_S:g} s at 1 kHz, mrad; "
        f"damping ratio {RATIOS[0]:g}. A rigid feedforward knows rotors, but no springs.",
        ["arm", "encoders", "rigid", "quasi-static", "exact"],
        rows,
    )


def gains() -> Table:
    """Find the gains that the resonances allow."""
    rows = []
    for name in ROTORS:
        for ratio in RATIOS:
            robot, rotors = elastic(name, 1e4, ratio)
            found = [fitted(robot, rotors, encoders) for encoders in ENCODERS]
            cells = [f"{100.0 * x.min():.0f} to {100.0 * x.max():.0f} %" for _, x in found]
            of_matrix = f"{found[-1][0].bandwidth:.2g} rad/s"
            rows.append([f"{name}, damping ratio {ratio:g}", *cells, of_matrix])
    return Table(
        "Bandwidth that the resonances allow",
        "Natural frequency of the joints relative to the default of 20 rad/s, 1e4 N m/rad, 1 kHz.",
        ["arm", *ENCODERS, "link, by the mass matrix"],
        rows,
    )


def studied() -> Iterator[list[str]]:
    """Study springs that differ from the model."""
    spread = {
        "stiffness_error": Distribution("uniform", (-0.2, 0.2)),
        "spring_damping_error": Distribution("uniform", (-0.3, 0.3)),
        "mass_error": Distribution("uniform", (-0.1, 0.1)),
        "delay": Distribution("uniform", (0.0, 0.002)),
    }
    for name in ROTORS:
        for encoders in ("rigid", *ENCODERS):
            robot, rotors = elastic(name, 1e4, RATIOS[0])
            vary = dict(spread)
            if encoders == "rigid":
                robot = arm_of(name)
                vary = {x: spread[x] for x in ("mass_error", "delay")}
            plan = StudyPlan(
                robot,
                runs=RUNS,
                vary=vary,
                duration=2.0 * DURATION_S,
                rest=0.5,
                rotor_inertia=rotors,
                friction=Friction.none(robot.dof),
                encoders="link" if encoders == "rigid" else encoders,
            )
            found = runner(plan, "feedforward").run(0, RUNS).statistics
            window = 0.5 * plan.rest * plan.steps
            late, early = (found[x][:, 0] / window for x in ("late", "early"))
            shakes = (late > GROWTH * early) & (late > QUIET**2) | (found["alive"][:, 0] == 0.0)
            error = np.sqrt(found["square_error"] / found["counted"]).max(axis=1)
            yield [
                f"{name}, {encoders}",
                f"{RUNS}",
                f"{int(shakes.sum())}",
                f"{float(f'{1e3 * np.median(error):.2g}'):g}",
                f"{float(f'{1e3 * error.max():.2g}'):g}",
            ]


def studies() -> Table:
    """Return the table of studies."""
    return Table(
        "Springs that differ from the model",
        "Stiffness +-20 %, damping +-30 %, masses +-10 %, states up to 2 ms late; 1e4 N m/rad, "
        f"damping ratio {RATIOS[0]:g}. Half of a run is at rest; motion grows if the mean square "
        "speed of its second half is larger than that of the first, as in every study. Errors are "
        "those of the worst joint of a run.",
        ["arm", "runs", "motion grows", "median error, mrad", "largest, mrad"],
        list(studied()),
    )


def main() -> None:
    """Write the tables."""
    for make in (tracking, gains, studies):
        table = make()
        print(table.markdown(), flush=True)
        replace_part(PAGE, f"benchmark.elastic_joints {make.__name__}", [table.markdown()])


if __name__ == "__main__":
    main()
