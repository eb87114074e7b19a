"""The same equations on the scalars of other packages: symbols, intervals, exact fractions."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.formulations import (
    FORMULATIONS,
    dalembert,
    forward_dynamics,
    inverse_dynamics,
    kane,
    lagrange,
)
from robot_dynamics.kinematics import (
    frame_drift,
    frame_jacobian,
    frame_jacobian_derivative,
    frame_pose,
    link_poses,
)
from robot_dynamics.robot import find_robot, read_urdf

ROUND_OFF = 1e-12  # float64 on both sides, on efforts of some 100 N m

SLIDES = """<robot name="slides"><link name="base"/>{links}{joints}</robot>"""
SLIDE = """<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{name}"/>
  <axis xyz="{axis}"/><limit lower="-1" upper="1" velocity="1" effort="99"/></joint>"""
LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
GANTRY = SLIDES.format(
    links=LINK.format(name="x", mass=2.5) + LINK.format(name="z", mass=0.1),
    joints=SLIDE.format(name="x", parent="base", axis="1 0 0")
    + SLIDE.format(name="z", parent="x", axis="0 0 1"),
)


@pytest.fixture(scope="module")
def planar():
    return read_urdf(find_robot("planar_2r"))


@pytest.fixture
def state():
    return np.random.default_rng(1).uniform(-1.0, 1.0, (3, 2))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_formulation_runs_on_symbols_of_sympy(planar, state, formulation):
    sympy = pytest.importorskip("sympy")
    q, qd, qdd = (list(sympy.symbols(f"{name}1:3", real=True)) for name in ("q", "v", "a"))
    tau = inverse_dynamics(planar, q, qd, qdd, formulation=formulation)
    values = dict(zip([*q, *qd, *qdd], state.ravel(), strict=True))
    found = [float(effort.subs(values)) for effort in tau]
    expected = inverse_dynamics(planar, *state, formulation=formulation)
    assert found == pytest.approx(expected, abs=ROUND_OFF)
    assert sympy.diff(tau[0], q[0]).free_symbols <= set(values)  # an ordinary expression


def test_a_wrench_and_gravity_of_sympy_symbols(planar, state):
    sympy = pytest.importorskip("sympy")
    f, g = sympy.symbols("f g")
    tau = inverse_dynamics(planar, *np.zeros((3, 2)), wrench=[0, 0, f, 0, 0, 0], gravity=[0, 0, -g])
    found = [effort.subs({f: 3.0, g: 9.81}) for effort in tau]
    wrench = [0.0, 0.0, 3.0, 0.0, 0.0, 0.0]
    expected = inverse_dynamics(planar, *np.zeros((3, 2)), wrench=wrench)
    assert np.array(found, dtype=float) == pytest.approx(expected, abs=ROUND_OFF)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_formulation_runs_on_symbols_of_casadi(planar, state, formulation):
    casadi = pytest.importorskip("casadi")
    symbols = casadi.SX.sym("state", 6)
    q, qd, qdd = np.array(casadi.vertsplit(symbols), dtype=object).reshape(3, 2)
    tau = casadi.vertcat(*inverse_dynamics(planar, q, qd, qdd, formulation=formulation))
    function = casadi.Function("tau", [symbols], [tau, casadi.jacobian(tau, symbols)])
    found, jacobian = (np.array(part) for part in function(state.ravel()))
    assert found.ravel() == pytest.approx(inverse_dynamics(planar, *state), abs=ROUND_OFF)
    # dtau/dqdd is the mass matrix: columns of unit accelerations
    still = [inverse_dynamics(planar, state[0], [0, 0], unit) for unit in (*np.eye(2), [0, 0])]
    assert jacobian[:, 4:] == pytest.approx(np.array(still[:2]).T - still[2][:, None], abs=1e-11)


def test_a_pose_in_symbols_of_sympy(planar):
    sympy = pytest.importorskip("sympy")
    q = sympy.symbols("q1:3", real=True)
    position = frame_pose(planar, q, "endpoint").translation
    reach = sympy.cos(q[0]) + sympy.cos(q[0] + q[1])  # links of 1 m
    assert sympy.simplify(position[0] - reach) == 0


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_forward_dynamics_runs_on_symbols_of_sympy(planar, state, formulation):
    sympy = pytest.importorskip("sympy")
    tau = sympy.symbols("tau1:3")
    qdd = forward_dynamics(planar, state[0], state[1], tau, formulation=formulation)
    found = [float(x.subs(dict(zip(tau, state[2], strict=True)))) for x in qdd]
    assert found == pytest.approx(forward_dynamics(planar, *state), abs=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_complex_states_give_derivatives(planar, state, formulation):
    q, qd, qdd = state
    step = 1e-30  # far below round-off: the imaginary part is the derivative
    moved = inverse_dynamics(planar, q + np.array([0, 1j * step]), qd, qdd, formulation=formulation)
    central = [inverse_dynamics(planar, q + np.array([0, h]), qd, qdd) for h in (1e-6, -1e-6)]
    # The difference quotient is good to 1e-9 of efforts of some 100 N m
    assert moved.imag / step == pytest.approx((central[0] - central[1]) / 2e-6, abs=1e-6)


def test_intervals_enclose_what_states_within_them_need(planar, state):
    mpmath = pytest.importorskip("mpmath")
    width = 1e-3
    boxes = [[mpmath.iv.mpf([float(x) - width, float(x) + width]) for x in row] for row in state]
    tau = inverse_dynamics(planar, *boxes)
    rng = np.random.default_rng(2)
    for _ in range(20):
        inside = inverse_dynamics(planar, *(state + rng.uniform(-width, width, state.shape)))
        assert all(float(x) in box for x, box in zip(inside, tau, strict=True))
    assert all(box.delta < 1.0 for box in tau)  # N m


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_fractions_stay_exact_where_nothing_turns(formulation):
    gantry = read_urdf(GANTRY)
    third = Fraction(1, 3)
    tau = inverse_dynamics(
        gantry, [third, third], [0, third], [third, third], gravity=[0, 0, Fraction(-10)],
        formulation=formulation,
    )  # fmt: skip
    # 0.1 is the float that the URDF is read as; some formulations add masses before they meet
    # a Fraction, as floats
    m_x, m_z = Fraction(2.5), Fraction(0.1)
    assert tau[0] in ((m_x + m_z) * third, Fraction(2.5 + 0.1) * third)
    assert tau[1] == m_z * (10 + third)


def test_decimals_keep_more_digits_than_floats_where_nothing_turns():
    third = Decimal(1) / 3
    tau = inverse_dynamics(read_urdf(GANTRY), [0, third], [0, 0], [third, third])
    # 28 digits; a float in between would be off by up to 1e-17. Mass and gravity are floats
    m_z, g = map(Decimal.from_float, (0.1, 9.81))
    assert abs(tau[1] - m_z * (g + third)) < Decimal("1e-26")


def test_a_scalar_without_a_cosine_is_named(planar):
    with pytest.raises(
        ArgumentError, match=r"^there is no cos\(Fraction\(1, 3\)\); give Fraction "
    ):
        inverse_dynamics(planar, [Fraction(1, 3), 0], [0, 0], [0, 0], formulation="newton_euler")


def test_matrices_of_sympy_are_ordinary_expressions(planar, state):
    sympy = pytest.importorskip("sympy")
    q, qd = (sympy.symbols(f"{name}1:3", real=True) for name in ("q", "v"))
    numbers = dict(zip([*q, *qd], state[:2].ravel(), strict=True))
    functions = {
        lagrange.mass_matrix: 1,
        lagrange.mass_matrix_derivatives: 1,
        lagrange.coriolis_coefficients: 1,
        lagrange.coriolis_matrix: 2,
        lagrange.gravity: 1,
        dalembert.mass_matrix: 1,
        (lambda robot, q, qd: dalembert.structured_equations(robot, q, qd).H): 2,
        (lambda robot, q: kane.partial_velocities(robot, q)[1]): 1,
        (lambda robot, q: frame_jacobian(robot, q, "endpoint")): 1,
        (lambda robot, q, qd: frame_jacobian_derivative(robot, q, qd, "endpoint")): 2,
        (lambda robot, q, qd: frame_drift(robot, q, qd, "endpoint")): 2,
        (lambda robot, q: link_poses(robot, q)["link_2"].translation): 1,
    }
    for function, count in functions.items():
        found = function(planar, *(q, qd)[:count])
        assert sympy.Array(found.tolist()).shape == found.shape
        assert {type(x).__module__.partition(".")[0] for x in found.flat} <= {
            "sympy",
            "numpy",
            "builtins",
        }
        values = [float(sympy.sympify(x).subs(numbers)) for x in found.flat]
        expected = function(planar, *state[:count])
        assert values == pytest.approx(expected.ravel().tolist(), abs=ROUND_OFF)
