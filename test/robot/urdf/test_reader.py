"""The robot of a URDF, and the warnings about implausible data."""

import logging
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from oracles import pin_model, relative_error
from robot_dynamics.errors import UrdfError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot.kinematic_tree import JointLimits, JointType, Mimic
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.robot.urdf_writer import urdf_of
from strategies import random_state, robots, seeds

# float64 on both sides and a rotation through roll, pitch, yaw: worst of 1000 random trees 1e-12;
# one wrong sign gives 1e-1
AGREEMENT = 1e-10

BODY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
ENDS = "<parent>base</parent><child>forearm</child>"
LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def arm(joint_inside=LIMIT, kind="revolute", body=BODY, extra=""):
    """A base on line 2, a forearm on line 3 and the elbow between the two on line 4."""
    return "\n".join(
        [
            '<robot name="arm">',
            '<link name="base"/>',
            f'<link name="forearm">{body}</link>',
            f'<joint name="elbow" type="{kind}"><parent link="base"/><child link="forearm"/>'
            f"{joint_inside}</joint>",
            extra,
            "</robot>",
        ]
    )


def inertial(mass=1.0, moments=(1.0, 1.0, 1.0), products=(0.0, 0.0, 0.0), origin=""):
    ixx, iyy, izz = moments
    ixy, ixz, iyz = products
    return (
        f'<inertial>{origin}<mass value="{mass}"/><inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" '
        f'ixy="{ixy}" ixz="{ixz}" iyz="{iyz}"/></inertial>'
    )


@pytest.fixture
def warnings(caplog):
    """The warnings that reading logs, as text."""
    caplog.set_level(logging.WARNING)
    return lambda: [record.getMessage() for record in caplog.records]


# -- what is read -----------------------------------------------------------------------------


def test_links_and_joints_stand_depth_first_in_document_order():
    links = "".join(f'<link name="{name}">{BODY}</link>' for name in ("a1", "b1", "a2", "root"))
    pairs = (("z", "root", "a1"), ("y", "root", "b1"), ("x", "a1", "a2"))
    joints = "".join(
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        "</joint>"
        for name, parent, child in pairs
    )
    robot = read_urdf(f'<robot name="tree">{joints}{links}</robot>')
    assert robot.joint_names == ("z", "x", "y")
    assert [link.name for link in robot.links] == ["root", "a1", "a2", "b1"]


def test_a_joint_has_what_its_element_says():
    inside = (
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>'
        '<limit lower="-1.5" upper="2.5" velocity="3" effort="40"/>'
        '<dynamics damping="0.5" friction="0.25"/>'
    )
    joint = read_urdf(arm(inside)).joint("elbow")
    assert (joint.type, joint.parent, joint.child) == (JointType.REVOLUTE, "base", "forearm")
    assert joint.limits == JointLimits(-1.5, 2.5, 3.0, 40.0)
    assert (joint.damping, joint.friction, joint.mimic) == (0.5, 0.25, None)
    assert_allclose(joint.axis, [0, 1, 0], atol=0)
    assert_allclose(joint.origin.translation, [1, 2, 3], atol=0)
    # URDF turns about the fixed axes x, y, z in this order, which scipy calls "xyz"
    R = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    assert_allclose(joint.origin.rotation, R, atol=1e-15)  # round-off of products of cosines


def test_a_joint_that_says_nothing_turns_about_x_at_the_parent_without_friction():
    joint = read_urdf(arm()).joint("elbow")
    assert_allclose(joint.axis, [1, 0, 0], atol=0)
    assert_allclose(joint.origin.rotation, np.eye(3), atol=0)
    assert_allclose(joint.origin.translation, np.zeros(3), atol=0)
    assert (joint.damping, joint.friction) == (0.0, 0.0)


def test_the_inertia_of_a_rotated_inertial_frame_is_brought_to_the_link():
    origin = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
    body = inertial(2.0, (0.3, 0.4, 0.5), (0.01, 0.02, 0.03), origin)
    inertia = read_urdf(arm(body=body)).links[1].inertia
    R = Rotation.from_euler("xyz", [0.4, 0.5, 0.6]).as_matrix()
    given_ = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]])
    assert inertia.mass == 2.0
    assert_allclose(inertia.com, [0.1, 0.2, 0.3], rtol=1e-14)
    assert_allclose(inertia.about_com, R @ given_ @ R.T, rtol=1e-13)


