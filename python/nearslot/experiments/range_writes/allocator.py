"""An allocator of our own, held against the file system of the paper on a matrix fixed beforehand.

`docs/design/0030-an-allocator-of-our-own.md` has the matrix, the gates, and which half of the cells
was kept for the last run: all were written down before anything was run, and only the other half
was looked at while the allocator was designed. All drives are complete and have no write cache, as
mechanics alone have no read-ahead, and would punish whoever lays out files in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from ...scenario import Scenario, part
from .. import ways
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table, simulated
from ..verdict import Check, Gate, Kind, Mean, Where, above, at_least, at_most
from ..ways import Point
from . import files
from .options import Options

OURS, PAPER, CLASSIC, JOINED = "runs", files.MINI, files.CLASSIC, files.JOINED
WAYS: Mapping[str, Mapping[str, object]] = {
    OURS: {"offer": "runs"},
    PAPER: files.WAYS[PAPER],
    CLASSIC: files.WAYS[CLASSIC],
    JOINED: files.WAYS[JOINED],
}

OLD, DESKTOP, TODAY = "hp-c2247a", "desktop-7200-90mb", "modern-20tb"
DRIVES = (OLD, DESKTOP, TODAY)

FILLS = (0.0, 0.5, 0.8)

SMALL: Mapping[str, object] = {"files": 1_000, "size_kib": 4}
LARGE: Mapping[str, object] = {"files": 100, "size_kib": 256}
LOADS: Mapping[str, Mapping[str, object]] = {
    "1,000 files of 4 KiB by one process": SMALL,
    "1,000 files of 4 KiB by 16 processes": {**SMALL, "processes": 16},
    "100 files of 256 KiB by one process": LARGE,
    "100 files of 256 KiB by 16 processes": {**LARGE, "processes": 16},
    "untar": {"work": "untar", "files": 1_000},
    "postmark": {"work": "postmark", "cache_kib": 1_024},
}
REQUEST_KIB = 1_280
"""The most that a request has in Linux today, for all ways alike."""

CLEARLY, READS_MOST = 0.10, 0.02


def is_read(where: Where) -> bool:
    """Whether files are left that can be read at the end."""
    return where["load"] != "postmark"


def points(*, kept: bool) -> Iterator[Point]:
    """The cells that were kept for the last run, or the others."""
    axes = (enumerate(DRIVES), enumerate(FILLS), enumerate(LOADS))
    for (of_drive, on), (of_fill, fill), (of_load, load) in product(*axes):
        if ((of_drive + of_fill + of_load) % 2 == 1) == kept:
            yield f"{load}, {fill:.0%} full, {on}", {"on": on, "fill": fill, "load": load}


def cell(options: Options, where: Where, way: str) -> Cell:
    """A cell of the matrix, written in one way."""
    on, load = where["on"], where["load"]
    assert isinstance(on, str)
    assert isinstance(load, str)
    knobs = {**WAYS[way], **LOADS[load], "fill": where["fill"], "request_kib": REQUEST_KIB}
    if is_read(where):
        knobs["reread"] = "true"
    if options.quick and "files" in knobs:
        knobs["files"] = int(str(knobs["files"])) // 4
    scenario = Scenario(
        workload=part("filesystem", **{key: str(value) for key, value in knobs.items()}),
        drive=f"{on}:model=complete:{'layout=ideal' if on == OLD else 'cache=off'}",
        sched="satf",
        merge="contiguous" if way == JOINED else "none",
    )
    return simulated({**where, "way": way}, scenario, files.numbers)


def cells(options: Options) -> list[Cell]:
    """All cells, in all ways."""
    both = [*points(kept=True), *points(kept=False)]
    return [cell(options, where, way) for _, where in both for way in WAYS]


def longer(table: Table, key: str, where: Where, other: str) -> Mean:
    """By which share something takes longer in another way than in ours."""
    return ways.longer(table, key, where, way=other, base=OURS)


def on_average(table: Table, key: str, all_: Sequence[Point], other: str) -> Mean:
    """The same as a geometric mean over cells."""
    return ways.on_average(table, key, all_, way=other, base=OURS)


def sooner(key: str, name: str) -> Callable[[Table], Found]:
    """L1 and L3: in every cell that was kept."""

    def judge(table: Table) -> Found:
        kept = list(points(kept=True))
        checks = [
            Check(f"{cell}: {name}", longer(table, key, where, PAPER), above(0))
            for cell, where in kept
        ]
        failed = sum(row["failed"] for row in table.rows)
        return Found(checks, f"{summary(table, key, kept, PAPER)}; requests that failed: {failed}")

    return judge


def clearly(table: Table) -> Found:
    """L2."""
    found = on_average(table, "work_s", list(points(kept=True)), PAPER)
    return Found([Check("mean of all cells: longer", found, at_least(CLEARLY))])


def as_fast(other: str) -> Callable[[Table], Found]:
    """L4 and L5: in every cell that was kept and leaves files."""

    def judge(table: Table) -> Found:
        read = [(cell, where) for cell, where in points(kept=True) if is_read(where)]
        gate: Gate = at_most(READS_MOST)
        checks = [
            Check(f"{cell}: reads longer", reads(table, where, other), gate) for cell, where in read
        ]
        return Found(checks, summary(table, "reread_s", read, other))

    return judge


def reads(table: Table, where: Where, other: str) -> Mean:
    """By which share reads in a row take longer with ours than in another way."""
    return table.lead("reread_s", {"way": OURS}, {"way": other}, **where)


def summary(table: Table, key: str, all_: Sequence[Point], other: str) -> str:
    """What a number of another way is to ours: the mean, the least and the most of all cells."""
    leads = [(longer(table, key, where, other).value, name) for name, where in all_]
    mean = on_average(table, key, all_, other).value
    return f"{key} of {other} is above ours {ways.spread(leads, mean)}"


def told(other: str, *, halves: Sequence[bool]) -> Callable[[Table], Found]:
    """L6 and L7: all numbers of some cells."""

    def judge(table: Table) -> Found:
        all_ = [point for kept in halves for point in points(kept=kept)]
        read = [point for point in all_ if is_read(point[1])]
        parts = [summary(table, key, all_, other) for key in ("work_s", "waited_ms")]
        return Found([], "; ".join([*parts, summary(table, "reread_s", read, other)]))

    return judge


STATEMENTS = [
    Statement(
        id="L1",
        kind=Kind.OWN,
        statement="Our own allocator has all on the medium sooner than the paper's, in every cell",
        published="our own: the paper's takes longer, above 0 %",
        range="the half of the matrix that was kept for the last run",
        judge=sooner("work_s", "longer"),
    ),
    Statement(
        id="L2",
        kind=Kind.OWN,
        statement="It is clearly sooner on average",
        published="our own: the paper's takes at least 10 % longer, geometric mean over cells",
        range="as L1",
        judge=clearly,
    ),
    Statement(
        id="L3",
        kind=Kind.OWN,
        statement="With it a block waits shorter until it is on the medium, in every cell",
        published="our own: with the paper's it waits longer, above 0 %",
        range="as L1",
        judge=sooner("waited_ms", "waits longer"),
    ),
    Statement(
        id="L4",
        kind=Kind.OWN,
        statement="Files are read in a row as fast as with the paper's, in every cell",
        published="our own: at most 2 % longer",
        range="as L1, but for PostMark, which leaves no file",
        judge=as_fast(PAPER),
    ),
    Statement(
        id="L5",
        kind=Kind.OWN,
        statement="Files are read in a row as fast as with classic writes, in every cell",
        published="our own: at most 2 % longer",
        range="as L4",
        judge=as_fast(CLASSIC),
    ),
    Statement(
        id="L6",
        kind=Kind.INFORMATION,
        statement="The half of the matrix that was used while designing",
        published="nothing",
        range="the cells that were not kept",
        judge=told(PAPER, halves=[False]),
    ),
    Statement(
        id="L7",
        kind=Kind.INFORMATION,
        statement="What a block layer that joins classic writes has of it",
        published="nothing",
        range="all cells",
        judge=told(JOINED, halves=[False, True]),
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """How much longer others write and read than ours, a dot for each cell."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    both = [*points(kept=True), *points(kept=False)]
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    titles = {"work_s": "until all is on the medium", "reread_s": "to read all files in a row"}
    for panel, (key, title) in zip(panels, titles.items(), strict=True):
        shown = [where for _, where in both if key == "work_s" or is_read(where)]
        others = {
            other: [longer(table, key, where, other).value + 1 for where in shown]
            for other in (PAPER, CLASSIC, JOINED)
        }
        ways.dots(panel, list(others.items()), label="times as long as ours", title=title)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-allocator",
    question="Can an allocator write sooner than the paper's, and lose nothing in later reads?",
    source="ours",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset(),
)
