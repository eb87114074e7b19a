"""Subchains of a robot: the same joints without the other branches."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from oracles import pin_model, relative_error
from robot_dynamics.errors import RobotError, UnknownNameError
from robot_dynamics.formulations import inverse_dynamics
from robot_dynamics.robot.kinematic_tree import Frame, Joint, JointType, Link, Mimic
from robot_dynamics.robot.robot import Robot
from robot_dynamics.spatial import Inertia, Pose

# float64 on both sides: worst of 1000 random trees 3e-12; one wrong sign gives 1e-1
ROUND_OFF = 1e-10


def assert_same_torques(ours, theirs):
    assert relative_error(ours, theirs) < ROUND_OFF


def chain_of(axes, **joint):
    """Links l0, l1, ... with a joint j1, j2, ... about each axis, one metre apart along x."""
    body = Inertia.from_com(1.0, (0.5, 0.1, 0.0), np.diag([0.01, 0.02, 0.02]))
    joints = tuple(
        Joint(
            f"j{k}",
            JointType.REVOLUTE,
            f"l{k - 1}",
            f"l{k}",
            Pose(Rotation.from_euler("xyz", [0.1 * k, 0.2, -0.3]).as_matrix(), (1.0, 0.0, 0.0)),
            axis=axis,
        )
        for k, axis in enumerate(axes, start=1)
    )
    links = tuple(Link(f"l{k}", body) for k in range(len(axes) + 1))
    return Robot("chain", links, joints)


X, Y, Z = np.eye(3)


def test_the_upper_part_of_a_chain_has_the_torques_that_it_had():
    whole = chain_of((Z, Y, X, Y, Z))
    part = whole.subchain("l2", "l5")
    assert part.joint_names == ("j3", "j4", "j5")
    assert [link.name for link in part.links] == ["l2", "l3", "l4", "l5"]
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 5))
    q[:2] = qd[:2] = qdd[:2] = 0.0  # the joints below the base stand at zero
    theirs = pin_model(whole).inverse(q, qd, qdd)[2:]
    assert_same_torques(inverse_dynamics(part, q[2:], qd[2:], qdd[2:]), theirs)


def test_a_chain_ends_at_its_tip_and_leaves_the_rest_behind():
    part = chain_of((Z, Y, X)).subchain("l0", "l2")
    assert [link.name for link in part.links] == ["l0", "l1", "l2"]


def with_branch(moves):
    """A chain of three with a branch on l1: the link "camera"."""
    robot = chain_of((Z, Y, X))
    kind = JointType.REVOLUTE if moves else JointType.FIXED
    pan = Joint("pan", kind, "l1", "camera", Pose(np.eye(3), (0.0, 0.3, 0.1)), axis=Z)
    links = (*robot.links, Link("camera", Inertia.from_com(0.5, (0, 0, 0.1), 0.01 * np.eye(3))))
    return Robot(
        "arm", links, (*robot.joints, pan), frames={"lens": Frame("camera", Pose.identity())}
    )


def test_a_branch_that_moves_is_left_out():
    part = with_branch(moves=True).subchain("l0", "l3")
    assert part.joint_names == ("j1", "j2", "j3")
    assert part.frame_names == ("l0", "l1", "l2", "l3")


def test_what_is_fixed_to_the_way_stays_and_loads_it():
    robot = with_branch(moves=False)
    part = robot.subchain("l0", "l3")
    assert "lens" in part.frame_names
    state = np.random.default_rng(1).normal(size=(3, 3))
    assert_same_torques(inverse_dynamics(part, *state), inverse_dynamics(robot, *state))


def test_a_branch_keeps_its_mass_when_it_is_locked_first():
    robot = with_branch(moves=True)
    part = robot.with_locked({"pan": 0.4}).subchain("l0", "l3")
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 4))
    q[3], qd[3], qdd[3] = 0.4, 0.0, 0.0
    theirs = inverse_dynamics(robot, q, qd, qdd)[:3]
    assert_same_torques(inverse_dynamics(part, q[:3], qd[:3], qdd[:3]), theirs)


def test_what_is_fixed_to_the_tip_is_left_out():
    part = with_branch(moves=False).subchain("l0", "l1")
    assert part.frame_names == ("l0", "l1")


def test_a_follower_between_base_and_tip_keeps_its_leader():
    robot = chain_of((Z, Y, X))
    joints = (robot.joints[0], robot.joints[1], replace_mimic(robot.joints[2], Mimic("j2", 2.0)))
    part = Robot("arm", robot.links, joints).subchain("l1", "l3")
    assert part.joint_names == ("j2",)


def replace_mimic(joint, mimic):
    return Joint(
        joint.name, joint.type, joint.parent, joint.child, joint.origin, joint.axis, mimic=mimic
    )


def test_gravity_in_a_sub_chain_counts_the_offset_of_a_follower_below():
    robot = chain_of((Z, Y, X))
    joints = (robot.joints[0], replace_mimic(robot.joints[1], Mimic("j1", 2.0, 0.7)))
    whole = Robot("arm", robot.links, (*joints, robot.joints[2]))
    part = whole.subchain("l2", "l3")
    q, rest = np.array([0.0, 0.3]), np.zeros(2)
    theirs = pin_model(whole).inverse(q, rest, rest)[1:]
    assert_same_torques(inverse_dynamics(part, q[1:], rest[1:], rest[1:]), theirs)


def leader_below():
    robot = chain_of((Z, Y, X))
    joints = (*robot.joints[:2], replace_mimic(robot.joints[2], Mimic("j1")))
    return Robot("arm", robot.links, joints)


@pytest.mark.parametrize(
    ("robot", "base", "tip", "error", "message"),
    [
        (
            chain_of((Z, Y)),
            "l2",
            "l1",
            RobotError,
            "link 'l2' does not carry link 'l1' in robot 'chain' (the way to 'l1': l0, l1); "
            "choose a base on that way",
        ),
        (
            chain_of((Z, Y)),
            "l1",
            "l1",
            RobotError,
            "link 'l1' does not carry link 'l1' in robot 'chain' (the way to 'l1': l0, l1); "
            "choose a base on that way",
        ),
        (
            with_branch(moves=True),
            "l2",
            "camera",
            RobotError,
            "link 'l2' does not carry link 'camera' in robot 'arm' (the way to 'camera': l0, l1, "
            "camera); choose a base on that way",
        ),
        (
            chain_of((Z, Y)),
            "l0",
            "l9",
            UnknownNameError,
            "no link 'l9' in robot 'chain' (links: l0, l1, l2)",
        ),
        (
            leader_below(),
            "l1",
            "l3",
            RobotError,
            "joint 'j3' follows 'j1', which is not between 'l1' and 'l3'; lock 'j1' first",
        ),
    ],
)
def test_a_chain_that_is_not_there_is_refused(robot, base, tip, error, message):
    with pytest.raises(error) as caught:
        robot.subchain(base, tip)
    assert str(caught.value) == message
