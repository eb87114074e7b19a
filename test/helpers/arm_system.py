"""A simulated arm and its control, in one process or in several, and what its motion shows."""

import signal
import time
from tempfile import NamedTemporaryFile

import numpy as np
import yaml

from ros_system import PATIENCE, wait_for


def start_in_step(start, common, own, words=()):
    """Start simulator, feedforward and controller in one process, on simulated time.

    Args:
        start: Starts a node: see the fixture of that name.
        common: Parameters of all nodes.
        own: Further parameters by the name of a node.
        words: Further arguments.
    """
    parts = {node: dict(values) for node, values in own.items()}
    parts.setdefault("simulator_node", {})["publish_clock"] = True
    sections = {f"/**/{node}": {"ros__parameters": part} for node, part in parts.items()}
    with NamedTemporaryFile("w", suffix=".yaml") as file:  # read before the process says anything
        yaml.safe_dump(sections, file)
        file.flush()
        words = [*words, "--params-file", file.name]
        process = start("composed_nodes", {**common, "use_sim_time": True}, words)
        process.wait_for_log("ready for trajectories")
    return process


class ArmSystem:
    """Simulator, feedforward and controller, and their messages.

    All live in one process on simulated time, in which no node waits for a processor that another
    one has, so that a busy machine makes them slower and not coarser; or each in a process of its
    own, in real time, for tests of one that ends or of what comes between them.

    Args:
        start: Starts a node: see the fixture of that name.
        peer: Listens to joint_states, reference and, unless `commands` is false, to
            effort_command.
        common: Parameters of all three.
        own: Further parameters by node: simulator, feedforward, controller.
        remapped: Arguments by node, such as ["-r", "joint_states:=measured"].
        commands: Whether the peer subscribes to the commands; if not, only the simulator does.
        apart: Whether each node has a process of its own.
    """

    NODES = ("simulator", "feedforward", "controller")

    def __init__(
        self, start, peer, common, own=(), remapped=(), commands=True, namespace="", *, apart=False
    ):
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self._start, self._peer, self.apart = start, peer, apart
        self._common, self._own, self._remapped = common, dict(own), dict(remapped)

        def listen(kind, topic):
            return peer.listen(kind, f"{namespace}/{topic}" if namespace else topic, 1000)

        self.states = listen(JointState, "joint_states")
        self.references = listen(JointState, "reference")
        self.commands = listen(Float64MultiArray, "effort_command") if commands else None
        self._space = ("-r", f"__ns:={namespace}") if namespace else ()
        self.processes = {}
        if apart:
            for name in self.NODES:
                self.launch(name)
        else:
            self._launch_in_step()
        self.wait_until_it_tracks()

    def _launch_in_step(self):
        own = {f"{name}_node": values for name, values in self._own.items()}
        words = [*self._space]
        for name, given in self._remapped.items():
            for option, rule in zip(given[::2], given[1::2], strict=True):
                words += [option, f"{name}_node:{rule}" if option == "-r" else rule]
        together = start_in_step(self._start, self._common, own, words)
        self.processes = dict.fromkeys(self.NODES, together)

    def launch(self, name):
        """Start one node, again if it has run before."""
        self.processes[name] = self._start(
            f"{name}_node",
            {**self._common, **self._own.get(name, {})},
            (*self._space, *self._remapped.get(name, ())),
        )

    def restore(self):
        """Start again what has ended, and bring the arm back to where it began."""
        for name, process in self.processes.items():
            if not process.running:
                self.launch(name)
        wait_for(lambda: any(self.states[-1].effort), "a command that is obeyed")
        self.goes_to(NAMES, START, AT_REST)

    def kill(self, name, witness, line):
        """kill -9 of one node; returns once another one logs it."""
        after = len(self.processes[witness].log)
        self.processes[name].stop(signal.SIGKILL)
        self.processes[witness].wait_for_log(line, after)

    def wait_until_it_tracks(self):
        """Wait until the arm is held by feedforward and controller."""
        self.processes["feedforward"].wait_for_log("ready for trajectories")
        self.processes["controller"].wait_for_log("tracking the reference")
        wait_for(lambda: self.states and any(self.states[-1].effort), "a command that is obeyed")
        wait_for(lambda: self.references, "references")
        wait_for(lambda: self.commands is None or self.commands, "commands")

    def send(self, names, *points, stamp=None, velocity=True):
        """Publish a trajectory of (time, positions), at rest at every point by default."""
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        from robot_dynamics.nodes.ros.messages import duration_msg

        msg = JointTrajectory(joint_names=list(names))
        if stamp is not None:
            msg.header.stamp = stamp
        for moment, positions in points:
            point = JointTrajectoryPoint(
                positions=[float(q) for q in positions], time_from_start=duration_msg(moment)
            )
            if velocity:
                point.velocities = [0.0] * len(positions)
                point.accelerations = [0.0] * len(positions)
            msg.points.append(point)
        if not hasattr(self, "_trajectories"):
            self._trajectories = self._peer.publisher(JointTrajectory, "joint_trajectory")
        wait_for(self._trajectories.get_subscription_count, "feedforward_node")
        self._trajectories.publish(msg)

    def goes_to(self, names, q, within):
        """Send the arm to q until it rests there; what comes before both sides are up is lost."""
        from std_srvs.srv import Trigger

        end = time.monotonic() + PATIENCE
        while not self.is_at(q, within) and time.monotonic() < end:
            self.send(names, (1.0, q))
            sent = time.monotonic()
            wait_for(lambda sent=sent: self.follows() or time.monotonic() > sent + 0.5, "a motion")
            wait_for(lambda: not self.follows(), "the end of the motion")
            wait_for(
                lambda sent=sent: self.is_at(q, within) or time.monotonic() > sent + 3.0, "rest"
            )
            if not self.is_at(q, within):  # it may have stopped, where it got no processor
                self._peer.call(Trigger, "/controller_node/resume", Trigger.Request())
        logs = (f"{process.name} says:\n{process.log}" for process in self.processes.values())
        assert self.is_at(q, within), "\n".join(logs)

    def comes_to_rest(self, within, cycles=50):
        """Wait until the arm, driven and not held by brakes, has stood still; where, (n,), rad."""
        since = len(self.states)

        def rests():
            last = self.states[since:][-cycles:]
            return len(last) == cycles and all(
                any(state.effort) and np.abs(state.velocity).max() < within for state in last
            )

        wait_for(rests, f"rest for {cycles} cycles")
        return np.array(self.states[-1].position)

    def follows(self):
        """Return whether the reference moves."""
        return any(self.references[-1].velocity)

    def is_at(self, q, within):
        """Return whether the arm rests at q, shape (n,), rad."""
        state = self.states[-1]
        off = np.abs(np.array(state.position) - q).max()
        return off < within and np.abs(state.velocity).max() < within

    def position(self):
        """Return the positions of the arm in the next message, shape (n,), rad."""
        received = len(self.states)
        wait_for(lambda: len(self.states) > received, "joint_states")
        return np.array(self.states[-1].position)

    def rests_at(self, q, within):
        """Wait until the arm rests at q, shape (n,), rad, or its reference does elsewhere."""
        begin = len(self.references)

        def ended():
            last = self.references[max(begin, len(self.references) - ENDED) :]
            return len(last) == ENDED and not any(
                any(msg.velocity) or np.abs(np.array(msg.position) - q).max() < within
                for msg in last
            )

        wait_for(lambda: self.is_at(q, within) or ended(), f"rest at {q}")
        logs = (f"{process.name} says:\n{process.log}" for process in self.processes.values())
        assert self.is_at(q, within), "\n".join([f"another end than {q}", *logs])


