"""The processes of one run: controller_manager with the plant, controllers, nodes, a sender."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rclpy
import yaml
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from benchmark.nodes.processes import LOCAL, ROOT, SystemFailure, wait_until
from benchmark.ros2_control.arms import Arm
from benchmark.ros2_control.plant_log import PlantLog, is_log, read_log
from benchmark.ros2_control.workspace import Workspace
from robot_dynamics.nodes.composition import own_domain
from robot_dynamics.nodes.ros import transport
from robot_dynamics.nodes.ros.messages import trajectory_msg
from robot_dynamics.nodes.ros.topics import TRAJECTORY_QOS
from robot_dynamics.trajectory import Waypoints

HERE = Path(__file__).parent

PRIORITY = 20
"""Of SCHED_FIFO, for all threads of all processes; controller_manager sets 50 for its loop."""

MANAGER = "ros2_control_node"

DESCRIPTION_QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

LOG_S = 180.0
"""Time that the log of the plant has place for, s."""


@functools.cache
def preferred() -> tuple[str, ...]:
    """Return a prefix of commands that lets other programs of the machine wait, where allowed."""
    prefix = ("chrt", "--fifo", str(PRIORITY))
    try:
        done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    except OSError:
        return ()
    return prefix if done.returncode == 0 else ()


@dataclass
class Program:
    """A process of its own; its output is in `file`."""

    name: str
    process: subprocess.Popen[bytes]
    file: Path

    @property
    def log(self) -> str:
        """The output so far."""
        return self.file.read_text(errors="replace")

    @property
    def running(self) -> bool:
        """Return whether it has not ended."""
        return self.process.poll() is None

    def wait_for_log(self, text: str, patience: float = 60.0) -> None:
        """Wait for a text in the output.

        Raises:
            SystemFailure: If it ends before, or that takes too long.
        """
        end = time.monotonic() + patience
        while text not in self.log:
            if not self.running or time.monotonic() > end:
                raise SystemFailure(f"{self.name} did not say '{text}':\n{self.log[-3000:]}")
            time.sleep(0.02)

    def end(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it, at last by SIGKILL."""
        if self.running:
            self.process.send_signal(how)
        try:
            self.process.wait(10.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cpu_time(self) -> float:
        """Processor time used so far, s."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@dataclass
class Controllers:
    """Controllers by name with their parameters; `type` is one of them."""

    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write a parameter file."""
        content = {name: {"ros__parameters": values} for name, values in self.parameters.items()}
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        return path


class System:
    """A controller_manager with the plant, on a ROS domain of its own. Built by `system`."""

    def __init__(self, workspace: Workspace, arm: Arm, rate: float, folder: Path) -> None:
        self.workspace, self.arm, self.rate, self.folder = workspace, arm, rate, folder
        self.domain = own_domain()
        self.log_file, self.nan_file = folder / "plant.log", folder / "nan"
        self.programs: dict[str, Program] = {}
        self._publishers: dict[str, Any] = {}
        self.began, self.event_at = 0.0, 0.0  # system times of a motion and of an event, s
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=self.domain)
        self.node = rclpy.create_node("sender", context=self.context, enable_rosout=False)

    def start(self, name: str, command: Sequence[str], *, ros: bool = True) -> Program:
        """Start a program.

        Args:
            name: Of the process and its log.
            command: Program and arguments.
            ros: Run in the environment of the workspace, or else in that of this process.
        """
        environment = dict(self.workspace.environment if ros else os.environ)
        if not ros:
            paths = [str(ROOT), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        environment["ROS_DOMAIN_ID"] = str(self.domain)
        environment["ROS_LOG_DIR"] = str(self.folder)
        environment["ROS_HOME"] = str(self.folder)  # where spawners lock each other out
        environment["RCUTILS_COLORIZED_OUTPUT"], environment["PYTHONUNBUFFERED"] = "0", "1"
        environment.setdefault(LOCAL, "LOCALHOST")
        environment.update(transport.without_shared_memory(environment))
        file = self.folder / f"{name}-{len(self.programs)}.log"
        with file.open("wb") as output:
            process = subprocess.Popen(
                [*preferred(), *command], env=environment, stdout=output, stderr=subprocess.STDOUT
            )
        program = Program(name, process, file)
        self.programs[name if name not in self.programs else file.stem] = program
        return program

    def start_node(self, executable: str, parameters: Mapping[str, Any], *words: str) -> Program:
        """Start a node of the package in a Python of its own."""
        code = f"from robot_dynamics.nodes.executables import {executable} as run; run()"
        command = [sys.executable, "-c", code, "--ros-args"]
        for key, value in parameters.items():
            command += ["-p", f"{key}:={value}"]
        return self.start(executable, [*command, *words], ros=False)

    def start_manager(self, plant: Mapping[str, object] | None = None) -> None:
        """Publish the robot description, start ros2_control_node, and wait for the first cycle.

        Args:
            plant: Further parameters of the hardware component.
        """
        parameters = {
            **self.arm.write_plant(self.folder),
            "log": self.log_file,
            "log_rows": round(LOG_S * self.rate),
            "nan_file": self.nan_file,
            **(plant or {}),
        }
        description = self.arm.description(self.rate, parameters)
        manager = {"update_rate": round(self.rate), "thread_priority": 50}
        file = self.folder / "manager.yaml"
        file.write_text(yaml.safe_dump({"controller_manager": {"ros__parameters": manager}}))
        publisher = self.node.create_publisher(String, "robot_description", DESCRIPTION_QOS)
        publisher.publish(String(data=description))
        program = self.workspace.program("controller_manager", "ros2_control_node")
        self.start(MANAGER, [program, "--ros-args", "--params-file", str(file)])
        wait_until(lambda: self._alive(MANAGER) and is_log(self.log_file), "the plant", 60.0)

    def _alive(self, name: str) -> bool:
        program = self.programs[name]
        if not program.running:
            raise SystemFailure(f"{name} has ended:\n{program.log[-3000:]}")
        return True

    def spawn(self, controllers: Controllers, names: Sequence[str], *words: str) -> None:
        """Load controllers, configure them, and activate them unless `words` has --inactive."""
        file = controllers.write(self.folder / f"{'_'.join(names)}.yaml")
        spawner = self.workspace.program("controller_manager", "spawner")
        command = [*self._python(spawner), *names, "--param-file", str(file), *words]
        self._run(f"spawner_{names[0]}", command)

    def switch(self, activate: Sequence[str], deactivate: Sequence[str]) -> None:
        """Activate and deactivate controllers in one cycle."""
        words = ["switch", *(f"+{x}" for x in activate), *(f"-{x}" for x in deactivate)]
        self._run("switch", ["python3", str(HERE / "ros_client.py"), *words])

    def _python(self, script: str) -> list[str]:
        """Return the command of a script, whose first line may name another Python."""
        first = Path(script).read_bytes()[:64]
        return ["python3", script] if b"python" in first.partition(b"\n")[0] else [script]

    def _run(self, name: str, command: Sequence[str]) -> None:
        program = self.start(name, command)
        with suppress(subprocess.TimeoutExpired):
            program.process.wait(60.0)
        if program.process.poll() != 0:
            manager = self.programs[MANAGER].log[-2000:]
            program.end(signal.SIGKILL)
            raise SystemFailure(f"{name} failed:\n{program.log[-2000:]}\n{manager}")

    def event(self) -> None:
        """Note the time of an event."""
        self.event_at = time.time()

    def send(self, topic: str, motion: Waypoints, begin: float) -> None:
        """Publish a motion once a subscriber is there.

        Args:
            topic: Of type trajectory_msgs/JointTrajectory.
            motion: Sent as it is.
            begin: System time of its start, s after that of the publication.
        """
        if topic not in self._publishers:  # a reader may not know a new one yet, and misses it
            self._publishers[topic] = self.node.create_publisher(
                JointTrajectory, topic, TRAJECTORY_QOS
            )
        publisher = self._publishers[topic]
        wait_until(publisher.get_subscription_count, f"a subscriber of {topic}", 20.0)
        msg = trajectory_msg(motion)
        self.began = time.time() + begin
        msg.header.stamp.sec, msg.header.stamp.nanosec = divmod(round(self.began * 1e9), 10**9)
        publisher.publish(msg)

    def plant_log(self) -> PlantLog:
        """Return the log so far."""
        return read_log(self.log_file)

    def watch(self, seconds: float) -> dict[str, float]:
        """Let time pass; return the share of a processor that each process has used."""
        before = {name: x.cpu_time() for name, x in self.programs.items() if x.running}
        begin = time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - begin
        for name in before:
            self._alive(name)
        return {name: (self.programs[name].cpu_time() - x) / passed for name, x in before.items()}

    def close(self) -> None:
        """End all processes, the last one first."""
        for program in reversed(self.programs.values()):
            program.end()
        self.log_file.unlink(missing_ok=True)  # tens of megabytes
        self.node.destroy_node()
        self.context.shutdown()


@contextmanager
def system(workspace: Workspace, arm: Arm, rate: float, folder: Path) -> Iterator[System]:
    """Processes that end with the block.

    Args:
        workspace: Where CompiledPlant is built.
        arm: The arm.
        rate: Of controller_manager, Hz.
        folder: Where logs and parameter files go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault(LOCAL, "LOCALHOST")
    os.environ.setdefault("ROS_LOG_DIR", str(folder))
    os.environ.update(transport.without_shared_memory(os.environ))
    run = System(workspace, arm, rate, folder)
    try:
        yield run
    finally:
        run.close()


def write_json(path: Path, content: object) -> None:
    """Write results."""
    path.write_text(json.dumps(content, indent=2, default=float) + "\n")
