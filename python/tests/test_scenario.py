"""Scenarios: what goes in comes out, and mistakes are named."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearslot
from nearslot import ConfigError, Scenario, part

NAMES = st.text(string.ascii_letters + string.digits + " _-.äß'\"\\", min_size=1, max_size=20)
KNOBS = st.dictionaries(
    st.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True).filter(lambda key: key != "name"),
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["4k", "4k/70+64k/30", "loose"]),
    max_size=3,
)
PARTS = st.builds(lambda knobs: part("satf", **knobs), KNOBS)
TRACES = st.builds(
    Scenario,
    trace=st.lists(NAMES, min_size=1, max_size=3),
    sched=PARTS,
    replay=st.none() | st.sampled_from(["open", "closed", "dependent"]),
    depth=st.none() | st.integers(1, 1 << 20),
    refill=st.none() | st.sampled_from(["after", "before"]),
    speed=st.none() | st.floats(1e-9, 1e9),
    fit=st.none() | st.sampled_from(["none", "wrap", "scale", "truncate"]),
    service_guess_us=st.none() | st.floats(0.001, 1e9),
    device=st.none() | NAMES,
    limit=st.none() | st.integers(1, 2**63 - 1),
    warmup=st.sampled_from(["auto", "5%", "0.5%"]) | st.integers(0, 2**63 - 1),
    seed=st.integers(0, 2**63 - 1),
)
WORKLOADS = st.builds(Scenario, workload=PARTS, sched=PARTS, seed=st.integers(0, 2**63 - 1))


@given(TRACES | WORKLOADS)
def test_toml_brings_every_scenario_back(scenario: Scenario) -> None:
    assert Scenario.from_toml(scenario.to_toml()) == scenario


@given(TRACES)
def test_the_engine_reads_what_was_said(scenario: Scenario) -> None:
    engine = scenario.to_dict()
    told = engine["load"]["trace"]
    assert told["files"] == list(scenario.files)
    # What the replay reads is spelled out; what it does not read is there only if it was said.
    closed = told["replay"] == "closed"
    assert told.get("depth") == (16 if scenario.depth is None and closed else scenario.depth)
    assert told.get("speed") == (1.0 if scenario.speed is None and not closed else scenario.speed)
    assert engine["seed"] == scenario.seed
    assert engine["sched"].pop("name") == "satf"
    knobs = engine["sched"]
    assert part("satf", **knobs) == scenario.sched


def test_files_are_relative_to_the_scenario(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text("drive = 'own.toml'\n[trace]\nfiles = ['a.csv', '/b.csv', '-']\n")
    scenario = Scenario.read(file)
    assert scenario.files == (str(tmp_path / "a.csv"), "/b.csv", "-")
    assert scenario.drive == str(tmp_path / "own.toml")


def test_tables_of_parts_become_words() -> None:
    sched = "[sched]\nname = 'aged_satf'\nweight_ms_per_s = 0.5\n"
    text = sched + "[workload]\nname = 'iometer'\ndepth = 8\n"
    scenario = Scenario.from_toml(text)
    assert (scenario.sched, scenario.workload) == (
        "aged_satf:weight_ms_per_s=0.5",
        "iometer:depth=8",
    )


def test_unknown_keys_name_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean.*sched") as caught:
        Scenario.from_toml("schde = 'look'\n[trace]\nfiles = ['a']")
    assert caught.value.nearest == "sched"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "load = missing"),
        ({"trace": "a", "workload": "iometer"}, "load = both"),
        ({"trace": []}, "at least one file"),
        ({"trace": "\udcff"}, "UTF-8"),
        ({"workload": "iometer", "depth": 8}, "depth = 8 .* iometer:KNOB=VALUE"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Scenario(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 0}, "depth = 0"),
        ({"speed": -1.0}, "speed = -1"),
        ({"replay": "clsoed"}, "closed"),
        ({"refill": "befor"}, "before"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_values_out_of_range_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Scenario(trace="a", **settings).to_dict()  # type: ignore[arg-type]


def test_knobs_are_words() -> None:
    assert part("aged_satf", weight_ms_per_s=0.5) == "aged_satf:weight_ms_per_s=0.5"
    assert part("mq-deadline", front_merges=True) == "mq-deadline:front_merges=true"
    with pytest.raises(ConfigError, match="nan"):
        part("aged_satf", weight_ms_per_s=float("nan"))
    with pytest.raises(ConfigError, match="without `:`"):
        part("iometer", size="4k:8k")


def test_a_missing_scenario_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(nearslot.InputError, match=r"none\.toml"):
        Scenario.read(tmp_path / "none.toml")
