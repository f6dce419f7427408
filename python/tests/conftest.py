"""What the tests run on: a small trace of their own, and a synthetic load."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nearslot
from nearslot.experiments import table
from nearslot.experiments.frame import Experiment

DRIVE = "seagate-cheetah-9lp"

# It asserts for the tests of all studies.
pytest.register_assert_rewrite("claims")


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


class AskedError(Exception):
    """A run was asked for; it is this one."""


Asking = Callable[[Experiment[Any], Any], list[str]]
"""The scenarios of all points of an experiment with such options."""


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> Asking:
    """Which scenarios an experiment asks for, which are not run."""

    def asked(one: Any, **_: object) -> None:  # noqa: ANN401 (a scenario)
        raise AskedError(one.to_toml())

    def counted(_of: object, _seed: int, what: str) -> None:
        raise AskedError(what)

    monkeypatch.setattr(table, "compare", asked)
    monkeypatch.setattr(table, "count", counted)

    def scenarios(experiment: Experiment[Any], options: Any) -> list[str]:  # noqa: ANN401
        found = []
        for cell in experiment.cells(options):
            with pytest.raises(AskedError) as caught:
                cell.run([1])
            found.append(str(caught.value))
        return found

    return scenarios
