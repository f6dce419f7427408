"""Eager writing: a block goes to whichever free slot the heads reach first (FAST 2002, OSDI 1999).

Each figure, and each set of statements without one, is a module; `rules` checks single decisions.
"""

from __future__ import annotations

from ..frame import Study
from . import fig1a, fig1b, fig2, fig4, fig5, fig8, fig11, mechanisms, models, own
from .options import Options

__all__ = ["STUDY", "Options"]

STUDY = Study(
    name="eager-writing",
    options=Options,
    experiments=(
        mechanisms.EXPERIMENT,
        models.EXPERIMENT,
        fig1a.EXPERIMENT,
        fig1b.MIRRORS,
        fig1b.STRIPED,
        fig2.EXPERIMENT,
        fig4.EXPERIMENT,
        fig5.EXPERIMENT,
        fig8.MIX,
        fig8.QUEUE,
        fig11.SMALL_BUFFER,
        fig11.SYNCHRONOUS,
        fig11.BIG_BUFFER,
        own.EXPERIMENT,
    ),
)
