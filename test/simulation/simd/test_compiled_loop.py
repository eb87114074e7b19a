"""The compiled closed loop: every batch member moves as in the scalar simulation."""

import functools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from robot_dynamics.control import (
    TASK_MODES,
    Controller,
    Friction,
    Gains,
    Model,
    Settings,
    gains_for,
)
from robot_dynamics.control.task import Task
from robot_dynamics.control.task_settings import TaskSettings
from robot_dynamics.control.task_space import KINEMATIC, rotation_vector
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.simulation import (
    Imperfections,
    LawController,
    Plant,
    Sensor,
    perturbed,
    simulate,
)
from robot_dynamics.simulation.base_motions import Poses, Sine, in_steps
from robot_dynamics.simulation.simd.compiled_loop import (
    CompiledLoop,
    first_efforts,
    plant_parameters,
    reference_table,
)
from robot_dynamics.simulation.simd.law_stages import LAW, LoopStructure, law_parameters
from robot_dynamics.trajectory import excitation, interpolate

# Both sides are float64 and differ in the order of operations: the worst joint of a second is
# 2e-12 away. A wrong sign, or one step of delay more, gives 1e-4 and more
SAME_MOTION = 1e-9

STEP = 1e-3
SECOND = 1000


@dataclass
class Member:
    """One member of a batch: the values that differ from robot to robot."""

    mass_error: float = 0.0
    payload: float = 0.0
    viscous: float = 0.2
    coulomb: float = 0.3
    gravity: tuple = (0.0, 0.0, -9.81)
    noise: float = 0.0
    resolution: float = 0.0
    sensor_delay: int = 0
    command_delay: int = 0
    every: int = 1
    bandwidth: float = 20.0
    stiffness: float = 1.0
    ki: float = 0.0
    effort_rate: float = np.inf
    limit_share: float = 1.0
    stops: bool = False
    duration: float = 1.0
    key: int = 5


MEMBERS = (
    Member(),
    Member(mass_error=0.3, payload=1.5, viscous=1.0, coulomb=2.0),
    Member(gravity=(1.0, -2.0, -9.0), noise=1e-4, key=1 << 63),
    Member(sensor_delay=2, command_delay=3, bandwidth=10.0, resolution=1e-4),
    Member(every=4, sensor_delay=4, noise=2e-5, bandwidth=12.0),
    Member(effort_rate=200.0, limit_share=0.3, mass_error=0.2),
    Member(ki=300.0, coulomb=5.0),
    Member(viscous=0.0, coulomb=0.0),
    Member(viscous=0.0, coulomb=8.0, mass_error=0.4),
    Member(stops=True, limit_share=0.4, bandwidth=3.0, gravity=(9.0, 0.0, -3.0)),
)


def arm_named(name):
    robot = read_urdf(find_robot(name))
    locked = {"panda_finger_joint1": 0.02}
    return robot.with_locked(locked) if name == "panda" else robot


def loaded(robot, member):
    heavy = perturbed(robot, member.mass_error, seed=3) if member.mass_error else robot
    return heavy.with_payload(robot.tips[0], mass=member.payload, com=(0.0, 0.0, 0.1))


def model_of(dynamics, member, inertia_weighted):
    gains = gains_for(dynamics, bandwidth=member.bandwidth)
    gains = Gains(member.stiffness * gains.kp, gains.kd, np.array([member.ki]), np.array([5.0]))
    friction = Friction.of(dynamics.robot)
    return Model(
        dynamics, gains, friction, bandwidth=member.bandwidth, inertia_weighted=inertia_weighted
    )


VARIED = ("kp", "kd", "ki", "i_clamp", "effort", "effort_rate")


def controller_of(model, mode, task=None):
    return Controller(model, Settings(mode, fade=0.0), task)


@functools.cache
def compiled(model, structure):
    task = Task(model, structure.end_effector) if structure.in_task_space else None
    return CompiledLoop(controller_of(model, structure.mode, task), structure)


class KnowingTheBase:
    """A law whose model has the motion of the base now."""

    def __init__(self, law, base):
        self.law, self.base = law, base

    def __call__(self, t, desired, measured):
        tracking = self.law.tracking
        tracking.model = replace(tracking.model, base=self.base(t))
        return self.law(t, desired, measured)


