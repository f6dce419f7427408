"""Figure 11: a thousand files by one process, in groups that are partly full."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, above, within
from . import files
from .files import WAYS, by_policy, gained
from .options import Options

EMPTY, HALF, FULLEST = 0.0, 0.5, 0.9
FILLS = (EMPTY, 0.25, HALF, 0.6, 0.7, 0.8, FULLEST)
FULLER = (0.6, 0.7, 0.8, FULLEST)
QUICK = (EMPTY, HALF, 0.7, FULLEST)


def cells(options: Options) -> list[Cell]:
    """An empty group to one that is nine tenths full."""
    fills = QUICK if options.quick else FILLS
    return [
        files.cell(options, {"fill": fill}, way, {"fill": fill}) for fill in fills for way in WAYS
    ]


def half_full(table: Table, way: str, base: str) -> Found:
    """D4."""
    checks = gained(table, way, base, {"half full": ({"fill": HALF}, within(0.12, 0.28))})
    return Found(checks, f"s: {files.seconds(table, fill=HALF)}")


def beyond(table: Table, way: str, base: str) -> Found:
    """D5."""
    fuller = [fill for fill in FULLER if fill in table.values("fill")]
    gates = {f"{fill:.0%}": ({"fill": fill}, within(0.1, 0.3)) for fill in fuller}
    checks = gained(table, way, base, gates)
    for one in (way, base):
        for less, more in pairwise((HALF, *fuller)):
            of = ({"way": one, "fill": more}, {"way": one, "fill": less})
            slower = table.lead("work_s", *of)
            checks.append(Check(f"{one}, {more:.0%} to {less:.0%}", slower, above(0.0)))
    return Found(checks)


def slower(table: Table, way: str, base: str) -> Found:
    """D6: a way of writing against itself."""
    full, empty = {"fill": FULLEST}, {"fill": EMPTY}
    longer = table.lead("work_s", full, empty, way=way)
    beside = table.lead("work_s", full, empty, way=base).value
    check = Check(f"{way}: {FULLEST:.0%} full to empty", longer, within(0.4, 1.0))
    return Found([check], f"{base}: {beside:+.0%}")


STATEMENTS = [
    Statement(
        id="D4",
        kind=Kind.NUMBER,
        statement="In a group that is half full range writes are about 20 % better",
        published="about 20 % (figure 11)",
        range="1,000 files of 4 KiB, one process; gate 12 to 28 %, our own",
        judge=by_policy(half_full),
    ),
    Statement(
        id="D5",
        kind=Kind.NUMBER,
        statement="The gain stays about that as the group fills, and both ways slow down",
        published="about 20 % (figure 11)",
        range="60 to 90 % full; gate 10 to 30 %, our own; each fuller group slower",
        judge=by_policy(beyond),
    ),
    Statement(
        id="D6",
        kind=Kind.NUMBER,
        statement="Range writes in a full group take about 70 % longer than in an empty one",
        published="about 70 % (figure 11)",
        range=f"{FULLEST:.0%} full; gate 40 to 100 %, our own",
        judge=by_policy(slower),
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Time over how full the group is."""
    files.lines(Table(outcome.runs), "fill", "of the group that is full beforehand (%)", path)


EXPERIMENT = Experiment(
    name="rw-fig11",
    question="What do range writes gain where a group is partly full?",
    source=f"{files.SOURCE}, figure 11",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"drive", "command_ms", "ext2_group_blocks"}),
)
