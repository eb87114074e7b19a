"""Robots on moving, floating and planar bases: kernels, the manifold of positions, refusals.

Pinocchio has the same positions, velocities and efforts, so that its arrays are compared as they
are. What holds for every kernel of a fixed robot holds for these (`agreement`): plain, compiled,
by the complex step.
"""

import os
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from agreement import (
    ByPinocchio,
    arrays,
    assert_kernels_agree,
    assert_same,
    complex_step,
    evaluate,
    variant_of,
)
from oracles import (
    characteristic_examples,
    example_robot,
    examples,
    has_few_joints,
    pin_model,
    relative_error,
)
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.dynamics.kernels import KERNELS, equations_of
from robot_dynamics.dynamics.moving_base import MOVED
from robot_dynamics.dynamics.variant import Variant, payload_numbers
from robot_dynamics.errors import ArgumentError, RobotError, UnknownNameError, UrdfError
from robot_dynamics.formulations import (
    DEFAULT_FORMULATION,
    FORMULATIONS,
    forward_dynamics,
    inverse_dynamics,
)
from robot_dynamics.robot import find_robot, merge_fixed
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.robot.manifold import rates_in_step
from robot_dynamics.simulation.integrators import integrate
from robot_dynamics.spatial import Inertia
from strategies import random_state, robots, seeds

ROUND_OFF = 1e-9  # float64 on both sides, of the largest entry; one wrong sign gives 1e-2 and more

BASES = {"floating": "with_floating_base", "planar": "with_planar_base"}


def on_base(robot, kind):
    return getattr(robot, BASES[kind])()


@cache
def solo(base="floating"):
    return Dynamics(read_urdf(find_robot("solo")), base=base)


def kernels_of(robot):
    coupled = len(robot.moving_joints) != robot.dof
    names = [name for name in KERNELS if not (coupled and name == "forward_articulated")]
    elsewhere = ("inverse_second_derivatives", "forward_second_derivatives", "inverse_rates")
    return [name for name in names if name not in elsewhere]


WITH_LEGS = [path for path in characteristic_examples() if path.stem in ("finger_edu",)]


def on_every_base():
    """One robot of each arrangement on each base: every robot is compared on a fixed one."""
    for kind in BASES:
        for example in examples(WITH_LEGS, characteristic_examples()):
            (path,) = example.values
            yield pytest.param(path, kind, id=f"{example.id}-{kind}", marks=example.marks)


@pytest.mark.parametrize(("path", "kind"), list(on_every_base()))
def test_every_kernel_of_an_example_of_each_arrangement_on_a_free_base_agrees(path, kind):
    robot = on_base(example_robot(path), kind)
    singular = Dynamics(robot)._inertialess
    names = [x for x in kernels_of(robot) if not (singular and x.startswith("forward"))]
    if has_few_joints(path):
        assert_kernels_agree(robot, DEFAULT_FORMULATION, 21, names, source=path)
        return
    assert_equations_agree(robot, path, names, 21)


def assert_equations_agree(robot, source, names, seed, steps=False):
    """Compare equations on numbers with Pinocchio: to trace those of a humanoid takes minutes."""
    by_pinocchio = ByPinocchio(pin_model(robot, source), Dynamics(robot))
    tree, state = merge_fixed(robot), random_state(robot, seed)
    for name in names:
        equations = equations_of(name, tree, DEFAULT_FORMULATION, variant_of(name, robot))
        own = state[: len(equations.inputs)]
        about = (robot.name, type(source).__name__, name)
        found = arrays(equations.function(*own))
        getattr(by_pinocchio, name)(found, about, *own)
        derivatives = steps and complex_step(name, tree, DEFAULT_FORMULATION, own)
        if derivatives:
            # As `assert_kernels_agree`
            allowed = ROUND_OFF + 1e-14 * np.linalg.cond(by_pinocchio.model.mass_matrix(own[0]))
            assert_same(found[:2], derivatives, (*about, "complex step"), allowed)


