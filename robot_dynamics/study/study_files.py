"""A study on disk: its options, the runs that are done, the table.

    study.yaml      the options; a file that `robot-dynamics study` takes in place of a robot
    runs/           what is done, one file per chunk of runs, named by the fingerprint of the plan
    runs.parquet    the table, once the study is over

A file is written beside its place and renamed into it: nothing is ever half written.
"""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import ArgumentError
from robot_dynamics.lazy import needed
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import Chunk, Columns
from robot_dynamics.study.study_table import StudyTable

OPTIONS_FILE = "study.yaml"
TABLE_FILE = "runs.parquet"


class StudyFolder:
    """The folder of a study.

    Args:
        path: Made if there is none.
        plan: The study.
    """

    def __init__(self, path: Path, plan: StudyPlan) -> None:
        self.path, self._digest = path, plan.digest()
        self._runs = path / "runs"
        self._runs.mkdir(parents=True, exist_ok=True)

    def save_options(self, options: Mapping[str, Any]) -> None:
        """Keep what the study was asked for as a study file."""
        write(self.path / OPTIONS_FILE, yaml.safe_dump(dict(options), sort_keys=False).encode())

    def save(self, chunk: Chunk, columns: Columns) -> None:
        """Keep some runs."""
        content = io.BytesIO()
        np.savez(content, **columns)  # type: ignore[arg-type]
        write(self._runs / self._name(chunk), content.getvalue())

    def load(self, chunks: list[Chunk]) -> dict[Chunk, Columns]:
        """Those of the chunks that were done; a damaged file counts as none."""
        done = {}
        for chunk in chunks:
            try:
                with np.load(self._runs / self._name(chunk)) as kept:
                    done[chunk] = {name: kept[name] for name in kept.files}
            except (FileNotFoundError, ValueError, EOFError, zipfile.BadZipFile):
                continue
        return done

    def save_table(self, table: StudyTable) -> Path:
        """Write the table as Parquet; the chunks, which it contains, go."""
        place = self.path / TABLE_FILE
        content = io.BytesIO()
        needed("pyarrow.parquet", "a Parquet file", "study").write_table(table.to_arrow(), content)
        write(place, content.getvalue())
        return place

    def forget_runs(self) -> None:
        """Delete what is kept of single chunks."""
        shutil.rmtree(self._runs, ignore_errors=True)

    def _name(self, chunk: Chunk) -> str:
        return f"{self._digest}.{chunk.mode}.{chunk.start}-{chunk.stop}.npz"


def write(path: Path, content: bytes) -> None:
    """Write a file in whole or not at all.

    Raises:
        OSError: If the disk is full or the place cannot be written; nothing is left there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        if error.filename is None:
            error.filename = str(path)
        raise


def read_options(path: Path, known: set[str]) -> dict[str, Any]:
    """The options of a study file.

    Args:
        path: YAML, option: value.
        known: Names that there are.

    Raises:
        ArgumentError: If it cannot be read, or has an option that there is not.
    """
    try:
        options = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = error.strerror if isinstance(error, OSError) else "not YAML"
        raise ArgumentError(f"{path}: cannot be read as a study ({why})") from None
    if not isinstance(options, dict) or "robot" not in options:
        raise ArgumentError(f"{path}: a study file is 'option: value' in lines, with a robot")
    for name in options:
        if name not in known:
            raise ArgumentError(
                f"{path}: no option '{name}' of a study; known are {', '.join(sorted(known))}"
            )
    return options
