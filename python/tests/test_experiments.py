"""Published experiments: small here, so that what is tested is that they run, decide and report."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nearslot import Scenario, part, run
from nearslot.errors import ConfigError, InputError
from nearslot.experiments import (
    EXPERIMENTS,
    ClaimVerdict,
    Kind,
    Options,
    eager,
    ew_models,
    find,
    page,
)
from nearslot.experiments.__main__ import main
from nearslot.experiments.crossover import Turn, crossovers
from nearslot.experiments.frame import Experiment
from nearslot.experiments.statement import Found, Statement
from nearslot.experiments.table import Cell, Row, Table, simulated
from nearslot.experiments.verdict import Check, Mean, at_least

SMALL = ["--quick", "--requests", "1500", "--seeds", "2", "--overhead-ms", "0.6"]
SMALL_DRIVE = [*SMALL, "--drive", "hp-c2247a"]
"""A small drive is soon aged."""


def drawn(path: Path) -> list[dict[str, Any]]:
    """The figures that a page holds."""
    data = re.search(r'type="application/json">(.*?)</script>', path.read_text(), re.DOTALL)
    assert data is not None
    figures: list[dict[str, Any]] = json.loads(data[1])["figures"]["figures"]
    return figures


def test_every_experiment_is_listed_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    for name in EXPERIMENTS:
        assert name in listed
    assert "FAST 2002" in listed


def test_a_group_stands_for_its_experiments() -> None:
    assert {one.name for one in find(["eager-writing"])} == set(EXPERIMENTS)
    assert [one.name for one in find(["ew-fig4", "ew-fig4"])] == ["ew-fig4"]


def test_an_unknown_name_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ew-fig44"]) == 2
    assert "ew-fig4 is the nearest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("requests", 10),
        ("seeds", 0),
        ("seeds_max", 2),
        ("seeds_max", 99),
        ("overhead_ms", -1.0),
        ("dilution", 0.9),
    ],
)
def test_options_have_bounds(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=key.replace("_", "-")):
        Options(**{key: value})  # type: ignore[arg-type]


def test_a_wrong_drive_is_the_users_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ew-fig1a", *SMALL, "--drive", "seagate-cheeta-9lp"]) == 2
    assert "seagate-cheetah-9lp" in capsys.readouterr().err


def test_figure_1a_decides_its_claims_and_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ew-fig1a", *SMALL_DRIVE, "--format", "json", "--out", str(tmp_path)]) == 0
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
    writes = eager.whole_sweep(options, 1.1)
    rows = writes_of(eager.aging(options, 1.1), writes, 1.1)
    there = [row["cylinder"] for row in rows]
    assert len({*there}) > 0.95 * (max(there) + 1)
    edges = (min(there), max(there))
    turns = [one for before, one in pairwise(there) if one in edges and before != one]
    assert turns, "the arm came to an edge"
    quick = Options(drive="hp-c2247a", requests=1_000, seeds=1, quick=True)
    assert eager.whole_sweep(quick, 1.1) == 1_000


def test_figures_4_and_5_decide_every_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["ew-fig4", "ew-fig5"]
    assert main(["run", *names, *SMALL_DRIVE, "--format", "json", "--out", str(tmp_path)]) == 0
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


def test_a_single_seed_has_no_bands(tmp_path: Path) -> None:
    options = Options(
        requests=1_000, seeds=1, seeds_max=1, overhead_ms=0.0, quick=True, drive="hp-c2247a"
    )
    experiment = EXPERIMENTS["ew-fig4"]
    assert page.save([(experiment, experiment.run(options))], options, tmp_path / "one.html")
    (figure,) = drawn(tmp_path / "one.html")
    assert "1000 requests" in figure["setup"]
    for line in figure["panels"][0]["lines"]:
        assert set(line["low"]) == set(line["high"]) == {None}


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    options = Options(requests=1_000, seeds=1, overhead_ms=0.0, quick=True, drive="hp-c2247a")
    experiment = EXPERIMENTS["ew-fig4"]
    found = [(experiment, experiment.run(options))]
    with pytest.raises(InputError, match=r"nowhere/x\.html"):
        page.save(found, options, tmp_path / "nowhere" / "x.html")


def test_a_crossover_is_bisected_by_as_few_looks_as_it_takes() -> None:
    rounds: list[dict[float, list[str]]] = []
    holds: dict[str, Callable[[float], bool | None]] = {
        "late": lambda overhead: overhead >= 0.44,
        "later": lambda overhead: overhead >= 0.58,
        "early": lambda overhead: overhead >= 0.01,
        "always": lambda overhead: True,
        "never": lambda overhead: False,
        "backwards": lambda overhead: overhead < 0.31,
        "twice": lambda overhead: 0.1 < overhead < 0.35 or overhead > 0.5,
        "unknown": lambda overhead: True if overhead else None,
    }

    def probe(wanted: Any) -> dict[float, dict[str, bool | None]]:  # noqa: ANN401
        rounds.append({at: list(names) for at, names in wanted.items()})
        return {at: {name: holds[name](at) for name in names} for at, names in wanted.items()}

    leans = {name: {at: of(at) for at in (0.0, 0.3, 0.6)} for name, of in holds.items()}
    assert crossovers(leans, probe, 0.05) == {
        "late": Turn(0.4, 0.45, True),
        "later": Turn(0.55, 0.6, True),
        "early": Turn(0.0, 0.05, True),
        "backwards": Turn(0.3, 0.35, False),
        "twice": Turn(0.1, 0.15, True),
    }
    assert len(rounds) == 3
    assert not {at for wanted in rounds for at in wanted} & {0.0, 0.3, 0.6}
    told = Turn(0.3, 0.35, False).told(25_000)
    assert told.startswith("crossover: no longer holds from 0.35 ms, still at 0.3 ms")
    assert crossovers({"always": leans["always"]}, probe, 0.05) == {}
    assert len(rounds) == 3, "where nothing is open nothing is run"


def scattered(limit: float, spread: float, asked: list[tuple[float, int]]) -> Experiment:
    """An experiment whose numbers scatter by the seed, the less the more seeds there are."""

    def cell(overhead_ms: float) -> Cell:
        def run(seeds: Any) -> list[Row]:  # noqa: ANN401
            asked.extend((overhead_ms, seed) for seed in seeds)
            return [{"seed": seed, "number": 1.0 + spread * (-1) ** seed} for seed in seeds]

        return Cell({"overhead_ms": overhead_ms, "of": "number"}, run)

    def judge(table: Table) -> Found:
        return Found([Check("it", table.mean("number", of="number"), at_least(limit), "")])

    statement = Statement(
        id="X",
        kind=Kind.ORDER,
        statement="it is large",
        published="no number",
        range="here",
        judge=judge,
    )
    return Experiment(
        name="x",
        question="?",
        source="none",
        cells=lambda options: [cell(overhead) for overhead in options.overheads],
        statements=[statement],
    )


def test_an_undecided_claim_gets_more_seeds_up_to_the_limit() -> None:
    asked: list[tuple[float, int]] = []
    options = Options(requests=1_000, seeds=3, seeds_max=12)
    (claim,) = scattered(0.8, 0.1, asked).run(options).claims
    assert claim.verdict is ClaimVerdict.HOLDS
    assert claim.seeds > 3
    # Only where it is decided: at the highest overhead.
    assert {seed for overhead, seed in asked if overhead == 0.6} == set(range(1, claim.seeds + 1))
    assert {seed for overhead, seed in asked if overhead < 0.6} == {1, 2, 3}
    asked.clear()
    (claim,) = scattered(1.0, 0.1, asked).run(options).claims
    assert claim.verdict is ClaimVerdict.UNDECIDED
    assert claim.seeds == 12, "the limit"
    assert max(seed for _, seed in asked) == 12
    (claim,) = scattered(0.5, 0.1, []).run(options).claims
    assert (claim.verdict, claim.seeds) == (ClaimVerdict.HOLDS, 3)
    (claim,) = scattered(1.5, 0.1, []).run(options).claims
    assert (claim.verdict, claim.seeds) == (ClaimVerdict.FAILS, 3)
    (claim,) = scattered(0.5, 0.1, []).run(Options(requests=1_000, seeds=1, seeds_max=1)).claims
    assert claim.verdict is ClaimVerdict.UNDECIDED, "a single seed has no interval"


def test_a_claim_that_becomes_undecided_late_gets_the_seeds_that_it_lacks() -> None:
    asked: dict[str, list[int]] = {"early": [], "late": []}

    def cell(at: str) -> Cell:
        def run(seeds: Sequence[int]) -> list[Row]:
            asked[at] += seeds
            return [{"seed": seed, "number": 1.0 + 0.1 * (-1) ** seed} for seed in seeds]

        return Cell({"at": at}, run)

    def statement(at: str, limit: Callable[[Table], float]) -> Statement:
        def judge(table: Table) -> Found:
            found = table.mean("number", at=at)
            return Found([Check("it", found, at_least(limit(table)), "")])

        return Statement(
            id=at,
            kind=Kind.ORDER,
            statement="it is large",
            published="no number",
            range="here",
            judge=judge,
        )

    def once_early_has_more(table: Table) -> float:
        return 1.0 if len(table.by_seed("number", at="early")) > 3 else 0.5

    experiment = Experiment(
        name="x",
        question="?",
        source="none",
        cells=lambda options: [cell("early"), cell("late")],
        statements=[statement("early", lambda table: 1.0), statement("late", once_early_has_more)],
    )
    claims = experiment.run(Options(requests=1_000, seeds=3, seeds_max=9)).claims
    assert [claim.seeds for claim in claims] == [9, 9]
    assert asked == {at: list(range(1, 10)) for at in asked}


def test_a_table_refuses_points_that_are_not_there_or_not_one() -> None:
    table = Table([{"seed": 1, "at": 1, "of": 2.0}, {"seed": 1, "at": 2, "of": 3.0}])
    assert table.mean("of", at=1) == Mean(2.0, None)
    for where in ({"at": 3}, {}):
        with pytest.raises(LookupError, match="one a seed is needed"):
            table.by_seed("of", **where)


def test_a_rate_that_no_drive_sustains_is_simulated_nevertheless() -> None:
    # So many that a user would be stopped before.
    load = part("oltp", requests=100_000, rate_rps=3_000)
    there = Scenario(workload=load, drive="seagate-cheetah-9lp")
    with pytest.raises(InputError, match="Nothing was simulated"):
        run(there)
    (row,) = simulated({}, there, lambda one: {"grew": one.queue_growth_rps}).run([1])
    assert row["grew"] > 1_000


def test_our_own_scheduler_is_ahead_and_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ew-own", *SMALL_DRIVE, "--format", "json", "--out", str(tmp_path)]) == 0
    claims = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert set(claims) == {"OWN1", "OWN2", "OWN3", "OWN4", "OWN5", "D16"}
    assert "<svg" in (tmp_path / "ew-own.svg").read_text()


@pytest.fixture(scope="module")
def models() -> list[Row]:
    options = Options(seeds=3, seeds_max=3, quick=True, requests=1_000)
    return ew_models.EXPERIMENT.run(options).runs


def test_the_models_are_decided_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Of two seeds every part but those far from their gates is undecided.
    seeds = [*SMALL, "--seeds", "3"]
    assert main(["run", "ew-models", *seeds, "--format", "json", "--out", str(tmp_path)]) == 0
    claims = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert set(claims) == {f"B{number}" for number in range(1, 8)}
    assert {claim["kind"] for claim in claims.values()} == {"formula only"}
    # Of its formulas that of the mirror is off: its arms share the target.
    assert claims["B6"]["verdict"] == "does not hold"
    failed = [part for part in claims["B6"]["checks"] if part["verdict"] == "does not hold"]
    assert all(part["what"].startswith("seek, mirror at") for part in failed)
    assert "Monte Carlo" in (tmp_path / "ew-models.svg").read_text()


@pytest.mark.parametrize(
    ("name", "claim", "spoil"),
    [
        ("B1", "B1", lambda at, found: found * 1.03),
        ("B2", "B1", lambda at, found: found + 0.2),
        ("B3", "B3", lambda at, found: found * (1.08 if at == 0.5 else 1)),
        ("B4", "B4", lambda at, found: found * (1.2 if at == 8 else 1)),
        ("B5", "B5", lambda at, found: 1.0 + at),
        ("B5", "B5", lambda at, found: 0.2),
        ("B6", "B6", lambda at, found: found * 0.95),
        ("B7", "B7", lambda at, found: 1 / at),
        ("B7", "B7", lambda at, found: 5.0),
    ],
)
def test_a_model_that_is_off_does_not_hold(
    name: str, claim: str, spoil: Callable[[float, float], float], models: list[Row]
) -> None:
    rows = [row for row in models if not row["series"].startswith("seek, mirror")]
    (statement,) = (one for one in ew_models.STATEMENTS if one.id == name)
    assert statement.judge(Table(rows)).leans is True
    assert statement.judge(Table(rows)).verdict in (ClaimVerdict.HOLDS, ClaimVerdict.UNDECIDED)
    spoiled = [
        {**row, "found": spoil(row["at"], row["found"])} if row["claim"] == claim else row
        for row in rows
    ]
    assert statement.judge(Table(spoiled)).verdict is ClaimVerdict.FAILS


def test_models_are_written_out() -> None:
    # By the recurrence: the first is free with k/n, else one is skipped.
    assert ew_models.on_track(3, 1) == 2 / 3 * (1 + 1 / 2)
    assert ew_models.on_track(256, 51) == pytest.approx(3.94, abs=0.01)
    assert ew_models.in_cylinder(0.5) == pytest.approx(0.96875, abs=1e-5)
    assert ew_models.until_left([1.0] * 26, 24) == pytest.approx(
        (ew_models.SWITCH_MS + 2 * ew_models.SLOT_MS) / 2
    )


@pytest.mark.parametrize("module", ["numpy", "pyarrow", "matplotlib"])
def test_what_is_not_installed_is_named_before_anything_runs(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    names = ["ew-fig1a", "ew-models", "ew-mechanisms"]
    assert main(["run", *names, *SMALL, "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert module in told
    assert "pip install 'nearslot[experiments]'" in told
    assert "ew-fig1a" not in told


def test_the_same_seed_finds_the_same() -> None:
    options = Options(requests=1_000, seeds=1, seeds_max=1, overhead_ms=0.6, quick=True)
    once, again = (EXPERIMENTS["ew-fig1b"].run(options) for _ in range(2))
    assert once == again


def test_differences_are_taken_seed_by_seed() -> None:
    table = Table({"seed": seed, "at": at, "of": at * seed} for seed in (1, 2) for at in (1.0, 2.0))
    assert table.lead("of", {"at": 2.0}, {"at": 1.0}) == Mean(1.0, 0.0)


def test_array_figures_decide_their_claims_and_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A small drive, and one seed: what is tested is that they run, decide and report.
    names = ["ew-fig1b", "ew-fig1c", "ew-fig2", "ew-fig8", "ew-fig9"]
    small = ["--quick", "--requests", "1000", "--seeds", "1", "--drive", "hp-c2247a"]
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
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["ew-fig11", "ew-fig12", "ew-fig13"]
    few = ["--quick", "--requests", "1000", "--seeds", "1", "--overhead-ms", "0"]
    small = [*few, "--drive", "hp-c2247a"]
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
    printed = {one.id for of in EXPERIMENTS.values() for one in of.statements}
    assert listed - printed == set()
