"""Why 5r5w-seq takes longest with bfq: each cause of the published explanation has a switch."""

from __future__ import annotations

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, above, at_least, at_most, below
from .options import READS, Options
from .setup import BFQ, HITACHI, IDLE, LOWRITER, MIXED, SEQUENTIAL, XTERM, at, startup, times, told

NO_WRITES, OWNED, ROOM, NO_SYNC = "no writes", "not anonymous", "room to be dirty", "nobody syncs"
EXPIRIES = (62, 125, 250, 500)
"""The longest wait of asynchronous writes, in ms; 250 is what Linux has."""
CHARGES = (1, 3)


def expiry(ms: int) -> str:
    """The mark of a longest wait."""
    return f"longest wait {ms} ms"


def charge(times_charged: int) -> str:
    """The mark of a charge."""
    return f"charge {times_charged}"


def cells(options: Options) -> list[Cell]:
    """Lowriter beside 5r5w-seq with one cause switched at a time."""

    def one(cause: str, load: str = MIXED, *, settings: str = "", **host: object) -> Cell:
        return startup(
            options, HITACHI, load, LOWRITER, BFQ, settings=settings, cause=cause, **host
        )

    return [
        one("", IDLE),
        one(""),
        one("", SEQUENTIAL),
        one(NO_WRITES, IDLE, application_writes=False),
        one(NO_WRITES, SEQUENTIAL, application_writes=False),
        one(NO_WRITES, application_writes=False),
        one(OWNED, anonymous=False),
        one(ROOM, background_percent=80, dirty_percent=90),
        one(NO_SYNC, sync_every_ms=0),
        *(
            one(expiry(ms), settings=f"fifo_expire_async_ms={ms}:fifo_expire_sync_ms={ms // 2}")
            for ms in EXPIRIES
        ),
        *(one(charge(count), settings=f"async_charge={count}") for count in CHARGES),
        startup(options, HITACHI, IDLE, XTERM, BFQ),
        startup(options, HITACHI, MIXED, XTERM, BFQ),
    ]


def _point(cause: str = "", load: str = MIXED) -> dict[str, object]:
    return at(HITACHI, load, LOWRITER, BFQ, cause)


def _inflation(table: Table, cause: str) -> Mean:
    return times(table, _point(cause), _point())


def _told(table: Table, causes: tuple[str, ...]) -> str:
    return "; ".join(f"{cause or 'as it is'} {told(table, _point(cause))} s" for cause in causes)


def removed(table: Table) -> Found:
    """C7."""
    without = times(table, _point(NO_WRITES), _point(NO_WRITES, IDLE))
    with_them = times(table, _point(), _point("", IDLE))
    return Found(
        [Check("5r5w-seq without writes, times idle", without, at_most(1.2), "")],
        f"with them {with_them.value:.3g} times",
    )


def alone(table: Table) -> Found:
    """C8."""
    found = times(table, at(HITACHI, MIXED, XTERM), at(HITACHI, IDLE, XTERM))
    return Found([Check("xterm beside 5r5w-seq, times idle", found, at_most(1.2), "")])


def limits(table: Table) -> Found:
    """C2."""
    return Found(
        [
            Check(
                "with room to be dirty, of the time as it is",
                _inflation(table, ROOM),
                below(1.0),
                "",
            )
        ],
        _told(table, ("", ROOM)),
    )


def identity(table: Table) -> Found:
    """C3."""
    return Found(
        [Check("where writes are not anonymous", _inflation(table, OWNED), below(1.0), "")],
        _told(table, ("", OWNED)),
    )


def waits(table: Table) -> Found:
    """C6."""
    short, long = (_point(expiry(ms)) for ms in (EXPIRIES[0], EXPIRIES[-1]))
    slower = times(table, long, short)
    faster = times(table, long, short, "device_mb_s")
    times_told = _told(table, tuple(expiry(ms) for ms in EXPIRIES))
    return Found(
        [
            Check("start-up at 500 ms to that at 62 ms, times", slower, above(1.0), ""),
            Check("throughput at 500 ms to that at 62 ms, times", faster, above(1.0), ""),
        ],
        times_told,
    )


