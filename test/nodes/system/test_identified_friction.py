"""An arm with friction, and nodes that have it from the file that identification writes."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from arm_system import (
    BANDWIDTH,
    FAR,
    NAMES,
    RATE,
    START,
    ArmSystem,
    series,
)
from robot_dynamics import read_urdf
from robot_dynamics.control.friction import Friction
from robot_dynamics.identification.effort_bands import EffortBands
from robot_dynamics.identification.export.parameter_file import Drives, write_parameters
from robot_dynamics.robot import find_robot
from ros_system import wait_for

pytestmark = pytest.mark.thorough

VISCOUS, COULOMB = 2.0, 3.0  # N m s/rad, N m


@pytest.fixture
def arm(start, peer, tmp_path):
    text = find_robot("planar_2r").read_text()
    dynamics = f'<dynamics damping="{VISCOUS}" friction="{COULOMB}"/>'
    for effort in ("500", "200"):
        limit = f'effort="{effort}"/>'
        assert text.count(limit) == 1
        text = text.replace(limit, limit + dynamics)
    (tmp_path / "rough.urdf").write_text(text)
    bands = EffortBands.of_parameters(("base", "other"), np.eye(2), np.full(2, 0.02), 3.0)
    drives = Drives(Friction(np.full(2, VISCOUS), np.full(2, COULOMB)), np.zeros(2), bands)
    write_parameters(tmp_path / "drives.yaml", read_urdf(find_robot("planar_2r")), drives)
    own = {
        "simulator": {
            "urdf_path": str(tmp_path / "rough.urdf"),
            "initial_positions": START.tolist(),
        },
        "controller": {"bandwidth": BANDWIDTH},
    }
    file = ["--params-file", str(tmp_path / "drives.yaml")]
    common = {"rate": RATE, "urdf_path": "planar_2r"}
    files = {"feedforward": file, "controller": file}
    return ArmSystem(start, peer, common, own, files)


def tracking_error(arm):
    """RMS distance of the arm from its reference on the way there and back, rad."""
    begin = len(arm.references), len(arm.states)
    arm.send(NAMES, (1.0, FAR), (2.0, START))
    wait_for(arm.follows, "a motion")
    wait_for(lambda: not arm.follows(), "its end")
    (t, q_d), (times, q) = (
        series(messages[since:], "position")
        for messages, since in zip((arm.references, arm.states), begin, strict=True)
    )
    between = (times > t[0]) & (times < t[-1])
    desired = np.column_stack([np.interp(times[between], t, column) for column in q_d.T])
    error = np.sqrt(np.mean((q[between] - desired) ** 2))
    print(f"RMS {1e3 * error:.3f} mrad")
    return error


def test_an_arm_with_friction_tracks_by_the_file_that_identification_writes(arm, peer):
    for node in ("feedforward_node", "controller_node"):
        assert peer.get_parameter(node, "friction.joint_1.coulomb") == COULOMB
        assert peer.get_parameter(node, "friction.joint_2.viscous") == VISCOUS
    assert peer.get_parameter("controller_node", "bands.joint_1.slow_speed") == 0.02
    assert peer.set_parameter("feedforward_node", "compensate_friction", True).successful
    known = tracking_error(arm)
    assert peer.set_parameter("feedforward_node", "compensate_friction", False).successful
    assert known < 0.1 * tracking_error(arm)  # it is a sixtieth
