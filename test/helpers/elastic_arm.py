"""Arms with elastic joints, and the same arms in MuJoCo: a motor and a spring beside each link."""

from __future__ import annotations

import mujoco
import numpy as np
from lxml import etree

from robot_dynamics.robot import find_robot, read_urdf
from robot_dynamics.robot.catalogue import urdf_text

ROTORS = {"ur5": (1.1, 1.1, 0.9, 0.2, 0.2, 0.2), "panda": (0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.2)}
"""Plausible rotor inertias at the joints, kg m^2."""

FINGER = 0.02

DISC = """
<robot name="disc"><link name="base"/>
<link name="disc"><inertial><mass value="2"/>
<inertia ixx="0.3" iyy="0.3" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
</joint></robot>
"""
"""A disc of 0.5 kg m^2 about a vertical axis."""


def arm_of(name):
    """The arm with the fingers of the Panda open by 2 cm."""
    robot = read_urdf(find_robot(name))
    return robot.with_locked({"panda_finger_joint1": FINGER}) if name == "panda" else robot


def elastic(name, stiffness, damping=0.0):
    """The arm with springs of one stiffness, and its rotor inertias."""
    arm, rotors = arm_of(name), np.array(ROTORS[name])
    return arm.with_joint_elasticity(stiffness, damping), rotors


def without_meshes(text):
    """The URDF for MuJoCo, with fixed fingers."""
    root = etree.fromstring(text.encode())
    for element in list(root.iter("visual", "collision", "mimic", "transmission", "gazebo")):
        element.getparent().remove(element)
    for joint in root.iter("joint"):
        if "finger_joint" in joint.get("name"):
            joint.set("type", "fixed")
            origin = joint.find("origin")
            at = np.array([float(v) for v in origin.get("xyz").split()])
            at += FINGER * np.array([float(v) for v in joint.find("axis").get("xyz").split()])
            origin.set("xyz", " ".join(map(repr, at.tolist())))
    root.append(
        etree.fromstring(
            '<mujoco><compiler fusestatic="true" discardvisual="true" '
            'balanceinertia="false"/></mujoco>'
        )
    )
    return etree.tostring(root).decode()


def two_mass_model(name, robot, rotors):
    """The MuJoCo model: bodies of motors in the world, each with a tendon to its joint."""
    spec = mujoco.MjSpec.from_string(without_meshes(urdf_text(name)))
    springs = robot.joint_elasticity
    for i, joint in enumerate(robot.joint_names):
        body = spec.worldbody.add_body(name=f"motor {joint}", pos=[0.0, 0.0, 5.0])
        body.mass, body.inertia, body.explicitinertial = 1.0, [rotors[i]] * 3, True
        body.add_joint(name=f"motor {joint}", axis=[0.0, 0.0, 1.0])
        tendon = spec.add_tendon(name=f"spring {joint}")
        tendon.wrap_joint(f"motor {joint}", 1.0)
        tendon.wrap_joint(joint, -1.0)
    model = spec.compile()
    for i, joint in enumerate(robot.joint_names):
        tendon = model.tendon(f"spring {joint}").id
        model.tendon_stiffness[tendon] = springs.stiffness[i]
        model.tendon_damping[tendon] = springs.damping[i]
    model.tendon_lengthspring[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    return model


def addresses(model, robot):
    """Indices into qpos of the links and of the motors, in the order of the robot's joints."""
    links = [model.joint(name).qposadr[0] for name in robot.joint_names]
    motors = [model.joint(f"motor {name}").qposadr[0] for name in robot.joint_names]
    return links, motors
