"""Figures 4 to 6: classic writes, track-sized and group-sized ranges, by requests to choose from.

A drive that begins its next request before the host has sent another has one less to choose from
than there are outstanding. So the figures run along what there is to choose from, and C1 and C4,
which are about one and two outstanding, have runs of their own.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, above, at_least, at_most, below, within
from . import model
from .drawing import ranges_and_spans
from .options import Options
from .setup import (
    DISK,
    GROUP,
    MIDDLE,
    PLACE,
    RANGES,
    REVOLUTION_MS,
    SECTOR,
    SIZES,
    SOURCE,
    SPANS,
    TRACK,
    at_both_sizes,
    cell,
    choosing,
    drive,
    landed,
    less,
    like,
    load,
    ratio,
    side_by_side,
)

CHOICES = (1, 2, 4, 8, 16, 32, 64)
MODELLED = (1, 4, 16, 64)
FEW = (1, 2)
FIGURES = {PLACE: "Figure 4: classic", TRACK: "Figure 5: a track", GROUP: "Figure 6: a group"}


def cells(options: Options) -> list[Cell]:
    """Both spans with all three ranges, one and two outstanding, and a group elsewhere."""
    figures = [
        choosing(options, span=span, within=around, n=n, size=size)
        for span in SPANS
        for around in RANGES
        for n in (MODELLED if options.quick else CHOICES)
        for size in SIZES
    ]
    few = [
        cell(
            {"span": span, "outstanding": depth, "bytes": size},
            load(options, span=span, within=PLACE, size=size, depth=depth, refill="after"),
            drive(options),
        )
        for span in SPANS
        for depth in FEW
        for size in SIZES
    ]
    middle = [choosing(options, span=MIDDLE, within=one, n=1, size=SECTOR) for one in RANGES]
    return [*figures, *few, *middle]


def at(span: str, around: str, n: int) -> dict[str, object]:
    """The marks of a point of the figures, but for the size of its writes."""
    return {"span": span, "within": around, "n": n}


def chosen_from(table: Table) -> list[int]:
    """What there was to choose from."""
    return table.values("n", span=GROUP)


def dominates(table: Table) -> Found:
    """C1."""
    checks = []
    for span in SPANS:
        for depth in FEW:
            where = {"span": span, "outstanding": depth}
            share = table.each(lambda one, all_: one / all_, ("pos_ms", where), ("sum_ms", where))
            checks.append(Check(f"{span}, {depth} outstanding", share, at_least(0.8), "of it"))
    return Found(checks)


def far_lower(table: Table) -> Found:
    """C2."""
    of = {span: ratio(table, "pos_ms", at(span, PLACE, 64), at(span, PLACE, 1)) for span in SPANS}
    return Found(
        [
            Check("group, 64 to 1", of[GROUP], within(0.15, 0.35), "times"),
            Check("disk, 64 to 1", of[DISK], below(1.0), "times"),
        ]
    )


def shorter_ways(table: Table) -> Found:
    """C3."""
    half = REVOLUTION_MS / 2
    checks = [
        Check(
            f"rotation, {span}",
            table.mean("rotation_ms", **at(span, PLACE, 1)),
            within(0.95 * half, 1.05 * half),
            "ms",
        )
        for span in SPANS
    ]
    seeks = ratio(table, "seek_ms", at(GROUP, PLACE, 1), at(DISK, PLACE, 1))
    return Found([*checks, Check("seek, group to disk", seeks, at_most(0.5), "times")])


def one_more(table: Table) -> Found:
    """C4."""
    checks = []
    for span in SPANS:
        one, two = ({"span": span, "outstanding": depth} for depth in FEW)
        lead = table.lead("pos_ms", two, one)
        checks.append(Check(f"{span}, two to one", lead, within(-0.03, 0.03)))
    return Found(checks)


def no_rotation(table: Table) -> Found:
    """C5: a write of one slot takes as long as its slot, and half of that is the least wait."""
    checks = []
    for span in SPANS:
        for n in chosen_from(table):
            where = at(span, TRACK, n)
            beyond = table.each(
                lambda rotation, slot: rotation - slot / 2,
                ("rotation_ms", where),
                ("transfer_ms", where),
            )
            checks.append(Check(f"{span}, {n}: beyond half a slot", beyond, at_most(0.1), "ms"))
    return Found(checks)


def halved(table: Table) -> Found:
    """C6."""
    found = ratio(table, "pos_ms", at(GROUP, TRACK, 1), at(GROUP, PLACE, 1))
    return Found([Check("track to classic", found, within(0.3, 0.55), "times")])


def shrinks(table: Table) -> Found:
    """C7."""
    checks = []
    for span in SPANS:
        for few, many in pairwise((1, 16, 64)):
            columns = [
                ("pos_ms", at(span, around, n)) for n in (few, many) for around in (PLACE, TRACK)
            ]
            more = table.each(lambda a, b, c, d: (a - b) - (c - d), *columns)
            checks.append(Check(f"{span}: gain at {few} beyond {many}", more, above(0.0), "ms"))
        last = less(table, "pos_ms", at(span, PLACE, 64), at(span, TRACK, 64))
        checks.append(Check(f"{span}: gain at 64", last, above(0.0), "ms"))
    return Found(checks)


def little_more(table: Table) -> Found:
    """C8."""
    checks = [
        Check(
            f"group-sized to track-sized, {n}",
            table.lead("pos_ms", at(DISK, GROUP, n), at(DISK, TRACK, n)),
            within(-0.05, 0.05),
        )
        for n in chosen_from(table)
    ]
    return Found(checks)


def almost_nil(table: Table) -> Found:
    """C9."""
    checks = []
    for n in chosen_from(table):
        where = at(GROUP, GROUP, n)
        left = ratio(table, "pos_ms", where, at(GROUP, PLACE, 1))
        share = table.each(lambda one, all_: one / all_, ("transfer_ms", where), ("sum_ms", where))
        checks.append(Check(f"positioning to classic, {n}", left, at_most(0.1), "times"))
        checks.append(Check(f"transfer, {n}", share, at_least(0.5), "of the time"))
    return Found(checks)


def as_modelled(table: Table) -> Found:
    """M1."""
    sectors = table.only(bytes=SECTOR)
    checks, rows = [], []
    for (span, around), sums in model.SUMS.items():
        told = []
        for n, of_model in sums.items():
            where = at(span, around, n)
            of = sectors.mean("sum_ms", **where)
            checks.append(Check(f"{span}, {around}, {n}", of, like(of_model), "ms"))
            told.append(f"{n}: {side_by_side(sectors, 'sum_ms', where, of_model)}")
        rows.append(f"{span}, {around}: {', '.join(told)}")
    return Found(checks, f"ms of a write to those of the model (ratio): {'; '.join(rows)}")


def parts_as_modelled(table: Table) -> Found:
    """M1p."""
    sectors = table.only(bytes=SECTOR)
    rows = []
    for (span, around), parts in model.QUEUES.items():
        for index, key in enumerate(("seek_ms", "rotation_ms")):
            told = (
                f"{n}: {side_by_side(sectors, key, at(span, around, n), of[index])}"
                for n, of in parts.items()
            )
            rows.append(f"{key.removesuffix('_ms')}, {span}, {around}: {', '.join(told)}")
    return Found([], f"ms to those of the model (ratio): {'; '.join(rows)}")


def elsewhere(table: Table) -> Found:
    """M2."""
    sectors = table.only(bytes=SECTOR)
    checks, told = [], []
    for around, of_model in model.MIDDLE.items():
        where = at(MIDDLE, around, 1)
        found = sectors.mean("sum_ms", **where)
        checks.append(Check(around, found, like(of_model), "ms"))
        told.append(f"{around}: {side_by_side(sectors, 'sum_ms', where, of_model)}")
    return Found(checks, f"ms to those of the model (ratio): {', '.join(told)}")


_MODEL = "independent model of the same drive; within 10 % and its rounding, our own"

STATEMENTS = [
    Statement(
        id="C1",
        kind=Kind.ORDER,
        statement="With one or two writes outstanding seek and rotation dominate, in both spans",
        published="figure 4, no number",
        range="1 and 2 outstanding; gate of our own: four fifths of seek, rotation and transfer",
        judge=at_both_sizes(dominates),
    ),
    Statement(
        id="C2",
        kind=Kind.ORDER,
        statement="With 64 to choose from positioning is far lower, and not nil",
        published="figure 4, no number (model: 0.24 of one's in the group, 0.48 on the disk)",
        range="64 to 1; gates of our own: 0.15 to 0.35 in the group, less on the disk",
        judge=at_both_sizes(far_lower),
    ),
    Statement(
        id="C3",
        kind=Kind.ORDER,
        statement="In a group seeks are much shorter, and rotation remains",
        published="figure 4, no number (model: seeks of 12.1 and 3.2 ms)",
        range="one to choose from; gates of our own: half a turn within 5 %, half of the seek",
        judge=at_both_sizes(shorter_ways),
    ),
    Statement(
        id="C4",
        kind=Kind.ORDER,
        statement="Two writes outstanding are no better than one",
        published="figure 4: no better",
        range="1 and 2 outstanding, the next comes after the drive chose; ours: within 3 %",
        judge=at_both_sizes(one_more),
    ),
    Statement(
        id="C5",
        kind=Kind.ORDER,
        statement="Track-sized ranges remove rotation, whatever there is to choose from",
        published="figure 5: all rotation eliminated",
        range="both spans, 1 to 64; gate of our own: half an alignment slot and 0.1 ms",
        judge=at_both_sizes(no_rotation),
    ),
    Statement(
        id="C6",
        kind=Kind.NUMBER,
        statement="Track-sized ranges halve positioning in a group with few writes outstanding",
        published="halved (model: 0.38)",
        range="one to choose from; gate of our own: 0.30 to 0.55",
        judge=at_both_sizes(halved),
    ),
    Statement(
        id="C7",
        kind=Kind.ORDER,
        statement="The gain of track-sized ranges shrinks with the queue and stays one",
        published="figure 5, no number (model, group: 5.4, 1.9, 1.3 ms)",
        range="both spans; milliseconds gained at 1, 16 and 64 to choose from",
        judge=at_both_sizes(shrinks),
    ),
    Statement(
        id="C8",
        kind=Kind.ORDER,
        statement="Over the disk group-sized ranges are little better than track-sized ones",
        published="figure 6: little better",
        range="1 to 64 to choose from; gate of our own: positioning within 5 %",
        judge=at_both_sizes(little_more),
    ),
    Statement(
        id="C9",
        kind=Kind.ORDER,
        statement="In a group group-sized ranges leave almost no positioning: transfer dominates",
        published="figure 6, no number",
        range="1 to 64; gates of our own: a tenth of one classic write's, half of the time",
        judge=at_both_sizes(almost_nil),
    ),
    Statement(
        id="M1",
        kind=Kind.OWN,
        statement="Seek, rotation and transfer of figures 4 to 6 are those of another model",
        published=_MODEL,
        range="one-sector writes, both spans, all ranges, 1 to 64",
        judge=as_modelled,
    ),
    Statement(
        id="M1p",
        kind=Kind.INFORMATION,
        statement="Seek and rotation apart, beside that model",
        published="independent model, in tenths of milliseconds",
        range="one-sector writes, both spans, 1 to 64",
        judge=parts_as_modelled,
    ),
    Statement(
        id="M2",
        kind=Kind.OWN,
        statement="Where the group lies changes little",
        published=_MODEL,
        range="one-sector writes, a group in the middle of the drive, one to choose from",
        judge=elsewhere,
    ),
    Statement(
        id="A9",
        kind=Kind.OWN,
        statement="Every range write finds a place: none fails as exhausted",
        published="rule of our own",
        range="all runs of figures 4 to 6",
        judge=landed,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """A row for each figure, a column for each span."""
    ranges_and_spans(Table(outcome.runs).only(bytes=SECTOR), FIGURES, SPANS, path)


EXPERIMENT = Experiment(
    name="rw-fig4-6",
    question="What is left of seek and rotation where a write may land on its track or group?",
    source=f"{SOURCE}, figures 4 to 6",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"drive", "requests", "group_block", "middle_block", "command_ms"}),
)
