"""Drivers of arms: what their public sources say, with file, commit and date of each fact.

A profile is data. `controllers_config` turns it into parameters, `driver_checks` into refusals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robot_dynamics.control.added_efforts import FRICTION, GRAVITY, VELOCITY_TERMS
from robot_dynamics.errors import check_known
from robot_dynamics.export.driver_profile import Driver, Fact
from robot_dynamics.robot.urdf.ros2_control import Hardware

EFFORT = ("effort",)
POSITION_EFFORT = ("position", "effort")
ALL = ("position", "velocity", "effort")
"""Command interfaces of a joint."""

_NO_PAYLOAD = "set the payload in the robot, not in the controller"

_UR = Driver(
    name="ur",
    arms="Universal Robots e-Series and newer",
    sources={
        "driver": "UniversalRobots/Universal_Robots_ROS2_Driver 696e1a7 (2026-07-23)",
        "msgs": "docs.ros.org/en/rolling/p/ur_msgs (read 2026-11-29)",
    },
    plugins=("ur_robot_driver/URPositionHardwareInterface",),
    rate=Fact(
        500.0,
        "driver: ur_robot_driver/config/ur5e_update_rate.yaml",
        "a CB3 arm (UR3, UR5, UR10) has 125 Hz: is yours one?",
    ),
    interfaces=Fact(
        EFFORT,
        "driver: ur_robot_driver/doc/usage/force_torque_control.rst",
        "has the robot PolyScope 5.25.1, or 10.12.1, or newer? Older ones take no torques",
    ),
    adds=Fact(
        (GRAVITY, FRICTION),
        "msgs: FrictionModelParameters",
        "are the friction scales the defaults, viscous 0.9 and Coulomb 0.8 (0.8 and 0.7 of the "
        "elbow)? With scales of 0 it adds no friction",
    ),
    effort_state=Fact(
        "current of the motor, A", "driver: ur_robot_driver/doc/usage/force_torque_control.rst"
    ),
    prefix=Fact("tf_prefix", "driver: ur_robot_driver/urdf/ur.urdf.xacro"),
    watchdog=Fact(
        "stops when commands are late by 0.04 s (robot_receive_timeout)",
        "driver: ur_robot_driver/urdf/ur.ros2_control.xacro",
    ),
    setup=(
        Fact(
            f"{_NO_PAYLOAD} (service set_payload), and the direction of gravity (set_gravity)",
            "driver: ur_controllers/doc/index.rst",
        ),
    ),
)

_FRANKA = Driver(
    name="franka",
    arms="Franka FR3 and FP3",
    sources={
        "driver": "frankarobotics/franka_ros2 43357d1 (2026-06-23)",
        "description": "frankarobotics/franka_description 566ba44 (2025-07-09)",
        "libfranka": "frankarobotics/libfranka 6474466 (2026-06-17)",
    },
    plugins=("franka_hardware/FrankaHardwareInterface",),
    rate=Fact(1000.0, "driver: franka_bringup/config/controllers.yaml"),
    interfaces=Fact(
        EFFORT, "driver: franka_hardware/ros2_control/franka_ros2_control_macros.xacro"
    ),
    adds=Fact((GRAVITY, FRICTION), "libfranka: docs/overview.rst"),
    effort_state=Fact(
        "torque of the link, N m", "driver: franka_hardware/src/franka_hardware_interface.cpp"
    ),
    namespace=Fact("", "driver: franka_bringup/launch/franka.launch.py", "is namespace:= set?"),
    prefix=Fact("arm_prefix", "description: robots/fr3/fr3.urdf.xacro"),
    left_out=Fact(r"finger_joint\d", "description: end_effectors/common/franka_end_effector.xacro"),
    effort_rate=Fact(990.0, "libfranka: include/franka/rate_limiting.h, 1000 N m/s"),
    watchdog=Fact(
        "stops after 20 lost packets in a row; an error leaves the hardware unconfigured",
        "libfranka: docs/overview.rst",
    ),
    setup=(
        Fact(
            f"{_NO_PAYLOAD} (Desk, or service set_load)",
            "driver: franka_hardware/src/franka_param_service_server.cpp",
        ),
    ),
)

_KUKA = Driver(
    name="kuka_fri",
    arms="KUKA LBR iiwa and Med by FRI",
    sources={"driver": "lbr-stack/lbr_fri_ros2_stack 218d723 (2024-10-23)"},
    plugins=("lbr_ros2_control::SystemInterface",),
    rate=Fact(
        100.0,
        "driver: lbr_ros2_control/config/lbr_controllers.yaml",
        "which send period has the FRI session? The rate may be up to 1 / period",
    ),
    interfaces=Fact(POSITION_EFFORT, "driver: lbr_fri_ros2/src/interfaces/torque_command.cpp"),
    adds=Fact(
        (GRAVITY, FRICTION),
        "driver: lbr_fri_ros2_stack",
        "gravity is by the pages of the product, friction is an assumption: with mode pd and zero "
        "gains, does the arm float, and does a push last?",
    ),
    effort_state=Fact(
        "measured torque, N m, low-pass of 10 Hz",
        "driver: lbr_description/ros2_control/lbr_system_config.yaml",
    ),
    namespace=Fact("lbr", "driver: lbr_bringup/lbr_bringup/ros2_control.py"),
    prefix=Fact("robot_name", "driver: lbr_description/urdf/iiwa7/iiwa7.xacro"),
    watchdog=Fact(
        "ends the session on an invalid command (command guard)",
        "driver: lbr_fri_ros2/src/command_guard.cpp",
        "what does the cabinet do when FRI packets stop?",
    ),
    setup=(
        Fact(
            "client_command_mode: torque, in lbr_system_config.yaml",
            "driver: lbr_description/ros2_control/lbr_system_config.yaml",
        ),
        Fact(
            "stiffness and damping 0 in the JointImpedanceControlMode of LBRServer",
            "driver: lbr_fri_ros2_stack",
            "is it so? Otherwise the cabinet adds a feedback of its own",
        ),
    ),
)

_FLEXIV = Driver(
    name="flexiv",
    arms="Flexiv Rizon",
    sources={
        "driver": "flexivrobotics/flexiv_ros2 9d96a86 (2024-01-25)",
        "rdk": "flexivrobotics/flexiv_rdk dca9a15 (2026-04-28)",
    },
    plugins=("flexiv_hardware/FlexivHardwareInterface",),
    rate=Fact(1000.0, "driver: flexiv_bringup/config/rizon_controllers.yaml"),
    interfaces=Fact(EFFORT, "driver: flexiv_description/urdf/rizon4.ros2_control.xacro"),
    adds=Fact(
        (GRAVITY, FRICTION, VELOCITY_TERMS),
        "driver: README.md; rdk include/flexiv/rdk/data.hpp",
        "velocity terms are by the RDK: does fast motion of the base joint drift without them?",
    ),
    effort_state=Fact("measured torque, N m", "rdk: include/flexiv/rdk/data.hpp"),
    prefix=Fact("prefix", "driver: flexiv_description/urdf/rizon.urdf.xacro"),
    watchdog=Fact(
        "sends nothing while a command is NaN",
        "driver: flexiv_hardware/src/flexiv_hardware_interface.cpp",
        "what does the robot do when commands stop?",
    ),
    setup=(
        Fact(
            f"{_NO_PAYLOAD}: torque mode compensates the bare robot only, and a tool sags",
            "driver: README.md",
            "does the tool of the robot's own software count in your version?",
        ),
    ),
)

_OPENARM = Driver(
    name="openarm",
    arms="OpenArm v10, one or two arms",
    sources={
        "driver": "enactic/openarm_ros2 73ef898 (2026-01-15)",
        "description": "enactic/openarm_description af6f035 (2025-07-23)",
    },
    plugins=("openarm_hardware/OpenArm_v10HW",),
    rate=Fact(100.0, "driver: openarm_bringup/config/v10_controllers/openarm_v10_controllers.yaml"),
    interfaces=Fact(ALL, "description: urdf/ros2_control/openarm.ros2_control.xacro"),
    adds=Fact((), "driver: openarm_hardware/src/v10_simple_hardware.cpp"),
    effort_state=Fact(
        "torque of the motor, N m", "driver: openarm_hardware/src/v10_simple_hardware.cpp"
    ),
    prefix=Fact("left_arm_prefix, right_arm_prefix", "description: urdf/robot/v10.urdf.xacro"),
    left_out=Fact(r"finger_joint\d", "description: urdf/ros2_control/openarm.ros2_control.xacro"),
    drive_kp=Fact(
        (70.0, 70.0, 70.0, 60.0, 10.0, 10.0, 10.0),
        "driver: openarm_hardware/include/openarm_hardware/v10_simple_hardware.hpp",
    ),
    drive_kd=Fact(
        (2.75, 2.5, 2.0, 2.0, 0.7, 0.6, 0.5),
        "driver: openarm_hardware/include/openarm_hardware/v10_simple_hardware.hpp",
    ),
    watchdog=Fact(
        "none found",
        "driver: openarm_hardware/src/v10_simple_hardware.cpp",
        "what do the motors do when commands stop?",
    ),
    setup=(
        Fact(
            "activation drives the arm to zero: put it there first",
            "driver: openarm_hardware/src/v10_simple_hardware.cpp",
        ),
    ),
)

_OPEN_MANIPULATOR = "ROBOTIS-GIT/open_manipulator 3fd6fa9 (2025-12-12)"

_OMY = Driver(
    name="omy",
    arms="ROBOTIS OMY-L100, and OMY-F3M with ros2_control_type:=omy_f3m_current",
    sources={
        "driver": f"{_OPEN_MANIPULATOR}, open_manipulator_description/ros2_control",
        "config": f"{_OPEN_MANIPULATOR}, open_manipulator_bringup/config",
        "urdf": f"{_OPEN_MANIPULATOR}, open_manipulator_description/urdf",
    },
    rate=Fact(
        300.0,
        "config: omy_l100_leader_ai/hardware_controller_manager.yaml",
        "OMY-F3M has 400 Hz: is yours one?",
    ),
    interfaces=Fact(
        EFFORT,
        "driver: omy_l100_current.ros2_control.xacro",
    ),
    adds=Fact(
        (),
        "driver: omy_l100_current.ros2_control.xacro",
        "nothing found: does the arm sink with commands of zero?",
    ),
    effort_state=Fact(
        "current, converted by the table of the motor",
        "driver: omy_l100_current.ros2_control.xacro",
        "are commanded and reported efforts N m? Hang a known mass on the arm",
    ),
    left_out=Fact(r"rh_\w+_joint", "urdf: omy_l100/omy_l100.urdf.xacro"),
    watchdog=Fact(
        "stops after 0.5 s without answers (error_timeout_ms)",
        "driver: omy_l100_current.ros2_control.xacro",
    ),
)

_YAM = Driver(
    name="yam",
    arms="I2RT YAM",
    sources={"driver": "i2rt-robotics/i2rt 5d47b35 (2026-07-20)"},
    bridge=True,
    rate=Fact(250.0, "driver: i2rt/motor_drivers/dm_driver.py"),
    interfaces=Fact(ALL, "driver: i2rt/motor_drivers/dm_driver.py"),
    adds=Fact(
        (),
        "driver: i2rt/motor_drivers/dm_driver.py",
        "does the bridge command the motor chain? The robot class adds gravity times 1 to 1.2",
    ),
    effort_state=Fact("torque of the motor, N m", "driver: i2rt/motor_drivers/dm_driver.py"),
    left_out=Fact(r"joint[78]", "driver: i2rt/robot_models/arm/yam/yam.urdf"),
    effort_limits=Fact(
        (28.0, 28.0, 28.0, 10.0, 10.0, 10.0),
        "driver: i2rt/motor_drivers/utils.py",
        "these are ranges of the commands of DM4340 and DM4310: what may the arm bear lastingly?",
    ),
    drive_kp=Fact((80.0, 80.0, 80.0, 10.0, 10.0, 10.0), "driver: i2rt/robots/config/yam.yml"),
    drive_kd=Fact((5.0, 5.0, 5.0, 1.5, 1.5, 1.5), "driver: i2rt/robots/config/yam.yml"),
    watchdog=Fact("damps after 0.4 s without commands", "driver: README.md"),
    setup=(
        Fact(
            "command set_commands of the motor chain: command_joint_state takes no torque",
            "driver: i2rt/robots/motor_chain_robot.py",
        ),
    ),
)

_PIPER = Driver(
    name="piper",
    arms="AgileX Piper",
    sources={
        "driver": "Reimagine-Robotics/piper_control 5e61fde (2026-04-10)",
        "sdk": "agilexrobotics/piper_sdk 1dadd60 (2026-02-09)",
        "description": "agilexrobotics/Piper_ros 4f22c61 (2024-09-18)",
    },
    bridge=True,
    rate=Fact(200.0, "driver: src/piper_control/piper_control.py"),
    interfaces=Fact(ALL, "sdk: piper_sdk/interface/piper_interface_v2.py"),
    adds=Fact(
        (),
        "driver: src/piper_control/piper_control.py",
        "nothing found: does the arm sink in MIT mode with kp 0 and a torque of 0?",
    ),
    effort_state=Fact("torque, N m", "driver: src/piper_control/piper_interface.py"),
    left_out=Fact(r"joint[78]", "description: src/piper_description/urdf/piper_description.urdf"),
    effort_limits=Fact(
        (10.0,) * 6,
        "driver: src/piper_control/piper_control.py",
        "the SDK takes 18 N m: what may the arm bear lastingly?",
    ),
    drive_kp=Fact(
        (5.0, 5.0, 5.0, 5.6, 20.0, 6.0),
        "driver: src/piper_control/scripts/run_gravity_compensation.py",
        "which gains does your bridge send with each command?",
    ),
    drive_kd=Fact(
        (0.8,) * 6,
        "driver: src/piper_control/scripts/run_gravity_compensation.py",
        "which gains does your bridge send with each command?",
    ),
    watchdog=Fact(
        "none found",
        "sdk: piper_sdk/interface/piper_interface_v2.py",
        "what does the arm do when commands stop?",
    ),
    setup=(
        Fact(
            "firmware before 1.7-3 turns the signs of joints 1, 2, 4 and 6 in MIT mode",
            "driver: src/piper_control/piper_control.py",
            "which firmware is it? Move every joint by a small torque first",
        ),
    ),
)

_Z1 = Driver(
    name="z1",
    arms="Unitree Z1",
    sources={
        "driver": "unitreerobotics/z1_sdk f1af2b4 (2024-10-29)",
        "ros": "unitreerobotics/z1_ros 40ee65e (2023-08-07)",
    },
    bridge=True,
    rate=Fact(500.0, "driver: include/unitree_arm_sdk/control/ctrlComponents.h"),
    interfaces=Fact(ALL, "driver: include/unitree_arm_sdk/message/LowlevelCmd.h"),
    adds=Fact(
        (),
        "driver: examples/lowcmd_development.cpp",
        "the example commands the whole torque: does the arm sink with torques of zero?",
    ),
    effort_state=Fact("torque, N m", "driver: include/unitree_arm_sdk/message/LowlevelState.h"),
    drive_kp=Fact(
        (512.0, 768.0, 768.0, 512.0, 384.0, 256.0),
        "driver: include/unitree_arm_sdk/message/LowlevelCmd.h",
        "the SDK's 20 to 30 times 25.6 N m/rad, by z1_ros doc/controller.md: what does a deflected "
        "joint feel?",
    ),
    drive_kd=Fact(
        (25.6,) * 6,
        "driver: include/unitree_arm_sdk/message/LowlevelCmd.h",
        "the SDK's 2000 times 0.0128 N m s/rad, by z1_ros doc/controller.md",
    ),
    watchdog=Fact(
        "none found",
        "driver: include/unitree_arm_sdk/control/unitreeArm.h",
        "what does the arm do when commands stop?",
    ),
)

_NO_EFFORT_STATE = "none"

_GEN3 = Driver(
    name="gen3",
    arms="Kinova Gen3 and Gen3 lite",
    sources={"driver": "Kinovarobotics/ros2_kortex 1fdbef3 (2026-04-03)"},
    plugins=("kortex_driver/KortexMultiInterfaceHardware",),
    rate=Fact(1000.0, "driver: kortex_description/arms/gen3/7dof/config/ros2_controllers.yaml"),
    interfaces=Fact(("position",), "driver: kortex_driver/src/hardware_interface.cpp"),
    adds=Fact((), "driver: kortex_driver/src/hardware_interface.cpp"),
    effort_state=Fact("torque, N m", "driver: kortex_driver/src/hardware_interface.cpp"),
    prefix=Fact("prefix", "driver: kortex_description/robots/kinova.urdf.xacro"),
)

_XARM = Driver(
    name="xarm",
    arms="UFACTORY xArm, Lite 6 and 850",
    sources={"driver": "xArm-Developer/xarm_ros2 3654ba7 (2024-11-05)"},
    plugins=("uf_robot_hardware/UFRobotSystemHardware",),
    rate=Fact(50.0, "driver: xarm_controller/config/xarm7_controllers.yaml"),
    interfaces=Fact(
        ("position", "velocity"), "driver: xarm_description/urdf/xarm7/xarm7.ros2_control.xacro"
    ),
    adds=Fact((), "driver: xarm_description/urdf/xarm7/xarm7.ros2_control.xacro"),
    effort_state=Fact(
        _NO_EFFORT_STATE, "driver: xarm_description/urdf/xarm7/xarm7.ros2_control.xacro"
    ),
    prefix=Fact("prefix", "driver: xarm_description/urdf/xarm_device.urdf.xacro"),
)

_DOOSAN = Driver(
    name="doosan",
    arms="Doosan A, E, H, M and P",
    sources={"driver": "DoosanRobotics/doosan-robot2 ec92425 (2026-03-24)"},
    plugins=("dsr_hardware2/DRHWInterface",),
    rate=Fact(100.0, "driver: dsr_controller2/config/dsr_controller2.yaml"),
    interfaces=Fact(
        ("position", "velocity"), "driver: dsr_description2/ros2_control/m1013.ros2_control.xacro"
    ),
    adds=Fact((), "driver: dsr_description2/ros2_control/m1013.ros2_control.xacro"),
    effort_state=Fact(
        _NO_EFFORT_STATE, "driver: dsr_description2/ros2_control/m1013.ros2_control.xacro"
    ),
)

DRIVERS: Mapping[str, Driver] = {
    one.name: one
    for one in (
        *(_UR, _FRANKA, _KUKA, _FLEXIV, _OPENARM, _OMY, _YAM, _PIPER, _Z1),
        *(_GEN3, _XARM, _DOOSAN),
    )
}
"""The known drivers by name."""


def driver_named(name: str) -> Driver:
    """Return a driver.

    Raises:
        UnknownNameError: If it is not known.
    """
    check_known("driver", name, "robot_dynamics", DRIVERS)
    return DRIVERS[name]


def recognized(hardware: Sequence[Hardware]) -> Driver | None:
    """Return the driver whose hardware component a URDF names, or None."""
    plugins = {one.plugin for one in hardware}
    return next((one for one in DRIVERS.values() if plugins & {*one.plugins}), None)
