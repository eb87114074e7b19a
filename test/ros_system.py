"""Nodes in processes of their own, and a peer that talks to them over DDS."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATIENCE = 30.0  # s: nothing here takes a second on an idle machine, but machines are not idle


def wait_for(condition, what, patience=PATIENCE):
    """Wait until `condition()` is true; its value."""
    end = time.monotonic() + patience
    while not (value := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {patience} s for {what}")
        time.sleep(0.01)
    return value


class NodeProcess:
    """One node in a process of its own; what it prints is in `log`."""

    def __init__(self, name, domain, folder, parameters=(), arguments=()):
        self.name = name
        self._file = folder / f"{name}-{time.monotonic_ns()}.log"
        options = [
            word for key, value in dict(parameters).items() for word in ("-p", f"{key}:={value}")
        ]
        environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(domain),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        with self._file.open("w") as output:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"robot_dynamics.nodes.{name}",
                    "--ros-args",
                    *options,
                    *arguments,
                ],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self):
        return self._file.read_text()

    @property
    def running(self):
        return self._process.poll() is None

    def wait_for_log(self, text):
        wait_for(lambda: text in self.log or not self.running, f"'{text}' from {self.name}")
        assert text in self.log, f"{self.name} ended:\n{self.log}"

    def stop(self, how=signal.SIGINT):
        """Send a signal and return the exit status."""
        self._process.send_signal(how)
        return self._process.wait(PATIENCE)

    def end(self):
        """Make sure that it is gone."""
        if self.running:
            self._process.kill()
        self._process.wait()


class Peer:
    """The rest of a ROS system: publishes, listens and calls from this process."""

    def __init__(self, domain):
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node("peer", context=self.context)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        self.heard = {}
        self._clients = {}

    def _spin(self):
        from rclpy.executors import ExternalShutdownException

        with suppress(ExternalShutdownException):
            self._executor.spin()

    def listen(self, kind, topic, qos=10):
        """Collect the messages of a topic; the list grows."""
        messages = self.heard.setdefault(topic, [])
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def publisher(self, kind, topic, qos=10):
        """Publisher that somebody already listens to."""
        publisher = self.node.create_publisher(kind, topic, qos)
        wait_for(publisher.get_subscription_count, f"a subscriber of {topic}")
        return publisher

    def call(self, kind, service, request):
        """Response of a service."""
        if service not in self._clients:  # one each: hundreds would slow the executor down
            self._clients[service] = self.node.create_client(kind, service)
        client = self._clients[service]
        assert client.wait_for_service(PATIENCE), f"no service {service}"
        future = client.call_async(request)
        wait_for(future.done, f"an answer from {service}")
        return future.result()

    def set_parameter(self, node, name, value):
        """Result of setting one parameter of another node."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        return self.call(SetParameters, f"/{node}/set_parameters", request).results[0]

    def set_parameters(self, node, values):
        """Result of setting several parameters of another node at once, all or none."""
        from rcl_interfaces.srv import SetParametersAtomically
        from rclpy.parameter import Parameter

        request = SetParametersAtomically.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        return self.call(
            SetParametersAtomically, f"/{node}/set_parameters_atomically", request
        ).result

    def get_parameter(self, node, name):
        """Value of one parameter of another node."""
        from rcl_interfaces.srv import GetParameters
        from rclpy.parameter import parameter_value_to_python

        request = GetParameters.Request(names=[name])
        answer = self.call(GetParameters, f"/{node}/get_parameters", request)
        return parameter_value_to_python(answer.values[0])

    def close(self):
        self._executor.shutdown()
        self._thread.join()
        self.node.destroy_node()
        self.context.try_shutdown()
