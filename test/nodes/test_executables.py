"""The executables as `ros2 run` starts them."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from std_msgs.msg import Float64MultiArray

from node_process import run_node
from ros_system import NODES as IMPORTED
from ros_system import PATIENCE, ROOT, WITH_ITS_PARENT, wait_for


def run(name, *arguments, path=(), domain=0, **options):
    """Start an executable by its entry point."""
    code = (
        f"from robot_dynamics.nodes.executables import {name}; print('ours', flush=True); {name}()"
    )
    paths = [*map(str, path), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    return subprocess.Popen(
        [*WITH_ITS_PARENT, sys.executable, "-c", code, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )


@pytest.mark.parametrize("delay", [0.1, 0.3, 0.6])  # in the middle of imports, s
def test_a_signal_while_a_node_is_still_starting_leaves_no_traceback(domain, delay):
    process = run("controller_node", "--ros-args", "-p", "urdf_path:=planar_2r", domain=domain)
    process.stdout.readline()  # what Python itself does before that is not ours
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in output
    assert process.returncode == 0


def test_without_rclpy_one_line_says_what_to_do(tmp_path):
    (tmp_path / "rclpy.py").write_text("raise ModuleNotFoundError(name='rclpy')")
    process = run("simulator_node", path=[tmp_path])
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert output.splitlines()[1:] == [
        "simulator_node: no Python module 'rclpy'; source a ROS 2 installation, or "
        "pip install 'robot_dynamics[ros]'"
    ]


NODES = [
    "feedforward_node",
    "controller_node",
    "simulator_node",
    "trajectory_node",
    "viewer_node",
    "marker_node",
    "recorder_node",
    "monitor_node",
]


@pytest.mark.parametrize("name", NODES)
def test_help_says_what_a_node_is_for_and_where_its_parameters_stand(name, tmp_path):
    log = tmp_path / "log"
    words = [name, "--help"]
    process = IMPORTED.Process(target=run_node, args=(name, words, {**os.environ}, str(log)))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    output = log.read_text()
    lines = output.splitlines()
    assert lines[0].startswith(f"{name}: ")
    assert f"usage: {name} --ros-args -p NAME:=VALUE" in output
    assert lines[-2].endswith("https://robot-dynamics.example/docs/nodes.html")
    assert len(lines) < 10


@pytest.mark.parametrize(
    ("arguments", "unknown"),
    [
        (["--rate", "5", "--ros-args", "-p", "urdf_path:=planar_2r"], "arguments '--rate', '5'"),
        (["--ros-args", "urdf_path:=planar_2r"], "argument 'urdf_path:=planar_2r'"),
    ],
)
def test_an_argument_that_is_not_known_is_refused_in_one_line(arguments, unknown):
    process = run("trajectory_node", *arguments)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert output.splitlines()[1:] == [
        f"trajectory_node: unknown {unknown}; parameters go behind --ros-args -p, as in "
        "'--ros-args -p urdf_path:=panda'; --help says more"
    ]


def test_two_robots_live_in_one_process_each_in_its_namespace(domain, peer):
    process = run(
        "composed_nodes",
        *("--namespaces", "left", "right"),
        *("--ros-args", "-p", "urdf_path:=planar_2r", "-p", "rate:=100.0"),
        domain=domain,
    )
    try:
        received = {
            name: peer.listen(Float64MultiArray, f"/{name}/effort_command")
            for name in ("left", "right")
        }
        wait_for(lambda: all(received.values()), "commands in both namespaces")
    finally:
        process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Traceback" not in output
    assert "left/simulator_node: " in output
    assert "right/controller_node: " in output


def test_real_robots_need_no_simulator(domain, peer):
    process = run(
        "composed_nodes",
        *("--hardware", "--namespaces", "real"),
        *("--ros-args", "-p", "urdf_path:=planar_2r", "-p", "rate:=100.0"),
        domain=domain,
    )

    def nodes():
        found = peer.node.get_node_names_and_namespaces()
        return {name for name, namespace in found if namespace == "/real"}

    try:
        wait_for(lambda: "controller_node" in nodes(), "controller_node")
        assert nodes() == {"feedforward_node", "controller_node"}
    finally:
        process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Traceback" not in output