def series(messages, field):
    """Stamps, shape (N,), s, and values, shape (N, n), of JointState messages."""
    from robot_dynamics.nodes.ros.messages import nanoseconds

    messages = list(messages)  # to which more may be added meanwhile
    stamps = [nanoseconds(msg.header.stamp) * 1e-9 for msg in messages]
    return np.array(stamps), np.array([getattr(msg, field) for msg in messages])


def efforts(commands):
    """Efforts of commands, shape (N, n)."""
    return np.array([msg.data for msg in list(commands)])


def fastest_effort(states, slack):
    """Largest change per second of the efforts at the joints; every cycle counts `slack` s more.

    That is what drives feel, and its stamps are those of the robot. Where brakes hold the arm,
    efforts are zero; to and from there they may step.
    """
    t, tau = series(states, "effort")
    driven = tau.any(axis=1)
    rate = np.abs(np.diff(tau, axis=0)).max(axis=1) / (np.maximum(np.diff(t), 0.0) + slack)
    return float(rate[driven[1:] & driven[:-1]].max())


# -- the arm that the fault tests shake -----------------------------------------------------

NAMES = ["joint_1", "joint_2"]
RATE = 250.0
# Below the horizontal: an arm that a busy machine leaves alone for a moment does not fall over
START = np.array([-1.2, 0.4])
FAR = np.array([-0.6, -0.4])

# At rest plant and model agree to round-off; 0.1 mrad is what a motion leaves of itself for a while
AT_REST = 1e-4

# Soft gains, and a limit well above what they ask for (an error of 1 rad makes 1400 N m, 8 times a
# second), so that only steps meet it: from gravity to the effort limit is 300 N m and more, twice
# what limit and slack let pass in one cycle. Slack: a late cycle counts for five periods, 20
# ms, and the robot may see two commands in a cycle of its own.
BANDWIDTH, EFFORT_RATE, SLACK = 8.0, 4000.0, 0.03
LIMITS = {f"limits.{name}.effort_rate": EFFORT_RATE for name in NAMES}

ENDED = 1000
"""References at rest, in cycles, after which a motion has ended: 4 s."""

# A busy machine may keep a node waiting for longer than the tenth of a second of the defaults
PATIENT = {"state_timeout": 0.5, "reference_timeout": 0.5}


def shaken_arm(start, peer, common, limits=(), remapped=(), commands=True, apart=True):
    """Simulator, feedforward and controller of planar_2r, which starts at START.

    Args:
        start: Starts a node: see the fixture of that name.
        peer: See `ArmSystem`.
        common: Parameters of all three nodes.
        limits: Parameters of the controller's limits.
        remapped: See `ArmSystem`.
        commands: See `ArmSystem`.
        apart: See `ArmSystem`.
    """
    return ArmSystem(
        start,
        peer,
        {"rate": RATE, **common},
        {
            "simulator": {"initial_positions": START.tolist(), "command_timeout": 0.3},
            "controller": {**dict(limits), **PATIENT, "bandwidth": BANDWIDTH},
        },
        remapped,
        commands,
        apart=apart,
    )
