"""Denavit-Hartenberg tables, from and to robots, against printed tables and by their torques."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from oracles import (
    example_robot,
    example_urdfs,
    pin_model,
    relative_error,
)
from refusals import refusal
from robot_dynamics.errors import ArgumentError, RobotError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.papers.zero_reference_hand import hand_position
from robot_dynamics.robot.denavit_hartenberg import CONVENTIONS, DHRow, Table, denavit_hartenberg
from robot_dynamics.robot.kinematic_tree import JointType
from robot_dynamics.robot.robot import Robot
from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.robot.zero_position import ZeroReference
from robot_dynamics.spatial import Inertia, Pose
from strategies import chains, random_rotation, random_state, seeds

R, P = JointType.REVOLUTE, JointType.PRISMATIC
EXAMPLES = {path.stem: path for path in example_urdfs()}
RIGHT = np.pi / 2


def parameters(table):
    """a, alpha (degrees), d, theta (degrees) of every row."""
    return np.array([(r.a, np.degrees(r.alpha), r.d, np.degrees(r.theta)) for r in table.rows])


# -- from a table to a robot ------------------------------------------------------------------


def lee_puma(convention="classic"):
    """First three joints of the PUMA of [Lee1982], figure 3, lengths in m as printed."""
    rows = (
        DHRow(R, 0.0, -RIGHT, 0.0, RIGHT),
        DHRow(R, 0.4318, 0.0, 0.14909, 0.0),
        DHRow(R, -0.02032, RIGHT, 0.0, RIGHT),
    )
    return Table(rows, convention)


def matrix_classic(theta, d, a, alpha):
    """The 4 x 4 matrix of the classic convention, written out."""
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def matrix_modified(theta, d, a, alpha):
    """The 4 x 4 matrix of the modified convention, written out."""
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st, 0.0, a],
            [st * ca, ct * ca, -sa, -d * sa],
            [st * sa, ct * sa, ca, d * ca],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@pytest.mark.parametrize(
    ("convention", "matrix"), [("classic", matrix_classic), ("modified", matrix_modified)]
)
def test_a_table_places_its_tool_by_the_product_of_its_matrices(convention, matrix):
    rows = (
        DHRow(R, 0.3, 0.7, 0.2, -0.4),
        DHRow(P, 0.1, -1.2, 0.5, 0.9),
        DHRow(R, 0.25, 2.0, -0.3, 1.1),
    )
    q = np.array([0.4, -0.2, 1.3])
    X = np.eye(4)
    for row, x in zip(rows, q, strict=True):
        turn, shift = (x, 0.0) if row.type is R else (0.0, x)
        X = X @ matrix(row.theta + turn, row.d + shift, row.a, row.alpha)
    table = Table(rows, convention)
    # the same place by the table and by the joints of its robot
    assert_allclose(table.tool_pose(q).rotation, X[:3, :3], atol=1e-14)
    assert_allclose(table.tool_pose(q).translation, X[:3, 3], atol=1e-14)
    tool = hand_position(ZeroReference.from_robot(table.to_robot()), q, "tool")
    assert_allclose(tool.rotation, X[:3, :3], atol=1e-14)
    assert_allclose(tool.b, X[:3, 3], atol=1e-14)


def test_right_angles_of_a_table_are_exact_in_the_robot():
    for joint in lee_puma().to_robot().joints:
        assert set(np.abs(joint.origin.rotation).ravel()) <= {0.0, 1.0}


def test_inertias_of_a_table_are_given_in_its_frames():
    # one link of 2 kg whose mass centre is at the origin of frame 1, at the far end of 0.8 m
    body = Inertia.from_com(2.0, np.zeros(3), np.diag((0.01, 0.02, 0.03)))
    gravity = np.array([0.0, -9.81, 0.0])
    table = Table((DHRow(R, 0.8, 0.0, 0.0, 0.0, body),), "classic", gravity=gravity)
    tau = inverse_dynamics(table.to_robot(), [0.0], [0.0], [1.0])
    assert_allclose(tau, 0.03 + 2.0 * 0.8**2 + 2.0 * 9.81 * 0.8)
    # the same numbers in the modified convention put the mass on the joint axis
    table = Table((DHRow(R, 0.8, 0.0, 0.0, 0.0, body),), "modified", gravity=gravity)
    assert_allclose(inverse_dynamics(table.to_robot(), [0.0], [0.0], [1.0]), 0.03)


# -- from a robot to a table ------------------------------------------------------------------


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(chains(mimic=False), seeds())
def test_any_chain_has_a_table_with_its_torques_and_its_tool(convention, robot, seed):
    tip = merge_fixed(robot).tips[0]
    table = denavit_hartenberg(robot, convention=convention)
    q, qd, qdd = random_state(robot, seed)
    # oblique axes at random are never nearly parallel, so that no common normal is far away
    assert (
        relative_error(
            inverse_dynamics(table.to_robot(), q, qd, qdd), inverse_dynamics(robot, q, qd, qdd)
        )
        < 1e-10
    )
    hand = hand_position(ZeroReference.from_robot(robot), q, tip)
    assert_allclose(table.tool_pose(q).translation, hand.b, atol=1e-11)
    assert_allclose(table.tool_pose(q).rotation, hand.rotation, atol=1e-11)
    assert all(row.a >= -1e-9 for row in table.rows)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize(
    "name", ["ur5_robot", "kinova", "xarm7", "panda", "talos_left_arm", "z1", "so100"]
)
def test_a_table_of_an_example_arm_keeps_its_torques(name, convention):
    if name not in EXAMPLES:
        pytest.skip("example-robot-data is not installed")
    arm = example_robot(EXAMPLES[name])
    if name == "panda":
        arm = arm.with_locked({"panda_finger_joint1": 0.0})
    table = denavit_hartenberg(arm, arm.tips[0], convention)  # all are fixed to the last link
    state = random_state(arm, seed=3)
    # printed angles like 1.5708 are off by 4e-6, which puts common normals far out
    assert (
        relative_error(inverse_dynamics(table.to_robot(), *state), inverse_dynamics(arm, *state))
        < 1e-9
    )


def test_the_panda_has_the_table_of_its_manufacturer():
    # modified convention; a_5 = -0.0825 there is an angle of 180 degrees here
    if "panda" not in EXAMPLES:
        pytest.skip("example-robot-data is not installed")
    table = denavit_hartenberg(example_robot(EXAMPLES["panda"]), "panda_link8", "modified")
    expected = [
        (0.0, 0, 0.333, 0),
        (0.0, -90, 0.0, 0),
        (0.0, 90, 0.316, 0),
        (0.0825, 90, 0.0, 180),
        (0.0825, 90, 0.384, 0),
        (0.0, -90, 0.0, 180),
        (0.088, 90, 0.107, 0),
    ]
    found = parameters(table)
    assert_allclose(found[:, [0, 1, 2]], np.array(expected)[:, [0, 1, 2]], atol=1e-9)
    assert_allclose(np.abs(found[3:6, 3]), [180, 0, 180], atol=1e-9)


def test_the_ur5_has_the_lengths_of_its_manufacturer():
    if "ur5_robot" not in EXAMPLES:
        pytest.skip("example-robot-data is not installed")
    found = parameters(denavit_hartenberg(example_robot(EXAMPLES["ur5_robot"]), "tool0"))
    assert_allclose(found[:, 0], [0, 0.425, 0.39225, 0, 0, 0], atol=1e-9)
    assert_allclose(found[:, 2], [0.089159, 0, 0, 0.10915, 0.09465, 0.0823], atol=1e-9)
    assert_allclose(np.abs(found[:, 1]), [90, 0, 0, 90, 90, 0], atol=1e-9)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_table_finds_itself_in_its_robot(convention):
    rows = (  # skew, parallel, intersecting and coinciding axes, and a sliding joint
        DHRow(R, 0.0, -RIGHT, 0.4, 0.0),
        DHRow(R, 0.5, 0.0, 0.0, 0.0),
        DHRow(R, 0.3, RIGHT, 0.0, 0.0),
        DHRow(R, 0.0, RIGHT, 0.2, 0.0),
        DHRow(P, 0.0, 0.0, 0.1, 0.0),
        DHRow(R, 0.2, 0.8, 0.3, 0.25),
    )
    table = Table(rows, convention)
    robot = table.to_robot()
    again = denavit_hartenberg(robot, "tool", convention)
    q = np.array([0.3, -0.8, 1.2, 0.4, 0.2, -2.0])
    assert_allclose(again.tool_pose(q).translation, table.tool_pose(q).translation, atol=1e-13)
    assert_allclose(again.tool_pose(q).rotation, table.tool_pose(q).rotation, atol=1e-13)
    twice = denavit_hartenberg(again.to_robot(), "tool", convention)
    assert_allclose(parameters(twice), parameters(again), atol=1e-12)


def test_a_chain_along_the_z_axis_of_the_base_needs_no_base_pose():
    assert_allclose(denavit_hartenberg(lee_puma().to_robot(), "tool").base.rotation, np.eye(3))


def test_a_base_that_stands_askew_is_the_base_pose():
    rng = np.random.default_rng(5)
    base = Pose(random_rotation(rng), np.array([0.1, -0.2, 0.3]))
    table = Table(lee_puma().rows, "classic", base)
    again = denavit_hartenberg(table.to_robot(), "tool")
    q = np.array([0.3, -0.8, 1.2])
    assert_allclose(again.tool_pose(q).translation, table.tool_pose(q).translation, atol=1e-14)


# -- refusals ---------------------------------------------------------------------------------


BRANCHES = """
<robot name="fork">
  <link name="base"/> <link name="left"/> <link name="right"/> <link name="pad"/>
  <joint name="l" type="revolute"><parent link="base"/><child link="left"/>
    <axis xyz="0 0 1"/><limit effort="1" velocity="1" lower="-1" upper="1"/></joint>
  <joint name="r" type="revolute"><parent link="base"/><child link="right"/>
    <axis xyz="0 0 1"/><limit effort="1" velocity="1" lower="-1" upper="1"/>
    <mimic joint="l"/></joint>
  <joint name="p" type="fixed"><parent link="base"/><child link="pad"/></joint>
