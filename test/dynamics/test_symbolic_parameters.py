"""Symbolic equations: at the numbers of a robot they are its equations."""

import numpy as np
import pytest

from oracles import THOROUGH
from python_kernel import compile_python
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.algorithms.base_parameters import base_parameters
from robot_dynamics.compiler.graph.operations import RECIPROCAL
from robot_dynamics.compiler.graph.polynomial import squares_joined
from robot_dynamics.compiler.graph.trace import operation_count
from robot_dynamics.compiler.source.readable import latex_equations, text_equations
from robot_dynamics.dynamics.symbolic_parameters import MASSLESS, PARAMETER_SETS, symbolic_program
from robot_dynamics.dynamics.variant import Variant
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.formulations import FORMULATIONS, lagrange
from robot_dynamics.papers.book_arms import planar_two_link
from robot_dynamics.robot import find_robot

ROUND_OFF = 1e-10  # of the largest effort; snapped constants change them by 1e-11
LONG = ("bias", "mass_matrix", "forward")  # parts of the inverse dynamics, and what solves them
STATE = {"q": 0, "qd": 1, "qdd": 2, "tau": 2}


def results(found, state):
    """The equations of a `SymbolicProgram` at the numbers of its robot."""
    inputs = [state[STATE[name]] for name in found.program.inputs if name in STATE]
    return compile_python(found.program)(*inputs, *([found.values] if found.parameters else []))


@pytest.fixture
def planar():
    return read_urdf(find_robot("planar_2r"))


OF_ROBOTS = [
    pytest.param(name, kernel, marks=THOROUGH if name == "puma_gupta" and kernel in LONG else ())
    for name in ("planar_2r", "puma_gupta")
    for kernel in ("inverse", "bias", "gravity", "mass_matrix", "forward")
]


@pytest.mark.parametrize("parameters", PARAMETER_SETS)
@pytest.mark.parametrize(("name", "kernel"), OF_ROBOTS)
def test_at_its_own_numbers_they_are_the_equations_of_the_robot(name, kernel, parameters):
    robot = read_urdf(find_robot(name))
    state = np.random.default_rng(3).uniform(-1.0, 1.0, (3, robot.dof))
    found = symbolic_program(robot, kernel, parameters)
    inputs = [state[STATE[name]] for name in found.program.inputs if name in STATE]
    expected = getattr(Dynamics(robot, cache=False), kernel)(*inputs)
    assert results(found, state) == pytest.approx(expected, abs=ROUND_OFF * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["inverse", "forward"])
def test_on_a_moving_base_they_are_the_equations_of_the_robot_there(planar, kernel):
    rng = np.random.default_rng(5)
    state, base = rng.uniform(-1.0, 1.0, (3, 2)), rng.uniform(-1.0, 1.0, 15)
    found = symbolic_program(planar, kernel, base="moving")
    values = {"base": base, "parameters": found.values, "q": state[0], "qd": state[1]}
    inputs = [values.get(name, state[2]) for name in found.program.inputs]
    expected = getattr(Dynamics(planar, base="moving", cache=False), kernel)(*state, base=base)
    for result, of_robot in zip(compile_python(found.program)(*inputs), expected, strict=True):
        assert result == pytest.approx(of_robot, abs=ROUND_OFF * np.abs(of_robot).max())


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_other_numbers_make_them_the_equations_of_another_arm(formulation):
    numbers = {"l1": 1.0, "lc1": 0.5, "lc2": 0.5, "m1": 10.0, "m2": 8.0, "I1": 0.9, "I2": 0.7}
    others = {"l1": 0.7, "lc1": 0.3, "lc2": 0.2, "m1": 3.0, "m2": 1.5, "I1": 0.1, "I2": 0.02}
    state = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 2))
    arm, other = planar_two_link(**numbers, g=9.81), planar_two_link(**others, g=1.62)
    found = symbolic_program(arm, formulation=formulation)
    assert {x.text for x in found.parameters} == {*numbers, "g"}
    values = [{**others, "g": 1.62}[x.text] for x in found.parameters]
    expected = Dynamics(other, cache=False).inverse(*state)
    assert compile_python(found.program)(*state, values) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_no_formulation_leaves_terms_that_cancel(formulation, planar):
    found = symbolic_program(planar, formulation=formulation)
    ops = {node.op for node in found.program.nodes}
    assert RECIPROCAL not in ops  # m1 * lc1 / m1
    # The expanded equations, of which all formulations are forms, take 46
    assert operation_count(found.program).arithmetic <= 46
    assert squares_joined(found.program) is found.program


