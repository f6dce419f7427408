"""The file-system experiments in short runs: what holds, and that faults in them are seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from nearslot import Scenario
from nearslot.experiments import EXPERIMENTS, ClaimVerdict
from nearslot.experiments.range_writes import STUDY, Options, files
from nearslot.experiments.statement import Found
from nearslot.experiments.table import Cell, Row, Table
from nearslot.experiments.verdict import Where
from nearslot.runs import Run

STATEMENTS = {one.id: (of.name, one) for of in STUDY.experiments for one in of.statements}
Planted = Callable[[str], str]
"""A fault in a run: its load becomes this."""


def offers_nothing(load: str) -> str:
    """The host chooses all places."""
    return load.replace("offer=mini-group", "offer=none")


def offers_the_group(load: str) -> str:
    """The mini-group of the policy is not kept to."""
    return load.replace("offer=mini-group", "offer=group")


def one_process(load: str) -> str:
    """All files are of one process."""
    return load.replace(f"processes={files.SEVERAL}", "processes=1")


def never_fuller(load: str) -> str:
    """No group is more than half full."""
    for fill in (0.6, 0.7, 0.8, 0.9):
        load = load.replace(f"fill={fill}", "fill=0.5")
    return load


@cache
def rows_of(home: str, fault: Planted | None) -> list[Row]:
    """Rows of an experiment with a fault in its runs."""
    simulated = files.simulated

    def with_fault(marks: Where, one: Scenario, numbers: Callable[[Run], Row]) -> Cell:
        assert isinstance(one.workload, str)
        load = one.workload if fault is None else fault(one.workload)
        return simulated(marks, one.replace(workload=load), numbers)

    options = Options(seeds=2, quick=True, tree_files=500)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "simulated", with_fault)
        cells = EXPERIMENTS[home].cells(options)
    return [row for cell in cells for row in cell.measure(options.all_seeds)]


def planted(name: str, fault: Planted | None) -> Found:
    """What a claim says of runs with a fault in them."""
    home, statement = STATEMENTS[name]
    return statement.judge(Table(rows_of(home, fault)))


@pytest.mark.parametrize(
    ("name", "fault"),
    [("D2", offers_nothing), ("D2", one_process), ("D3", offers_the_group), ("D5", never_fuller)],
)
def test_a_fault_in_the_runs_turns_a_claim(name: str, fault: Planted) -> None:
    assert planted(name, fault).verdict is ClaimVerdict.FAILS


def test_without_offers_there_is_nothing_to_count() -> None:
    with pytest.raises(KeyError, match="offered"):
        planted("D10", offers_nothing)


@pytest.mark.parametrize("name", ["D2", "D3", "D10"])
def test_without_a_fault_it_holds(name: str) -> None:
    found = planted(name, None)
    assert found.verdict is ClaimVerdict.HOLDS, [check.told() for check in found.checks]
