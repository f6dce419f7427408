"""Hosts in Python: processes as tables, what they did, and files of start-ups beside a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearslot import ConfigError, Scenario, compare, run

OWN = {
    "name": "host",
    "seconds": 5,
    "process": [
        {
            "name": "reader",
            "file": "1MiB",
            "times": 3,
            "steps": [{"read": "64KiB"}, {"think_ms": 2.0}],
        }
    ],
}


def test_processes_are_tables_and_tell_what_they_did() -> None:
    found = run(workload=OWN, drive="desktop-7200-90mb").runs[0]
    (reader,) = found.processes
    assert (reader.name, reader.rounds, reader.ended, reader.failed) == ("reader", 3, True, 0)
    assert reader.mean_s is not None
    assert reader.mean_s > 2e-3
    assert "startup_s" not in found.measures["host"]


def test_a_scenario_with_processes_goes_to_toml_and_back(tmp_path: Path) -> None:
    rows = "process,think_us,kind,sector,sectors\na,0,read,800,8\n"
    (tmp_path / "own.csv").write_text(rows, encoding="utf-8")
    text = """
drive = "desktop-7200-90mb"
[workload]
name = "host"
launch = "own.csv"
launch_s = 0
[[workload.process]]
name = "one"
times = 1
steps = [{ read = "4KiB" }, { start = "own.csv" }]
"""
    scenario = Scenario.from_toml(text, directory=tmp_path)
    assert scenario.to_toml().count(str(tmp_path / "own.csv")) == 2
    again = Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    found = run(again).runs[0]
    assert found.measures["host"]["startup_s"] > 0
    assert found.measures["host"]["not_up"] == 0
    assert found.series is not None
    took = [one.up_s - one.began_s for one in found.series.startups if one.up_s is not None]
    assert sum(took) / len(took) == pytest.approx(found.measures["host"]["startup_s"])


def test_the_application_is_up_or_not_under_each_scheduler() -> None:
    found = compare(
        workload="host:launch=bash:launch_s=0:seconds=20:beside=2r-seq",
        drive="hitachi-7200-90mb",
        sched=["bfq", "fcfs"],
    )
    assert not found.verdict.rankings
    assert "the application is up after" in found.verdict.headline.lower()


def test_a_wrong_process_is_named() -> None:
    wrong = {**OWN, "process": [{"name": "one", "steps": [{"raed": "4KiB"}]}]}
    with pytest.raises(ConfigError, match="process `one`: step 1"):
        run(workload=wrong, drive="null")