STANDING = {"humanoid", "quadruped", "biped", "mobile_manipulator", "wheeled"}


def described_robots():
    """Robots of robot_descriptions in its cache: it fetches hundreds of megabytes for each."""
    try:
        from robot_descriptions import DESCRIPTIONS
        from robot_descriptions._repositories import REPOSITORIES
    except ImportError:
        return []
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    kept = {x for x, of in REPOSITORIES.items() if Path(cache, of.cache_path).expanduser().is_dir()}
    about = DESCRIPTIONS.items()
    return [x for x, of in about if of.has_urdf and of.tags & STANDING and of.repository in kept]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name, kind",
    [(name, kind) for name in described_robots() for kind in BASES]
    or [pytest.param("", "", marks=pytest.mark.skip("robot_descriptions has fetched no robot"))],
)
def test_every_kernel_of_a_robot_of_robot_descriptions_on_a_free_base_agrees(name, kind):
    try:
        path = find_robot(name)
        robot = read_urdf(path)
    except (RobotError, UrdfError) as error:
        pytest.skip(str(error))  # what is no URDF, or lacks a limit or an inertia
    if robot.nq == robot.dof:  # as the URDF has it otherwise
        robot = on_base(robot, kind)
    M = Dynamics(robot).mass_matrix(random_state(robot, 21)[0])
    # Reachy: moments of inertia of 1e6 kg m^2 beside 1e-7 kg m^2 leave no digits to accelerations
    singular = Dynamics(robot)._inertialess or np.linalg.cond(M) > 1e12
    names = [x for x in kernels_of(robot) if not (singular and x.startswith("forward"))]
    assert_equations_agree(robot, path, names, 21)
    assert_moves_agree(robot, path)


@pytest.mark.thorough
@settings(max_examples=3)
@given(robots(max_joints=3), seeds())
def test_every_kernel_of_random_trees_on_a_floating_base_agrees(robot, seed):
    floating = robot.with_floating_base()
    assert_kernels_agree(floating, "augmented_body", seed, kernels_of(floating))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@settings(max_examples=5)
@given(robots(max_joints=4), seeds())
def test_every_formulation_takes_a_free_base(formulation, robot, seed):
    for kind in BASES:
        free = on_base(robot, kind)
        q, qd, qdd = random_state(free, seed)
        pinocchio = pin_model(free)
        tau = inverse_dynamics(free, q, qd, qdd, formulation=formulation)
        assert relative_error(tau, pinocchio.inverse(q, qd, qdd)) < ROUND_OFF
        found = forward_dynamics(free, q, qd, tau, formulation=formulation)
        M = pinocchio.mass_matrix(q)
        assert relative_error(M @ found, M @ qdd) < ROUND_OFF


INERTIAL = (
    '<inertial><origin xyz="0.1 -0.05 0.2" rpy="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0.02" iyz="-0.01"/></inertial>'
)


def joint(name, kind, parent, child, inside=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 0.2 0.3" rpy="0.3 0.1 0.2"/>{inside}</joint>'
    )


LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'

BELOW_THE_ROOT = (
    '<robot name="catch"><link name="world"/>'
    + "".join(f'<link name="{name}">{INERTIAL}</link>' for name in "abcde")
    + joint("shoulder", "revolute", "world", "a", '<axis xyz="0 1 0"/>' + LIMIT)
    + joint("throw", "floating", "a", "b")
    + joint("slide", "prismatic", "b", "c", '<axis xyz="0.6 0.8 0"/>' + LIMIT)
    + joint("puck", "planar", "c", "d", '<axis xyz="0 0 1"/>')
    + joint("turn", "revolute", "d", "e", '<axis xyz="0 1 0"/>' + LIMIT)
    + "</robot>"
)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_floating_and_planar_joints_below_the_root_agree(formulation):
    robot = read_urdf(BELOW_THE_ROOT)
    assert (robot.dof, robot.nq) == (12, 14)
    q, qd, qdd = random_state(robot, 3)
    tau = inverse_dynamics(robot, q, qd, qdd, formulation=formulation)
    assert relative_error(tau, pin_model(robot, BELOW_THE_ROOT).inverse(q, qd, qdd)) < ROUND_OFF
    found = forward_dynamics(robot, q, qd, tau, formulation=formulation)
    assert relative_error(found, qdd) < ROUND_OFF


