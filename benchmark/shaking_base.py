"""Track with a Panda on a platform that shakes, through nodes: python -m benchmark.shaking_base.

The platform moves sideways by 50 mm at 1 Hz, in simulated time, in lockstep with its controller: a
busy machine is slow. Once feedforward_node takes the motion of the base from the topic imu,
once it takes the base for still. Writes docs/shaking-base.svg.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PICTURE = Path(__file__).parents[1] / "docs" / "shaking-base.svg"
RATE, DURATION_S, WARM_UP_S = 250.0, 8.0, 3.0
COMMON = {"urdf_path": "panda", "rate": RATE, "use_sim_time": True}
NODES: dict[str, dict[str, Any]] = {
    "simulator_node": {
        "base_motion": "sine:y:0.05:1",
        "publish_clock": True,
        "real_time_factor": 0.2,
    },
    "feedforward_node": {},
    "controller_node": {},
    "trajectory_node": {"duration": DURATION_S},
}


def track(base_motion: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Time (N,), s, and error of all joints (N, n), rad, of the motion with this parameter."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    NODES["feedforward_node"] = {
        "base_motion": base_motion,
        "base_filter": 0.004,
        "base_timeout": 5.0,
    }
    processes = []
    rclpy.init()
    listener = rclpy.create_node("listener")
    received: dict[str, list[tuple[float, npt.NDArray[np.float64]]]] = {}

    def listen(topic: str) -> None:
        rows = received.setdefault(topic, [])

        def note(msg: JointState) -> None:
            order = np.argsort(msg.name)
            stamp = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
            own = [k for k in order if not msg.name[k].endswith("finger_joint2")]
            rows.append((stamp, np.array(msg.position)[own]))

        listener.create_subscription(JointState, topic, note, 100)

    listen("reference")
    listen("joint_states")
    executor = SingleThreadedExecutor()
    executor.add_node(listener)
    try:
        for name, own in NODES.items():
            if name == "trajectory_node":
                for _ in range(3000):  # until all three control the arm
                    executor.spin_once(timeout_sec=0.02)
                    if len(received["reference"]) > RATE * WARM_UP_S:
                        break
            given = {**COMMON, **own}
            if name == "trajectory_node":
                given.pop("rate")
            if name == "simulator_node":
                given.pop("use_sim_time")
            words = [word for key, value in given.items() for word in ("-p", f"{key}:={value}")]
            command = [sys.executable, "-m", "robot_dynamics", "node", name, "--ros-args", *words]
            processes.append(subprocess.Popen(command, env=os.environ, stderr=subprocess.DEVNULL))
        begin = len(received["reference"])
        rows = received["reference"]
        while len(rows) == begin or rows[-1][0] < rows[begin][0] + DURATION_S:
            executor.spin_once(timeout_sec=0.02)
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
        executor.shutdown()
        rclpy.shutdown()
    t_d, q_d = map(np.array, zip(*received["reference"][begin:], strict=True))
    t, q = map(np.array, zip(*received["joint_states"], strict=True))
    inside = (t >= t_d[0]) & (t <= t_d[-1])
    desired = np.column_stack([np.interp(t[inside], t_d, column) for column in q_d.T])
    return t[inside] - t_d[0], desired - q[inside]


def main() -> None:
    """Measure both, print the errors and draw them."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, sharex=True, sharey=True, figsize=(7.0, 4.5))
    for axis, (title, motion) in zip(
        axes,
        {"base motion from the IMU": "imu", "base taken for still": "none"}.items(),
        strict=True,
    ):
        t, error = track(motion)
        arm = error[:, -7:]  # joints of the arm come after the finger by name
        rms = 1e3 * np.sqrt(np.mean(arm**2, axis=0))
        print(f"{title}: RMS error of joints 1 to 7, mrad: {np.round(rms, 2)}", flush=True)
        axis.plot(t, 1e3 * arm, lw=0.8)
        axis.set_title(f"{title}: RMS {rms.min():.2g} to {rms.max():.2g} mrad", fontsize=10)
        axis.set_ylabel("error, mrad")
    axes[-1].set_xlabel("time, s")
    figure.tight_layout()
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
