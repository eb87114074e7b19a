"""Every URDF of example-robot-data: read, and its torques compared with Pinocchio's."""

import pytest

from oracles import (
    REFUSED_EXAMPLES,
    SINGULAR_EXAMPLES,
    all_example_urdfs,
    example_id,
    example_robot,
    example_urdfs,
    pin_model,
    relative_error,
    with_exact_right_angles,
)
from robot_dynamics.errors import UrdfError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot.urdf.reader import read_urdf
from strategies import random_state

# float64 on both sides, 101 joints at most: worst of 3 states of 67 robots 3e-15, once both take
# what is printed as 1.57079632679 for a right angle; 3e-11 where only we do
AGREEMENT = 1e-12
AS_PRINTED = 1e-9

pytestmark = pytest.mark.skipif(not all_example_urdfs(), reason="example-robot-data is missing")


@pytest.mark.parametrize("path", example_urdfs(), ids=example_id)
def test_torques_of_an_example_agree_with_pinocchio(path):
    robot = example_robot(path)
    for source, tolerance in [(path, AS_PRINTED), (with_exact_right_angles(path), AGREEMENT)]:
        oracle = pin_model(robot, source)
        for seed in range(3):
            q, qd, qdd = random_state(robot, seed)
            theirs = oracle.inverse(q, qd, qdd)
            assert relative_error(inverse_dynamics(robot, q, qd, qdd), theirs) < tolerance


REFUSALS = {
    # An empty shell that xacro left behind
    "ur3.urdf": ":6: robot: <robot> has no attribute 'name'; add it",
    # The joints are called Left_index_q1 and Right_index_q1
    "alex_psyonic_hands.urdf": (
        ":1037: joint 'Left_index_q2': mimicked joint 'index_q1' does not exist; "
        "did you mean 'Left_index_q1'?"
    ),
}


@pytest.mark.parametrize("name", sorted(REFUSED_EXAMPLES))
def test_a_faulty_example_is_refused_by_name(name):
    path = next(path for path in all_example_urdfs() if path.name == name)
    with pytest.raises(UrdfError) as error:
        read_urdf(path)
    assert str(error.value) == f"{path}{REFUSALS[name]}"


@pytest.mark.parametrize("name", sorted(SINGULAR_EXAMPLES))
def test_an_example_whose_hand_has_no_inertia_is_refused_by_joint(name):
    path = next(path for path in all_example_urdfs() if path.name == name)
    with pytest.raises(UrdfError, match="moves no inertia about its axis"):
        read_urdf(path)
