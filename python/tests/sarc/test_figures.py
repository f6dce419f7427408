"""The study, small: what is tested is that it runs, decides and reports, and what it stands on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearslot import run
from nearslot.errors import ConfigError
from nearslot.experiments import EXPERIMENTS
from nearslot.experiments.__main__ import main
from nearslot.experiments.sarc import STUDY, Options
from nearslot.experiments.sarc.setup import CI, CS, POLICIES, TOP, cache_of, scenario

SMALL = ["--quick", "--requests", "4000", "--seeds", "2"]


@pytest.mark.parametrize("name", [one.name for one in STUDY.experiments])
def test_an_experiment_decides_all_its_claims_and_is_drawn(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [word for word in SMALL if name != "sarc-anomaly" or word not in ("--requests", "4000")]
    # A point of it takes ten times as long; one seed decides nothing, but goes all ways.
    seeds = ["--seeds", "1"] if name == "sarc-anomaly" else []
    assert main(["run", name, *small, *seeds, "--format", "json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {claim["id"] for claim in found["claims"]} == {
        one.id for one in EXPERIMENTS[name].statements
    }
    for claim in found["claims"]:
        assert claim["verdict"] is None or claim["checks"], claim["id"]
    drawn = EXPERIMENTS[name].draw is not None
    assert (tmp_path / f"{name}.svg").exists() == drawn


def test_lru_top_is_lru() -> None:
    options = Options(requests=40_000)
    ours = cache_of(options, TOP)
    own = ("sarc", "bottom_percent", "boundary")
    # LRU asks for no sequences.
    plain = [one for one in ours.split(":") if one.split("=")[0] not in (*own, "writes")]
    found = [
        run(scenario(options, CS, 80, cache), series=False).runs[0]
        for cache in (ours, ":".join(["lru", *plain]))
    ]
    assert found[0].response_ms == found[1].response_ms
    staged = [one.measures["cache"]["staged_pages"] for one in found]
    assert staged[0] == staged[1] > 0


def test_everything_is_scaled_together() -> None:
    full, part = (scenario(Options(scale=scale), CI, 100, "lru") for scale in (1, 16))
    assert full.place == "raid5:disks=112:arrays=16:strip_kib=32"
    assert part.place == "raid5:disks=7:arrays=1:strip_kib=32"
    # A share of what the arrays hold, so it is the same; and the load is by array.
    for word in ("span=", "bsu=", "requests="):
        of = [
            next(one for one in str(this.workload).split(":") if one.startswith(word))
            for this in (full, part)
        ]
        values = [float(one.split("=")[1]) for one in of]
        assert values[0] == values[1] * (1 if word == "span=" else 16)
    assert (full.cache, part.cache) == ("lru:size=8192MiB", "lru:size=512MiB")
    assert full.buffer == "lrw:size=2048MiB:destage_units=320:full_units=64:write_us=180"
    assert part.buffer == "lrw:size=128MiB:destage_units=20:full_units=4:write_us=180"


@pytest.mark.parametrize(("key", "value"), [("scale", 3), ("ratio_cs", 0.0), ("nvs_percent", -1)])
def test_options_have_bounds(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=key.replace("_", "-")):
        Options(**{key: value})  # type: ignore[arg-type]


def test_what_no_part_can_be_is_refused_by_the_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sarc-table2", *SMALL, "--stage", "half"]) == 2
    assert "stage" in capsys.readouterr().err


def test_the_three_policies_get_the_same_load() -> None:
    options = Options(requests=4_000)
    loads = {
        str(scenario(options, CS, 50, cache_of(options, policy)).workload) for policy in POLICIES
    }
    assert len(loads) == 1
