"""Arms next to a special geometry: inverse kinematics finds all that a dense search finds."""

import numpy as np
import pytest

from arms import arm_of
from choices import first
from robot_dynamics.kinematics import InverseKinematics
from robot_dynamics.robot.denavit_hartenberg import TOOL

STARTS, STEPS = 800, 70
POSES = 150
REACHED = 1e-9
SAME = 1e-5  # rad, m: of two searches for one solution; others are 1e-2 apart, or the pose is left
FAR = 3.0  # m: farther displacements are not searched for

SPECIAL = {  # types; a; alpha, degrees; d
    "5r1p": ("RRPRRR", (0, 0, 0, 0, 0, 0), (-90, 90, 0, -90, 90, 0), (0.6, 0.2, 0, 0, 0, 0.15)),
    "skew": (
        "RRPRRR",
        (0.1, 0.3, 0.2, 0, 0, 0),
        (-70, 50, 40, -90, 90, 0),
        (0.6, 0.2, 0, 0.1, 0, 0.1),
    ),
    "prr": ("PRRRRR", (0, 0.3, 0, 0, 0, 0), (0, -90, 90, -90, 90, 0), (0, 0.2, 0, 0.3, 0, 0.15)),
    "prp": ("PRPRRR", (0, 0, 0, 0, 0, 0), (0, 90, 0, -90, 90, 0), (0, 0.2, 0, 0.1, 0, 0.15)),
    "inner": (
        "RPRRRP",
        (0.1, 0.3, 0, 0, 0.2, 0),
        (-90, 0, -90, 90, 40, 0),
        (0.2, 0, 0.3, 0, 0.1, 0.1),
    ),
}


ALL_MOVED = {  # the three axes that meet or are parallel as well
    "puma": (
        "RRRRRR",
        (0, 0.43, -0.02, 0, 0, 0),
        (90, 0, -90, 90, -90, 0),
        (0.6, 0.15, 0, 0.43, 0, 0.06),
    ),
    "ur5": (
        "RRRRRR",
        (0, -0.43, -0.39, 0, 0, 0),
        (90, 0, 0, 90, -90, 0),
        (0.09, 0, 0, 0.11, 0.09, 0.08),
    ),
    "skew": SPECIAL["skew"],
}


def calibrated(name, rng, arms=SPECIAL):
    """Types and table (a, alpha, d) of an arm that is off by 1 mm and 1 mrad."""
    types, *table = arms[name]
    a, alpha, d = np.array(table, float)
    moved = rng.normal(scale=1e-3, size=(3, 6))
    if arms is SPECIAL:
        first = 2 if name == "inner" else 3
        moved[0, first : first + 2] = 0.0  # the three axes still meet
        moved[2, first + 1] = 0.0
    return types, a + moved[0], np.radians(alpha) + moved[1], d + moved[2]


def poses_of(types, a, alpha, d, q):
    """Poses (N, 4, 4) of the tool, and Jacobians (N, 6, 6), of a Denavit-Hartenberg table."""
    X, axes = np.tile(np.eye(4), (len(q), 1, 1)), []
    for k, kind in enumerate(types):
        axes.append((X[:, :3, 2], X[:, :3, 3]))
        theta, at = (q[:, k], d[k]) if kind == "R" else (0.0 * q[:, k], d[k] + q[:, k])
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha[k]), np.sin(alpha[k])
        zero = 0.0 * theta
        rows = [
            [c, -s * ca, s * sa, a[k] * c],
            [s, c * ca, -c * sa, a[k] * s],
            [zero, zero + sa, zero + ca, zero + at],
            [zero, zero, zero, zero + 1.0],
        ]
        X = X @ np.moveaxis(np.array(rows), 2, 0)
    J = [
        np.hstack([np.cross(z, X[:, :3, 3] - p), z] if kind == "R" else [z, 0.0 * z])
        for kind, (z, p) in zip(types, axes, strict=True)
    ]
    return X, np.stack(J, axis=2)


