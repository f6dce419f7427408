"""Figure 7: reads mixed in, which have one place to go to."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, above, at_most, below, within
from . import model
from .drawing import mean
from .options import Options
from .setup import (
    GROUP,
    PLACE,
    SECTOR,
    SIZES,
    SOURCE,
    TRACK,
    at_both_sizes,
    choosing,
    less,
    like,
    side_by_side,
)

SHARES = model.READ_SHARES
CHOICES = (1, 16)
WAYS = {PLACE: "classic", TRACK: "track-sized ranges"}
HALF = 0.5


def cells(options: Options) -> list[Cell]:
    """No reads to reads alone, in a group, with one and 16 to choose from."""
    return [
        choosing(options, span=GROUP, within=around, n=n, size=size, read_share=share)
        for n in CHOICES
        for around in WAYS
        for share in SHARES
        for size in SIZES
    ]


def at(n: int, around: str, share: float) -> dict[str, object]:
    """The marks of a point, but for the size of its requests."""
    return {"n": n, "within": around, "read_share": share}


def gain(table: Table, n: int, share: float) -> Mean:
    """Milliseconds of an operation that ranges save."""
    return less(table, "sum_ms", at(n, PLACE, share), at(n, TRACK, share))


def falls(table: Table) -> Found:
    """C15."""
    checks = []
    for n in CHOICES:
        for fewer, more in pairwise(SHARES):
            columns = [
                ("sum_ms", at(n, around, share)) for share in (more, fewer) for around in WAYS
            ]
            change = table.each(lambda a, b, c, d: (a - b) - (c - d), *columns)
            name = f"{n}: gain at {more:.0%} beyond {fewer:.0%} reads"
            checks.append(Check(name, change, below(0.0), "ms"))
        alone = table.lead("sum_ms", at(n, TRACK, 1.0), at(n, PLACE, 1.0))
        checks.append(Check(f"{n}: reads alone", alone, within(-0.03, 0.03)))
    told = []
    for n in CHOICES:
        of = (f"{gain(table, n, share).value:.2f} at {share:.0%}" for share in SHARES)
        told.append(f"{n} to choose from: {', '.join(of)}")
    return Found(checks, f"ms gained: {'; '.join(told)}")


def noticeable(table: Table) -> Found:
    """C16."""
    cut = table.lead("pos_ms", at(1, TRACK, HALF), at(1, PLACE, HALF))
    return Found([Check("positioning, ranges to classic", cut, at_most(-0.2))])


def smaller(table: Table) -> Found:
    """C17."""
    few, many = CHOICES
    checks = []
    for share in SHARES[:-1]:
        columns = [("sum_ms", at(n, around, share)) for n in (few, many) for around in WAYS]
        more = table.each(lambda a, b, c, d: (a - b) - (c - d), *columns)
        name = f"{share:.0%} reads: gain at {few} beyond {many}"
        checks.append(Check(name, more, above(0.0), "ms"))
    return Found(checks)


def as_modelled(table: Table) -> Found:
    """M4."""
    sectors = table.only(bytes=SECTOR)
    checks, rows = [], []
    for (n, around), values in model.OF_READS.items():
        told = []
        for share, of_model in zip(SHARES, values, strict=True):
            where = at(n, around, share)
            name = f"{n}, {around}, {share:.0%} reads"
            found = sectors.mean("pos_ms", **where)
            checks.append(Check(name, found, like(of_model), "ms"))
            told.append(f"{share:.0%}: {side_by_side(sectors, 'pos_ms', where, of_model)}")
        rows.append(f"{n}, {around}: {', '.join(told)}")
    return Found(checks, f"ms of positioning to those of the model (ratio): {'; '.join(rows)}")


STATEMENTS = [
    Statement(
        id="C15",
        kind=Kind.ORDER,
        statement="The benefit falls as reads are more, and reads alone have none",
        published="figure 7, no number; that reads alone have none is inferred",
        range="1 and 16 to choose from, from each share to the next; ours: equal within 3 %",
        judge=at_both_sizes(falls),
    ),
    Statement(
        id="C16",
        kind=Kind.ORDER,
        statement="With few outstanding and a fair share of writes the gain is noticeable",
        published="figure 7, no number (model: 32 %)",
        range="one to choose from, half reads; gate of our own: a fifth of positioning",
        judge=at_both_sizes(noticeable),
    ),
    Statement(
        id="C17",
        kind=Kind.OWN,
        statement="With 16 to choose from the gain is smaller in milliseconds",
        published="inferred (model, half reads: 1.0 and 2.7 ms)",
        range="no reads to three quarters",
        judge=at_both_sizes(smaller),
    ),
    Statement(
        id="M4",
        kind=Kind.OWN,
        statement="Positioning with reads mixed in is that of another model",
        published="independent model of the same drive; within 10 % and its rounding, our own",
        range="one-sector requests",
        judge=as_modelled,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Time of an operation over the share of reads."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs).only(bytes=SECTOR)
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    panel = figure.subplots()
    for n in CHOICES:
        for around, name in WAYS.items():
            times = [mean(table, "sum_ms", at(n, around, share)) for share in SHARES]
            panel.plot([share * 100 for share in SHARES], times, marker="o", label=f"{name}, {n}")
    panel.set_xlabel("reads (%)")
    panel.set_ylabel("time per operation (ms)")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-fig7",
    question="What is left of the benefit where reads are mixed in?",
    source=f"{SOURCE}, figure 7",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"drive", "requests", "group_block", "command_ms"}),
)
