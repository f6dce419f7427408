"""Beside the kernel's own schedulers, which were measured over an emulated disk."""

from __future__ import annotations

from dataclasses import dataclass

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, at_least, exactly, within
from . import variants
from .emulated import APPLICATIONS, HOST, READERS, alone, readers, readers_marks, start
from .options import Options
from .setup import BFQ, PRESENT, at, told, up


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
FACTOR = 1.5
"""So many times more or less is still near."""


SIZES = (HOST["request_max"], "512KiB")
"""The longest request, which is not known of the measurement."""


def cells(options: Options) -> list[Cell]:
    """Each row of the measurement, and the rows that have no number."""
    found = [
        readers(
            options,
            alone(options, PRESENT[row.sched], request_max=size),
            readers_marks(row.sched, size),
        )
        for row in ROWS
        if row.readers_mb_s is not None
        for size in SIZES
    ]
    found += [
        start(options, application, row.sched, load=row.load)
        for row in ROWS
        for application in APPLICATIONS
    ]
    return [*found, *variants.cells(options)]


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
        marks = {size: readers_marks(row.sched, size) for size in SIZES}
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


LEAST_MB_S, MOST_MB_S = 3.9, 9.8
"""What the slowest and the fastest of the ten readers got from the kernel with bfq."""


def uneven(table: Table) -> Found:
    """K-bfq-even: each against the mean, since all of them read faster here."""
    row = next(row for row in ROWS if row.sched == BFQ)
    assert row.readers_mb_s is not None
    mean = row.readers_mb_s / 10
    where = readers_marks(BFQ)
    checks = []
    for key, kernel in (("least_mb_s", LEAST_MB_S / mean), ("most_mb_s", MOST_MB_S / mean)):
        ratio = table.each(
            lambda one, of_all, kernel=kernel: one / (of_all / 10) / kernel,
            (key, where),
            ("read_mb_s", where),
        )
        checks.append(
            Check(f"{key[:-5]}, times the kernel's", ratio, within(1 / FACTOR, FACTOR), "")
        )
    least, most = (table.mean(key, **where).value for key in ("least_mb_s", "most_mb_s"))
    return Found(checks, f"{least:.3g} to {most:.3g} MB/s")


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
        id="K-bfq-even",
        kind=Kind.NUMBER,
        statement="How uneven ten readers are with bfq",
        published=f"the kernel's own, measured: {LEAST_MB_S:g} to {MOST_MB_S:g} MB/s each",
        range=f"an emulated disk; slowest and fastest to the mean, within {FACTOR} times",
        judge=uneven,
    ),
    Statement(
        id="K-order",
        kind=Kind.OWN,
        statement="bfq lets both start at least ten times as fast as any other",
        published="the kernel's own: 32 to 34 times, bash",
        range="ten readers; an X counts as the limit",
        judge=ahead,
    ),
    *variants.STATEMENTS,
]

EXPERIMENT = Experiment(
    name="bfq-kernel",
    question="How near is the model to the kernel's own schedulers over an emulated disk?",
    source="a measurement of this project's: Linux, loop device over an emulated disk",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"limit_s", "memory"}),
)