@pytest.mark.thorough
def test_every_kernel_with_joints_below_the_root_agrees():
    robot = read_urdf(BELOW_THE_ROOT)
    assert_kernels_agree(robot, "augmented_body", 3, kernels_of(robot), source=BELOW_THE_ROOT)


def with_free_joints(**options):
    """Random trees with a floating or planar joint anywhere."""
    return robots(free=True, **options).filter(lambda robot: robot.nq > robot.dof)


@pytest.mark.parametrize("name", ["centroidal_matrix", "centroidal_momentum"])
@pytest.mark.parametrize("kind", BASES)
def test_a_load_of_a_free_base_counts_in_centroidal_quantities_unless_on_the_root(name, kind):
    robot = on_base(read_urdf(find_robot("planar_2r")), kind)
    tip, com, turning = robot.tips[0], [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.15])
    state = random_state(robot, 3)[: 1 if name == "centroidal_matrix" else 2]

    def found(tree, *load, at=""):
        variant = Variant(payload_at=at) if at else Variant()
        equations = equations_of(name, merge_fixed(tree), DEFAULT_FORMULATION, variant)
        return evaluate(equations.trace(name), (*state, *load))[0]

    load = payload_numbers(Inertia.from_com(2.0, com, turning))
    loaded = found(robot.with_payload(tip, mass=2.0, com=com, inertia=turning))
    assert relative_error(found(robot, load, at=tip), loaded) < ROUND_OFF
    assert relative_error(found(robot, load, at=robot.root), found(robot)) < ROUND_OFF


@settings(max_examples=8)
@given(with_free_joints(max_joints=4), seeds())
def test_random_trees_with_floating_and_planar_joints_anywhere_agree(robot, seed):
    assert_equations_agree(robot, None, kernels_of(robot), seed, steps=True)


@pytest.mark.thorough
@settings(max_examples=5)
@given(with_free_joints(max_joints=3), seeds())
def test_compiled_kernels_of_such_trees_agree(robot, seed):
    assert_kernels_agree(robot, DEFAULT_FORMULATION, seed, kernels_of(robot))


def test_a_planar_joint_moves_in_the_plane_that_its_axis_is_normal_to():
    text = (
        f'<robot name="sheet"><link name="world"/><link name="a">{INERTIAL}</link>'
        '<joint name="wall" type="planar"><parent link="world"/><child link="a"/>'
        '<axis xyz="1 0 0"/></joint></robot>'
    )
    place = Dynamics(read_urdf(text)).pose([0.3, 0.4, np.cos(0.5), np.sin(0.5)])
    assert relative_error(place.position, [0.0, 0.3, 0.4]) < 1e-15
    turned = [[1, 0, 0], [0, np.cos(0.5), -np.sin(0.5)], [0, np.sin(0.5), np.cos(0.5)]]
    assert relative_error(place.rotation, turned) < 1e-15


@pytest.mark.parametrize(
    ("normal", "x"),
    [
        ((0, 0, 1), (1, 0, 0)),
        ((0, 0, -1), (1, 0, 0)),
        ((1, 0, 0), (0, 1, 0)),
        ((0, 1, 0), (0, 0, 1)),
        ((0, 0.6, 0.8), (0, -0.8, 0.6)),  # (1, 0, 0) cross n
        ((0.6, 0.48, 0.64), (0.64, 0, -0.6)),  # (0, 1, 0) cross n, before its length is 1
    ],
)
def test_axes_of_a_planar_joint_follow_the_rule_of_the_page(normal, x):
    text = (
        f'<robot name="sheet"><link name="world"/><link name="a">{INERTIAL}</link>'
        '<joint name="wall" type="planar"><parent link="world"/><child link="a"/>'
        f'<axis xyz="{" ".join(map(str, normal))}"/></joint></robot>'
    )
    place = Dynamics(read_urdf(text)).pose([0.3, 0.4, 1.0, 0.0])
    x = np.array(x) / np.linalg.norm(x)
    expected = 0.3 * x + 0.4 * np.cross(normal, x)
    assert np.abs(place.position - expected).max() < 1e-12


