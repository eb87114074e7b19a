"""Robots are found by path, by shipped name and by the name of an example."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics
from oracles import all_example_urdfs
from robot_dynamics.errors import ArgumentError, UnknownNameError, UrdfError
from robot_dynamics.robot import read_urdf
from robot_dynamics.robot.catalogue import (
    example_robots,
    find_robot,
    known_robots,
    located,
    share_folder,
    shipped_robots,
    urdf_text,
)

needs_examples = pytest.mark.skipif(not all_example_urdfs(), reason="example-robot-data is missing")


def test_a_path_is_found_as_it_is(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text("<robot/>")
    assert find_robot(path) == path
    assert find_robot(str(path)) == path


def test_a_shipped_robot_is_found_by_name():
    assert {"planar_2r", "puma_gupta", "stanford", "thomas_tesar"} <= set(shipped_robots())
    assert find_robot("planar_2r") == share_folder() / "urdf" / "planar_2r.urdf"


@needs_examples
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("panda", "panda.urdf"),
        ("ur5", "ur5_robot.urdf"),
        ("ur5_robot", "ur5_robot.urdf"),
        ("ur3", "ur3_robot.urdf"),  # not ur3.urdf, which is empty
        ("kinova", "kinova.urdf"),
        ("tiago", "tiago.urdf"),
        ("talos", "talos_full_v2.urdf"),
        ("xarm7", "xarm7.urdf"),
        ("solo12", "solo12.urdf"),
        ("g1", "g1_29dof_rev_1_0.urdf"),
    ],
)
def test_an_example_is_found_by_the_name_people_use(name, file):
    assert find_robot(name).name == file


@needs_examples
def test_folders_distinguish_examples_with_the_same_file_name():
    b, c = find_robot("anymal_b"), find_robot("anymal_c")
    assert b != c
    assert b.name == c.name == "anymal.urdf"
    assert "anymal" not in example_robots()


@needs_examples
@pytest.mark.parametrize("name", ["ur", "so_arm", "allegro_hand"])
def test_a_folder_of_different_robots_stands_for_none_of_them(name):
    with pytest.raises(UnknownNameError, match=rf"^no robot '{name}', and no such file; did you"):
        find_robot(name)


@needs_examples
def test_a_name_too_short_for_one_robot_gets_the_nearest_and_all_others():
    with pytest.raises(UnknownNameError, match=r"did you mean 'ur5'\? .*, ur10, .*ur3, .*ur5, "):
        find_robot("ur")


@needs_examples
def test_read_urdf_says_how_a_known_robot_is_found():
    with pytest.raises(UrdfError) as error:
        read_urdf("ur5")
    assert str(error.value) == (
        "ur5: no such file; give the path of a URDF, or its XML text "
        "(a robot known by name: read_urdf(find_robot('ur5')))"
    )


@needs_examples
def test_every_example_has_a_name():
    assert set(example_robots().values()) >= {
        path for path in all_example_urdfs() if path.name != "ur3.urdf"
    }


def test_every_known_name_is_found():
    for name, path in known_robots().items():
        assert find_robot(name) == path
        assert path.is_file()


def test_an_unknown_name_gets_the_nearest_known_one():
    with pytest.raises(UnknownNameError) as error:
        find_robot("planar_2R")
    message = str(error.value)
    assert message.startswith("no robot 'planar_2R', and no such file; did you mean 'planar_2r'? ")
    assert "shipped: asada_5r1p, lee_puma, planar_2r, puma_gupta" in message
    assert "\n" not in message


@needs_examples
def test_an_unknown_name_gets_the_names_of_the_examples():
    with pytest.raises(UnknownNameError, match=r"panda, .*talos"):
        find_robot("no_robot_at_all")


def test_without_the_examples_the_error_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(UnknownNameError, match=r"pip install example-robot-data"):
        find_robot("panda")


@pytest.mark.parametrize("text", ["arms/panda", "panda.urdf", "./panda", "panda.urdf.xacro"])
def test_a_path_that_does_not_exist_is_not_taken_for_a_name(text):
    with pytest.raises(UnknownNameError) as error:
        find_robot(text)
    assert str(error.value) == (
        f"no such file: {text}; give the path of a URDF, or the name of a robot"
    )


def test_a_folder_is_named_with_a_urdf_in_it(tmp_path):
    with pytest.raises(UnknownNameError) as error:
        find_robot(tmp_path)
    assert str(error.value) == f"{tmp_path} is a folder; give the path of a URDF"
    (tmp_path / "arm.urdf").write_text("<robot/>")
    with pytest.raises(UnknownNameError) as error:
        find_robot(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} is a folder; give the path of a URDF, such as {tmp_path / 'arm.urdf'}"
    )


def test_an_empty_name_is_refused():
    with pytest.raises(UnknownNameError, match="no robot is given; give the path of a URDF"):
        find_robot("")
    with pytest.raises(ArgumentError, match=r"a robot is found by its path or its name, got 3$"):
        find_robot(3)


def test_a_folder_does_not_hide_the_robot_of_its_name(tmp_path, monkeypatch):
    (tmp_path / "planar_2r").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_robot("planar_2r").name == "planar_2r.urdf"


# -- texts and xacro ----------------------------------------------------------------------------


def test_the_text_of_a_robot_is_its_file():
    assert urdf_text("planar_2r") == find_robot("planar_2r").read_text(encoding="utf-8")


@pytest.fixture
def xacro(tmp_path, monkeypatch):
    """Puts a program of that name, a shell script, first on the PATH; and a file to expand."""

    def make(script=None):
        programs = tmp_path / "programs"
        programs.mkdir()
        if script is not None:
            (programs / "xacro").write_text(f"#!/bin/sh\n{script}\n")
            (programs / "xacro").chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(programs / "python"))
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
        path = tmp_path / "arm.urdf.xacro"
        path.write_text("<robot/>")
        return path

    return make


def test_a_xacro_file_is_what_xacro_makes_of_it(xacro):
    path = xacro('echo "<!-- $1 -->"')
    assert urdf_text(path) == f"<!-- {path} -->\n"


def test_a_real_xacro_file_is_read_as_the_robot_that_it_describes(tmp_path):
    if not (shutil.which("xacro") or (Path(sys.executable).parent / "xacro").exists()):
        pytest.skip("no xacro: pip install xacro, or source a ROS 2 that has it")
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:property name="mass" value="2"/><link name="base"/><link name="tip"><inertial>'
        '<mass value="${3 * mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link><joint name="turn" type="continuous"><parent link="base"/>'
        '<child link="tip"/><axis xyz="0 0 1"/></joint></robot>'
    )
    assert read_urdf(path).links[1].inertia.mass == 6.0


def test_arguments_of_a_xacro_file_follow_its_path(xacro):
    path = xacro('shift; echo "<!-- $* -->"')
    assert urdf_text(f"{path} name:='my arm' side:=left") == "<!-- name:=my arm side:=left -->\n"
    assert find_robot(f"{path} side:=left") == path
    assert located(f"{path} name:='my arm'") == f"{path} 'name:=my arm'"


def test_arguments_without_a_value_are_named_with_the_remedy(xacro):
    path = xacro("echo 'error: Undefined substitution argument name' >&2; exit 2")
    path.write_text(
        '<robot name="$(arg name)"><xacro:arg name="side" default="left"/>'
        '<link name="$(arg side)_$(arg kind)_$(arg given)"/></robot>'
    )
    with pytest.raises(UrdfError) as error:
        read_urdf(f"{path} given:=1")
    assert str(error.value) == (
        f"{path}: xacro fails: no value of argument name, kind; give it behind the file: "
        "arm.urdf.xacro name:=VALUE kind:=VALUE"
    )


def test_a_urdf_takes_no_arguments():
    path = find_robot("planar_2r")
    with pytest.raises(UrdfError) as error:
        read_urdf(f"{path} name:=arm")
    assert str(error.value) == f"{path}: takes no arguments (name:=arm); only xacro files do"


def test_a_xacro_file_that_fails_says_why_in_one_line(xacro):
    path = xacro("echo 'undefined substitution' >&2; echo 'argument: side' >&2; exit 2")
    with pytest.raises(UrdfError) as error:
        urdf_text(path)
    assert str(error.value) == f"{path}: xacro fails: undefined substitution argument: side"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "error: <class 'OSError'>: variable 'AMENT_PREFIX_PATH' is not set or empty",
            "it needs files of ROS packages; source the workspace that has them",
        ),
        (
            "error: <class 'NotFound'>: package 'my_arm' not found, searching: ['/opt']",
            "no ROS package 'my_arm'; source the workspace that has it",
        ),
    ],
)
def test_a_xacro_file_that_misses_a_ros_package_says_what_to_source(xacro, said, reason):
    path = xacro(f'echo "{said}" >&2; exit 2')
    with pytest.raises(UrdfError) as error:
        urdf_text(path)
    assert str(error.value) == f"{path}: xacro fails: {reason}"


@pytest.mark.skipif(os.path.exists("/usr/bin/xacro"), reason="xacro is installed with the system")
def test_without_xacro_the_error_says_how_to_get_it(xacro):
    path = xacro()
    with pytest.raises(UrdfError) as error:
        urdf_text(path)
    assert str(error.value) == (
        f"{path}: the program xacro is not on the PATH; source a ROS 2 installation that has it "
        "(apt install ros-<distribution>-xacro), pip install xacro, or give a URDF"
    )


# -- installed ----------------------------------------------------------------------------------


def answer_of_copy(package, before=""):
    """Return the path of planar_2r, or the error, in a copy of the package in another folder."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(robot_dynamics.__file__).parent, package, ignore=skip)
    ask = "from robot_dynamics.robot.catalogue import find_robot; print(find_robot('planar_2r'))"
    answer = subprocess.run(
        [sys.executable, "-c", f"{before}{ask}"],
        cwd=package.parent,
        env={key: value for key, value in os.environ.items() if key != "AMENT_PREFIX_PATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    return (answer.stdout or answer.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize(
    "library", ["lib/python3.11/site-packages", "local/lib/python3.12/dist-packages", "."]
)
def test_shipped_robots_are_found_below_the_prefix_of_an_installation(tmp_path, library):
    data = tmp_path.resolve() / "share" / "robot_dynamics" / "urdf"
    shutil.copytree(share_folder() / "urdf", data)
    answer = answer_of_copy(tmp_path / library / "robot_dynamics")
    assert answer == str(data / "planar_2r.urdf")


def test_an_installation_without_data_says_so(tmp_path):
    package = tmp_path.resolve() / "robot_dynamics"
    assert answer_of_copy(package, "import sys; sys.prefix = '/nowhere'; ") == (
        "robot_dynamics.errors.RobotError: the data files of robot_dynamics "
        "(share/robot_dynamics/urdf) are not where the package is installed "
        f"({package}); install it with pip or colcon"
    )
