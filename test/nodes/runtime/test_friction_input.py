"""Friction that follows monitor_node: faulty scales are refused, and others act without a step."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.runtime.friction_input import ScaleReader
from robot_dynamics.robot import find_robot, read_urdf
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
NAMES = ROBOT.joint_names


def scales(dry=(1.0, 1.0), viscous=(1.0, 1.0), names=NAMES):
    return JointState(name=list(names), position=list(dry), velocity=list(viscous))


FIRST, SECOND = NAMES
WRONG = {
    "no number": (
        scales(dry=(np.nan, 1.0)),
        f"friction_scale: position of joint '{FIRST}' is nan",
    ),
    "a foreign joint": (
        scales(names=(FIRST, "knee")),
        "friction_scale: this robot has no joint 'knee'",
    ),
    "a joint twice": (scales(names=(FIRST, FIRST)), f"friction_scale: joint '{FIRST}'"),
    "a missing joint": (
        scales((1.0,), (1.0,), (FIRST,)),
        f"friction_scale: joint '{SECOND}' is missing",
    ),
    "dry parts only": (
        scales(viscous=()),
        "friction_scale: velocity has 0 entries for 2 names; give one per name",
    ),
    "a scale that no tracker gives": (
        scales(viscous=(1.0, 40.0)),
        f"friction_scale: viscous friction of joint '{SECOND}' is 40 times that of the model, "
        "not 0.3 to 3",
    ),
    "a negative one": (
        scales(dry=(-1.0, 1.0)),
        f"friction_scale: dry friction of joint '{FIRST}' is -1 times that of the model, "
        "not 0.3 to 3",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_faulty_scale_is_refused_in_one_line(what):
    msg, line = WRONG[what]
    with pytest.raises(RobotDynamicsError) as error:
        ScaleReader(NAMES).scale(msg, ["/monitor_node"])
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_scales_come_in_any_order_from_one_publisher():
    reader = ScaleReader(NAMES)
    found = reader.scale(scales((0.5, 0.6), (0.7, 0.8), (SECOND, FIRST)), ["/monitor_node"])
    np.testing.assert_array_equal(found, [[0.6, 0.8], [0.5, 0.7]])
    with pytest.raises(RobotDynamicsError) as error:
        reader.scale(scales(), ["/a", "/b"])
    assert str(error.value) == "friction_scale: /a and /b publish it; stop all but one"
