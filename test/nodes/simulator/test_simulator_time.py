"""simulator_node keeps time: /clock, the real-time factor, and lockstep."""

from itertools import pairwise
from time import monotonic

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robot_dynamics import read_urdf
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.messages import nanoseconds
from robot_dynamics.nodes.simulator.simulator_node import SimulatorNode
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation.compiled_plant import fastest_plant
from ros_system import wait_for

RATE = 100.0
CYCLE = round(NS_PER_S / RATE)
START = [0.5, 0.1]
ROBOT = {"urdf_path": "planar_2r", "rate": RATE, "initial_positions": START}


def stamp(state):
    return nanoseconds(state.header.stamp)


def content(state):
    """All that a state says, as bytes: what DDS carries has gaps with anything in them."""
    numbers = (state.position, state.velocity, state.effort)
    return stamp(state).to_bytes(8, "big") + np.concatenate(numbers).tobytes()


class Driver:
    """Answers every state of a simulator in lockstep with the next command."""

    def __init__(self, peer, name):
        self.states = peer.listen(JointState, f"{name}/joint_states")
        self._publisher = peer.publisher(Float64MultiArray, f"{name}/effort_command")
        wait_for(lambda: self.states, "the first state")

    def answer(self, effort):
        """Send one command and wait for the next state.

        A state that is repeated because this process slept is the same to the last bit.
        """
        last, received = content(self.states[-1]), len(self.states)
        self._publisher.publish(Float64MultiArray(data=list(effort)))

        def answered():
            return any(content(state) != last for state in self.states[received:])

        wait_for(answered, "the next state")
        return self.states[-1]


def efforts(count=40):
    """Commands that move both joints."""
    t = np.arange(count)[:, None] / RATE
    return 3.0 * np.cos(7.0 * t + [0.0, 1.0])


def test_in_lockstep_every_command_moves_the_robot_by_one_cycle(start, peer, namespace):
    arguments, name = namespace
    start("simulator_node", {**ROBOT, "lockstep": True}, arguments)
    driver = Driver(peer, name)
    plant = fastest_plant(read_urdf(find_robot("planar_2r")), START, stops=True)
    first = driver.states[-1]
    assert list(first.position) == START
    for k, effort in enumerate(efforts(), 1):
        state = driver.answer(effort)
        for _ in range(10):  # of 1 ms each
            plant.step(effort)
        assert stamp(state) == stamp(first) + k * CYCLE
        # The same kernel on the same numbers: equal to the last bit
        assert list(state.position) == plant.q.tolist()
        assert list(state.velocity) == plant.qd.tolist()
        assert list(state.effort) == plant.tau.tolist()


def test_in_lockstep_nothing_moves_between_commands(start, peer, namespace):
    arguments, name = namespace
    start("simulator_node", {**ROBOT, "lockstep": True, "command_timeout": 0.05}, arguments)
    driver = Driver(peer, name)
    moved = content(driver.answer([1.0, 0.0]))
    received = len(driver.states)
    wait_for(lambda: len(driver.states) > received, "the same state again")
    assert {content(state) for state in driver.states[received:]} == {moved}


def test_a_run_in_lockstep_repeats_byte_for_byte_with_its_noise(start, peer):
    def run(name):
        noise = {"position_noise": 1e-4, "velocity_noise": 1e-2, "effort_noise": 0.1}
        process = start(
            "simulator_node",
            {**ROBOT, **noise, "noise_seed": 7, "mass_error": 0.1, "lockstep": True},
            ["-r", f"__ns:={name}"],
        )
        driver = Driver(peer, name)
        # Feedback of noisy states: one different bit would change all later ones
        log = [content(driver.states[-1])]
        for effort in efforts():
            q = np.array(driver.states[-1].position)
            log.append(content(driver.answer(effort - 2.0 * q)))
        process.end()
        return b"".join(log)

    assert run("/first") == run("/again")


def test_in_lockstep_a_reset_is_published_without_a_command(start, peer, namespace):
    arguments, name = namespace
    start("simulator_node", {**ROBOT, "lockstep": True}, arguments)
    driver = Driver(peer, name)
    state = driver.answer([2.0, 2.0])
    assert list(state.position) != START
    assert peer.call(Trigger, f"{name}/simulator_node/reset", Trigger.Request()).success
    wait_for(lambda: list(driver.states[-1].position) == START, "the start")
    assert stamp(driver.states[-1]) > stamp(state)  # the robot goes back, time does not


