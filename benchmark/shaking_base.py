"""Track with a Panda on a platform that shakes, through nodes: python -m benchmark.shaking_base.

The platform moves sideways by 50 mm at 1 Hz. In simulated time, a tenth of real time: states at
1 kHz, and a busy machine is only slow. Prints the tracking errors without the motion of the base,
with that of the topic imu, and on a base that stands; draws
benchmark/records/shaking_base.png.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.record import RECORDS

PICTURE = RECORDS / "shaking_base.png"
RATE, SLOWER, DURATION_S, WARM_UP_S = 1000.0, 0.1, 8.0, 3.0
SHAKES = "sine:y:0.05:1"
KNOWN = {"base_motion": "imu", "base_timeout": 5.0}

CASES: Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "shaking base, taken for still": (SHAKES, {}, {}),
    "shaking base, known by its IMU": (SHAKES, KNOWN, {}),
    "base that stands": ("", {}, {}),
    "shaking base, known, base_filter 0.002": (SHAKES, KNOWN | {"base_filter": 0.002}, {}),
    "shaking base, taken for still, computed_torque": (SHAKES, {}, {"mode": "computed_torque"}),
    "shaking base, known, computed_torque": (SHAKES, KNOWN, {"mode": "computed_torque"}),
}
"""Motion of the base, parameters of feedforward and controller, and of the controller alone."""

DRAWN = 3
"""The first cases are drawn."""

Errors = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def nodes_of(case: str) -> dict[str, dict[str, Any]]:
    """Return the nodes of a case with their parameters."""
    moves, known, control = CASES[case]
    simulator = {"publish_clock": True, "real_time_factor": SLOWER, "rate": RATE}
    timed = {"use_sim_time": True}
    return {
        "simulator_node": simulator | ({"base_motion": moves} if moves else {}),
        "feedforward_node": timed | {"rate": RATE / 2.0} | known,
        "controller_node": timed | {"rate": RATE} | known | control,
        "trajectory_node": timed | {"duration": DURATION_S},
    }


def track(case: str) -> Errors:
    """Return time (N,), s, and the errors of the arm's joints (N, 7), rad."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    processes = []
    rclpy.init()
    listener = rclpy.create_node("listener")
    received: dict[str, list[tuple[float, npt.NDArray[np.float64]]]] = {}

    def listen(topic: str) -> None:
        rows = received.setdefault(topic, [])

        def note(msg: JointState) -> None:
            stamp = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
            if not rows or stamp > rows[-1][0]:
                by_name = dict(zip(msg.name, msg.position, strict=True))
                rows.append((stamp, np.array([by_name[f"panda_joint{k}"] for k in range(1, 8)])))

        listener.create_subscription(JointState, topic, note, 100)

    listen("reference")
    listen("joint_states")
    executor = SingleThreadedExecutor()
    executor.add_node(listener)
    rows = received["reference"]

    def spin_until(time: float) -> None:
        while not rows or rows[-1][0] < time:
            executor.spin_once(timeout_sec=0.02)

    try:
        for name, own in nodes_of(case).items():
            if name == "trajectory_node":
                spin_until(WARM_UP_S)  # all three control the arm
            given = {"urdf_path": "panda"} | own
            words = [word for key, value in given.items() for word in ("-p", f"{key}:={value}")]
            command = [sys.executable, "-m", "robot_dynamics", "node", name, "--ros-args", *words]
            processes.append(subprocess.Popen(command, env=os.environ, stderr=subprocess.DEVNULL))
        begin = rows[-1][0]
        spin_until(begin + DURATION_S)
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
        executor.shutdown()
        rclpy.shutdown()
    t_d, q_d = map(np.array, zip(*rows, strict=True))
    t, q = map(np.array, zip(*received["joint_states"], strict=True))
    inside = (t >= begin) & (t <= t_d[-1])
    desired = np.column_stack([np.interp(t[inside], t_d, column) for column in q_d.T])
    return t[inside] - begin, desired - q[inside]


def main() -> None:
    """Measure all cases, print the errors and draw the first ones."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(DRAWN, 1, sharex=True, figsize=(7.0, 6.5))
    print("| case | RMS error of joints 1 to 7, mrad | largest error, mrad |\n| --- | --- | --- |")
    for k, case in enumerate(CASES):
        t, error = track(case)
        rms, largest = 1e3 * np.sqrt(np.mean(error**2, axis=0)), 1e3 * np.abs(error).max()
        each = ", ".join(f"{x:.2g}" for x in rms)
        print(f"| {case} | {each} | {largest:.3g} |", flush=True)
        if k < DRAWN:
            lines = axes[k].plot(t, 1e3 * error, lw=0.8)
            axes[k].set_title(f"{case}: {largest:.3g} mrad at most", fontsize=10)
            axes[k].set_ylabel("error, mrad")
    names = [f"joint {i}" for i in range(1, 8)]
    figure.legend(lines, names, ncols=7, fontsize=8, frameon=False, loc="upper center")
    axes[-1].set_xlabel("time, s")
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.96))
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
