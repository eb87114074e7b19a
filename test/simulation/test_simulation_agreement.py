"""The scalar simulation beside MuJoCo, which integrates the same equations by the same rule."""

import mujoco
import numpy as np
import pytest

from choices import first
from elastic_arm import arm_of, without_meshes
from robot_dynamics.control import Friction, Measured, Model, gains_for
from robot_dynamics.dynamics.dynamics import Dynamics
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.catalogue import urdf_text
from robot_dynamics.simulation import LawController, Plant, integrate, simulate
from robot_dynamics.trajectory import State, excitation, interpolate

# float64 on both sides, 1000 steps: 4e-15 rad measured. Explicit damping instead of implicit
# gives 1e-6, a step of delay 1e-3
SAME_MOTION = 1e-12

DAMPING = 0.5
STEP = 1e-3


def reference_motion(model, robot, motion, law):
    """The same law in Python around mj_step, shape (steps, n)."""
    data = mujoco.MjData(model)
    order = np.array([robot.joint_names.index(model.joint(j).name) for j in range(model.njnt)])
    back = np.argsort(order)
    t = np.arange(1000) * STEP
    desired = motion.sample(t)
    data.qpos[:] = desired.q[0][order]
    passed = []
    for k in range(len(t)):
        q, qd = data.qpos[back].copy(), data.qvel[back].copy()
        passed.append(q)
        state = State(desired.q[k], desired.qd[k], desired.qdd[k])
        data.qfrc_applied[:] = law(t[k], state, Measured(q, qd))[order]
        mujoco.mj_step(model, data)
    return np.array(passed)


@pytest.mark.parametrize("name", first(["panda"], ["ur5", "panda"]))
@pytest.mark.parametrize("mode", ["feedforward", "computed_torque"])
def test_the_scalar_simulation_moves_as_mujoco_does(name, mode):
    robot = arm_of(name)
    model = mujoco.MjModel.from_xml_string(without_meshes(urdf_text(name)))
    model.opt.timestep = STEP
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.gravity[:] = robot.gravity
    model.dof_damping[:] = DAMPING
    model.dof_frictionloss[:] = model.dof_armature[:] = 0.0
    dynamics = Dynamics(robot)
    control = Model(dynamics, gains_for(dynamics))
    motion = interpolate(excitation(robot, 1.0, share=0.2))
    theirs = reference_motion(model, robot, motion, LawController(control, mode, period=STEP))
    plant = Plant(
        robot,
        friction=Friction(np.full(robot.dof, DAMPING), np.zeros(robot.dof)),
        integrator="semi_implicit_euler",
        step=STEP,
    )
    law = LawController(control, mode, period=STEP)
    log = simulate(plant, law, motion, duration=0.999)
    assert np.abs(log.q - theirs).max() <= SAME_MOTION


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_free_arm_keeps_its_energy(name):
    robot = arm_of(name)
    dynamics, n = Dynamics(robot), robot.dof
    plant = Plant(robot, friction=Friction.none(n), limit_effort=False, step=5e-4)
    plant.reset(0.3 * np.ones(n), np.linspace(-0.5, 0.5, n))
    start = sum(dynamics.energy(plant.q, plant.qd))
    largest = max(abs(x) for x in dynamics.energy(plant.q, plant.qd))
    for _ in range(1000):
        plant.step(np.zeros(n))
        largest = max(largest, *(abs(x) for x in dynamics.energy(plant.q, plant.qd)))
    # Order four at half a millisecond; of order one it would be 1e-3
    assert abs(sum(dynamics.energy(plant.q, plant.qd)) - start) <= 1e-8 * largest


@pytest.mark.parametrize(("integrator", "order"), [("runge_kutta", 4), ("semi_implicit_euler", 1)])
def test_the_error_falls_with_the_step_to_the_power_of_the_order(integrator, order):
    robot = read_urdf(find_robot("planar_2r"))
    dynamics = Dynamics(robot)
    q, qd, none = np.array([0.4, -0.3]), np.array([0.5, 0.2]), np.zeros(2)
    exact = integrate(
        lambda _t, q, qd: dynamics.forward(q, qd, none), q, qd, duration=0.5, step=1e-4
    ).q[-1]
    errors = []
    for step in (0.01, 0.005):
        plant = Plant(
            robot,
            friction=Friction.none(2),
            limit_effort=False,
            integrator=integrator,
            step=step,
        )
        plant.reset(q, qd)
        for _ in range(round(0.5 / step)):
            plant.step(none)
        errors.append(np.abs(plant.q - exact).max())
    # The next order of the step is still felt: a fifth of the exponent
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2 * order)
