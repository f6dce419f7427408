"""A log that offers all that is free, held against the ordinary log on a matrix fixed beforehand.

`docs/design/0031-a-log-that-offers.md` has the matrix and the gates: all were written down before
anything was run. Drives, requests and measures are those of the allocator's experiment. A log that
gave up has no time until all was written: such a run counts against every claim that looks at it,
whatever the other seeds say, and is in no mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from ...scenario import Scenario, part
from ..frame import Experiment, Outcome
from ..range_writes import allocator, files
from ..range_writes.allocator import DRIVES, OLD, REQUEST_KIB
from ..statement import Found, Statement
from ..table import Cell, Table, simulated
from ..verdict import Check, Gate, Kind, Where, above, at_least, at_most, exactly
from ..ways import Point, dots, longer, on_average, spread
from .options import Options

IN_ROW, OFFERS = "log", "log that offers"
GREEDY, OFFERS_GREEDY = "log, greedy", "log that offers, greedy"
PAPER, RUNS, CLASSIC = files.MINI, allocator.OURS, files.CLASSIC
LOG: Mapping[str, object] = {"layout": "log"}
FREE: Mapping[str, object] = {**LOG, "offer": "free"}
WAYS: Mapping[str, Mapping[str, object]] = {
    IN_ROW: LOG,
    OFFERS: FREE,
    PAPER: allocator.WAYS[allocator.PAPER],
    RUNS: allocator.WAYS[allocator.OURS],
    CLASSIC: allocator.WAYS[allocator.CLASSIC],
}
GREEDY_WAYS: Mapping[str, Mapping[str, object]] = {
    GREEDY: {**LOG, "clean_by": "greedy"},
    OFFERS_GREEDY: {**FREE, "clean_by": "greedy"},
}

USED = (0.5, 0.8, 0.9)
VOLUME_MIB, QUICK_MIB = 512, 32
FILE_KIB = 8
UNIFORM, HOT = "update, uniform", "update, hot and cold"
SMALL, LARGE, POSTMARK = "1,000 files of 4 KiB", "40 files of 256 KiB", "postmark"
LOADS: Mapping[str, Mapping[str, object]] = {
    SMALL: {"files": 1_000, "size_kib": 4, "processes": 16},
    LARGE: {"files": 40, "size_kib": 256},
    POSTMARK: {"work": "postmark", "cache_kib": 1_024},
    UNIFORM: {"work": "update", "size_kib": FILE_KIB},
    HOT: {"work": "update", "size_kib": FILE_KIB, "hot": "true"},
}
UPDATES = (UNIFORM, HOT)

CLEARLY, READS_MOST, MOVES_MOST = 0.10, 0.02, 0.05


def points(
    *,
    loads: Sequence[str] = tuple(LOADS),
    used: Sequence[float] = USED,
    drives: Sequence[str] = DRIVES,
) -> list[Point]:
    """Cells of the matrix."""
    all_ = product(drives, used, loads)
    return [
        (f"{load}, {share:.0%} used, {on}", {"on": on, "used": share, "load": load})
        for on, share, load in all_
    ]


def knobs(where: Where, *, quick: bool) -> dict[str, object]:
    """What the load of a cell is."""
    load, used = where["load"], where["used"]
    assert isinstance(load, str)
    assert isinstance(used, float)
    found: dict[str, object] = {**LOADS[load], "request_kib": REQUEST_KIB}
    volume = QUICK_MIB if quick else VOLUME_MIB
    found["volume_mib"] = volume
    if load in UPDATES:
        count = int(used * volume * 1_024) // FILE_KIB
        found |= {"files": count, "transactions": 2 * count}
    else:
        found["fill"] = used
        if quick and "files" in found:
            found["files"] = int(str(found["files"])) // 4
    if load != POSTMARK:
        found["reread"] = "true"
    if quick:
        found |= {"cache_kib": 1_024, "group_blocks": 4_096}
    return found


QUICK_LOG = {"segment_kib": 128}
"""Of a small volume, so that it has as many segments."""


def cell(options: Options, where: Where, way: str) -> Cell:
    """A cell of the matrix, written in one way."""
    on = where["on"]
    assert isinstance(on, str)
    chosen = {**{**WAYS, **GREEDY_WAYS}[way], **knobs(where, quick=options.quick)}
    if options.quick and "layout" in chosen:
        chosen |= QUICK_LOG
    scenario = Scenario(
        workload=part("filesystem", **{key: str(value) for key, value in chosen.items()}),
        drive=f"{on}:model=complete:{'layout=ideal' if on == OLD else 'cache=off'}",
        sched="satf",
    )
    return simulated({**where, "way": way}, scenario, files.numbers)


def cells(options: Options) -> list[Cell]:
    """All cells, in all ways; of a quick run those of one drive that are not nearly full."""
    drives, used = (DRIVES[1:2], USED[:2]) if options.quick else (DRIVES, USED)

    def all_() -> Iterator[Cell]:
        for _, where in points(drives=drives, used=used):
            ways = [*WAYS, *(GREEDY_WAYS if where["load"] in UPDATES else ())]
            yield from (cell(options, where, way) for way in ways)

    return list(all_())


def present(table: Table, all_: Sequence[Point]) -> list[Point]:
    """Those cells that were run: a quick run has not all of them."""
    found = {tuple(row[key] for key in ("on", "used", "load")) for row in table.rows}
    return [point for point in all_ if tuple(point[1].values()) in found]


def written(table: Table) -> Table:
    """Runs that have all on the medium at the end."""
    return Table(row for row in table.rows if not row.get("gave_up"))


def gave_up(table: Table, where: Where, ways: Sequence[str]) -> int:
    """Runs of a cell, written in these ways, whose log gave up."""
    found = (row.get("gave_up", 0) for way in ways for row in table.only(**where, way=way).rows)
    return sum(map(int, found))


def compared(
    table: Table, all_: Sequence[Point], *, way: str, base: str
) -> tuple[list[Point], list[Check]]:
    """Cells that have a run in both ways, of a seed that both have; what speaks against the others.

    An interval cannot hide a run that gave up, so that is a part of its own, which does not hold.
    """
    whole, cells, checks = written(table), [], []
    for name, where in all_:
        count = gave_up(table, where, (way, base))
        if count:
            what = f"{name}: runs whose log gave up, {way} or {base}"
            checks.append(exactly(what, count, at_most(0), "runs"))
        seeds = [{row["seed"] for row in whole.only(**where, way=one).rows} for one in (way, base)]
        if seeds[0] & seeds[1]:
            cells.append((name, where))
    return cells, checks


def summary(table: Table, key: str, all_: Sequence[Point], *, way: str, base: str) -> str:
    """A number of one way to that of another: in how many cells above, mean, least, most."""
    cells, _ = compared(table, all_, way=way, base=base)
    whole = written(table)
    found = ((longer(whole, key, where, way=way, base=base).value, name) for name, where in cells)
    leads = list(found)
    if not leads:
        return f"no run with {way} and {base} has all written"
    mean = math.exp(sum(math.log1p(lead) for lead, _ in leads) / len(leads)) - 1
    return f"{key} of {way} is above that of {base} {spread(leads, mean)}"


def judged(
    key: str, pairs: Sequence[tuple[str, str]], gate: Gate, all_: Sequence[Point]
) -> Callable[[Table], Found]:
    """A number of one way held against that of another, in every cell."""

    def judge(table: Table) -> Found:
        checks, told, whole = [], [], written(table)
        for way, base in pairs:
            cells, against = compared(table, present(table, all_), way=way, base=base)
            checks += against
            checks += [
                Check(
                    f"{name}: {key}, {way} to {base}",
                    longer(whole, key, where, way=way, base=base),
                    gate,
                )
                for name, where in cells
            ]
            told.append(summary(table, key, present(table, all_), way=way, base=base))
        return Found(checks, "; ".join(told))

    return judge


def clearly(table: Table) -> Found:
    """P2."""
    cells, checks = compared(table, present(table, points()), way=IN_ROW, base=OFFERS)
    if not checks:
        found = on_average(table, "work_s", cells, way=IN_ROW, base=OFFERS)
        checks.append(Check("mean of all cells: longer", found, at_least(CLEARLY)))
    return Found(checks)


READ = points(loads=(SMALL, LARGE, *UPDATES))
OVER = points(loads=UPDATES)


def beside(table: Table) -> Found:
    """P10: whether all runs did all that they were to, and both logs to other ways."""
    wrong = sum(row["failed"] + row["refused"] + row["unwritten"] for row in table.rows)
    ended = sum(int(row.get("gave_up", 0)) for row in table.rows)
    told = [
        summary(table, key, present(table, points()), way=way, base=base)
        for key in ("work_s", "waited_ms")
        for way, base in product((PAPER, RUNS, CLASSIC), (OFFERS, IN_ROW))
    ]
    told.append(summary(table, "reread_s", present(table, READ), way=OFFERS, base=CLASSIC))
    runs = f"failed, refused and unwritten in all runs: {wrong:g}; runs whose log gave up: {ended}"
    return Found([], "; ".join([runs, *told]))


STATEMENTS = [
    Statement(
        id="P1",
        kind=Kind.OWN,
        statement="A log that offers all that is free has all on the medium sooner than one in row",
        published="our own: the ordinary log takes longer, above 0 %, in every cell",
        range="45 cells: three drives, three utilisations, five loads",
        judge=judged("work_s", [(IN_ROW, OFFERS)], above(0), points()),
    ),
    Statement(
        id="P2",
        kind=Kind.OWN,
        statement="It is clearly sooner on average",
        published="our own: at least 10 % longer, geometric mean over cells",
        range="as P1",
        judge=clearly,
    ),
    Statement(
        id="P3",
        kind=Kind.OWN,
        statement="With it a block waits shorter until it is on the medium",
        published="our own: in the ordinary log it waits longer, above 0 %, in every cell",
        range="as P1",
        judge=judged("waited_ms", [(IN_ROW, OFFERS)], above(0), points()),
    ),
    Statement(
        id="P4",
        kind=Kind.OWN,
        statement="Files are read in a row as fast as from the ordinary log",
        published="our own: at most 2 % longer, in every cell",
        range="as P1, but for PostMark, which leaves no file",
        judge=judged("reread_s", [(OFFERS, IN_ROW)], at_most(READS_MOST), READ),
    ),
    Statement(
        id="P5",
        kind=Kind.OWN,
        statement="An open place costs no cleaning",
        published="our own: amplification at most 5 % above the ordinary log's, in every cell",
        range="both loads that write over",
        judge=judged("amplification", [(OFFERS, IN_ROW)], at_most(MOVES_MOST), OVER),
    ),
    Statement(
        id="P6",
        kind=Kind.OWN,
        statement="The ordinary log writes overwrites sooner than classic writes",
        published="our own: classic writes take longer, above 0 %, in every cell",
        range="both loads that write over, at 50 and 80 %",
        judge=judged("work_s", [(CLASSIC, IN_ROW)], above(0), points(loads=UPDATES, used=USED[:2])),
    ),
    Statement(
        id="P7",
        kind=Kind.OWN,
        statement="The log that offers writes overwrites sooner than the allocator of 0030",
        published="our own: that takes longer, above 0 %, in every cell",
        range="both loads that write over",
        judge=judged("work_s", [(RUNS, OFFERS)], above(0), OVER),
    ),
    Statement(
        id="P8",
        kind=Kind.OWN,
        statement="Cost-benefit moves less than greedy where some is hot",
        published="our own, after figure 7 of TOCS 10 (1): greedy's amplification is above",
        range="hot and cold, at 80 and 90 %, both logs",
        judge=judged(
            "amplification",
            [(GREEDY, IN_ROW), (OFFERS_GREEDY, OFFERS)],
            above(0),
            points(loads=(HOT,), used=USED[1:]),
        ),
    ),
    Statement(
        id="P10",
        kind=Kind.INFORMATION,
        statement="Both logs to the paper's allocator and to classic writes in all loads",
        published="nothing",
        range="as P1",
        judge=beside,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """What others take and write, to what the log that offers does; a dot for each cell."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    whole, others = written(table), (IN_ROW, PAPER, RUNS, CLASSIC)
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    shown = {
        "work_s": ("until all is on the medium", points()),
        "reread_s": ("to read all files in a row", READ),
        "amplification": ("blocks written to each that changed", OVER),
    }
    for panel, (key, (title, all_)) in zip(figure.subplots(1, 3), shown.items(), strict=True):
        rows = []
        for other in others:
            cells, _ = compared(table, present(table, all_), way=other, base=OFFERS)
            found = [longer(whole, key, at, way=other, base=OFFERS).value + 1 for _, at in cells]
            rows.append((other, found))
        dots(panel, rows, label="times that of the log that offers", title=title)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-log",
    question="Is a log written sooner if the drive chooses where in it the next write goes?",
    source="ours",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset(),
)
