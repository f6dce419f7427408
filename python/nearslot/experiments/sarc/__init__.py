"""SARC: one cache for sequences and the rest, and who gets how much of it (USENIX 2005).

Each figure or table is a module; `setup` has the system that all of them run on.
"""

from __future__ import annotations

from ..frame import Study
from . import (
    anomaly,
    fig6,
    fig7,
    neighbours,
    own,
    saturation,
    scaling,
    sensitivity,
    table2,
    workload,
)
from .options import Options

__all__ = ["STUDY", "Options"]

STUDY = Study(
    name="sarc",
    options=Options,
    experiments=(
        workload.EXPERIMENT,
        anomaly.EXPERIMENT,
        table2.EXPERIMENT,
        fig6.EXPERIMENT,
        fig7.EXPERIMENT,
        saturation.EXPERIMENT,
        sensitivity.EXPERIMENT,
        scaling.EXPERIMENT,
        neighbours.EXPERIMENT,
        own.EXPERIMENT,
    ),
)
