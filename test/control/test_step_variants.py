"""Native kernels, SIMD lanes and plain Python of the step decide and command the same."""

import pytest

from robot_dynamics.control import Status
from step_agreement import AGREE, ARMS, Agreement, Robot

NAMES = [ARMS[0], *(pytest.param(name, marks=pytest.mark.thorough) for name in ARMS[1:])]
ROUND_OFF = 1e-3  # largest share of cycles with a comparison within round-off of its threshold


@pytest.fixture(scope="module", params=NAMES)
def robot(request):
    return Robot(request.param)


@pytest.mark.thorough
def test_simd_lanes_step_as_native_kernels_do(robot):
    agreement = Agreement(robot)
    found = agreement.run(range(16), 1500)["lanes"]
    assert not found.faults, found.faults[:5]
    assert found.effort < AGREE and found.round_off <= ROUND_OFF * found.cycles
    assert agreement.statuses >= {Status.RESUMED, Status.TRACKING, Status.STOPPED}
    assert len(agreement.causes) > 2, "and causes"


def test_plain_python_steps_as_native_kernels_do(robot):
    found = Agreement(robot, ("plain",)).run(range(2), 150)["plain"]
    assert not found.faults, found.faults[:5]
    assert found.effort < AGREE and found.round_off <= ROUND_OFF * found.cycles