# -- a base with a given motion ---------------------------------------------------------------


def base_motion(rng):
    orientation = rng.normal(size=4)
    orientation /= np.linalg.norm(orientation)
    return BaseMotion(orientation, *rng.normal(size=(2, 6)))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_moving_base_is_a_floating_one_whose_acceleration_is_given(formulation):
    robot, rng = read_urdf(find_robot("finger_edu")), np.random.default_rng(5)
    moving = Dynamics(robot, formulation, base="moving")
    motion, (q, qd, qdd) = base_motion(rng), rng.normal(size=(3, robot.dof))
    whole = [
        np.concatenate([np.zeros(3), motion.orientation, q]),
        np.concatenate([motion.twist, qd]),
        np.concatenate([motion.acceleration, qdd]),
    ]
    base, floating = motion.numbers(robot), pin_model(robot.with_floating_base())
    tau = floating.inverse(*whole)
    state = {"q": q, "qd": qd, "qdd": qdd, "tau": tau[6:], "base": base}

    def found(name):
        (equations,) = moving.equations(name)
        values = [state[x] for x in equations.inputs]
        return arrays(evaluate(equations.trace(name), values))

    assert_same(found("inverse"), [tau[6:], tau[:6]], ("inverse", formulation))
    assert_same(found("forward"), [qdd, tau[:6]], ("forward", formulation))
    if formulation != DEFAULT_FORMULATION:
        return  # other kernels consist of these
    still = floating.inverse(*whole[:2], np.concatenate([motion.acceleration, 0.0 * qdd]))
    assert_same(found("bias"), [still[6:], still[:6]], ("bias", formulation))
    held = floating.gravity(whole[0])
    assert_same(found("gravity"), [held[6:], held[:6]], ("gravity", formulation))
    by_q, by_qd, M = (part[6:, 6:] for part in floating.inverse_derivatives(*whole))
    assert_same(found("inverse_derivatives"), [by_q, by_qd, M], ("derivatives", formulation))
    solved = [np.linalg.solve(M, -by_q), np.linalg.solve(M, -by_qd), np.linalg.inv(M)]
    assert_same(found("forward_derivatives"), solved, ("derivatives", formulation))
    assert_same(found("momentum")[:1], [floating.momentum(*whole[:2])[0][6:]], formulation)
    assert_same(found("energy"), floating.energy(*whole[:2]), ("energy", formulation))
    values = [p.value for p in moving.base_parameters]
    assert_same([found("regressor")[0] @ values], [tau], ("regressor", formulation))
    assert set(MOVED) <= set(KERNELS)


def test_second_derivatives_on_a_moving_base_are_those_of_the_first():
    arm, rng = Dynamics(read_urdf(find_robot("planar_2r")), base="moving"), np.random.default_rng(8)
    base, h = base_motion(rng).numbers(arm.robot), 1e-6
    states = {"inverse": rng.normal(size=(3, 2)), "forward": rng.normal(size=(3, 2))}
    for name, state in states.items():
        first = partial(getattr(arm, f"{name}_derivatives"), base=base)
        by_q, by_q_qd, by_qd, last = getattr(arm, f"{name}_second_derivatives")(*state, base=base)

        def slopes(k, first=first, state=state):
            """Differences of the three first derivatives by input k, the direction last."""
            ends = []
            for step in np.eye(2):
                moved = [[*state], [*state]]
                moved[0][k], moved[1][k] = state[k] + h * step, state[k] - h * step
                above, below = (first(*x) for x in moved)
                ends.append([(a - b) / (2.0 * h) for a, b in zip(above, below, strict=True)])
            return [np.moveaxis(np.array(part), 0, -1) for part in zip(*ends, strict=True)]

        (q_q, _, of_third), (q_qd, qd_qd, _) = slopes(0), slopes(1)
        wanted = [q_q, q_qd, qd_qd, of_third]
        for found, other in zip((by_q, by_q_qd, by_qd, last), wanted, strict=True):
            assert relative_error(found, other) < 1e-7  # of differences over h


