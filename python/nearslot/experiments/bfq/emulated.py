"""The load and the drive of the measurement of the kernel's own schedulers: one place for both."""

from __future__ import annotations

from functools import partial

from ...runs import Run
from ...scenario import Scenario
from ..table import Cell, Row, simulated
from ..verdict import Where
from .options import Options
from .setup import IDLE, LAUNCH_S, PRESENT, at, cell, numbers, scenario

DRIVE = "emulated-7200-150mb"
READERS = "10r-seq"
HOST = {"read_ahead": "2560KiB", "request_max": "1280KiB", "file": "2GiB"}
"""The load of the measurement: ten readers in a row, a read-ahead of 2560 KiB; files that are not
read twice."""
LIMIT_S = 60.0
APPLICATIONS = ("bash-recorded", "xterm-recorded")


def readers_marks(
    sched: str, size: str = HOST["request_max"], cause: str = ""
) -> dict[str, object]:
    """The marks of the readers alone."""
    return {"what": "readers", "load": READERS, "sched": sched, "size": size, "cause": cause}


def _host(load: str, host: dict[str, object]) -> dict[str, object]:
    """The settings of the host; a file is that of who is beside."""
    settled: dict[str, object] = {**HOST, **host}
    if load == IDLE:
        del settled["file"]
    return settled


def alone(
    options: Options, word: str, *, drive: str = DRIVE, beside: str = READERS, **host: object
) -> Scenario:
    """The readers alone, for as long as a start-up may take; `host` are other settings of it."""
    workload = {
        "name": "host",
        "beside": beside,
        "seconds": LAUNCH_S + LIMIT_S,
        "memory": options.memory,
        **_host(beside, host),
    }
    return Scenario(workload=workload, drive=drive, sched=word)


def _each(options: Options, run: Run) -> Row:
    rates = [one.read_mb_s for one in run.processes]
    return {**numbers(options, run), "least_mb_s": min(rates), "most_mb_s": max(rates)}


def readers(options: Options, one: Scenario, marks: Where) -> Cell:
    """The readers alone: what is told of a start-up, and what the slowest and the fastest got."""
    return simulated(marks, one, partial(_each, options))


def start(
    options: Options,
    application: str,
    sched: str,
    *,
    load: str = READERS,
    settings: str = "",
    drive: str = DRIVE,
    cause: str = "",
    **host: object,
) -> Cell:
    """A start-up beside the readers, or beside nobody."""
    word = PRESENT[sched] + (f":{settings}" if settings else "")
    one = scenario(options, "HITACHI", load, application, word, **_host(load, host))
    return cell(options, one.replace(drive=drive), at("kernel", load, application, sched, cause))
