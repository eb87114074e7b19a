"""Any node is killed with -9 and started again: the others hold, and go on by themselves."""

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")


from arm_system import (
    AT_REST,
    EFFORT_RATE,
    FAR,
    LIMITS,
    NAMES,
    SLACK,
    START,
    fastest_effort,
    series,
    shaken_arm,
)
from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.robot import find_robot
from ros_system import wait_for

ROBOT = read_urdf(find_robot("planar_2r"))
DYNAMICS = Dynamics(ROBOT)


@pytest.fixture(scope="module")
def running(start_for_module, peer):
    # The controller goes on once a node subscribes: only the simulator, whose brakes it opens
    common = {"urdf_path": "planar_2r"}
    return shaken_arm(start_for_module, peer, common, LIMITS, commands=False)


@pytest.fixture
def arm(running):
    """The three nodes, the arm at rest at START."""
    running.goes_to(NAMES, START, AT_REST)
    return running


def moves(arm):
    """Send the arm from START to FAR and wait until it is on its way."""
    arm.send(NAMES, (1.5, FAR))
    wait_for(lambda: abs(arm.states[-1].position[0] - START[0]) > 0.15, "motion")


def deepest(states, between):
    """Return the distance of the arm from the box between two positions, rad."""
    path = series(states, "position")[1]
    low, high = np.minimum(*between), np.maximum(*between)
    return float(np.maximum(low - path, path - high).max())


def first_effort_after_the_brakes(states):
    """The first state in which the joints are commanded again after having been held."""
    held = [not any(state.effort) for state in states]
    free = held.index(True)
    return states[free + held[free:].index(False)]


def tracked_since(arm):
    """Return the time at which the controller began to follow references, s."""
    said = re.search(r"\[([\d.]+)\].*tracking the reference", arm.processes["controller"].log)
    return float(said[1])


def stamp_of(msg):
    return nanoseconds(msg.header.stamp) * 1e-9


@pytest.mark.thorough
def test_a_controller_that_is_killed_at_rest_comes_back_and_the_arm_never_moves(arm):
    received = len(arm.states)
    arm.kill("controller", "simulator", "holding the joints until one arrives")
    arm.launch("controller")
    arm.processes["controller"].wait_for_log("tracking the reference")
    wait_for(lambda: any(arm.states[-1].effort), "a command that is obeyed")
    arm.position()
    assert deepest(arm.states[received:], (START, START)) < AT_REST
    # What holds the arm there is gravity, from the first command on
    first = first_effort_after_the_brakes(arm.states[received:])
    np.testing.assert_allclose(first.effort, DYNAMICS.gravity(START), atol=0.5)


def test_a_controller_that_is_killed_in_motion_comes_back_and_the_arm_stays(arm):
    received = len(arm.states)
    moves(arm)
    arm.kill("controller", "simulator", "holding the joints until one arrives")
    arm.launch("controller")
    arm.processes["controller"].wait_for_log("tracking the reference")
    stood = arm.comes_to_rest(AT_REST)
    np.testing.assert_allclose(arm.position(), stood, atol=5e-3)
    arm.goes_to(NAMES, FAR, AT_REST)  # only a new motion moves it
    # Held by brakes in between; then by gravity, not by a step towards where it should have been
    first, led = first_effort_after_the_brakes(arm.states[received:]), tracked_since(arm)
    if stamp_of(first) < led:
        np.testing.assert_allclose(first.effort, DYNAMICS.gravity(first.position), atol=0.5)
    # else the middleware took longer than `settling_time` to introduce the two to each other both
    # ways
    assert (
        deepest(arm.states[received:], (START, FAR)) < 0.1
    )  # a drop would go on for 1 rad and more
    assert fastest_effort(arm.states[received:], SLACK) <= EFFORT_RATE


def test_when_feedforward_is_killed_in_motion_the_arm_comes_to_rest_and_takes_the_next_motion(arm):
    received = len(arm.states)
    moves(arm)
    arm.kill("feedforward", "controller", "holding still: no reference comes")
    stood = arm.comes_to_rest(AT_REST)
    arm.launch("feedforward")
    arm.processes["feedforward"].wait_for_log("ready for trajectories")
    wait_for(
        lambda: (
            arm.processes["controller"].log.rfind("tracking the reference")
            > arm.processes["controller"].log.rfind("holding still")
        ),
        "tracking",
    )
    np.testing.assert_allclose(arm.position(), stood, atol=1e-3)  # taken up where it stands
    arm.goes_to(NAMES, FAR, AT_REST)
    assert deepest(arm.states[received:], (START, FAR)) < 0.1
    assert fastest_effort(arm.states[received:], SLACK) <= EFFORT_RATE


def test_when_the_robot_goes_away_and_comes_back_it_is_held_where_it_was(arm):
    arm.kill("simulator", "controller", "no valid joint states come")
    received = len(arm.states)
    arm.launch("simulator")  # at START, where it was
    wait_for(lambda: len(arm.states) > received and any(arm.states[-1].effort), "a command obeyed")
    arm.position()
    assert deepest(arm.states[received:], (START, START)) < AT_REST
    arm.goes_to(NAMES, FAR, AT_REST)
    assert fastest_effort(arm.states[received:], SLACK) <= EFFORT_RATE


@pytest.mark.thorough
def test_a_robot_that_comes_back_elsewhere_is_brought_to_the_reference_without_a_step(arm, peer):
    # The middleware may take seconds to introduce commands to a new process, whose states are seen
    # already: what would push against the brakes is for the limit of the tracking error to stop
    limits = {f"limits.{name}.tracking_error": 0.08 for name in NAMES}
    arm.goes_to(NAMES, FAR, AT_REST)
    assert peer.set_parameters("controller_node", limits).successful
    arm.kill("simulator", "controller", "no valid joint states come")
    received = len(arm.states)
    arm.launch("simulator")  # at START, as after a reset
    wait_for(lambda: len(arm.states) > received, "joint_states")

    arm.goes_to(NAMES, FAR, AT_REST)  # a new motion, once it is resumed
    off = dict.fromkeys(limits, 0.0)
    assert peer.set_parameters("controller_node", off).successful
    assert fastest_effort(arm.states[received:], SLACK) <= EFFORT_RATE
    assert np.abs(series(arm.states[received:], "velocity")[1]).max() < ROBOT.limits.velocity.min()
    assert all(process.running for process in arm.processes.values())
