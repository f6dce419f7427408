"""Ranges at 1 to 64 targets of a group, one write outstanding; and what the rest of a write costs.

The paper has no figure of it. Two of its times contain all that a write costs, and milliseconds of
that have nothing to do with the arm: so there are runs of mechanics alone, of the complete drive,
and of mechanics behind all costs in a row, which a drive that overlaps them stays below.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, above, at_most, below, within
from . import model
from .drawing import bars
from .options import Options
from .setup import (
    BLOCK,
    COMPLETE,
    IN_A_ROW,
    MECHANICS,
    MODELS,
    PLACE,
    SECTOR,
    SIZES,
    SOURCE,
    at_both_sizes,
    cell,
    drive,
    less,
    like,
    load,
    ratio,
    side_by_side,
)

TARGETS = model.TARGETS
LONG = "100"
LENGTHS = (PLACE, LONG)
ENDS = (TARGETS[0], TARGETS[-1])


def cells(options: Options) -> list[Cell]:
    """All numbers of targets on mechanics alone; the fewest and the most with all that it costs."""
    found = []
    for kind in MODELS:
        for size in SIZES:
            for within_ in LENGTHS:
                for count in TARGETS if kind == MECHANICS else ENDS:
                    word = load(options, within=within_, size=size, depth=1, targets=count)
                    marks = {"model": kind, "bytes": size, "within": within_, "targets": count}
                    found.append(cell(marks, word, drive(options, kind, size)))
    return found


def at(around: str, count: int, kind: str = MECHANICS) -> dict[str, object]:
    """The marks of a point, but for the size of its writes."""
    return {"model": kind, "within": around, "targets": count}


def _first(kind: str, size: int) -> dict[str, object]:
    return {**at(PLACE, ENDS[0], kind), "bytes": size}


def _last(kind: str, size: int) -> dict[str, object]:
    return {**at(LONG, ENDS[1], kind), "bytes": size}


def _ms(table: Table, where: dict[str, object]) -> Mean:
    return table.mean("service_ms", **where)


def _others(table: Table, of: str) -> str:
    """What the other models and the other size have, which decides nothing."""
    pieces = []
    for kind in MODELS:
        for size in SIZES:
            first, last = (_ms(table, where(kind, size)).value for where in (_first, _last))
            number = {"first": first, "last": last, "ratio": first / last}[of]
            more = f", {first - last:.2f} ms apart" if of == "ratio" else ""
            if (kind, size) != (COMPLETE, BLOCK):
                pieces.append(f"{kind}, {size} bytes: {number:.2f}{more}")
    return "; ".join(pieces)


def over_twelve(table: Table) -> Found:
    """C10."""
    check = Check("complete drive, 4 KiB", _ms(table, _first(COMPLETE, BLOCK)), above(12.0), "ms")
    return Found([check], outside=_others(table, "first"))


def about_four(table: Table) -> Found:
    """C11."""
    found = _ms(table, _last(COMPLETE, BLOCK))
    return Found(
        [Check("complete drive, 4 KiB", found, within(3.0, 5.0), "ms")],
        outside=_others(table, "last"),
    )


def three_times(table: Table) -> Found:
    """C12."""
    first, last = _first(COMPLETE, BLOCK), _last(COMPLETE, BLOCK)
    return Found(
        [
            Check("ratio", ratio(table, "service_ms", first, last), above(3.0), "times"),
            Check("difference", less(table, "service_ms", first, last), within(8.0, 9.0), "ms"),
        ],
        outside=_others(table, "ratio"),
    )


def _falls(table: Table, key: str, around: str) -> list[Check]:
    name = key.removesuffix("_ms")
    return [
        Check(
            f"{name}, {many} beyond {few} targets",
            less(table, key, at(around, many), at(around, few)),
            below(0.0),
            "ms",
        )
        for few, many in pairwise(TARGETS)
    ]


def both_fall(table: Table) -> Found:
    """C13."""
    return Found([*_falls(table, "seek_ms", PLACE), *_falls(table, "rotation_ms", PLACE)])


def seeks_fall(table: Table) -> Found:
    """C14."""
    rotation = [
        Check(
            f"rotation, {count} targets",
            table.mean("rotation_ms", **at(LONG, count)),
            at_most(0.5),
            "ms",
        )
        for count in TARGETS
    ]
    return Found([*rotation, *_falls(table, "seek_ms", LONG)])


def as_modelled(table: Table) -> Found:
    """M3."""
    sectors = table.only(bytes=SECTOR)
    checks, rows = [], []
    for around, values in model.OF_TARGETS.items():
        told = []
        for count, of_model in zip(TARGETS, values, strict=True):
            where = at(around, count)
            name = f"{around}, {count} targets"
            found = sectors.mean("pos_ms", **where)
            checks.append(Check(name, found, like(of_model), "ms"))
            told.append(f"{count}: {side_by_side(sectors, 'pos_ms', where, of_model)}")
        rows.append(f"{around}: {', '.join(told)}")
    return Found(checks, f"ms of positioning to those of the model (ratio): {'; '.join(rows)}")


def no_turn_lost(table: Table) -> Found:
    """X1."""
    checks = []
    for size in SIZES:
        for around in LENGTHS:
            for count in ENDS:
                one, other = (
                    {**at(around, count, kind), "bytes": size} for kind in (COMPLETE, IN_A_ROW)
                )
                lead = table.lead("service_ms", one, other)
                name = f"{count} targets of {around}, {size} bytes: complete to costs in a row"
                checks.append(Check(name, lead, at_most(0.05)))
    return Found(checks)


_CUT = "text without a figure, perhaps cut from the paper"
_DECIDES = "4 KiB on the complete drive"

STATEMENTS = [
    Statement(
        id="C10",
        kind=Kind.NUMBER,
        statement="A write with one target of one block takes more than 12 ms",
        published=f"more than 12 ms ({_CUT})",
        range=_DECIDES,
        judge=over_twelve,
    ),
    Statement(
        id="C11",
        kind=Kind.NUMBER,
        statement="A write with 64 targets of 100 blocks takes about 4 ms",
        published=f"about 4 ms ({_CUT})",
        range=f"{_DECIDES}; gate of our own: 3 to 5 ms",
        judge=about_four,
    ),
    Statement(
        id="C12",
        kind=Kind.NUMBER,
        statement="The one takes more than three times as long as the other",
        published=f"more than 3 times ({_CUT})",
        range=f"{_DECIDES}; gate of our own besides: 8 to 9 ms apart",
        judge=three_times,
        note="a ratio tells as much of fixed costs as of ranges: over 20 without them",
    ),
    Statement(
        id="C13",
        kind=Kind.ORDER,
        statement="With targets of one block seek and rotation fall the more there are",
        published=_CUT,
        range="mechanics alone, 1 to 64 targets, from each number to the next",
        judge=at_both_sizes(both_fall),
    ),
    Statement(
        id="C14",
        kind=Kind.ORDER,
        statement="With targets of 100 blocks rotation is nearly gone, and seeks fall",
        published=_CUT,
        range="mechanics alone, 1 to 64 targets; gate of our own: half a millisecond of rotation",
        judge=at_both_sizes(seeks_fall),
    ),
    Statement(
        id="M3",
        kind=Kind.OWN,
        statement="Positioning with 1 to 64 targets is that of another model",
        published="independent model of the same drive; within 10 % and its rounding, our own",
        range="one-sector writes, mechanics alone",
        judge=as_modelled,
    ),
    Statement(
        id="X1",
        kind=Kind.OWN,
        statement="The complete drive, which overlaps its costs, never takes longer than in a row",
        published="rule of our own",
        range="1 and 64 targets, both lengths, both sizes; within 5 %",
        judge=no_turn_lost,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """A panel for each length of the ranges."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs).only(bytes=SECTOR, model=MECHANICS)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, len(LENGTHS), sharey=True)
    for panel, around in zip(panels, LENGTHS, strict=True):
        title = "targets of one block" if around == PLACE else f"targets of {around} blocks"
        bars(panel, table, axis="targets", label="targets", title=title, within=around)
    panels[-1].legend(fontsize=8)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-targets",
    question="What are more targets worth to a single write, and what does the rest of it cost?",
    source=f"{SOURCE}, section 4",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"drive", "requests", "group_block", "command_ms", "fixed_ms", "bus_ms"}),
)
