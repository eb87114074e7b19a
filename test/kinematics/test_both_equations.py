"""Both equations of positioning at once: the pair of motions that they were made from is found."""

import numpy as np
import pytest

from robot_dynamics.kinematics.inverse.equations.both_equations import together
from robot_dynamics.kinematics.inverse.equations.partial_solutions import Frees
from robot_dynamics.kinematics.inverse.subproblems import Turn

COUNT = 1000
KNOWN = 3e-11  # rad, or part of the lever: worst 5e-12, and 3e-9 without polishing
NOT_TURNED = Frees(Turn(1.0, 0.0), Turn(1.0, 0.0))


def terms(motion, turns, lever):
    """The two terms that the coefficients of a row multiply, displacements as part of the lever."""
    return (motion.c, motion.s) if turns else (motion / lever, (motion / lever) ** 2)


def sides(rows, motion, turns, lever):
    """Evaluate both rows at a motion, shape (2, N)."""
    return rows[:, 0] + sum(
        rows[:, k] * term for k, term in enumerate(terms(motion, turns, lever), start=1)
    )


@pytest.mark.parametrize("lever", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("turns", [(True, True), (True, False), (False, True)])
def test_solutions_are_exact_where_an_equation_nearly_has_an_unknown_of_its_own(turns, lever):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 2, 3, COUNT))
    rows[1 if turns[0] else 0, 1, 1:] *= 10.0 ** rng.uniform(-8.0, -3.0, COUNT)
    known = [
        Turn(np.cos(x), np.sin(x)) if turn else lever * x
        for x, turn in zip(rng.uniform(-np.pi, np.pi, (2, COUNT)), turns, strict=True)
    ]
    first, last = (sides(*x, lever) for x in zip(rows, known, turns, strict=True))
    rows[1, :, 0] += first - last
    given = [
        [(k, a, b) if turn else (k, a / lever, b / lever**2) for k, a, b in of_joint]
        for of_joint, turn in zip(rows, turns, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = list(together(*given, turns, lever, ("shoulder", "elbow"), NOT_TURNED))
    away = [
        [
            np.abs(x - y)
            for joint, motion, turn in zip((0, 2), known, turns, strict=True)
            for x, y in zip(
                terms(partial.values[joint], turn, lever), terms(motion, turn, lever), strict=True
            )
        ]
        for partial in found
    ]
    assert np.max(away, axis=1).min(axis=0).max() < KNOWN
