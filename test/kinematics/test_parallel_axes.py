"""Three parallel axes with a fourth one in line: a turn that leaves the triangle within reach."""

import numpy as np

from arms import SIX_JOINTS
from robot_dynamics import Dynamics
from robot_dynamics.kinematics.inverse.axis_chain import AxisChain
from robot_dynamics.kinematics.inverse.closed_form import find_structure
from robot_dynamics.kinematics.inverse.equations.partial_solutions import Frees
from robot_dynamics.kinematics.inverse.subproblems import Turn

POSES = 500
REACHED = 1e-9


def test_a_free_turn_that_is_out_of_reach_is_replaced_by_one_within_reach():
    robot, rng = SIX_JOINTS["ur5"].robot, np.random.default_rng(4)
    chain = AxisChain.of(robot, "tool0")
    q = rng.uniform(-np.pi, np.pi, (POSES, 6))
    q[:, 4] = 0.0  # the last axis is parallel to axes 2 to 4
    R, p = Dynamics(robot).pose(q, "tool0")
    angle = rng.uniform(-np.pi, np.pi, POSES)
    free = Frees(Turn(1.0, 0.0), Turn(np.cos(angle), np.sin(angle), angle), 4e-15)
    equations = find_structure(chain).equations
    target = chain.displacement(np.moveaxis(R, 0, 2), p.T)
    with np.errstate(all="ignore"):
        found = equations.solve(target, free)
        missed = np.sqrt([equations.missed(partial, target) for partial in found])
    taken = np.array([partial.values[5].c for partial in found])
    replaced = (np.abs(taken - free.end_effector.c) > REACHED).all(axis=0)
    assert replaced.any() and not replaced.all()
    assert np.nanmin(missed, axis=0).max() < REACHED