def test_methods_on_a_moving_base_take_its_motion_and_return_its_wrench():
    robot = read_urdf(find_robot("planar_2r"))
    arm, rng = Dynamics(robot, base="moving"), np.random.default_rng(2)
    q, qd, qdd = rng.normal(size=(3, 4, 2))
    at_rest = arm.inverse(q, qd, qdd, base=BaseMotion())
    assert relative_error(at_rest.tau, Dynamics(robot).inverse(q, qd, qdd)) < 1e-12
    assert at_rest.base_wrench.shape == (4, 6)
    lifted = BaseMotion(acceleration=-np.concatenate([robot.gravity, np.zeros(3)]))
    heavier = Dynamics(robot).inverse(q[0], qd[0], qdd[0], gravity=2.0 * robot.gravity)
    assert relative_error(arm.inverse(q[0], qd[0], qdd[0], base=lifted).tau, heavier) < 1e-12
    upside_down = BaseMotion(gravity=-robot.gravity)
    turned = BaseMotion(orientation=(1.0, 0.0, 0.0, 0.0))
    assert upside_down.numbers(robot)[:3] == pytest.approx(-robot.gravity)
    assert relative_error(turned.numbers(robot)[:3], robot.gravity * (1.0, -1.0, -1.0)) < 1e-15


def test_what_a_base_cannot_do_is_refused_by_name():
    robot = read_urdf(find_robot("planar_2r"))
    moving, state, at_rest = Dynamics(robot, base="moving"), np.zeros((3, 2)), BaseMotion()
    refused = [
        (lambda: moving.inverse(*state), "inverse needs base=BaseMotion(...): the base moves"),
        (
            lambda: Dynamics(robot).inverse(*state, base=at_rest),
            "base is given, but the base of robot 'planar_2r' is fixed; make "
            'Dynamics(robot, base="moving")',
        ),
        (
            lambda: moving.inverse(*state, base=at_rest, gravity=(0.0, 0.0, 1.0)),
            "a moving base has gravity among its own numbers; give base alone",
        ),
        (
            lambda: Dynamics(robot.with_planar_base(), base="moving"),
            "robot 'planar_2r' has a floating or planar joint, so its base cannot be moving; weld "
            "it with robot.with_fixed_base()",
        ),
        (
            lambda: robot.with_planar_base().with_floating_base(),
            "robot 'planar_2r' is on the planar joint 'planar_base' already; take it as it is, or "
            "weld it with robot.with_fixed_base first",
        ),
        (
            lambda: robot.with_floating_base().with_locked({"floating_base": 0.0}),
            "joint 'floating_base' is floating and has no single position; weld it with "
            "robot.with_fixed_base",
        ),
        (
            lambda: BaseMotion(twist=np.zeros(3)).numbers(robot),
            "base.twist must have 6 entries, got shape (3,)",
        ),
        (
            lambda: BaseMotion(twist="fast").numbers(robot),
            "base.twist must hold real numbers, got 'fast'",
        ),
        (
            lambda: BaseMotion(orientation=(0.0, 0.0, 0.1, 2.0)).numbers(robot),
            "base.orientation must be a quaternion of length 1",
        ),
        (
            lambda: BaseMotion(twist=np.zeros((3, 6)), gravity=np.zeros((2, 3))).numbers(robot),
            "the parts of base must have as many rows, or one; got shapes (2, 3), (3, 6), (6,)",
        ),
    ]
    for call, message in refused:
        with pytest.raises((ArgumentError, RobotError)) as error:
            call()
        assert str(error.value) == message
    with pytest.raises(UnknownNameError):
        Dynamics(robot, base="wheels")


