"""Published studies, repeated: each figure a module, each statement a claim that is decided.

From the shell: ``python -m nearslot.experiments list``, ``run ew-fig4 --out figures``, ``run all``.
"""

from __future__ import annotations

import difflib

from ..errors import config_error
from . import (
    ew_fig1a,
    ew_fig1b,
    ew_fig2,
    ew_fig4,
    ew_fig5,
    ew_fig8,
    ew_fig11,
    ew_mechanisms,
    ew_models,
    ew_own,
)
from .frame import Claim, Experiment, Options, Outcome, summary
from .verdict import ClaimVerdict, Kind

__all__ = [
    "EXPERIMENTS",
    "GROUPS",
    "Claim",
    "ClaimVerdict",
    "Experiment",
    "Kind",
    "Options",
    "Outcome",
    "find",
    "summary",
]

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        ew_mechanisms.EXPERIMENT,
        ew_models.EXPERIMENT,
        ew_fig1a.EXPERIMENT,
        ew_fig1b.MIRRORS,
        ew_fig1b.STRIPED,
        ew_fig2.EXPERIMENT,
        ew_fig4.EXPERIMENT,
        ew_fig5.EXPERIMENT,
        ew_fig8.MIX,
        ew_fig8.QUEUE,
        ew_fig11.SMALL_BUFFER,
        ew_fig11.SYNCHRONOUS,
        ew_fig11.BIG_BUFFER,
        ew_own.EXPERIMENT,
    )
}
"""Every experiment by name."""

GROUPS: dict[str, list[str]] = {
    "eager-writing": [name for name in EXPERIMENTS if name.startswith("ew-")],
    "all": list(EXPERIMENTS),
}
"""Names that stand for several."""


def find(names: list[str]) -> list[Experiment]:
    """The experiments and groups of these names, each once.

    Raises:
        ConfigError: There is no such experiment; it names the nearest.
    """
    chosen: dict[str, Experiment] = {}
    for name in names:
        if name not in EXPERIMENTS and name not in GROUPS:
            known = [*EXPERIMENTS, *GROUPS]
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; {near[0]} is the nearest" if near else ""
            raise config_error("experiment", name, f"one of {', '.join(known)}{hint}")
        for one in GROUPS.get(name, [name]):
            chosen[one] = EXPERIMENTS[one]
    return list(chosen.values())
