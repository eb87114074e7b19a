"""The fewest trials of each fuzzing command, which run for ten minutes when asked to."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


NEEDS = {"fuzz_viewer_socket.py": "viser", "fuzz_topics.py": "rclpy", "fuzz_states.py": "rclpy"}
"""Modules that a script needs instead of pinocchio."""

SLOW = {
    "fuzz_names.py",
    "fuzz_files.py",
    "fuzz_topics.py",
    "fuzz_states.py",
    "fuzz_viewer_socket.py",
}
"""Scripts that start slowly, or of which one trial takes long."""


@pytest.mark.skipif(sys.platform == "win32", reason="needs the timers of POSIX")
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name in SLOW else [])
        for name in sorted(path.name for path in FOLDER.glob("fuzz_*.py"))
    ],
)
def test_a_short_run_finds_nothing(script):
    needs = NEEDS.get(script, "pinocchio")
    pytest.importorskip(needs, reason=f"{needs} is not installed")
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), "0", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    trials, accepted, _ = map(int, re.findall(r"(\d+) [taf]", done.stdout))
    assert 0 < accepted < trials  # both kinds of input were tried
