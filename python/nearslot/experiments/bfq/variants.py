"""Rows of the same measurement that have no published number: what the rules let one expect.

The gates of V1 to V7 were written before anything was run, from rules alone, and none was moved
afterwards. V8 to V10 came later: each is the cause of one that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...runs import Run
from ..statement import Found, Statement
from ..table import Cell, Row, Table, simulated
from ..verdict import Check, Kind, Mean, above, at_least, at_most, below, within
from .emulated import APPLICATIONS, DRIVE, HOST, READERS, alone, readers, readers_marks, start
from .options import Options
from .setup import BFQ, IDLE, NONE, POOL, PRESENT, at, told

AHEAD, NO_FAVOURS, STRICT = "read-ahead 128 KiB", "low_latency off", "strict"
FIFO, NO_QUEUE = "FIFO disk", "disk without a queue"
ALL_WAITED = "low_latency off, strict"
KNOWN = "read-ahead 128 KiB, think times known"


@dataclass(frozen=True)
class Variant:
    """What is other than in the measured rows, and with which schedulers it is looked at."""

    scheds: tuple[str, ...]
    settings: str = ""
    drive: str = DRIVE
    host: dict[str, str] = field(default_factory=dict)


NO_BFQ = tuple(name for name in PRESENT if name not in (BFQ, "cfq"))
VARIANTS = {
    AHEAD: Variant((*NO_BFQ, BFQ), host={"read_ahead": "128KiB"}),
    NO_FAVOURS: Variant((BFQ,), "low_latency=false"),
    STRICT: Variant((BFQ,), "strict_guarantees=true"),
    ALL_WAITED: Variant((BFQ,), "low_latency=false:strict_guarantees=true"),
    FIFO: Variant((*NO_BFQ, BFQ), drive=f"{DRIVE}:queue_sched=fcfs"),
    NO_QUEUE: Variant((*NO_BFQ, BFQ), drive=f"{DRIVE}:queue_depth=1"),
}

LIGHT, HEAVY = 100, 500
WANTED = HEAVY / LIGHT
SHARERS = {"two readers": 2, "two groups of five readers": 10}
PLAIN = f"{PRESENT[BFQ]}:low_latency=false"
FAVOURS = {"favours": PRESENT[BFQ], "no favours": PLAIN}
DEEP = "no favours, a pool of 256"
WEIGHED = {**FAVOURS, DEEP: PLAIN.replace(f"={POOL}", "=256")}

ACQUAINTED = [{"read": "4KiB", "direct": True, "times": 3}, {"read": "4KiB", "times": 500_000}]
"""A reader that reads three blocks one after the other before it reads with read-ahead."""


def _shares(run: Run) -> Row:
    rates = [one.read_mb_s for one in run.processes]
    half = len(rates) // 2
    light, heavy = sum(rates[:half]), sum(rates[half:])
    return {"share": heavy / light, "mb_s": light + heavy}


def _weighted(options: Options, who: str, favours: str) -> Cell:
    """Readers of which the second half has five times the weight; ten of them are two groups."""
    count = SHARERS[who]
    # Streams of processes are numbered from 1 on.
    weights = {stream: LIGHT if stream <= count // 2 else HEAVY for stream in range(1, count + 1)}
    claims = "told:weight=" + " ".join(f"{stream}={of}" for stream, of in weights.items())
    if count > 2:
        groups = (f"{stream}={1 if of == LIGHT else 2}" for stream, of in weights.items())
        claims += ":group=" + " ".join(groups)
    # Two read more each, so their files are longer: none is read twice.
    longer = {"file": "10GiB"} if count == 2 else {}
    one = alone(options, WEIGHED[favours], beside=f"{count}r-seq", **longer)
    marks = {"what": "weights", "who": who, "favours": favours}
    return simulated(marks, one.replace(claims=claims), _shares)


def cells(options: Options) -> list[Cell]:
    """Each variant: the readers alone, and both start-ups beside them; readers with weights."""
    found = [_weighted(options, who, favours) for who in SHARERS for favours in WEIGHED]
    for cause, of in VARIANTS.items():
        for sched in of.scheds:
            word = PRESENT[sched] + (f":{of.settings}" if of.settings else "")
            one = alone(options, word, drive=of.drive, **of.host)
            found.append(readers(options, one, readers_marks(sched, cause=cause)))
            found += [
                start(
                    options,
                    application,
                    sched,
                    settings=of.settings,
                    drive=of.drive,
                    cause=cause,
                    **of.host,
                )
                for application in APPLICATIONS
            ]
    ten = {"name": "reader", "count": 10, "file": HOST["file"], "steps": ACQUAINTED}
    one = alone(options, PRESENT[BFQ], beside=IDLE, process=[ten], **VARIANTS[AHEAD].host)
    found.append(readers(options, one, readers_marks(BFQ, cause=KNOWN)))
    # The measured rows have the readers alone with these two; here the others are asked for too.
    found += [
        readers(options, alone(options, PRESENT[sched]), readers_marks(sched))
        for sched in NO_BFQ
        if sched != NONE
    ]
    return found


_SHARE = within(0.9 * WANTED, 1.1 * WANTED)
_ELEVENTH = within(11 / 2, 11 * 2)


def _at(application: str, sched: str, cause: str = "") -> dict[str, object]:
    return at("kernel", READERS, application, sched, cause)


def _name(application: str) -> str:
    return application.removesuffix("-recorded")


def _startup(table: Table, application: str, sched: str, cause: str, than: str = "") -> Mean:
    """How many times as long a start-up takes as under another cause."""
    return table.each(
        lambda one, other: one / other,
        ("startup_s", _at(application, sched, cause)),
        ("startup_s", _at(application, sched, than)),
    )


def _read(table: Table, sched: str, cause: str, than: str = "") -> Mean:
    """How many times as much the readers alone read as under another cause."""
    return table.each(
        lambda one, other: one / other,
        ("read_mb_s", readers_marks(sched, cause=cause)),
        ("read_mb_s", readers_marks(sched, cause=than)),
    )


def _against_idle(table: Table, application: str, cause: str) -> Mean:
    return table.each(
        lambda one, idle: one / idle,
        ("startup_s", _at(application, BFQ, cause)),
        ("startup_s", at("kernel", IDLE, application, NONE)),
    )


def _rows(table: Table, cause: str) -> str:
    """Start-ups and readers, in words."""
    pieces = []
    for sched in VARIANTS[cause].scheds:
        took = ", ".join(
            f"{_name(one)} {told(table, _at(one, sched, cause))} s" for one in APPLICATIONS
        )
        rate = table.mean("read_mb_s", **readers_marks(sched, cause=cause)).value
        pieces.append(f"{sched}: {took}, readers alone {rate:.3g} MB/s")
    return "; ".join(pieces)


def shorter_ahead(table: Table) -> Found:
    """V1. Fewer bytes lie before a request that waits, and heads go to and fro more often."""
    checks = [
        Check(
            f"bash, {sched}, times that at {HOST['read_ahead']}",
            _startup(table, "bash-recorded", sched, AHEAD),
            below(1.0),
            "",
        )
        for sched in NO_BFQ
    ]
    checks += [
        Check(f"readers, {sched}, times as much", _read(table, sched, AHEAD), below(1.0), "")
        for sched in NO_BFQ
    ]
    own, other = (readers_marks(sched, cause=AHEAD) for sched in (BFQ, NONE))
    more = table.each(lambda one, two: one / two, ("read_mb_s", own), ("read_mb_s", other))
    checks.append(Check("readers, bfq to none, times", more, above(1.0), ""))
    return Found(checks, _rows(table, AHEAD))


def fair_share(table: Table) -> Found:
    """V2. One of eleven that all weigh the same has an eleventh of the drive's time."""
    checks = [
        Check(
            f"{_name(application)}, times idle",
            _against_idle(table, application, NO_FAVOURS),
            _ELEVENTH,
            "",
        )
        for application in APPLICATIONS
    ]
    same = _read(table, BFQ, NO_FAVOURS)
    checks.append(Check("readers, times as much", same, within(0.9, 1.1), ""))
    return Found(checks, _rows(table, NO_FAVOURS))