def test_a_continuous_joint_has_effort_and_velocity_but_no_position_limits():
    joint = read_urdf(arm(kind="continuous")).joint("elbow")
    assert joint.limits == JointLimits(velocity=1.0, effort=1.0)


def test_a_continuous_joint_needs_no_limits():
    assert read_urdf(arm("", kind="continuous")).joint("elbow").limits == JointLimits()


def test_a_fixed_joint_may_keep_the_leftovers_of_a_moving_one():
    inside = '<axis xyz="0 0 0"/><limit effort="-1"/><mimic joint="nobody"/><dynamics damping="x"/>'
    joint = read_urdf(arm(inside, kind="fixed")).joint("elbow")
    assert not joint.moves
    assert joint.mimic is None


def test_an_axis_of_any_length_is_a_direction(warnings):
    robot = read_urdf(arm('<axis xyz="0 3 4"/>' + LIMIT))
    assert_allclose(robot.joint("elbow").axis, [0, 0.6, 0.8], rtol=1e-15)
    assert warnings() == [
        "<robot_description>:4: joint 'elbow': axis has length 5; only its direction is used"
    ]


def test_an_axis_rounded_by_an_exporter_is_normalized_without_a_word(warnings):
    robot = read_urdf(arm('<axis xyz="0.57735 0.57735 0.57735"/>' + LIMIT))
    assert np.linalg.norm(robot.joint("elbow").axis) == pytest.approx(1.0, abs=1e-15)
    assert warnings() == []


def test_a_mimic_joint_has_multiplier_one_and_offset_zero_by_default():
    extra = (
        '<link name="finger"/><joint name="grip" type="continuous"><parent link="base"/>'
        '<child link="finger"/><mimic joint="elbow"/></joint>'
    )
    robot = read_urdf(arm(extra=extra))
    assert robot.joint("grip").mimic == Mimic("elbow", 1.0, 0.0)
    assert robot.joint_names == ("elbow",)


def test_a_mimic_of_a_mimic_follows_the_joint_that_leads_both():
    def finger(name, leader, multiplier, offset):
        return (
            f'<link name="{name}_link"/><joint name="{name}" type="continuous">'
            f'<parent link="base"/><child link="{name}_link"/>'
            f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/></joint>'
        )

    extra = finger("last", "middle", 3, 0.1) + finger("middle", "elbow", 2, 0.5)
    # 3 (2 q + 0.5) + 0.1 = 6 q + 1.6
    assert read_urdf(arm(extra=extra)).joint("last").mimic == Mimic("elbow", 6.0, 1.6)


def test_a_robot_of_one_link_has_no_joints():
    robot = read_urdf('<robot name="stone"><link name="stone"/></robot>')
    assert robot.dof == 0
    assert [link.name for link in robot.links] == ["stone"]


def test_a_chain_of_two_thousand_links_is_read():
    n = 2000  # more than Python recurses
    links = "".join(f'<link name="l{i}">{BODY}</link>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(n)
    )
    assert len(read_urdf(f'<robot name="chain">{links}{joints}</robot>').joints) == n


@given(robots())
def test_reading_undoes_writing(robot):
    again = read_urdf(urdf_of(robot))
    assert again.joint_names == robot.joint_names
    for ours, theirs in zip(again.joints, robot.joints, strict=True):
        assert (ours.name, ours.type, ours.parent) == (theirs.name, theirs.type, theirs.parent)
        assert ours.mimic == theirs.mimic
        if ours.moves:
            assert ours.limits == theirs.limits
            assert (ours.damping, ours.friction) == (theirs.damping, theirs.friction)
            assert_allclose(ours.axis, theirs.axis, atol=1e-15)  # normalized once more
        assert_allclose(ours.origin.rotation, theirs.origin.rotation, atol=1e-14)  # through rpy
        assert_allclose(ours.origin.translation, theirs.origin.translation, atol=0)
    for ours, theirs in zip(again.links, robot.links, strict=True):
        assert_allclose(ours.inertia.second_moment, theirs.inertia.second_moment, rtol=1e-12)


