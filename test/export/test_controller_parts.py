"""Parts of an exported controller: the exchange between threads, and limits of gains."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.control.sampling.stability import stability_limit

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None, reason="g++ compiles the exported code; install it"
)

RUNNER = Path(__file__).with_name("parts_runner.cpp")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")

ROUND_OFF = 1e-10
"""Relative difference: the same bisection in another order of sums; worst of 3000: 4e-14."""


def built(folder, *options):
    for name in ("exchange.hpp", "gain_limits.hpp", "gain_limits.cpp"):
        text = (files("robot_dynamics.export") / "package" / "src" / name).read_text()
        (folder / name).write_text(text.replace("@package@", "pkg"))
    program = folder / "parts"
    command = ["g++", "-std=c++17", "-O1", *WARNINGS, *options, "-I.", RUNNER, "gain_limits.cpp"]
    subprocess.run([*command, "-o", program, "-pthread"], cwd=folder, check=True)
    return program


def test_an_exchange_gives_whole_values_in_their_order(tmp_path):
    done = subprocess.run([built(tmp_path, "-fsanitize=thread")], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_stability_limits_equal_those_of_the_nodes(tmp_path):
    rng = np.random.default_rng(1)
    period = 10.0 ** rng.uniform(-4.0, -1.5, 300)
    delay = period * rng.uniform(0.0, 3.0, 300) + 1e-3 * rng.integers(0, 2, 300)
    rows = np.column_stack([rng.uniform(0.0, 300.0, 300), period, delay])
    asked = "\n".join(" ".join(map(repr, row)) for row in rows.tolist())
    done = subprocess.run(
        [built(tmp_path), "limits"], input=asked, capture_output=True, text=True, check=True
    )
    limits = np.array(done.stdout.split(), dtype=float)
    expected = np.array([stability_limit(*row) for row in rows.tolist()])
    assert (expected == 0.0).any() and (expected > 0.0).any()
    np.testing.assert_allclose(limits, expected, rtol=ROUND_OFF)
