"""Errors of invalid URDFs: one line with file, line, element and remedy."""

import itertools
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.errors import RobotDynamicsError, UrdfError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot.urdf.document import MAX_BYTES
from robot_dynamics.robot.urdf.reader import read_urdf

BODY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def joint(name="elbow", kind="revolute", parent="a", child="b", inside=LIMIT):
    """One joint on one line."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"{inside}</joint>"
    )


def robot(*lines, links="abc"):
    """URDF text: <robot> on line 1, a link with a body on each of the next, then `lines`."""
    bodies = [f'<link name="{name}">{BODY}</link>' for name in links]
    return "\n".join(['<robot name="arm">', *bodies, *lines, "</robot>"])


def message_of(source):
    """Return the error message of read_urdf, which must be one line."""
    with pytest.raises(UrdfError) as error:
        read_urdf(source)
    message = str(error.value)
    assert "\n" not in message
    return message


# -- elements ---------------------------------------------------------------------------------

TEXT = "<robot_description>"

FAULTS = {
    "joint type with a typo": (
        robot(joint(kind="revolut"), links="ab"),
        f"{TEXT}:4: joint 'elbow': unknown joint type 'revolut'; did you mean 'revolute'?",
    ),
    "joint type of another format": (
        robot(joint(kind="hinge"), links="ab"),
        f"{TEXT}:4: joint 'elbow': unknown joint type 'hinge'; "
        "use one of revolute, continuous, prismatic, fixed, floating, planar",
    ),
    "joint without type": (
        robot('<joint name="elbow"><parent link="a"/><child link="b"/></joint>', links="ab"),
        f"{TEXT}:4: joint 'elbow': <joint> has no attribute 'type'; add it",
    ),
    "joint without name": (
        robot('<joint type="fixed"><parent link="a"/><child link="b"/></joint>', links="ab"),
        f"{TEXT}:4: joint: <joint> has no attribute 'name'; add it",
    ),
    "link without name": (
        robot("<link/>", links="a"),
        f"{TEXT}:3: link: <link> has no attribute 'name'; add it",
    ),
    "link with an empty name": (
        robot('<link name=" "/>', links="a"),
        f"{TEXT}:3: link ' ': attribute 'name' of <link> is empty; fill it in",
    ),
    "robot without name": (
        "<robot><link name='a'/></robot>",
        f"{TEXT}:1: robot: <robot> has no attribute 'name'; add it",
    ),
    "robot without links": (
        '<robot name="arm"/>',
        f"{TEXT}:1: robot 'arm': <robot> has no <link>; add it",
    ),
    "joint without parent": (
        robot('<joint name="elbow" type="fixed"><child link="b"/></joint>', links="ab"),
        f"{TEXT}:4: joint 'elbow': <joint> has no <parent>; add it",
    ),
    "joint with two parents": (
        robot(joint(inside='<parent link="a"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': <joint> has two <parent>; keep one",
    ),
    "revolute joint without limit": (
        robot(joint(inside=""), links="ab"),
        f"{TEXT}:4: joint 'elbow': a revolute joint needs <limit lower upper velocity effort>; "
        "add it, or use type='continuous'",
    ),
    "prismatic joint without limit": (
        robot(joint(kind="prismatic", inside=""), links="ab"),
        f"{TEXT}:4: joint 'elbow': a prismatic joint needs <limit lower upper velocity effort>; "
        "add it",
    ),
    "negative jerk limit": (
        robot(joint(inside='<limit lower="0" upper="1" jerk="-1"/>'), links="ab"),
        f"{TEXT}:4: joint 'elbow': jerk is negative (-1.0); give its magnitude",
    ),
    "lower limit above upper": (
        robot(joint(inside='<limit lower="1" upper="-1" velocity="1" effort="1"/>'), links="ab"),
        f"{TEXT}:4: joint 'elbow': lower limit 1.0 is above upper -1.0; swap them",
    ),
    "negative effort limit": (
        robot(joint(inside='<limit lower="0" upper="1" velocity="1" effort="-5"/>'), links="ab"),
        f"{TEXT}:4: joint 'elbow': effort is negative (-5.0); give its magnitude",
    ),
    "negative velocity limit": (
        robot(joint(inside='<limit lower="0" upper="1" velocity="-1" effort="5"/>'), links="ab"),
        f"{TEXT}:4: joint 'elbow': velocity is negative (-1.0); give its magnitude",
    ),
    "negative damping": (
        robot(joint(inside=LIMIT + '<dynamics damping="-0.5"/>'), links="ab"),
        f"{TEXT}:4: joint 'elbow': damping is negative (-0.5); give its magnitude",
    ),
    "negative friction": (
        robot(joint(inside=LIMIT + '<dynamics friction="-2"/>'), links="ab"),
        f"{TEXT}:4: joint 'elbow': friction is negative (-2.0); give its magnitude",
    ),
    "zero axis": (
        robot(joint(inside='<axis xyz="0 0 0"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': axis is zero; give its direction, such as xyz=\"0 0 1\"",
    ),
    "axis of two numbers": (
        robot(joint(inside='<axis xyz="0 1"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': xyz=\"0 1\" of <axis>: needs 3 numbers, got 2",
    ),
    "mass that is nan": (
        robot('<link name="a"><inertial><mass value="nan"/></inertial></link>', links=""),
        f"{TEXT}:2: link 'a': value=\"nan\" of <mass>: 'nan' is not a finite number",
    ),
    "origin at infinity": (
        robot(joint(inside='<origin xyz="0 inf 0"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': xyz=\"0 inf 0\" of <origin>: 'inf' is not a finite number",
    ),
    "number that would overflow": (
        robot(joint(inside='<origin xyz="0 1e999 0"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': xyz=\"0 1e999 0\" of <origin>: '1e999' is larger than "
        "1e+15; correct it",
    ),
    "decimal comma": (
        robot(joint(inside='<origin xyz="0 0,5 0"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': xyz=\"0 0,5 0\" of <origin>: '0,5' is not a finite number; "
        "use a decimal point",
    ),
    "number with underscores, which Python would read": (
        robot(joint(inside='<origin xyz="0 1_0 0"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': xyz=\"0 1_0 0\" of <origin>: '1_0' is not a finite number",
    ),
    "digits of another script, which Python would read": (
        robot(joint(inside='<origin xyz="0 \u0663 0"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': xyz=\"0 \u0663 0\" of <origin>: '\u0663' is not a finite number",
    ),
    "rotation given twice": (
        robot(joint(inside='<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': has both rpy and quat_xyzw; keep one",
    ),
    "quaternion of zeros": (
        robot(joint(inside='<origin quat_xyzw="0 0 0 0"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': quat_xyzw is zero; without a rotation it is \"0 0 0 1\"",
    ),
    "inertial without mass": (
        robot('<link name="a"><inertial/></link>', links=""),
        f"{TEXT}:2: link 'a': <inertial> has no <mass>; add it",
    ),
    "inertial without inertia": (
        robot('<link name="a"><inertial><mass value="1"/></inertial></link>', links=""),
        f"{TEXT}:2: link 'a': <inertial> has no <inertia>; add it",
    ),
    "inertia without a product": (
        robot(f'<link name="a">{BODY}</link>'.replace('ixz="0"', ""), links=""),
        f"{TEXT}:2: link 'a': <inertia> has no attribute 'ixz'; add it",
    ),
    "negative mass": (
        robot(f'<link name="a">{BODY}</link>'.replace('value="1"', 'value="-2.5"'), links=""),
        f"{TEXT}:2: link 'a': mass is negative (-2.5 kg); give a positive one",
    ),
    "xacro that was not run": (
        robot('<xacro:arm xmlns:xacro="http://www.ros.org/wiki/xacro"/>', links="a"),
        f"{TEXT}:3: xacro:arm: xacro is not expanded here; "
        "run xacro first: xacro robot.urdf.xacro > robot.urdf",
    ),
    "xacro expression in a number": (
        robot(joint(inside='<origin xyz="0 0 ${height}"/>' + LIMIT), links="ab"),
        f"{TEXT}:4: joint 'elbow': xacro is not expanded here; "
        "run xacro first: xacro robot.urdf.xacro > robot.urdf",
    ),
    # -- the tree --
    "two links of one name": (
        robot(f'<link name="a">{BODY}</link>', links="ab"),
        f"{TEXT}:4: link 'a': line 2 has a link of that name; rename one",
    ),
    "two joints of one name": (
        robot(joint(), joint(parent="b", child="c")),
        f"{TEXT}:6: joint 'elbow': line 5 has a joint of that name; rename one",
    ),
    "unknown parent": (
        robot(joint(parent="bass"), links=["base", "b"]),
        f"{TEXT}:4: joint 'elbow': parent link 'bass' does not exist; did you mean 'base'?",
    ),
    "unknown child": (
        robot(joint(child="zzz"), links="ab"),
        f"{TEXT}:4: joint 'elbow': child link 'zzz' does not exist; define it, or correct the name",
    ),
    "two roots": (
        robot(joint(), links="abc"),
        f"{TEXT}:4: link 'c': 2 links have no parent: 'a', 'c'; a robot has one root, so connect "
        "the others with joints",
    ),
    "many disconnected links": (
        robot(links="abcdefgh"),
        f"{TEXT}:3: link 'b': 8 links have no parent: 'a', 'b', 'c', 'd', 'e', 'f' and 2 more; "
        "a robot has one root, so connect the others with joints",
    ),
    "child of two joints": (
        robot(joint(), joint("wrist", parent="c")),
        f"{TEXT}:6: joint 'wrist': link 'b' is already the child of joint 'elbow'; a link has one "
        "parent (of closed chains, parallelograms can be written with mimic joints: "
        "https://robot-dynamics.example/docs/moving-bases.html)",
    ),
    "loop of joints": (
        robot(joint(), joint("wrist", parent="b", child="c"), joint("back", parent="c", child="a")),
        f"{TEXT}:5: joint 'elbow': joints 'elbow', 'wrist', 'back' form a loop; a robot is a "
        "tree, cut one of them (a parallelogram can be written with mimic joints: "
        "https://robot-dynamics.example/docs/moving-bases.html)",
    ),
    "loop beside a sound root": (
        robot(joint(parent="b", child="c"), joint("wrist", parent="c", child="b")),
        f"{TEXT}:5: joint 'elbow': joints 'elbow', 'wrist' form a loop; a robot is a tree, cut one "
        "of them (a parallelogram can be written with mimic joints: https://robot-dynamics.example/docs/moving-bases.html)",
    ),
    "joint from a link to itself": (
        robot(joint(parent="b", child="b"), links="ab"),
        f"{TEXT}:4: joint 'elbow': leads from link 'b' to itself; correct one end",
    ),
    # -- mimic joints --
    "mimic of an unknown joint": (
        robot(joint(), joint("wrist", "revolute", "b", "c", LIMIT + '<mimic joint="elbo"/>')),
        f"{TEXT}:6: joint 'wrist': mimicked joint 'elbo' does not exist; did you mean 'elbow'?",
    ),
    "mimic of itself": (
        robot(joint(inside=LIMIT + '<mimic joint="elbow"/>'), links="ab"),
        f"{TEXT}:4: joint 'elbow': mimics itself; name the joint that it follows",
    ),
    "mimic of a fixed joint": (
        robot(
            joint(kind="fixed"),
            joint("wrist", "revolute", "b", "c", LIMIT + '<mimic joint="elbow"/>'),
        ),
        f"{TEXT}:6: joint 'wrist': mimics joint 'elbow', which is fixed; make this one fixed too",
    ),
    "mimic of a floating joint": (
        robot(
            joint(kind="floating"),
            joint("wrist", "revolute", "b", "c", LIMIT + '<mimic joint="elbow"/>'),
        ),
        f"{TEXT}:6: joint 'wrist': mimics joint 'elbow', which is floating; name one with one "
        "position",
    ),
    "mimic loop": (
        robot(
            joint(inside=LIMIT + '<mimic joint="wrist"/>'),
            joint("wrist", "revolute", "b", "c", LIMIT + '<mimic joint="elbow"/>'),
        ),
        f"{TEXT}:5: joint 'elbow': joints 'elbow', 'wrist' mimic each other in a loop; let one of "
        "them lead",
    ),
    # -- inertia --
    "tip without inertia": (
        robot(joint(), '<link name="b"/>', links="a"),
        f"{TEXT}:3: joint 'elbow': moves no inertia about its axis, so no effort determines its "
        "acceleration; give its links an <inertial> (robot-dynamics info FILE --estimate-inertia "
        "-o NEW.urdf estimates them), or make it fixed, or read it with require_inertia=False: "
        "kinematics needs none",
    ),
}


@pytest.mark.parametrize(("source", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_faulty_urdf_is_refused_with_line_element_and_remedy(source, message):
    assert message_of(source) == message


# -- documents --------------------------------------------------------------------------------

DOCUMENTS = {
    "not XML": (
        '<robot name="arm">\n<link name="a">\n</robot>',
        f"{TEXT}:3: not XML: Opening and ending tag mismatch: link line 2 and robot",
    ),
    "another format": (
        "<sdf version='1.6'/>",
        f"{TEXT}:1: the root element is <sdf>, not <robot>; "
        "give a URDF (convert other formats first)",
    ),
    "empty text": (" \n ", f"{TEXT}: empty; give the path of a URDF, or its XML text"),
    "text that is no XML": (
        "name: arm\nlinks: 3\n",
        f"{TEXT}: neither a path nor XML text (which starts with '<')",
    ),
    "document type": (
        '<!DOCTYPE robot>\n<robot name="arm"><link name="a"/></robot>',
        f"{TEXT}:1: declares a document type (DTD), which is refused; remove it",
    ),
    "external document type": (
        '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd"><robot name="arm"/>',
        f"{TEXT}:1: declares a document type (DTD), which is refused; remove it",
    ),
    "entity": (
        '<!DOCTYPE robot [<!ENTITY arm "x">]><robot name="arm"><link name="a">&arm;</link></robot>',
        f"{TEXT}:1: declares a document type (DTD), which is refused; remove it",
    ),
    "path that does not exist": (
        "no/such.urdf",
        "no/such.urdf: no such file; give the path of a URDF, or its XML text",
    ),
    "path with a null byte": ("a\0b", "a\\x00b: cannot be read: embedded null byte"),
    "number": (42, "read_urdf takes a path or XML text, got int"),
}


@pytest.mark.parametrize(("source", "message"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_what_is_no_urdf_is_refused(source, message):
    assert message_of(source) == message


def test_an_external_entity_is_not_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    source = (
        f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
        '<robot name="arm"><link name="a">&x;</link></robot>'
    )
    assert "secret" not in message_of(source).replace(str(tmp_path), "")


def test_entities_within_entities_are_refused_before_they_grow():
    names = "abcdefghijkl"  # would be 10^11 characters
    entities = "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in itertools.pairwise(names)
    )
    source = f'<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa">{entities}]><robot name="&l;"/>'
    assert message_of(source).startswith(f"{TEXT}:1: not XML: ")


def test_deep_nesting_is_refused():
    source = "<robot name='arm'>" + "<a>" * 100_000 + "</a>" * 100_000 + "</robot>"
    assert message_of(source).startswith(f"{TEXT}:1: not XML: Excessive depth")


def test_a_file_is_named_as_the_caller_named_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(robot(joint(kind="hinge"), links="ab"))
    assert message_of("arm.urdf").startswith("arm.urdf:4: joint 'elbow': unknown joint type")
    assert message_of(tmp_path / "arm.urdf").startswith(f"{tmp_path}/arm.urdf:4: ")


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text("\n")
    assert message_of(path) == f'{path}: empty; a URDF starts with <robot name="...">'


def test_a_folder_is_refused(tmp_path):
    assert message_of(tmp_path) == f"{tmp_path}: is a folder; give the URDF file in it"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(robot(links="a"))
    path.chmod(0)
    assert message_of(path) == f"{path}: cannot be read: Permission denied"


def test_a_file_that_is_too_large_is_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(robot(f"<!--{' ' * MAX_BYTES}-->", links="a"))
    assert message_of(path) == (
        f"{path}: larger than 16 MiB, so not a URDF; meshes belong in files of their own"
    )


def test_text_that_is_too_large_is_refused():
    assert message_of(robot(f"<!--{' ' * MAX_BYTES}-->", links="a")) == (
        f"{TEXT}: larger than 16 MiB, so not a URDF; meshes belong in files of their own"
    )


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "link.stl"
    path.write_bytes(bytes(range(256)))
    assert message_of(path).startswith(f"{path}:1: not XML: ")


def test_names_with_line_breaks_stay_on_one_line():
    source = robot(joint(kind="hinge").replace('"elbow"', '"el&#10;bow"'), links="ab")
    assert "joint 'el bow': unknown joint type" in message_of(source)


@pytest.mark.parametrize("kind", ("floating", "planar"))
def test_free_joints_are_refused_where_the_base_does_not_move(kind):
    with pytest.raises(UrdfError) as error:
        read_urdf(robot(joint(kind=kind), links="ab"), free_joints=False)
    assert str(error.value) == (
        f"{TEXT}:4: joint 'elbow': is {kind}, but the base does not move here; weld it with "
        "type='fixed'"
    )


def test_every_refusal_can_be_caught_as_the_package_or_as_a_value_error():
    with pytest.raises(RobotDynamicsError):
        read_urdf("no/such.urdf")
    with pytest.raises(ValueError, match="no such file"):
        read_urdf("no/such.urdf")


# -- damage -------------------------------------------------------------------------------------

SOUND = robot(
    joint(inside='<origin xyz="0 0 1" rpy="1 2 3"/><axis xyz="0 1 0"/>' + LIMIT),
    joint("wrist", "prismatic", "b", "c", LIMIT + '<mimic joint="elbow" multiplier="2"/>'),
)
PIECES = re.findall(r"[\w.]+|[^\w.]+", SOUND)  # names and numbers, and what stands between them
NAMES = [i for i, piece in enumerate(PIECES) if re.match(r"[\w.]", piece)]
ODD = ["nan", "1e400", "1e308", "1e-320", "", "-1", "0", "é", "&lt;", "<!--", "]]>", "${x}", "\0"]


@settings(max_examples=500)  # 2 ms each; some 40 different refusals, and one robot in four
@given(st.data())
def test_a_damaged_urdf_is_a_robot_or_one_line(data):
    pieces = list(PIECES)
    places = data.draw(st.sampled_from([NAMES, NAMES, range(len(PIECES))]))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.sampled_from(places))
        pieces[at] = data.draw(st.sampled_from(ODD + [PIECES[i] for i in NAMES]))
    try:
        read = read_urdf("".join(pieces))
    except UrdfError as error:
        assert str(error).startswith(f"{TEXT}:")
        assert "\n" not in str(error)
    else:
        state = np.ones((3, read.dof))
        assert np.all(np.isfinite(inverse_dynamics(read, *state)))