def scalar_motion(
    robot, model, mode, motion, member, integrator, settings=None, base=None, known=None
):
    n = robot.dof
    friction = Friction(np.full(n, member.viscous), np.full(n, member.coulomb))
    plant = Plant(
        loaded(robot, member).with_gravity(member.gravity),
        friction=friction,
        stops=member.stops,
        limit_effort=False,
        step=STEP,
        integrator=integrator,
        base=base,
    )
    sensor = Sensor(
        Imperfections(
            position_noise=member.noise,
            velocity_noise=10.0 * member.noise,
            position_resolution=member.resolution,
            delay=member.sensor_delay // member.every,
            stream=member.key,
        )
    )
    limit = member.limit_share * robot.limits.effort
    law = LawController(
        model,
        mode,
        period=member.every * STEP,
        effort_rate=member.effort_rate,
        limit=limit,
        task=Task(model, robot.tips[0], settings) if mode in TASK_MODES else None,
    )
    return simulate(
        plant,
        KnowingTheBase(law, base) if known == "motion" else law,
        motion,
        rate=1.0 / (member.every * STEP),
        duration=1.0 - member.every * STEP,
        sensor=sensor,
        command_delay=member.command_delay * STEP,
    )


def compiled_motions(
    robot, dynamics, motion, members, structure, threads=1, base=None, inertia_weighted=False
):
    n = robot.dof
    models = [model_of(dynamics, member, inertia_weighted) for member in members]
    t = np.arange(SECOND) * STEP
    moved = None if base is None else in_steps(base, robot, t, STEP)
    known = structure.base == "motion"
    knowing = [replace(one, base=moved[0, :15]) if known else one for one in models]
    loop = compiled(knowing[0], structure)
    inertias = loop.inertias
    table = reference_table(knowing[0], structure, motion, t, np.zeros((SECOND, 2)), moved)
    rows = []
    for member, model in zip(members, knowing, strict=True):
        friction = Friction(np.full(n, member.viscous), np.full(n, member.coulomb))
        one = plant_parameters(inertias, friction, stops=member.stops, step=STEP)
        task = Task(model, structure.end_effector) if structure.in_task_space else None
        one |= law_parameters(controller_of(model, structure.mode, task))
        one |= {
            "body": inertias.values(loaded(robot, member)),
            "gravity": np.array(member.gravity),
            "deviation": np.repeat([member.noise, 10.0 * member.noise], n),
            "resolution": np.repeat([member.resolution, 0.0], n),
            "sensor_delay": np.array([member.sensor_delay]),
            "command_delay": np.array([member.command_delay]),
            "cycle_steps": np.array([member.every]),
            f"{LAW}effort_rate": np.full(n, member.effort_rate),
            f"{LAW}effort": member.limit_share * robot.limits.effort,
        }
        rows.append(one)
    parameters = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    parameters["q"] = motion.sample(0.0).q
    parameters["last"] = first_efforts(knowing[0], [motion])[0]
    keys = np.array([member.key for member in members], dtype=np.uint64)
    which = np.zeros(len(members), dtype=int)
    return loop.run(parameters, table[None], which, keys, record=True, threads=threads), models


EULER, KUTTA = "semi_implicit_euler", "runge_kutta"
THOROUGH = (
    ("panda", "feedforward", EULER, False),
    ("ur5", "computed_torque", KUTTA, False),
    ("panda", "computed_torque", KUTTA, False),
    ("ur5", "impedance", EULER, False),
    ("ur5", "feedforward", EULER, True),
    ("planar_2r", "pd", KUTTA, False),
    ("planar_2r", "cartesian_impedance", EULER, False),
    ("planar_2r", "pd_gravity", EULER, False),
    ("planar_2r", "gravity_compensation", EULER, False),
    ("ur5", "cartesian_impedance", KUTTA, False),
    ("panda", "operational_space", EULER, False),
)


