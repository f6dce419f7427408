"""Figures of eager writing, small: what is tested is that they run, decide and report."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nearslot import Scenario, run
from nearslot.errors import InputError
from nearslot.experiments import EXPERIMENTS, Outcome, page
from nearslot.experiments.__main__ import main
from nearslot.experiments.eager_writing import STUDY, Options, disk, fig11

SMALL = ["--quick", "--requests", "1500", "--seeds", "2", "--overhead-ms", "0.6"]


@pytest.fixture(params=["cut down", pytest.param("hp-c2247a", marks=pytest.mark.slow)])
def drive(request: pytest.FixtureRequest, small_drive: str) -> str:
    """A drive that is soon aged; a whole one takes ten times as long, and shows nothing else."""
    return small_drive if request.param == "cut down" else str(request.param)


def drawn(path: Path) -> list[dict[str, Any]]:
    """The figures that a page holds."""
    data = re.search(r'type="application/json">(.*?)</script>', path.read_text(), re.DOTALL)
    assert data is not None
    figures: list[dict[str, Any]] = json.loads(data[1])["figures"]["figures"]
    return figures


def test_figure_1a_decides_its_claims_and_is_drawn(
    drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [*SMALL, "--drive", drive]
    assert main(["run", "ew-fig1a", *small, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= {"experiment", "claims", "runs", "seeds", "version", "options"}
    assert found["options"]["requests"] == 1500
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert set(claims) == {"C1", "C2", "C6", "M1", "M1s"}
    assert claims["C6"]["verdict"] == "holds"
    assert claims["M1"]["verdict"] is None
    assert all(claim["provisional"] for claim in claims.values())
    (check,) = claims["C6"]["checks"]
    assert check["verdict"] == "holds"
    assert check["low"] == 5.0
    assert found["seeds"] == [1, 2]
    assert json.loads((tmp_path / "ew-fig1a.json").read_text()) == found
    assert "<svg" in (tmp_path / "ew-fig1a.svg").read_text()
    assert "provisional" in (tmp_path / "claims.txt").read_text()
    assert not (tmp_path / "figures.html").exists(), "it has no lines to show"
    before = (tmp_path / "ew-fig1a.json").read_bytes()
    assert main(["run", "ew-fig1a", *SMALL, "--seed", "9", "--out", str(tmp_path)]) == 2
    assert "force" in capsys.readouterr().err
    assert (tmp_path / "ew-fig1a.json").read_bytes() == before


def writes_of(aging: float, requests: int = 1_000, dilution: float = 2.0) -> list[dict[str, Any]]:
    """Commands of writes to a drive that was overwritten so many times before."""
    import pyarrow

    asked = Scenario(
        workload=f"iometer:requests={requests}:depth=1:read_share=0",
        drive="hp-c2247a:model=mechanical",
        place=f"eager:dilution={dilution}:aging={aging}",
        sched="satf_ew",
        warmup=0,
    )
    found = run(asked, series=False, commands=True)
    return [dict(row) for row in pyarrow.table(found.commands).to_pylist()]


def test_a_run_begins_where_aging_ended() -> None:
    directions = set()
    for aging in (0.4, 0.7, 1.0, 1.3, 1.6, 1.9):
        rows = writes_of(aging)
        first, last = rows[0]["cylinder"], rows[-1]["cylinder"]
        # Where the arm was, a slot is near; the drive's rest at the edge is far from there.
        assert rows[0]["seek_ns"] < 6_000_000, aging
        assert min(row["cylinder"] for row in rows[:100]) > 20, aging
        directions.add(last > first)
    assert directions == {True, False}, "the sweep goes on as it went"


def test_a_whole_sweep_writes_to_all_cylinders() -> None:
    options = Options(drive="hp-c2247a", requests=1_000, seeds=1)
    writes = disk.whole_sweep(options, 1.1)
    rows = writes_of(disk.aging(options, 1.1), writes, 1.1)
    there = [row["cylinder"] for row in rows]
    assert len({*there}) > 0.95 * (max(there) + 1)
    edges = (min(there), max(there))
    turns = [one for before, one in pairwise(there) if one in edges and before != one]
    assert turns, "the arm came to an edge"
    quick = Options(drive="hp-c2247a", requests=1_000, seeds=1, quick=True)
    assert disk.whole_sweep(quick, 1.1) == 1_000


def test_figures_4_and_5_decide_every_claim(
    drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["ew-fig4", "ew-fig5"]
    small = [*SMALL, "--drive", drive]
    assert main(["run", *names, *small, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    ids = {claim["id"] for outcome in found for claim in outcome["claims"]}
    assert ids == {
        *(f"D{number}" for number in range(1, 16)),
        *("D2c", "D3c", "D10c", "D11c", "M2", "M3"),
    }
    for name in names:
        assert "FreeBW-Hybrid" in (tmp_path / f"{name}.svg").read_text()
    figures = drawn(tmp_path / "figures.html")
    assert [figure["name"] for figure in figures] == names
    for figure, outcome in zip(figures, found, strict=True):
        assert [claim["id"] for claim in figure["claims"]] == [
            claim["id"] for claim in outcome["claims"]
        ]
        assert all(claim["provisional"] for claim in figure["claims"])
    lines = {line["label"]: line for line in figures[0]["panels"][0]["lines"]}
    assert set(lines) == {"SATF-EW", "FreeBW-SATF", "FreeBW-SCAN", "FreeBW-Hybrid"}
    assert figures[0]["panels"][0]["name"] == "0.6 ms"
    hybrid = lines["FreeBW-Hybrid"]
    runs = [
        row
        for row in found[0]["runs"]
        if row["sched"] == "freebw_hybrid" and row["read_share"] == 0.5
    ]
    for depth, mean, low, high in zip(
        hybrid["x"], hybrid["y"], hybrid["low"], hybrid["high"], strict=True
    ):
        values = [row["throughput_rps"] for row in runs if row["depth"] == depth]
        assert mean == pytest.approx(sum(values) / len(values))
        assert low < mean < high
    # One point: plain SATF where there are only reads.
    (satf,) = (line for line in figures[1]["panels"][0]["lines"] if line["label"] == "SATF")
    assert satf["x"] == [1.0]


def test_our_own_scheduler_is_ahead_and_is_drawn(
    drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [*SMALL, "--drive", drive]
    assert main(["run", "ew-own", *small, "--format", "json", "--out", str(tmp_path)]) == 0
    claims = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert set(claims) == {"OWN1", "OWN2", "OWN3", "OWN4", "OWN5", "D16"}
    assert "<svg" in (tmp_path / "ew-own.svg").read_text()


def test_the_same_seed_finds_the_same() -> None:
    options = Options(requests=1_000, seeds=1, seeds_max=1, overhead_ms=0.6, quick=True)
    once, again = (EXPERIMENTS["ew-fig1b"].run(options) for _ in range(2))
    assert once == again


def test_array_figures_decide_their_claims_and_are_drawn(
    drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # One seed: what is tested is that they run, decide and report.
    names = ["ew-fig1b", "ew-fig1c", "ew-fig2", "ew-fig8", "ew-fig9"]
    small = ["--quick", "--requests", "1000", "--seeds", "1", "--drive", drive]
    assert main(["run", *names, *small, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    claims = {claim["id"]: claim for outcome in found for claim in outcome["claims"]}
    assert set(claims) == {"C3", "C4", "C5", *(f"E{number}" for number in range(1, 10))}
    assert claims["E1"]["verdict"] == "holds"
    assert claims["E8"]["verdict"] == "not testable"
    assert claims["C5"]["verdict"] == "undecided", "a single seed has no interval"
    assert "at 0.3 ms" in claims["C5"]["note"], "told at every overhead"
    for name in names:
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()


def test_transactions_on_36_drives_decide_their_claims(
    drive: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if drive != "hp-c2247a":
        # In the search for the highest rate that an array sustains each step is two runs.
        monkeypatch.setattr(fig11, "PRECISION", 1.5)
    names = ["ew-fig11", "ew-fig12", "ew-fig13"]
    few = ["--quick", "--requests", "1000", "--seeds", "1", "--overhead-ms", "0"]
    small = [*few, "--drive", drive]
    assert main(["run", *names, *small, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    claims = {claim["id"]: claim for outcome in found for claim in outcome["claims"]}
    assert set(claims) == {f"F{number}" for number in range(1, 12)}
    assert claims["F1"]["verdict"] == "undecided", "a single seed has no interval"
    assert "cannot fill a buffer of 10,000" in claims["F2"]["found"]
    for name in names:
        assert "RAID-10" in (tmp_path / f"{name}.svg").read_text()


def test_every_claim_of_the_list_is_printed_by_some_experiment() -> None:
    # Ids as the list of claims has them; which experiment decides each is in its own text.
    listed = {
        *(f"A{number}" for number in range(1, 14)),
        *(f"B{number}" for number in range(1, 8)),
        *(f"C{number}" for number in range(1, 7)),
        *(f"D{number}" for number in range(1, 17)),
        *(f"E{number}" for number in range(1, 10)),
        *(f"F{number}" for number in range(1, 16)),
    }
    printed = {one.id for of in STUDY.experiments for one in of.statements}
    assert listed - printed == set()


@pytest.fixture(scope="module")
def single_seed(small_drive: str) -> Outcome:
    """Figure 4 from one seed."""
    options = Options(
        requests=1_000, seeds=1, seeds_max=1, overhead_ms=0.0, quick=True, drive=small_drive
    )
    return EXPERIMENTS["ew-fig4"].run(options)


def test_a_single_seed_has_no_bands(single_seed: Outcome, tmp_path: Path) -> None:
    assert page.save([(EXPERIMENTS["ew-fig4"], single_seed)], tmp_path / "one.html")
    (figure,) = drawn(tmp_path / "one.html")
    assert "1000 requests" in figure["setup"]
    for line in figure["panels"][0]["lines"]:
        assert set(line["low"]) == set(line["high"]) == {None}


def test_a_page_that_cannot_be_written_is_named(single_seed: Outcome, tmp_path: Path) -> None:
    found = [(EXPERIMENTS["ew-fig4"], single_seed)]
    with pytest.raises(InputError, match=r"nowhere/x\.html"):
        page.save(found, tmp_path / "nowhere" / "x.html")
