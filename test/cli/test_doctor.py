"""robot-dynamics doctor: what it finds on this machine, and in shells that lack something."""

import os
import subprocess
import sys

import pytest

from oracles import THOROUGH

RUN = "sys.exit(main(sys.argv[1:]))"


def doctor(*words, before="", **environment):
    """Status and output of the verb in a process of its own."""
    code = f"import sys\n{before}\nfrom robot_dynamics.cli import main\n{RUN}"
    process = subprocess.run(
        [sys.executable, "-c", code, "doctor", *words],
        env={
            **os.environ,
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_DOMAIN_ID": str(1 + os.getpid() % 100),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in process.stderr, process.stderr
    return process.returncode, process.stdout


def line(output, name):
    (found,) = [text for text in output.splitlines() if f" {name} " in text]
    return found


def test_where_nodes_run_nothing_that_they_need_is_missing(tmp_path):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    status, output = doctor(ROBOT_DYNAMICS_CACHE=str(tmp_path))
    needed, realtime = output.split("Real time")
    assert status == 0, output
    assert "missing" not in needed
    assert "reach another node" in line(needed, "messages")
    assert f"{tmp_path}, writable" in line(needed, "cache")
    assert {"kernel", "priority", "memlock", "governor", "isolcpus"} <= set(realtime.split())


def test_what_is_not_right_says_what_to_do():
    transports = {"FASTDDS_BUILTIN_TRANSPORTS": "DEFAULT", "FASTRTPS_DEFAULT_PROFILES_FILE": ""}
    _, output = doctor(**transports, FASTDDS_DEFAULT_PROFILES_FILE="")
    assert line(output, "transport").endswith(
        "FASTDDS_BUILTIN_TRANSPORTS=DEFAULT; unset it: with shared memory, a killed process delays "
        "others by a second"
    )
    wrong = [text for text in output.splitlines() if text.startswith(("  missing", "  advice"))]
    assert all("; " in text for text in wrong)


def test_with_realtime_what_is_missing_for_it_counts():
    status, output = doctor("--realtime")
    assert status == int("  missing" in output)


def test_without_rclpy_one_line_says_how_to_get_it():
    status, output = doctor(before="sys.modules['rclpy'] = None")
    assert status == 1
    assert "source a ROS 2 installation, or pip install 'robot_dynamics[ros]'" in output


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        ("domain", "ROS_DOMAIN_ID", "233"),
        ("logs", "ROS_LOG_DIR", "/proc/robot_dynamics"),
        pytest.param("discovery", "ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF", marks=THOROUGH),
        pytest.param("cache", "ROBOT_DYNAMICS_CACHE", "/proc/robot_dynamics", marks=THOROUGH),
    ],
)
def test_a_shell_that_keeps_nodes_apart_is_named(name, variable, value):
    pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")
    status, output = doctor(**{variable: value})
    assert status == 1
    assert line(output, name).startswith("  missing"), output