def overdue(table: Table) -> Found:
    """C5. One overdue request a turn jumps the order, so a long queue still waits for long."""
    points = {ms: _point(expiry(ms)) for ms in EXPIRIES}
    shorter = times(table, points[EXPIRIES[0]], points[EXPIRIES[-1]], "write_longest_s")
    longest = {ms: table.mean("write_longest_s", **point) for ms, point in points.items()}
    pieces = (f"{ms} ms: {found.value:.3g} s" for ms, found in longest.items())
    return Found(
        [Check("longest write at 62 ms to that at 500 ms, times", shorter, below(1.0), "")],
        f"the longest that a write took, by longest wait: {', '.join(pieces)}",
    )


def syncs(table: Table) -> Found:
    """C9."""
    return Found([], _told(table, ("", NO_SYNC, *(charge(count) for count in CHARGES))))


def writes(table: Table) -> Found:
    """C4. Greedy writers write far more meanwhile than the application waits for."""
    written = table.mean("written_mb_s", **_point())
    return Found([Check("greedy writers write meanwhile", written, at_least(1.0), "MB/s")])


_RANGE = "lowriter beside 5r5w-seq, HITACHI"

STATEMENTS = [
    Statement(
        id="C2",
        kind=Kind.ORDER,
        statement="Early flushing, since too much is dirty, is a cause of the inflation",
        published="extra results, explanation, step 2",
        range=f"{_RANGE}; limits of 80 and 90 % in place of 10 and 20",
        judge=limits,
    ),
    Statement(
        id="C3",
        kind=Kind.ORDER,
        statement="That writes are anonymous is a cause of it",
        published="extra results, explanation, steps 3 and 4",
        range=f"{_RANGE}; writeback as the process that wrote",
        judge=identity,
    ),
    Statement(
        id="C4",
        kind=Kind.ORDER,
        statement="Greedy writes go on while the application waits for its own",
        published="extra results, explanation, step 4",
        range=_RANGE,
        judge=writes,
    ),
    Statement(
        id="C5",
        kind=Kind.ORDER,
        statement="The longest wait bounds how long a write may take",
        published="extra results, explanation, step 5; that it is the expiry is the reference's",
        range=f"{_RANGE}; longest waits of 62 and 500 ms",
        judge=overdue,
        note="Linux lets one overdue request jump the order, once a turn",
    ),
    Statement(
        id="C6",
        kind=Kind.ORDER,
        statement="A shorter longest wait lets it start sooner, and costs throughput",
        published="extra results, explanation, step 5",
        range=f"{_RANGE}; 500 ms against 62 ms, synchronous ones half as long",
        judge=waits,
    ),
    Statement(
        id="C7",
        kind=Kind.OWN,
        statement="Without the application's writes there is no inflation",
        published="follows from the explanation",
        range=f"{_RANGE}; at most 1.2 times idle",
        judge=removed,
    ),
    Statement(
        id="C8",
        kind=Kind.OWN,
        statement="A start-up that only reads is not inflated",
        published="follows from the recordings, which write nothing",
        range="xterm beside 5r5w-seq, HITACHI; at most 1.2 times idle",
        judge=alone,
    ),
    Statement(
        id="C9",
        kind=Kind.INFORMATION,
        statement="What else could be a cause: syncs every 2 s, and what writes are charged",
        published="not published",
        range=_RANGE,
        judge=syncs,
    ),
]

EXPERIMENT = Experiment(
    name="bfq-causes",
    question="Why does lowriter take longest beside sequential readers and writers?",
    source="BFQ pages: extra results, explanation of 5r5w-seq",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"hitachi", "limit_s", "memory"}) & READS,
)