@pytest.mark.parametrize(
    ("name", "mode", "integrator", "inertia_weighted"),
    [
        ("planar_2r", "feedforward", EULER, False),
        *(pytest.param(*case, marks=pytest.mark.thorough) for case in THOROUGH),
    ],
)
def test_every_lane_moves_as_the_scalar_simulation_does(name, mode, integrator, inertia_weighted):
    robot = arm_named(name)
    dynamics = Dynamics(robot)
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    members = [member for member in MEMBERS if not member.stops or name != "planar_2r"]
    if mode in TASK_MODES:
        members = MEMBERS[1:5]  # whose end effectors turn little: the RMS of rotations is a series
    structure = LoopStructure(mode, integrator, end_effector=robot.tips[0], varied=VARIED)
    ours, models = compiled_motions(
        robot, dynamics, motion, members, structure, inertia_weighted=inertia_weighted
    )
    for k, (member, model) in enumerate(zip(members, models, strict=True)):
        log = scalar_motion(robot, model, mode, motion, member, integrator)
        at = slice(None, None, member.every)
        for what, theirs in (("q", log.q), ("qd", log.qd)):
            off = np.abs(ours.record[what][at, k] - theirs).max()
            assert off <= SAME_MOTION, f"{name}, {mode}, member {k}, {what}: {off:.1e}; {member}"
        peak = ours.statistics["peak_error"][k] - log.peak_error
        assert np.abs(peak).max() <= SAME_MOTION, member
        mean = ours.statistics["square_error"][k] / ours.statistics["counted"][k]
        assert np.sqrt(mean) == pytest.approx(log.rms_error, abs=SAME_MOTION)
        for part, off in end_effector_errors(dynamics, log, structure.end_effector).items():
            peak, square = (
                ours.statistics[f"end_effector_{x}_{part}"][k, 0] for x in ("peak", "square")
            )
            rms = np.sqrt(square / ours.statistics["counted"][k, 0])
            assert peak == pytest.approx(off.max(), abs=SAME_MOTION), (part, member)
            # The series of the square of an angle is cut off: 3e-8 at 0.3 rad, 2 % at 1.8 rad
            close = 1e-7 if part == "position" or off.max() < 0.3 else 1e-2
            true = np.sqrt(np.mean(off**2))
            assert rms == pytest.approx(true, rel=close, abs=SAME_MOTION), (part, member)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "mode", "integrator", "known"),
    [
        ("planar_2r", "computed_torque", EULER, "motion"),
        ("planar_2r", "feedforward", KUTTA, "still"),
        ("ur5", "computed_torque", KUTTA, "motion"),
        ("ur5", "operational_space", EULER, "motion"),
    ],
)
def test_a_lane_on_a_base_that_moves_does_so_too(name, mode, integrator, known):
    robot = arm_named(name)
    dynamics = Dynamics(robot)
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    members = MEMBERS[:2]
    # turns and shakes at once: all 15 numbers differ from zero
    turn, shake = Sine("rx", 0.4, 1.5), Sine("y", 0.05, 1.0)
    t = np.linspace(-0.1, 1.2, 131)
    poses = [(shake.pose(at)[0], turn.pose(at)[1]) for at in t]
    base = Poses(t, *(np.array(part) for part in zip(*poses, strict=True)))
    structure = LoopStructure(
        mode, integrator, end_effector=robot.tips[0], base=known, varied=VARIED
    )
    ours, models = compiled_motions(robot, dynamics, motion, members, structure, base=base)
    for k, (member, model) in enumerate(zip(members, models, strict=True)):
        log = scalar_motion(robot, model, mode, motion, member, integrator, base=base, known=known)
        for what, theirs in (("q", log.q), ("qd", log.qd)):
            off = np.abs(ours.record[what][:, k] - theirs).max()
            assert off <= SAME_MOTION, f"{name}, {mode}, member {k}, {what}: {off:.1e}"


