"""The best case: how much sooner a range write is done, with all that a write costs."""

from __future__ import annotations

from collections.abc import Iterator

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, at_least
from .options import Options
from .setup import (
    COMPLETE,
    IN_A_ROW,
    PLACE,
    RANGES,
    SIZES,
    SOURCE,
    SPANS,
    cell,
    drive,
    load,
    ratio,
)

CHOICES = (1, 16)
KINDS = (COMPLETE, IN_A_ROW)


def cells(options: Options) -> list[Cell]:
    """Both spans, all ranges, on the complete drive and with its costs in a row."""
    found = []
    for kind in KINDS:
        for size in SIZES:
            for span in SPANS:
                for around in RANGES:
                    for n in CHOICES:
                        word = load(
                            options, span=span, within=around, size=size, depth=n, refill="before"
                        )
                        marks = {"model": kind, "bytes": size, "span": span, "within": around}
                        found.append(cell({**marks, "n": n}, word, drive(options, kind, size)))
    return found


def gains(table: Table, kind: str) -> Iterator[tuple[str, Mean]]:
    """How many times as long a classic write takes, by point."""
    for size in SIZES:
        for span in SPANS:
            for n in CHOICES:
                for around in RANGES[1:]:
                    where = {"model": kind, "bytes": size, "span": span, "n": n}
                    classic, ranged = ({**where, "within": one} for one in (PLACE, around))
                    name = f"{around}-sized ranges over the {span}, {size} bytes, {n}"
                    yield name, ratio(table, "service_ms", classic, ranged)


def three_times(table: Table) -> Found:
    """C18."""
    best = {kind: max(gains(table, kind), key=lambda one: one[1].value) for kind in KINDS}
    name, found = best[COMPLETE]
    other, row = best[IN_A_ROW]
    told = ", ".join(f"{at}: {of.value:.2f}" for at, of in gains(table, COMPLETE))
    return Found(
        [Check(f"most, {name}", found, at_least(3.0), "times")],
        f"times: {told}",
        f"with its costs in a row: {row.value:.2f} times at most, {other}",
    )


STATEMENTS = [
    Statement(
        id="C18",
        kind=Kind.NUMBER,
        statement="In some cases a write is done three times as soon",
        published="up to a factor of three",
        range="the complete drive, with its fixed costs; the best of spans, ranges, sizes, queues",
        judge=three_times,
    ),
]

EXPERIMENT = Experiment(
    name="rw-best",
    question="How much sooner is a range write done at best, with all that a write costs?",
    source=f"{SOURCE}, abstract",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"drive", "requests", "group_block", "fixed_ms", "bus_ms"}),
)
