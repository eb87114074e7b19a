"""model.hpp: what the controller compares with a robot_description."""

import re

from robot_dynamics import read_urdf
from robot_dynamics.export.model_header import model_hpp

MOMENTS = 'ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"'
BODY = f'<inertial><mass value="{{}}"/><inertia {MOMENTS}/></inertial>'

ARM = f"""<robot name="arm">
  <link name="base">{BODY.format(5)}</link>
  <link name="upper">{BODY.format(3)}</link>
  <link name="plate">{BODY.format(1)}</link>
  <link name="camera"/>
  <link name="tip"/>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 0 2"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="screws" type="fixed"><parent link="upper"/><child link="plate"/></joint>
  <joint name="clamp" type="fixed"><parent link="plate"/><child link="camera"/></joint>
  <joint name="end" type="fixed"><parent link="plate"/><child link="tip"/></joint>
</robot>"""


def names(text, array):
    """Names in the first column of an array of model.hpp."""
    body = re.search(rf"> {array} = {{{{\n(.*?)\n}}}};", text, re.DOTALL).group(1)
    return re.findall(r'^  {"([^"]*)"', body, re.MULTILINE)


def test_only_what_a_joint_moves_or_a_mass_needs_is_compared():
    text = model_hpp("pkg", read_urdf(ARM), None, "export arm")
    assert names(text, "LINKS") == ["upper", "plate"]
    assert names(text, "TREE") == ["turn", "screws"]


def test_the_frame_of_the_payload_is_compared():
    assert names(model_hpp("pkg", read_urdf(ARM), "tip", "export arm"), "TREE")[-1] == "end"


def test_names_and_command_are_literals():
    robot = read_urdf(ARM.replace('"turn"', '"tu&quot;; rn*/"'))
    text = model_hpp("pkg", robot, None, 'export "arm"\n')
    assert r'{"tu\042; rn*/", "revolute", "base", "upper",' in text
    assert r'EXPORT_COMMAND = "export \042arm\042\012";' in text
