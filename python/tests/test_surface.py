"""What a user types first: keywords, data frames, one run out of several, short representations."""

from __future__ import annotations

import gc
import html.parser
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import nearslot
from nearslot import ConfigError, InputError, Reading, Scenario, experiments

FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas.DataFrame": pandas.DataFrame,
    "polars.DataFrame": polars.DataFrame,
    "pyarrow.Table": pyarrow.table,
}


def columns(trace: Path) -> dict[str, list[Any]]:
    """The trace as columns."""
    frame = polars.read_csv(trace)
    return {name: frame[name].to_list() for name in frame.columns}


@pytest.fixture(scope="module")
def grid(trace: Path) -> nearslot.Results:
    return nearslot.compare(
        trace, drive="hp-c2247a", fit="wrap", replay="closed", sched=["fcfs", "satf"], depth=[1, 16]
    )


def test_keywords_are_settings_and_several_values_a_grid(
    trace: Path, grid: nearslot.Results
) -> None:
    base = Scenario(trace=trace, drive="hp-c2247a", fit="wrap", replay="closed")
    vary = {"sched": ["fcfs", "satf"], "depth": [1, 16]}
    told = nearslot.compare(base, vary=vary)
    assert [run.label for run in told] == [run.label for run in grid]
    assert [run.response_ms for run in told] == [run.response_ms for run in grid]
    assert grid.runs[0].label == "sched=fcfs depth=1"
    # Keywords go on top of a scenario, and beside what only vary can say.
    aged = base.replace(depth=8)
    found = nearslot.compare(
        aged, sched="aged_satf", vary={"sched.weight_ms_per_s": [0, 3]}, seed=(1, 2)
    )
    assert [run.label.split()[0] for run in found] == ["sched.weight_ms_per_s=0"] * 2 + [
        "sched.weight_ms_per_s=3"
    ] * 2
    assert {run.config["seed"] for run in found} == {1, 2}


def test_a_bare_trace_is_compared_under_four_schedulers(trace: Path) -> None:
    found = nearslot.compare(trace, drive="seagate-cheetah-9lp", replay="closed", limit=500)
    assert [run.config["sched"]["name"] for run in found] == ["fcfs", "look", "mq-deadline", "satf"]
    alone = nearslot.compare(trace, drive="seagate-cheetah-9lp", sched="look", limit=500)
    assert [run.config["sched"]["name"] for run in alone] == ["look"]


def test_a_workload_can_be_a_keyword() -> None:
    found = nearslot.compare(
        workload="iometer:requests=500", drive="null", sched=["fcfs", "look"], depth=[1, 4]
    )
    assert [run.label for run in found][-1] == "sched=look depth=4"
    assert nearslot.run(workload="iometer:requests=500", drive="null").run.requests == 500


def test_keywords_that_cannot_be_meant_are_named(trace: Path, synthetic: Scenario) -> None:
    with pytest.raises(ConfigError, match=r"unknown setting `shced`; did you mean `sched`") as bad:
        nearslot.compare(trace, shced=["satf"])  # type: ignore[call-arg]
    assert bad.value.nearest == "sched"
    with pytest.raises(ConfigError, match="not both"):
        nearslot.compare(synthetic, sched=["satf", "look"], vary={"sched": ["fcfs"]})
    for once, vary in [
        ({"depth": 8}, {"depth": [1, 2]}),
        ({"drive": "no-such-drive"}, {"drive": ["null", "hp-c2247a"]}),
        ({"place": "stripe:disks=4"}, {"place.disks": [2, 3]}),
    ]:
        (key,) = once
        told = rf"{key} = .*left out beside .*which varies the same key"
        with pytest.raises(ConfigError, match=told):
            nearslot.compare(trace, replay="closed", vary=vary, **once)
        with pytest.raises(ConfigError, match=told):
            nearslot.capacity(trace, slo="mean < 20 ms", vary=vary, **once)
        with pytest.raises(ConfigError, match=told):
            nearslot.sweep(trace, vary=vary, out="never.parquet", **once)
    with pytest.raises(ConfigError, match=r"workload = .*left out beside depth=1,2"):
        nearslot.compare(workload="iometer:depth=4", drive="null", depth=[1, 2])
    over = nearslot.compare(synthetic.replace(sched="look"), vary={"sched": ["fcfs", "satf"]})
    assert [run.choice for run in over] == ["sched=fcfs", "sched=satf"]
    with pytest.raises(ConfigError, match=r"sched = .*compare takes several"):
        nearslot.run(trace, sched=["satf", "look"])
    with pytest.raises(ConfigError, match="load = missing"):
        nearslot.compare(sched=["satf", "look"])
    with pytest.raises(ConfigError, match=r"workload = iometer .*left out beside another load"):
        nearslot.run(trace, workload="iometer")
    with pytest.raises(ConfigError, match="nothing beside a workload"):
        nearslot.run(synthetic, depth=8)


