"""A small study for the tests of this folder."""

import pytest

from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.study import StudyPlan, distribution_of


@pytest.fixture(scope="session")
def planar():
    return read_urdf(find_robot("planar_2r"))


@pytest.fixture
def plan(planar):
    """600 short runs, two chunks of each of two modes."""
    vary = {
        "mass_error": distribution_of("mass_error", "20%", symmetric=True),
        "payload": distribution_of("payload", "0..2"),
        "delay": distribution_of("delay", "0..5ms"),
        "noise": distribution_of("noise", "1e-4"),
    }
    modes = ("feedforward", "computed_torque")
    return StudyPlan(planar, runs=600, vary=vary, modes=modes, duration=0.5)


@pytest.fixture
def same():
    def compare(a, b):
        assert list(a.columns) == list(b.columns)
        for name, values in a.columns.items():
            assert values.tobytes() == b.columns[name].tobytes(), name

    return compare
