"""Transmissions of a URDF in the dialects of ROS."""

import numpy as np
import pytest

from oracles import all_example_urdfs, example_id
from robot_dynamics.errors import UrdfError
from robot_dynamics.robot.urdf.transmissions import read_transmissions


def robot(*lines):
    return "\n".join(['<robot name="arm">', *lines, "</robot>"])


ROS_1 = robot(
    '<transmission name="shoulder_gear">',
    "  <type>transmission_interface/SimpleTransmission</type>",
    '  <joint name="shoulder"><offset>0.25</offset></joint>',
    '  <actuator name="motor"><mechanicalReduction>-50</mechanicalReduction></actuator>',
    "</transmission>",
)
ROS_2 = robot(
    '<ros2_control name="hardware" type="system">',
    '  <transmission name="shoulder_gear">',
    "    <plugin>transmission_interface/SimpleTransmission</plugin>",
    '    <actuator name="motor" role="actuator1"/>',
    '    <joint name="shoulder" role="joint1">',
    "      <mechanical_reduction>-50</mechanical_reduction><offset>0.25</offset>",
    "    </joint>",
    "  </transmission>",
    "</ros2_control>",
)
PR2 = robot(
    '<transmission name="shoulder_gear" type="pr2_mechanism_model/SimpleTransmission">',
    '  <actuator name="motor"/>',
    '  <joint name="shoulder"><offset>0.25</offset></joint>',
    "  <mechanicalReduction>-50</mechanicalReduction>",
    "</transmission>",
)


@pytest.mark.parametrize("text", [ROS_1, ROS_2, PR2], ids=["ros1", "ros2_control", "pr2"])
def test_simple_transmission_reads_alike_in_every_dialect(text):
    (gear,) = read_transmissions(text)
    assert (gear.name, gear.joints, gear.actuators) == ("shoulder_gear", ("shoulder",), ("motor",))
    assert (gear.matrix, gear.offset) == ([[-50.0]], [0.25])


def two_by_two(kind, n):
    """A transmission of two joints: reductions of the actuators, then of the joints."""

    def part(tag, k, reduction):
        return (
            f'<{tag} name="{tag}_{k}"><role>{tag}{k}</role>'
            f"<mechanicalReduction>{reduction}</mechanicalReduction></{tag}>"
        )

    return robot(
        f'<transmission name="pair"><type>transmission_interface/{kind}</type>',
        # out of order on purpose: the roles say which is which
        part("actuator", 2, n[1]),
        part("actuator", 1, n[0]),
        part("joint", 2, n[3]),
        part("joint", 1, n[2]),
        "</transmission>",
    )


def test_differential_transmission_adds_and_subtracts_its_joints():
    """Velocities of ros2_control: a1 = n_a1 (n_j1 j1 + n_j2 j2), a2 = n_a2 (n_j1 j1 - n_j2 j2)."""
    (pair,) = read_transmissions(two_by_two("DifferentialTransmission", (2.0, 3.0, 5.0, 7.0)))
    assert pair.joints == ("joint_1", "joint_2")
    assert pair.actuators == ("actuator_1", "actuator_2")
    assert np.array_equal(pair.matrix, [[10.0, 14.0], [15.0, -21.0]])


def test_four_bar_transmission_drives_the_second_joint_past_the_first():
    """Velocities of ros2_control: a1 = n_j1 n_a1 j1, a2 = n_a2 (j1 + n_j2 j2)."""
    (pair,) = read_transmissions(two_by_two("FourBarLinkageTransmission", (2.0, 3.0, 5.0, 7.0)))
    assert np.array_equal(pair.matrix, [[10.0, 0.0], [3.0, 21.0]])


def test_transmission_without_numbers_drives_one_to_one():
    (gear,) = read_transmissions(
        robot(
            '<transmission name="direct"><type>SimpleTransmission</type>',
            '<joint name="shoulder"/><actuator name="motor"/></transmission>',
        )
    )
    assert (gear.matrix, gear.offset) == ([[1.0]], [0.0])


def test_transmissions_of_another_type_are_left_out_with_one_warning(caplog):
    text = robot(
        *[
            f'<transmission name="t{k}"><type>x/HarmonicTransmission</type></transmission>'
            for k in range(2)
        ]
    )
    assert read_transmissions(text) == ()
    assert caplog.messages == [
        "<robot_description>: transmissions of type 'HarmonicTransmission' are not read "
        "(SimpleTransmission, FourBarLinkageTransmission, DifferentialTransmission are): t0, t1"
    ]


@pytest.mark.parametrize(
    ("inside", "name", "problem"),
    [
        ('<joint name="j"/><actuator name="m"/>', "", "a transmission has no name; give it one"),
        (
            '<joint name="j"/>',
            ' name="gear"',
            "transmission 'gear' of type 'SimpleTransmission' needs 1 named <actuator>, got 0",
        ),
        (
            '<joint name="j"/><joint name="k"/><actuator name="m"/>',
            ' name="gear"',
            "transmission 'gear' of type 'SimpleTransmission' needs 1 named <joint>, got 2",
        ),
        (
            '<joint name="j"/><actuator name="m"><mechanicalReduction>0</mechanicalReduction>'
            "</actuator>",
            ' name="gear"',
            "transmission 'gear': a reduction of 0 couples nothing; give its gear ratio",
        ),
        (
            '<joint name="j"/><actuator name="m"><mechanicalReduction>fast</mechanicalReduction>'
            "</actuator>",
            ' name="gear"',
            "transmission 'gear': <mechanicalReduction> is 'fast', not a finite number",
        ),
    ],
)
def test_faulty_transmission_is_refused_with_its_line(inside, name, problem):
    text = robot(f"<transmission{name}><type>SimpleTransmission</type>{inside}</transmission>")
    with pytest.raises(UrdfError) as error:
        read_transmissions(text)
    what = "transmission 'gear'" if name else "transmission"
    assert str(error.value) == f"<robot_description>:2: {what}: {problem}"


@pytest.mark.parametrize("path", all_example_urdfs(), ids=example_id)
def test_transmissions_of_examples_are_invertible(path, caplog):
    for transmission in read_transmissions(path):
        assert abs(np.linalg.det(transmission.matrix)) > 0.0, transmission.name
