"""Identification of friction that remembers the way of a joint."""

import functools

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.control import Friction
from robot_dynamics.control.friction import FrictionMemory
from robot_dynamics.identification import Recording, identify
from robot_dynamics.identification.friction_terms import (
    BLOCKS,
    PIECE_S,
    FrictionTerms,
    held_out_errors,
    mixed_blocks,
    successive_blocks,
)
from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.trajectory import Waypoints, interpolate

ROBOT = read_urdf(find_robot("planar_2r"))
NOISE = 0.2  # N m
COULOMB = 4.0  # N m
ENCODER = 1e-4  # rad


@pytest.mark.parametrize("seed", range(50))
def test_nothing_is_predicted_for_the_block_with_all_motion(seed):
    """A joint that moved for three samples of the recording, with round-off in the sums."""
    qd = np.random.default_rng(seed).uniform(0.1, 1.0, 3) * (1.0, -1.0, 1.0)
    effort = 0.2 * qd + np.sign(qd)
    samples = np.stack([np.ones(3), qd, np.sign(qd), effort], axis=1)
    each = samples[:, :, None] * samples[:, None, :]
    none = np.zeros((4, 4))
    blocks = np.array([[each.sum(axis=0), none, none, *each]])  # successive ones, and mixed ones
    errors = held_out_errors(blocks, FrictionTerms(0.01, viscous=True), 2)
    assert errors[0, 0] == pytest.approx(np.sum(effort**2), rel=1e-9)


def moves_with_rests(seed, count=12):
    """A second of motion and a second of rest, in turn."""
    rng = np.random.default_rng(seed)
    poses = np.repeat(rng.uniform(-1.2, 1.2, (count, 2)), 2, axis=0)
    rest = np.zeros_like(poses)
    return interpolate(
        Waypoints(ROBOT.joint_names, np.arange(len(poses), dtype=float), poses, rest, rest)
    )


def recording(memory, seed):
    motion = moves_with_rests(seed)
    friction = Friction(
        np.full(2, 1.0), np.full(2, COULOMB), memory=memory, slip=2e-3, slip_ratio=3.0, width=5e-3
    )
    time = np.arange(0.0, motion.end, 4e-3)
    q, qd, qdd = motion.sample(time)
    remembered, tau = FrictionMemory(friction), Dynamics(ROBOT).inverse(q, qd, qdd)
    for k in range(len(time)):
        remembered.follow(q[k])
        tau[k] += friction.smooth(qd[k], presliding=remembered.direction)
    noise = NOISE * np.random.default_rng(seed).normal(size=tau.shape)
    q = ENCODER * np.round(q / ENCODER)
    return Recording(time, q, None, tau + noise, f"memory_{seed}")


@functools.cache
def found(memory):
    return identify(ROBOT, recording(memory, 1))


@pytest.mark.thorough
def test_friction_at_rest_of_another_motion_is_predicted_to_the_noise():
    seen, result = recording(1.0, 2), found(1.0)
    residual = seen.tau - result.predict(seen)
    at_rest = (seen.time % 2.0 > 0.2) & (seen.time % 2.0 < 0.8)
    at_rest &= seen.time > 2.0  # nothing is remembered before the first move
    assert (result.friction.memory > 0.5).all()
    rms = np.sqrt(np.mean(residual[at_rest] ** 2, axis=0))
    assert (rms < 1.5 * NOISE).all(), rms  # without memory 4 N m


@pytest.mark.thorough
def test_friction_at_rest_is_missing_without_memory():
    seen = recording(1.0, 2)
    at_rest = (seen.time % 2.0 > 0.2) & (seen.time % 2.0 < 0.8) & (seen.time > 2.0)
    forgets = identify(ROBOT, recording(1.0, 1), memory=False)
    residual = (seen.tau - forgets.predict(seen))[at_rest]
    assert (np.sqrt(np.mean(residual**2, axis=0)) > 0.6 * COULOMB).all()


def test_coulomb_friction_is_that_of_the_arm_with_memory():
    np.testing.assert_allclose(found(1.0).friction.coulomb, COULOMB, rtol=0.1)


@pytest.mark.thorough
def test_a_joint_without_memory_has_the_simplest_model():
    assert not found(0.0).friction.memory.any()
    assert [shape.model for shape in found(0.0).model.shapes] == ["static", "static"]


def test_blocks_hold_every_sample_once_and_mixed_ones_reach_from_end_to_end():
    time = np.arange(0.0, 40.0, 0.02)
    for blocks in (successive_blocks(time), mixed_blocks(time)):
        assert len(blocks) == BLOCKS
        np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(len(time)))
    for block in mixed_blocks(time):
        lost = np.diff(time[block])
        assert np.ptp(time[block]) > 40.0 - 2.0 * BLOCKS * PIECE_S
        assert lost.max() < 2.0 * BLOCKS * PIECE_S
