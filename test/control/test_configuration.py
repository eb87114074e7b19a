"""Configuration: effective parameters of any robot are allowed values, and configure the same."""

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control.added_efforts import (
    DRIVE_FEEDBACK,
    FRICTION,
    GRAVITY,
    VELOCITY_TERMS,
)
from robot_dynamics.control.configuration import Configuration, Defaults
from robot_dynamics.control.configured_step import ConfiguredStep, parameter_vector
from robot_dynamics.control.friction import Friction
from robot_dynamics.control.parameters import OF_SETTINGS
from robot_dynamics.control.step import Step
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot

WITHOUT_LIMITS = """<robot name="free"><link name="base"/><link name="arm"><inertial>
<origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/><limit effort="50" velocity="0"/></joint></robot>"""


@pytest.fixture(scope="module", params=["a joint without limits", "planar_2r"])
def configuration(request):
    known = request.param == "planar_2r"
    robot = read_urdf(find_robot("planar_2r") if known else WITHOUT_LIMITS)
    dynamics = Dynamics(robot)
    step = Step.of(dynamics, robot.tips[0], frame=robot.tips[0])
    drives = Friction.of(robot), np.zeros(robot.dof)
    defaults = Defaults(dynamics, robot.tips[0], robot.tips[0], None, *drives, 20.0)
    return Configuration(defaults, step.settings)


def effective(configuration, **given):
    vector = configuration.parameters.initial()
    for name, value in given.items():
        configuration.parameters.views(vector)[name.replace("__", ".")][:] = value
    found = configuration(vector)["effective"]
    return {name: configuration.parameters.of(found, name) for name in configuration.parameters}


def test_effective_values_are_within_the_ranges_of_the_parameters(configuration):
    found = effective(configuration)
    for name, one in OF_SETTINGS.items():
        values = np.asarray(found[name])
        assert np.isfinite(values).all(), name
        if one.low is not None:
            assert (one.low <= values).all() and (values <= one.high).all(), name
        else:
            assert (values == np.rint(values)).all() and (values < len(one.words)).all(), name


def test_defaults_of_the_table_are_used(configuration):
    found = effective(configuration)
    for name, one in OF_SETTINGS.items():
        if one.preset is not None:
            expected = np.broadcast_to(one.number(one.preset), np.shape(found[name]))
            np.testing.assert_array_equal(found[name], expected, err_msg=name)


def test_a_limit_of_zero_is_that_of_the_urdf(configuration):
    usual = effective(configuration)
    zero = effective(configuration, limits__effort=0.0, limits__velocity=0.0)
    for name in ("limits.effort", "limits.velocity"):
        np.testing.assert_array_equal(zero[name], usual[name])
        assert (np.asarray(usual[name]) > 0.0).all()


def verdict(added, **given):
    """Return whether parameters are refused for a robot that adds these efforts, and the line."""
    robot = read_urdf(find_robot("planar_2r"))
    rubbing = Friction(np.ones(2), np.ones(2))
    defaults = Defaults(Dynamics(robot), None, None, None, rubbing, np.zeros(2), 20.0, added)
    configured = ConfiguredStep(defaults)
    values = {"command_interfaces": ["position", "velocity", "effort"], **given}
    layout = configured.configuration.parameters
    vector, _ = parameter_vector(layout, robot.joint_names, values)
    try:
        configured.check(vector)
    except ArgumentError as error:
        return True, str(error)
    return False, configured.noticed(vector)


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("mode", True, "choose among feedforward, pd, "),
        ("mode", 1, "choose among feedforward, pd, "),
        ("compensate_gravity", "true", "give false or true, without quotes"),
        ("compensate_gravity", 1, "give false or true, without quotes"),
        ("gains.joint_1.p", True, "give a number"),
        ("gains.joint_1.p", "100", "give a number"),
        ("command_interfaces", "effort", "give a list of some of position, velocity, effort"),
        ("command_interfaces", ["force"], "give a list of some of position, velocity, effort"),
    ],
)
def test_a_value_of_another_kind_is_not_taken_for_a_number(configuration, name, value, remedy):
    with pytest.raises(ArgumentError) as refusal:
        parameter_vector(configuration.parameters, ["joint_1", "joint_2"], {name: value})
    assert str(refusal.value).startswith(f"{name}: {value} is not allowed; {remedy}")


DRIVES = {"feedback": "drive", "drive.joint_1.kp": 50.0, "drive.joint_2.kp": 20.0}


@pytest.mark.parametrize(
    ("added", "given", "refuses", "words"),
    [
        ((), {}, False, ""),
        ((GRAVITY,), {}, True, "set compensate_gravity: false"),
        ((GRAVITY,), {"compensate_gravity": False}, False, ""),
        ((GRAVITY,), {"gravity": [0.0, 0.0, 0.0]}, False, ""),
        ((FRICTION,), {}, True, "it counts twice; set compensate_friction: false"),
        ((FRICTION,), {"compensate_friction": False}, False, ""),
        ((VELOCITY_TERMS,), {}, False, "they count twice; set compensate_velocity_terms: false"),
        ((VELOCITY_TERMS,), {"compensate_velocity_terms": False}, False, ""),
        ((DRIVE_FEEDBACK,), {}, True, "set feedback: drive and claim positions"),
        ((DRIVE_FEEDBACK,), DRIVES, False, ""),
    ],
)
def test_what_a_robot_is_known_to_add_does_not_count_twice(added, given, refuses, words):
    refused, said = verdict(added, **given)
    assert refused == refuses
    assert words in said
    assert bool(said) == bool(words)
