"""A clock that jumps: /clock of a simulation that is reset, or stepped on."""

import threading
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from rosgraph_msgs.msg import Clock

from arm_system import AT_REST, FAR, LIMITS, NAMES, RATE, START, efforts, series, shaken_arm
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import time_msg
from ros_system import PATIENCE, wait_for

# Between two messages the arm goes 2 mrad; a busy machine may lose a fifth of a second of them.
# What a jump of the clock would make of it is what is left of the motion, 0.6 rad.
FARTHEST_STEP = 0.3
LARGEST_EFFORT_STEP = 100.0  # likewise: 2 N m between messages, 400 N m from 0.4 rad under PD


class SetClock:
    """/clock, which a test may set; it runs as fast as real time, or slower, never by leaps."""

    def __init__(self, peer):
        self._out = peer.node.create_publisher(Clock, "/clock", 10)
        self._now = 100.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def jump(self, seconds):
        self._now += seconds

    def _run(self):
        while not self._ended.wait(1.0 / RATE):
            self._now += 1.0 / RATE
            self._out.publish(Clock(clock=time_msg(round(self._now * NS_PER_S))))

    def end(self):
        self._ended.set()
        self._thread.join()


@pytest.fixture(scope="module")
def clock(peer):
    clock = SetClock(peer)
    yield clock
    clock.end()


@pytest.fixture(scope="module")
def running(start_for_module, peer, clock):
    return shaken_arm(
        start_for_module, peer, {"urdf_path": "planar_2r", "use_sim_time": True}, LIMITS
    )


@pytest.fixture
def arm(running):
    """The three nodes, the arm at rest at START."""
    running.goes_to(NAMES, START, AT_REST)
    return running


def sets_off(arm):
    """Send the arm to FAR until it is on its way: while the clock stands, that is refused."""
    end = time.monotonic() + PATIENCE
    while not on_its_way(arm) and time.monotonic() < end:
        arm.send(NAMES, (3.0, FAR))
        sent = time.monotonic()
        wait_for(lambda sent=sent: on_its_way(arm) or time.monotonic() > sent + 6.0, "motion")
    logs = (f"{process.name} says:\n{process.log}" for process in arm.processes.values())
    assert on_its_way(arm), "\n".join(["the arm did not set off", *logs])


def on_its_way(arm):
    return abs(arm.references[-1].position[0] - START[0]) > 0.1


def largest_step(messages):
    """Largest difference of neighbouring positions, rad."""
    return np.abs(np.diff(series(messages, "position")[1], axis=0)).max()


def largest_effort_step(messages):
    return np.abs(np.diff(efforts(messages), axis=0)).max()


def test_a_clock_that_jumps_back_ends_the_motion_and_says_so(arm, clock):
    referred, moved, commanded = len(arm.references), len(arm.states), len(arm.commands)
    sets_off(arm)
    clock.jump(-50.0)
    arm.processes["feedforward"].wait_for_log("the clock jumped back by")
    q = arm.comes_to_rest(AT_REST)
    assert (q > START)[0] and (q < FAR)[0]  # it came to rest on its way, not at the end
    assert largest_step(arm.references[referred:]) < FARTHEST_STEP
    assert largest_step(arm.states[moved:]) < FARTHEST_STEP
    assert largest_effort_step(arm.commands[commanded:]) < LARGEST_EFFORT_STEP
    arm.send(NAMES, (1.0, FAR))  # on the new clock
    arm.rests_at(FAR, AT_REST)


@pytest.mark.thorough
def test_a_clock_that_jumps_ahead_moves_nothing_by_a_jump(arm, clock):
    referred, moved, commanded = len(arm.references), len(arm.states), len(arm.commands)
    sets_off(arm)
    clock.jump(50.0)
    arm.comes_to_rest(AT_REST)
    assert largest_step(arm.references[referred:]) < FARTHEST_STEP
    assert largest_step(arm.states[moved:]) < FARTHEST_STEP
    assert largest_effort_step(arm.commands[commanded:]) < LARGEST_EFFORT_STEP
    arm.send(NAMES, (1.0, FAR))  # on the new clock
    arm.rests_at(FAR, AT_REST)


@pytest.mark.thorough
def test_while_the_arm_rests_a_jump_of_the_clock_is_not_felt(arm, clock):
    moved, commanded = len(arm.states), len(arm.commands)
    for jump in (10.0, -30.0):
        clock.jump(jump)
        received = len(arm.states)
        wait_for(lambda received=received: len(arm.states) > received + RATE / 4, "joint_states")
    assert np.abs(series(arm.states[moved:], "position")[1] - START).max() < AT_REST
    tau = efforts(arm.commands[commanded:])
    assert np.abs(tau - tau[0]).max() < 0.1
