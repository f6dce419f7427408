"""What an experiment goes by is what it says that it goes by; anything else is refused."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from nearslot.experiments.__main__ import main
from nearslot.experiments.frame import SEED_OPTIONS, Experiment
from nearslot.experiments.sarc import (
    STUDY,
    Options,
    anomaly,
    matrix,
    neighbours,
    own,
    saturation,
    scaling,
    sensitivity,
    setup,
    workload,
)

EXPERIMENTS = {one.name: one for one in STUDY.experiments}
READ: set[str] = set()


class Watched(Options):
    """Options that note which of them are read."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401
        """Notes it, but for what was changed by the experiment itself."""
        if name not in object.__getattribute__(self, "__dict__").get("_changed", ()):
            READ.add(name)
        return super().__getattribute__(name)


class Empty(dict[Any, Any]):
    """Knows of no run, without a look at what it is asked for."""

    def __contains__(self, key: object) -> bool:
        """Never."""
        return False


class AskedError(Exception):
    """A run was asked for, so its scenario is made."""


def quietly(options: Any, **changed: Any) -> Any:  # noqa: ANN401
    """The same with something changed, which reads nothing that decides a run."""
    before = set(READ)
    changed_one = replace(options, **changed)
    READ.clear()
    READ.update(before)
    # What the experiment says itself is not what it was asked.
    object.__setattr__(changed_one, "_changed", set(changed))
    return changed_one


def stop(*_: Any, **__: Any) -> None:  # noqa: ANN401
    """Nothing is run."""
    raise AskedError


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Options, in a study that runs nothing."""
    for module in (setup, sensitivity, saturation, scaling):
        monkeypatch.setattr(module, "replace", quietly)
    for module in (setup, anomaly, neighbours, own, workload):
        monkeypatch.setattr(module, "compare", stop)
    monkeypatch.setattr(setup, "_KNOWN", Empty())
    return Watched()


@pytest.mark.parametrize("experiment", STUDY.experiments, ids=lambda one: one.name)
def test_an_experiment_says_what_it_goes_by(
    experiment: Experiment[Options], watched: Watched
) -> None:
    READ.clear()
    cells = experiment.cells(watched)
    # Some from all over the grid: each is of one load and one cache.
    for cell in cells[:: max(1, len(cells) // 24)]:
        with pytest.raises(AskedError):
            cell.measure([1])
    asked = {one.name for one in fields(Options)} - {"quick"} - SEED_OPTIONS
    assert experiment.reads is not None
    assert experiment.reads - SEED_OPTIONS == READ & asked


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sarc-anomaly", "--scale", "4"], "scale = 4 (allowed: left out for sarc-anomaly"),
        (["sarc-anomaly", "--requests", "4000"], "requests = 4000 (allowed: left out"),
        (["sarc-own", "--threshold", "14"], "threshold = 14 (allowed: left out for sarc-own"),
        (["sarc-fig6", "sarc-table2", "--half", "both"], "left out for sarc-fig6, sarc-table2"),
        (["sarc-saturation", "--load-percent", "100"], "load-percent = 100"),
        (["sarc-neighbours", "--nvs-percent", "25"], "nvs-percent = 25"),
        (["sarc-scale", "--half", "both"], "half = both (allowed: left out for sarc-scale"),
    ],
)
def test_an_option_that_no_chosen_experiment_goes_by_is_refused(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words]) == 2
    assert told in capsys.readouterr().err


def test_recorded_traces_that_are_missing_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(matrix, "TPCC", tmp_path / "tpcc.csv")
    monkeypatch.setattr(matrix, "POSTGRES", tmp_path / "postgres.txt.gz")
    told = EXPERIMENTS["sarc-own"].told_left_out(Options())
    assert told.startswith("without the points of vm, tpcc, postgres, ")
    assert not {"vm", "tpcc", "postgres"} & {one.load for one in matrix.points("x", "")}


def test_points_that_another_drive_has_not_are_told() -> None:
    left_out = EXPERIMENTS["sarc-own"].told_left_out
    assert "spc1" not in left_out(Options())
    assert left_out(Options(drive="modern-20tb")).endswith("shares of a scsi-10k-73gb")
    assert "spc1" not in {one.load for one in matrix.points("modern-20tb", "")}
    assert "spc1" in {one.load for one in matrix.points(Options.drive, "")}
