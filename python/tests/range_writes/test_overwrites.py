"""Overwrites in short runs: what holds, that faults in them are seen, and what a trace is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from nearslot import Scenario
from nearslot.experiments import ClaimVerdict
from nearslot.experiments.range_writes import Options, overwrites
from nearslot.experiments.table import Cell, Row, Table
from nearslot.experiments.verdict import Check, Where
from nearslot.runs import Run

STATEMENTS = {one.id: one for one in overwrites.STATEMENTS}
Planted = Callable[[str], str]
"""A fault in a run: its placement becomes this."""


def offers_nothing(place: str) -> str:
    """Overwrites stay where they are."""
    return "linear"


def offers_a_track(place: str) -> str:
    """All offers are as narrow as a track."""
    for around in ("group", "disk"):
        place = place.replace(f"within={around}", "within=track")
    return place


def eager_stays(place: str) -> str:
    """Eager writing is none."""
    return "linear" if place.startswith("eager") else place


@cache
def rows_of(fault: Planted | None) -> tuple[Row, ...]:
    """Rows of points that O1, O2 and O5 look at, on the drive of the paper, one in flight."""
    simulated = overwrites.simulated

    def with_fault(marks: Where, one: Scenario, numbers: Callable[[Run], Row]) -> Cell:
        assert isinstance(one.place, str)
        place = one.place if fault is None else fault(one.place)
        return simulated(marks, one.replace(place=place), numbers)

    looked_at: Where = {
        "on": overwrites.PAPER,
        "share": overwrites.ONCE,
        "depth": 1,
        "reader": overwrites.SHORT,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overwrites, "simulated", with_fault)
        cells = [one for one in overwrites.cells(Options(quick=True)) if one.fits(looked_at)]
        rows = [row for cell in cells for row in cell.measure((1, 2, 3))]
    # The other points decide nothing here: these stand in for them.
    return tuple(
        {**row, "on": on, "depth": depth, "share": share}
        for row in rows
        for on in overwrites.PART_MIB
        for share in overwrites.SHARES
        for depth in overwrites.DEPTHS
    )


def parts(name: str, fault: Planted | None) -> list[Check]:
    """What a claim says of these runs, but for the last step, which is none for so few blocks."""
    checks = STATEMENTS[name].judge(Table(rows_of(fault))).checks
    last = (f"longer than {overwrites.DISK}", f"longer than {overwrites.MIB_128}")
    return [check for check in checks if not check.what.endswith(last)]


@pytest.mark.parametrize("name", ["O1", "O2", "O5"])
def test_without_a_fault_nothing_is_against_it(name: str) -> None:
    # So small a part is less than a group of 8 MiB, which leaves a step of O2 undecided.
    against = [check.told() for check in parts(name, None) if check.verdict is ClaimVerdict.FAILS]
    assert not against


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("O1", offers_nothing),
        ("O1", offers_a_track),
        ("O2", offers_nothing),
        ("O2", offers_a_track),
        ("O5", eager_stays),
    ],
)
def test_a_fault_in_the_runs_turns_a_claim(name: str, fault: Planted) -> None:
    assert ClaimVerdict.FAILS in {check.verdict for check in parts(name, fault)}


def test_all_ways_are_asked_the_same_and_each_seed_something_else() -> None:
    lines = {seed: overwrites.trace(1, 0.5, 1 << 17, seed).read_text().split() for seed in (1, 2)}
    assert overwrites.trace(1, 0.5, 1 << 17, 1) is overwrites.trace(1, 0.5, 1 << 17, 1)
    for found in lines.values():
        asked = [line.split(",") for line in found[1:]]
        assert [op for _, op, _, _ in asked] == ["W"] * 128 + ["R"] * 8
        assert all(int(at) % 4_096 == 0 and int(at) < 1 << 20 for _, _, at, _ in asked)
        assert [int(at) for _, op, at, _ in asked if op == "R"] == list(range(0, 1 << 20, 1 << 17))
    assert lines[1] != lines[2]


def test_reads_take_what_is_left() -> None:
    alone = {"seed": 1, "write_ms": 4.0, "took_s": 2.0, "commands": 0, "failed": 0}
    both = {"seed": 1, "write_ms": 9.0, "took_s": 2.5, "commands": 24, "failed": 0}
    found = overwrites.phases(alone, both, 1 << 20, 8)
    assert (found["write_ms"], found["read_s"], found["pieces"]) == (4.0, 0.5, 3.0)
    assert found["read_mb_s"] == pytest.approx(2.097152)
