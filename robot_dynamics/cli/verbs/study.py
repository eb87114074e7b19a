"""Run a control loop thousands of times, each time with a different robot, sensor and load.

robot-dynamics study panda --mass-error 20% --payload 0..3 --delay 0..5ms --runs 10000
robot-dynamics study ur5 --modes feedforward,computed_torque --noise 1e-5 --output out
robot-dynamics study ur5 --gains gains.yaml --delay 0..4ms   with the gains of controller_node
robot-dynamics study ur5 --modes cartesian_impedance --payload 2 --max-end-effector-position 0.01
robot-dynamics study panda --base-motion sine:y:0.05:1 --known-base still   on a ship
robot-dynamics study openarm.urdf --driver openarm --mass-error 20%   behind its drives
robot-dynamics study out/study.yaml --resume          continue after Ctrl-C
robot-dynamics study out/study.yaml --replay 4711     repeat one run and draw it
robot-dynamics study out/study.yaml --replay 4711 --record run.mcap   for replay, plot, Foxglove
robot-dynamics study panda --payload 0..3 --keep 0.99  the largest bandwidth for 99 % of the runs

A distribution is A..B (uniform), M+-S (normal) or A,B,C (these values), with units such as ms, mm,
deg, g, %.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.cli.arguments import load_robot, new_recording, output_folder, text_of_robot
from robot_dynamics.cli.chosen_joints import (
    END_EFFECTOR_RULE,
    frame_or_end_effector,
    lock_positions,
)
from robot_dynamics.cli.driven_arm import DrivenArm, driven_arm
from robot_dynamics.cli.output import Printer, add_json, picture_of, print_json
from robot_dynamics.cli.progress_line import stages
from robot_dynamics.cli.recordings import drives_of
from robot_dynamics.cli.study_report import (
    draw_run,
    draw_study,
    print_study,
    study_numbers,
    write_run,
)
from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.settings import DRIVE
from robot_dynamics.errors import ArgumentError, shown
from robot_dynamics.foundation.numbers import counted, number_from
from robot_dynamics.robot import Robot
from robot_dynamics.simulation import check_physical
from robot_dynamics.simulation.base_motions import read_base_motion
from robot_dynamics.study import (
    MOTIONS,
    QUANTITIES,
    SAMPLINGS,
    Chunk,
    RunLimits,
    StudyPlan,
    distribution_of,
    in_process,
    in_processes,
    on_dask,
    study,
)
from robot_dynamics.study.bandwidth_search import largest_bandwidth
from robot_dynamics.study.executor import Executor
from robot_dynamics.study.run_record import RunRecord, replay
from robot_dynamics.study.runs import chunks_of, model_of
from robot_dynamics.study.study_files import StudyFolder, read_gains, read_options
from robot_dynamics.study.study_table import table_of
from robot_dynamics.trajectory.trajectory_files import read_trajectory
from robot_dynamics.trajectory.waypoints import Waypoints

RATE = StudyPlan.rate
"""Control rate without a driver, Hz."""

_RUNS = {
    "runs": "number of runs of every mode",
    "motion": f"one or several of {', '.join(MOTIONS)} or trajectory files, with commas",
    "modes": f"one or several of {', '.join(ALL_MODES)}",
    "duration": "duration of a run, s",
    "rest": "final share of the duration in which the arm must be at rest",
    "rate": f"control rate, Hz, or a distribution (default: {RATE:g}, or that of the driver)",
    "step": "step of the plant, s (default: the control period; with --driver at most 0.1 ms)",
    "integrator": "semi_implicit_euler or runge_kutta",
    "bandwidth": "bandwidth of the feedback, rad/s",
    "driver": "driver of an arm whose drives close the loop, of `robot-dynamics drivers`",
    "gains": "fitted to the sampled loop, ideal, or a .yaml with those of controller_node",
    "integral": "ki over kp, 1/s",
    "effort_rate": "largest rate of change of the effort of a joint, N m/s or N/s",
    "end_effector": "frame whose error is measured and that laws in task space lead "
    f"(default: {END_EFFECTOR_RULE})",
    "frame": f"frame that carries the payload (default: {END_EFFECTOR_RULE})",
    "known_payload": "load in the law's model, kg",
    "parameters": ".yaml of friction, rotors and elasticity (default: beside the URDF)",
    "lock": "joints to lock, NAME=POSITION with commas",
    "base_motion": "motion of the base: sine:AXIS:AMPLITUDE:HZ (x, y, z in m; rx, ry, rz in "
    "rad) or a CSV with t, x, y, z, qx, qy, qz, qw (default: it stands)",
    "known_base": "what laws know of it: motion, or still (nothing)",
    "encoders": "side of elastic joints that is measured: link, motor, or both",
    "seed": "the same seed gives the same study",
}
"""Meanings of the options of runs."""

_LIMITS = {
    "max_error": "largest position error, rad or m",
    "max_saturation": "largest share of the time with saturated effort",
    "max_end_effector_position": "largest position error of the end effector, m",
    "max_end_effector_rotation": "largest rotation error of the end effector, rad",
}
"""Meanings of the limits of a run."""

_PLAN: dict[str, Any] = {one.name: one.default for one in fields(StudyPlan)}
_DEFAULTS: dict[str, Any] = {
    **{name: _PLAN.get(name) for name in (*_RUNS, "sampling")},
    **{f"max_{one.name}": one.default for one in fields(RunLimits)},
    "motion": ",".join(_PLAN["motions"]),
    "modes": ",".join(_PLAN["modes"]),
    "rate": None,
    "lock": "",
}
"""Options that a study file may set too, besides the robot and the distributions."""

_VARYING = tuple(name for name in QUANTITIES if name != "rate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    parser.add_argument("robot", help="URDF, name of a known robot, or a study file (.yaml)")
    what = parser.add_argument_group("runs")
    for name, text in _RUNS.items():
        _option(what, name, text)
    vary = parser.add_argument_group("distributions of varying quantities")
    for name in _VARYING:
        quantity = QUANTITIES[name]
        vary.add_argument(
            _flag(name), metavar="DISTRIBUTION", help=f"{quantity.meaning}; {quantity.unit}"
        )
    _option(vary, "sampling", f"one of {', '.join(SAMPLINGS)}")
    limits = parser.add_argument_group("limits of a run")
    for name, text in _LIMITS.items():
        _option(limits, name, text)
    limits.add_argument(
        "--keep", type=float, help="find the largest bandwidth that this share of runs survives"
    )
    where = parser.add_argument_group("execution and results")
    where.add_argument("--threads", type=int, help="threads (default: all processors)")
    where.add_argument("--workers", type=int, help="processes of this machine")
    where.add_argument("--scheduler", help="address of a Dask scheduler, such as tcp://host:8786")
    where.add_argument(
        "--output", type=output_folder, help="folder for table, plots and finished runs"
    )
    where.add_argument("--resume", action="store_true", help="continue the study in that folder")
    where.add_argument("--replay", type=int, metavar="RUN", help="repeat one run and draw it")
    where.add_argument(
        "--record", type=new_recording, metavar="FILE", help="record that run in this .mcap"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run a study, or repeat one of its runs."""
    show = Printer(stderr=arguments.json)
    options = _options(arguments)
    arm = _arm(options)
    plan = _plan(options, arm)
    if arguments.output is None and arguments.robot.endswith((".yaml", ".yml")):
        arguments.output = Path(arguments.robot).parent
    if arguments.record is not None and arguments.replay is None:
        raise ArgumentError("--record writes one run; choose it with --replay")
    if arguments.replay is not None:
        return _replay(plan, arm, options, arguments, show)
    if arguments.keep is not None:
        if plan.by_drives:
            raise ArgumentError("--keep searches a bandwidth, and drives have gains of their own")
        found = largest_bandwidth(plan, arguments.keep, _executor(arguments), report=show)
        if arguments.json:
            answer = {"bandwidth": found.bandwidth, "held": found.held}
            print_json({**answer, "parameters": yaml.safe_load(found.parameters)})
        else:
            print(found.parameters)
        return 0
    if arguments.resume and arguments.output is None:
        raise ArgumentError("--resume continues the study in a folder; name it with --output")
    folder = None if arguments.output is None else StudyFolder(arguments.output, plan)
    done: dict[Chunk, Any] = {}
    if folder is not None:
        if arguments.resume and folder.is_finished():
            show(
                f"{folder.path}: the study is finished, no run is left to resume; table: "
                f"{folder.table}"
            )
            if arguments.json:
                print_json({"robot": plan.robot.name, "finished": str(folder.table)})
            return 0
        folder.save_options(options)
        done = folder.load(chunks_of(plan)) if arguments.resume else {}
    again = "" if folder is None else f"robot-dynamics study {folder.path / 'study.yaml'}"
    with _progress(plan, done, folder) as progress:
        try:
            study(plan, _executor(arguments), done=done, progress=progress)
        except KeyboardInterrupt:
            if folder is not None:  # at once: no table, no picture
                count = sum(chunk.stop - chunk.start for chunk in done)
                total = counted(plan.count * len(plan.modes), "run")
                show(f"stopped with {count} of {total} done; continue:")
                show.line(f"  {again} --resume")
            return 130
    table = table_of(plan, done)
    if arguments.json:
        print_json({"robot": plan.robot.name, "modes": study_numbers(table)})
    else:
        print_study(table, show)
    if folder is not None:
        place = folder.save_table(table)
        show(f"table: {place}", picture_of(lambda: draw_study(table, arguments.output)))
        show("repeat the worst run:")
        show.line(f"  {again} --replay {table['run'][table.worst(1)[0]]}")
        folder.forget_runs()
    return 0


