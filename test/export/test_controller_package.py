"""Code of exported packages, which compiles and computes for any names of the robot."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from hostile_arm import HOSTILE, hostile_urdf
from robot_dynamics.control.friction import Friction
from robot_dynamics.export.control_kernels import payload_frame
from robot_dynamics.export.controller_package import CONTROLLER, PackageRequest, controller_package
from robot_dynamics.identification import Drives
from robot_dynamics.robot import find_robot, read_urdf, urdf_text
from robot_dynamics.version import __version__

RUNNER = Path(__file__).with_name("reference_runner.cpp")
CORE = ("base_estimate", "controller_core", "contacts", "friction_memory", "task")
STRICT = ["-O0", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=address,undefined"]

ROUND_OFF = 1e-9
"""Largest relative error: two formulations and 13 printed digits differ by less than 1e-11."""

needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="g++ compiles the exported code; install it"
)


def package_of(urdf, locked=(), **more):
    whole = read_urdf(urdf)
    robot = whole.with_locked(dict(locked)) if locked else whole
    request = PackageRequest("pkg", urdf, whole, dict(locked), None, payload_frame(robot), **more)
    return robot, controller_package(request).files


def write(files, folder):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def call(words, folder):
    """Standard output of a program that succeeds."""
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def compiled(files, folder):
    """Names of the joints in the compiled code, and the largest error of its efforts."""
    write(files, folder)
    kernels = ["gcc", "-std=c99", "-pedantic", *STRICT, "-c", "src/kernels.c"]
    parts = [f"src/{name}.cpp" for name in CORE]
    core = ["g++", "-std=c++17", *STRICT, "-Isrc", "-Itest", RUNNER, *parts]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda words: call(words, folder), [kernels, [*core, "-c"]]))
    objects = ["reference_runner.o", *(f"{name}.o" for name in CORE), "kernels.o"]
    call(["g++", *STRICT, *objects, "-o", "runner", "-lm"], folder)
    *names, worst = call([folder / "runner"], folder).split("\0")
    return tuple(names), float(worst)


@pytest.fixture(scope="module")
def hostile():
    return package_of(hostile_urdf())


@needs_compiler
@pytest.mark.thorough  # as with the hostile arm below
@pytest.mark.parametrize("name", ["planar_2r", "panda", "ur5"])
def test_kernels_compute_the_efforts_of_another_formulation(tmp_path, name):
    locked = {"panda_finger_joint1": 0.02} if name == "panda" else {}
    robot, files = package_of(urdf_text(find_robot(name)), locked=locked)
    names, worst = compiled(files, tmp_path)
    assert names == robot.joint_names
    assert worst < ROUND_OFF


@needs_compiler
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["planar_2r", "ur5"])
def test_kernels_on_a_moving_base_compute_the_efforts_of_another_formulation(tmp_path, name):
    _, files = package_of(urdf_text(find_robot(name)), base="moving")
    assert compiled(files, tmp_path)[1] < ROUND_OFF


@needs_compiler
@pytest.mark.thorough
def test_kernels_compute_the_efforts_of_identified_drives(tmp_path):
    friction = Friction(
        *np.array([[0.2, 0.3], [1.0, 0.5], [0.4, -0.2], [0.05, 0.1]]), load=np.array([0.1, 0.0]),
        offset=np.array([0.3, -0.1]), width=np.array([0.0, 0.02]),
    )  # fmt: skip
    drives = Drives(friction, np.array([0.7, 0.2]))
    _, files = package_of(urdf_text("planar_2r"), drives=drives)
    _, plain = package_of(urdf_text("planar_2r"))
    efforts = "test/reference_efforts.hpp"
    assert files[efforts] != plain[efforts]
    assert compiled(files, tmp_path)[1] < ROUND_OFF


@needs_compiler
def test_hostile_names_compile_to_the_same_names(hostile, tmp_path):
    robot, files = hostile
    names, worst = compiled(files, tmp_path)
    assert names == robot.joint_names == HOSTILE
    assert worst < ROUND_OFF
    assert not (tmp_path / "x").exists()


def test_hostile_names_are_the_same_in_xml(hostile):
    robot, files = hostile
    for path, text in files.items():
        if path.endswith((".xml", ".urdf")):
            ElementTree.fromstring(text)
    again = read_urdf(files["urdf/pkg.urdf"])
    assert (again.name, again.joint_names) == (robot.name, robot.joint_names)
    hardware = ElementTree.fromstring(files["urdf/pkg.urdf"]).iterfind("ros2_control/joint")
    assert tuple(joint.get("name") for joint in hardware) == HOSTILE


def test_hostile_names_are_the_same_in_yaml(hostile):
    config = yaml.safe_load(hostile[1]["config/controllers.yaml"])
    follower = config["joint_trajectory_controller"]["ros__parameters"]
    assert tuple(follower["joints"]) == HOSTILE
    assert follower["command_joints"] == [f"{CONTROLLER}/{name}" for name in HOSTILE]
    assert list(config) == ["controller_manager", CONTROLLER, "joint_trajectory_controller"]


def test_goals_have_tolerances_and_decelerations_of_the_robot():
    locked = {f"panda_joint{k}": 0.0 for k in range(2, 8)}
    _, files = package_of(urdf_text("panda"), locked=locked)
    config = yaml.safe_load(files["config/controllers.yaml"])
    constraints = config["joint_trajectory_controller"]["ros__parameters"]["constraints"]
    assert constraints["goal_time"] == 2.0
    assert constraints["decelerate_on_cancel"] is True
    # 0.5 rad and 0.1 m, but a quarter of the range of 0.04 m; a fifth at the goal; 0.5 s to rest
    finger = {"trajectory": 0.01, "goal": 0.002, "max_deceleration_on_cancel": 0.4}
    arm = {"trajectory": 0.5, "goal": 0.1, "max_deceleration_on_cancel": 4.35}
    assert constraints["panda_finger_joint1"] == finger
    assert constraints["panda_joint1"] == arm


def test_without_velocity_limits_there_are_no_decelerations():
    _, files = package_of(hostile_urdf().replace('velocity="2"', 'velocity="0"'))
    config = yaml.safe_load(files["config/controllers.yaml"])
    constraints = config["joint_trajectory_controller"]["ros__parameters"]["constraints"]
    assert constraints["decelerate_on_cancel"] is False
    assert all(len(x) == 2 for x in constraints.values() if isinstance(x, dict))


def test_hostile_names_are_the_same_in_a_shell(hostile, tmp_path):
    (line,) = re.findall(r"^ros2 action send_goal .*", hostile[1]["README.md"], re.M)
    goal = call(["sh", "-c", line.replace("ros2", "printf '%s\n'", 1)], tmp_path).splitlines()[-1]
    assert tuple(yaml.safe_load(goal)["trajectory"]["joint_names"]) == HOSTILE
    assert not (tmp_path / "x").exists()


def test_every_file_is_marked(hostile):
    for path, text in hostile[1].items():
        if path != "LICENSE":
            head = text[:600]
            assert f"Generated by robot_dynamics {__version__} from robot " in head, path
            assert "SPDX-License-Identifier: Apache-2.0" in head, path


def test_generated_code_is_ascii(hostile):
    for path, text in hostile[1].items():
        if not path.endswith((".urdf", ".md")):
            assert text.isascii(), path
