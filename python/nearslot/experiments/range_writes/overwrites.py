"""Overwrites that may land near their homes, and what that costs who reads in a row afterwards.

A part of a volume is overwritten at random, block by block, and then read from its beginning to its
end. A host with a map offers each overwrite what is free on the track of its home, in its group, or
anywhere: the wider, the sooner it should be written, and the more should be scattered of what lay
in a row. A group is both the width of an offer and what keeps a block near its neighbours, so
groups of a MiB should bound the damage. All gates were fixed before anything was run; nothing is
published.

A run is a trace, drawn from the seed: so many overwrites, then the reads. Requests wait for each
other only by their number in flight, so that reads take what is left of the run's time when the
overwrites' share is taken off, which is the sum of their response times over those in flight.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from ...runs import Run
from ...scenario import Scenario, part
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Row, Table, simulated
from ..verdict import Check, Kind, Where, above, at_least, at_most, exactly, within
from . import setup
from .options import Options

BLOCK, READ = 4_096, 131_072
"""Bytes of an overwrite, and of a read afterwards."""

PAPER, TODAY = "drive of the paper", "drive of today"
PART_MIB: Mapping[str, int] = {PAPER: 16, TODAY: 64}
"""How much is overwritten and read: 26 tracks and more, and far more than either drive buffers."""

LINEAR, TRACK, DISK, EAGER = "in place", "track", "disk", "eager"
MIB_1, MIB_8, MIB_128 = "group of 1 MiB", "group of 8 MiB", "group of 128 MiB"
OFFERS: Mapping[str, Mapping[str, object]] = {
    TRACK: {"within": "track"},
    MIB_1: {"within": "group", "group_mib": 1},
    MIB_8: {"within": "group", "group_mib": 8},
    MIB_128: {"within": "group", "group_mib": 128},
    DISK: {"within": "disk"},
}
WIDER = (LINEAR, TRACK, MIB_8, MIB_128, DISK)
"""From nothing that is offered to everything; a MiB is less than a track of a drive of today."""
WAYS = (LINEAR, *OFFERS)

TIGHT, LOOSE = 1.25, 2.0
"""Dilution: a fifth or half of the drive is free."""
SHARES = (0.1, 0.5, 1.0, 4.0)
"""Overwrites, as a share of the blocks of the part."""
ONCE = 1.0
DEPTHS = (1, 16)

HALF_AGAIN, TWICE = 0.5, 1.0
"""A write in place takes half as long again if another is a third sooner; twice is once more."""


@cache
def _folder() -> TemporaryDirectory[str]:
    """Where traces are kept until the process ends."""
    return TemporaryDirectory(prefix="nearslot-overwrites-")


@cache
def trace(mib: int, share: float, seed: int) -> Path:
    """A file with random overwrites of a part of so many MiB, and reads of it in a row."""
    draw = random.Random(seed)
    size = mib << 20
    blocks = size // BLOCK
    asked = [("W", draw.randrange(blocks) * BLOCK, BLOCK) for _ in range(round(share * blocks))]
    asked += [("R", at, READ) for at in range(0, size, READ)]
    lines = [f"{time},{op},{at},{length}" for time, (op, at, length) in enumerate(asked)]
    path = Path(_folder().name) / f"{mib}-mib-{share:g}-times-seed-{seed}.csv"
    path.write_text("\n".join(["ts_us,op,offset,size", *lines, ""]))
    return path


def numbers(run: Run, mib: int, depth: int) -> Row:
    """What a run tells: the mean overwrite, and reads in a row."""
    writes, reads = run.operations["write"], run.operations["read"]
    assert run.write_response_ms is not None
    write_ms = run.write_response_ms.mean
    read_s = run.duration_s - write_ms * writes / depth / 1e3
    counts = run.measures.get("place", {})
    return {
        "write_ms": write_ms,
        "read_s": read_s,
        "read_mb_s": (mib << 20) / 1e6 / read_s,
        # In place each read is one command.
        "pieces": counts.get("read_pieces", reads) / reads,
        "failed": sum(run.failed.values()),
    }


def _cell(options: Options, on: str, place: str, marks: Where) -> Cell:
    """A point of the grid; each seed has a trace of its own."""
    mib = PART_MIB[on] // 4 if options.quick else PART_MIB[on]
    share, depth = marks["share"], marks["depth"]
    assert isinstance(share, float)
    assert isinstance(depth, int)
    drives = {
        PAPER: setup.drive(options, setup.COMPLETE),
        TODAY: f"{options.modern}:cache=off",
    }

    def run(seeds: Sequence[int]) -> list[Row]:
        rows = []
        for seed in seeds:
            one = Scenario(
                trace=trace(mib, share, seed),
                drive=drives[on],
                place=place,
                sched="satf",
                replay="closed",
                depth=depth,
                warmup=0,
            )
            found = partial(numbers, mib=mib, depth=depth)
            rows += simulated({}, one, found).run([seed])
        return rows

    return Cell({"on": on, **marks}, run)


def cells(options: Options) -> list[Cell]:
    """Each way at each share and depth; half of the drive free where all is overwritten once.

    Eager writing keeps a map of its whole drive, so it is not had on a drive of today.
    """
    found = []
    for on in PART_MIB:
        for share in SHARES:
            for depth in DEPTHS:
                at = {"share": share, "depth": depth}
                marks: Where = {"way": LINEAR, "dilution": 1.0, **at}
                found.append(_cell(options, on, "linear", marks))
                for dilution in (TIGHT, LOOSE) if share == ONCE else (TIGHT,):
                    for way, place in _places(on, dilution):
                        marks = {"way": way, "dilution": dilution, **at}
                        found.append(_cell(options, on, place, marks))
    return found


def _places(on: str, dilution: float) -> Iterator[tuple[str, str]]:
    """Ways with a map, and the placements that they are."""
    for way, knobs in OFFERS.items():
        yield way, part("offering", **{**_words(knobs), "dilution": str(dilution)})
    if on == PAPER:
        yield EAGER, part("eager", dilution=str(dilution))


def _words(knobs: Mapping[str, object]) -> dict[str, str]:
    return {key: str(value) for key, value in knobs.items()}


def at(way: str, dilution: float = TIGHT) -> dict[str, object]:
    """Marks of a way; in place there is nothing to dilute."""
    return {"way": way, "dilution": 1.0 if way == LINEAR else dilution}


def points(
    shares: Sequence[float], drives: Sequence[str] = tuple(PART_MIB)
) -> list[tuple[str, Where]]:
    """Names and marks of points on these drives, at both depths."""
    return [
        (
            f"{on}, {share:.0%} overwritten, {depth} in flight",
            {"on": on, "share": share, "depth": depth},
        )
        for on in drives
        for share in shares
        for depth in DEPTHS
    ]


def told(
    table: Table, ways: Sequence[str] = WAYS, dilution: float = TIGHT, share: float = ONCE
) -> str:
    """Both numbers of all ways, where so much was overwritten."""
    rows = []
    for name, where in points([share]):
        found = []
        for way in ways:
            if way != EAGER or where["on"] == PAPER:
                write, read, pieces = (
                    table.mean(key, **at(way, dilution), **where).value
                    for key in ("write_ms", "read_mb_s", "pieces")
                )
                found.append(f"{way} {write:.3g} ms, {read:.3g} MB/s in {pieces:.3g}")
        rows.append(f"{name}: {', '.join(found)}")
    return f"a write, then reads in a row in so many commands each: {'; '.join(rows)}"


def sooner(table: Table) -> Found:
    """O1."""
    failed = sum(row["failed"] for row in table.rows)
    checks = [exactly("requests that failed", failed, within(0, 0))]
    for name, where in points([ONCE]):
        for narrow, wide in pairwise(WIDER):
            lead = table.lead("write_ms", at(narrow), at(wide), **where)
            checks.append(Check(f"{name}: {narrow} longer than {wide}", lead, above(0)))
    return Found(checks, told(table))


def scattered(table: Table) -> Found:
    """O2."""
    checks = []
    for name, where in points([ONCE]):
        for narrow, wide in pairwise(WIDER):
            lead = table.lead("read_s", at(wide), at(narrow), **where)
            checks.append(Check(f"{name}: {wide} read longer than {narrow}", lead, above(0)))
    return Found(checks, _how_much(table, WIDER[1:]))


def _how_much(table: Table, ways: Sequence[str]) -> str:
    """How many times as long as in place what was overwritten takes to be read."""
    rows = []
    for name, where in points(SHARES):
        base = {**at(LINEAR), **where}
        times = {
            way: setup.ratio(table, "read_s", {**at(way), **where}, base).value for way in ways
        }
        words = (f"{way} {found:.3g}" for way, found in times.items())
        rows.append(f"{name}: {', '.join(words)}")
    return f"reads take so many times as long as in place: {'; '.join(rows)}"


def bounded(name: str, way: str) -> Statement:
    """A bound on the damage, with much of the gain."""

    def judge(table: Table) -> Found:
        checks = []
        for point, where in points(SHARES):
            damage = table.lead("read_s", at(way), at(LINEAR), **where)
            gain = table.lead("write_ms", at(LINEAR), at(way), **where)
            checks.append(Check(f"{point}: reads longer", damage, at_most(TWICE)))
            checks.append(Check(f"{point}: writes in place longer", gain, at_least(HALF_AGAIN)))
        return Found(checks, _how_much(table, [way]))

    return Statement(
        id=name,
        kind=Kind.OWN,
        statement=f"Within a {way} reads in a row take at most twice as long, however much was "
        "overwritten, and an overwrite is at least a third sooner",
        published="our own: reads up to +100 %, writes in place from +50 %",
        range="overwrites of a tenth to four times of a part, both drives, 1 and 16 in flight, a "
        "fifth of the drive free",
        judge=judge,
    )


def eager(table: Table) -> Found:
    """O5."""
    checks = []
    for name, where in points([ONCE], [PAPER]):
        write = table.lead("write_ms", at(EAGER), at(DISK), **where)
        read = table.lead("read_s", at(EAGER), at(DISK), **where)
        checks.append(Check(f"{name}: eager writes longer", write, at_least(-0.05)))
        checks.append(Check(f"{name}: reads longer", read, at_least(-0.1)))
    return Found(checks)


STATEMENTS = [
    Statement(
        id="O1",
        kind=Kind.OWN,
        statement="The wider an offer, the sooner an overwrite",
        published="our own: each step from in place to the track, a group of 8 MiB, one of 128, "
        "the disk is a gain",
        range="as many overwrites as the part has blocks, both drives, 1 and 16 in flight, a fifth "
        "of the drive free",
        judge=sooner,
    ),
    Statement(
        id="O2",
        kind=Kind.OWN,
        statement="The wider an offer, the longer reads in a row take afterwards",
        published="our own: each of the same steps is a loss",
        range="as O1",
        judge=scattered,
    ),
    bounded("O3", TRACK),
    bounded("O4", MIB_1),
    Statement(
        id="O5",
        kind=Kind.OWN,
        statement="Eager writing is no sooner than an offer of the disk, and costs reads as much",
        published="our own: writes from -5 %, reads from -10 %",
        range="as O1, on the drive of the paper",
        judge=eager,
    ),
    Statement(
        id="O6",
        kind=Kind.INFORMATION,
        statement="The same where half of the drive is free",
        published="nothing",
        range="as O1",
        judge=lambda table: Found([], told(table, (*WAYS, EAGER), LOOSE)),
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Overwrites and reads by how much was overwritten, a row for each drive."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    deep = DEPTHS[-1]
    figure = Figure(figsize=(9, 7), layout="constrained")
    panels = figure.subplots(len(PART_MIB), 2, sharex=True)
    labels = {"write_ms": "time per overwrite (ms)", "read_mb_s": "reads in a row (MB/s)"}
    for row, on in zip(panels, PART_MIB, strict=True):
        for panel, (key, label) in zip(row, labels.items(), strict=True):
            for way in (*WAYS, *([EAGER] if on == PAPER else [])):
                marks = {**at(way), "on": on, "depth": deep}
                found = [table.mean(key, **marks, share=share).value for share in SHARES]
                panel.plot(SHARES, found, marker="o", label=way)
            panel.set_title(f"{on}, {deep} in flight", fontsize=9)
            panel.set_xscale("log")
            panel.set_xticks(SHARES, [f"{share:.0%}" for share in SHARES])
            panel.set_xlabel("overwritten")
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
            panel.grid(alpha=0.3)
    panels[0][0].legend(fontsize=8)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-overwrites",
    question="What do overwrites gain that may land near their homes, and who pays for it?",
    source="ours",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"drive", "modern"}),
)