def one_at_a_time(table: Table) -> Found:
    """V3. Favours are as before; a drive with one request at a time does less."""
    checks = [
        Check(f"{_name(one)}, times as it is", _startup(table, one, BFQ, STRICT), at_most(1.5), "")
        for one in APPLICATIONS
    ]
    checks.append(
        Check("readers, times as much as it is", _read(table, BFQ, STRICT), below(1.0), "")
    )
    return Found(checks, _rows(table, STRICT))


def _first_come(cause: str) -> Callable[[Table], Found]:
    """V4 and V5. None is passed over; bfq has one process at a time on the drive either way."""

    def judge(table: Table) -> Found:
        checks = [
            Check(
                f"bash, {sched}, times as it is",
                _startup(table, "bash-recorded", sched, cause),
                at_most(1.0),
                "",
            )
            for sched in (NONE, "kyber")
        ]
        checks += [
            Check(
                f"readers, {sched}, times as much as it is",
                _read(table, sched, cause),
                below(1.0),
                "",
            )
            for sched in (NONE, "kyber")
        ]
        checks += [
            Check(
                f"{_name(one)}, bfq, times as it is",
                _startup(table, one, BFQ, cause),
                within(1 / 1.5, 1.5),
                "",
            )
            for one in APPLICATIONS
        ]
        kept = _read(table, BFQ, cause)
        checks.append(Check("readers, bfq, times as much as it is", kept, within(0.8, 1.25), ""))
        return Found(checks, _rows(table, cause))

    return judge


