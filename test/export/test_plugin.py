"""The C++ package is built, and its controller loads models, where ros2_control is found."""

import shutil
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

from controllers_build import built, environment, installed_controllers, missing
from hostile_arm import HOSTILE, hostile_urdf
from loaded_model import built as compiled
from loaded_model import request_of
from robot_dynamics import Dynamics
from robot_dynamics.export.model_library import ModelRequest
from robot_dynamics.robot import find_robot, read_urdf, urdf_text
from robot_dynamics.robot.endpoint import end_effector_by_rule

LACKING = missing("controller_interface", "generate_parameter_library", programs=("cmake", "cc"))
if LACKING:
    pytest.skip(f"needs CMake and ros2_control; {LACKING} not found", allow_module_level=True)

OF_ROS2_CONTROL = "Calling shutdown transition of controller node"
"""Line of controller_interface after a controller that is not initialized."""

LOADER = """cmake_minimum_required(VERSION 3.16)
project(loader CXX)
find_package(controller_interface REQUIRED)
find_package(pluginlib REQUIRED)
add_executable(loader {source})
target_link_libraries(loader controller_interface::controller_interface pluginlib::pluginlib)
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Install prefix of the controllers."""
    return installed_controllers(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def loader(tmp_path_factory):
    """Program that loads the controller."""
    folder = tmp_path_factory.mktemp("loader")
    source = Path(__file__).with_name("plugin_loader.cpp")
    (folder / "CMakeLists.txt").write_text(LOADER.format(source=source))
    return built(folder) / "loader"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Library of an arm of hostile names."""
    urdf = hostile_urdf()
    request = ModelRequest(
        urdf, read_urdf(urdf), {}, endpoint=end_effector_by_rule(read_urdf(urdf))
    )
    return compiled(request, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def planar(tmp_path_factory):
    """Library of an arm of two joints with an end effector."""
    return compiled(request_of("planar_2r"), tmp_path_factory.mktemp("planar"))


@pytest.fixture
def load(prefix, loader, model, tmp_path):
    """Load the controller: output, and the lines of its log."""
    return loading(prefix, loader, model, tmp_path)


@pytest.fixture
def load_planar(prefix, loader, planar, tmp_path):
    """Load the controller of the arm with an end effector."""
    return partial(loading(prefix, loader, planar, tmp_path), urdf_text("planar_2r"))


def loading(prefix, loader, model, tmp_path):
    """Return a function that loads the controller with a copy of a model."""
    mine = tmp_path / "arm.so"
    shutil.copy(model, mine)

    def load(urdf=None, change=lambda path: None, values=(), **parameters):
        change(mine)
        (tmp_path / "arm.urdf").write_text(urdf or hostile_urdf())
        given = {"model": str(mine), **parameters}
        file = tmp_path / "parameters.yaml"
        file.write_text(yaml.safe_dump({"arm_controller": {"ros__parameters": given}}))
        done = subprocess.run(
            [loader, tmp_path / "arm.urdf", file, *values],
            env={**environment(prefix), "RCUTILS_COLORIZED_OUTPUT": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [line for line in done.stderr.splitlines() if "arm_controller" in line]
        return done.stdout, [line for line in lines if OF_ROS2_CONTROL not in line]

    return load


def test_a_model_is_configured_for_its_robot_whatever_the_names(load):
    out, log = load()
    interfaces = "\n".join(f"{name}/effort" for name in HOSTILE)
    assert out == f"inactive\n{interfaces}\n", log
    (line,) = [x for x in log if "control of robot" in x]
    assert "mode 'feedforward', payload none, gravity 0, 0, -9.81 m/s^2" in line


def test_parameters_show_the_values_in_use(load):
    names = [f"limits.{HOSTILE[1]}.effort", f"gains.{HOSTILE[1]}.p", "task.speed", "gravity"]
    out, _ = load(values=names)
    effort, p, speed, gravity = out.splitlines()[-4:]
    assert float(effort) == 90.0
    assert float(p) > 0.0
    assert yaml.safe_load(speed) == [0.25, 0.5]
    assert yaml.safe_load(gravity) == [0.0, 0.0, -9.81]


def test_gains_of_one_joint_are_warned_of_where_they_end_feedback_by_the_mass_matrix(load):
    def lines(**parameters):
        log = load(**parameters)[1]
        return [x.split("]: ")[1] for x in log if "mass matrix" in x and "[WARN]" in x]

    assert lines() == []
    (p,) = load(values=[f"gains.{HOSTILE[1]}.p"])[0].splitlines()[-1:]
    assert lines(gains={HOSTILE[1]: {"p": float(f"{float(p):.4g}")}}) == []
    assert lines(gains={HOSTILE[1]: {"p": 0.9 * float(p)}}) == [
        f"gains.{HOSTILE[1]} are set, so feedback of every joint is by gains.<joint>.p and d, and "
        "no longer by the mass matrix; set p and d of all joints, or of none"
    ]


def test_another_robot_is_refused_by_one_line(load):
    out, log = load(hostile_urdf().replace('<mass value="2"', '<mass value="12"', 1))
    assert out.splitlines()[0] == "unconfigured"
    (line,) = [x for x in log if "robot_description differs" in x]
    assert "has a mass of 12 kg, not 2 kg; write the model again with: robot-dynamics" in line
    assert line.endswith(", or set model_check: warn to use the model as it is")


def test_another_limit_of_the_robot_is_refused_or_logged(load):
    other = hostile_urdf().replace('effort="90"', 'effort="80"', 1)
    out, log = load(other)
    assert out.splitlines()[0] == "unconfigured"
    assert "has the effort limit 80, not 90" in log[-1]
    out, log = load(other, model_check="warn")
    assert out.splitlines()[0] == "inactive"
    assert any("[WARN]" in x and "has the effort limit 80, not 90" in x for x in log)


def overwritten(path, text):
    data = path.read_bytes()
    assert b"\x01\x00\x00\x00" in data
    path.write_bytes(text)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda path: path.unlink(), "cannot be read (No such file or directory)"),
        (
            lambda path: path.chmod(0o664),
            "may be written by others; take that away with chmod go-w",
        ),
        (lambda path: overwritten(path, b"nothing"), "cannot be loaded ("),
        (lambda path: overwritten(path, path.read_bytes()[:60000]), "was cut off; copy it again"),
        (
            lambda path: subprocess.run(
                ["cc", "-shared", "-o", path, "-x", "c", "/dev/null"], check=True
            ),
            "is a library without a robot",
        ),
    ],
)
def test_a_file_that_is_no_safe_model_is_refused_by_one_line(load, change, fault):
    out, log = load(change=change)
    assert out == "not initialized\n"
    (line,) = [x for x in log if "model '" in x]
    assert fault in line


def test_a_model_of_another_interface_is_refused(load, tmp_path):
    code = tmp_path / "old.c"
    code.write_text("const unsigned robot_dynamics_model[512] = {7, 16};\n")
    words = ["cc", "-shared", "-fPIC", "-o", tmp_path / "arm.so", code]
    out, log = load(change=lambda path: subprocess.run(words, check=True))
    assert out == "not initialized\n"
    assert "has the interface 7, not 1; write it again" in log[-1]


def test_other_joints_than_those_of_the_parameter_are_refused(load):
    out, log = load(joints=["shoulder", "elbow"])
    assert out == "not initialized\n"
    assert "not shoulder, elbow; load the controller again for other joints" in log[-1]


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"payload": {"mass": 3000.0}}, "payload: weighs 3000 kg; is the mass in grams?"),
        ({"limits": {HOSTILE[1]: {"effort": 1000.0}}}, "is beyond the limit of the URDF, 90 N"),
        ({"actuator_coupling": [1.0]}, "'actuator_space' is false; set it to true"),
        (
            {"command_interfaces": ["position"]},
            "give [effort], [position, effort] or [position, velocity, effort]",
        ),
        ({"gravity": [0.0, 1.0]}, "parameter 'gravity' has 2 entries; give 3"),
        ({"gravity": [0.0, 1.0, float("nan")]}, "'gravity' has an entry that is no finite number"),
        ({"task": {"speed": [0.2, 200.0]}}, "in parameter 'task.speed' must be within bounds"),
        (
            {"payload": {"mass": 1.0, "inertia": [1.0, 0.0, 0.0, 1.0, 0.0, -1.0]}},
            "is not positive definite (smallest eigenvalue -1 kg m^2)",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_one_line(load, parameters, fault):
    out, log = load(**parameters)
    assert out == "not initialized\n"
    assert fault in log[-1]


POSE = {"joint_1/position": 0.4, "joint_2/position": 0.9}
AXES = [f".{axis}" for axis in "xyz"]


def states_of(sensor, quantity, values):
    return {f"{sensor}/{quantity}{axis}": float(x) for axis, x in zip(AXES, values, strict=True)}


def command_of(load, states, **parameters):
    """Efforts after cycles with these states, and the lines of the log."""
    words = [f"{name}={value!r}" for name, value in (POSE | states).items()]
    out, log = load(values=words, **parameters)
    lines = out.splitlines()
    assert lines[0] == "inactive", log
    return np.array([float(x) for x in lines[-2:]]), log


def test_gravity_comes_from_an_imu(load_planar):
    arm, q = Dynamics(read_urdf(find_robot("planar_2r"))), np.array(list(POSE.values()))
    turned = np.array([5.0, 0.0, 8.44])  # m/s^2, of a base that leans
    given = {"imu": "base imu", "imu_filter": 0.1, "load_ramp": 0.1}
    measured = states_of("base imu", "linear_acceleration", turned)
    tau, log = command_of(load_planar, measured, **given)
    expected = arm.inverse(q, 0.0 * q, 0.0 * q, gravity=-turned)
    assert np.abs(expected - arm.gravity(q)).max() > 1.0
    np.testing.assert_allclose(tau, expected, rtol=1e-3)  # 2 s of a low-pass of 0.1 s, as it ticks
    assert not [x for x in log if "imu" in x]
    small = states_of("base imu", "linear_acceleration", turned / 9.81)
    tau, log = command_of(load_planar, small, **given)
    np.testing.assert_allclose(tau, arm.gravity(q), rtol=1e-6)
    (line,) = [x for x in log if "imu is ignored" in x]
    assert line.endswith(
        "linear_acceleration of 1 m/s^2 is not within 5 to 20 m/s^2; name an IMU that is fixed to "
        "the root link and measures in m/s^2"
    )


def test_force_feedback_takes_the_wrench_of_a_sensor(load_planar):
    arm, q = Dynamics(read_urdf(find_robot("planar_2r"))), np.array(list(POSE.values()))
    hand = request_of("planar_2r").end_effector
    R = arm.pose(q, hand).rotation
    given = {
        "mode": "cartesian_impedance",
        "force_torque_sensor": "tool ft",
        "collision": {"reaction": "none"},
        "task": {
            "controlled": ["motion", "free", "force", "free", "free", "free"],
            "force_feedback": True,
            "force_proportional": 0.0,
            "force_largest": [7.0, 1.0],
        },
    }
    push = states_of("tool ft", "force", R.T @ [0.0, 0.0, 50.0])
    tau, log = command_of(load_planar, push, **given)
    # The end effector gives way along z, with the largest correction
    expected = arm.gravity(q) + arm.jacobian(q, hand).T @ [0.0, 0.0, 7.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(tau, expected, rtol=1e-6)
    assert not [x for x in log if "without feedback" in x]
    lost = states_of("tool ft", "force", [np.nan] * 3)
    tau, log = command_of(load_planar, lost, **given)
    np.testing.assert_allclose(tau, arm.gravity(q), rtol=1e-6)
    assert [x for x in log if "no force_torque for 0.1 s" in x]


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"force_torque_sensor": "ft", "force_torque_frame": "link_1"}, "moves against '"),
        ({"force_torque_sensor": "ft", "force_torque_frame": "nix"}, "no frame 'nix' in robot"),
        ({"imu": "imu", "imu_frame": "link_1"}, "frame 'link_1' moves against 'base_link'"),
    ],
)
def test_sensors_elsewhere_are_refused_by_one_line(load_planar, parameters, fault):
    out, log = load_planar(**parameters)
    assert out == "not initialized\n"
    assert fault in log[-1]
