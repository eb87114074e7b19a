"""CompiledPlant, held to Plant: the same motion, step for step, from random states."""

import numpy as np
import pytest

from robot_dynamics import read_urdf
from robot_dynamics.control.friction import Friction
from robot_dynamics.errors import ArgumentError, SimulationError
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import Plant
from robot_dynamics.simulation.compiled_plant import MOST_JOINTS, CompiledPlant

pytest.importorskip("llvmlite", reason="plants are compiled by llvmlite")

ROUND_OFF = 1e-11
"""Relative: worst of 300 states of the Panda 2e-14; one wrong case of a joint gives 1e-3."""

SLOPE_ROUND_OFF = 1e-7
"""Where the stiffness of friction with memory is a quotient of differences over a way of 1e-9."""

FRICTIONS = {
    "none": Friction.none,
    "dry": lambda n: Friction(np.full(n, 0.3), np.full(n, 2.0)),
    "stribeck": lambda n: Friction(
        np.full(n, 0.1), np.full(n, 1.0), np.full(n, 0.5), np.full(n, 0.05)
    ),
    "load_or_offset": lambda n: Friction(
        np.full(n, 0.1), np.full(n, 1.0), load=np.full(n, 0.2), offset=np.full(n, 0.4)
    ),
    "memory": lambda n: Friction(
        np.full(n, 0.1),
        np.full(n, 1.0),
        np.full(n, 0.5),
        np.full(n, 0.05),
        load=np.full(n, 0.2),
        offset=np.full(n, 0.4),
        memory=np.linspace(0.0, 1.0, n),
        slip=np.full(n, 1e-3),
        slip_ratio=np.full(n, 3.0),
        elastic=np.linspace(1.0, 0.0, n),
    ),
}


@pytest.fixture(
    scope="module", params=["planar_2r", pytest.param("panda", marks=pytest.mark.thorough)]
)
def robot(request):
    return read_urdf(find_robot(request.param))  # the Panda has a finger that mimics another


@pytest.mark.parametrize("friction", FRICTIONS)
def test_every_step_is_that_of_the_readable_plant(robot, friction):
    n, random = robot.dof, np.random.default_rng(1)
    close = SLOPE_ROUND_OFF if friction == "memory" else ROUND_OFF
    options = {"stops": True, "friction": FRICTIONS[friction](n), "step": 1e-3}
    readable, compiled = Plant(robot, **options), CompiledPlant(robot, **options)
    lower, upper = (np.clip(x, -3.0, 3.0) for x in (robot.limits.lower, robot.limits.upper))
    limit = np.minimum(readable.limit, 100.0)
    for _ in range(40):
        q = random.uniform(lower, upper)
        at_stop = random.random(n) < 0.2
        q[at_stop] = np.where(random.random(n) < 0.5, lower, upper)[at_stop]
        qd = random.normal(size=n) * (random.random(n) < 0.7)  # some stand
        readable.reset(q, qd)
        compiled.reset(q, qd)
        for _ in range(3):  # the second step begins from the impulses of the first
            tau = random.normal(size=n) * limit
            readable.step(tau)
            compiled.step(tau)
            for name in ("q", "qd", "tau"):
                ours, theirs = getattr(compiled, name), getattr(readable, name)
                np.testing.assert_allclose(ours, theirs, rtol=close, atol=close)
            # Divided by the time step
            np.testing.assert_allclose(
                compiled.qdd, readable.qdd, rtol=1e3 * close, atol=1e3 * close
            )
            assert compiled.saturated.tolist() == readable.saturated.tolist()
            assert compiled.time == readable.time


@pytest.mark.parametrize("kind", [Plant, CompiledPlant])
def test_what_a_plant_told_stays_as_it_was_when_it_moves_on(kind):
    robot = read_urdf(find_robot("planar_2r"))
    plant, told = kind(robot, [0.3, -0.2]), []
    for tau in ([1.0, 2.0], [-3.0, 1e6]):
        plant.step(np.array(tau))
        told.append((plant.rows, np.array((plant.q, plant.qd, plant.tau))))
    plant.reset([0.1, 0.2], [0.3, 0.4])
    told.append((plant.rows, np.array([[0.1, 0.2], [0.3, 0.4], [0.0, 0.0]])))
    for rows, expected in told:
        np.testing.assert_array_equal(rows, expected)
    assert told[1][0][2, 1] == plant.limit[1]


def test_a_joint_that_sticks_stands_still_and_one_at_its_stop_stays_there():
    robot = read_urdf(find_robot("planar_2r"))
    held = CompiledPlant(robot, [0.3, -0.2], friction=Friction(np.zeros(2), np.full(2, 1e3)))
    for _ in range(50):
        held.step(np.array([5.0, -5.0]))
    assert held.q.tolist() == [0.3, -0.2] and held.qd.tolist() == [0.0, 0.0]
    upper = robot.limits.upper
    stopped = CompiledPlant(robot, upper - 1e-4, stops=True)
    for _ in range(50):
        stopped.step(stopped.limit.clip(max=50.0))
    assert (stopped.q <= upper + 1e-12).all()


def test_a_motion_that_diverges_is_told_with_the_joint_and_can_be_placed_anew():
    robot = read_urdf(find_robot("planar_2r"))
    plant = CompiledPlant(robot, limit_effort=False)
    with pytest.raises(SimulationError, match=r"^joint 'joint_\d' diverged at "):
        for _ in range(10_000):
            plant.step(np.array([1e9, -1e9]))
    plant.reset([0.1, 0.2])
    plant.step(np.zeros(2))
    assert np.isfinite(plant.q).all()


def test_an_effort_that_is_not_finite_leaves_the_state_as_it_is():
    plant = CompiledPlant(read_urdf(find_robot("planar_2r")), [0.1, 0.2])
    with pytest.raises(ArgumentError, match="tau"):
        plant.step(np.array([np.nan, 0.0]))
    assert plant.q.tolist() == [0.1, 0.2]


def test_a_robot_of_many_joints_is_left_to_the_readable_plant():
    robot = read_urdf(find_robot("talos"))
    assert robot.dof > MOST_JOINTS
    with pytest.raises(ArgumentError, match="takes at most"):
        CompiledPlant(robot)
