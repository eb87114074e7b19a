"""An arm, and the array libraries that tests of several libraries ask for by name."""

import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_urdf(find_robot("planar_2r")))


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")
