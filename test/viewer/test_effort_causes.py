"""Efforts taken apart add up to what the equations of motion say."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import Friction
from robot_dynamics.robot import find_robot, merge_fixed
from robot_dynamics.simulation import with_mass_scaled
from robot_dynamics.viewer.effort_causes import CAUSES, EffortSplitter
from robot_dynamics.viewer.live_arm import ball
from robot_dynamics.viewer.snapshot import Snapshot, tool_frame

ROUND_OFF = 1e-9  # N m of some hundred; one wrong sign gives more than 1e-2


@pytest.fixture(scope="module", params=["planar_2r", "panda"])
def arm(request):
    """A robot, its equations, and a state of motion; the Panda has a mimic joint."""
    robot = read_urdf(find_robot(request.param))
    q, qd, qdd = np.random.default_rng(3).uniform(-1.0, 1.0, (3, robot.dof))
    return robot, Dynamics(robot), (q, qd, qdd)


def test_causes_add_up_to_inverse_dynamics_under_load(arm):
    robot, dynamics, (q, qd, qdd) = arm
    load = {"payload": ball(2.0), "wrench": np.array([10.0, -5.0, 20.0, 0.5, 1.0, -2.0])}
    now = Snapshot(0.0, q, qd, qdd, q, **load)
    splitter = EffortSplitter(robot, dynamics, frame := tool_frame(robot))
    expected = dynamics.inverse(q, qd, qdd, **load, frame=frame) + Friction.of(robot).smooth(qd)
    np.testing.assert_allclose(splitter.split(now).total, expected, atol=ROUND_OFF)
    np.testing.assert_allclose(splitter.model_effort(now), expected, atol=ROUND_OFF)


def test_each_cause_vanishes_without_its_motion(arm):
    robot, dynamics, (q, *_) = arm
    splitter, none = EffortSplitter(robot, dynamics, None), np.zeros(robot.dof)
    still = splitter.split(Snapshot(0.0, q, none, none, q)).by_cause
    np.testing.assert_array_equal(np.delete(still, CAUSES.index("gravity"), axis=0), 0.0)
    np.testing.assert_allclose(still.sum(axis=0), dynamics.gravity(q), atol=ROUND_OFF)


def test_link_causes_what_goes_when_it_has_half_its_mass(arm):
    robot, dynamics, (q, qd, qdd) = arm
    splitter = EffortSplitter(robot, dynamics, None)
    last = merge_fixed(robot).links[1]
    fixed = [name for name in robot.frame_names if merge_fixed(robot).frame(name).link == last.name]
    names = {link.name for link in robot.links}
    lighter = with_mass_scaled(robot, {name: 0.5 for name in fixed if name in names})
    gone = dynamics.inverse(q, qd, qdd) - Dynamics(lighter).inverse(q, qd, qdd)
    by_link = splitter.split(Snapshot(0.0, q, qd, qdd, q)).by_link
    np.testing.assert_allclose(0.5 * by_link[0], gone, atol=ROUND_OFF)
