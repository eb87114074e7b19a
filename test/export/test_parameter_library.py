"""The table of parameters, and what is written from it for ros2_control."""

import yaml

from robot_dynamics.control.parameters import OF_ROS2_CONTROL, PARAMETERS
from robot_dynamics.export.controllers_config import CONTROLLER, TYPES, controllers_config
from robot_dynamics.export.controllers_package import package_files
from robot_dynamics.export.parameter_library import FILE, parameter_library
from robot_dynamics.robot import find_robot, read_urdf


def test_the_package_has_the_parameters_of_the_table():
    text = package_files()[FILE]
    assert text == parameter_library(), "run python docs/make_parameter_tables.py"


def test_every_number_has_one_range_and_every_word_its_choices():
    for one in PARAMETERS.values():
        if one.type in ("double", "double_array"):
            assert one.low < one.high, one.name
            numbers = one.default if one.is_list else [one.default]
            assert all(one.low <= x <= one.high for x in numbers or [] if x is not None), one.name
        elif one.default and one.choices:
            words = one.default if one.is_list else [one.default]
            assert set(words) <= set(one.choices), one.name


def test_ros2_control_checks_the_range_of_every_entry_of_a_list():
    groups = yaml.safe_load(parameter_library())["model_controller"]
    for name, one in OF_ROS2_CONTROL.items():
        *group, last = name.split(".")
        entry = groups
        for part in [*group, *(["__map_joints"] if one.per_joint else []), last]:
            entry = entry[part]
        if one.low is not None:
            key = "element_bounds<>" if one.type == "double_array" else "bounds<>"
            assert entry["validation"][key] == [one.low, one.high], name


def test_the_configuration_of_an_unknown_driver_holds_the_defaults():
    robot = read_urdf(find_robot("planar_2r"))
    tree = yaml.safe_load(controllers_config(robot, None, ["effort"], "/arm.so"))["/**"]
    given = tree[CONTROLLER]["ros__parameters"]
    assert (given.pop("type"), given.pop("model")) == (TYPES[CONTROLLER], "/arm.so")
    for name, value in given.items():
        default = OF_ROS2_CONTROL[name].default
        assert value == (list(default) if OF_ROS2_CONTROL[name].is_list else default), name
