"""Results as columns and files."""

from __future__ import annotations

import gc
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import nearslot
from nearslot import ConfigError, InputError, Scenario, part


@pytest.fixture
def results(synthetic: Scenario) -> nearslot.Results:
    return nearslot.compare(synthetic, vary={"sched": ["fcfs", "satf"]}, requests=True)


def test_runs_are_rows_in_polars_pandas_and_pyarrow(results: nearslot.Results) -> None:
    means = [run.response_ms.mean for run in results.runs]
    frame = polars.DataFrame(results)
    assert frame["label"].to_list() == ["sched=fcfs", "sched=satf"]
    assert frame["response_ms_mean"].to_list() == means
    assert frame["requests"].to_list() == [2_000, 2_000]
    assert frame["rank"].to_list() == [2, 1]
    assert frame["trace_hash"].null_count() == 2
    assert pandas.DataFrame.from_arrow(results)["response_ms_mean"].tolist() == means
    assert pyarrow.table(results)["response_ms_mean"].to_pylist() == means


def test_recovery_is_told_where_a_map_survives(synthetic: Scenario) -> None:
    results = nearslot.compare(synthetic, vary={"place": ["eager", "eager:map=log"]})
    memory, log = (run.measures.get("recovery") for run in results.runs)
    assert memory is None
    assert log is not None
    # Four bytes for each of a million chunks, in reads of a MiB.
    assert 4 < log["mib"] < log["reads"] < 8
    assert 0.2 < log["s"] < 4
    frame = polars.DataFrame(results)
    for name, number in log.items():
        assert frame[f"recovery_{name}"].to_list() == [None, number]


def test_what_a_part_counts_is_told_by_its_card_alone() -> None:
    # A drive on which requests wait, and expire.
    load = Scenario(
        workload=part("poisson", rate_rps=100, requests=2_000), drive="seagate-cheetah-9lp"
    )
    deadline = part("mq-deadline", read_expire_ms=1, write_expire_ms=1)
    results = nearslot.compare(load, vary={"sched": ["fcfs", deadline]})
    counts = [run.measures.get("sched") for run in results.runs]
    assert counts[0] is None
    assert counts[1] is not None
    assert counts[1]["expired"] > 100
    frame = polars.DataFrame(results)
    for count in nearslot.show("mq-deadline").measures:
        told = [one for one in results.measures if (one.of, one.name) == ("sched", count.name)]
        assert [(one.unit, one.help) for one in told] == [(count.unit, count.help)]
        assert frame[f"sched_{count.name}"].to_list() == [None, counts[1][count.name]]


def test_requests_are_rows_and_add_up(results: nearslot.Results) -> None:
    assert len(results.requests) == 4_000
    rows = polars.DataFrame(results.requests)
    assert rows.height == 4_000
    measured = rows.filter(~polars.col("warmup")).with_columns(
        response_ms=(polars.col("completion_ns") - polars.col("arrival_ns")) / 1e6,
        cost_ns=polars.col("seek_ns")
        + polars.col("rotation_ns")
        + polars.col("transfer_ns")
        + polars.col("overhead_ns"),
    )
    for run in results.runs:
        own = measured.filter(polars.col("run").cast(polars.String) == run.label)
        assert own.height == run.requests - run.warmup_requests
        assert own["response_ms"].mean() == pytest.approx(run.response_ms.mean)
        assert own["response_ms"].max() == pytest.approx(run.response_ms.max)
        assert (own["cost_ns"] <= own["completion_ns"] - own["start_ns"]).all()
        assert own["id"].n_unique() == own.height
    assert set(rows["op"].cast(polars.String)) <= {"read", "write"}


def test_requests_are_the_same_in_pandas_and_parquet(
    results: nearslot.Results, tmp_path: Path
) -> None:
    rows = pyarrow.table(results.requests)
    frame = pandas.DataFrame.from_arrow(results.requests)
    assert frame["completion_ns"].tolist() == rows["completion_ns"].to_pylist()
    path = tmp_path / "requests.parquet"
    results.requests.to_parquet(path)
    saved = pyarrow.parquet.read_table(path)
    assert saved["completion_ns"].to_pylist() == rows["completion_ns"].to_pylist()
    with pytest.raises(InputError, match="nowhere"):
        results.requests.to_parquet(tmp_path / "nowhere" / "requests.parquet")


