"""A parallelogram linkage written with mimic joints, beside the closed loop that MuJoCo solves."""

import numpy as np
import pytest

from oracles import relative_error
from robot_dynamics import Dynamics, read_urdf

ROUND_OFF = 1e-9  # float64 on both sides; a coupling with the wrong sign gives 1e-1

BODIES = {  # mass and mass centre along z and x of each link of a palletiser, kg and m
    "upper": (4.0, 0.02, 0.25),
    "forearm": (3.0, 0.3, 0.01),
    "rod": (1.0, 0.0, 0.25),
    "bracket": (0.7, -0.1, 0.05),
}

# The rod stands 0.2 m behind the upper arm, as long as it, and holds the bracket at its tip level
URDF_JOINTS = """
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
  <axis xyz="0 1 0"/>LIMIT</joint>
<joint name="level" type="revolute"><parent link="upper"/><child link="bracket"/>
  <origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>LIMIT<mimic joint="shoulder" multiplier="-1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="forearm"/>
  <origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>LIMIT</joint>
<joint name="drive" type="revolute"><parent link="base"/><child link="rod"/>
  <origin xyz="-0.2 0 0"/><axis xyz="0 1 0"/>LIMIT<mimic joint="shoulder"/></joint>
"""


def palletiser():
    """The tree, with the loop as two mimic tags."""
    limit = '<limit lower="-1" upper="1" velocity="1" effort="99"/>'
    links = "".join(
        f'<link name="{name}"><inertial><origin xyz="{x} 0 {z}"/><mass value="{m}"/>'
        f'<inertia ixx="{m / 50}" iyy="{m / 40}" izz="{m / 60}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
        for name, (m, x, z) in BODIES.items()
    )
    joints = URDF_JOINTS.replace("LIMIT", limit)
    return f'<robot name="palletiser"><link name="base"/>{links}{joints}</robot>'


def closed_loop():
    """The same links in MuJoCo: four joints, and the tip of the rod connected to the bracket."""

    def body(name, pos, inside=""):
        m, x, z = BODIES[name]
        return (
            f'<body name="{name}" pos="{pos}"><joint name="{name}" axis="0 1 0"/>'
            f'<inertial pos="{x} 0 {z}" mass="{m}" diaginertia="{m / 50} {m / 40} {m / 60}"/>'
            f"{inside}</body>"
        )

    carried = body("bracket", "0 0 0.5") + body("forearm", "0 0 0.5")
    return (
        "<mujoco><worldbody>"
        + body("upper", "0 0 0", carried)
        + body("rod", "-0.2 0 0")
        + '</worldbody><equality><connect body1="rod" body2="bracket" anchor="0 0 0.5"/></equality>'
        "</mujoco>"
    )


def test_efforts_of_a_parallelogram_agree_with_equality_constraints():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    arm = Dynamics(read_urdf(palletiser()))
    assert arm.robot.joint_names == ("shoulder", "elbow")
    model = mujoco.MjModel.from_xml_string(closed_loop())
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    order = [model.joint(name).dofadr[0] for name in ("upper", "bracket", "forearm", "rod")]
    E = np.zeros((4, 2))  # of the loop: shoulder and elbow to all joints of MuJoCo
    E[order] = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    motors = np.zeros((4, 2))
    motors[order[0], 0] = motors[order[2], 1] = 1.0
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 2))
        data.qpos[:], data.qvel[:] = E @ q, E @ qd
        mujoco.mj_forward(model, data)
        J = data.efc_J.reshape(-1, 4)[: data.ne]
        assert np.max(np.abs(J @ E)) < 1e-12  # the motion keeps the loop closed
        needed = np.zeros(4)
        mujoco.mj_mulM(model, data, needed, E @ qdd)
        needed += data.qfrc_bias
        # Efforts of both motors and forces of the constraint that give this motion
        both = np.hstack([motors, J.T])
        solved = np.linalg.lstsq(both, needed, rcond=None)[0]
        assert relative_error(both @ solved, needed) < ROUND_OFF
        assert relative_error(arm.inverse(q, qd, qdd), solved[:2]) < ROUND_OFF