def searched(table, X_wanted, rng):
    """Find solutions of a pose by damped Newton's steps from many starts, (s, 6)."""
    turns = np.array([kind == "R" for kind in table[0]])
    q = rng.uniform(-1.0, 1.0, (STARTS, 6)) * np.where(turns, np.pi, FAR)
    for _ in range(STEPS):
        X, J = poses_of(*table, q)
        skew = X_wanted[:3, :3] @ X[:, :3, :3].transpose(0, 2, 1)
        skew = 0.5 * (skew - skew.transpose(0, 2, 1))
        error = np.hstack([X_wanted[:3, 3] - X[:, :3, 3], skew[:, [2, 0, 1], [1, 2, 0]]])
        damping = 0.05 * (error**2).sum(axis=1) + 1e-12
        damped = J.transpose(0, 2, 1) @ J + damping[:, None, None] * np.eye(6)
        step = np.linalg.solve(damped, J.transpose(0, 2, 1) @ error[..., None])[..., 0]
        q = q + step.clip(-1.0, 1.0)
    X, _ = poses_of(*table, q)
    q = q[np.abs(X - X_wanted).max(axis=(1, 2)) < REACHED]
    found = np.zeros((0, 6))
    for one in q:
        if apart(found, one, turns).min(initial=1.0) > SAME:
            found = np.vstack([found, one])
    return found


def apart(q, one, turns):
    """Distances of positions (s, 6) from others, rad or m."""
    away = np.abs(q - one)
    return np.where(turns, np.abs(2.0 * np.sin(0.5 * away)), away).max(axis=1)


def assert_all_are_found(ik, table, q, rng):
    """Compare the solutions of the pose at q with those of a dense search."""
    turns = np.array([kind == "R" for kind in table[0]])
    (X,), _ = poses_of(*table, q[None])
    found = ik(X[:3, :3], X[:3, 3]).q
    reached, _ = poses_of(*table, found)
    assert np.abs(reached - X).max() < REACHED
    near = found[(np.abs(found[:, ~turns]) < FAR).all(axis=1)]
    every = searched(table, X, rng)
    every = every[(np.abs(every[:, ~turns]) < FAR).all(axis=1)]
    assert len(every) == len(near)
    assert max(apart(near, one, turns).min() for one in every) < SAME
    assert min(apart(every, q, turns)) < SAME


@pytest.mark.parametrize("seed", first([0], range(2)))
@pytest.mark.parametrize("name", first(["skew", "prr"], SPECIAL))
def test_a_calibrated_arm_has_as_many_solutions_as_a_dense_search_finds(name, seed):
    rng = np.random.default_rng(seed)
    types, a, alpha, d = table = calibrated(name, rng)
    turns = np.array([kind == "R" for kind in types])
    ik = InverseKinematics(arm_of(types, a, np.degrees(alpha), d), TOOL)
    assert not ik.structure.startswith("n")  # neither nearly nor numeric
    for q in rng.uniform(-1.0, 1.0, (3, 6)) * np.where(turns, np.pi, 0.4):
        assert_all_are_found(ik, table, q, rng)


@pytest.mark.parametrize("name", first(["skew"], ALL_MOVED))
def test_axes_that_nearly_meet_or_are_nearly_parallel_leave_all_solutions(name):
    rng = np.random.default_rng(5)
    types, a, alpha, d = table = calibrated(name, rng, ALL_MOVED)
    turns = np.array([kind == "R" for kind in types])
    ik = InverseKinematics(arm_of(types, a, np.degrees(alpha), d), TOOL)
    assert ik.structure.startswith("nearly ")
    q = rng.uniform(-1.0, 1.0, (POSES, 6)) * np.where(turns, np.pi, 0.4)
    for one in q[:2]:
        assert_all_are_found(ik, table, one, rng)
    X, _ = poses_of(*table, q)
    found = ik(X[:, :3, :3], X[:, :3, 3])
    pose, _ = np.nonzero(found.valid)
    reached, _ = poses_of(*table, found.q[found.valid])
    assert np.abs(reached - X[pose]).max() < REACHED
    assert found.valid.any(axis=1).all()
    own = [
        apart(x[ok], one, turns).min() for x, ok, one in zip(found.q, found.valid, q, strict=True)
    ]
    # next to singularities and to the edge of the workspace some are lost: 5 of 1000
    assert (np.array(own) < SAME).mean() > 0.98
