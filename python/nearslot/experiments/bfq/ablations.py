"""Which rules of bfq matter: each is switched off, and the start-up must show it."""

from __future__ import annotations

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Gate, Kind, above, at_least, within
from .options import READS, Options
from .setup import (
    BFQ,
    FAST,
    GNOMETERM,
    HITACHI,
    IDLE,
    LOWRITER,
    MIXED,
    OTHERS,
    PLEXTOR,
    SCHEDULERS,
    SEQUENTIAL,
    XTERM,
    at,
    cell,
    scenario,
    startup,
    times,
    told,
)
from .setup import POOL as LINUX_POOL

NO_FAVOURS, SHORT_IDLING, NO_FOREIGN = "low_latency off", "raised idling 8 ms", "no in-flight rule"
NO_IDLING = "slice_idle 0"
WRITES = "8w-seq"
"""Greedy writers beside a start-up, as in the report on the fast drive."""
DEEP = {"flush_depth": 1024}
POOL = 256
"""Requests of writeback on their way, and in a scheduler, on a drive with a deep queue."""

SETTINGS = {
    "": "",
    NO_FAVOURS: "low_latency=false",
    SHORT_IDLING: "raised_idle_ms=8",
    NO_FOREIGN: "foreign_requests=0",
    NO_IDLING: "slice_idle_ms=0",
}


def cells(options: Options) -> list[Cell]:
    """Start-ups with one rule switched off."""

    def one(device: str, load: str, application: str, cause: str = "") -> Cell:
        settings = SETTINGS[cause]
        return startup(options, device, load, application, BFQ, settings=settings, cause=cause)

    def deep(sched: str, cause: str = "") -> Cell:
        word = SCHEDULERS[sched].replace(f"={LINUX_POOL}", f"={POOL}")
        settings = SETTINGS[cause]
        word += f":{settings}" if settings else ""
        run = scenario(options, FAST, WRITES, GNOMETERM, word, **DEEP)
        return cell(options, run, at(FAST, WRITES, GNOMETERM, sched, cause))

    return [
        *(one(HITACHI, SEQUENTIAL, XTERM, cause) for cause in SETTINGS),
        *(
            one(PLEXTOR, load, GNOMETERM, cause)
            for load in (IDLE, SEQUENTIAL, MIXED)
            for cause in ("", SHORT_IDLING)
        ),
        *(deep(BFQ, cause) for cause in ("", NO_FOREIGN)),
        *(deep(sched) for sched in OTHERS),
        one(FAST, IDLE, GNOMETERM),
        one(PLEXTOR, IDLE, LOWRITER),
    ]


def favours(table: Table) -> Found:
    """P1."""
    checks, pieces = [], []
    own = at(HITACHI, SEQUENTIAL, XTERM)
    for cause in SETTINGS:
        without = at(HITACHI, SEQUENTIAL, XTERM, BFQ, cause)
        pieces.append(f"{cause or 'as it is'} {told(table, without)}")
        if cause in (NO_FAVOURS, NO_IDLING):
            lead = times(table, without, own)
            checks.append(Check(f"{cause}, times as it is", lead, at_least(2.0), ""))
    return Found(checks, f"seconds, xterm beside 10r-seq on HITACHI: {', '.join(pieces)}")


def _published(load: str, before: float, after: float, gate: Gate) -> Statement:
    def judge(table: Table) -> Found:
        marks = {cause: at(PLEXTOR, load, GNOMETERM, BFQ, cause) for cause in ("", SHORT_IDLING)}
        lead = times(table, marks[SHORT_IDLING], marks[""])
        found = f"{told(table, marks[SHORT_IDLING])} to {told(table, marks[''])} s"
        return Found([Check("8 ms against 20 ms, times", lead, gate, "")], found)

    return Statement(
        id="B2" if load == SEQUENTIAL else "B3",
        kind=Kind.NUMBER,
        statement=f"Waiting 20 ms for a favoured process, not 8, shortens a start beside {load}",
        published=f"{before:g} to {after:g} s (gnome-terminal, PLEXTOR)",
        range=f"gnometerm, {gate.low:g} to {gate.high:g} times",
        judge=judge,
    )


def idle(table: Table) -> Found:
    """B1."""
    found = table.mean("startup_s", **at(PLEXTOR, IDLE, GNOMETERM))
    return Found([Check("gnometerm on an idle PLEXTOR", found, within(0.4, 0.9), "s")])


def in_flight(table: Table) -> Found:
    """B4."""
    marks = {cause: at(FAST, WRITES, GNOMETERM, BFQ, cause) for cause in ("", NO_FOREIGN)}
    lead = times(table, marks[NO_FOREIGN], marks[""])
    found = f"{told(table, marks[NO_FOREIGN])} to {told(table, marks[''])} s"
    return Found([Check("without the rule, times", lead, at_least(3.0), "")], found)


def others(table: Table) -> Found:
    """B5."""
    own = at(FAST, WRITES, GNOMETERM)
    checks, pieces = [], []
    for sched in OTHERS:
        one = at(FAST, WRITES, GNOMETERM, sched)
        checks.append(Check(f"{sched} to bfq, times", times(table, one, own), above(5.0), ""))
        pieces.append(f"{sched} {told(table, one)}")
    idle_time = told(table, at(FAST, IDLE, GNOMETERM))
    return Found(checks, f"bfq {told(table, own)} s, {', '.join(pieces)} s; idle {idle_time} s")


STATEMENTS = [
    Statement(
        id="P1",
        kind=Kind.OWN,
        statement="Without favours, or without waiting, the start-up takes far longer",
        published="reference, section 13.6",
        range="xterm beside 10r-seq on HITACHI; at least twice as long",
        judge=favours,
    ),
    Statement(
        id="B1",
        kind=Kind.NUMBER,
        statement="On an idle PLEXTOR gnome-terminal is up after 0.6 s",
        published="0.6 s",
        range="gnometerm, 0.4 to 0.9 s",
        judge=idle,
        note="start-ups with published counts have no time of processors",
    ),
    _published(SEQUENTIAL, 1.2, 0.8, within(1.2, 1.8)),
    _published(MIXED, 2.0, 1.0, within(1.6, 2.4)),
    Statement(
        id="B4",
        kind=Kind.NUMBER,
        statement="Waiting where others have requests on the drive restores control under writes",
        published="15 to 1.5 s (gnome-terminal, Samsung 970 PRO)",
        range=f"gnometerm beside {WRITES} on a fast flash drive; at least 3 times",
        judge=in_flight,
    ),
    Statement(
        id="B5",
        kind=Kind.NUMBER,
        statement="There every other scheduler takes far longer",
        published="about 35 s against 1.5 s",
        range=f"gnometerm beside {WRITES} on a fast flash drive; more than 5 times",
        judge=others,
    ),
]

EXPERIMENT = Experiment(
    name="bfq-ablations",
    question="Which rules of bfq make a start-up short?",
    source="Linux commits on raised idling and on requests in flight; reference, section 13.6",
    cells=cells,
    statements=STATEMENTS,
    reads=READS - {"seagate"},
)
