"""Integrators: their order, and the energy that they keep."""

import numpy as np
import pytest

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.simulation import INTEGRATORS, integrate

# Halving the step divides the error by 2 to this power
ORDER = {"semi_implicit_euler": 1, "runge_kutta": 4, "adams_bashforth_moulton": 4}


def oscillator(t, q, qd):
    return -q


@pytest.mark.parametrize("method", INTEGRATORS)
def test_halving_the_step_divides_the_error_by_two_to_the_order(method):
    def error(step):
        motion = integrate(
            oscillator, np.array([1.0]), np.array([0.0]), duration=2.0, step=step, method=method
        )
        return abs(motion.q[-1, 0] - np.cos(2.0))

    ratio = error(0.02) / error(0.01)
    # Terms of the next order are a hundredth of the first at this step
    assert ratio == pytest.approx(2.0 ** ORDER[method], rel=0.1)


@pytest.mark.parametrize("method", INTEGRATORS)
def test_forces_that_depend_on_time_are_taken_at_the_right_time(method):
    motion = integrate(
        lambda t, q, qd: np.array([6.0 * t]),
        np.zeros(1),
        np.zeros(1),
        duration=1.0,
        step=0.001,
        method=method,
    )
    # q = t^3, exactly for order 4 (round-off of 1000 sums) and to a few steps for order 1
    atol = 1e-12 if ORDER[method] == 4 else 5e-3
    np.testing.assert_allclose(motion.q[:, 0], motion.t**3, rtol=0.0, atol=atol)


def test_semi_implicit_euler_keeps_an_oscillation_from_growing():
    motion = integrate(
        oscillator,
        np.array([1.0]),
        np.array([0.0]),
        duration=1000.0,
        step=0.1,
        method="semi_implicit_euler",
    )
    # It conserves an energy that differs from the true one by at most h / 2 of it
    energy = motion.q[:, 0] ** 2 + motion.qd[:, 0] ** 2
    assert np.all(np.abs(energy - 1.0) < 0.06)


def test_an_unknown_method_is_named():
    with pytest.raises(UnknownNameError) as refusal:
        integrate(oscillator, np.ones(1), np.ones(1), duration=1.0, method="runge_kuta")
    assert str(refusal.value) == (
        "no method 'runge_kuta' in robot_dynamics.simulation (methods: semi_implicit_euler, "
        "runge_kutta, adams_bashforth_moulton); did you mean 'runge_kutta'?"
    )


# -- the free Panda -------------------------------------------------------------------------


def free_fall(panda, method, step, duration):
    """Energy drift of the falling Panda relative to its peak kinetic energy, and its peak speed."""
    n = panda.robot.dof
    q = np.array([0.3, 0.4, -0.2, -1.5, 0.1, 1.8, 0.5])
    none = np.zeros(n)

    def free(t, q, qd):
        return panda.forward(q, qd, none)

    motion = integrate(free, q, none, duration=duration, step=step, method=method)
    T, U = panda.energy(motion.q, motion.qd)
    return np.max(np.abs(T + U - T[0] - U[0])) / np.max(T), np.max(np.abs(motion.qd))


@pytest.mark.parametrize("method", ["runge_kutta", "adams_bashforth_moulton"])
def test_energy_of_the_free_panda_over_ten_seconds_is_kept_to_the_order_of_the_integrator(
    panda, method, record_property
):
    step, duration = 1e-3, 10.0
    drift, speed = free_fall(panda, method, step, duration)
    record_property("energy_drift", float(drift))  # pytest-xdist carries plain numbers only
    print(f"\nfree Panda, 10 s at 1 kHz, {method}: energy drift {drift:.1e} of the kinetic energy")
    # A method of order p errs by (w h)^(p + 1) a step at angular speed w, T / h times
    assert drift < speed * duration * (speed * step) ** ORDER[method]


@pytest.mark.parametrize("method", INTEGRATORS)
def test_halving_the_step_divides_the_energy_drift_of_the_free_panda_by_two_to_the_order(
    panda, method
):
    coarse, fine = (free_fall(panda, method, step, 1.0)[0] for step in (5e-4, 2.5e-4))
    # Terms of the next order are a twentieth of the first at this step
    assert coarse / fine == pytest.approx(2.0 ** ORDER[method], rel=0.1)
