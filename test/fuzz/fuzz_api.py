"""Arguments of every kind for the public API, beside plain Python: fuzz_api.py [SECONDS [SEED]]."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "helpers"), str(Path(__file__).parent)]

from bounded import REFUSED, bounded, main

from python_kernel import compile_python
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Inertia

ROUND_OFF = 1e-9  # relative, of native code and of Python; single precision has its own
METHODS = {
    "inverse": 3,
    "forward": 3,
    "bias": 2,
    "gravity": 1,
    "mass_matrix": 1,
    "energy": 2,
    "inverse_derivatives": 3,
    "forward_derivatives": 3,
    "inverse_second_derivatives": 3,
    "forward_second_derivatives": 3,
    "regressor": 3,
}


class Subclass(np.ndarray):
    """An array of another class."""


class Rude:
    """What raises when it is looked at."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("rude")

    def __repr__(self):
        return "Rude()"


@cache
def arms():
    """Robots, compiled, and interpreted."""
    puma = read_urdf(find_robot("puma_gupta"))
    robots = [read_urdf(find_robot("planar_2r")), puma.subchain(puma.links[0].name, "link_3")]
    return [(Dynamics(robot), Dynamics(robot, backend=compile_python)) for robot in robots]


def thing(rng, n):
    """Something that is no array of numbers, or is one in disguise."""
    return rng.choice(
        [
            *(None, True, 0, 1.5, float("nan"), "text", b"bytes", "1.0", 1j, object(), Rude()),
            *([], {}, set(), (), [[]], [1.0] * n, [None] * n, ["a"] * n, [[1.0], [1.0, 2.0]]),
            *([Fraction(1, 3)] * n, [Decimal("0.1")] * n, [True] * n, range(n), iter([1.0] * n)),
            *(
                {"joint_1": 1.0},
                {"nobody": 1.0},
                {1: 2.0},
                {"joint_1": "x"},
                len,
                Dynamics,
                10**400,
            ),
            *(np.array(None), np.array(["a"] * n), np.zeros(n, complex), np.zeros(n, "M8[s]")),
            *(np.zeros(n, [("x", float)]), np.ma.masked_all(n), np.zeros(0), np.zeros((0, n))),
            *(np.matrix(np.zeros(n)), np.zeros((1,) * 40), memoryview(np.zeros(n)), [10**400] * n),
        ]
    )


def array(rng, n):
    """An array of numbers of some type, shape, layout and class."""
    N = rng.choice([None, None, None, 0, 1, 3, 9, 17])
    shape = (n,) if N is None else (N, n)
    if rng.random() < 0.1:
        shape = rng.choice([(), (n + 1,), (n, n, n), (N or 1, n, 1), (n - 1,)])
    kinds = ["f8"] * 6 + ["f4", "f2", "g", ">f8", "i8", "u1", "?", "O", "i2"]
    values = np.random.default_rng(rng.getrandbits(32)).normal(size=shape)
    made = np.asarray(values, dtype=rng.choice(kinds) if rng.random() < 0.5 else float)
    if made.dtype.kind == "f" and made.size and rng.random() < 0.1:
        made.flat[rng.randrange(made.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e4])
    layouts = [
        np.array,
        lambda x: np.array(x, order="F"),
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
        lambda x: x[..., ::-1] if x.ndim else x,
        lambda x: x.view(Subclass),
        lambda x: np.broadcast_to(x, x.shape),
        lambda x: x.tolist(),
        lambda x: (
            np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
            if x.dtype != object and x.size
            else x
        ),
    ]
    return rng.choice(layouts)(made)


def options(rng, name, n):
    if name not in ("inverse", "forward") or rng.random() < 0.6:
        return {}
    given = {}
    if rng.random() < 0.4:
        given["out"] = rng.choice([None, np.zeros(n), np.zeros((3, n)), thing(rng, n)])
    if rng.random() < 0.3:
        given["threads"] = rng.choice([None, 1, 2, 0, -1, 1.0, "x", np.int64(2), True])
    if rng.random() < 0.3:
        given["gravity"] = rng.choice([(0, 0, -1.6), [0.0] * 3, np.zeros((3, 3)), thing(rng, 3)])
    if rng.random() < 0.3:
        given["wrench"] = rng.choice([np.ones(6), [0.0] * 6, np.ones((3, 6)), thing(rng, 6)])
    if rng.random() < 0.2:
        load = Inertia.from_com(1.2, (0, 0, 0.1), np.zeros((3, 3)))
        given["payload"] = rng.choice([load, thing(rng, 10)])
    if rng.random() < 0.4:
        given["frame"] = rng.choice(["link_2", "endpoint", "nobody", "", None, 3, thing(rng, 3)])
    return given


def one(rng):
    arm, plain = rng.choice(arms())
    n, (name, count) = arm.robot.dof, rng.choice(list(METHODS.items()))
    alike = array(rng, n)
    arguments = [
        alike if rng.random() < 0.6 else (array if rng.random() < 0.7 else thing)(rng, n)
        for _ in range(count)
    ]
    given = options(rng, name, n)
    found, _ = bounded(lambda: getattr(arm, name)(*arguments, **given))
    given.pop("out", None)
    if found is REFUSED or any(type(a).__name__.endswith("iterator") for a in arguments):
        return found is not REFUSED
    expected, error = bounded(lambda: getattr(plain, name)(*arguments, **given))
    assert expected is not REFUSED, error
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for mine, right in ((np.asarray(a), b) for a, b in pairs):  # `out` may be of another class
        assert mine.shape == right.shape
        single = np.float32 in (mine.dtype, right.dtype)  # `out` may be more precise
        good = np.isfinite(right)
        scale = np.abs(right[good]).max(initial=1.0)
        bound = 1e-2 if single else ROUND_OFF
        assert np.abs(mine[good] - right[good]).max(initial=0.0) <= bound * scale, (mine, right)
    return True


if __name__ == "__main__":
    main("public API", one)