def test_commands_are_what_the_drives_did() -> None:
    scenario = Scenario(
        drive="seagate-cheetah-9lp",
        workload=part("poisson", requests=1_500, read_share=0.5, rate_rps=300),
        place=part("ew_array", dm=2, ds=1, dd=2, map="log", nvram_entries=64),
        sched="satf_ew",
        warmup=0,
    )
    results = nearslot.run(scenario, requests=True, commands=True)
    rows = polars.DataFrame(results.commands)
    assert len(results.commands) == rows.height > 1_500
    parts = ("overhead_ns", "seek_ns", "rotation_ns", "transfer_ns")
    ends = rows.with_columns(end_ns=polars.sum_horizontal("start_ns", *parts))
    # A drive does one thing at a time, and they are all in the utilisation.
    for _, own in ends.group_by("drive"):
        ordered = own.sort("start_ns")
        assert (ordered["start_ns"][1:] >= ordered["end_ns"][:-1]).all()
    busy = ends.select((polars.col("end_ns") - polars.col("start_ns")).sum()).item() / 1e9
    run = results.run
    assert busy == pytest.approx(run.utilisation * 4 * run.duration_s, rel=0.01)
    asked = ends.filter(polars.col("request").is_not_null())
    last = asked.group_by("request").agg(polars.col("end_ns").max())
    answered = polars.DataFrame(results.requests).join(last, left_on="id", right_on="request")
    assert answered.height == 1_500
    assert (answered["end_ns"] <= answered["completion_ns"]).all()
    own = ends.filter(polars.col("request").is_null())
    log, delayed = (own.filter(polars.col("lba").is_null() == which) for which in (True, False))
    assert (log.height > 10, log["open"].any()) == (True, False)
    assert (delayed.height > 200, delayed["open"].all()) == (True, True)


def test_rows_outlive_the_results(synthetic: Scenario) -> None:
    requests = nearslot.run(synthetic, requests=True).requests
    gc.collect()
    assert pyarrow.table(requests).num_rows == 2_000


def test_rows_that_were_not_kept_are_refused(synthetic: Scenario) -> None:
    with pytest.raises(InputError, match="requests=True"):
        _ = nearslot.run(synthetic, commands=True).requests
    with pytest.raises(InputError, match="commands=True"):
        _ = nearslot.run(synthetic, requests=True).commands


def test_the_page_is_written(results: nearslot.Results, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    results.to_html(page)
    text = page.read_text()
    assert "sched=satf" in text
    assert "cdf_ms" in text
    with pytest.raises(InputError, match="nowhere"):
        results.to_html(tmp_path / "nowhere" / "report.html")


def test_no_file_is_overwritten(trace: Path, tmp_path: Path) -> None:
    copy, old = tmp_path / "load.csv", tmp_path / "old"
    copy.write_bytes(trace.read_bytes())
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('[trace]\nfiles = ["load.csv"]\nlimit = 500\n')
    results = nearslot.run(scenario, requests=True, commands=True)
    old.write_bytes(b"years of work")
    (tmp_path / "link").symlink_to(copy)
    for write in (results.to_html, results.requests.to_parquet, results.commands.to_parquet):
        for read in (copy, tmp_path / "." / "load.csv", tmp_path / "link", scenario):
            with pytest.raises(ConfigError, match="a file that is not read"):
                write(read, force=True)
        with pytest.raises(ConfigError, match="force=True") as caught:
            write(old)
        assert (caught.value.key, caught.value.value) == ("path", str(old))
        assert old.read_bytes() == b"years of work"
    assert copy.read_bytes() == trace.read_bytes()
    for write in (results.to_html, results.requests.to_parquet, results.commands.to_parquet):
        write(old, force=True)
        assert old.read_bytes() != b"years of work"
        old.write_bytes(b"years of work")


def test_the_page_describes_the_trace(scenario: Scenario, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    nearslot.run(scenario).to_html(page)
    assert '"profile":{' in page.read_text()


def test_results_print_as_the_table(results: nearslot.Results) -> None:
    assert "sched=satf" in str(results)
    assert nearslot.__version__ in str(results)
    assert results.build == nearslot.__build__
    assert nearslot.__build__ in str(results)
    assert repr(results) == f"<nearslot.Results: 2 of 2 runs. {results.verdict.headline}>"
    assert results.verdict.headline.startswith("satf wins: ")


def test_what_two_drives_take_along_is_told_with_its_addresses() -> None:
    faults = "injected:gone_at_s=1:second_gone_at_s=2"
    found = nearslot.run(
        nearslot.Scenario(
            workload="poisson:requests=2000:rate_rps=200",
            drive="seagate-cheetah-9lp",
            place="raid5:disks=4",
            faults=faults,
        )
    ).runs[0]
    assert found.lost is not None
    assert found.lost.blocks > 1_000_000
    assert found.lost.extents[0].blocks > 0
