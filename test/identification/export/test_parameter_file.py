"""Parameter files of identified drives, from anyone."""

import pytest

from robot_dynamics import read_urdf
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.export.parameter_file import read_parameters
from robot_dynamics.robot import find_robot


@pytest.mark.parametrize(
    "friction", ["{joint_1: ab}", "{joint_1: [a]}", "{joint_1: 3}", "[1, 2]", "text"]
)
def test_what_is_no_parameter_file_is_refused_in_one_line(tmp_path, friction):
    path = tmp_path / "drives.yaml"
    path.write_text(f"/**: {{ros__parameters: {{friction: {friction}}}}}\n")
    with pytest.raises(RecordingError, match="is no parameter file of identified drives; give"):
        read_parameters(path, read_urdf(find_robot("planar_2r")))
