"""What the tests run on: a small trace of their own, and a synthetic load."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

import nearslot

DRIVE = "seagate-cheetah-9lp"


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> None:
    """A shell that starts the tests in the background lets them ignore Ctrl-C, which some send."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 random requests of 4 KiB in a CSV whose header tells everything."""
    draw = random.Random(1)
    path = tmp_path_factory.mktemp("trace") / "load.csv"
    lines = ["ts_us,op,offset,size"]
    for index in range(3_000):
        op = "R" if draw.random() < 0.7 else "W"
        lines.append(f"{index * 8_000},{op},{draw.randrange(1_000_000) * 4_096},4096")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def scenario(trace: Path) -> nearslot.Scenario:
    """The trace in a closed replay."""
    return nearslot.Scenario(
        trace=trace, drive=DRIVE, replay="closed", depth=8, sched="satf", limit=2_000
    )


@pytest.fixture
def synthetic() -> nearslot.Scenario:
    """2,000 random reads in a closed loop."""
    return nearslot.Scenario(
        workload=nearslot.part("iometer", depth=8, requests=2_000), drive=DRIVE, sched="satf"
    )