@given(robots(), seeds())
def test_torques_of_a_random_tree_read_from_text_agree_with_pinocchio(robot, seed):
    text = urdf_of(robot)
    read = read_urdf(text).with_gravity(robot.gravity)
    q, qd, qdd = random_state(robot, seed)
    theirs = pin_model(robot, text).inverse(q, qd, qdd)
    assert relative_error(inverse_dynamics(read, q, qd, qdd), theirs) < AGREEMENT


# -- sources ----------------------------------------------------------------------------------


def test_path_text_and_pathlike_give_the_same_robot(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(arm())
    for source in (path, str(path), arm(), "\n  " + arm(), "\ufeff" + arm()):
        assert read_urdf(source).joint_names == ("elbow",)


def test_a_default_namespace_is_no_obstacle():
    text = arm().replace("<robot ", '<robot xmlns="http://www.ros.org" ')
    assert read_urdf(text).joint_names == ("elbow",)


def test_prefixes_that_the_urdf_does_not_declare_are_accepted_outside_links_and_joints():
    camera = '<gazebo><sensor:camera name="rgb"/></gazebo></robot>'
    assert read_urdf(arm().replace("</robot>", camera)).joint_names == ("elbow",)


def test_a_prefix_may_be_undeclared_after_other_documents_of_the_thread_failed():
    with pytest.raises(etree.XPathEvalError):
        etree.fromstring("<a/>").xpath("a[")
    camera = '<gazebo><sensor:camera name="rgb"/></gazebo></robot>'
    assert read_urdf(arm().replace("</robot>", camera)).joint_names == ("elbow",)


def test_a_file_has_the_encoding_that_it_declares(tmp_path):
    path = tmp_path / "arm.urdf"
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>\n' + arm().replace('"arm"', '"Führarm"')
    path.write_bytes(text.encode("iso-8859-1"))
    assert read_urdf(path).name == "Führarm"


def test_text_may_still_carry_the_declaration_of_its_file():
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>\n' + arm().replace('"arm"', '"Führarm"')
    assert read_urdf(text).name == "Führarm"


@pytest.mark.parametrize(
    "declaration",
    ['\n\n<?xml version="1.0"?>\n', '<?xml version="0.0" ?>\n', '<?xml verison="1.0"?>\n'],
)
def test_declarations_that_other_readers_of_urdf_take_are_taken(tmp_path, declaration):
    path = tmp_path / "arm.urdf"
    path.write_text(declaration + arm())
    assert read_urdf(path).joint_names == ("elbow",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_read_like_a_file(tmp_path):
    path = tmp_path / "pipe"  # as the shell's <(xacro arm.urdf.xacro) is
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(arm(),))
    writer.start()
    assert read_urdf(path).joint_names == ("elbow",)
    writer.join()


def test_robots_can_be_read_in_several_threads():
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(read_urdf(arm()).joint_names))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [("elbow",)] * 8


# -- newer versions of the format, and xacro ----------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_a_rotation_may_be_a_quaternion(seed):
    turn = Rotation.random(rng=np.random.default_rng(seed))
    x, y, z, w = turn.as_quat()
    read = read_urdf(arm(LIMIT + f'<origin quat_xyzw="{x} {y} {z} {w}"/>'))
    np.testing.assert_allclose(read.joints[0].origin.rotation, turn.as_matrix(), atol=1e-12)


def test_limits_of_acceleration_are_the_lesser_of_both_ways():
    limit = '<limit lower="-1" upper="1" velocity="1" effort="1" {}/>'
    for given_limits, expected in (
        ("", np.inf),
        ('acceleration="2"', 2.0),
        ('acceleration="2" deceleration="1.5" jerk="9"', 1.5),
        ('acceleration="0" deceleration="3"', 3.0),
    ):
        assert read_urdf(arm(limit.format(given_limits))).limits.acceleration == expected


@pytest.mark.parametrize(
    ("soft", "expected"),
    [
        ('soft_lower_limit="-0.8" soft_upper_limit="0.9" k_position="20"', (-0.8, 0.9)),
        ('soft_lower_limit="-2" soft_upper_limit="0"', (-1.0, 0.0)),
        ('soft_upper_limit="0.5"', (-1.0, 0.5)),
        ('soft_lower_limit="0" soft_upper_limit="0"', (-1.0, 1.0)),  # what absent ones are
        ("", (-1.0, 1.0)),
    ],
)
def test_soft_limits_narrow_the_position_limits(soft, expected, warnings):
    limits = read_urdf(arm(f'{LIMIT}<safety_controller k_velocity="1" {soft}/>')).limits
    assert (limits.lower[0], limits.upper[0]) == expected
    assert warnings() == []


