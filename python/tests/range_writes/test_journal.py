"""Faults in runs of the journal turn its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from nearslot import ConfigError, Scenario, _native
from nearslot.experiments import ClaimVerdict, table
from nearslot.experiments.range_writes import Options, journal
from nearslot.experiments.statement import Found
from nearslot.experiments.table import Cell, Row, Table
from nearslot.experiments.verdict import Where
from nearslot.runs import Run

OPTIONS = Options(transactions=2_000, seeds=2, quick=True)
JUDGES = {"E1": journal.nearly_a_turn, "E3": journal.cached, "E5": journal.no_leak}

Planted = Callable[[str], str]
"""A fault in a run: its load becomes this."""


def decides(name: str, marks: Mapping[str, object]) -> bool:
    """Whether a point decides a claim."""
    if name == "E1":
        return "wait_us" in marks
    if name == "E5":
        return "journal" in marks
    return marks["on"] == journal.OWN and marks.get("tables") == journal.CACHED


def judged(name: str, fault: Planted) -> Found:
    """What a claim says of short runs with a fault in them."""
    simulated = table.simulated

    def with_fault(marks: Where, one: Scenario, numbers: Callable[[Run], Row]) -> Cell:
        assert isinstance(one.workload, str)
        return simulated(marks, one.replace(workload=fault(one.workload)), numbers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "simulated", with_fault)
        cells = journal.cells(OPTIONS)
    some = [cell for cell in cells if decides(name, cell.marks)]
    rows = [row for cell in some for row in cell.measure(OPTIONS.all_seeds)]
    return JUDGES[name](Table(rows))


def no_fault(load: str) -> str:
    """As it is."""
    return load


def skips_nothing(load: str) -> str:
    """A log that was to skip has a place for each block."""
    words = load.split(":")
    of_table = ("skip=", "think_", "skip_", "repeats=", "space=")
    kept = [word for word in words if not word.startswith(of_table)]
    return load if "skip=profile" not in words else ":".join(kept)


def waits_longer(load: str) -> str:
    """Each commit block comes four milliseconds after its data, whatever it was to be."""
    return ":".join("commit_wait_us=4000" if "commit_wait" in w else w for w in load.split(":"))


def too_few(load: str) -> str:
    """The journal never comes to its end ten times."""
    return load.replace("transactions=2000", "transactions=100")


@pytest.mark.parametrize("name", JUDGES)
def test_without_a_fault_it_holds(name: str) -> None:
    found = judged(name, no_fault)
    assert found.verdict is ClaimVerdict.HOLDS, [check.told() for check in found.checks]


@pytest.mark.parametrize(
    ("name", "fault"), [("E1", waits_longer), ("E3", skips_nothing), ("E5", too_few)]
)
def test_a_fault_in_the_runs_turns_a_claim(name: str, fault: Planted) -> None:
    assert judged(name, fault).verdict is ClaimVerdict.FAILS


def test_a_table_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"blocks = 20 .allowed: at least 28"):
        _native.skip_profile(
            "hp-c2247a",
            first=0,
            blocks=20,
            think_step_us=100,
            thinks=2,
            skip_step=10,
            skips=3,
            repeats=1,
        )


def test_a_run_whose_journal_gave_up_has_no_numbers() -> None:
    run = SimpleNamespace(label="skip=none", measures={"workload": {"gave_up": 1}})
    with pytest.raises(RuntimeError, match="skip=none: the journal gave up"):
        journal.numbers(cast("Run", run))
