"""What all studies share: options, seeds, crossovers, the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nearslot import Scenario, part, run
from nearslot.errors import ConfigError, InputError
from nearslot.experiments import EXPERIMENTS, STUDIES, ClaimVerdict, Kind, Options, Study, find
from nearslot.experiments.__main__ import main
from nearslot.experiments.crossover import Turn, crossovers
from nearslot.experiments.eager_writing import Options as EagerOptions
from nearslot.experiments.frame import Experiment, OverheadOptions, option
from nearslot.experiments.statement import Found, Statement
from nearslot.experiments.table import Cell, Row, Table, simulated
from nearslot.experiments.verdict import Check, Mean, at_least

SMALL = ["--quick", "--requests", "1500", "--seeds", "2", "--overhead-ms", "0.6"]


def test_every_experiment_is_listed_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    for name in EXPERIMENTS:
        assert name in listed
    assert "FAST 2002" in listed


def test_help_says_what_each_study_has_where_nothing_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for study in STUDIES:
        if (requests := study.options.asked().get("requests")) is not None:
            of = told[told.index("requests of each run") :]
            ours = next(part for part in of[: of.index("]")].split(";") if study.name in part)
            assert f"{requests.default} for" in ours
    assert "first seed [1]" in told


def test_a_study_stands_for_its_experiments() -> None:
    assert {one.name for _, one in find(["eager-writing"])} == {
        name for name in EXPERIMENTS if name.startswith("ew-")
    }
    assert [one.name for _, one in find(["ew-fig4", "ew-fig4"])] == ["ew-fig4"]


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
        EagerOptions(**{key: value})  # type: ignore[arg-type]


def test_a_wrong_drive_is_the_users_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ew-fig1a", *SMALL, "--drive", "seagate-cheeta-9lp"]) == 2
    assert "seagate-cheetah-9lp" in capsys.readouterr().err


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


def scattered(
    limit: float, spread: float, asked: list[tuple[float, int]]
) -> Experiment[OverheadOptions]:
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
    options = OverheadOptions(requests=1_000, seeds=3, seeds_max=12)
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
    (claim,) = (
        scattered(0.5, 0.1, []).run(OverheadOptions(requests=1_000, seeds=1, seeds_max=1)).claims
    )
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


def test_differences_are_taken_seed_by_seed() -> None:
    table = Table({"seed": seed, "at": at, "of": at * seed} for seed in (1, 2) for at in (1.0, 2.0))
    assert table.lead("of", {"at": 2.0}, {"at": 1.0}) == Mean(1.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class CacheOptions(Options):
    """Options of a study of something else."""

    lines: int = option(4, int, "lines of the cache")


def of_caches(options: CacheOptions) -> list[Cell]:
    def run(seeds: Sequence[int]) -> list[Row]:
        return [{"seed": seed, "hits": options.lines + seed / 100} for seed in seeds]

    return [Cell({}, run)]


LARGE = Statement(
    id="K1",
    kind=Kind.ORDER,
    statement="many requests hit",
    published="no number",
    range="here",
    judge=lambda table: Found([Check("hits", table.mean("hits"), at_least(8), "")]),
)
CACHES = Study(
    name="caching",
    options=CacheOptions,
    experiments=[
        Experiment(
            name="hits", question="How many hit?", source="?", cells=of_caches, statements=[LARGE]
        )
    ],
)
BOTH = [*STUDIES, CACHES]


@pytest.mark.parametrize(("lines", "verdict"), [([], "does not hold"), (["--lines", "9"], "holds")])
def test_a_new_study_brings_experiments_and_options(
    lines: list[str], verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list"], BOTH) == 0
    assert "hits         How many hit?" in capsys.readouterr().out
    assert main(["run", "caching", *lines, "--format", "json"], BOTH) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["claims"][0]["verdict"] == verdict
    assert found["claims"][0]["note"] == "", "it has no overheads to tell it at"
    assert list(found["options"]) == [
        *("seed", "seeds", "seeds_max", "drive", "requests", "quick"),
        "lines",
    ]


def test_an_option_of_another_study_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ew-models", "hits", "--dilution", "2"], BOTH) == 2
    told = capsys.readouterr().err
    assert "nothing for hits, which has no dilution" in told
    assert "ew-models:" not in told, "nothing has run yet"