</robot>"""


def test_a_table_of_a_branched_robot_asks_for_the_tip():
    assert refusal(
        lambda: denavit_hartenberg(read_urdf(BRANCHES, require_inertia=False)), ArgumentError
    ) == ("tip: robot 'fork' has 2 tips (left, right); say which chain the table is for")


def test_a_table_cannot_express_a_mimic_joint():
    assert refusal(
        lambda: denavit_hartenberg(read_urdf(BRANCHES, require_inertia=False), "right"), RobotError
    ) == (
        "joint 'r' on the way to 'right' follows 'l', which a Denavit-Hartenberg table cannot "
        "express; lock it or choose another tip"
    )


def test_a_table_needs_a_joint_on_the_way():
    assert refusal(
        lambda: denavit_hartenberg(read_urdf(BRANCHES, require_inertia=False), "pad"), RobotError
    ) == ("no joint moves 'pad' of robot 'fork'; choose a tip further out")


def test_an_unknown_tip_is_named():
    text = refusal(
        lambda: denavit_hartenberg(read_urdf(BRANCHES, require_inertia=False), "rigth"),
        UnknownNameError,
    )
    assert text.endswith("did you mean 'right'?")


def test_an_unknown_convention_lists_both():
    text = "no convention 'craig' of Denavit-Hartenberg tables; choose one of: classic, modified"
    assert refusal(lambda: lee_puma("craig"), ArgumentError) == text
    robot = lee_puma().to_robot()
    assert refusal(lambda: denavit_hartenberg(robot, convention="craig"), ArgumentError) == text


def test_a_table_without_rows_is_refused():
    assert refusal(lambda: Table(()), ArgumentError) == (
        "a Denavit-Hartenberg table without rows; give one row per joint"
    )


def test_a_fixed_joint_is_no_row():
    row = DHRow(JointType.FIXED, 0.0, 0.0, 0.0, 0.0)
    assert refusal(lambda: Table((row,)), RobotError) == (
        "row 1 of the Denavit-Hartenberg table has a joint of type JointType.FIXED; make it "
        "revolute, continuous or prismatic"
    )


def test_the_robot_of_a_table_is_an_ordinary_robot():
    pytest.importorskip("pinocchio")
    body = Inertia.from_com(2.0, (0.1, 0.0, 0.2), np.diag((0.01, 0.02, 0.025)))
    rows = tuple(
        DHRow(row.type, row.a, row.alpha, row.d, row.theta, body) for row in lee_puma().rows
    )
    robot = Table(rows).to_robot()
    assert isinstance(robot, Robot)
    state = random_state(robot, seed=2)
    assert relative_error(inverse_dynamics(robot, *state), pin_model(robot).inverse(*state)) < 1e-12


# -- as text ----------------------------------------------------------------------------------


def test_a_table_prints_as_a_table_that_a_person_reads():
    rows = (DHRow(R, 0.25, -RIGHT, 0.1, RIGHT, name="waist"), DHRow(P, 0.0, 0.0, 0.5, 0.0))
    assert str(Table(rows, name="crane")) == (
        "crane: classic convention\n"
        "joint    a (m)  alpha (deg)    d (m)  theta (deg)\n"
        "-------  -----  -----------  -------  -----------\n"
        "waist     0.25          -90      0.1       90 + q\n"
        "joint_2      0            0  0.5 + q            0"
    )


# -- symbols -----------------------------------------------------------------------------------


def test_a_joint_type_may_be_its_name():
    rows = DHRow("revolute", 1.0, 0.0, 0.0, 0.0), DHRow("prismatic", 0.0, 0.0, 0.5, 0.0)
    assert [row.type for row in Table(rows).rows] == [R, P]
    assert refusal(lambda: Table((DHRow("hinge", 1.0, 0.0, 0.0, 0.0),)), RobotError) == (
        "row 1 of the Denavit-Hartenberg table has a joint of type hinge; make it revolute, "
        "continuous or prismatic"
    )


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_table_of_symbols_is_that_of_numbers(convention):
    sympy = pytest.importorskip("sympy")
    symbols = sympy.symbols("a alpha d theta m x k")
    numbers = dict(zip(symbols, (0.4, 0.3, 0.2, -0.5, 2.0, 0.1, 0.05), strict=True))

    def table(a, alpha, d, theta, m, x, k):
        body = Inertia.from_com(m, [x, 0, 0], np.diag([k, k, k]))
        rows = (
            DHRow("revolute", a, alpha, d, theta, body),
            DHRow("prismatic", a, alpha, d, theta, body),
        )
        return Table(rows, convention, gravity=[0, -9.81, 0])

    ours, theirs = table(*symbols), table(*numbers.values())
    state = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 2))
    q = sympy.symbols("q1:3")
    pose = ours.tool_pose(q).translation
    found = [
        sympy.sympify(x).subs({**numbers, **dict(zip(q, state[0], strict=True))}) for x in pose
    ]
    expected = theirs.tool_pose(state[0]).translation
    assert_allclose(np.array(found, dtype=float), expected, atol=1e-14)
    tau = [x.subs(numbers) for x in inverse_dynamics(ours.to_robot(), *state)]
    expected = inverse_dynamics(theirs.to_robot(), *state)
    assert_allclose(np.array(tau, dtype=float), expected, rtol=1e-12)


@pytest.mark.thorough
def test_the_page_on_tables_prints_what_it_says(capsys):
    pytest.importorskip("sympy")
    page = (Path(__file__).parents[2] / "docs" / "dh-table.md").read_text(encoding="utf-8")
    formulas, numbers = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(formulas, scope := {})
    printed = capsys.readouterr().out.split("\n")
    for comment in re.findall(r"print\(.*\)  # (\S.*)", formulas):
        assert comment in printed
    exec(numbers, compiled := {})
    sizes = {"l1": 1.0, "l2": 0.8, "lc1": 0.5, "lc2": 0.4, "m1": 3.0, "m2": 2.0}
    sizes |= {"I1": 0.25, "I2": 0.11, "g": 9.81}
    values = {scope[name]: value for name, value in sizes.items()}
    values |= dict(zip((*scope["q"], *scope["qd"]), (0.3, 0.9, 0.7, -1.1), strict=True))
    M, C, G = (np.array(scope[name].subs(values), dtype=float) for name in ("M", "C", "G"))
    tau = M @ [1.5, -0.4] + C @ [0.7, -1.1] + G[:, 0]
    expected = compiled["arm"].inverse([0.3, 0.9], [0.7, -1.1], [1.5, -0.4])
    assert_allclose(tau, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [JointType.FIXED, JointType.FLOATING, JointType.PLANAR])
def test_a_row_is_one_joint_that_moves(kind):
    assert refusal(lambda: Table((DHRow(kind, 1.0, 0.0, 0.0, 0.0),)), RobotError) == (
        f"row 1 of the Denavit-Hartenberg table has a joint of type {kind}; make it revolute, "
        "continuous or prismatic"
    )
