"""What an experiment goes by is what it says that it goes by; the rest changes no run of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nearslot.errors import ConfigError
from nearslot.experiments.frame import SEED_OPTIONS, Experiment
from nearslot.experiments.range_writes import STUDY, Options

EXPERIMENTS = {one.name: one for one in STUDY.experiments}
CHANGED: dict[str, Any] = {
    "drive": "seagate-cheetah-9lp",
    "requests": 4_321,
    "group_block": 960,
    "middle_block": 960_000,
    "track_blocks": 92,
    "command_ms": 0.5,
    "fixed_ms": 1.0,
    "bus_ms": 0.1,
    "transactions": 2_543,
    "journal_drive": "hitachi-7200-90mb",
    "journal_block": 1_000,
    "journal_track_blocks": 1_700,
    "ext2_group_blocks": 4_096,
    "tree_files": 1_234,
    "modern": "desktop-7200-90mb",
    "modern_track_blocks": 1_000,
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


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("track_blocks", 4),
        ("modern_track_blocks", 0),
        ("transactions", 1_999),
        ("tree_files", 0),
        ("command_ms", -1.0),
        ("bus_ms", 1e3),
    ],
)
def test_options_have_bounds(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=key.replace("_", "-")):
        Options(**{key: value})  # type: ignore[arg-type]
