"""Files of a study: its options, the finished runs, the table, and gains.

    study.yaml      the options; `robot-dynamics study` takes this file in place of a robot
    runs/           finished runs, one file per chunk, named by the fingerprint of the plan
    runs.parquet    the table, once the study is over

Each file is written whole or not at all. Gains are read from parameters of controller_node, as a
bandwidth search prints them.
"""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.control.gains import Gains
from robot_dynamics.errors import ArgumentError, RecordingError, RobotDynamicsError
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.foundation.user_files import read_arrays, read_yaml, write_whole
from robot_dynamics.simulation.simd.compiled_loop import PER_JOINT, STATISTICS
from robot_dynamics.study.plan import StudyPlan
from robot_dynamics.study.runs import Chunk, Columns
from robot_dynamics.study.study_table import StudyTable

OPTIONS_FILE = "study.yaml"
TABLE_FILE = "runs.parquet"


class StudyFolder:
    """The folder of a study.

    Args:
        path: Created if it does not exist.
        plan: The study.

    Attributes:
        table: Path of the table.
    """

    def __init__(self, path: Path, plan: StudyPlan) -> None:
        needed("pyarrow.parquet", "a Parquet file", "study")  # before the work
        self.path, self._digest, self._plan = path, plan.digest(), plan
        self.table = path / TABLE_FILE
        self._runs = path / "runs"
        self._runs.mkdir(parents=True, exist_ok=True)

    def save_options(self, options: Mapping[str, Any]) -> None:
        """Save the options as a study file."""
        write_whole(
            self.path / OPTIONS_FILE, yaml.safe_dump(dict(options), sort_keys=False).encode()
        )

    def save(self, chunk: Chunk, columns: Columns) -> None:
        """Save a chunk of finished runs."""
        content = io.BytesIO()
        np.savez(content, **columns)  # type: ignore[arg-type]
        write_whole(self._runs / self._name(chunk), content.getvalue())

    def load(self, chunks: list[Chunk]) -> dict[Chunk, Columns]:
        """Load the finished ones among chunks; a damaged file counts as unfinished."""
        done = {}
        for chunk in chunks:
            place, count = self._runs / self._name(chunk), chunk.stop - chunk.start
            with contextlib.suppress(RecordingError):
                kept = read_arrays(place, RecordingError)
                n = self._plan.robot.dof
                wanted = {x: (count, n if x in PER_JOINT else 1) for x in STATISTICS}
                if {name: x.shape for name, x in kept.items() if x.dtype == np.float64} == wanted:
                    done[chunk] = kept
        return done

    def is_finished(self) -> bool:
        """Return whether the table holds all runs of this very study."""
        parquet = needed("pyarrow.parquet", "a Parquet file", "study")
        try:
            kept = parquet.read_metadata(self.table)
            study = (kept.metadata or {}).get(b"study", b"").decode()
        except (OSError, ValueError):  # none, or a damaged one
            return False
        rows = self._plan.count * len(self._plan.modes)
        return bool(study == self._digest and kept.num_rows == rows)

    def save_table(self, table: StudyTable) -> Path:
        """Write the table as Parquet and return its path."""
        content = io.BytesIO()
        needed("pyarrow.parquet", "a Parquet file", "study").write_table(table.to_arrow(), content)
        write_whole(self.table, content.getvalue())
        return self.table

    def forget_runs(self) -> None:
        """Delete the files of single chunks."""
        shutil.rmtree(self._runs, ignore_errors=True)

    def _name(self, chunk: Chunk) -> str:
        return f"{self._digest}.{chunk.mode}.{chunk.start}-{chunk.stop}.npz"


def read_options(path: Path, known: set[str]) -> dict[str, Any]:
    """Read the options of a study file.

    Args:
        path: YAML, option: value.
        known: Names of all options.

    Raises:
        ArgumentError: If it cannot be read or names an unknown option.
    """
    options = read_yaml(path, ArgumentError, "'option: value' in lines, with a robot")
    if not isinstance(options, dict) or "robot" not in options:
        raise ArgumentError(f"{path}: a study file is 'option: value' in lines, with a robot")
    for name in options:
        if name not in known:
            raise ArgumentError(
                f"{path}: no option '{name}' of a study; known are {', '.join(sorted(known))}"
            )
    return options


def read_gains(path: str | Path, joint_names: Sequence[str]) -> Gains:
    """Read the gains of all joints.

    Args:
        path: YAML parameters of controller_node, or `gains` alone: p, i, d and i_clamp by joint.
        joint_names: Of the robot, in order.

    Raises:
        ArgumentError: If it cannot be read, lacks p or d of a joint, or holds invalid gains.
    """
    found: Any = read_yaml(path, ArgumentError, "p and d of every joint under gains")
    for key in ("controller_node", "ros__parameters", "gains"):
        found = found.get(key, found) if isinstance(found, dict) else {}
    found = found if isinstance(found, dict) else {}
    rows = []
    for name in joint_names:
        own = found.get(name)
        if not isinstance(own, dict) or not {"p", "d"} <= own.keys():
            raise ArgumentError(
                f"{path}: holds no gains of joint '{name}'; write {name}: {{p: 100.0, d: 10.0}} "
                "under gains, as parameters of controller_node have them"
            )
        rows.append([own["p"], own["d"], own.get("i", 0.0), own.get("i_clamp", np.inf)])
    try:
        kp, kd, ki, i_clamp = np.array(rows, dtype=np.float64).T
        return Gains(kp, kd, ki, i_clamp)
    except (TypeError, ValueError, RobotDynamicsError) as error:
        raise ArgumentError(f"{path}: {error}; give numbers, zero or more") from None
