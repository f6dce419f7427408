"""The same experiments on a drive of today: no number of them is published."""

from __future__ import annotations

from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Kind
from .drawing import ranges_and_spans
from .options import Options
from .setup import BLOCK, GROUP, GROUP_BLOCKS, PLACE, RANGES, SECTOR, TRACK, cell

TRACKS, DISK = "as many tracks as the group had", "disk"
SPANS = (TRACKS, DISK)
TRACKS_OF_GROUP = 43
CHOICES = (1, 16, 64)
MECHANICS, COMPLETE = "mechanics", "complete, write cache off"


def region(options: Options) -> int:
    """Blocks of as many tracks as the block group had."""
    return TRACKS_OF_GROUP * options.modern_track_blocks


def cells(options: Options) -> list[Cell]:
    """4-KiB writes: both spans with all ranges, mechanics alone and complete."""
    found = []
    for kind, setting in {MECHANICS: "model=mechanical", COMPLETE: "cache=off"}.items():
        for span in SPANS:
            for around in RANGES:
                for n in CHOICES:
                    word = _load(options, span, around, n)
                    marks = {"model": kind, "span": span, "within": around, "n": n}
                    found.append(cell(marks, word, f"{options.modern}:{setting}"))
    return found


def _load(options: Options, span: str, around: str, n: int) -> str:
    blocks = region(options)
    group = "span" if span == TRACKS else str(blocks)
    knobs = {
        "depth": n,
        "refill": "before",
        "size": BLOCK,
        "align_blocks": BLOCK // SECTOR,
        "span_blocks": blocks if span == TRACKS else 0,
        "within": group if around == GROUP else around,
        "requests": options.requests,
    }
    return "ranges:" + ":".join(f"{key}={value}" for key, value in knobs.items())


def _told(table: Table, span: str, key: str, kind: str) -> str:
    rows = []
    for n in table.values("n"):
        where = {"model": kind, "span": span, "n": n}
        classic, track, group = (table.mean(key, **where, within=one).value for one in RANGES)
        rows.append(
            f"{n}: {classic:.3g}, {track:.3g} ({classic / track:.2f} times), "
            f"{group:.3g} ({classic / group:.3g} times)"
        )
    return f"ms of {key.removesuffix('_ms')} classic, track, region, by n: {'; '.join(rows)}"


def worth(span: str, key: str, kind: str) -> Statement:
    """What ranges are worth over a span."""

    def judge(table: Table) -> Found:
        return Found([], _told(table, span, key, kind))

    names = {(TRACKS, MECHANICS): "T1", (DISK, MECHANICS): "T2", (TRACKS, COMPLETE): "T3"}
    where = f"{TRACKS_OF_GROUP} tracks" if span == TRACKS else "the whole drive"
    return Statement(
        id=names.get((span, kind), "T4"),
        kind=Kind.INFORMATION,
        statement=f"What ranges are worth today over {where}: {kind}",
        published="nothing",
        range="4-KiB writes, 1 to 64 to choose from",
        judge=judge,
    )


def one_track(table: Table) -> Found:
    """T5."""
    told = []
    for n in table.values("n"):
        where = {"model": MECHANICS, "n": n, "within": PLACE}
        shares = []
        for span in SPANS:
            seek, rotation = (
                table.mean(key, **where, span=span).value for key in ("seek_ms", "rotation_ms")
            )
            shares.append(f"{rotation / (seek + rotation):.0%} of it over {span}")
        told.append(f"{n}: {', '.join(shares)}")
    return Found([], f"rotation of a classic write's positioning: {'; '.join(told)}")


STATEMENTS = [
    *(
        worth(span, key, kind)
        for kind, key in ((MECHANICS, "sum_ms"), (COMPLETE, "service_ms"))
        for span in SPANS
    ),
    Statement(
        id="T5",
        kind=Kind.INFORMATION,
        statement=f"A group of {GROUP_BLOCKS} blocks is less than one track, so that rotation is "
        "all that there is to save in it; how much it is elsewhere",
        published="nothing",
        range="classic 4-KiB writes, 1 to 64 to choose from",
        judge=one_track,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """A row for each range, a column for each span."""
    titles = {PLACE: "classic", TRACK: "a track", GROUP: "a region"}
    ranges_and_spans(Table(outcome.runs).only(model=MECHANICS), titles, SPANS, path)


EXPERIMENT = Experiment(
    name="rw-today",
    question="What are range writes worth on a drive of today?",
    source="none: the experiments of figures 4 to 6 on another drive",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"modern", "modern_track_blocks", "requests"}),
)
