"""Table 2: untar, PostMark and the modified Andrew benchmark, with caches of several sizes."""

from __future__ import annotations

from collections.abc import Mapping

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Gate, Kind, within
from . import files
from .files import CLASSIC, GROUP, JOINED, MINI, ORDERED, WAYS, Judge, by_policy, gain
from .options import Options

UNTAR, POSTMARK, ANDREW = "untar", "postmark", "andrew"
PUBLISHED = {UNTAR: (143.0, 123.1), POSTMARK: (29.9, 22.2), ANDREW: (23.2, 23.4)}
"""Seconds of classic and of range writes."""

AT_ONCE = 128
CACHES_KIB = {AT_ONCE: "at once", 1_024: "1 MiB", 16_384: "16 MiB"}
"""Half of a cache may be dirty: of the first one that is as many blocks as the queue takes.

Its size is not published. PostMark removes all its files, and yet its writes took 29.9 s: so they
were not kept in memory for long, and claims are decided on the smallest.
"""


def cells(options: Options) -> list[Cell]:
    """Each load, each cache, each way of writing."""
    knobs = {UNTAR: {"files": options.tree_files}, POSTMARK: {}, ANDREW: {}}
    return [
        files.cell(
            options,
            {"work": work, "cache_kib": cache},
            way,
            {"work": work, "cache_kib": cache, **more},
        )
        for work, more in knobs.items()
        for cache in CACHES_KIB
        for way in WAYS
    ]


def of_work(work: str, gate: Gate) -> Judge:
    """D7 to D9."""

    def judge(table: Table, way: str, base: str) -> Found:
        at = {"work": work}
        checks = [Check("gain", gain(table, way, base, **at, cache_kib=AT_ONCE), gate)]
        told, larger = [], []
        for cache, name in CACHES_KIB.items():
            told.append(f"{name}: {files.seconds(table, **at, cache_kib=cache)}")
            if cache != AT_ONCE:
                gained = gain(table, way, base, **at, cache_kib=cache).value
                larger.append(f"{gained:+.1%} with a cache of {name}")
        return Found(checks, f"s: {'; '.join(told)}", ", ".join(larger))

    return judge


def where_from(table: Table) -> Found:
    """D-share: how much of the gain is order alone."""
    told = []
    for work in PUBLISHED:
        at = {"work": work, "cache_kib": AT_ONCE}
        order = table.lead("work_s", {"way": CLASSIC}, {"way": ORDERED}, **at).value
        both = table.lead("work_s", {"way": CLASSIC}, {"way": MINI}, **at).value
        joined = table.lead("work_s", {"way": CLASSIC}, {"way": JOINED}, **at).value
        wide = table.lead("work_s", {"way": CLASSIC}, {"way": GROUP}, **at).value
        metadata = [
            table.mean("metadata_writes", way=way, **at).value for way in (CLASSIC, ORDERED, MINI)
        ]
        writes = ", ".join(f"{count:.0f}" for count in metadata)
        told.append(
            f"{work}: order {order:+.1%}, with places of a mini-group {both:+.1%}, of a group "
            f"{wide:+.1%}, joined {joined:+.1%}; writes of metadata {writes}"
        )
    return Found([], "; ".join(told))


GATES: Mapping[str, tuple[str, Gate, str, str]] = {
    UNTAR: ("D7", within(0.08, 0.25), "16 %", "is 16 % faster"),
    POSTMARK: ("D8", within(0.2, 0.5), "about 35 %", "is about 35 % faster"),
    ANDREW: ("D9", within(-0.03, 0.03), "none", "gains nothing"),
}


def statement(work: str) -> Statement:
    """The claim of a row of the table."""
    name, gate, gained, says = GATES[work]
    classic, ranged = PUBLISHED[work]
    return Statement(
        id=name,
        kind=Kind.NUMBER,
        statement=f"With range writes {work} {says}",
        published=f"{classic} s to {ranged} s, {gained} (table 2)",
        range=f"ratios alone; writes go at once; gate {gate.low:.0%} to {gate.high:.0%}, our own",
        judge=by_policy(of_work(work, gate)),
    )


STATEMENTS = [
    *(statement(work) for work in GATES),
    Statement(
        id="D12",
        kind=Kind.INFORMATION,
        statement="How much of that is the order of pointers, which range writes bring with them",
        published="nothing",
        range="classic writes with that order, and range writes, to classic writes",
        judge=where_from,
    ),
]

EXPERIMENT = Experiment(
    name="rw-table2",
    question="What are range writes worth to file-system benchmarks?",
    source=f"{files.SOURCE}, table 2",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"drive", "command_ms", "ext2_group_blocks", "tree_files"}),
)
