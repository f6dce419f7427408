"""Capacities: the same as the command finds, typed; errors that name the thing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import nearslot
from nearslot import ConfigError, InputError, Interrupted, Scenario

SLO = "read mean < 60 ms"
DRIVE = "seagate-cheetah-9lp"
VARY = {"sched": ["fcfs", "satf"]}


def test_capacity_finds_what_the_command_finds(trace: Path, tmp_path: Path) -> None:
    found = nearslot.capacity(trace, slo=SLO, drive=DRIVE, vary=VARY)
    words = ["capacity", str(trace), "--slo", SLO, "--sched", "fcfs,satf", "--drive", DRIVE]
    command = [sys.executable, "-m", "nearslot", *words]
    printed = subprocess.run([*command, "--format", "json"], capture_output=True, check=True)
    assert found.to_dict() == json.loads(printed.stdout)
    text = subprocess.run(command, capture_output=True, check=True, text=True)
    assert str(found) == text.stdout
    page = tmp_path / "found.html"
    found.to_html(page)
    assert found.headline.split("`")[0] in page.read_text()
    with pytest.raises(ConfigError, match="exist"):
        found.to_html(page)


def test_what_was_found_is_typed(trace: Path) -> None:
    found = nearslot.capacity(trace, slo=[SLO, "p95 < 250 ms"], drive=DRIVE, **VARY, jobs=1)
    assert found.find == "speed"
    assert found.complete
    assert [objective.statistic for objective in found.objectives] == ["mean", "p95"]
    assert [objective.of for objective in found.objectives] == ["read", "all"]
    assert found.best is not None
    assert found.best.choice == "sched=satf"
    assert found.best.against_best is None
    assert repr(found) == f"<nearslot.Capacity: {found.headline}>"
    for choice in found.choices:
        assert choice.surely_holds is not None
        assert choice.holds is not None
        assert choice.surely_fails is not None
        assert choice.surely_holds <= choice.holds < choice.surely_fails
        at = next(tried for tried in choice.tried if tried.at == choice.holds)
        assert at.word in {"surely holds", "holds"}
        assert at.readings[0].ms is not None
        assert at.readings[0].ms < 60.0
        assert choice.limit is not None
        assert choice.limit.at == choice.holds
        assert choice.limit.utilisation == at.utilisation
        assert choice.limit.shares is not None
        assert choice.limit.shares.seek > 0.0


def test_what_is_wrong_is_named(trace: Path) -> None:
    with pytest.raises(ConfigError, match="p98"):
        nearslot.capacity(trace, slo="p98 < 20 ms")
    with pytest.raises(ConfigError, match="at least one objective"):
        nearslot.capacity(trace, slo=[])
    with pytest.raises(ConfigError, match="left out"):
        nearslot.capacity(Scenario(trace=trace, speed=2.0), slo=SLO)
    with pytest.raises(ConfigError, match="vary speed"):
        nearslot.capacity(trace, slo=SLO, vary={"speed": [1, 2]})
    with pytest.raises(ConfigError, match="jobs"):
        nearslot.capacity(trace, slo=SLO, jobs=0)
    with pytest.raises(InputError, match="needs 5000"):
        nearslot.capacity(trace, slo="p99.9 < 20 ms")


def interrupted(requests: int, after_s: float) -> Interrupted:
    """What a search says of which each run has so many requests, and which is told to stop."""
    load = Scenario(workload=f"poisson:requests={requests}", sched="satf")
    timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(Interrupted) as raised:
        nearslot.capacity(load, slo="mean < 20 ms")
    return raised.value


def test_ctrl_c_keeps_what_was_found() -> None:
    found = interrupted(1_000_000, 8).capacity
    assert found is not None
    assert not found.complete


def test_ctrl_c_before_a_run_has_ended_keeps_nothing() -> None:
    assert interrupted(50_000_000, 1.5).capacity is None
