"""Lead the end effectors of many arms with default settings, in MuJoCo.

python -m benchmark.task_space.arms                         every arm, an hour of two cores
python -m benchmark.task_space.arms --arms ur5,panda --delays 0,5 --friction 0,2
python -m benchmark.task_space.arms gen3.urdf iiwa14.urdf --write     further arms; write the page
python -m benchmark.task_space.arms --arms ur5 --friction 2 --write   replace these rows of the page

Every arm of example-robot-data with five to eight joints, and those of other packages, `pip install
--no-deps airo-models pybullet rtb-data synriard`, are held, led by 0.3 m and by 0.6 rad, sent out
of reach and back, led past a singular pose, and pressed against a wall of 1e4 N/m. The model is
exact, but for dry friction that it does not know. States come late, and a command acts a period
after the state that it answers. Joints have no stops, so that a joint which leaves its range shows.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree
from rich.console import Console

from benchmark.cases import quiet
from benchmark.progress_bar import progress_bar, step
from benchmark.record import conditions
from robot_dynamics import Dynamics, Robot, read_urdf
from robot_dynamics.control import Controller, Measured, Model, Settings, gains_for
from robot_dynamics.control.limits import effort_limits, velocity_limits
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import MOTION
from robot_dynamics.control.task_space import IMPEDANCE, OPERATIONAL_SPACE, rotation_vector
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.robot.catalogue import example_robots, urdf_text
from robot_dynamics.robot.endpoint import FINGERS, default_end_effector
from robot_dynamics.spatial import Pose, rodrigues
from robot_dynamics.trajectory.motions import sample_poses

PAGE = Path(__file__).parents[1] / "records" / "task-space-arms.md"
BEGIN, END = "<!-- benchmark.task_space.arms -->\n", "<!-- end -->\n"

STEP = 1e-3
"""Step of the simulation and period of the controller, s."""

FEWEST, MOST = 5, 8
"""Numbers of joints of an arm."""

LEFT_OUT = ("hextilt", "joint_limited", "collision", "gripper")
"""Words in the names of robots that are left out: an arm that flies, and the same arm again."""

TROSSEN = "xacro/trossen_descriptions/urdf/{}.urdf.xacro"
FURTHER = {
    **{name: ("airo_models", f"arms/{name}/{name}.urdf") for name in ("ur3e", "ur5e")},
    "iiwa7": ("pybullet_data", "kuka_iiwa/model.urdf"),
    "alicia_d": ("synriard", "urdf/Alicia_D_v5_6/Alicia_D_v5_6_gripper_50mm.urdf"),
    "alicia_m": ("synriard", "urdf/Alicia_M_v1_2/Alicia_M_v1_2_follower.urdf"),
    **{
        name: ("rtbdata", TROSSEN.format(name))
        for name in ("px150", "rx200", "vx300", "wx250s", "vx300s")
    },
}
"""Arms of other packages: module and file."""

UNUSED = ("visual", "collision", "transmission", "gazebo", "mimic", "mujoco")
"""Elements of a URDF on which no dynamics depends."""

WAY, TURN = 0.3, 0.6
"""Displacements of a target, m and rad."""

UNHURRIED = 1.5
"""Speed limit of a joint below which an arm is given more time, rad/s."""

STIFFNESS = 1e4
"""Of the wall, N/m."""

MODES = (IMPEDANCE, OPERATIONAL_SPACE)
FRICTION, DELAYS = (0.0, 0.01, 0.03), (0.0, 0.002, 0.005)
PARTS = ("hold", "way", "turn", "reach", "singular", "wall")
NUMBERS = re.compile(r"'[^']*'|[\d.]+(e-\d+)?")
"""Numbers and names of joints in a line."""

HEADINGS = ("held", f"{WAY} m", f"{TURN} rad", "back from out of reach", "past a singular pose")


class Case(NamedTuple):
    """One run.

    Attributes:
        arm: Name or path.
        mode: Mode in task space.
        friction: Dry friction as a share of the effort limits.
        delay: Age of the states, s.
        part: One of `PARTS`.
    """

    arm: str
    mode: str
    friction: float
    delay: float
    part: str


class Found(NamedTuple):
    """Result of a run.

    Attributes:
        way: Distance of the end effector from its target in the end, m; in `wall` the variation of
            the force in the end, as a share of it.
        turn: Angle between both, rad.
        speed: Largest joint speed over its limit.
        beyond: Largest way of a joint beyond its range, rad or m.
        shakes: Whether joints move to and fro in the end.
        said: Reason of a stop, that the target is out of reach, or which joint friction holds.
    """

    way: float
    turn: float
    speed: float
    beyond: float
    shakes: bool
    said: str


@dataclass(frozen=True)
class Plan:
    """Start and targets of an arm.

    Args:
        dynamics: Its equations.
        end_effector: Its end effector.
        urdf: URDF without fingers, for MuJoCo.
        selection: Directions that the end effector can move in, shape (6,).
        starts: First positions by part.
        targets: Times, s, and poses by part.
    """

    dynamics: Dynamics
    end_effector: str
    urdf: str
    selection: Array
    starts: dict[str, Array]
    targets: dict[str, list[tuple[float, Pose]]]


def bare(text: str, *, stiff: bool = False) -> str:
    """Return a URDF without what no dynamics depends on, and with fixed fingers if wanted."""
    # One package uses the prefix "drake" without a namespace
    root = etree.fromstring(text.encode(), etree.XMLParser(remove_comments=True, recover=True))
    for element in root.iter():
        for key in [key for key in element.attrib if ":" in key]:
            del element.attrib[key]
    for element in list(root.iter(*UNUSED)):
        element.getparent().remove(element)
    for joint in root.iter("joint"):
        if stiff and any(word in joint.get("name").lower() for word in FINGERS):
            joint.set("type", "fixed")
    return str(etree.tostring(root, encoding="unicode"))


def source_of(arm: str) -> str:
    """Return the file of an arm, or its name for `find_robot`."""
    if arm not in FURTHER:
        return arm
    module, file = FURTHER[arm]
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise RobotDynamicsError(f"no arm '{arm}': the module {module} is not installed")
    return str(Path(found.submodule_search_locations[0]) / file)


def arms() -> list[str]:
    """Return the arms of example-robot-data with five to eight joints, and those of `FURTHER`."""
    found: dict[Path, str] = {}
    for name, path in sorted(example_robots().items()):
        try:
            with quiet():
                robot = read_urdf(bare(path.read_text(encoding="utf-8"), stiff=True))
                default_end_effector(robot)
        except (RobotDynamicsError, etree.XMLSyntaxError):
            continue
        if FEWEST <= robot.dof <= MOST and not any(word in name for word in LEFT_OUT):
            found.setdefault(path.resolve(), name)
    return [*found.values(), *(name for name, (module, _) in FURTHER.items() if find_spec(module))]


@cache
def plan_of(arm: str) -> Plan:
    """Find start and targets of an arm."""
    with quiet():
        text = urdf_text(source_of(arm))
        urdf, whole = bare(text, stiff=True), read_urdf(bare(text))
        robot = read_urdf(urdf)
    dynamics, end_effector = Dynamics(robot), default_end_effector(whole)
    model = Model(dynamics, gains_for(dynamics))
    task = Task(model, end_effector)
    selection = np.array([float(word == MOTION) for word in task.settings.controlled])
    length = task.mobility.length
    q = _pose_of_work(dynamics, end_effector, selection, length)
    beside, across = _past_singular(dynamics, end_effector, selection, length, q)
    start = _pose(dynamics, q, end_effector)
    p = start.translation
    outward = np.array([p[0], p[1], 0.0]) / max(np.hypot(p[0], p[1]), 1e-3)
    far = Pose(start.rotation, p + 1.5 * max(float(np.linalg.norm(p)), 0.3) * outward)
    way = _reachable(dynamics, end_effector, selection, q, np.r_[WAY, 0.0])
    turn = _reachable(dynamics, end_effector, selection, q, np.r_[0.0, TURN])
    toward = _reachable(dynamics, end_effector, selection, q, np.r_[0.1, 0.0])
    longer = max(1.0, UNHURRIED / float(velocity_limits(robot).min()))
    targets = {
        "hold": [(1.5, start)],
        "way": [(0.3, start), (4.0 * longer, way)],
        "turn": [(0.3, start), (4.0 * longer, turn)],
        "reach": [(0.3, start), (5.0, far), (9.0, start)],
        "singular": [
            (0.3, _pose(dynamics, beside, end_effector)),
            (7.0, _pose(dynamics, across, end_effector)),
        ],
        "wall": [(0.3, start), (4.0, toward)],
    }
    starts = {part: beside if part == "singular" else q for part in PARTS}
    return Plan(dynamics, end_effector, urdf, selection, starts, targets)


def _pose(dynamics: Dynamics, q: Array, end_effector: str) -> Pose:
    found = dynamics.pose(q, end_effector)
    return Pose(found.rotation, found.position)


def _scaled(
    dynamics: Dynamics, q: Array, end_effector: str, selection: Array, length: float
) -> Array:
    """Return singular values of the Jacobian in the directions of motion, lengths for angles."""
    J = dynamics.jacobian(q, end_effector) * np.repeat([1.0, length], 3)[:, None]
    return np.linalg.svd(J[selection > 0.0], compute_uv=False)


def _pose_of_work(dynamics: Dynamics, end_effector: str, selection: Array, length: float) -> Array:
    """Return the pose farthest from singular ones, in the middle of the ranges, lightly loaded."""
    robot, limit = dynamics.robot, effort_limits(dynamics.robot)
    best, most = None, -np.inf
    for q in 0.6 * sample_poses(robot) + 0.4 * _middle(robot):
        load = float((np.abs(dynamics.gravity(q)) / limit).max())
        value = _scaled(dynamics, q, end_effector, selection, length)[-1] - (
            1e3 if load > 0.7 else 0.0
        )
        low = dynamics.pose(q, end_effector).position[2] < 0.05
        if value - 1e2 * low > most:
            best, most = q, value - 1e2 * low
    assert best is not None
    return best


def _middle(robot: Robot) -> Array:
    lower, upper = np.maximum(robot.limits.lower, -np.pi), np.minimum(robot.limits.upper, np.pi)
    return (lower + upper) / 2.0


def _past_singular(
    dynamics: Dynamics, end_effector: str, selection: Array, length: float, q: Array
) -> tuple[Array, Array]:
    """Return two poses on either side of a singular one, 0.3 rad of one joint apart from it."""
    robot, best, least = dynamics.robot, q, np.inf
    for k in range(1, robot.dof):
        low, high = max(robot.limits.lower[k], -3.0) + 0.5, min(robot.limits.upper[k], 3.0) - 0.5
        for value in np.arange(low, high, 0.02):
            other = q.copy()
            other[k] = value
            size = _scaled(dynamics, other, end_effector, selection, length)[-1]
            # The nearest of poses that are equally singular
            if size + 1e-3 * abs(value - q[k]) < least:
                best, least, joint = other, size + 1e-3 * abs(value - q[k]), k
    beside, across = best.copy(), best.copy()
    side = np.sign(q[joint] - best[joint]) or 1.0
    beside[joint] += 0.3 * side
    across[joint] -= 0.3 * side
    return beside, across


def _reachable(
    dynamics: Dynamics, end_effector: str, selection: Array, q: Array, sizes: Array
) -> Pose:
    """Return a pose displaced from that of q, to which the arm gets freely.

    Of all directions the one that ends farthest from the ends of the ranges; a shorter way where
    none is free.
    """
    robot, start = dynamics.robot, _pose(dynamics, q, end_effector)
    lower, upper = robot.limits.lower, robot.limits.upper
    for share in (1.0, 0.7, 0.5, 0.3, 0.2, 0.1):
        best, room = None, 0.15
        for direction in itertools.product((-1.0, 0.0, 1.0), repeat=3):
            size = np.linalg.norm(direction)
            if size in (0.0, np.sqrt(3.0)):
                continue
            unit, at, free = np.array(direction) / size, q.copy(), np.inf
            twist = share * np.r_[sizes[0] * unit, sizes[1] * unit] / 40
            if (np.abs(twist) * (selection == 0.0)).any():
                continue
            for _ in range(40):
                J = dynamics.jacobian(at, end_effector)[selection > 0.0]
                dq = np.linalg.pinv(J, rcond=1e-3) @ twist[selection > 0.0]
                if np.abs(dq).max() > 0.15:
                    free = -1.0
                    break
                at = at + dq
                free = min(free, float(np.minimum(at - lower, upper - at).min()))
            if free > room:
                best, room = unit, free
        if best is not None:
            way, angle = share * sizes[0] * best, share * sizes[1]
            R = rodrigues(best, np.cos(angle), np.sin(angle))
            return Pose(R @ start.rotation, start.translation + way)
    return start


class Plant:
    """An arm in MuJoCo without stops, with a wall if a target is behind it.

    Args:
        plan: The arm.
        friction: Dry friction as a share of the effort limits.
    """

    def __init__(self, plan: Plan, friction: float) -> None:
        import mujoco as mj  # optional, and slow to import

        self._mj, self._plan, robot = mj, plan, plan.dynamics.robot
        settings = (
            '<mujoco><compiler fusestatic="true" discardvisual="true" balanceinertia="false"/>'
            "</mujoco>"
        )
        end = plan.urdf.rindex("</robot>")
        model = mj.MjModel.from_xml_string(plan.urdf[:end] + settings + plan.urdf[end:])
        names = [model.joint(j).name for j in range(model.njnt)]
        self._order = np.array([names.index(name) for name in robot.joint_names])
        self.limit = effort_limits(robot)
        model.dof_damping[:] = model.dof_armature[:] = 0.0
        finite = np.where(np.isfinite(self.limit), self.limit, 0.0)
        model.dof_frictionloss[self._order] = friction * finite
        model.jnt_limited[:] = model.jnt_actfrclimited[:] = 0
        model.opt.timestep, model.opt.gravity[:] = STEP, robot.gravity
        model.opt.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
        model.dof_solref[:] = 2.0 * STEP, 1.0  # stiff enough that friction does not creep
        model.dof_solimp[:, :2] = 0.99999
        self._model, self._data = model, mj.MjData(model)

    def reset(self, q: Array) -> None:
        """Put the arm at rest."""
        self._data.qpos[self._order] = q

    @property
    def state(self) -> tuple[Array, Array]:
        """Positions and velocities, shape (n,)."""
        return np.array(self._data.qpos)[self._order], np.array(self._data.qvel)[self._order]

    def step(self, tau: Array, push: Array | float = 0.0) -> None:
        """Apply efforts within their limits, and others from outside, for a step."""
        self._data.qfrc_applied[self._order] = np.clip(tau, -self.limit, self.limit) + push
        self._mj.mj_step(self._model, self._data)


def found_in(case: Case) -> Found:
    """Run a case."""
    plan = plan_of(case.arm)
    dynamics, end_effector, robot = plan.dynamics, plan.end_effector, plan.dynamics.robot
    model = Model(dynamics, gains_for(dynamics))
    task = Task(model, end_effector)
    controller = Controller(model, Settings(mode=case.mode), task)
    plant, q = Plant(plan, case.friction), plan.starts[case.part]
    plant.reset(q)
    states = deque([plant.state] * (round(case.delay / STEP) + 1))
    tau, now, k = dynamics.gravity(q), 0.0, 0
    speeds, beyond, last, forces, said = np.zeros(robot.dof), 0.0, [], [], ""
    wall: tuple[Array, Array] | None = None
    if case.part == "wall":
        a, b = (plan.targets["wall"][i][1].translation for i in (0, 1))
        normal = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
        wall = a + 0.02 * normal, normal
    lasting = [round(seconds / STEP) for seconds, _ in plan.targets[case.part]]
    for (_, goal), cycles in zip(plan.targets[case.part], lasting, strict=True):
        for cycle in range(cycles):
            if k == 500 or (cycle == 0 and k > 500):
                task.aim(goal, now)
            seen = states[0]
            controller.set_state(Measured(*seen), now, at=now - case.delay)
            command = controller.update(now)
            push, force = 0.0, 0.0
            if wall is not None:
                q, _ = plant.state
                deep = float((dynamics.pose(q, end_effector).position - wall[0]) @ wall[1])
                force = STIFFNESS * max(deep, 0.0)
                push = -force * (dynamics.jacobian(q, end_effector)[:3].T @ wall[1])
            plant.step(tau, push)
            tau = tau if command is None else command.tau
            states.append(plant.state)
            states.popleft()
            q, qd = states[-1]
            speeds = np.maximum(speeds, np.abs(qd))
            ends = robot.limits.lower - q, q - robot.limits.upper
            beyond = max(beyond, float(np.max(ends)))
            last.append(qd)
            forces.append(force)
            said = controller.stopped_by or task.obstacle or said
            now, k = now + STEP, k + 1
    goal = plan.targets[case.part][-1][1]
    pose = _pose(dynamics, plant.state[0], end_effector)
    away = plan.selection[:3] * (goal.translation - pose.translation)
    turned = plan.selection[3:] * rotation_vector(goal.rotation @ pose.rotation.T)
    way = float(np.linalg.norm(away))
    if wall is not None:
        ends = np.array(forces[-500:])
        way = float(np.ptp(ends) / max(ends.mean(), 1e-9))
    shakes = any(_turns(joint) for joint in np.array(last[-1000:]).T)
    if case.friction and not said:
        said = task.weakness(task.settings, model.fastest, case.friction)
    speed = float((speeds / velocity_limits(robot)).max())
    return Found(way, float(np.linalg.norm(turned)), speed, max(beyond, 0.0), shakes, said)


def _turns(speed: Array) -> bool:
    """Return whether a joint keeps turning to and fro."""
    signs = np.sign(speed[np.abs(speed) > 5e-3])
    return bool(np.count_nonzero(np.diff(signs)) >= 4)


def worst(found: Sequence[Found]) -> Found:
    """Return the worst of each number, and the line of the run that ends farthest away."""
    ways, turns, speeds, beyond, shakes, _ = zip(*found, strict=True)
    line = max((one for one in found if one.said), default=found[0]).said
    return Found(max(ways), max(turns), max(speeds), max(beyond), any(shakes), line)


def rows(cases: dict[Case, Found], arms: Sequence[str], friction: Sequence[float]) -> Iterator[str]:
    """Return a table: for each arm, mode and friction the worst of all delays."""
    yield (
        f"| arm, mode | friction | {', mm mrad | '.join(HEADINGS)}, mm mrad "
        "| wall: force varies by | speed / limit | beyond range, mrad | said |"
    )
    yield "|" + " --- |" * (6 + len(HEADINGS))
    for arm, mode, share in itertools.product(arms, MODES, friction):
        of = {
            part: worst([found for case, found in cases.items() if case[:3] == (arm, mode, share)
                         and case.part == part])
            for part in PARTS
        }  # fmt: skip
        cells = [
            f"{1e3 * of[part].way:.1f} {1e3 * of[part].turn:.0f}{' shakes' * of[part].shakes}"
            for part in PARTS[:-1]
        ]
        whole = worst(list(of.values()))
        lines = sorted(found.said for found in of.values() if found.said)
        said = {NUMBERS.sub("", line): line for line in lines}.values()  # of each kind the farthest
        yield (
            f"| {Path(arm).stem}, {mode} | {share:.0%} | {' | '.join(cells)} "
            f"| {of['wall'].way:.0%}{' shakes' * of['wall'].shakes} | {whole.speed:.2f} "
            f"| {1e3 * whole.beyond:.0f} | {'; '.join(said)} |"
        )


def main() -> int:
    """Run all, print the table, and write it to the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=str, help="further URDFs")
    parser.add_argument("--arms", help="names of arms, with commas (default: all)")
    parser.add_argument("--friction", help="percent, with commas")
    parser.add_argument("--delays", help="ms, with commas")
    parser.add_argument("--modes", help="modes, with commas")
    parser.add_argument("--parts", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--processes", type=int, default=2, help="at a time")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    if options.write and (options.parts or options.modes):
        parser.error("--write needs all parts and modes")

    def numbers(text: str | None, default: Sequence[float], unit: float) -> list[float]:
        return list(default) if text is None else [unit * float(x) for x in text.split(",")]

    chosen = options.arms.split(",") if options.arms else arms()
    chosen = [*(name for name in chosen if name), *options.files]
    friction = numbers(options.friction, FRICTION, 1e-2)
    delays = numbers(options.delays, DELAYS, 1e-3)
    modes = options.modes.split(",") if options.modes else MODES
    parts = options.parts.split(",") if options.parts else PARTS
    cases = [Case(*c) for c in itertools.product(chosen, modes, friction, delays, parts)]
    console, found = Console(), {}
    with (
        ProcessPoolExecutor(options.processes) as pool,
        progress_bar(console) as bar,
        step(bar, "arms", len(cases)) as advance,
    ):
        for case, result in zip(cases, pool.map(found_in, cases, chunksize=6), strict=True):
            found[case] = result
            advance()
    for case in itertools.product(chosen, MODES, friction, delays, PARTS):
        found.setdefault(Case(*case), Found(0.0, 0.0, 0.0, 0.0, False, ""))
    lines = list(rows(found, chosen, friction))
    console.print("\n".join(lines), markup=False, soft_wrap=True, highlight=False)
    if options.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        kept, _, rest = rest.partition(END)
        text = [f"Measured on {conditions()}.", "", *merged(kept.splitlines()[2:], lines)]
        PAGE.write_text(head + BEGIN + "\n".join(text) + "\n" + END + rest)
    return 0


def merged(before: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return a table with the rows of another one, in place of those of the same arm and case."""

    def case(row: str) -> str:
        return "|".join(row.split("|")[:3])

    rows = {case(row): row for row in [*new[:2], *before[2:]]}
    return list((rows | {case(row): row for row in new[2:]}).values())


if __name__ == "__main__":
    raise SystemExit(main())
