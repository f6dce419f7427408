"""What an experiment goes by is what it says that it goes by; the rest changes no run of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nearslot.errors import ConfigError
from nearslot.experiments.bfq import STUDY, Options
from nearslot.experiments.frame import SEED_OPTIONS, Experiment

EXPERIMENTS = {one.name: one for one in STUDY.experiments}
CHANGED: dict[str, Any] = {
    "hitachi": "modern-20tb",
    "seagate": "modern-20tb",
    "plextor": "sata-tlc-500gb",
    "fast": "sata-tlc-500gb",
    "limit_s": 50.0,
    "memory": "2GiB",
    "drive": "modern-20tb",
    "requests": 4_321,
}


Asking = Callable[[Experiment[Options], Options], list[str]]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_goes_by_what_it_says(name: str, asked_for: Asking) -> None:
    experiment = EXPERIMENTS[name]
    plain = asked_for(experiment, Options())
    assert set(CHANGED) | SEED_OPTIONS == set(Options.asked())
    for key, value in CHANGED.items():
        changed = asked_for(experiment, replace(Options(), **{key: value}))
        assert (changed != plain) == experiment.goes_by(key), key


def test_every_point_has_marks_of_its_own() -> None:
    for experiment in EXPERIMENTS.values():
        marks = [tuple(sorted(cell.marks.items())) for cell in experiment.cells(Options())]
        assert len(marks) == len(set(marks)), experiment.name


def test_a_limit_has_bounds() -> None:
    with pytest.raises(ConfigError, match="limit-s"):
        Options(limit_s=0.5)