def _option(group: Any, name: str, text: str) -> None:
    default = _DEFAULTS[name]
    shown = f"{text} (default: {default})" if default not in (None, "") else text
    kind = type(default) if isinstance(default, int | float) and name != "rate" else str
    group.add_argument(_flag(name), type=kind, default=None, help=shown.replace("%", "%%"))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options: of the command line, else of the file, else the defaults."""
    known = {"robot", *_DEFAULTS, *_VARYING}
    options: dict[str, Any] = {"robot": arguments.robot, **_DEFAULTS}
    if arguments.robot.endswith((".yaml", ".yml")):
        read = read_options(Path(arguments.robot), known)
        options |= {name: _typed(arguments.robot, name, value) for name, value in read.items()}
    for name in (*_DEFAULTS, *_VARYING):
        value = getattr(arguments, name)
        if value is not None:
            options[name] = value
    return options


def _typed(file: str, name: str, value: Any) -> Any:
    """Return the value of an option in a study file, converted where a number is due."""
    kind = float if name == "step" and value is not None else type(_DEFAULTS.get(name, ""))
    if name == "rate" or kind not in (int, float):
        return value
    try:
        number = number_from(value) if isinstance(value, str) else float(value)
        if kind is float or number.is_integer():
            return kind(number)
    except (TypeError, ValueError, OverflowError):
        pass
    what = "a number" if kind is float else "a whole number"
    raise ArgumentError(f"{file}: {name}: {shown(value)} is not {what}")


def _arm(options: dict[str, Any]) -> DrivenArm:
    """Return the arm of options, behind a driver if they name one."""
    source, name = str(options["robot"]), options["driver"]
    if name is None:
        whole = load_robot(source)
        return DrivenArm(whole, lock_positions(str(options["lock"]), whole), (), None)
    given = {"lock": str(options["lock"]), "tip": None, "joints": None}
    return driven_arm(argparse.Namespace(robot=source, driver=str(name), **given))


def _plan(options: dict[str, Any], arm: DrivenArm) -> StudyPlan:
    check_physical(arm.whole)
    robot = arm.robot
    feedback, default_rate = _feedback(options, arm)
    vary = {
        name: distribution_of(_flag(name), str(options[name]), symmetric=QUANTITIES[name].symmetric)
        for name in _VARYING
        if options.get(name) is not None
    }
    given = default_rate if options["rate"] is None else options["rate"]
    rate = distribution_of("--rate", str(given))
    if len(set(rate.numbers)) > 1:
        vary["rate"] = rate
    motions = tuple(_motion(text, robot) for text in str(options["motion"]).split(","))
    if "payload" in vary or options["known_payload"]:
        options = {**options, "frame": frame_or_end_effector(options["frame"], robot, "--frame")}
    moves = options["base_motion"]
    file = None if options["parameters"] is None else Path(str(options["parameters"]))
    drives = drives_of(str(options["robot"]), file, robot)
    if not vary and options["runs"] == _DEFAULTS["runs"]:
        options["runs"] = len(motions)
        Printer(stderr=True)(
            "no quantity varies, so one run of each motion shows all; vary one, such as "
            "--mass-error 20% or --payload 0..3"
        )
    converted: dict[str, Any] = {
        "runs": int(options["runs"]),
        "motions": motions,
        "modes": tuple(str(options["modes"]).split(",")),
        "vary": vary,
        "rate": max(rate.numbers),
        "base_motion": None if moves is None else read_base_motion(str(moves)),
        "step": None if options["step"] is None else _number("step", str(options["step"])),
        "limits": RunLimits(
            **{one.name: float(options[f"max_{one.name}"]) for one in fields(RunLimits)}
        ),
        **feedback,
    }
    if drives is not None:
        robot = drives.robot(robot)
        converted |= {"friction": drives.friction, "rotor_inertia": drives.rotor_inertia}
    return StudyPlan(
        robot, **{name: options[name] for name in _PLAN if name in _DEFAULTS} | converted
    )


def _feedback(options: dict[str, Any], arm: DrivenArm) -> tuple[dict[str, Any], float]:
    """Return where the loop is closed with which gains, and the usual rate, Hz."""
    gains = str(options["gains"])
    if options["driver"] is None:
        names = arm.robot.joint_names
        return {"gains": read_gains(gains, names) if Path(gains).suffix else gains}, RATE
    driver, own = arm.closing_drives()
    if gains != _DEFAULTS["gains"]:
        raise ArgumentError(f"--gains {gains}: those of {driver.name} are in its drives; omit it")
    return {"feedback": DRIVE, "gains": own}, driver.rate.value


def _motion(text: str, robot: Robot) -> str | Waypoints:
    """Return the name of a motion, or the waypoints of a trajectory file."""
    text = text.strip()
    return (
        read_trajectory(
            text, robot.joint_names, followers=robot.followers, speeds=robot.limits.velocity
        )
        if Path(text).suffix
        else text
    )


def _number(option: str, text: str) -> float:
    try:
        return number_from(text)
    except ValueError:
        raise ArgumentError(f"--{option}: '{text}' is not a number") from None


def _executor(arguments: argparse.Namespace) -> Executor:
    if arguments.scheduler is not None:
        return on_dask(scheduler=arguments.scheduler)
    if arguments.workers is not None:
        return in_processes(arguments.workers)
    return in_process(arguments.threads)


@contextmanager
def _progress(plan: StudyPlan, done: dict[Chunk, Any], folder: StudyFolder | None) -> Iterator[Any]:
    """Show how many runs are done and the remaining time; store every finished chunk."""
    total = sum(chunk.stop - chunk.start for chunk in chunks_of(plan))
    before = count = sum(chunk.stop - chunk.start for chunk in done)
    began = time.monotonic()
    with stages() as shown:

        def progress(chunk: Chunk, columns: Any) -> None:
            nonlocal count
            if folder is not None:
                folder.save(chunk, columns)
            count += chunk.stop - chunk.start
            left = (time.monotonic() - began) * (total - count) / max(count - before, 1)
            shown(f"{count} of {counted(total, 'run')}, {left:.0f} s left", count / total)

        yield progress


def _replay(
    plan: StudyPlan,
    arm: DrivenArm,
    options: dict[str, Any],
    arguments: argparse.Namespace,
    show: Printer,
) -> int:
    if not 0 <= arguments.replay < plan.count:
        raise ArgumentError(
            f"--replay {arguments.replay}: the study has runs 0 to {plan.count - 1}"
        )
    replays = [replay(plan, arguments.replay, mode) for mode in plan.modes]
    folder = arguments.output or Path()
    motion = write_run(replays, folder, show)
    show(picture_of(lambda: draw_run(replays, folder)))
    base = f" --base-motion {options['base_motion']}" if options["base_motion"] else ""
    show("in the browser:")
    show.line(f"  robot-dynamics view {options['robot']} --motion {motion}{base}")
    if arguments.record is not None:
        _record(arguments.record, str(options["robot"]), arm.still, replays)
        show(f"recording: {arguments.record}")
    if arguments.json:
        recording = None if arguments.record is None else str(arguments.record)
        print_json({"motion": str(motion), "recording": recording})
    return 0


def _record(path: Path, source: str, locked: Mapping[str, float], replays: list[RunRecord]) -> None:
    """Record runs one after the other; locked joints keep their positions."""
    from robot_dynamics.viewer import simulated_runs  # noqa: PLC0415  # needs mcap

    table = replays[0].table
    motions = table.plan.trajectories()
    simulated_runs.write_runs(
        path,
        text_of_robot(source),
        model_of(table.plan),
        motions[table["run"][0] % len(motions)],
        {f"run {k}": again.log for k, again in enumerate(replays, 1)},
        still=locked,
    )
