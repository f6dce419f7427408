"""Range writes: a write lands where that is quickest, within what its host offers (OSDI 2008).

Each figure or set of statements is a module; `setup` has the loads and the drive of all of them.
"""

from __future__ import annotations

from ..frame import Study
from . import (
    allocator,
    best,
    fig4_6,
    fig7,
    fig8,
    fig9_10,
    fig11,
    files_today,
    journal,
    overwrites,
    profile,
    reread,
    table2,
    targets,
    today,
    zones,
)
from .options import Options

__all__ = ["STUDY", "Options"]

STUDY = Study(
    name="range-writes",
    options=Options,
    experiments=(
        fig4_6.EXPERIMENT,
        targets.EXPERIMENT,
        fig7.EXPERIMENT,
        fig8.EXPERIMENT,
        best.EXPERIMENT,
        journal.EXPERIMENT,
        profile.EXPERIMENT,
        today.EXPERIMENT,
        fig9_10.EXPERIMENT,
        fig11.EXPERIMENT,
        table2.EXPERIMENT,
        reread.EXPERIMENT,
        files_today.EXPERIMENT,
        zones.EXPERIMENT,
        overwrites.EXPERIMENT,
        allocator.EXPERIMENT,
    ),
)
