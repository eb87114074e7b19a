"""Robots from table files: their numbers, units and faults, and the way to a URDF and back."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from choices import first
from refusals import refusal
from robot_dynamics.cli import main
from robot_dynamics.cli.recordings import parameter_file
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError, UrdfError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.identification.export.write_back import with_identified
from robot_dynamics.kinematics import frame_pose
from robot_dynamics.robot import Inertia, JointLimits, find_robot, read_urdf, urdf_of, urdf_text
from robot_dynamics.robot.denavit_hartenberg import (
    CONVENTIONS,
    DHRow,
    Table,
    denavit_hartenberg,
    with_slides_reversed,
)
from robot_dynamics.robot.table_columns import HARTENBERG_DENAVIT, ZERO
from robot_dynamics.robot.table_files import read_table
from robot_dynamics.robot.table_text import PRINTED, table_text
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial import Pose
from strategies import random_inertia, random_rotation, random_state, seeds

ROUND_OFF = 1e-12  # numbers near 1 after degrees, roll-pitch-yaw and common normals; worst 3e-14


@st.composite
def tables(draw):
    """Random tables of up to seven joints, axes parallel or far from it, with all columns."""
    kinds = draw(st.lists(st.sampled_from(("revolute", "continuous", "prismatic")), min_size=1,
                          max_size=7))  # fmt: skip
    rng = np.random.default_rng(draw(seeds()))
    right = draw(st.booleans())
    rows = []
    for k, kind in enumerate(kinds):
        alpha = rng.choice((0.0, np.pi / 2, np.pi)) if right else rng.uniform(0.3, 2.8)
        ends = {} if kind == "continuous" else {"lower": -rng.uniform(0.1, 3), "upper": 2.0}
        limits = JointLimits(**ends, velocity=rng.uniform(0.1, 9), effort=rng.uniform(1, 500))
        a, d, theta = rng.uniform(0.05, 0.5), rng.uniform(-0.5, 0.5), rng.uniform(-3, 3)
        friction = rng.uniform(0, 2, 2).tolist()
        body = random_inertia(rng)
        rows.append(DHRow(kind, a, rng.choice((-1, 1)) * alpha, d, theta, body, f"axis {k}: é",
                          f"body-{k}", limits, *friction))  # fmt: skip
    base, tool = (Pose(random_rotation(rng), rng.uniform(-1, 1, 3)) for _ in range(2))
    return Table(tuple(rows), "classic", base, tool, rng.uniform(-10, 10, 3), "random: 'arm'")


def numbers(table):
    """Return all numbers of a table, angles as cosines and sines."""
    found = []
    for row in table.rows:
        angles = [f(x) for x in (row.alpha, row.theta) for f in (np.cos, np.sin)]
        limits = [x for x in vars(row.limits).values() if np.isfinite(x)]
        body = row.inertia
        moments = [body.mass, *body.first_moment, *body.second_moment.ravel()]
        found += [row.a, row.d, *angles, *limits, row.damping, row.friction, *moments]
    for X in (table.base, table.tool):
        found += [*X.rotation.ravel(), *X.translation]
    return np.array([*found, *table.gravity])


def by_way_of_a_urdf(robot, convention, folder, suffix):
    """Print a robot as a table file, read that as a URDF, write it as one, and read it again."""
    path = folder / f"arm{suffix}"
    path.write_text(table_text(robot, "tool", convention, as_csv=suffix == ".csv"))
    return read_urdf(urdf_of(read_urdf(path, require_inertia=False)), require_inertia=False)


def rows_of(robot, convention):
    """Return one of the tables of an arm: that of Hartenberg and Denavit with d for -b."""
    if convention == HARTENBERG_DENAVIT:
        return denavit_hartenberg(with_slides_reversed(robot), "tool", "modified")
    return denavit_hartenberg(robot, "tool", convention)


@pytest.mark.parametrize("convention", first(["modified"], [*CONVENTIONS, HARTENBERG_DENAVIT]))
@settings(max_examples=50)  # 200 arms in all
@given(table=tables(), suffix=st.sampled_from((".csv", ".yaml")))
def test_a_table_becomes_a_urdf_and_the_same_table(table, convention, suffix, tmp_path_factory):
    robot = table.to_robot()
    read = by_way_of_a_urdf(robot, convention, tmp_path_factory.mktemp("tables"), suffix)
    printed, again = (rows_of(arm, convention) for arm in (robot, read))
    assert (again.name, read.tips) == (table.name, ("tool",))
    assert [(r.name, r.link, r.type) for r in again.rows] == [
        (r.name, r.link, r.type) for r in table.rows
    ]
    ours, theirs = numbers(again), numbers(printed)
    assert_allclose(ours, theirs, rtol=ROUND_OFF, atol=ROUND_OFF)


@settings(max_examples=50)  # 200 arms in all
@given(table=tables(), suffix=st.sampled_from((".csv", ".yaml")), seed=seeds())
def test_a_zero_reference_table_becomes_a_urdf_and_the_same_table(
    table, suffix, seed, tmp_path_factory
):
    robot = table.to_robot()
    read = by_way_of_a_urdf(robot, ZERO, tmp_path_factory.mktemp("tables"), suffix)
    ours, theirs = ZeroReference.from_robot(read), ZeroReference.from_robot(robot)
    for name in ("u", "b"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), atol=ROUND_OFF)
    for name in ("s", "mass", "inertia"):
        assert_allclose(getattr(ours, name)[1:], getattr(theirs, name)[1:], atol=ROUND_OFF)
    state = random_state(robot, seed)
    tau = inverse_dynamics(robot, *state)
    scale = max(1.0, np.abs(tau).max())
    assert_allclose(inverse_dynamics(read, *state), tau, atol=ROUND_OFF * scale)
    hands = [frame_pose(arm, state[0], "tool") for arm in (read, robot)]
    assert_allclose(hands[0].rotation, hands[1].rotation, atol=ROUND_OFF)
    assert_allclose(hands[0].translation, hands[1].translation, atol=ROUND_OFF)


# -- what a file says ------------------------------------------------------------

SCARA = """\
# robot: scara
# source: 'a table of <nobody> -- invented'
# convention: classic
# units: {length: mm, angle: deg, mass: lb, inertia: lbf in s^2}
# gravity: [0, 0, -9.8]
# base: {xyz: [0, 0, 100], rpy: [0, 0, 90]}
# tool: {xyz: [0, 0, 50], name: gripper}
joint,type,a,alpha,d,theta,mass,com_x,ixx,iyy,izz,lower,upper,velocity,effort,damping,friction
shoulder,R,300,0,400,0,10,-150,0.1,0.2,0.2,-120,120,180,50,0.5,1.5
elbow,R,250,180,0,0,8,-125,0.1,0.2,0.2,-140,140,,30,,
quill,P,0,0,0,0,2,,0.01,0.01,0.02,0,200,500,,,
"""


def written(tmp_path, text, suffix=".csv"):
    path = tmp_path / f"arm{suffix}"
    path.write_text(text)
    return path


def test_units_settings_and_empty_cells_of_a_csv_table(tmp_path, caplog):
    robot = read_urdf(written(tmp_path, SCARA))
    assert caplog.records == []
    inch, pound = 0.0254, 0.45359237
    lbf_in_s2 = 4.4482216152605 * inch
    rows = [
        DHRow("revolute", 0.3, 0.0, 0.4, 0.0, limits=JointLimits(
            *np.radians([-120, 120, 180]), 50.0), damping=0.5, friction=1.5, name="shoulder"),
        DHRow("revolute", 0.25, np.pi, 0.0, 0.0, limits=JointLimits(
            *np.radians([-140, 140]), effort=30.0), name="elbow"),
        DHRow("prismatic", 0.0, 0.0, 0.0, 0.0, limits=JointLimits(0.0, 0.2, 0.5), name="quill"),
    ]  # fmt: skip
    bodies = [
        Inertia.from_com(m * pound, (x, 0, 0), lbf_in_s2 * np.diag(moments))
        for m, x, moments in ((10, -0.15, (0.1, 0.2, 0.2)), (8, -0.125, (0.1, 0.2, 0.2)),
                        (2, 0.0, (0.01, 0.01, 0.02)))
    ]  # fmt: skip
    rows = [replace(row, inertia=body) for row, body in zip(rows, bodies, strict=True)]
    base = Pose(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([0, 0, 0.1]))
    tool = Pose(np.eye(3), np.array([0, 0, 0.05]))
    wanted = Table(rows, "classic", base, tool, (0, 0, -9.8)).to_robot()
    assert robot.name == "scara"
    assert robot.joint_names == wanted.joint_names
    assert robot.tips == ("gripper",)
    for ours, theirs in zip(robot.moving_joints, wanted.moving_joints, strict=True):
        assert_allclose(list(vars(ours.limits).values()), list(vars(theirs.limits).values()))
        assert (ours.damping, ours.friction) == (theirs.damping, theirs.friction)
    state = random_state(wanted, 4)
    tau = inverse_dynamics(wanted, *state)
    assert_allclose(inverse_dynamics(robot, *state), tau, atol=ROUND_OFF * np.abs(tau).max())
    ours, theirs = frame_pose(robot, state[0], "gripper"), frame_pose(wanted, state[0], "tool")
    assert_allclose(ours.translation, theirs.translation, atol=ROUND_OFF)
    assert "<!-- a table of <nobody> - - invented -->" in urdf_text(tmp_path / "arm.csv")


def test_b_of_hartenberg_and_denavit_runs_against_z(tmp_path):
    rows = "type,a,alpha,{},theta,mass,izz\n{}"
    theirs = rows.format("b", "R,0,90,-0.3,10,1,1\nP,0.2,90,0.1,20,1,1\nR,0.1,0,0.2,0,1,1\n")
    ours = rows.format("d", "R,0,90,0.3,10,1,1\nP,0.2,90,-0.1,20,1,1\nR,0.1,0,-0.2,0,1,1\n")
    head = "# units: {angle: deg}\n# convention: "
    b = read_table(written(tmp_path, f"{head}hartenberg-denavit\n{theirs}"))
    d = read_table(written(tmp_path, f"{head}modified\n{ours}"))
    q = np.array([0.3, 0.4, -0.2])
    against = q * (1, -1, 1)
    assert_allclose(
        frame_pose(b, q, "tool").translation, frame_pose(d, against, "tool").translation, atol=1e-15
    )


def test_a_robot_is_printed_in_every_form_and_keeps_its_torques(tmp_path):
    robot = read_urdf(find_robot("puma_gupta"))
    state = random_state(robot, 2)
    tau = inverse_dynamics(robot, *state)
    for convention in PRINTED:
        for suffix in (".yaml", ".csv"):
            path = written(tmp_path, table_text(robot, None, convention, as_csv=suffix == ".csv"),
                           suffix)  # fmt: skip
            again = read_urdf(path)
            assert again.joint_names == robot.joint_names
            assert again.tips == ("hand",)
            ours = inverse_dynamics(again, *state)
            assert_allclose(ours, tau, atol=ROUND_OFF * np.abs(tau).max(), err_msg=convention)


# -- where a URDF is taken ------------------------------------------------------------


@pytest.mark.thorough
def test_verbs_take_a_table_where_they_take_a_urdf(tmp_path, capsys):
    path = tmp_path / "puma.yaml"
    zero = ["--as", "zero-reference", "-o", str(path)]
    assert main(["table", "puma_gupta", *zero]) == 0
    for verb in ("torque", "kinematics", "info"):
        assert main([verb, str(path), "--json"]) == 0
        ours = json.loads(capsys.readouterr().out)
        assert main([verb, "puma_gupta", "--json"]) == 0
        theirs = json.loads(capsys.readouterr().out)
        if verb == "torque":
            assert_allclose(ours["effort"], theirs["effort"], atol=ROUND_OFF * 60)
        else:
            assert ours.keys() == theirs.keys()
    assert main(["table", str(path), *zero[:2]]) == 0
    again = written(tmp_path, capsys.readouterr().out, ".yml")
    assert_allclose(*(ZeroReference.from_robot(read_urdf(x)).inertia for x in (again, path)),
                    atol=1e-15)  # fmt: skip
    assert main(["urdf", str(path), "-o", str(tmp_path / "puma.urdf")]) == 0
    ours, theirs = read_urdf(tmp_path / "puma.urdf"), read_urdf(path)
    state = random_state(ours, 3)
    assert_allclose(inverse_dynamics(ours, *state), inverse_dynamics(theirs, *state), atol=1e-10)


def test_a_table_is_not_taken_for_the_parameters_beside_a_robot(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(table_text(read_urdf(find_robot("planar_2r")), "endpoint"))
    assert parameter_file(str(path), None) is None
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(urdf_text(path))
    assert parameter_file(str(urdf), None) == path


def test_identified_bodies_of_a_table_are_written_as_a_urdf(tmp_path):
    path = written(tmp_path, SCARA)
    robot = read_urdf(path)
    heavier = replace(robot.links[1], inertia=robot.links[1].inertia + robot.links[2].inertia)
    robot = replace(robot, links=(robot.links[0], heavier, *robot.links[2:]))
    again = read_urdf(with_identified(path, robot).decode())
    assert again.links[1].inertia.mass == heavier.inertia.mass


# -- faults ------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("300,0,400", "3x0,0,400", "line 9: column a holds '3x0'; give a number"),
        ("300,0,400", "300,nan,400", "line 9: column alpha holds 'nan'; give a finite number"),
        ("300,0,400", "300,,400", "line 9: column alpha is missing or empty, which the classic "
         "convention needs; give a number"),
        ("elbow,R", "elbow,Q", "line 10: type is 'Q'; a joint is revolute, continuous "
         "or prismatic"),
        ("elbow,R", "shoulder,R", "line 10: joint 'shoulder' is that of line 9 too; rename one"),
        ("elbow,R", "el\x01bow,R", "line 10: joint is 'el\\x01bow'; give a name"),
        ("-140,140", "140,-140", "line 10: limits lower 140 and upper -140 leave no range; "
         "correct one"),
        ("180,50", "0,50", "line 9: column velocity holds '0'; leave it out if there is no limit"),
        ("R,250,180,0,0,8", "R,250,180,0,0,-8", "line 10: column mass holds '-8'; it is not "
         "negative"),
        (",izz", ",jzz", "line 9: no column is named 'jzz'; did you mean 'izz'?"),
        (",izz", ",ixx", "has two columns 'ixx'; keep one"),
        ("classic", "craig", "convention is 'craig'; write `convention:` with one of classic, "
         "modified, hartenberg-denavit, zero-reference"),
        ("# convention: classic\n", "", "has no convention; write `convention:` with one of "
         "classic, modified, hartenberg-denavit, zero-reference"),
        ("# convention", "# konvention", "no setting is named 'konvention'; did you mean "
         "'convention'?"),
        ("length: mm", "length: km", "units: length is in 'km'; use one of m, cm, mm, in"),
        ("length: mm", "breadth: mm", "units: no quantity is named 'breadth'; known are length, "
         "angle, mass, inertia"),
        ("[0, 0, -9.8]", "9.8", "gravity is 9.8; give 3 numbers"),
        ("[0, 0, 50]", "[0, 0, up]", "tool: xyz holds 'up'; give a number"),
        ("xyz: [0, 0, 50]", "at: [0, 0, 50]", "tool: no entry is named 'at'; known are xyz, rpy, "
         "name"),
        ("name: gripper", "name: link_3", "the tip has the name of link 'link_3'; give it another "
         "one"),
        ("{xyz: [0, 0, 100], rpy: [0, 0, 90]}", "here", "base is 'here'; write it as {xyz, rpy}"),
        ("\nquill,P", "\nquill", "line 11: 16 entries for 17 columns; give one per column"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_file_row_column_and_remedy(tmp_path, old, new, message):
    assert old in SCARA
    path = written(tmp_path, SCARA.replace(old, new, 1))
    assert refusal(lambda: read_urdf(path), UrdfError) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no list `joints` with a map per joint; write a table of a robot: its convention, "
         "and one row per joint (https://robot-dynamics.example/docs/tables.html)"),
        ("joints: []", "has no row; give one per joint, from the base"),
        ("convention: [1]\njoints: [{a: 1}]", "convention is [1]; write `convention:` with one of "
         "classic, modified, hartenberg-denavit, zero-reference"),
        ("convention: zero-reference\njoints: [{u: [0, 0, 0], b: [0, 0, 1]}]",
         "row 1: column u_x, u_y, u_z are zero; give the joint's direction"),
        ("convention: zero-reference\njoints: [{u: [0, 1], b: [0, 0, 1]}]",
         "row 1: u holds [0, 1]; give 3 numbers"),
        ("convention: zero-reference\nhand: {axial: [0, 1, 1]}\njoints: [{u: [0, 0, 1], "
         "b: [0, 0, 1]}]", "u_oa [0.0, 1.0, 1.0] and u_ot [1.0, 0.0, 0.0] must be unit vectors at "
         "right angles"),
        ("convention: classic\njoints: [{a: 1, alpha: 0, d: true, theta: 0}]",
         "row 1: column d holds True; give a finite number"),
        ("a: [", "line 1: not YAML; write a table of a robot: its convention, and one row per "
         "joint (https://robot-dynamics.example/docs/tables.html)"),
    ],
)  # fmt: skip
def test_a_fault_in_yaml_is_named(tmp_path, text, message):
    path = written(tmp_path, text, ".yaml")
    assert refusal(lambda: read_urdf(path), UrdfError) == f"{path}: {message}"


def test_a_missing_table_and_one_with_arguments_are_named(tmp_path):
    path = tmp_path / "none.csv"
    assert refusal(lambda: find_robot(path), UnknownNameError) == (
        f"no such file: {path}; give the path of a URDF, or the name of a robot"
    )
    path = written(tmp_path, SCARA)
    assert refusal(lambda: read_urdf(f"{path} side:=left"), UrdfError) == (
        f"{path}: takes no arguments (side:=left); only xacro files do"
    )


@given(data=st.data())
def test_any_change_of_a_table_gives_a_robot_or_one_line(data, tmp_path_factory):
    words = re.findall(r"[\w.^-]+|\W", SCARA)
    at = data.draw(st.integers(0, len(words) - 1))
    words[at] = data.draw(st.sampled_from(["", "1e999", "-0", "[", "{a: b}", "null", ",", "\n", "#",
                                           "\x00", "é", "'", "true", "1" * 400]))  # fmt: skip
    path = tmp_path_factory.mktemp("tables") / "arm.csv"
    path.write_text("".join(words))
    try:
        read_urdf(path)
    except RobotDynamicsError as error:
        assert isinstance(error, UrdfError)
        assert str(error).startswith(str(path))
        assert "\n" not in str(error)


def test_the_table_of_the_page_is_a_robot(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()
    (text,) = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    robot = read_urdf(written(tmp_path, text))
    assert robot.joint_names == ("shoulder", "elbow", "quill")
    assert frame_pose(robot, np.zeros(3), "gripper").translation == pytest.approx((0.55, 0, 0.35))
