"""The arm above a table in MuJoCo, on which control of contact forces is measured."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from benchmark.table_scene import GAP, RADIUS, TIP, TableScene
from robot_dynamics import Dynamics
from robot_dynamics.kinematics import frame_pose

# rad and rad/s after 0.3 s of float64 on both sides, 2e-10 measured; the weight of a ball of steel
# at the tip, 33 g, gives 1e-1
AT_REST = 1e-6
SIDEWAYS = np.array([0.0, 6.0, 0.0, 0.0, 0.0, 0.0])  # N, twice the friction
DAMPING = 10.0  # 1/s, of the whole arm


def moved(scene, wrench, steps):
    """Push with a wrench of the end effector, keep its orientation, and damp; return the states."""
    arm, state, states = Dynamics(scene.robot), scene.state, []
    upright = frame_pose(scene.robot, scene.home, TIP).rotation
    for _ in range(steps):
        J, (R, _) = arm.jacobian(state.q, TIP), arm.pose(state.q, TIP)
        turn = 100.0 * Rotation.from_matrix(upright @ R.T).as_rotvec() - 10.0 * (J @ state.qd)[3:]
        tau = arm.gravity(state.q) + J.T @ (wrench + [0.0, 0.0, 0.0, *turn])
        state = scene.step(tau - DAMPING * arm.mass_matrix(state.q) @ state.qd)
        states.append(state)
    return states


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_gravity_torques_hold_the_arm_at_rest_above_the_table(name):
    scene = TableScene(name)
    arm, state = Dynamics(scene.robot), scene.state
    tip = frame_pose(scene.robot, state.q, TIP)
    assert tip.translation - scene.table == pytest.approx([0.0, 0.0, RADIUS + GAP], abs=1e-12)
    assert tip.rotation[:, 2] == pytest.approx([0.0, 0.0, -1.0], abs=1e-3)  # home in three digits
    for _ in range(300):
        state = scene.step(arm.gravity(state.q))
        assert max(np.abs(state.q - scene.home).max(), np.abs(state.qd).max()) < AT_REST
    assert not state.wrench.any()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_the_end_effector_presses_with_the_force_of_its_efforts_and_slides_against_friction(name):
    scene = TableScene(name, friction=0.3)
    down = np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
    arm, state = Dynamics(scene.robot), moved(scene, down, 1000)[-1]
    # a static force balance but for the creep of the ball, which stops within seconds: 1.4e-3 N
    assert state.wrench[:3] == pytest.approx(down[:3], abs=5e-3)
    # the contact is RADIUS below the tip, less the depth
    assert state.wrench[3:] == pytest.approx(np.cross([0, 0, -RADIUS], state.wrench[:3]), abs=1e-4)
    assert np.abs(state.qd).max() < 1e-3
    depth = scene.table[2] + RADIUS - frame_pose(scene.robot, state.q, TIP).translation[2]
    assert 0.0 < depth < 2e-5
    forces = np.array([x.wrench[:3] for x in moved(scene, down + SIDEWAYS, 300)])
    end_effector = arm.jacobian(scene.state.q, TIP) @ scene.state.qd
    assert end_effector[1] > 0.05  # m/s: the end effector slides, and stays on the table
    assert (forces[:, 2] < -8.0).all()
    sliding = forces[100:]
    # Coulomb's law, to the accuracy of the solver
    assert np.hypot(sliding[:, 0], sliding[:, 1]) == pytest.approx(-0.3 * sliding[:, 2], rel=1e-6)


def test_efforts_and_positions_stop_at_their_limits_unless_they_need_not():
    for limits in (True, False):
        scene = TableScene("ur5", limits=limits)
        arm, upper = Dynamics(scene.robot), scene.robot.limits.upper[2]
        scene.reset(scene.home + [0.0, -1.0, 0.0, 0.0, 0.0, 0.0])  # away from the table
        state = scene.step(arm.gravity(scene.state.q) + 1e5)
        acceleration = np.abs(state.qd).max() / 1e-3
        assert (acceleration < 1e5) == limits
        state = scene.reset(scene.home + [0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
        for _ in range(300):
            tau = arm.gravity(state.q) + [0.0, 0.0, 20.0, 0.0, 0.0, 0.0]
            state = scene.step(tau - DAMPING * arm.mass_matrix(state.q) @ state.qd)
        assert (state.q[2] < upper + 1e-3) == limits
