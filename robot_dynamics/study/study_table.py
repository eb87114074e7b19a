"""The table of a study: one row per run, columns with names and units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.control.laws import TASK_MODES
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import needed
from robot_dynamics.robot.joint_units import joint_unit
from robot_dynamics.study.plan import StudyPlan, names_of
from robot_dynamics.study.quantities import QUANTITIES
from robot_dynamics.study.runs import Chunk, Columns

GROWTH = 1.5
"""Largest growth of the mean square speed at rest for a loop that counts as stable."""

RESTLESS = 0.1
"""Largest speed at rest of a stable loop, root mean square of all joints, rad/s."""

QUIET = 1e-6
"""Speed below which growth is round-off, rad/s."""

CRITERIA = ("error", "saturation", "stability", "stops", "end_effector")
"""Criteria of a run; each has a column `ok[...]`."""


OF_JOINTS = {"rms_error": "position", "peak_error": "position", "peak_effort": "effort"}
"""Columns of each joint that have a unit, and their quantities."""

END_EFFECTOR_PARTS = {"position": "m", "rotation": "rad"}
"""Parts of the error of the end effector, with their units."""


def result_of(mode: str) -> str:
    """Return the column of the largest error of what a mode controls: joints or end effector."""
    return "end_effector_peak_position" if mode in TASK_MODES else "error"


@dataclass(frozen=True, eq=False)
class StudyTable:
    """Results of a study, one row per run and mode.

    Args:
        columns: Arrays of one length by name.
        units: Units of the columns that have one.
        plan: The study.
    """

    columns: Mapping[str, Array]
    units: Mapping[str, str]
    plan: StudyPlan

    def __len__(self) -> int:
        return len(self.columns["run"])

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def of_mode(self, mode: str) -> StudyTable:
        """Return the rows of one mode.

        Args:
            mode: Name of the mode.

        Returns:
            Table of these rows.
        """
        rows = self.columns["mode"] == mode
        return StudyTable({k: v[rows] for k, v in self.columns.items()}, self.units, self.plan)

    def worst(self, count: int = 5) -> Array:
        """Find the worst runs: failed runs first, then those of the largest error.

        Args:
            count: Number of runs.

        Returns:
            Row numbers, worst first, shape (count,).
        """
        leads = np.isin(self["mode"], list(TASK_MODES))
        error = np.where(leads, self["end_effector_peak_position"], self["error"])
        order = np.lexsort((-error, -self["failed"].astype(int)))
        return np.asarray(order[:count])

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with units in the metadata of its columns.

        Raises:
            MissingPackageError: If pyarrow is not installed.
        """
        arrow = needed("pyarrow", "a Parquet file", "study")
        fields = []
        for name, values in self.columns.items():
            kind = arrow.from_numpy_dtype(values.dtype) if values.dtype.kind != "U" else "string"
            kind = arrow.string() if kind == "string" else kind
            unit = self.units.get(name)
            fields.append(arrow.field(name, kind, metadata={"unit": unit} if unit else None))
        schema = arrow.schema(fields, metadata={"study": self.plan.digest()})
        return arrow.table([arrow.array(v) for v in self.columns.values()], schema=schema)


def table_of(plan: StudyPlan, chunks: Mapping[Chunk, Columns]) -> StudyTable:
    """Build the table from the results of all chunks that are done."""
    order = sorted(chunks)
    found = {name: np.concatenate([chunks[c][name] for c in order]) for name in chunks[order[0]]}
    runs = np.concatenate([np.arange(c.start, c.stop) for c in order])
    modes = np.concatenate([np.full(c.stop - c.start, c.mode) for c in order])
    columns: dict[str, Array] = {
        "run": runs,
        "mode": np.array(plan.modes)[modes],
        "motion": np.array(names_of(plan.motions))[runs % len(plan.motions)],
        "seed": plan.keys(0, int(runs.max()) + 1)[runs],
    }
    units: dict[str, str] = {}
    for name, values in plan.values().items():
        for column, one in zip(QUANTITIES[name].columns(name, plan.robot), values.T, strict=True):
            columns[column], units[column] = one[runs], QUANTITIES[name].unit
    _add_joints(plan, found, columns, units)
    _add_end_effector(found, columns, units)
    _judge(plan, found, columns, units)
    return StudyTable(columns, units, plan)


def _add_joints(
    plan: StudyPlan, found: Columns, columns: dict[str, Array], units: dict[str, str]
) -> None:
    """Add the columns of each joint."""
    counted = np.maximum(found["counted"], 1.0)
    kinds = {
        "rms_error": np.sqrt(found["square_error"] / counted),
        "peak_error": found["peak_error"],
        "peak_effort": found["peak_effort"],
        "saturated": found["saturated"] / counted,
        "at_stop": found["stopped"] / counted,
    }
    for kind, values in kinds.items():
        for joint, one in zip(plan.robot.joint_names, values.T, strict=True):
            quantity = OF_JOINTS.get(kind)
            columns[f"{kind}[{joint}]"] = one
            units[f"{kind}[{joint}]"] = (
                joint_unit(plan.robot.joint(joint), quantity) if quantity else "1"
            )


def _add_end_effector(found: Columns, columns: dict[str, Array], units: dict[str, str]) -> None:
    """Add the columns of the end effector: largest and root mean square errors."""
    counted = np.maximum(found["counted"], 1.0)[:, 0]
    for part, unit in END_EFFECTOR_PARTS.items():
        columns[f"end_effector_peak_{part}"] = found[f"end_effector_peak_{part}"][:, 0]
        columns[f"end_effector_rms_{part}"] = np.sqrt(
            found[f"end_effector_square_{part}"][:, 0] / counted
        )
        units |= {f"end_effector_peak_{part}": unit, f"end_effector_rms_{part}": unit}


def _judge(
    plan: StudyPlan, found: Columns, columns: dict[str, Array], units: dict[str, str]
) -> None:
    """Add the columns that say which limits each run respects."""
    counted = np.maximum(found["counted"], 1.0)[:, 0]
    rested = np.maximum(0.5 * plan.rest * counted, 1.0)
    early, late = found["early"][:, 0] / rested, found["late"][:, 0] / rested
    grows = (late > GROWTH * early) & (late > QUIET**2)
    alive = found["alive"][:, 0] > 0.0
    columns["error"] = found["peak_error"].max(axis=1)
    columns["saturation"] = (found["saturated"] / counted[:, None]).max(axis=1)
    columns["speed_at_rest"] = np.sqrt(late)
    columns["lived"] = found["lived"][:, 0] * plan.plant_step
    units |= {"error": "rad or m", "saturation": "1", "speed_at_rest": "rad/s", "lived": "s"}
    held = {
        # The joints of an arm whose end effector is led may take another way
        "error": (columns["error"] <= plan.limits.error)
        | np.isin(columns["mode"], list(TASK_MODES)),
        "saturation": columns["saturation"] <= plan.limits.saturation,
        "stability": alive & ~grows & (late <= RESTLESS**2),
        "stops": ~(found["stopped"] > 0.0).any(axis=1),
        "end_effector": np.all(
            [
                columns[f"end_effector_peak_{x}"] <= getattr(plan.limits, f"end_effector_{x}")
                for x in END_EFFECTOR_PARTS
            ],
            axis=0,
        ),
    }
    for name in CRITERIA:
        columns[f"ok[{name}]"] = held[name] & alive
    columns["failed"] = ~np.all([columns[f"ok[{name}]"] for name in CRITERIA], axis=0)
