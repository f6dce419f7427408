"""Overwrites that may land near their homes, and what that costs who reads in a row afterwards.

A part of a volume is overwritten at random, block by block, and then read from its beginning to its
end. A host with a map offers each overwrite what is free on the track of its home, in its group, or
anywhere: the wider, the sooner it should be written, and the more should be scattered of what lay
in a row. A group is both the width of an offer and what keeps a block near its neighbours, so
groups of a MiB should bound the damage. All gates were fixed before anything was run; nothing is
published.

A point is two runs of a trace, drawn from the seed: of its overwrites alone, and of these and the
reads behind them, which take what the second run takes longer. In one run alone the last overwrites
could wait for all reads, as those are near each other, and no response time would tell of one
phase.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
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

BLOCK = 4_096
"""Bytes of an overwrite."""

SHORT, LONG, WHOLE = "reads of 128 KiB", "reads of 1 MiB, joined", "reads of 4 MiB, joined"
READS: Mapping[str, int] = {SHORT: 128 << 10, LONG: 1 << 20, WHOLE: 4 << 20}
"""Bytes of a read afterwards; joined: commands that wait and lie side by side become one."""

PAPER, TODAY = "drive of the paper", "drive of today"
PART_MIB: Mapping[str, int] = {PAPER: 8, TODAY: 16}
"""How much is overwritten and read: six tracks and more, and far more than a drive reads ahead."""
QUICK_MIB = 4
"""As much as the longest read."""

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
UNTOUCHED, ONCE = 0.0, 1.0
DEPTHS = (1, 16)

HALF_AGAIN, TWICE = 0.5, 1.0
"""A write in place takes half as long again if another is a third sooner; twice is once more."""


@cache
def _folder() -> TemporaryDirectory[str]:
    """Where traces are kept until the process ends."""
    return TemporaryDirectory(prefix="nearslot-overwrites-")


def count_of(size: int, share: float) -> int:
    """Overwrites of a part of such a size."""
    return round(share * (size // BLOCK))


@cache
def trace(mib: int, share: float, read: int, seed: int) -> Path:
    """A file with random overwrites of a part of so many MiB, and reads of it in a row."""
    draw = random.Random(seed)
    size = mib << 20
    blocks = size // BLOCK
    overwrites = range(count_of(size, share))
    asked = [("W", draw.randrange(blocks) * BLOCK, BLOCK) for _ in overwrites]
    asked += [("R", at, read) for at in range(0, size, read)]
    lines = [f"{time},{op},{at},{length}" for time, (op, at, length) in enumerate(asked)]
    path = Path(_folder().name) / f"{mib}-mib-{share:g}-times-{read}-bytes-seed-{seed}.csv"
    path.write_text("\n".join(["ts_us,op,offset,size", *lines, ""]))
    return path


def numbers(run: Run) -> Row:
    """What a run tells of its requests."""
    writes, reads = run.write_response_ms, run.operations.get("read", 0)
    counts = run.measures.get("place", {})
    return {
        "write_ms": writes and writes.mean,
        "took_s": run.duration_s,
        # In place each read is one command; eager writing does not count them.
        "commands": counts.get("read_pieces", reads),
        "failed": sum(run.failed.values()),
    }


NONE: Row = {"write_ms": None, "took_s": 0.0}
"""What no overwrites tell."""


def phases(overwritten: Row, both: Row, size: int, reads: int) -> Row:
    """The mean overwrite, and reads in a row, of a run without reads and of one with them."""
    read_s = both["took_s"] - overwritten["took_s"]
    return {
        "seed": both["seed"],
        "write_ms": overwritten["write_ms"],
        "writes_s": overwritten["took_s"],
        "read_s": read_s,
        "read_mb_s": size / 1e6 / read_s,
        "pieces": both["commands"] / reads,
        "failed": both["failed"],
    }


def _cell(options: Options, on: str, place: str, marks: Where) -> Cell:
    """A point of the grid; each seed has a trace of its own."""
    mib = QUICK_MIB if options.quick else PART_MIB[on]
    share, depth, reader = marks["share"], marks["depth"], marks["reader"]
    assert isinstance(share, float)
    assert isinstance(depth, int)
    assert isinstance(reader, str)
    drives = {
        PAPER: setup.drive(options, setup.COMPLETE),
        TODAY: f"{options.modern}:cache=off",
    }

    # Where blocks stay, a read is one I/O, which has no other to be joined with.
    joined = reader != SHORT and place != "linear"

    def run(seeds: Sequence[int]) -> list[Row]:
        rows = []
        for seed in seeds:
            both = Scenario(
                trace=trace(mib, share, READS[reader], seed),
                drive=drives[on],
                place=place,
                sched="satf",
                merge="contiguous" if joined else "none",
                replay="closed",
                depth=depth,
                warmup=0,
            )
            size = mib << 20
            overwrites = both.replace(limit=count_of(size, share))
            followed = simulated({}, both, numbers).run([seed])[0]
            alone = simulated({}, overwrites, numbers).run([seed])[0] if share else NONE
            rows.append(phases(alone, followed, size, size // READS[reader]))
        return rows

    return Cell({"on": on, **marks}, run)


def cells(options: Options) -> list[Cell]:
    """Each way at each share and depth; more where as much is overwritten as there is.

    Eager writing keeps a map of its whole drive, so it is not had on a drive of today.
    """
    found = []
    for on in PART_MIB:
        for share in (UNTOUCHED, *SHARES):
            for depth in DEPTHS:
                for marks, place in _places(on, once=share == ONCE):
                    where = {**marks, "share": share, "depth": depth}
                    found.append(_cell(options, on, place, where))
        for reader in (LONG, WHOLE):
            for way in (LINEAR, TRACK, MIB_1, DISK):
                where = {**at(way, reader=reader), "share": ONCE, "depth": 1}
                found.append(_cell(options, on, _place(way), where))
    return found


def _places(on: str, *, once: bool) -> Iterator[tuple[Where, str]]:
    """Ways, and the placements that they are."""
    yield at(LINEAR), _place(LINEAR)
    for dilution in (TIGHT, LOOSE) if once else (TIGHT,):
        for way in (*OFFERS, *([EAGER] if once and on == PAPER else [])):
            yield at(way, dilution), _place(way, dilution)


def _place(way: str, dilution: float = TIGHT) -> str:
    """The placement that a way is, as a word."""
    if way == LINEAR:
        return "linear"
    if way == EAGER:
        return part("eager", dilution=dilution)
    knobs = {key: str(value) for key, value in OFFERS[way].items()}
    return part("offering", **knobs, dilution=str(dilution))


def at(way: str, dilution: float = TIGHT, reader: str = SHORT) -> dict[str, object]:
    """Marks of a way and of who reads; in place there is nothing to dilute."""
    return {"way": way, "dilution": 1.0 if way == LINEAR else dilution, "reader": reader}


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
                cut = "" if way == EAGER else f" in {pieces:.3g}"
                found.append(f"{way} {write:.3g} ms, {read:.3g} MB/s{cut}")
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


def payback(table: Table) -> Found:
    """O7."""
    rows = []
    for name, where in points(SHARES):
        times = (f"{way} {_reads_until_even(table, way, where):.3g}" for way in OFFERS)
        rows.append(f"{name}: {', '.join(times)}")
    return Found([], f"reads of the whole part until the gain is lost: {'; '.join(rows)}")


def _reads_until_even(table: Table, way: str, where: Where) -> float:
    """How often all is read in a row until this has taken as long as overwrites were sooner."""
    gained, lost = (
        table.mean(key, **at(one), **where).value - table.mean(key, **at(other), **where).value
        for key, one, other in (("writes_s", LINEAR, way), ("read_s", way, LINEAR))
    )
    return gained / lost


def readers(table: Table) -> Found:
    """O8."""
    rows = []
    for on in PART_MIB:
        where = {"on": on, "share": ONCE, "depth": 1}
        for way in (LINEAR, TRACK, MIB_1, DISK):
            rates = (
                f"{table.mean('read_mb_s', **at(way, reader=reader), **where).value:.3g}"
                for reader in READS
            )
            rows.append(f"{on}, {way}: {', '.join(rates)}")
    return Found([], f"MB/s of {'; of '.join(READS)}: {'; '.join(rows)}")


def untouched(table: Table) -> Found:
    """O9."""
    rows = []
    for name, where in points([UNTOUCHED]):
        found = []
        for way in WAYS:
            read, pieces = (
                table.mean(key, **at(way), **where).value for key in ("read_mb_s", "pieces")
            )
            found.append(f"{way} {read:.3g} in {pieces:.3g}")
        rows.append(f"{name}: {', '.join(found)}")
    return Found([], f"MB/s in a row, in so many commands a read: {'; '.join(rows)}")


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
        note="under eager writing blocks lie at random slots before anything is overwritten",
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
    Statement(
        id="O7",
        kind=Kind.INFORMATION,
        statement="How often the part is read in a row until the gain of its overwrites is lost",
        published="nothing",
        range="overwrites of a tenth to four times of a part, both drives, 1 and 16 in flight, a "
        "fifth of the drive free",
        judge=payback,
    ),
    Statement(
        id="O8",
        kind=Kind.INFORMATION,
        statement="What bounds the damage: reads as long as a track, whose commands are joined",
        published="nothing; asked for after O3 and O4 had been seen to fail",
        range="as many overwrites as the part has blocks, both drives, 1 in flight",
        judge=readers,
    ),
    Statement(
        id="O9",
        kind=Kind.INFORMATION,
        statement="What room for overwrites costs reads in a row before there are any",
        published="nothing; asked for after O3 and O4 had been seen to fail",
        range="nothing overwritten, both drives, 1 and 16 in flight, a fifth of the drive free",
        judge=untouched,
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
            for way in WAYS:
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
