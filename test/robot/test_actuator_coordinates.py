"""Positions of actuators from joint positions: offsets, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.errors import RobotError, ShapeError
from robot_dynamics.papers.book_arms import planar_two_link
from robot_dynamics.robot.actuator_coordinates import LinearCoordinates, transmission_coordinates
from robot_dynamics.robot.urdf.transmissions import Transmission

PLANAR = json.loads((Path(__file__).parents[1] / "data" / "planar_two_link.json").read_text())


def planar():
    return planar_two_link(**PLANAR["arm"])


def test_transmission_offset_moves_the_zero_of_the_actuator():
    box = Transmission("gear", ("joint2",), ("motor",), [[20.0]], [0.5])
    coordinates = transmission_coordinates(planar(), [box])
    assert coordinates.names == ("joint1", "motor")
    assert coordinates.positions(np.array([0.1, 0.7])) == pytest.approx([0.1, 20.0 * 0.2])


def test_transmission_of_a_locked_joint_is_left_out_with_a_warning(caplog):
    box = Transmission("spare", ("joint9",), ("motor",), [[20.0]], [0.0])
    coordinates = transmission_coordinates(planar(), [box])
    assert np.array_equal(coordinates.matrix, np.eye(2))
    assert caplog.messages == [
        "transmission 'spare' is left out: joint 'joint9' is not an independent joint of robot "
        "'planar'"
    ]


def test_joint_with_two_transmissions_is_refused():
    boxes = [Transmission(name, ("joint2",), ("m",), [[2.0]], [0.0]) for name in ("one", "two")]
    with pytest.raises(RobotError) as error:
        transmission_coordinates(planar(), boxes)
    assert str(error.value) == (
        "joint 'joint2' of robot 'planar' is driven by transmissions 'one' and 'two'; leave one out"
    )


def test_matrix_of_the_wrong_shape_is_refused():
    with pytest.raises(ShapeError, match=r"matrix must have shape \(2, 2\), got \(2, 3\)"):
        LinearCoordinates("mixed", ("a", "b"), np.zeros((2, 3)), np.zeros(2))
