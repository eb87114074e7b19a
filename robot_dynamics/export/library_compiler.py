"""The C compiler of the system: it makes a shared library of a model."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from robot_dynamics.compiler.native import cache
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.foundation.user_files import write_whole

COMMAND = (
    *("cc", "-std=c99", "-O1", "-ffp-contract=off", "-fno-math-errno"),
    *("-fno-trapping-math", "-fvisibility=hidden", "-fPIC"),
)
"""Compiler and flags. Without contraction, efforts are the same on every machine; -O2 takes twice
the time and makes no faster code."""

LOCAL_BITS = 0o644
"""Permissions: a controller loads no library that others may write."""


class LibraryCompiler:
    """Compiles the kernels of a model side by side, and links them with the rest.

    The object code of a kernel is kept on disk, so that a robot with other masses takes no
    compiler but for its numbers. The environment variable CC names another compiler.

    Raises:
        RobotDynamicsError: If there is no compiler.
    """

    def __init__(self) -> None:
        self._compiler = shlex.split(os.environ.get("CC", "")) or [COMMAND[0]]
        if shutil.which(self._compiler[0]) is None:
            raise RobotDynamicsError(
                f"no C compiler '{self._compiler[0]}' on this computer; install one (apt install "
                "gcc), set CC, or write the C file with --source and compile it elsewhere"
            )
        about = self._run(["--version"], Path.cwd())
        self._about = platform.machine(), *self._compiler, *COMMAND, about
        self._folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_")
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._objects: list[Future[Path]] = []

    def __enter__(self) -> LibraryCompiler:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()

    def add(self, source: str) -> None:
        """Begin to compile a kernel."""
        name = f"kernel_{len(self._objects)}"
        self._objects.append(self._pool.submit(self._object, name, source))

    def _object(self, name: str, source: str) -> Path:
        """Return the object file of a kernel."""
        written, made = (Path(self._folder.name, f"{name}.{kind}") for kind in "co")

        def compiled() -> tuple[Mapping[str, str], bytes]:
            written.write_text(source, encoding="ascii")
            self._run([*COMMAND[1:], "-c", "-o", made.name, written.name], written.parent)
            return {"name": name}, made.read_bytes()

        made.write_bytes(cache.kept(cache.key_of(*self._about, source), compiled)[1])
        return made

    def link(self, source: str, output: Path) -> None:
        """Write the library, in whole or not at all.

        Args:
            source: What is not in the kernels.
            output: The library.

        Raises:
            RobotDynamicsError: If the compiler fails.
            OSError: If the library cannot be written; it names the file, and what was there stays.
        """
        written, library = (Path(self._folder.name, name) for name in ("model.c", "model.so"))
        written.write_text(source, encoding="ascii")
        objects = [future.result().name for future in self._objects]
        files = [written.name, *objects, "-lm"]
        self._run([*COMMAND[1:], "-shared", "-o", library.name, *files], written.parent)
        write_whole(output, library.read_bytes())
        output.chmod(LOCAL_BITS)

    def _run(self, arguments: Sequence[str], folder: Path) -> str:
        done = subprocess.run(
            [*self._compiler, *arguments], capture_output=True, text=True, check=False, cwd=folder
        )
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            first = next((line for line in lines if "error" in line), (lines or ["no message"])[0])
            raise RobotDynamicsError(f"{shlex.join(self._compiler)} failed: {first.strip()}")
        return done.stdout
