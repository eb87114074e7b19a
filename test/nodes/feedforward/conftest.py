"""One feedforward process, and a client of its action, which need rclpy."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def action():
    """The types of the action."""
    return pytest.importorskip(
        "control_msgs.action",
        reason="control_msgs is neither installed nor built (make test builds it)",
    ).FollowJointTrajectory


@pytest.fixture(scope="module")
def echoing_arm(peer):
    from action_client import PERIOD, EchoingArm
    from ros_system import SteppedClock

    return EchoingArm(peer, clock=SteppedClock(peer, PERIOD))


@pytest.fixture
def arm(echoing_arm):
    """The arm, which follows without error again after every test."""
    yield echoing_arm
    echoing_arm.error, echoing_arm.talking = np.zeros(2), True


@pytest.fixture(scope="module")
def node(action, start_for_module, echoing_arm):
    from action_client import NODE

    parameters = {
        "urdf_path": "planar_2r",
        "rate": 100.0,
        "action_monitor_rate": 50.0,
        "use_sim_time": True,
    }
    node = start_for_module(NODE, parameters)
    node.wait_for_log("ready for trajectories")
    return node


@pytest.fixture(scope="module")
def client(node, peer, action):
    from action_client import ACTION, Client

    return Client(peer, action, ACTION)
