"""Arms behind their drivers: the plant has the traits of the robot, the controller its profile."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
pytest.importorskip("mujoco", reason="MuJoCo comes with the extra 'bench'")

import mujoco

from benchmark.ros2_control.driver_arms import ROTOR_SHARE, STAND_INS, TRAITS, driver_arm
from benchmark.ros2_control.drivers import VARIANTS, plants


def test_every_driver_has_traits():
    assert STAND_INS.keys() == TRAITS.keys()


@pytest.mark.parametrize("name", STAND_INS)
def test_the_robot_adds_what_the_controller_leaves_out(name, tmp_path):
    arm = driver_arm(name, None)
    plant, parameters = arm.write_plant(tmp_path), arm.parameters
    for added, switch in [
        ("added_gravity", "compensate_gravity"),
        ("added_coulomb", "compensate_friction"),
        ("added_viscous", "compensate_friction"),
        ("added_coriolis", "compensate_velocity_terms"),
    ]:
        assert (added in plant) == (parameters.get(switch) is False)


def test_drives_have_the_gains_that_the_controller_knows(tmp_path):
    arm = driver_arm("openarm", None)
    plant, drive = arm.write_plant(tmp_path), arm.parameters["drive"]
    for gain in ("kp", "kd"):
        known = [drive[joint][gain] for joint in arm.robot.joint_names]
        np.testing.assert_array_equal(plant[f"drive_{gain}"], known)


@pytest.mark.parametrize("name", STAND_INS)
def test_arms_stand_within_their_ranges_first(name):
    arm = driver_arm(name, None)
    limits = arm.robot.limits
    assert (limits.lower <= arm.start).all() and (arm.start <= limits.upper).all()


def test_the_equations_for_gains_have_the_rotors_of_the_plant(tmp_path):
    arm = driver_arm("ur", None, rotor=ROTOR_SHARE)
    model = mujoco.MjModel.from_binary_path(str(arm.write_plant(tmp_path)["model"]))
    data, rows = mujoco.MjData(model), np.zeros((6, 6))
    data.qpos[:] = [0.3, -1.2, 0.9, -0.4, 0.7, 0.2]
    mujoco.mj_forward(model, data)
    for row, unit in zip(rows, np.eye(6), strict=True):
        mujoco.mj_mulM(model, data, row, unit)
    np.testing.assert_allclose(arm.dynamics.mass_matrix(data.qpos), rows, atol=1e-6)


def test_only_geared_drives_have_friction():
    assert list(plants("openarm", None)) == ["exact", "10 % light"]
    geared = plants("franka", None)
    assert list(geared) == list(VARIANTS)
    assert geared["exact, no friction"].friction == 0.0 < geared["exact"].friction
    assert geared["exact, no friction"].rotor == geared["exact"].rotor