def test_delayed_states_are_old_and_say_so_in_their_stamp(start, peer, namespace):
    arguments, name = namespace
    start("simulator_node", {**ROBOT, "lockstep": True, "delay": 0.03}, arguments)
    states = peer.listen(JointState, f"{name}/joint_states")
    publisher = peer.publisher(Float64MultiArray, f"{name}/effort_command")
    wait_for(lambda: states, "the first state")
    plant = fastest_plant(read_urdf(find_robot("planar_2r")), START, stops=True)
    path = {CYCLE: plant.q.tolist()}
    count = 12
    for k, effort in enumerate(efforts(count), 2):
        received = len(states)
        publisher.publish(Float64MultiArray(data=effort.tolist()))
        for _ in range(10):
            plant.step(effort)
        path[k * CYCLE] = plant.q.tolist()
        wait_for(lambda received=received: len(states) > received, "a state")
    newest = (1 + count - 3) * CYCLE  # three cycles before that of the last command
    wait_for(lambda: stamp(states[-1]) == newest, "the answer to the last command")
    assert all(list(state.position) == path[stamp(state)] for state in states)
    assert max(map(stamp, states)) == newest


def test_the_published_clock_is_the_time_of_a_node_with_use_sim_time(start, peer):
    """The second robot publishes at its own pace, but lives in the time of the first one."""
    clock = peer.listen(Clock, "/clock")
    states = peer.listen(JointState, "/listens/joint_states")
    start("simulator_node", {**ROBOT, "publish_clock": True}, ["-r", "__ns:=/clock_of_one"])
    start("simulator_node", {**ROBOT, "use_sim_time": True}, ["-r", "__ns:=/listens"])
    wait_for(lambda: clock and states and stamp(states[-1]) > 0, "simulated time")
    since = len(states)
    wait_for(lambda: len(states) > since + 50, "joint_states")
    times = [nanoseconds(msg.clock) for msg in clock]
    stamps = [stamp(state) for state in states[since:]]
    assert all(t % CYCLE == 0 for t in times)
    assert times == sorted(times)
    assert all(t % CYCLE == 0 for t in stamps)
    assert stamps == sorted(stamps)
    assert stamps[-1] > stamps[0]

    assert peer.call(
        SetBool, "/clock_of_one/simulator_node/pause", SetBool.Request(data=True)
    ).success
    wait_for(lambda: len({stamp(state) for state in states[-20:]}) == 1, "time to stand still")


def test_simulated_time_is_slower_by_the_real_time_factor(start, peer, namespace):
    arguments, name = namespace
    states = peer.listen(JointState, f"{name}/joint_states")
    start("simulator_node", {**ROBOT, "publish_clock": True, "real_time_factor": 0.1}, arguments)
    wait_for(lambda: states, "joint_states")
    first, begin = stamp(states[-1]), monotonic()
    wait_for(lambda: stamp(states[-1]) >= first + 20 * CYCLE, "20 cycles")
    real = monotonic() - begin
    simulated = (stamp(states[-1]) - first) / NS_PER_S
    # A busy machine only makes simulated time slower still. Five cycles, 0.5 s of real time, are
    # for a first message that was read late; at full speed the 0.2 s would be over in 0.2 s.
    assert simulated <= 0.1 * real + 0.05


def test_a_real_time_factor_above_one_asks_for_more_cycles_per_second(start, peer, namespace):
    arguments, name = namespace
    reports = peer.listen(DiagnosticArray, "/diagnostics")
    states = peer.listen(JointState, f"{name}/joint_states", 1000)
    start("simulator_node", {**ROBOT, "publish_clock": True, "real_time_factor": 5.0}, arguments)

    def rates():
        return {
            float(value.value)
            for msg in list(reports)
            for status in msg.status
            if status.name == f"{name[1:]}/simulator_node"
            for value in status.values
            if value.key == "requested rate (Hz)"
        }

    assert wait_for(rates, "a report") == {5.0 * RATE}
    # However fast it goes, simulated time advances cycle by cycle
    steps = [stamp(b) - stamp(a) for a, b in pairwise(list(states))]
    assert all(step > 0 and step % CYCLE == 0 for step in steps)  # a reader may miss some


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            {"gravity": [0.0, 9.81]},
            "parameter 'gravity' has 2 entries; give three numbers, m/s^2, or an empty list for "
            "the gravity of the robot",
        ),
        (
            {"real_time_factor": 0.5},
            "parameter 'real_time_factor' is 0.5 but the time is not published; set "
            "publish_clock, and use_sim_time of the other nodes",
        ),
        (
            {"lockstep": True, "loss": 0.1},
            "parameter 'loss' is 0.1 in lockstep, where a lost state is never answered; set loss "
            "to 0",
        ),
    ],
)
def test_settings_that_cannot_work_together_are_refused(context, values, line):
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    with pytest.raises(ArgumentError) as refusal:
        SimulatorNode(context=context, parameter_overrides=overrides)
    assert str(refusal.value) == line
