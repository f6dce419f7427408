"""The journal: transactions like TPC-B above a log that skips (table 3, figure 12).

The paper has two disks of 7,200 rev/min: the journal lies on one, all else goes to the other. Its
tables, clients and times are not published. Here one client decides, with half a millisecond of
work a transaction and as much between data and commit block, fixed before anything was run; pages
go home at the 30 s of Linux. The drive is of the class of the paper's, its write cache off, and the
journal lies where a track has about as many blocks as on that drive (61 MB/s, from memory).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...runs import Run
from ...scenario import Scenario, part
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Row, Table, simulated
from ..verdict import Check, Kind, Mean, Where, at_least, exactly, within
from .options import Options
from .setup import SOURCE

NONE, PROFILE, RANGES, NULL = "none", "profile", "ranges", "null"
WAYS = (NONE, PROFILE, NULL)
ALL_WAYS = (NONE, PROFILE, RANGES, NULL)
"""A place for each block; a measured table; all that is free offered to the drive; no I/O."""
WRITING = (NONE, PROFILE, RANGES)

CACHED, UNCACHED = "cached", "uncached"
TABLES: dict[str, dict[str, object]] = {
    CACHED: {"branches": 10},
    UNCACHED: {"branches": 100, "cached_share": 0.5},
}
"""Tables in memory, or of which accounts are read so often that a third of the traffic is reads.

