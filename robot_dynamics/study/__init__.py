"""Many closed loops side by side: how wrong the model may be before a limit is broken."""

from robot_dynamics.study.conduct import in_process, on_dask, study
from robot_dynamics.study.plan import MOTIONS, Limits, StudyPlan
from robot_dynamics.study.quantities import QUANTITIES
from robot_dynamics.study.runs import Chunk
from robot_dynamics.study.spreads import SAMPLINGS, Spread, spread_of
from robot_dynamics.study.statistics import first_order, part, parts, quantiles, sobol_indices
from robot_dynamics.study.study_table import StudyTable

__all__ = [
    "MOTIONS",
    "QUANTITIES",
    "SAMPLINGS",
    "Chunk",
    "Limits",
    "Spread",
    "StudyPlan",
    "StudyTable",
    "first_order",
    "in_process",
    "on_dask",
    "part",
    "parts",
    "quantiles",
    "sobol_indices",
    "spread_of",
    "study",
]
