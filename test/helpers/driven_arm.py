"""An arm of equal links with a finger, and the <ros2_control> of a driver."""

STATES = ("position", "velocity", "effort")
BODY = """<inertial><origin xyz="{com} 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def urdf(plugin="", commands=("effort",), finger=(), effort=40.0, joints=2):
    """An arm with a finger, and a <ros2_control> with the given command interfaces.

    Args:
        plugin: Hardware component; empty for no <ros2_control>.
        commands: Command interfaces of the joints of the arm.
        finger: Those of the finger; None for no entry at all.
        effort: Effort limit of all joints, N m or N.
        joints: Number of joints of the arm.
    """
    parts, parent = ['<link name="base"/>'], "base"
    for k in range(1, joints + 1):
        parts.append(
            f'<link name="link{k}">{BODY.format(com=0.2 if k == 1 else 0.1)}</link>'
            f'<joint name="joint{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{k}"/><origin xyz="{0.4 if k > 1 else 0} 0 0"/><axis xyz="0 1 0"/>'
            f'<limit lower="-2" upper="2" velocity="2" effort="{effort}"/></joint>'
        )
        parent = f"link{k}"
    parts.append(
        f'<link name="tool"/><joint name="flange" type="fixed"><parent link="{parent}"/>'
        f'<child link="tool"/></joint><link name="finger">{BODY.format(com=0)}</link>'
        '<joint name="finger_joint1" type="prismatic"><parent link="tool"/><child link="finger"/>'
        f'<limit lower="0" upper="0.04" velocity="1" effort="{effort}"/></joint>'
    )
    if plugin:
        names = [f"joint{k}" for k in range(1, joints + 1)]
        offers = {**dict.fromkeys(names, commands), "finger_joint1": finger}
        rows = "".join(
            f'<joint name="{name}">'
            + "".join(f'<command_interface name="{kind}"/>' for kind in kinds)
            + "".join(f'<state_interface name="{kind}"/>' for kind in STATES)
            + "</joint>"
            for name, kinds in offers.items()
            if kinds is not None
        )
        parts.append(
            f'<ros2_control name="arm" type="system"><hardware><plugin>{plugin}</plugin>'
            f"</hardware>{rows}</ros2_control>"
        )
    return f'<robot name="arm">{"".join(parts)}</robot>'


def openarm(folder):
    """Write an arm with the hardware of an OpenArm to a folder, and return its path."""
    path = folder / "arm.urdf"
    path.write_text(
        urdf("openarm_hardware/OpenArm_v10HW", STATES, effort=1000.0, joints=7, finger=None)
    )
    return str(path)