@pytest.mark.parametrize(
    "formulation", [*(pytest.param(x, marks=THOROUGH) for x in ("lagrange", "dalembert")), "kane"]
)
def test_large_equations_have_no_sum_of_a_squared_sine_and_cosine(formulation):
    robot = read_urdf(find_robot("puma_gupta"))
    found = symbolic_program(robot, "mass_matrix", formulation=formulation)
    assert squares_joined(found.program) is found.program
    q = np.random.default_rng(5).uniform(-1.0, 1.0, robot.dof)
    expected = Dynamics(robot, cache=False).mass_matrix(q)
    found = compile_python(found.program)(q, found.values)
    assert found == pytest.approx(expected, abs=ROUND_OFF * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *(("planar_2r", parameters) for parameters in PARAMETER_SETS),
        ("puma_gupta", "base"),
        pytest.param("puma_gupta", "links", marks=THOROUGH),
    ],
)
def test_sorted_equations_add_up_to_the_efforts(name, parameters):
    robot = read_urdf(find_robot(name))
    q, qd, qdd = np.random.default_rng(6).uniform(-1.0, 1.0, (3, robot.dof))
    found = symbolic_program(robot, parameters=parameters, sort=True)
    M, C, G = compile_python(found.program)(q, qd, found.values)
    expected = Dynamics(robot, cache=False).inverse(q, qd, qdd)
    tau = M @ qdd + C @ qd + G
    assert tau == pytest.approx(expected, abs=ROUND_OFF * np.abs(expected).max())
    book = lagrange.coriolis_matrix(robot, q, qd)
    assert pytest.approx(book, abs=ROUND_OFF * np.abs(book).max()) == C


def test_the_planar_arm_is_sorted_as_textbooks_do(planar):
    found = symbolic_program(planar, sort=True)
    text = text_equations(found.program, found.symbols())
    q, qd = (0.3, 0.9), (0.7, -1.1)
    values = {"sin": np.sin, "cos": np.cos, **{x.text: x.value for x in found.parameters}}
    values |= {"q1": q[0], "q2": q[1], "qd1": qd[0], "qd2": qd[1]}
    exec(text, values)
    m2, l1, lc2 = (values[name] for name in ("m2", "l1", "lc2"))
    h = m2 * l1 * lc2 * np.sin(q[1])
    assert values["C11"] == pytest.approx(-h * qd[1], rel=1e-12)
    assert values["C12"] == pytest.approx(-h * (qd[0] + qd[1]), rel=1e-12)
    assert values["C21"] == pytest.approx(h * qd[0], rel=1e-12)
    assert "C22 = 0\n" in text and "0.5" not in text


def test_base_parameters_have_no_mass_centres(planar):
    with pytest.raises(ArgumentError) as refused:
        symbolic_program(planar, parameters="base", formulation="kane")
    assert str(refused.value) == (
        "formulation 'kane' needs mass centres, and base parameters have none; use augmented_body "
        "or lagrange_euler"
    )
    state = np.random.default_rng(7).uniform(-1.0, 1.0, (3, 2))
    expected = Dynamics(planar, cache=False).inverse(*state)
    for formulation in MASSLESS:
        found = symbolic_program(planar, parameters="base", formulation=formulation)
        assert results(found, state) == pytest.approx(expected, rel=1e-12)


def test_symbols_are_those_of_textbooks(planar):
    found = symbolic_program(planar)
    assert text_equations(found.program, found.symbols()).startswith("t1 = m1 * lc1\n")
    text = latex_equations(found.program, found.symbols(latex=True))
    assert r"t_1 &= m_1 l_{c1} \\" in text and r"I_2 + l_{c2} t_2" in text
    assert [x.unit for x in found.parameters if x.text in ("m1", "I2", "g")] == [
        *("kg", "kg m^2", "m/s^2")
    ]


def test_base_symbols_are_the_base_parameters_and_take_fewer_operations(planar):
    found = symbolic_program(planar, parameters="base")
    values = {x.text: x.value for x in found.parameters}
    expected = {  # names as link_1.Izz; hy of both links is zero, and no symbol
        parameter.symbol + parameter.link[-1]: parameter.value
        for parameter in base_parameters(planar)
        if parameter.value
    }
    assert values == pytest.approx(expected, rel=1e-12)
    count, of_links = (operation_count(symbolic_program(planar, parameters=x).program) for x in (
        "base", "links"
    ))  # fmt: skip
    assert count.arithmetic < of_links.arithmetic


def test_geometry_has_symbols_too(planar):
    found = symbolic_program(planar, "pose", variant=Variant(frame="endpoint"))
    assert [x.text for x in found.parameters] == ["l1", "l2"]
    _, position = compile_python(found.program)([0.3, 0.4], [2.0, 5.0])
    reach = [2 * np.cos(0.3) + 5 * np.cos(0.7), 0.0, 2 * np.sin(0.3) + 5 * np.sin(0.7)]
    assert position == pytest.approx(reach, abs=1e-14)


def test_what_has_no_symbolic_parameters_is_refused(planar):
    with pytest.raises(
        ArgumentError, match=r"^the regressor has no symbolic parameters: it multiplies"
    ):
        symbolic_program(planar, "regressor")
    with pytest.raises(
        UnknownNameError, match=r"^no set of symbolic parameters 'link' in .*mean 'links'\?"
    ):
        symbolic_program(planar, parameters="link")