def by_weight(table: Table) -> Found:
    """V6."""
    checks, pieces = [], []
    for who in SHARERS:
        for favours in FAVOURS:
            marks = {"what": "weights", "who": who, "favours": favours}
            found = table.mean("share", **marks)
            checks.append(Check(f"{who}, {favours}", found, _SHARE, "times"))
            rate = table.mean("mb_s", **marks).value
            pieces.append(f"{who}, {favours}: {found.value:.3g} times, {rate:.3g} MB/s")
    return Found(checks, "; ".join(pieces))


def by_pool(table: Table) -> Found:
    """V8. Of a pool of 64 the light group has ten places: two for each reader, as it asks for."""
    checks = [
        Check(who, table.mean("share", what="weights", who=who, favours=DEEP), _SHARE, "times")
        for who in SHARERS
    ]
    return Found(checks)


def known(table: Table) -> Found:
    """V9. After three think times, the first of them unknown, the mean is still too long.

    Who then always has something on its way has no fourth, and is not waited for any more.
    """
    more = _read(table, BFQ, KNOWN, AHEAD)
    rates = {
        cause: table.mean("read_mb_s", **readers_marks(BFQ, cause=cause)).value
        for cause in (AHEAD, KNOWN)
    }
    told_of = "; ".join(f"{cause}: {rate:.3g} MB/s" for cause, rate in rates.items())
    return Found([Check("readers, times as much", more, at_least(2.0), "")], told_of)


def waited_for(table: Table) -> Found:
    """V10. Who has a seek before each request loses its turn with it, unless all are waited for."""
    checks = [
        Check(
            f"{_name(application)}, times idle",
            _against_idle(table, application, ALL_WAITED),
            _ELEVENTH,
            "",
        )
        for application in APPLICATIONS
    ]
    return Found(checks, _rows(table, ALL_WAITED))


def still_ahead(table: Table) -> Found:
    """V7. What makes bfq first hangs neither on the read-ahead nor on the queue of the disk."""
    checks = [
        Check(
            f"{cause}, {_name(application)}: {sched} to bfq",
            table.each(
                lambda one, two: one / two,
                ("startup_s", _at(application, sched, cause)),
                ("startup_s", _at(application, BFQ, cause)),
            ),
            at_least(5.0),
            "times",
        )
        for cause in (AHEAD, FIFO, NO_QUEUE)
        for application in APPLICATIONS
        for sched in NO_BFQ
    ]
    return Found(checks)


def _expected(
    name: str, statement: str, rule: str, where: str, judge: Callable[[Table], Found]
) -> Statement:
    return Statement(
        id=name,
        kind=Kind.OWN,
        statement=statement,
        published=f"no number; expected: {rule}",
        range=f"an emulated disk, ten readers; {where}",
        judge=judge,
    )


STATEMENTS = [
    _expected(
        "V1",
        "A read-ahead of 128 KiB lets bash start sooner without bfq, and readers read less",
        "less lies before each request; bfq stays with one reader",
        "128 KiB against 2560 KiB; none, mq-deadline, kyber",
        shorter_ahead,
    ),
    _expected(
        "V2",
        "Without favours a start-up takes about as long as with an eleventh of the disk",
        "equal weights",
        "low_latency off; half of 11 times idle to twice that",
        fair_share,
    ),
    _expected(
        "V3",
        "With strict guarantees start-ups are as fast, and readers read less",
        "favours as before; one request at a time on the drive",
        "strict_guarantees; at most 1.5 times as long",
        one_at_a_time,
    ),
    *(
        _expected(
            name,
            f"On a disk {words} bash starts no later without bfq, and bfq does as before",
            "nobody is passed over; readers lose order",
            "none, kyber and bfq against the disk as it is",
            _first_come(cause),
        )
        for name, cause, words in (
            ("V4", FIFO, "that serves what came first first"),
            ("V5", NO_QUEUE, "without a queue"),
        )
    ),
    _expected(
        "V6",
        "Readers of weights 100 and 500 read one to five",
        "shares by weight",
        "two readers, two groups of five; within 10 %",
        by_weight,
    ),
    _expected(
        "V7",
        "bfq is five times ahead with a short read-ahead, and without an order in the disk",
        "favours",
        "both start-ups; none, mq-deadline, kyber; an X counts as the limit",
        still_ahead,
    ),
    _expected(
        "V8",
        "With a larger pool of requests they do so without favours, too",
        "places in the pool are shared by weight; found as the cause of V6",
        "low_latency off, nr_requests=256; within 10 %",
        by_pool,
    ),
    _expected(
        "V9",
        "With a short read-ahead bfq waits for readers only once it knows how they think",
        "the first think time counts as 16 ms; found as the cause of V1",
        "128 KiB; readers that begin with three single blocks, at least twice as much",
        known,
    ),
    _expected(
        "V10",
        "Without favours, where all are waited for, a start-up has an eleventh of the disk",
        "strict guarantees wait for everybody; found as the cause of V2",
        "low_latency off, strict_guarantees; half of 11 times idle to twice that",
        waited_for,
    ),
]
