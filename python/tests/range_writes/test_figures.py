"""The study, small: that it runs, decides and is drawn, and that faults in its runs are seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from nearslot import Scenario, run
from nearslot.experiments import EXPERIMENTS, ClaimVerdict
from nearslot.experiments.__main__ import main
from nearslot.experiments.range_writes import STUDY, Options, fig8, setup
from nearslot.experiments.statement import Found
from nearslot.experiments.table import Cell, Row, Table
from nearslot.experiments.verdict import Where
from nearslot.runs import Run

SMALL = ["--quick", "--seeds", "2"]
ONE_SEED = {"rw-allocator", "rw-overwrites", "rw-files-today", "rw-reread", "rw-fig4-6"}
"""Their cells take a third of the time of all; one seed decides nothing, but goes all ways."""
STATEMENTS = {one.id: (of.name, one) for of in STUDY.experiments for one in of.statements}


@pytest.mark.parametrize("name", [one.name for one in STUDY.experiments])
def test_an_experiment_decides_all_its_claims_and_is_drawn(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = ["--requests", "1000"] if EXPERIMENTS[name].goes_by("requests") else []
    seeds = ["--seeds", "1"] if name in ONE_SEED else []
    small = [*SMALL, *requests, *seeds, "--format", "json", "--out", str(tmp_path)]
    assert main(["run", name, *small]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {claim["id"] for claim in found["claims"]} == {
        one.id for one in EXPERIMENTS[name].statements
    }
    for claim in found["claims"]:
        assert claim["verdict"] is None or claim["checks"], claim["id"]
    drawn = EXPERIMENTS[name].draw is not None
    assert (tmp_path / f"{name}.svg").exists() == drawn


Planted = Callable[[str, str], tuple[str, str]]
"""A fault in a run: its load and its scheduler become these."""


def in_place(load: str, sched: str) -> tuple[str, str]:
    """No range is offered."""
    for around in ("track", "span", "100", "4096"):
        load = load.replace(f"within={around}", "within=place")
    return load, sched


def by_arrival(load: str, sched: str) -> tuple[str, str]:
    """Who came first goes first."""
    return load, "fcfs"


def sees_one(load: str, sched: str) -> tuple[str, str]:
    """The scheduler sees one request: the host has no more in flight."""
    for depth in ("16", "64"):
        load = load.replace(f"depth={depth}:", "depth=1:")
    return load, sched


def chooses_late(load: str, sched: str) -> tuple[str, str]:
    """The next request comes before the drive chooses."""
    return load.replace("refill=after", "refill=before"), sched


def one_target(load: str, sched: str) -> tuple[str, str]:
    """All targets but one are left out."""
    return load.replace("targets=64", "targets=1"), sched


def one_option(load: str, sched: str) -> tuple[str, str]:
    """A track is expanded to one place, however many were asked for."""
    return load, "expand:options=1" if sched.startswith("expand") else sched


def all_options(load: str, sched: str) -> tuple[str, str]:
    """A track is expanded to all of its places."""
    return load, "expand" if sched.startswith("expand") else sched


@cache
def rows_of(home: str, fault: Planted | None) -> list[Row]:
    """Rows of short runs of an experiment with a fault in them."""
    simulated = setup.simulated

    def with_fault(marks: Where, one: Scenario, numbers: Callable[[Run], Row]) -> Cell:
        assert isinstance(one.workload, str)
        assert isinstance(one.sched, str)
        load, sched = one.workload, one.sched
        if fault is not None:
            load, sched = fault(load, sched)
        return simulated(marks, one.replace(workload=load, sched=sched), numbers)

    options = Options(requests=1_500, seeds=3, quick=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "simulated", with_fault)
        cells = EXPERIMENTS[home].cells(options)
    # Rows of 4 KiB decide nothing here: those of a sector stand in for them.
    rows = [
        row
        for cell in cells
        if cell.marks["bytes"] == setup.SECTOR
        for row in cell.measure(options.all_seeds)
    ]
    return [*rows, *({**row, "bytes": setup.BLOCK} for row in rows)]


def planted(name: str, fault: Planted | None) -> Found:
    """What a claim says of short runs with a fault in them."""
    home, statement = STATEMENTS[name]
    return statement.judge(Table(rows_of(home, fault)))


FAULTS: list[tuple[str, Planted]] = [
    ("C2", by_arrival),
    ("C2", sees_one),
    ("C4", chooses_late),
    ("C5", in_place),
    ("C6", in_place),
    ("C7", in_place),
    ("C9", in_place),
    ("M1", by_arrival),
    ("C13", one_target),
    ("C14", one_target),
    ("C15", in_place),
    ("C16", in_place),
    ("C17", sees_one),
    ("B7", one_option),
    ("B8", all_options),
    ("B8", in_place),
    ("M5", all_options),
]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_fault_in_the_runs_turns_a_claim(name: str, fault: Planted) -> None:
    assert planted(name, fault).verdict is ClaimVerdict.FAILS


@pytest.mark.parametrize("name", ["C2", "C4", "C5", "C6", "C9", "C16", "B7", "B8"])
def test_without_a_fault_it_holds(name: str) -> None:
    found = planted(name, None)
    assert found.verdict is ClaimVerdict.HOLDS, [check.told() for check in found.checks]


@pytest.mark.parametrize("count", fig8.OPTIONS[:-1])
def test_so_many_options_are_so_many_places(count: str) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow

    options = Options(requests=1_000)
    load = setup.load(
        options, within=setup.GROUP, size=setup.SECTOR, span_blocks=options.track_blocks, depth=1
    )
    asked = Scenario(workload=load, drive=setup.drive(options), sched=fig8.sched(count))
    found = run(asked, series=False, commands=True)
    commands = pyarrow.table(found.commands)
    places = set(commands.column("pba").to_pylist())
    apart = options.track_blocks // int(count)
    assert places <= {number * apart for number in range(int(count))}
    assert len(places) == 1 if count == "1" else len(places) > 1
