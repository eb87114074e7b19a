"""What trajectory_node says before it starts."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rclpy.parameter import Parameter

from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.trajectory_node import TrajectoryNode


def test_the_motion_of_a_file_needs_the_name_of_a_file(context):
    with pytest.raises(ArgumentError) as refusal:
        TrajectoryNode(context=context, parameter_overrides=[Parameter("motion", value="file")])
    assert str(refusal.value) == (
        "parameter 'motion' is 'file' but parameter 'file' is empty; give the path of a .yaml or "
        ".csv file in 'file'"
    )
