"""The trace of sixteen volumes, laid out on one disk: who is who, and where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nearslot import compare
from nearslot.experiments.bfq import Options, volumes
from nearslot.experiments.statement import Found
from nearslot.experiments.table import Table
from nearslot.experiments.verdict import ClaimVerdict
from nearslot.scenario import Scenario

HERE = """time_us,dev,lba,blocks,op
0,10,100,8,W
10,2,3000000,16,R
25,10,0,8,R
40,3,7,1,R
"""


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    file = tmp_path / "trace.csv"
    file.write_text(HERE)
    monkeypatch.setattr(volumes, "TPCC", file)
    _forget()
    yield
    _forget()


def _forget() -> None:
    """What was made of one trace is of no use to another."""
    volumes._folder().cleanup()
    for made in (volumes._folder, volumes._requests, volumes._trace):
        made.cache_clear()


@pytest.mark.usefixtures("trace")
def test_volumes_lie_one_behind_the_other_in_whole_gib() -> None:
    gib = volumes.EXTENT
    # Volume 2 ends within its second GiB, so 3 begins with the third.
    assert [row[2] for row in volumes._requests()] == [
        3 * gib + 100,
        3_000_000,
        3 * gib,
        2 * gib + 7,
    ]


@pytest.mark.usefixtures("trace")
def test_a_stream_is_the_volume_that_it_is_taken_for() -> None:
    base = Scenario(drive=volumes.DRIVE, sched="fcfs", warmup=0, trace=volumes._trace())
    found = compare(base, overload="run").runs[0].stream_responses
    assert {one.name: one.stream for one in found} == {
        name: volumes._stream(name) for name in ("10", "2", "3")
    }


@pytest.mark.usefixtures("trace")
def test_a_volume_alone_keeps_its_place() -> None:
    gib = volumes.EXTENT
    lines = volumes._trace("10").read_text().split()
    assert lines[1:] == [f"0,10,{3 * gib + 100},8,W", f"25,10,{3 * gib},8,R"]


def test_without_a_checkout_nothing_is_run_and_nothing_decided(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(volumes, "TPCC", tmp_path / "nothing.csv")
    assert "checkout" in volumes.left_out(Options())
    assert volumes.cells(Options()) == []
    for statement in volumes.STATEMENTS:
        found = statement.judge(Table([]))
        assert isinstance(found, Found)
        assert found.verdict is ClaimVerdict.UNTESTABLE
