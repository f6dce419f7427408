"""The allocator of our own in short runs: what it is to do, and that it is seen if it does not."""

from __future__ import annotations

from functools import cache

import pytest

from nearslot.experiments.range_writes import Options, allocator
from nearslot.experiments.table import Table

WHERE = {"on": allocator.TODAY, "fill": 0.5, "load": "1,000 files of 4 KiB by 16 processes"}


@cache
def table(offer: str) -> Table:
    """A cell in all ways, and what this offer makes of ours."""
    options = Options(seeds=2, quick=True)
    with pytest.MonkeyPatch.context() as patch:
        ways = {**allocator.WAYS, allocator.OURS: {"offer": offer}}
        patch.setattr(allocator, "WAYS", ways)
        cells = [allocator.cell(options, WHERE, way) for way in ways]
    return Table(row for cell in cells for row in cell.measure(options.all_seeds))


def test_it_writes_and_reads_sooner_in_long_writes() -> None:
    found = table("runs")
    assert allocator.longer(found, "work_s", WHERE, allocator.PAPER).value > 0.5
    assert allocator.reads(found, WHERE, allocator.CLASSIC).value < -0.5
    ours, papers = (
        found.mean("data_writes", way=way, **WHERE).value
        for way in (allocator.OURS, allocator.PAPER)
    )
    assert ours < 0.5 * papers


def test_another_offer_in_its_place_is_no_gain() -> None:
    found = table("mini-group")
    assert allocator.longer(found, "work_s", WHERE, allocator.PAPER).value == 0
    assert allocator.reads(found, WHERE, allocator.PAPER).value == 0


def test_classic_writes_in_its_place_lose() -> None:
    found = table("none")
    assert allocator.longer(found, "work_s", WHERE, allocator.PAPER).value < 0
    assert allocator.reads(found, WHERE, allocator.CLASSIC).value == 0
