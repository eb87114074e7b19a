"""Parameters: declared, described, checked and changed as their dataclass says."""

from dataclasses import dataclass

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.parameter import Parameter  # noqa: E402

from robot_dynamics.errors import ArgumentError  # noqa: E402
from robot_dynamics.nodes.ros.node_parameters import (  # noqa: E402
    Declared,
    describe,
    parameter,
    unknown_parameters,
)


@dataclass(frozen=True)
class Settings:
    rate: float = parameter(500.0, "Rate, Hz", low=1.0, high=2000.0, read_only=True)
    joints: tuple[str, ...] = parameter((), "Order of joints")
    mode: str = parameter("soft", "Law", one_of=("soft", "hard"))
    count: int = parameter(3, "Points", low=0, high=10)
    gravity: tuple[float, ...] = parameter((0.0, 0.0, -9.81), "Gravity, m/s^2", length=3)
    gain: float = parameter(1.0, "Gain, N m/rad", low=0.0)
    on: bool = parameter(True, "Whether it works")


@pytest.fixture
def make(context):
    nodes = []

    def make(given=(), **options):
        overrides = [Parameter(name, value=value) for name, value in dict(given).items()]
        node = rclpy.create_node(
            f"node_{len(nodes)}", context=context, parameter_overrides=overrides
        )
        nodes.append(node)
        return node, Declared(node, Settings, **options)

    yield make
    for node in nodes:
        node.destroy_node()


def test_defaults_are_those_of_the_dataclass(make):
    _, declared = make()
    assert declared.value == Settings()


def test_values_given_at_start_replace_defaults(make):
    _, declared = make({"rate": 250.0, "joints": ["b", "a"]})
    assert declared.value.rate == 250.0
    assert declared.value.joints == ("b", "a")


def test_a_whole_number_will_do_for_a_number(make):
    _, declared = make({"rate": 250})
    assert declared.value.rate == 250.0 and isinstance(declared.value.rate, float)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rate", -3.0, "parameter 'rate' is -3.0; give a finite number from 1 to 2000 (Rate, Hz)"),
        (
            "rate",
            "fast",
            "parameter 'rate' is 'fast'; give a finite number from 1 to 2000 (Rate, Hz)",
        ),
        ("mode", "rigid", "parameter 'mode' is 'rigid'; give one of soft, hard (Law)"),
        ("count", 2.5, "parameter 'count' is 2.5; give a whole number from 0 to 10 (Points)"),
        (
            "gain",
            float("nan"),
            "parameter 'gain' is nan; give a finite number of at least 0 (Gain, N m/rad)",
        ),
        (
            "gravity",
            [0.0, 1.0],
            "parameter 'gravity' is [0.0, 1.0]; give a list of 3, each a "
            "finite number (Gravity, m/s^2)",
        ),
        ("on", 1, "parameter 'on' is 1; give true or false (Whether it works)"),
        ("joints", "a", "parameter 'joints' is 'a'; give a list, each text (Order of joints)"),
    ],
)
def test_a_value_at_start_that_does_not_fit_is_refused_with_what_does(make, name, value, message):
    with pytest.raises(ArgumentError) as error:
        make({name: value})
    assert str(error.value) == message


def test_a_change_that_fits_replaces_the_value_as_a_whole(make):
    node, declared = make()
    before = declared.value
    assert node.set_parameters([Parameter("gain", value=2.0)])[0].successful
    assert declared.value.gain == 2.0
    assert before.gain == 1.0


def test_a_change_that_does_not_fit_changes_nothing_and_says_what_fits(make):
    node, declared = make()
    result = node.set_parameters([Parameter("mode", value="rigid")])[0]
    assert not result.successful
    assert result.reason == "parameter 'mode' is 'rigid'; give one of soft, hard (Law)"
    assert declared.value == Settings()


def test_one_bad_value_in_a_set_keeps_the_others_out_too(make):
    node, declared = make()
    changes = [Parameter("gain", value=2.0), Parameter("mode", value="rigid")]
    assert not node.set_parameters_atomically(changes).successful
    assert declared.value == Settings()
    assert node.get_parameter("gain").value == 1.0


