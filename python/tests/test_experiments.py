"""Published experiments: small here, so that what is tested is that they run, decide and report."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearslot.errors import ConfigError, InputError
from nearslot.experiments import EXPERIMENTS, Claim, Options, ew_fig8, ew_models, find, page
from nearslot.experiments.__main__ import main
from nearslot.experiments.arrays import Grid
from nearslot.experiments.crossover import crossovers
from nearslot.experiments.frame import Mean, ratios

SMALL = ["--quick", "--requests", "1500", "--seeds", "2", "--overhead-ms", "0.6"]


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
    ("key", "value"), [("requests", 10), ("seeds", 0), ("overhead_ms", -1.0), ("dilution", 0.9)]
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
    assert main(["run", "ew-fig1a", *SMALL, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= {"experiment", "claims", "runs", "seeds", "version"}
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert all(claims[name]["holds"] for name in ("C1", "C2", "C6"))
    assert found["seeds"] == [1, 2]
    assert json.loads((tmp_path / "ew-fig1a.json").read_text()) == found
    assert "<svg" in (tmp_path / "ew-fig1a.svg").read_text()
    assert not (tmp_path / "figures.html").exists(), "it has no lines to show"
    before = (tmp_path / "ew-fig1a.json").read_bytes()
    assert main(["run", "ew-fig1a", *SMALL, "--seed", "9", "--out", str(tmp_path)]) == 2
    assert "force" in capsys.readouterr().err
    assert (tmp_path / "ew-fig1a.json").read_bytes() == before


def test_figures_4_and_5_decide_every_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["ew-fig4", "ew-fig5"]
    assert main(["run", *names, *SMALL, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    ids = {claim["id"] for outcome in found for claim in outcome["claims"]}
    assert ids == {f"D{number}" for number in range(1, 16)}
    for name in names:
        assert "FreeBW-Hybrid" in (tmp_path / f"{name}.svg").read_text()
    figures = drawn(tmp_path / "figures.html")
    assert [figure["name"] for figure in figures] == names
    for figure, outcome in zip(figures, found, strict=True):
        assert [claim["id"] for claim in figure["claims"]] == [
            claim["id"] for claim in outcome["claims"]
        ]
    lines = {line["label"]: line for line in figures[0]["panels"][0]["lines"]}
    assert set(lines) == {"SATF-EW", "FreeBW-SATF", "FreeBW-SCAN", "FreeBW-Hybrid"}
    assert figures[0]["panels"][0]["name"] == "0.6 ms"
    hybrid = lines["FreeBW-Hybrid"]
    runs = [row for row in found[0]["runs"] if row["sched"] == "freebw_hybrid"]
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
    options = Options(requests=1_000, seeds=1, overhead_ms=0.0, quick=True)
    experiment = EXPERIMENTS["ew-fig4"]
    assert page.save([(experiment, experiment.run(options))], options, tmp_path / "one.html")
    (figure,) = drawn(tmp_path / "one.html")
    assert "1000 requests" in figure["setup"]
    for line in figure["panels"][0]["lines"]:
        assert set(line["low"]) == set(line["high"]) == {None}


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    options = Options(requests=1_000, seeds=1, overhead_ms=0.0, quick=True)
    experiment = EXPERIMENTS["ew-fig4"]
    found = [(experiment, experiment.run(options))]
    with pytest.raises(InputError, match=r"nowhere/x\.html"):
        page.save(found, options, tmp_path / "nowhere" / "x.html")


def test_a_crossover_is_bisected_by_as_few_looks_as_it_takes() -> None:
    rounds: list[list[float]] = []

    def probe(overheads: list[float]) -> dict[float, float]:
        rounds.append(overheads)
        return {overhead: overhead for overhead in overheads}

    def from_on(begin: float) -> Callable[[float], bool | None]:
        return lambda overhead: overhead >= begin

    holds: dict[str, Callable[[float], bool | None]] = {
        "late": from_on(0.44),
        "later": from_on(0.58),
        "early": from_on(0.01),
        "always": from_on(-1.0),
        "never": from_on(1.0),
        "backwards": lambda overhead: overhead < 0.3,
        "twice": lambda overhead: 0.1 < overhead < 0.35 or overhead > 0.5,
        "unknown": lambda overhead: True if overhead else None,
    }
    measured = {0.0: 0.0, 0.3: 0.3, 0.6: 0.6}
    assert crossovers(holds, measured, probe, 0.05) == {
        "late": (0.4, 0.45),
        "later": (0.55, 0.6),
        "early": (0.0, 0.05),
        "twice": (0.1, 0.15),
    }
    assert len(rounds) == 3
    looks = [overhead for several in rounds for overhead in several]
    assert len(looks) == len(set(looks)), "nothing is looked at twice"
    assert not {*looks} & {*measured}
    del holds["late"], holds["later"], holds["early"], holds["twice"]
    assert crossovers(holds, measured, probe, 0.05) == {}
    assert len(rounds) == 3, "where nothing is open nothing is run"


def test_figure_4_says_from_which_overhead_its_claims_hold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A small drive, whose slots are soon aged.
    small = ["--quick", "--requests", "2000", "--seeds", "1", "--drive", "hp-c2247a"]
    assert main(["run", "ew-fig4", *small, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["overhead_ms"] for row in found["runs"]} == {0.0, 0.3, 0.6}
    notes = {claim["id"]: claim["note"] for claim in found["claims"]}
    # FreeBW-SATF leads without overhead, and is far behind with 0.3 ms.
    told = re.search(r"crossover: holds from ([\d.]+) ms, not yet at ([\d.]+) ms", notes["D2"])
    assert told is not None, notes["D2"]
    above, below = map(float, told.groups())
    assert 0.0 <= below < above <= 0.3
    assert above - below == pytest.approx(0.1)
    assert "crossover" not in notes["D6"], "it holds without overhead"


def test_our_own_scheduler_is_ahead_and_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ew-own", *SMALL, "--format", "json", "--out", str(tmp_path)]) == 0
    claims = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert claims["OWN1"]["holds"]
    assert set(claims) == {"OWN1", "OWN2", "OWN3", "D16"}
    assert "<svg" in (tmp_path / "ew-own.svg").read_text()


@pytest.fixture(scope="module")
def models() -> list[dict[str, Any]]:
    return ew_models.run(Options(seeds=2, quick=True, requests=1_000)).runs


def test_the_models_are_decided_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ew-models", *SMALL, "--format", "json", "--out", str(tmp_path)]) == 0
    claims = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert set(claims) == {f"B{number}" for number in range(1, 8)}
    assert [name for name, claim in claims.items() if not claim["holds"]] == ["B6"]
    # Of its formulas only that of the mirror is off: its arms share the target.
    assert "seek, mirror +" in claims["B6"]["found"]
    assert all(claim["ci"] is not None for claim in claims.values())
    assert "Monte Carlo" in (tmp_path / "ew-models.svg").read_text()


def without_mirrors(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if not row["series"].startswith("seek, mirror")]


@pytest.mark.parametrize(
    ("decide", "claim", "spoil"),
    [
        (ew_models.decide_track, "B1", lambda at, found: found * 1.03),
        (ew_models.decide_published_track, "B1", lambda at, found: found + 0.2),
        (ew_models.decide_cylinder, "B3", lambda at, found: found * (1.05 if at == 0.5 else 1)),
        (ew_models.decide_units, "B4", lambda at, found: found * (1.2 if at == 8 else 1)),
        (ew_models.decide_threshold, "B5", lambda at, found: 1.0 + at),
        (ew_models.decide_threshold, "B5", lambda at, found: 0.2),
        (ew_models.decide_seeks, "B6", lambda at, found: found * 0.96),
        (ew_models.decide_root, "B7", lambda at, found: 1 / at),
        (ew_models.decide_root, "B7", lambda at, found: 5.0),
    ],
)
def test_a_model_that_is_off_does_not_hold(
    decide: Callable[[list[dict[str, Any]]], Claim],
    claim: str,
    spoil: Callable[[float, float], float],
    models: list[dict[str, Any]],
) -> None:
    rows = without_mirrors(models)
    assert decide(rows).holds is True
    spoiled = [
        {**row, "found": spoil(row["at"], row["found"])} if row["claim"] == claim else row
        for row in rows
    ]
    assert decide(spoiled).holds is False


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
    options = Options(requests=1_000, seeds=1, overhead_ms=0.6, dilution=2.0, quick=True)
    once, again = (EXPERIMENTS["ew-fig1a"].run(options) for _ in range(2))
    assert once == again


def test_differences_are_taken_seed_by_seed() -> None:
    assert ratios({1: 2.0, 2: 4.0}, {1: 1.0, 2: 2.0}) == Mean(1.0, 0.0)
    assert Mean.of([1.0]).ci is None
    assert Mean.of([1.0, 2.0, 3.0]).ci == pytest.approx(4.303 / 3**0.5)


def test_array_figures_decide_their_claims_and_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A small drive, and one seed: what is tested is that they run, decide and report.
    names = ["ew-fig1b", "ew-fig1c", "ew-fig2", "ew-fig8", "ew-fig9"]
    small = ["--quick", "--requests", "1500", "--seeds", "1", "--drive", "hp-c2247a"]
    assert main(["run", *names, *small, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    claims = {claim["id"]: claim for outcome in found for claim in outcome["claims"]}
    assert set(claims) == {"C3", "C4", "C5", *(f"E{number}" for number in range(1, 10))}
    assert claims["C5"]["holds"]
    assert claims["E1"]["holds"]
    assert claims["E8"]["holds"] is None
    for name in names:
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()


def test_transactions_on_36_drives_decide_their_claims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["ew-fig11", "ew-fig12", "ew-fig13"]
    small = ["--quick", "--requests", "1500", "--seeds", "1", "--drive", "hp-c2247a"]
    assert main(["run", *names, *small, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    claims = {claim["id"]: claim for outcome in found for claim in outcome["claims"]}
    assert set(claims) == {f"F{number}" for number in range(1, 12)}
    assert claims["F1"]["holds"]
    for name in names:
        assert "RAID-10" in (tmp_path / f"{name}.svg").read_text()


def test_a_claim_about_arrays_can_fail() -> None:
    grid = Grid()
    grid.rows = [
        {"array": array.label, "queue": queue, "seed": 1, "throughput_rps": rate}
        for queue, rates in ((1, (100.0, 110.0, 105.0)), (32, (300.0, 200.0, 210.0)))
        for array, rate in zip((ew_fig8.ONE, ew_fig8.TWO, ew_fig8.MORE), rates, strict=True)
    ]
    assert ew_fig8.overtakes(grid, (1, 32)).holds
    for row in grid.rows:
        if row["array"] == ew_fig8.ONE.label:
            row["throughput_rps"] = 90.0
    assert ew_fig8.overtakes(grid, (1, 32)).holds is False


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
    folder = Path(ew_fig8.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    assert {claim for claim in listed if f'"{claim}"' not in text} == set()