def test_soft_limits_without_a_range_are_named_and_not_used(warnings):
    soft = '<safety_controller soft_lower_limit="2" soft_upper_limit="3" k_velocity="1"/>'
    assert read_urdf(arm(LIMIT + soft)).limits.upper == 1.0
    assert warnings() == [
        "<robot_description>:4: joint 'elbow': soft limits leave no range within the position "
        "limits; not used"
    ]


def test_soft_limits_of_a_joint_that_turns_without_end_are_not_used():
    soft = '<safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_velocity="1"/>'
    assert read_urdf(arm(LIMIT + soft, kind="continuous")).limits.upper == np.inf


def test_limits_of_jerk_are_named_because_nothing_uses_them(warnings):
    read_urdf(arm('<limit lower="-1" upper="1" velocity="1" effort="1" jerk="9"/>'))
    assert warnings() == [
        "<robot_description>:4: joint 'elbow': has a limit of jerk, which is not used"
    ]


def test_definitions_of_xacro_that_nothing_uses_are_no_obstacle(warnings):
    name = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    unused = (
        f'<xacro:property {name} name="pi" value="${{22/7}}"/>'
        f'<xacro:macro {name} name="finger" params="side"><link name="${{side}}"/></xacro:macro>'
    )
    assert read_urdf(arm(extra=unused)).joint_names == ("elbow",)
    assert warnings() == []


