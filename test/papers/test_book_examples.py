"""What is said of examples of Asada and Slotine beyond their formulas, which are paper items."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.papers.infinitesimal_rotations import (
    consecutive_rotations,
    infinitesimal_angles,
    infinitesimal_rotation,
)
from robot_dynamics.papers.singular_track import singular_track


def test_infinitesimal_rotations_commute_and_add():
    """(3-9) to (3-14): to the first order, which finite rotations do not."""
    a, b = np.array([0.3, -0.5, 0.8]), np.array([-0.7, 0.2, 0.4])
    for size in (1e-3, 1e-4):
        assert (
            np.abs(
                infinitesimal_rotation(size * a) - Rotation.from_rotvec(size * a).as_matrix()
            ).max()
            < size**2
        )  # (3-12)
        found = infinitesimal_angles(Rotation.from_rotvec(size * a).as_matrix())
        assert found == pytest.approx(size * a, abs=size**3)  # (3-14)
        A, B = (Rotation.from_rotvec(size * v).as_matrix() for v in (a, b))
        assert np.abs(A @ B - B @ A).max() < size**2
        together = infinitesimal_rotation(consecutive_rotations(size * a, size * b))  # (3-13)
        assert np.abs(A @ B - together).max() < size**2
    finite_A, finite_B = (Rotation.from_rotvec(v).as_matrix() for v in (a, b))
    assert np.abs(finite_A @ finite_B - finite_B @ finite_A).max() > 0.1


def test_example_3_2_rates_are_excessive_near_the_singular_points():
    track = singular_track(points=2001)
    fast = np.abs(track.rates).max(axis=1)
    length = track.times[-1]
    ends = (track.times < 0.02 * length) | (track.times > 0.98 * length)
    near_origin = np.linalg.norm(track.position, axis=1) < 0.15
    calm = ~ends & ~near_origin & (np.abs(track.position).max(axis=1) < 1.5)
    assert fast[ends].max() > 5.0 * fast[calm].max()
    assert np.abs(track.rates[near_origin, 0]).max() > 5.0 * fast[calm].max()  # between B and C
    # rates are the derivatives of the angles
    slopes = np.gradient(np.unwrap(track.angles, axis=0), track.times, axis=0)
    inner = calm & np.roll(calm, 1) & np.roll(calm, -1)
    assert slopes[inner] == pytest.approx(track.rates[inner], abs=1e-3)
