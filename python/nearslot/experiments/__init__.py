"""Published studies, repeated: each figure a module, each statement a claim that is decided.

From the shell: ``python -m nearslot.experiments list``, ``run ew-fig4 --out figures``, ``run all``.
A study is a folder; its modules stand on what all studies share, which is beside this file.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from ..errors import config_error
from . import bfq, eager_writing, logs, range_writes, sarc
from .frame import Claim, Experiment, Options, Outcome, Study, summary
from .verdict import ClaimVerdict, Kind

__all__ = [
    "EXPERIMENTS",
    "STUDIES",
    "Claim",
    "ClaimVerdict",
    "Experiment",
    "Kind",
    "Options",
    "Outcome",
    "Study",
    "find",
    "summary",
]

STUDIES: tuple[Study[Any], ...] = (
    eager_writing.STUDY,
    sarc.STUDY,
    bfq.STUDY,
    range_writes.STUDY,
    logs.STUDY,
)
"""Every study."""

EXPERIMENTS: dict[str, Experiment[Any]] = {
    one.name: one for study in STUDIES for one in study.experiments
}
"""Every experiment by name."""


def find(
    names: Sequence[str], studies: Sequence[Study[Any]] = STUDIES
) -> list[tuple[Study[Any], Experiment[Any]]]:
    """The experiments of these names with their studies, each once.

    The name of a study stands for its experiments, and `all` for all there are.

    Raises:
        ConfigError: There is no such experiment; it names the nearest.
    """
    every = {one.name: (study, one) for study in studies for one in study.experiments}
    groups = {study.name: [one.name for one in study.experiments] for study in studies}
    groups["all"] = list(every)
    chosen: dict[str, tuple[Study[Any], Experiment[Any]]] = {}
    for name in names:
        if name not in every and name not in groups:
            known = [*every, *groups]
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; {near[0]} is the nearest" if near else ""
            raise config_error("experiment", name, f"one of {', '.join(known)}{hint}")
        for one in groups.get(name, [name]):
            chosen[one] = every[one]
    return list(chosen.values())
