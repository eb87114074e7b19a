"""Bytes, extreme values and near misses on joint_states in motion: fuzz_states.py [S [SEED]].

The arm is that of `benchmark.faults`, which moves to and fro. No joint may be faster than planned
by more than a tenth of its speed limit.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "helpers"), str(Path(__file__).parent)]
sys.path[:0] = [str(Path(__file__).parents[2])]

from bounded import main
from fuzz_topics import payload_of

ROBOT, RATE = "ur5", 250.0
LOOKS_S, SENDS_S = 1.0, 3.0  # between two looks at speeds, and two motions
ALLOWED = 0.1  # speed beyond that of the motion, relative to the speed limit


class Arm:
    """An arm that moves to and fro, and a publisher of wrong states."""

    def __init__(self):
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState
        from std_srvs.srv import Trigger

        from benchmark.faults.runs import DURATION_S, NODES, POSES, STEEPEST, Ear, Nodes

        self.ear, self.folder = Ear(), tempfile.TemporaryDirectory()
        self.nodes = Nodes(ROBOT, RATE, self.ear, Path(self.folder.name))
        atexit.register(self.nodes.close)
        self.ends = [np.array(q) for q in POSES[ROBOT]]
        self.nodes.start_plant(self.ends[0])
        for name in NODES:
            self.nodes.start(name)
        self.nodes.wait_for_log("feedforward_node", "ready for trajectories")
        self.nodes.wait_for_log("controller_node", "tracking the reference")
        self.kind = JointState
        self.publisher = self.ear.node.create_publisher(
            JointState, "joint_states", QoSProfile(depth=5)
        )
        self.resume = self.ear.node.create_client(Trigger, "controller_node/resume")
        self.ask = Trigger.Request
        way = abs(self.ends[1] - self.ends[0])
        self.planned = STEEPEST * way / DURATION_S
        self.looked, self.sent, self.largest, self.moved = time.monotonic(), 0.0, -1.0, 0.0
        self.nodes.trace()

    def keep_moving(self):
        """Send the arm to its other end, now and then."""
        if time.monotonic() < self.sent + SENDS_S:
            return
        self.sent = time.monotonic()
        if self.resume.service_is_ready():
            self.resume.call_async(self.ask())
            time.sleep(0.1)
        self.ends.reverse()
        self.nodes.send_to(self.ends[0].tolist())

    def look(self):
        """Compare the largest speed since the last look with the planned one."""
        if time.monotonic() < self.looked + LOOKS_S:
            return
        self.looked = time.monotonic()
        _, q, qd, *_ = self.nodes.trace()
        self.moved += float(abs(q[-1] - q[0]).max())
        excess = (abs(qd) - self.planned) / self.nodes.model.limits.velocity
        self.largest = max(self.largest, float(excess.max()))
        log = self.nodes.log_file("controller_node").read_text()[-2000:]
        assert excess.max() < ALLOWED, f"{abs(qd).max(axis=0)} rad/s\n{log}"


@cache
def arm():
    return Arm()


def near_miss(rng, it):
    """A state of the robot that is wrong in one place."""
    from benchmark.faults.plant import message

    share, n = rng.random(), len(it.ends[0])
    q = it.ends[0] + share * (it.ends[1] - it.ends[0])
    qd, i = np.zeros(n), rng.randrange(n)
    wrong = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-3.0, 3.0)
    (q if rng.random() < 0.5 else qd)[i] += wrong
    msg = message(list(it.nodes.model.joint_names), q, None if rng.random() < 0.1 else qd)
    if (form := rng.randrange(5)) == 0:
        msg.header.stamp.sec += rng.choice([-100, -1, 1, 100])
    elif form == 1:
        msg.header.stamp.sec = 0
    elif form == 2:
        keep = rng.sample(range(n), rng.randrange(1, n))
        msg.name, msg.position = [msg.name[k] for k in keep], [msg.position[k] for k in keep]
        msg.velocity = [msg.velocity[k] for k in keep] if msg.velocity else []
    return msg


def one(rng):
    from rclpy.impl.implementation_singleton import rclpy_implementation

    it = arm()
    it.keep_moving()
    data = near_miss(rng, it) if rng.random() < 0.6 else payload_of(rng, it.kind)
    with suppress(rclpy_implementation.RCLError):  # of a middleware that sends no such bytes
        it.publisher.publish(data)
    time.sleep(rng.choice([0.0, 0.003, 0.03]))
    it.look()
    return not isinstance(data, bytes)


if __name__ == "__main__":
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    atexit.register(
        lambda: print(
            f"largest speed beyond the planned one, of the limit: {arm().largest:.3f}; "
            f"moved by {arm().moved:.0f} rad"
        )
    )
    main("states-in-motion", one)