def test_a_read_only_parameter_does_not_change(make):
    node, declared = make()
    assert not node.set_parameters([Parameter("rate", value=100.0)])[0].successful
    assert declared.value.rate == 500.0


def test_a_check_of_the_whole_set_can_refuse_a_change(make):
    def check(value):
        if value.mode == "hard" and value.gain > 5.0:
            raise ArgumentError("gain is too high for mode 'hard'; lower it")

    node, declared = make(check=check)
    assert node.set_parameters([Parameter("gain", value=9.0)])[0].successful
    result = node.set_parameters([Parameter("mode", value="hard")])[0]
    assert (result.successful, result.reason) == (
        False,
        "gain is too high for mode 'hard'; lower it",
    )
    assert declared.value.mode == "soft"


def test_the_callback_gets_a_change_once_it_is_in_force(make):
    received = []
    node, declared = make(changed=received.append)
    node.set_parameters([Parameter("gain", value=2.0)])
    node.set_parameters([Parameter("use_sim_time", value=False)])  # not one of these
    assert received == [declared.value]


def test_a_group_stands_under_its_prefix(context):
    node = rclpy.create_node(
        "grouped", context=context, parameter_overrides=[Parameter("arm.gain", value=4.0)]
    )
    declared = Declared(node, Settings, "arm", defaults=Settings(count=7))
    assert (declared.value.gain, declared.value.count) == (4.0, 7)
    node.destroy_node()


def test_values_that_were_set_outlast_a_group_and_defaults_do_not(make):
    node, declared = make(defaults=Settings(gain=2.0, count=5))
    assert node.set_parameters([Parameter("count", value=7)])[0].successful
    declared.close()
    again = Declared(node, Settings, defaults=Settings(gain=3.0, count=6))
    assert (again.value.gain, again.value.count) == (3.0, 7)


def test_the_descriptor_tells_range_and_meaning(make):
    node, _ = make()
    descriptor = node.describe_parameter("rate")
    assert descriptor.description == "Rate, Hz"
    assert descriptor.read_only
    (given,) = descriptor.floating_point_range
    assert (given.from_value, given.to_value) == (1.0, 2000.0)
    assert node.describe_parameter("mode").additional_constraints == "one of: soft, hard"


def test_a_parameter_describes_its_default_and_its_range():
    rate = describe(Settings)[0]
    assert (rate.name, rate.default, rate.allowed) == (
        "rate",
        500.0,
        "a finite number from 1 to 2000",
    )


def test_a_parameter_that_is_misspelt_is_named_with_the_nearest_one(make):
    node, _ = make({"rat": 250.0, "colour": "red", "mode": "hard", "use_sim_time": False})
    assert unknown_parameters(node) == (
        "node_0 ignores parameters that it does not have: 'colour', 'rat' (did you mean 'rate'?)"
    )


def test_parameters_of_groups_are_known_once_they_are_declared(make):
    node, _ = make({"gains.elbow.gain": 2.0, "gains.wrist.gain": 2.0})
    Declared(node, Settings, "gains.elbow")
    assert unknown_parameters(node) == (
        "node_0 ignores parameters that it does not have: 'gains.wrist.gain' (gains has elbow)"
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gains.elbo.gain", "gains has joint_1, joint_2"),
        ("gains.joint2.gain", "did you mean 'gains.joint_2.gain'?"),
        ("gain_s.joint_2.rat", "did you mean 'gains.joint_2.rate'?"),
        (
            "gains.joint_2.colour",
            "gains.joint_2 has rate, joints, mode, count, gravity, gain, on",
        ),
        ("gains.joint_2", "gains.joint_2 has rate, joints, mode, count, gravity, gain, on"),
        ("rate.p", "did you mean 'rate'?"),
    ],
)
def test_only_what_is_near_to_a_misspelt_parameter_is_suggested(make, name, hint):
    node, _ = make({name: 2.0})
    for joint in ("joint_1", "joint_2"):
        Declared(node, Settings, f"gains.{joint}")
    assert unknown_parameters(node) == (
        f"node_0 ignores parameters that it does not have: '{name}' ({hint})"
    )


def test_nothing_is_said_when_every_parameter_is_known(make):
    node, _ = make({"rate": 250.0})
    assert unknown_parameters(node) == ""