def test_no_drive_named_is_one_of_today_and_said(trace: Path) -> None:
    found = nearslot.run(trace, replay="closed", limit=500)
    chosen = found.drive_chosen
    assert chosen is not None
    assert chosen.name == found.run.config["drive"]["name"] == "desktop-7200-90mb"
    assert "sold since 2005" in chosen.why
    assert chosen.why in found._repr_html_()
    assert chosen.why.split(",")[0] in str(found)
    named = nearslot.run(trace, replay="closed", limit=500, drive=chosen.name)
    assert named.drive_chosen is None
    assert found.warnings == named.warnings


def test_a_sweep_needs_a_drive_that_is_named(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with pytest.raises(ConfigError, match="drive = none named"):
        nearslot.sweep(trace, replay="closed", sched=["fcfs", "look"], out=out)
    swept = nearslot.sweep(
        trace, drive="null", replay="closed", limit=300, sched=["fcfs", "look"], out=out
    )
    assert swept.to_pandas()["vary.sched"].tolist() == ["fcfs", "look"]


def test_what_all_runs_share_is_in_no_label(trace: Path, tmp_path: Path) -> None:
    grid = {"sched": ["fcfs"], "depth": [1, 8]}
    found = nearslot.compare(trace, drive="null", replay="closed", limit=300, vary=grid)
    assert [run.label for run in found] == ["depth=1", "depth=8"]
    assert [run.choice for run in found] == ["sched=fcfs", "sched=fcfs"]
    assert [run.settings for run in found] == [
        {"sched": "fcfs", "depth": "1"},
        {"sched": "fcfs", "depth": "8"},
    ]
    assert found["fcfs 8"] is found["sched=fcfs depth=8"] is found["depth=8"] is found[1]
    # A row of a sweep is the same in whichever piece its run was done.
    for together in (1, 2):
        swept = nearslot.sweep(
            trace,
            drive="null",
            replay="closed",
            limit=300,
            vary=grid,
            runs_per_task=together,
            out=tmp_path / f"{together}.parquet",
        )
        labels = ["sched=fcfs depth=1", "sched=fcfs depth=8"]
        assert swept.to_pandas()["label"].tolist() == labels


def test_results_are_gone_through_and_looked_up(grid: nearslot.Results) -> None:
    assert [run.label for run in grid] == [run.label for run in grid.runs]
    assert grid["satf 16"] is grid.runs[3]
    assert grid["sched=satf depth=16"] is grid["depth=16 satf"] is grid[3] is grid[-1]
    assert grid[1:3] == grid.runs[1:3]
    with pytest.raises(KeyError, match=r"2 runs have 'satf'.*sched=satf depth=1.*depth=16"):
        _ = grid["satf"]
    with pytest.raises(KeyError, match=r"no run has 'look'; the runs are 'sched=fcfs depth=1'"):
        _ = grid["look"]
    with pytest.raises(KeyError, match="no run has ''"):
        _ = grid[""]
    with pytest.raises(IndexError):
        _ = grid[4]


def test_one_scheduler_is_looked_up_by_its_name(synthetic: Scenario) -> None:
    results = nearslot.compare(synthetic, sched=["fcfs", "satf"])
    assert results["satf"].config["sched"]["name"] == "satf"
    assert results["sched=fcfs"] is results.runs[0]


def test_rows_become_pandas(synthetic: Scenario) -> None:
    results = nearslot.compare(synthetic, sched=["fcfs", "satf"], requests=True)
    frame = results.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["choice"].tolist() == ["sched=fcfs", "sched=satf"]
    assert frame["response_ms_mean"].tolist() == [run.response_ms.mean for run in results]
    assert len(results.requests.to_pandas()) == len(results.requests) == 4_000


def test_pandas_that_is_missing_is_named(
    synthetic: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = nearslot.run(synthetic)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match=r"pip install 'nearslot\[frames\]'.*pandas"):
        results.to_pandas()


def test_representations_are_short(trace: Path, grid: nearslot.Results) -> None:
    inspection = nearslot.inspect(trace)
    run = grid.runs[0]
    assert run.series is not None
    for thing in (grid, run, run.series, inspection, nearslot.run(trace, replay="closed")):
        assert len(repr(thing)) < 300, repr(thing)
    assert len(repr(grid.runs)) < 1_000
    assert repr(run).startswith("<nearslot.Run sched=fcfs depth=1: 3000 requests, mean ")
    assert "3000 requests" in repr(inspection)


class Cells(html.parser.HTMLParser):
    """The cells of tables, the words outside, and whether all that was opened was closed."""

    def __init__(self) -> None:
        """Has seen nothing."""
        super().__init__()
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self.within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Goes in."""
        self.within.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        """Goes out of the same."""
        assert self.within.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keeps text."""
        if self.within[-1] in ("td", "th"):
            self.rows[-1].append(data)
        else:
            self.words.append(data)


def test_notebooks_get_the_verdict_and_a_table(grid: nearslot.Results) -> None:
    cells = Cells()
    cells.feed(grid._repr_html_())
    assert cells.within == []
    assert grid.verdict.headline in cells.words
    assert {"depth=1", "depth=16"} <= set(cells.words)
    assert cells.rows[0][:3] == ["#", "run", "mean ms"]
    # Two loads, each with a heading and two runs.
    assert len(cells.rows) == 6
    best = grid.verdict.rankings[1].ranks[0]
    assert cells.rows[4][:3] == ["1", best.choice, f"{best.response_ms_mean:.4g}"]
    assert {row[5].split()[-1] for row in cells.rows[4:]} == {"baseline", "faster"}


def test_markup_in_names_is_text(tmp_path: Path, synthetic: Scenario) -> None:
    drive = tmp_path / "<i>x.toml"
    drive.write_text(nearslot.show("hp-c2247a").text or "")
    found = nearslot.compare(synthetic, drive=[drive, "null"])
    cells = Cells()
    cells.feed(found._repr_html_())
    assert cells.within == []
    # In the table, and among the facts.
    assert any("<i>" in cell for row in cells.rows for cell in row)
    assert any("<i>" in word for word in cells.words)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_a_trace(trace: Path, kind: str) -> None:
    frame = FRAMES[kind](columns(trace))
    told = nearslot.inspect(trace)
    found = nearslot.inspect(frame)
    assert (found.requests, found.span_s) == (told.requests, told.span_s)
    assert found.files == [kind]
    scenario = Scenario(trace=frame, drive="hp-c2247a", fit="wrap", replay="closed", depth=8)
    by_file = nearslot.run(scenario.replace(trace=trace)).run
    results = nearslot.run(scenario)
    assert results.run.response_ms == by_file.response_ms
    assert results.trace is not None
    assert (results.trace.files, results.trace.device) == ([kind], kind)
    assert nearslot.compare(frame, drive="null", sched=["fcfs", "look"], limit=500)["look"]


def test_a_frame_may_have_times_categories_and_gaps(trace: Path) -> None:
    plain = columns(trace)
    frame = pandas.DataFrame(plain)
    frame["time"] = pandas.to_datetime(frame.pop("ts_us"), unit="us")
    frame["op"] = frame["op"].astype("category")
    told = nearslot.inspect(trace)
    assert nearslot.inspect(frame).span_s == told.span_s
    frame["time"] -= frame["time"][0]
    assert nearslot.inspect(frame).span_s == told.span_s
    bare = pandas.DataFrame(plain).rename(columns={"ts_us": "time"})
    assert nearslot.inspect(bare, reading=Reading(time_unit="us")).span_s == told.span_s


def test_frames_are_one_trace_as_files_are(trace: Path, tmp_path: Path) -> None:
    whole = polars.read_csv(trace).with_columns(dev=polars.lit("sda"))
    halves = [whole[:1_500], whole[1_500:]]
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for half, file in zip(halves, files, strict=True):
        half.write_csv(file)
    by_file, by_frame = nearslot.inspect(files), nearslot.inspect(halves)
    assert by_file.requests == by_frame.requests == 3_000
    assert by_file.hash == by_frame.hash
    assert by_frame.files == ["polars.DataFrame", "polars.DataFrame"]
    with pytest.raises(ConfigError, match="at least one file"):
        nearslot.inspect([])


def test_frames_that_are_no_trace_are_named(trace: Path, tmp_path: Path) -> None:
    plain = columns(trace)
    whole = pandas.DataFrame(plain)
    wrong = whole.astype({"op": "object"})
    wrong.loc[5, "op"], wrong.loc[7, "offset"] = "explode", -5
    told = r"the pandas.DataFrame: line 7: column 2 \(op\) is `explode`, allowed is R, W"
    with pytest.raises(InputError, match=told):
        nearslot.inspect(wrong, reading=Reading(strict=True))
    (bad,) = nearslot.inspect(wrong).anomalies
    assert bad.count == 2
    assert "column 3 (offset) is `-5`, allowed is a whole number from 0" in bad.examples[1]
    with pytest.raises(InputError, match=r"the pandas.DataFrame: .*names no column for `offset`"):
        nearslot.run(whole.drop(columns="offset"))
    for frame, message in [
        (whole[:0], "pandas.DataFrame without rows"),
        (pandas.Series([1, 2], name="x"), "a table of named columns"),
        (polars.DataFrame({**plain, "size": [[1]] * 3_000}), r"column 'size' = .*list.* \(allowed"),
        ([7], "trace = 7 .*paths of files, or data frames"),
    ]:
        with pytest.raises(ConfigError, match=message):
            nearslot.inspect(frame)
    with pytest.raises(
        ConfigError, match=r"format = blktrace .*left out beside a pandas.DataFrame"
    ):
        nearslot.inspect(whole, format="blktrace")
    with pytest.raises(ConfigError, match="files beside data frames"):
        nearslot.run([trace, whole])
    with pytest.raises(ConfigError, match=r"trace = pandas.DataFrame .*write the frame to one"):
        nearslot.sweep(whole, drive="null", out=tmp_path / "out.parquet")


def test_a_frames_file_lives_as_long_as_its_scenario(trace: Path) -> None:
    scenario = Scenario(trace=pandas.DataFrame(columns(trace)), limit=300, drive="null")
    again = scenario.replace(sched="look")
    file = Path(scenario.files[0])
    del scenario
    gc.collect()
    assert file.exists()
    assert nearslot.run(again).run.requests == 300
    # Another trace in its place is read as what it is.
    assert "format" not in again.replace(trace=trace).to_dict()["load"]["trace"]
    del again
    gc.collect()
    assert not file.exists()


def test_parts_of_all_kinds_are_listed() -> None:
    parts = nearslot.list()
    kinds = {part.kind for part in parts}
    assert {"schedulers", "drives", "placements", "workloads", "oracles", "formats"} <= kinds
    schedulers = nearslot.list("schedulers")
    assert [part for part in parts if part.kind == "schedulers"] == schedulers


def test_readings_say_all_that_the_command_can(trace: Path, tmp_path: Path) -> None:
    late = tmp_path / "late.csv"
    lines = trace.read_text().splitlines()
    late.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert nearslot.inspect(late, reading=Reading(sort=True)).hash == nearslot.inspect(trace).hash
    with pytest.raises(ConfigError, match=r"fio_wait.*abs-ms"):
        nearslot.inspect(trace, reading=Reading(fio_wait="rel"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="fio-wait"):
        nearslot.inspect(trace, reading=Reading(fio_wait="rel-us"))


def test_verdicts_on_runs_and_on_claims_have_names_of_their_own() -> None:
    assert experiments.ClaimVerdict.HOLDS.value == "holds"
    assert not hasattr(experiments, "Verdict")


def test_hit_rates_are_those_of_the_command(trace: Path, tmp_path: Path) -> None:
    found = nearslot.hitrate(trace, cache=["lru", "optimal"], size=["1%", "10%"])
    assert [(row.cache, row.size) for row in found.rows] == [
        ("lru", "1%"),
        ("lru", "10%"),
        ("optimal", "1%"),
        ("optimal", "10%"),
    ]
    lru, _, best, _ = found.rows
    assert best.knows_future
    assert found.footprint <= best.misses <= lru.misses <= found.asked
    assert lru.miss_ratio == lru.misses / found.asked
    assert str(found).startswith("lru misses")
    assert polars.DataFrame(found.rows).height == 4
    frame = polars.read_csv(trace)
    assert nearslot.hitrate(frame, cache="lru", size="10%").rows[0].misses == found.rows[1].misses
    reads = nearslot.hitrate(trace, cache="lru", size="10%", count="reads", unit="request")
    assert (reads.which, reads.unit) == ("reads", "request")
    sampled = nearslot.hitrate(trace, cache="lru", size="70%", sample="50%", seed=3)
    assert sampled.sample is not None
    assert sampled.sample.seed == 3
    assert sampled.rows[0].off_by is not None
    assert found.complete
    assert found.rows[0].missed_requests is None
    both = nearslot.hitrate(trace, cache="lru", size="10%", per_request=True, to="1s").rows[0]
    assert both.missed_requests is not None
    assert both.request_miss_ratio is not None
    assert both.missed_requests <= both.misses
    page = tmp_path / "curve.html"
    found.to_html(page)
    assert "Miss ratios" in page.read_text()
    with pytest.raises(ConfigError, match="force=True"):
        found.to_html(page)
    found.to_html(page, force=True)
    for wrong, named in [
        ({"cache": "lur"}, "did you mean `lru`"),
        ({"size": "10"}, "with its unit"),
        ({"unit": 1000}, "multiple of 512"),
        ({"count": "writes"}, "all or reads"),
        ({"sample": "2"}, "a share of the lines"),
        ({"seed": 2}, "beside sample"),
        ({"limit": 0}, "a whole number from 1"),
        ({"from_": "soon"}, "from"),
        ({"per_request": True, "unit": "request"}, "per_request"),
    ]:
        with pytest.raises(ConfigError, match=named):
            nearslot.hitrate(trace, **wrong)  # type: ignore[arg-type]