def test_a_file_that_needs_xacro_is_named_in_the_remedy(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(arm('<limit lower="-1" upper="1" velocity="1" effort="${most}"/>'))
    with pytest.raises(UrdfError, match=r"rename the file to arm\.urdf\.xacro, which is expanded"):
        read_urdf(path)


# -- what is ignored --------------------------------------------------------------------------


def test_pictures_transmissions_and_other_programs_elements_are_skipped_silently(warnings, capfd):
    extra = (
        '<transmission name="t"><type>odd</type></transmission><gazebo reference="base"><mu1/>'
        '</gazebo><material name="m"/><ros2_control name="r"/>'
        '<drake:proximity xmlns:drake="http://drake.mit.edu" drake:compliance="1"/>'
        '<link xmlns:drake="http://drake.mit.edu" name="ghost" drake:compliance="1"/>'
        '<joint name="weld" type="fixed"><parent link="base"/><child link="ghost"/></joint>'
    )
    body = BODY + "<visual><nonsense/></visual><collision/>"
    read_urdf(arm(LIMIT + '<safety_controller k_velocity="1"/>', body=body, extra=extra))
    assert warnings() == []
    assert capfd.readouterr() == ("", "")


def test_what_urdf_does_not_define_is_named_in_one_warning(warnings, capfd):
    inside = LIMIT + '<dynamics damping="1" mu_viscous="2" K="3"/><inertail/>'
    robot = read_urdf(
        arm(inside, extra='<link name="b" color="red"/><link name="c" color="red"/>').replace(
            "</robot>",
            "".join(
                f'<joint name="to_{name}" type="fixed">'
                f'<parent link="base"/><child link="{name}"/></joint>'
                for name in "bc"
            )
            + "</robot>",
        )
    )
    assert robot.joint("elbow").damping == 1.0
    assert warnings() == [
        "<robot_description>:1: robot 'arm': ignored, unknown to URDF: "
        "attribute 'mu_viscous', attribute 'K' of <dynamics> (line 4), "
        "<inertail> in <joint> (line 4), attribute 'color' of <link> (line 5 and 1 more)"
    ]
    assert capfd.readouterr() == ("", "")  # the parser itself would write to stderr


def test_what_a_file_of_a_catalogue_has_beyond_urdf_is_no_news(warnings, tmp_path):
    text = arm(LIMIT + '<dynamics damping="1" mu_viscous="2"/>')
    for folder, count in (("example-robot-data", 0), ("mine", 1)):
        path = tmp_path / folder / "arm.urdf"
        path.parent.mkdir()
        path.write_text(text)
        read_urdf(path)
        assert len(warnings()) == count


# -- what is odd ------------------------------------------------------------------------------

HERE = "<robot_description>:3: link 'forearm': "
ELBOW = "<robot_description>:4: joint 'elbow': "

ODD = {
    "not positive definite": (
        arm(body=inertial(moments=(1, 1, 1), products=(1.5, 0, 0))),
        HERE + "inertia is not positive definite (smallest eigenvalue -0.5 kg m^2); "
        "check ixy, ixz, iyz",
    ),
    "negative moment": (
        arm(body=inertial(moments=(1, 1, -0.25))),
        HERE + "inertia is not positive definite (smallest eigenvalue -0.25 kg m^2); "
        "check ixx, iyy, izz",
    ),
    "semidefinite": (
        arm(body=inertial(moments=(1, 1, 1), products=(1, 1, 1))),
        HERE + "inertia is not positive definite (smallest eigenvalue 0 kg m^2); "
        "check ixy, ixz, iyz",
    ),
    "triangle inequality": (
        arm(body=inertial(moments=(1, 2, 4))),
        HERE + "inertia breaks the triangle inequality: the largest of the principal moments "
        "1, 2, 4 kg m^2 exceeds the sum of the others; check ixx, iyy, izz",
    ),
    "point": (
        arm(body=inertial(moments=(0, 0, 0), origin='<origin xyz="0 1 0"/>')),
        HERE + "has mass but no rotational inertia, like a point mass; give ixx, iyy, izz",
    ),
    "inertia without mass": (
        arm(body=inertial(mass=0)),
        HERE + "has rotational inertia but no mass; give both, or neither",
    ),
    "grams": (
        arm(body=inertial(mass=9000, moments=(90, 90, 90))),
        HERE + "weighs 9000 kg; are the masses in grams?",
    ),
    "mass centre in millimetres": (
        arm(body=inertial(origin='<origin xyz="0 0 350"/>')),
        HERE + "mass centre is 350 m from the frame; are the lengths in millimetres?",
    ),
    "inertia in kg mm^2": (
        arm(body=inertial(moments=(3e4, 4e4, 5e4), mass=4)),
        HERE + "radius of gyration is 111.8 m; are the moments of inertia in kg mm^2?",
    ),
    "joint origin in millimetres": (
        arm('<origin xyz="0 0 425"/>' + LIMIT),
        ELBOW + "lies 425 m from its parent link; are the lengths in millimetres?",
    ),
    "effort 0": (
        arm('<limit lower="-1" upper="1" velocity="1" effort="0"/>'),
        ELBOW + "has no limit of effort, so none is enforced; give one (absent or 0)",
    ),
    "no limit of velocity and effort": (
        arm('<limit lower="-1" upper="1"/>'),
        ELBOW + "has no limit of velocity or effort, so none is enforced; give one (absent or 0)",
    ),
    "no limit of effort in two joints": (
        arm(
            '<limit lower="-1" upper="1" velocity="1"/>',
            extra='<link name="hand">'
            + BODY
            + '</link><joint name="wrist" type="prismatic"><parent link="forearm"/>'
            '<child link="hand"/><limit lower="-1" upper="1" velocity="1"/></joint>'
            '<link name="nail"/><joint name="glue" type="fixed"><parent link="hand"/>'
            '<child link="nail"/><limit/></joint>',
        ),
        "<robot_description>:1: robot 'arm': joints 'elbow', 'wrist': each has no limit of effort, "
        "so none is enforced; give one (absent or 0)",
    ),
    "quaternion in percent": (
        arm(LIMIT + '<origin quat_xyzw="0 0 0 100"/>'),
        ELBOW + "quat_xyzw has length 100; it is normalized",
    ),
    "quaternion with two digits": (
        arm(LIMIT + '<origin quat_xyzw="0 0 0.71 0.71"/>'),
        ELBOW + "quat_xyzw has length 1.00409; it is normalized",
    ),
    "loop that Gazebo closes": (
        arm(extra=f"<gazebo><joint name='loop' type='revolute'>{ENDS}</joint></gazebo>"),
        "<robot_description>:5: gazebo: closes a loop, which is not modelled; efforts are those of "
        "the open chain",
    ),
    "loop of Drake": (
        arm(extra='<loop_joint name="loop" type="revolute"/>'),
        "<robot_description>:5: loop_joint 'loop': closes a loop, which is not modelled; efforts "
        "are those of the open chain",
    ),
    "all limits 0": (
        arm('<limit velocity="0" effort="0"/>'),
        ELBOW + "has no limit of position or velocity or effort, so none is enforced; give one "
        "(absent or 0)",
    ),
}


@pytest.mark.parametrize(("source", "warning"), ODD.values(), ids=ODD.keys())
def test_what_is_odd_but_possible_is_said_in_one_warning(source, warning, warnings):
    read_urdf(source)
    assert warnings() == [warning]


@pytest.mark.parametrize("moments", [(1, 1, 2), (0.333333, 0.333333, 0.666667)])
def test_a_thin_plate_is_a_body_even_when_its_moments_are_rounded(moments, warnings):
    read_urdf(arm(body=inertial(moments=moments)))
    assert warnings() == []


def test_limits_of_zero_become_unlimited():
    assert read_urdf(arm('<limit velocity="0" effort="0"/>')).joint("elbow").limits == JointLimits()


def test_equal_limits_that_are_not_zero_are_kept():
    limits = read_urdf(arm('<limit lower="1" upper="1" velocity="1" effort="1"/>')).limits
    assert (limits.lower[0], limits.upper[0]) == (1.0, 1.0)


def test_a_sound_arm_is_read_without_a_word(warnings, capfd):
    read_urdf(arm())
    assert warnings() == []
    assert capfd.readouterr() == ("", "")


# -- links without inertia --------------------------------------------------------------------

HAND = (
    '<link name="hand">{body}</link><joint name="wrist" type="{kind}"><parent link="forearm"/>'
    '<child link="hand"/>{inside}</joint>'
)


def test_a_massless_frame_is_legal(warnings):
    read_urdf(arm(extra=HAND.format(body="", kind="fixed", inside="")))
    assert warnings() == []


def test_a_massless_link_between_joints_is_warned_of(warnings):
    hand = HAND.format(body=BODY, kind="continuous", inside='<axis xyz="0 1 0"/>')
    read_urdf(arm(body="", extra=hand))
    assert warnings() == [
        HERE + "moves but has no mass; give it an <inertial> (robot-dynamics info FILE "
        "--estimate-inertia -o NEW.urdf estimates them)"
    ]


def test_a_link_whose_mass_is_fixed_to_it_is_not_massless(warnings):
    read_urdf(arm(body="", extra=HAND.format(body=BODY, kind="fixed", inside="")))
    assert warnings() == []


SINGULAR = {
    "massless tip": arm(body=""),
    "point mass on the axis": arm(
        body=inertial(moments=(0, 0, 0), origin='<origin xyz="0.7 0 0"/>')
    ),
    "rod turning about itself": arm(body=inertial(moments=(0, 1, 1))),
    "massless link between joints of one axis": arm(
        body="", extra=HAND.format(body=BODY, kind="continuous", inside="")
    ),
    "massless slide": arm(kind="prismatic", body=inertial(mass=0)),
    "follower without inertia": arm(
        body="",
        extra=HAND.format(body="", kind="continuous", inside='<mimic joint="elbow"/>'),
    ),
}


@pytest.mark.parametrize("source", SINGULAR.values(), ids=SINGULAR.keys())
def test_a_joint_that_accelerates_nothing_is_refused_by_name(source):
    with pytest.raises(ValueError, match="joint 'elbow': moves no inertia about its axis"):
        read_urdf(source)


@pytest.mark.parametrize("source", SINGULAR.values(), ids=SINGULAR.keys())
def test_a_joint_that_accelerates_nothing_is_accepted_on_request(source, warnings):
    assert "elbow" in read_urdf(source, require_inertia=False).joint_names
    assert warnings()[-1] == (
        ELBOW + "moves no inertia about its axis, so no effort determines its acceleration; lock "
        "it, or give its links an <inertial> (robot-dynamics info FILE --estimate-inertia -o "
        "NEW.urdf estimates them), or make it fixed"
    )


def test_a_leader_without_inertia_may_move_a_follower_that_has_some():
    hand = HAND.format(body=BODY, kind="continuous", inside='<mimic joint="elbow"/>')
    crossed = hand.replace('"forearm"', '"base"')  # so that the elbow itself moves nothing
    assert read_urdf(arm(body="", extra=crossed)).joint_names == ("elbow",)


@given(robots())
def test_a_random_robot_of_solid_bodies_is_never_called_singular(robot):
    read_urdf(urdf_of(robot))
