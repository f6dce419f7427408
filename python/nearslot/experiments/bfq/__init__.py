"""BFQ and its responsiveness benchmark: start-ups beside greedy readers and writers.

Each module is a question; `setup` has the host, the loads and the schedulers of all of them.
"""

from __future__ import annotations

from ..frame import Study
from . import ablations, causes, costs, kernel, sharing, startups, volumes
from .options import Options

__all__ = ["STUDY", "Options"]

STUDY = Study(
    name="bfq",
    options=Options,
    experiments=(
        startups.EXPERIMENT,
        causes.EXPERIMENT,
        ablations.EXPERIMENT,
        sharing.EXPERIMENT,
        kernel.EXPERIMENT,
        costs.EXPERIMENT,
        volumes.EXPERIMENT,
    ),
)
