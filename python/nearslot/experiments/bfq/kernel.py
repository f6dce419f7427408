"""Beside the kernel's own schedulers, which were measured over an emulated disk."""

from __future__ import annotations

from dataclasses import dataclass

from ...scenario import Scenario
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, at_least, exactly, within
from .options import Options
from .setup import LAUNCH_S, SCHEDULERS, at, cell, scenario, told, up

DRIVE = "emulated-7200-150mb"
READERS = "10r-seq"
HOST = {"read_ahead": "2560KiB", "request_max": "1280KiB", "file": "2GiB"}
"""The load of the measurement: ten readers in a row, a read-ahead of 2560 KiB; files that are not
read twice."""
LIMIT_S = 60.0


@dataclass(frozen=True)
class Measured:
    """What the kernel took for a start, in seconds; None where it was not up after 60."""

    sched: str
    load: str
    bash: float | None
    xterm: float | None
    readers_mb_s: float | None = None


ROWS = (
    Measured("none", "0r0w", 0.32, 0.82),
    Measured("none", READERS, 27.9, None, 68.8),
    Measured("mq-deadline", READERS, 26.4, None),
    Measured("kyber", READERS, 26.1, None),
    Measured("bfq", READERS, 0.82, 1.27, 64.6),
)
APPLICATIONS = ("bash-recorded", "xterm-recorded")
FACTOR = 1.5
"""So many times more or less is still near."""


SIZES = (HOST["request_max"], "512KiB")
"""The longest request, which is not known of the measurement."""


def _alone(options: Options, sched: str, size: str) -> Scenario:
    """The readers alone, for as long as a start-up may take."""
    workload = {
        "name": "host",
        "beside": READERS,
        "seconds": LAUNCH_S + LIMIT_S,
        "memory": options.memory,
        **HOST,
        "request_max": size,
    }
    return Scenario(workload=workload, drive=DRIVE, sched=SCHEDULERS[sched])


def _readers(sched: str) -> dict[str, object]:
    return {"what": "readers", "load": READERS, "sched": sched}


def cells(options: Options) -> list[Cell]:
    """Each row of the measurement."""
    found = [
        cell(options, _alone(options, row.sched, size), {**_readers(row.sched), "size": size})
        for row in ROWS
        if row.readers_mb_s is not None
        for size in SIZES
    ]
    for row in ROWS:
        for application in APPLICATIONS:
            host = (
                dict(HOST)
                if row.load != "0r0w"
                else {key: value for key, value in HOST.items() if key != "file"}
            )
            one = scenario(options, "HITACHI", row.load, application, SCHEDULERS[row.sched], **host)
            marks = at("kernel", row.load, application, row.sched)
            found.append(cell(options, one.replace(drive=DRIVE), marks))
    return found


def _near(row: Measured, application: str, kernel: float | None) -> Statement:
    name = application.removesuffix("-recorded")

    def judge(table: Table) -> Found:
        where = at("kernel", row.load, application, row.sched)
        took = told(table, where)
        found = "not up" if took == "X" else f"{took} s"
        if kernel is None:
            return Found([exactly("share up", up(table, where).value, within(0.0, 0.0))], found)
        ratio = table.each(lambda took: took / kernel, ("startup_s", where))
        return Found([Check("times the kernel's", ratio, within(1 / FACTOR, FACTOR), "")], found)

    beside = "alone" if row.load == "0r0w" else "ten readers beside it"
    published = "over 60 s" if kernel is None else f"{kernel:g} s"
    return Statement(
        id=f"K-{row.sched}-{name}{'-idle' if row.load == '0r0w' else ''}",
        kind=Kind.NUMBER,
        statement=f"{name} with {row.sched}, {beside}",
        published=f"the kernel's own, measured: {published}",
        range=f"an emulated disk; within {FACTOR} times",
        judge=judge,
    )


def _moves(row: Measured, kernel: float) -> Statement:
    def judge(table: Table) -> Found:
        marks = {size: {**_readers(row.sched), "size": size} for size in SIZES}
        rates = {size: table.mean("read_mb_s", **where) for size, where in marks.items()}
        ratio: Mean = table.each(lambda rate: rate / kernel, ("read_mb_s", marks[SIZES[0]]))
        found = "; ".join(
            f"requests up to {size} {rate.value:.3g} MB/s" for size, rate in rates.items()
        )
        return Found([Check("times the kernel's", ratio, within(0.8, 1.25), "")], found)

    return Statement(
        id=f"K-{row.sched}-readers",
        kind=Kind.NUMBER,
        statement=f"What the ten readers read with {row.sched}",
        published=f"the kernel's own, measured: {kernel:g} MB/s",
        range=f"an emulated disk, requests up to {SIZES[0]}; within a quarter",
        judge=judge,
    )


def ahead(table: Table) -> Found:
    """K-order: the order of the schedulers, which no constant of the host moves."""
    checks = []
    for application in APPLICATIONS:
        own = at("kernel", READERS, application, "bfq")
        for sched in ("none", "mq-deadline", "kyber"):
            other = at("kernel", READERS, application, sched)
            ratio = table.each(lambda one, two: one / two, ("startup_s", other), ("startup_s", own))
            checks.append(Check(f"{application}: {sched} to bfq", ratio, at_least(10.0), "times"))
    return Found(checks)


STATEMENTS = [
    *(
        _near(row, application, kernel)
        for row in ROWS
        for application, kernel in zip(APPLICATIONS, (row.bash, row.xterm), strict=True)
    ),
    *(_moves(row, row.readers_mb_s) for row in ROWS if row.readers_mb_s is not None),
    Statement(
        id="K-order",
        kind=Kind.OWN,
        statement="bfq lets both start at least ten times as fast as any other",
        published="the kernel's own: 32 to 34 times, bash",
        range="ten readers; an X counts as the limit",
        judge=ahead,
    ),
]

EXPERIMENT = Experiment(
    name="bfq-kernel",
    question="How near is the model to the kernel's own schedulers over an emulated disk?",
    source="a measurement of this project's: Linux, loop device over an emulated disk",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"limit_s", "memory"}),
)