Where pages go home before each commit, that is more often than a transaction reads: all do then.
"""

OWN, ALONE, SAME = "two drives", "log alone", "one drive"
ORDERED = "two drives, pages home before each commit"
CLIENTS = (1, 4, 16)
TURN_MS = 60_000 / 7_200
WAITS_US = (200, 500, 1_000, 2_000)

FORCED, FREE = "cache on, commits forced", "cache on, nothing forced"
MODERN = "modern-20tb"
PUBLISHED = {"think_step_us": 50, "skip_step_blocks": 1, "think_max_ms": 80}
COARSER = {"think_step_us": 100, "skip_step_blocks": 8}
"""Where skips reach over a track of a drive of today, which has five times as many blocks."""
COARSE = {"think_step_us": 400, "skip_step_blocks": 8, "think_max_ms": 40}
FEW = 2_000
"""Transactions of a log alone, of which none is written over."""
WRAPS = 10
SMALL_JOURNAL = 512


def numbers(run: Run) -> Row:
    """What a run tells of its transactions, in milliseconds each as well."""
    of = run.measures["workload"]
    if of["gave_up"]:
        raise RuntimeError(f"{run.label}: the journal gave up, so it has no rate of transactions")
    told: Row = {"tps": of["transactions_s"], "transaction_ms": 1e3 / of["transactions_s"]}
    moved = of["account_reads"] + of["pages_home"]
    told["read_share"] = of["account_reads"] / moved if moved else 0.0
    keys = ("commit_block_rotation_ms", "commit_block_ms", "data_ms", "data_rotation_ms")
    counts = ("failed", "log_wraps", "log_wait_s", "skipped_blocks", "cut_writes", "free_blocks")
    return told | {key: of[key] for key in (*keys, *counts) if key in of}


def cell(options: Options, marks: Where, drive: str, **knobs: object) -> Cell:
    """Transactions with a way of writing the log, above two drives or one."""
    chosen: dict[str, object] = {"transactions": options.transactions, **knobs}
    if chosen["skip"] == PROFILE:
        chosen = {**(COARSE if options.quick else PUBLISHED), **chosen}
    place = "linear"
    if marks["on"] == ORDERED:
        chosen["data"] = "ordered"
    if marks["on"] in (OWN, ORDERED):
        chosen["journal"], place = "own", "concat:disks=2"
    if marks["on"] == ALONE:
        # No page goes home within the run, so there is nothing but the log.
        chosen |= {"write_back_s": 1_000_000, "journal_blocks": 8 * FEW, "transactions": FEW}
    word = part("tpcb", **{key: str(value) for key, value in chosen.items()})
    return simulated(
        marks, Scenario(workload=word, drive=drive, place=place, sched="satf"), numbers
    )


def cells(options: Options) -> list[Cell]:
    """Two drives by ways, tables, clients; think times, caches; a log alone, one drive, today."""
    return [*_two_drives(options), *_others(options), *_today(options)]


def _off(options: Options) -> str:
    return f"{options.journal_drive}:cache=off"


def _two_drives(options: Options) -> Iterator[Cell]:
    at = {"at_block": options.journal_block}
    for tables, knobs in TABLES.items():
        for clients in CLIENTS[:1] if options.quick else CLIENTS:
            for way in WAYS:
                marks = {"on": OWN, "tables": tables, "clients": clients, "way": way}
                yield cell(options, marks, _off(options), skip=way, clients=clients, **knobs, **at)
        for way in WAYS:
            marks = {"on": ORDERED, "tables": tables, "way": way}
            often = knobs if tables == CACHED else {**knobs, "cached_share": 0}
            yield cell(options, marks, _off(options), skip=way, **often, **at)
    for wait in WAITS_US:
        apart: dict[str, object] = {"on": OWN, "wait_us": wait}
        yield cell(options, apart, _off(options), skip=NONE, commit_wait_us=wait, **at)
    for cache, force in {FORCED: "true", FREE: "false"}.items():
        for way in (NONE, PROFILE):
            marks = {"on": OWN, "cache": cache, "way": way}
            drive = f"{options.journal_drive}:cache=volatile"
            yield cell(options, marks, drive, skip=way, force=force, **at)


def _others(options: Options) -> Iterator[Cell]:
    at = {"at_block": options.journal_block}
    for way in WRITING:
        yield cell(options, {"on": ALONE, "way": way}, _off(options), skip=way, **at)
    for way in ALL_WAYS:
        for tables, knobs in TABLES.items():
            marks = {"on": SAME, "tables": tables, "way": way}
            yield cell(options, marks, _off(options), skip=way, **knobs, **at)
    small: dict[str, object] = {"on": OWN, "journal": SMALL_JOURNAL, "way": PROFILE}
    drive = _off(options)
    yield cell(options, small, drive, skip=PROFILE, journal_blocks=SMALL_JOURNAL, **at)


def _today(options: Options) -> Iterator[Cell]:
    track = options.modern_track_blocks
    wide = {"skip_max_blocks": track, **({} if options.quick else COARSER)}
    skips: dict[str, dict[str, int]] = {"600 KB": {}, "a track": wide}
    for way in WRITING:
        for reach, knobs in skips.items() if way == PROFILE else [("", {})]:
            marks = {"on": ALONE, "drive": MODERN, "way": way, "reach": reach}
            yield cell(options, marks, f"{options.modern}:cache=off", skip=way, **knobs)


def at(tables: str, way: str, clients: int = 1) -> dict[str, object]:
    """The marks of a point with two drives."""
    return {"on": OWN, "tables": tables, "clients": clients, "way": way}


def one_client(tables: str) -> dict[str, object]:
    """The marks of all ways that are held against each other."""
    return {"on": OWN, "tables": tables, "clients": 1}


def gain(table: Table, way: str, **where: object) -> Mean:
    """By how much more transactions a second there are than with an unmodified journal."""
    return table.lead("tps", {**where, "way": way}, {**where, "way": NONE})


def share_of_null(table: Table, tables: str, key: str = "tps") -> Mean:
    """What a log that skips gains, of what one that is not written gains."""
    columns = [(key, at(tables, way)) for way in WAYS]
    return table.each(lambda none, skips, null: (skips - none) / (null - none), *columns)


def nearly_a_turn(table: Table) -> Found:
    """E1."""
    checks = []
    for wait in WAITS_US:
        found = table.each(
            lambda rotation, wait=wait: (rotation + wait / 1e3) / TURN_MS,
            ("commit_block_rotation_ms", {"wait_us": wait}),
        )
        name = f"{wait / 1e3:g} ms between: from the end of data to the commit block"
        checks.append(Check(name, found, within(0.9, 1.02), "turns"))
    rotation = ", ".join(
        f"{wait / 1e3:g} ms: {table.mean('commit_block_rotation_ms', wait_us=wait).value:.2f}"
        for wait in WAITS_US
    )
    return Found(checks, f"ms of rotation of a commit block, by time between: {rotation}")


def _by_clients(table: Table, tables: str) -> str:
    told = []
    for clients in table.values("clients"):
        gains = [gain(table, way, on=OWN, tables=tables, clients=clients).value for way in WAYS[1:]]
        told.append(f"{clients}: {gains[0]:+.0%}, without I/O {gains[1]:+.0%}")
    return f"by clients: {'; '.join(told)}"


def _times(table: Table, tables: str) -> str:
    told = [f"{way} {table.mean('transaction_ms', **at(tables, way)).value:.2f}" for way in WAYS]
    return f"ms a transaction: {', '.join(told)}"


def uncached(table: Table) -> Found:
    """E2."""
    check = Check(
        "two drives, one client", gain(table, PROFILE, **one_client(UNCACHED)), within(0.1, 0.3)
    )
    shares = table.mean("read_share", **at(UNCACHED, NONE)).value
    told = f"{_times(table, UNCACHED)}; {shares:.0%} of the tables' traffic is reads"
    return Found([check], told, _by_clients(table, UNCACHED))


def cached(table: Table) -> Found:
    """E3."""
    check = Check(
        "two drives, one client", gain(table, PROFILE, **one_client(CACHED)), at_least(0.45)
    )
    return Found([check], _times(table, CACHED), _by_clients(table, CACHED))


def near_null(table: Table) -> Found:
    """E4."""
    checks = [
        Check(
            f"{tables}: of what no I/O gains", share_of_null(table, tables), at_least(0.8), "of it"
        )
        for tables in TABLES
    ]
    saved = ", ".join(
        f"{tables} {share_of_null(table, tables, 'transaction_ms').value:.2f}" for tables in TABLES
    )
    return Found(checks, f"of the time a transaction that no I/O saves: {saved}")


def more_work(table: Table) -> Found:
    """J1."""
    ms = {
        (tables, way): table.mean("transaction_ms", **at(tables, way)).value
        for tables in TABLES
        for way in WAYS
    }
    saved = {tables: ms[tables, NONE] - ms[tables, PROFILE] for tables in TABLES}
    rest = saved[CACHED] / 0.61 - ms[CACHED, PROFILE]
    then = saved[UNCACHED] / (ms[UNCACHED, PROFILE] + rest)
    bound = (ms[CACHED, NONE] + rest) / (ms[CACHED, NULL] + rest) - 1
    return Found(
        [],
        f"with {rest:.1f} ms more of anything else a transaction it would be 61 % with cached "
        f"tables, {then:.0%} with the others, and {bound:.0%} without I/O",
    )


def ordered(table: Table) -> Found:
    """J5."""
    told = []
    for tables in TABLES:
        where = {"on": ORDERED, "tables": tables}
        skips, null = (gain(table, way, **where).value for way in WAYS[1:])
        share = table.mean("read_share", **where, way=NONE).value
        told.append(
            f"{tables}: {skips:+.0%}, without I/O {null:+.0%}, {skips / null:.2f} of it; ms a "
            f"transaction {_ways(table, **where)}; {share:.0%} of the tables' traffic is reads"
        )
    return Found([], "; ".join(told))


def no_leak(table: Table) -> Found:
    """E5."""
    where = {"journal": SMALL_JOURNAL}
    free = table.mean("free_blocks", **where)
    wraps = table.mean("log_wraps", **where)
    failed = sum(row["failed"] for row in table.rows)
    return Found(
        [
            Check("wraps of a small journal", wraps, at_least(WRAPS), ""),
            Check("blocks free then, of as many", free, within(SMALL_JOURNAL, SMALL_JOURNAL), ""),
            exactly("requests that failed, in all runs", failed, within(0, 0)),
        ],
        f"{table.mean('cut_writes', **where).value:g} writes were cut",
    )


def with_cache(table: Table) -> Found:
    """J2."""
    told = []
    for cache in (FORCED, FREE):
        of = gain(table, PROFILE, on=OWN, cache=cache).value
        ms = table.mean("transaction_ms", on=OWN, cache=cache, way=NONE).value
        told.append(f"{cache}: {ms:.2f} ms a transaction, a log that skips {of:+.1%}")
    return Found([], "; ".join(told))


def _ways(table: Table, **where: object) -> str:
    told = []
    for way in table.values("way", **where):
        for reach in table.values("reach", **where, way=way) or [None]:
            at_ = {**where, "way": way} | ({} if reach is None else {"reach": reach})
            name = f"{way} {reach}".strip() if reach else way
            told.append(f"{name} {table.mean('transaction_ms', **at_).value:.2f}")
    return ", ".join(told)


def offered(table: Table) -> Found:
    """J3."""
    places: dict[str, list[dict[str, str]]] = {
        ALONE: [{}],
        SAME: [{"tables": tables} for tables in TABLES],
    }
    told = []
    for on, wheres in places.items():
        for where in wheres:
            found = table.only(on=on, **where)
            rows = [row for row in found.rows if "drive" not in row]
            name = ", ".join([on, *where.values()])
            told.append(f"{name}: {_ways(Table(rows))}")
    return Found([], f"ms a transaction; {'; '.join(told)}")


def today(table: Table) -> Found:
    """J4."""
    return Found([], f"log alone, ms a transaction: {_ways(table, drive=MODERN)}")


_DECIDES = "two drives of the class, write cache off, one client; sizes and times our own"

STATEMENTS = [
    Statement(
        id="E1",
        kind=Kind.NUMBER,
        statement="The commit block of an unmodified journal loses nearly a turn",
        published="nearly a rotation: 8.33 ms at 7,200 rev/min (inferred)",
        range="0.2 to 2 ms between data and commit block; gate of our own: 0.9 to 1.02 turns",
        judge=nearly_a_turn,
    ),
    Statement(
        id="E2",
        kind=Kind.NUMBER,
        statement="With tables that are read, a log that skips brings a fifth more transactions",
        published="20 % speed-up",
        range=f"{_DECIDES}; gate of our own: 10 to 30 %",
        judge=uncached,
    ),
    Statement(
        id="E3",
        kind=Kind.NUMBER,
        statement="With tables in memory it brings more than three fifths more",
        published="over 61 % speed-up",
        range=f"{_DECIDES}; gate of our own: 45 %",
        judge=cached,
    ),
    Statement(
        id="E4",
        kind=Kind.ORDER,
        statement="Both are near a journal that does no I/O",
        published="close to a null journal",
        range=f"{_DECIDES}; gate of our own: four fifths of its transactions",
        judge=near_null,
    ),
    Statement(
        id="E5",
        kind=Kind.ORDER,
        statement="Twice the space is enough, as a block is free once it is written again",
        published="2S for S",
        range="a journal of 512 blocks over 1,024, ten wraps",
        judge=no_leak,
    ),
    Statement(
        id="J1",
        kind=Kind.INFORMATION,
        statement="How long a transaction would have to be for the published 61 %",
        published="times are not published",
        range=_DECIDES,
        judge=more_work,
    ),
    Statement(
        id="J5",
        kind=Kind.INFORMATION,
        statement="What it brings where pages go home before each commit, as ext3 does by default",
        published="E2, E3 and E4; the mode is not published",
        range="two drives, write cache off, one client",
        judge=ordered,
    ),
    Statement(
        id="J2",
        kind=Kind.INFORMATION,
        statement="What it brings where the drive has a write cache",
        published="nothing",
        range="two drives, cached tables, one client; commits forced to the medium or not",
        judge=with_cache,
    ),
    Statement(
        id="J3",
        kind=Kind.INFORMATION,
        statement="What native range writes bring: all that is free is offered",
        published="future work",
        range="a log alone, and journal and tables on one drive; one client",
        judge=offered,
    ),
    Statement(
        id="J4",
        kind=Kind.INFORMATION,
        statement="What it brings on a drive of today, with skips of up to 600 KB and of a track",
        published="nothing",
        range="a log alone, write cache off, one client",
        judge=today,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Transactions a second as table 3 has them, and by clients."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, len(TABLES))
    for panel, tables in zip(panels, TABLES, strict=True):
        clients = table.values("clients", tables=tables)
        for index, way in enumerate(WAYS):
            heights = [table.mean("tps", **at(tables, way, count)).value for count in clients]
            places = [place + 0.27 * (index - 1) for place in range(len(clients))]
            panel.bar(places, heights, width=0.25, label=way)
        panel.set_xticks(range(len(clients)), [f"{count}" for count in clients])
        panel.set_title(f"{tables} tables", fontsize=9)
        panel.set_xlabel("clients")
        panel.set_ylabel("transactions a second")
    panels[-1].legend(fontsize=8)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-journal",
    question="What does a journal gain whose log skips to where a write is quickest?",
    source=f"{SOURCE}, figure 12 and table 3",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset(
        {"transactions", "journal_drive", "journal_block", "modern", "modern_track_blocks"}
    ),
)
