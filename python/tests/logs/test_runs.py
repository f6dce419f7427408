"""The two logs in short runs: what they are to do, and that it is seen if they do not."""

from __future__ import annotations

from functools import cache

import pytest

from nearslot.experiments.logs import Options, matrix
from nearslot.experiments.range_writes import allocator
from nearslot.experiments.table import Table

WHERE = {"on": allocator.DRIVES[1], "used": 0.5, "load": matrix.SMALL}


@cache
def table(layout: str) -> Table:
    """A cell in three ways, and what this layout makes of the log that offers."""
    options = Options(seeds=2, quick=True)
    with pytest.MonkeyPatch.context() as patch:
        offers = matrix.FREE if layout == "free" else matrix.WAYS[layout]
        patch.setattr(matrix, "WAYS", {**matrix.WAYS, matrix.OFFERS: offers})
        cells = [
            matrix.cell(options, WHERE, way)
            for way in (matrix.IN_ROW, matrix.OFFERS, matrix.CLASSIC)
        ]
    return Table(row for cell in cells for row in cell.measure(options.all_seeds))


def test_both_logs_write_sooner_than_classic_and_in_fewer_requests() -> None:
    found = table("free")
    for way in (matrix.IN_ROW, matrix.OFFERS):
        assert matrix.longer(found, "work_s", WHERE, way=matrix.CLASSIC, base=way).value > 0.5
        writes = [
            found.mean("data_writes", way=one, **WHERE).value for one in (way, matrix.CLASSIC)
        ]
        assert writes[0] < 0.2 * writes[1]
    assert found.mean("offered", way=matrix.OFFERS, **WHERE).value > 0


def test_a_log_in_row_in_its_place_is_no_gain() -> None:
    found = table(matrix.IN_ROW)
    assert matrix.longer(found, "work_s", WHERE, way=matrix.IN_ROW, base=matrix.OFFERS).value == 0


def test_classic_writes_in_its_place_lose() -> None:
    found = table(matrix.CLASSIC)
    assert matrix.longer(found, "work_s", WHERE, way=matrix.IN_ROW, base=matrix.OFFERS).value < 0
