"""Wirings of the package that fit the hardware of a URDF."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.export.driver_checks import joints_left_out
from robot_dynamics.export.driver_profile import Driver
from robot_dynamics.robot.urdf.ros2_control import Hardware, Interfaces, offered


def wirings(
    joints: Sequence[str], hardware: Sequence[Hardware], driver: Driver | None
) -> list[str]:
    """Describe the wirings that fit, docs/ros2-control.md; empty without <ros2_control>.

    Args:
        joints: Joints of the robot.
        hardware: Hardware of its URDF.
        driver: Its driver, if it is known.
    """
    known = offered(hardware)
    if not known:
        return []
    out = joints_left_out(joints, hardware, driver)
    arm = [known.get(name, Interfaces((), ())) for name in joints if name not in out]
    found = []
    if arm and all({"position", "velocity"} <= {*one.state} for one in arm):
        found += _of_efforts(arm, driver)
    if not found:
        found.append("none that commands efforts; joint_trajectory_with_effort for studies")
    if all("effort" in one.state for one in arm):
        meaning = "" if driver is None else f": {driver.effort_state.value}"
        found.append(f"identify, by the efforts that it reports{meaning}")
    return found


def _of_efforts(arm: Sequence[Interfaces], driver: Driver | None) -> list[str]:
    """Describe those of an arm that reports positions and velocities."""
    common = set.intersection(*({*one.command} for one in arm))
    choices = [("effort",), ("position", "effort")]
    if driver is not None:
        choices = [driver.interfaces.value]
    fitting = [kinds for kinds in choices if "effort" in kinds and {*kinds} <= common]
    drive = ", feedback: drive" if driver is not None and driver.closes_loop else ""
    found = [
        f"model controller, command_interfaces: [{', '.join(kinds)}]{drive}" for kinds in fitting
    ]
    if ("effort",) in fitting:
        found.append("joint_trajectory_controller with efforts of joint_trajectory_with_effort")
    return found