def test_a_welded_base_is_the_fixed_robot():
    robot = read_urdf(find_robot("planar_2r"))
    welded = robot.with_floating_base().with_fixed_base()
    state = np.random.default_rng(1).normal(size=(3, 2))
    found = Dynamics(welded).inverse(*state)
    assert relative_error(found, Dynamics(robot).inverse(*state)) < 1e-12


# -- the manifold of positions ----------------------------------------------------------------


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("size", (1e-7, 0.02, 1.0, 3.0))
def test_integrate_and_difference_are_those_of_pinocchio(kind, size):
    robot = on_base(read_urdf(find_robot("solo")), kind)
    assert_moves_agree(robot, None, size)


def assert_moves_agree(robot, source, size=1.0):
    """Compare `integrate` by twists of a size with Pinocchio, and undo it by `difference`."""
    arm, pinocchio = Dynamics(robot), pin_model(robot, source)
    q, v, _ = random_state(robot, 7)
    v *= size / np.linalg.norm(v[:6])  # turns by less than half a circle
    end = arm.integrate(q, v)
    twist = pinocchio.E @ v
    theirs = pinocchio.pin.integrate(pinocchio.model, pinocchio.positions(q), twist)
    assert relative_error(pinocchio.positions(end), theirs) < 1e-14
    assert relative_error(arm.difference(q, end), v) < 1e-14 / min(size, 1.0)
    many = arm.difference(np.array([q, end]), arm.integrate(np.array([q, end]), np.array([v, v])))
    assert relative_error(many, [v, v]) < 1e-14 / min(size, 1.0)


def test_the_order_of_integration_on_the_manifold_is_four():
    arm = solo()
    q, qd, _ = random_state(arm.robot, 3)
    qd[3:6] = (2.0, -3.0, 1.0)

    def end(step):
        def free(t, q, qd):
            return arm.forward(q, qd, np.zeros(arm.robot.dof))

        made = integrate(free, q, 0.3 * qd, duration=0.16, step=step, robot=arm.robot)
        return made.q[-1]

    exact = end(0.001)  # of 1/256 of the smallest error
    errors = [np.max(np.abs(end(step) - exact)) for step in (0.016, 0.008, 0.004)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([4.0, 4.0], abs=0.5)


def in_free_flight(duration):
    """Largest change of momentum about the centre of mass without gravity, of its size."""
    arm = Dynamics(solo().robot.with_gravity(np.zeros(3)))
    q, qd, _ = random_state(arm.robot, 11)
    qd *= 0.3

    def free(t, q, qd):
        return arm.forward(q, qd, np.zeros(arm.robot.dof))

    made = integrate(free, q, qd, duration=duration, step=1e-3, robot=arm.robot)
    h = arm.centroidal_momentum(made.q[::20], made.qd[::20])
    return np.max(np.abs(h - h[0])) / np.max(np.abs(h[0]))


def test_momentum_is_conserved_in_free_flight():
    assert in_free_flight(0.2) < 1e-10


@pytest.mark.thorough
def test_momentum_is_conserved_in_ten_seconds_of_free_flight():
    assert in_free_flight(10.0) < 1e-10


def test_rates_in_a_step_are_those_of_the_positions():
    arm = solo()
    q, v, u = random_state(arm.robot, 5)
    u, h = 0.01 * u, 1e-6
    rate = rates_in_step(arm.robot, u, v)
    ends = [arm.integrate(q, u + sign * h * rate) for sign in (-1.0, 1.0)]
    # differences over h = 1e-6, and terms of fourth order in u = 0.01
    assert relative_error(arm.difference(*ends) / (2.0 * h), v) < 1e-7
