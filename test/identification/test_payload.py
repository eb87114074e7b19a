import functools
from dataclasses import replace

import numpy as np
import pytest

from recorded_motion import Simulated
from robot_dynamics.errors import RobotError, UnknownNameError
from robot_dynamics.identification import identify, identify_payload
from robot_dynamics.identification.effort_model import EffortModel

MASS, COM = 2.0, np.array([0.03, -0.02, 0.1])
I_C = np.diag([0.02, 0.03, 0.015])


@functools.cache
def arm():
    return Simulated.of("ur5")


def loaded(noise=0.01):
    carrying = arm().true.with_payload("tool0", MASS, COM, I_C)
    return replace(arm(), true=carrying).recording(seed=4, noise=noise)


def test_all_of_a_load_is_found_by_an_exact_model_of_the_arm():
    model = EffortModel.of(arm().true, arm().friction)
    load = identify_payload(arm().true, model, loaded(noise=0.001), "tool0")
    assert load.mass == pytest.approx(MASS, rel=0.01)
    np.testing.assert_allclose(load.com, COM, atol=2e-3)
    np.testing.assert_allclose(load.inertia, I_C, atol=6e-3)
    assert all(np.isfinite(deviation) for deviation in load.deviation.values())


@pytest.mark.thorough
def test_a_load_is_found_by_an_arm_that_was_identified_without_it():
    found = identify(arm().urdf, arm().recording(noise=0.01))
    load = identify_payload(arm().urdf, found.model, loaded(), "tool0")
    assert load.mass == pytest.approx(MASS, rel=0.05)
    np.testing.assert_allclose(load.com, COM, atol=0.01)
    carrying = load.on(found.robot)
    tip = carrying.links[carrying.link_index("tool0")]
    assert tip.inertia.mass == pytest.approx(load.mass)


@pytest.mark.parametrize("share", [1.0, 0.9])  # 0.9: lighter than the arm alone
def test_no_load_is_found_where_there_is_none(share):
    model = EffortModel.of(arm().true, arm().friction)
    empty = arm().recording(noise=0.02)
    load = identify_payload(arm().true, model, replace(empty, tau=share * empty.tau), "tool0")
    assert not load.found
    assert load.mass <= 3.0 * load.deviation["m"]
    assert load.hidden == ()


def test_what_no_motion_of_an_arm_shows_of_a_load_is_named():
    planar = Simulated.of("planar_2r", friction=(0.1, 0.1))
    carrying = planar.true.with_payload("endpoint", 2.0, (0.1, 0.0, 0.0), np.eye(3) * 0.01)
    loaded = replace(planar, true=carrying).recording(noise=0.001)
    model = EffortModel.of(planar.true, planar.friction)
    load = identify_payload(planar.true, model, loaded, "endpoint")
    assert load.found
    # Joints about y: moments about y are felt, and there Ixx and Izz only as their sum
    assert load.hidden == ("hy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz")


def test_no_such_place_is_refused():
    model = EffortModel.of(arm().true, arm().friction)
    with pytest.raises(UnknownNameError, match="no frame 'hand'"):
        identify_payload(arm().true, model, loaded(), "hand")
    with pytest.raises(RobotError, match="frame 'base_link' does not move"):
        identify_payload(arm().true, model, loaded(), "base_link")
