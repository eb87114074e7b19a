"""The fewest trials of each fuzzing command, which run for ten minutes when asked to."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.skipif(sys.platform == "win32", reason="needs the timers of POSIX")
@pytest.mark.parametrize("script", sorted(path.name for path in FOLDER.glob("fuzz_*.py")))
def test_a_short_run_finds_nothing(script):
    pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), "0", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    words = done.stdout.split()
    trials, accepted = int(words[2]), int(words[4])
    assert 0 < accepted < trials  # both kinds of input were tried