def end_effector_errors(dynamics, log, end_effector):
    """Return the errors of the end effector in every cycle, m and rad."""
    (R_d, p_d), (R, p) = (dynamics.pose(q, end_effector) for q in (log.q_d, log.q))
    turns = [rotation_vector(one @ other.T) for one, other in zip(R_d, R, strict=True)]
    return {
        "position": np.linalg.norm(p_d - p, axis=1),
        "rotation": np.linalg.norm(turns, axis=1),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("mode", list(TASK_MODES))
def test_a_lane_takes_all_settings_of_the_end_effector(mode):
    robot = arm_named("ur5")
    dynamics, end_effector = Dynamics(robot), robot.tips[0]
    coupled = np.diag([900.0, 1100.0, 500.0, 20.0, 25.0, 15.0])
    coupled[0, 1] = coupled[1, 0] = 300.0
    settings = TaskSettings(
        coupled,
        np.array([3.0, 2.0, 4.0, 0.1, 0.2, 0.1]),
        axes="frame",
        damping=np.array([60.0, 70.0, 50.0, 1.0, 2.0, 1.0]),
        controlled=("motion", "motion", "force", "motion", "motion", "motion"),
        free_axis=np.array([0.0, 0.0, 1.0]),
        projector=KINEMATIC,
    )
    member = Member(mass_error=0.1, payload=1.0)
    model = replace(
        model_of(dynamics, member, inertia_weighted=False),
        friction=Friction(np.full(6, 0.3), np.full(6, 0.5)),
    )
    task = Task(model, end_effector, settings)
    structure = LoopStructure(mode, end_effector=end_effector)
    motion = interpolate(excitation(robot, 1.0, share=0.05))
    loop = CompiledLoop(controller_of(model, mode, task), structure)
    friction = Friction(np.full(6, member.viscous), np.full(6, member.coulomb))
    parameters = plant_parameters(loop.inertias, friction, stops=False, step=STEP)
    parameters |= {
        "body": loop.inertias.values(loaded(robot, member)),
        "q": motion.sample(0.0).q,
        "last": first_efforts(model, [motion])[0],
    }
    t = np.arange(SECOND) * STEP
    table = reference_table(model, structure, motion, t, np.zeros((SECOND, 2)))
    ours = loop.run(parameters, table[None], np.zeros(1, int), np.array([5]), record=True)
    log = scalar_motion(robot, model, mode, motion, member, EULER, settings)
    assert np.abs(ours.record["q"][:, 0] - log.q).max() <= SAME_MOTION
    assert np.abs(log.q - log.q_d).max() > 1e-3  # the friction of the model is not that of the arm


def test_a_law_in_task_space_without_an_end_effector_is_refused():
    with pytest.raises(ArgumentError) as refused:
        LoopStructure("operational_space")
    assert (
        str(refused.value)
        == "mode 'operational_space' leads an end effector; give the structure one"
    )


def test_a_lane_does_not_depend_on_its_neighbours_nor_on_threads():
    robot = arm_named("planar_2r")
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    structure = LoopStructure("pd", varied=VARIED)
    members = [member for member in MEMBERS if not member.stops] * 3
    dynamics = Dynamics(robot)
    alone = [compiled_motions(robot, dynamics, motion, [m], structure)[0] for m in members[:9]]
    together = compiled_motions(robot, dynamics, motion, members, structure)[0]
    threads = compiled_motions(robot, dynamics, motion, members, structure, threads=2)[0]
    for k, one in enumerate(alone):
        assert np.array_equal(one.record["q"][:, 0], together.record["q"][:, k]), members[k]
    assert np.array_equal(together.record["q"], threads.record["q"])


def test_a_lane_that_diverges_stands_still_and_leaves_the_others_alone():
    robot = arm_named("planar_2r")
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    structure = LoopStructure("pd", varied=VARIED)
    wild = Member(stiffness=1e4, every=4, viscous=0.0, coulomb=0.0, limit_share=1e9)
    members = [Member(), wild, Member(noise=1e-4)]
    ours, _ = compiled_motions(robot, Dynamics(robot), motion, members, structure)
    calm, _ = compiled_motions(
        robot, Dynamics(robot), motion, [Member(), Member(), members[2]], structure
    )
    assert ours.statistics["alive"][:, 0].tolist() == [1.0, 0.0, 1.0]
    assert np.isfinite(ours.record["q"]).all()
    assert np.array_equal(ours.record["q"][:, [0, 2]], calm.record["q"][:, [0, 2]])


def test_a_parameter_that_the_structure_leaves_out_is_refused():
    robot = arm_named("planar_2r")
    structure = LoopStructure("pd", imperfect_states=False, varied=VARIED)
    with pytest.raises(ArgumentError) as refused:
        compiled_motions(
            robot,
            Dynamics(robot),
            interpolate(excitation(robot, 1.0, share=0.2)),
            [Member(noise=1e-4)],
            structure,
        )
    assert str(refused.value) == (
        "deviation is given, but the loop was compiled without; take "
        "LoopStructure(imperfect_states=True)"
    )


def test_another_number_than_the_one_compiled_in_is_refused():
    robot = arm_named("planar_2r")
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    members = [Member(), Member(ki=300.0)]
    varied = tuple(name for name in VARIED if name != "ki")
    with pytest.raises(ArgumentError) as refused:
        compiled_motions(
            robot, Dynamics(robot), motion, members, LoopStructure("pd", varied=varied)
        )
    assert str(refused.value) == (
        "law_ki differs from the number that was compiled in; take LoopStructure(varied=('ki',))"
    )


def test_a_structure_that_leaves_out_what_is_not_there_moves_the_same():
    robot = arm_named("planar_2r")
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    member, dynamics = Member(viscous=0.3, coulomb=0.0), Dynamics(robot)
    full = compiled_motions(robot, dynamics, motion, [member], LoopStructure("pd", varied=VARIED))[
        0
    ]
    lean = LoopStructure(
        "pd",
        passive=False,
        imperfect_states=False,
        delayed_commands=False,
        longer_cycle=False,
        shared=True,
        varied=VARIED,
    )
    short = compiled_motions(robot, dynamics, motion, [member], lean)[0]
    for what in ("q", "qd", "tau"):
        np.testing.assert_allclose(short.record[what], full.record[what], atol=SAME_MOTION)
    for name in ("square_error", "peak_effort", "counted", "lived"):
        np.testing.assert_allclose(short.statistics[name], full.statistics[name], rtol=1e-9)
