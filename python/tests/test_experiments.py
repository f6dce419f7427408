"""Published experiments: small here, so that what is tested is that they run, decide and report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nearslot.errors import ConfigError, InputError
from nearslot.experiments import EXPERIMENTS, Options, find, page
from nearslot.experiments.__main__ import main
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


def test_our_own_scheduler_is_ahead_and_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ew-own", *SMALL, "--format", "json", "--out", str(tmp_path)]) == 0
    claims = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert claims["OWN1"]["holds"]
    assert set(claims) == {"OWN1", "OWN2", "OWN3"}
    assert "<svg" in (tmp_path / "ew-own.svg").read_text()


def test_the_same_seed_finds_the_same() -> None:
    options = Options(requests=1_000, seeds=1, overhead_ms=0.6, dilution=2.0, quick=True)
    once, again = (EXPERIMENTS["ew-fig1a"].run(options) for _ in range(2))
    assert once == again


def test_differences_are_taken_seed_by_seed() -> None:
    assert ratios({1: 2.0, 2: 4.0}, {1: 1.0, 2: 2.0}) == Mean(1.0, 0.0)
    assert Mean.of([1.0]).ci is None
    assert Mean.of([1.0, 2.0, 3.0]).ci == pytest.approx(4.303 / 3**0.5)
