"""Studies: run thousands of closed loops to find how much model error the limits allow."""

from robot_dynamics.study.distributions import SAMPLINGS, Distribution, distribution_of
from robot_dynamics.study.executor import in_process, in_processes, on_dask, study
from robot_dynamics.study.plan import MOTIONS, RunLimits, StudyPlan
from robot_dynamics.study.quantities import QUANTITIES
from robot_dynamics.study.runs import Chunk
from robot_dynamics.study.statistics import first_order, part, parts, quantiles, sobol_indices
from robot_dynamics.study.study_table import StudyTable

__all__ = [
    "MOTIONS",
    "QUANTITIES",
    "SAMPLINGS",
    "Chunk",
    "Distribution",
    "RunLimits",
    "StudyPlan",
    "StudyTable",
    "distribution_of",
    "first_order",
    "in_process",
    "in_processes",
    "on_dask",
    "part",
    "parts",
    "quantiles",
    "sobol_indices",
    "study",
]
