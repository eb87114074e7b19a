"""The C compiler of the system: it makes a shared library of a model."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.user_files import write_whole

COMMAND = (
    *("cc", "-std=c99", "-O1", "-ffp-contract=off", "-fno-math-errno"),
    *("-fvisibility=hidden", "-fPIC", "-shared"),
)
"""Compiler and flags. Without contraction, efforts are the same on every machine; -O2 takes twice
the time and makes no faster code."""

LOCAL_BITS = 0o644
"""Permissions: a controller loads no library that others may write."""


def compile_library(source: str, output: Path) -> None:
    """Compile a C file into a shared library, in whole or not at all.

    The environment variable CC names another compiler.

    Raises:
        RobotDynamicsError: If there is no compiler, or the compiler fails.
        OSError: If the library cannot be written; it names the file, and what was there stays.
    """
    compiler = shlex.split(os.environ.get("CC", "")) or [COMMAND[0]]
    if shutil.which(compiler[0]) is None:
        raise RobotDynamicsError(
            f"no C compiler '{compiler[0]}' on this computer; install one (apt install gcc), set "
            "CC, or write the C file with --source and compile it elsewhere"
        )
    with tempfile.TemporaryDirectory(prefix="robot_dynamics_") as folder:
        written, library = Path(folder, "model.c"), Path(folder, "model.so")
        written.write_text(source, encoding="ascii")
        command = [*compiler, *COMMAND[1:], "-o", str(library), str(written), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            first = next((line for line in lines if "error" in line), (lines or ["no message"])[0])
            raise RobotDynamicsError(f"{shlex.join(compiler)} failed: {first.strip()}")
        write_whole(output, library.read_bytes())
    output.chmod(LOCAL_BITS)
