"""Sequential reads of what was written: whether the drive's places cost them something.

Mechanics alone have no read-ahead: who reads block by block misses the next one by a turn, unless
it lies a command's time behind, which is where the drive of these range writes puts it. So the
complete drive decides, which reads ahead.
"""

from __future__ import annotations

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, at_most
from . import files, setup
from .files import WAYS, by_policy
from .options import Options

SIZES_KIB = {4: 1_000, 256: 100}
"""Sizes of files, and how many there are."""
EMPTY, HALF = 0.0, 0.5


def cells(options: Options) -> list[Cell]:
    """Files of two sizes, in an empty group and in one that is half full, on both drives."""
    return [
        files.cell(
            options,
            {"model": model, "size_kib": size, "fill": fill},
            way,
            {
                "size_kib": size,
                "fill": fill,
                "files": count // 4 if options.quick else count,
                "reread": "true",
            },
            setup.drive(options, model),
        )
        for model in (setup.COMPLETE, setup.MECHANICS)
        for size, count in SIZES_KIB.items()
        for fill in (EMPTY, HALF)
        for way in WAYS
    ]


def not_slower(table: Table, way: str, base: str) -> Found:
    """D11."""
    checks, told = [], []
    for model in (setup.COMPLETE, setup.MECHANICS):
        for size in SIZES_KIB:
            for fill in (EMPTY, HALF):
                at = {"model": model, "size_kib": size, "fill": fill}
                name = f"{size} KiB, {fill:.0%} full"
                if model == setup.COMPLETE and fill == EMPTY:
                    lead = table.lead("reread_s", {"way": way}, {"way": base}, **at)
                    checks.append(Check(name, lead, at_most(0.05)))
                took, pieces = (
                    [table.mean(key, way=one, **at).value for one in (way, base)]
                    for key in ("reread_s", "pieces")
                )
                told.append(
                    f"{model}, {name}: {took[0]:.3g} to {took[1]:.3g} s, "
                    f"{pieces[0]:.0f} to {pieces[1]:.0f} pieces"
                )
    return Found(checks, "; ".join(told))


STATEMENTS = [
    Statement(
        id="D11",
        kind=Kind.OWN,
        statement="What one process wrote is read in a row as fast as with classic writes",
        published="inferred; within 5 %, our own",
        range="files of 4 and 256 KiB in an empty group, read in the order in which they were "
        "made, by a drive that reads ahead",
        judge=by_policy(not_slower),
    ),
]

EXPERIMENT = Experiment(
    name="rw-reread",
    question="Do range writes cost later reads in a row anything?",
    source="ours; the source text leaves it open",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"drive", "command_ms", "ext2_group_blocks"}),
)
