"""Elastic joints in simulation: python -m benchmark.elastic_joints [TABLE ...].

Writes the tables of benchmark/records/elastic-joints.md: tracking with and without knowledge of the
springs, the gains that the resonances allow, studies of springs that differ from the model, and
oscillations under the whole step with its watches.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from time import process_time

import numpy as np
import numpy.typing as npt

from benchmark.record import RECORDS
from benchmark.table import Table, replace_part
from robot_dynamics import Dynamics, Robot, read_urdf
from robot_dynamics.control import Friction, Model
from robot_dynamics.control.gains import ideal_gains
from robot_dynamics.control.laws import Measured
from robot_dynamics.control.oscillation import LEAST_SIZE
from robot_dynamics.control.sampled_loop import Sampling
from robot_dynamics.control.sampling.tuning import Tuner
from robot_dynamics.control.status import Cause, Status
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.kinematic_tree import JointElasticity
from robot_dynamics.simulation import (
    ElasticController,
    Log,
    fault_sweep,
    simulate,
    with_mass_scaled,
)
from robot_dynamics.simulation.compiled_plant import CompiledPlant
from robot_dynamics.simulation.fault_sweep import FaultSweep, Outcome, Springs
from robot_dynamics.study import Distribution, StudyPlan
from robot_dynamics.study.plan import quintic
from robot_dynamics.study.runs import runner
from robot_dynamics.study.study_table import GROWTH, QUIET
from robot_dynamics.trajectory import Trajectory, interpolate
from robot_dynamics.trajectory.motions import middle_pose
from robot_dynamics.trajectory.trajectory import State

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
SHARES = (0.0, 0.02, 0.01, 0.005)
"""Shares of the lowest resonance that the parameter `resonance_share` allows."""

PUSH, PUSH_S, EARLY_S, WINDOW_S, LATE_S = 5.0, 5e-3, 0.1, 0.2, 5.0
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


def fitted(robot: Robot, rotors: Array, encoders: str, share: float = 0.0) -> tuple[Model, Array]:
    """Return the model with gains that fit, and their shares of the natural frequency."""
    arm = Dynamics(robot)
    wanted, tuner = ideal_gains(arm), Tuner(arm)
    model = Model(arm, wanted, rotor_inertia=rotors, encoders=encoders, resonance_share=share)
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


def ringing(real: Robot, model: Model) -> float:
    """Return the rates of the springs long after a push, relative to those soon after it."""
    plant = CompiledPlant(real, friction=Friction.none(real.dof), rotor_inertia=model.rotor_inertia)
    motion = Trajectory.hold(real.joint_names, middle_pose(real))
    law, rates = ElasticController(model, motion, period=PERIOD_S), []

    def pushed(t: float, desired: State, measured: Measured) -> Array:
        rates.append(np.abs(plant.motor_qd - plant.qd).max())
        return law(t, desired, measured) + (PUSH if t < PUSH_S else 0.0)

    simulate(plant, pushed, motion, duration=LATE_S, encoders=model.encoders)
    window, early = round(WINDOW_S / PERIOD_S), round(EARLY_S / PERIOD_S)
    return max(rates[-window:]) / max(rates[early : early + window])


def shares() -> Table:
    """Limit the bandwidth of springs whose damping is a fifth of the model's."""
    rows = []
    for name in ROTORS:
        real, rotors = elastic(name, 1e4, RATIOS[1])
        for share in SHARES:
            model, _ = fitted(elastic(name, 1e4, RATIOS[0])[0], rotors, "link", share)
            cells = [f"{model.bandwidth:.2g}", f"{ringing(real, model):.2g}"]
            rows.append([f"{name}, {share:g}", *cells])
    return Table(
        "Bandwidth by the parameter resonance_share",
        f"Encoders on the links, 1e4 N m/rad, 1 kHz. The damping ratio is {RATIOS[0]:g} in the "
        f"model, {RATIOS[1]:g} in the arm. Left over of an oscillation: rates of the springs "
        f"{LATE_S:g} s after a push, relative to those {EARLY_S:g} s after it; above 1 it grows.",
        ["arm, resonance_share", "bandwidth, rad/s", "left over"],
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


TIMED_RUNS, TIMED_S, REPEATS = 256, 1.0, 7


def cost() -> Table:
    """Time a control period of a study with and without springs."""
    rows = []
    for name in ROTORS:
        robot, rotors = elastic(name, 1e4, RATIOS[0])
        runners = {}
        for encoders in ("rigid", *ENCODERS):
            arm = arm_of(name) if encoders == "rigid" else robot
            plan = StudyPlan(
                arm,
                runs=TIMED_RUNS,
                vary={"mass_error": Distribution("uniform", (-0.1, 0.1))},
                duration=TIMED_S,
                rotor_inertia=rotors,
                encoders="link" if encoders == "rigid" else encoders,
            )
            runners[encoders] = runner(plan, "feedforward")
        best = dict.fromkeys(runners, np.inf)
        for _ in range(REPEATS):  # in turns, as other programs may run
            for encoders, one in runners.items():
                begin = process_time()
                one.run(0, TIMED_RUNS)
                best[encoders] = min(best[encoders], process_time() - begin)
        periods = TIMED_RUNS * TIMED_S / PERIOD_S
        ratios = [f"{best[x] / best['rigid']:.2f}" for x in ENCODERS]
        rows.append([name, f"{1e9 * best['rigid'] / periods:.0f}", *ratios])
    return Table(
        "Time of a control period of a study",
        f"Processor time of law and plant, one thread, the least of {REPEATS} in turns. Of elastic "
        "joints, relative to rigid ones.",
        ["arm", "rigid, ns", *ENCODERS],
        rows,
    )


BANDWIDTHS = {True: (20.0,), False: (5.0, 10.0, 20.0)}
"""Bandwidths, rad/s, with which springs are known or not."""


def watched(name: str, known: bool) -> list[Outcome]:
    """Run half of the runs of an arm under the whole step, with encoders on the links."""
    found: list[Outcome] = []
    cells = [(stiffness, ratio) for stiffness in STIFFNESSES for ratio in RATIOS]
    count = -(-RUNS // (2 * len(cells) * len(BANDWIDTHS[known])))
    for w in BANDWIDTHS[known]:
        springs = [
            Springs(robot.joint_elasticity, rotors, "link", known)
            for robot, rotors in (elastic(name, *cell) for cell in cells)
        ]
        sweep = FaultSweep(arm_of(name), {"bandwidth": w}, springs=springs[0])
        for one in springs:
            sweep.springs = one
            found.append(sweep.run(len(found), 1.0 / PERIOD_S, count=count, faults=False))
    return found


def watched_row(name: str, known: bool) -> list[str]:
    """Count stops and oscillations under the whole step."""
    found = watched(name, known)
    status, cause, swing = (
        np.concatenate([getattr(one, x) for one in found]) for x in ("status", "cause", "swing")
    )
    stopped = status == Status.STOPPED
    watch = stopped & (cause == Cause.OSCILLATION)
    unnoticed = ~stopped & (swing > LEAST_SIZE)
    numbers = (len(status), watch.sum(), (stopped & ~watch).sum(), unnoticed.sum())
    largest = f"{1e3 * swing[~stopped].max():.2g}" if (~stopped).any() else "-"
    return [f"{name}, springs {'known' if known else 'unknown'}", *map(str, numbers), largest]


def oscillations() -> Table:
    """Return the table of oscillations under the whole step."""
    stiff = ", ".join(f"{x:g}" for x in STIFFNESSES)
    off, of_damping = fault_sweep.SPRING_ERROR, fault_sweep.SPRING_DAMPING_ERROR
    return Table(
        "Oscillations with encoders on the links",
        f"Each run has the whole step of the controller at {1.0 / PERIOD_S:g} Hz, "
        f"{fault_sweep.DURATION_S:g} s long, a random motion, springs of {stiff} N m/rad "
        f"+-{100 * off:.0f} %, damping ratios of {RATIOS[0]:g} and {RATIOS[1]:g} "
        f"+-{100 * of_damping:.0f} %, masses +-10 %, up to "
        f"{100 * fault_sweep.UNKNOWN_FRICTION:.0f} % of unknown friction, and states up to "
        f"{fault_sweep.LATEST} ms late. Unknown springs meet bandwidths of 5, 10 and 20 rad/s. An "
        "oscillation is unnoticed if the arm was not stopped and a joint turns to and fro by "
        f"{1e3 * LEAST_SIZE:g} mrad in the last {fault_sweep.REST_S:g} s.",
        [
            "arm",
            "runs",
            "stopped for oscillation",
            "stopped else",
            "unnoticed",
            "largest swing of those not stopped, mrad",
        ],
        [watched_row(name, known) for name in ROTORS for known in (False, True)],
    )


def main() -> None:
    """Write the tables."""
    makers = {
        make.__name__: make for make in (tracking, gains, shares, studies, cost, oscillations)
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(makers))
    for make in [makers[name] for name in parser.parse_args().tables or makers]:
        table = make()
        print(table.markdown(), flush=True)
        replace_part(PAGE, f"benchmark.elastic_joints {make.__name__}", [table.markdown()])


if __name__ == "__main__":
    main()
