"""The compiled closed loop: lane by lane the motion of the scalar simulation."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from robot_dynamics.control import Friction, Gains, Model, gains_for
from robot_dynamics.dynamics import Dynamics
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
from robot_dynamics.simulation.lanes.compiled_loop import CompiledLoop, Structure
from robot_dynamics.simulation.lanes.lane_parameters import (
    first_efforts,
    model_parameters,
    plant_parameters,
    reference_table,
)
from robot_dynamics.trajectory import excitation, interpolate

# Both sides are float64 and differ in the order of operations: the worst joint of a second is
# 2e-12 away. A wrong sign, or one step of delay more, gives 1e-4 and more
SAME_MOTION = 1e-9

STEP = 1e-3
SECOND = 1000


@dataclass
class Lane:
    """What differs from robot to robot."""

    spread: float = 0.0
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


LANES = (
    Lane(),
    Lane(spread=0.3, payload=1.5, viscous=1.0, coulomb=2.0),
    Lane(gravity=(1.0, -2.0, -9.0), noise=1e-4, key=1 << 63),
    Lane(sensor_delay=2, command_delay=3, bandwidth=10.0, resolution=1e-4),
    Lane(every=4, sensor_delay=4, noise=2e-5, bandwidth=12.0),
    Lane(effort_rate=200.0, limit_share=0.3, spread=0.2),
    Lane(ki=300.0, coulomb=5.0),
    Lane(viscous=0.0, coulomb=0.0),
    Lane(viscous=0.0, coulomb=8.0, spread=0.4),
    Lane(stops=True, limit_share=0.4, bandwidth=3.0, gravity=(9.0, 0.0, -3.0)),
)


def arm_named(name):
    robot = read_urdf(find_robot(name))
    locked = {"panda_finger_joint1": 0.02}
    return robot.with_locked(locked) if name == "panda" else robot


def loaded(robot, lane):
    heavy = perturbed(robot, lane.spread, seed=3) if lane.spread else robot
    return heavy.with_payload(robot.tips[0], mass=lane.payload, com=(0.0, 0.0, 0.1))


def model_of(dynamics, lane, coupled):
    gains = gains_for(dynamics, bandwidth=lane.bandwidth)
    gains = Gains(lane.stiffness * gains.kp, gains.kd, np.array([lane.ki]), np.array([5.0]))
    friction = Friction.of(dynamics.robot)
    return Model(dynamics, gains, friction, bandwidth=lane.bandwidth, coupled=coupled)


@functools.cache
def compiled(robot, structure):
    return CompiledLoop(robot, structure)


def scalar_motion(robot, model, mode, motion, lane, integrator):
    n = robot.dof
    friction = Friction(np.full(n, lane.viscous), np.full(n, lane.coulomb))
    plant = Plant(
        loaded(robot, lane).with_gravity(lane.gravity),
        friction=friction,
        stops=lane.stops,
        limit_effort=False,
        step=STEP,
        integrator=integrator,
    )
    sensor = Sensor(
        Imperfections(
            position_noise=lane.noise,
            velocity_noise=10.0 * lane.noise,
            position_resolution=lane.resolution,
            delay=lane.sensor_delay // lane.every,
            stream=lane.key,
        )
    )
    limit = lane.limit_share * robot.limits.effort
    law = LawController(
        model, mode, period=lane.every * STEP, effort_rate=lane.effort_rate, limit=limit
    )
    return simulate(
        plant,
        law,
        motion,
        rate=1.0 / (lane.every * STEP),
        duration=1.0 - lane.every * STEP,
        sensor=sensor,
        command_delay=lane.command_delay * STEP,
    )


def compiled_motions(robot, dynamics, motion, lanes, structure, threads=1):
    loop = compiled(robot, structure)
    letters, n = loop.letters, robot.dof
    models = [model_of(dynamics, lane, structure.coupled) for lane in lanes]
    t = np.arange(SECOND) * STEP
    table = reference_table(models[0], structure, motion, t, np.zeros((SECOND, 2)))
    rows = []
    for lane, model in zip(lanes, models, strict=True):
        friction = Friction(np.full(n, lane.viscous), np.full(n, lane.coulomb))
        one = plant_parameters(letters, friction, stops=lane.stops, step=STEP)
        one |= model_parameters(letters, model)
        one |= {
            "body": letters.values(loaded(robot, lane)),
            "gravity": np.array(lane.gravity),
            "spread": np.repeat([lane.noise, 10.0 * lane.noise], n),
            "resolution": np.repeat([lane.resolution, 0.0], n),
            "sensor_delay": np.array([lane.sensor_delay]),
            "command_delay": np.array([lane.command_delay]),
            "every": np.array([lane.every]),
            "effort_rate": np.full(n, lane.effort_rate),
            "limit": lane.limit_share * robot.limits.effort,
        }
        rows.append(one)
    parameters = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    parameters["q"] = motion.sample(0.0).q
    parameters["last"] = first_efforts(models[0], [motion])[0]
    keys = np.array([lane.key for lane in lanes], dtype=np.uint64)
    which = np.zeros(len(lanes), dtype=int)
    return loop.run(parameters, table[None], which, keys, record=True, threads=threads), models


EULER, KUTTA = "semi_implicit_euler", "runge_kutta"
THOROUGH = (
    ("panda", "feedforward", EULER, False),
    ("ur5", "computed_torque", KUTTA, False),
    ("panda", "computed_torque", KUTTA, False),
    ("ur5", "impedance", EULER, False),
    ("ur5", "feedforward", EULER, True),
    ("planar_2r", "pd_gravity", EULER, False),
    ("planar_2r", "gravity_compensation", EULER, False),
)


@pytest.mark.parametrize(
    ("name", "mode", "integrator", "coupled"),
    [
        ("planar_2r", "feedforward", EULER, False),
        ("planar_2r", "pd", KUTTA, False),
        *(pytest.param(*case, marks=pytest.mark.thorough) for case in THOROUGH),
    ],
)
def test_every_lane_moves_as_the_scalar_simulation_does(name, mode, integrator, coupled):
    robot = arm_named(name)
    dynamics = Dynamics(robot)
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    lanes = [lane for lane in LANES if not lane.stops or name != "planar_2r"]
    structure = Structure(mode, integrator, coupled, integral=True)
    ours, models = compiled_motions(robot, dynamics, motion, lanes, structure)
    for k, (lane, model) in enumerate(zip(lanes, models, strict=True)):
        log = scalar_motion(robot, model, mode, motion, lane, integrator)
        at = slice(None, None, lane.every)
        for what, theirs in (("q", log.q), ("qd", log.qd)):
            off = np.abs(ours.record[what][at, k] - theirs).max()
            assert off <= SAME_MOTION, f"{name}, {mode}, lane {k}, {what}: {off:.1e}; {lane}"
        peak = ours.statistics["peak_error"][k] - log.peak_error
        assert np.abs(peak).max() <= SAME_MOTION, lane
        mean = ours.statistics["square_error"][k] / ours.statistics["counted"][k]
        assert np.sqrt(mean) == pytest.approx(log.rms_error, abs=SAME_MOTION)


def test_a_lane_does_not_depend_on_its_neighbours_nor_on_threads():
    robot = arm_named("planar_2r")
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    structure = Structure("pd", integral=True)
    lanes = [lane for lane in LANES if not lane.stops] * 3
    dynamics = Dynamics(robot)
    alone = [compiled_motions(robot, dynamics, motion, [lane], structure)[0] for lane in lanes[:9]]
    together = compiled_motions(robot, dynamics, motion, lanes, structure)[0]
    threads = compiled_motions(robot, dynamics, motion, lanes, structure, threads=2)[0]
    for k, one in enumerate(alone):
        assert np.array_equal(one.record["q"][:, 0], together.record["q"][:, k]), lanes[k]
    assert np.array_equal(together.record["q"], threads.record["q"])


def test_a_lane_that_diverges_stands_still_and_leaves_the_others_alone():
    robot = arm_named("planar_2r")
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    structure = Structure("pd", integral=True)
    wild = Lane(stiffness=1e4, every=4, viscous=0.0, coulomb=0.0, limit_share=1e9)
    lanes = [Lane(), wild, Lane(noise=1e-4)]
    ours, _ = compiled_motions(robot, Dynamics(robot), motion, lanes, structure)
    calm, _ = compiled_motions(
        robot, Dynamics(robot), motion, [Lane(), Lane(), lanes[2]], structure
    )
    assert ours.statistics["alive"][:, 0].tolist() == [1.0, 0.0, 1.0]
    assert np.isfinite(ours.record["q"]).all()
    assert np.array_equal(ours.record["q"][:, [0, 2]], calm.record["q"][:, [0, 2]])


def test_a_parameter_that_the_structure_leaves_out_is_refused():
    robot = arm_named("planar_2r")
    structure = Structure("pd", sensed=False)
    with pytest.raises(ArgumentError) as refused:
        compiled_motions(
            robot,
            Dynamics(robot),
            interpolate(excitation(robot, 1.0, share=0.2)),
            [Lane(noise=1e-4)],
            structure,
        )
    assert str(refused.value) == (
        "spread is given, but the loop was compiled without; take Structure(sensed=True)"
    )


def test_a_structure_that_leaves_out_what_is_not_there_moves_the_same():
    robot = arm_named("planar_2r")
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    lane, dynamics = Lane(viscous=0.3, coulomb=0.0), Dynamics(robot)
    full = compiled_motions(robot, dynamics, motion, [lane], Structure("pd", integral=True))[0]
    lean = Structure("pd", passive=False, sensed=False, sent=False, every=False, shared=True)
    short = compiled_motions(robot, dynamics, motion, [lane], lean)[0]
    for what in ("q", "qd", "tau"):
        np.testing.assert_allclose(short.record[what], full.record[what], atol=SAME_MOTION)
    for name in ("square_error", "peak_effort", "counted", "lived"):
        np.testing.assert_allclose(short.statistics[name], full.statistics[name], rtol=1e-9)
