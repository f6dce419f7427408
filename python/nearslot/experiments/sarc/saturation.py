"""How far each policy goes: the highest load at which its write buffer does not overflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Check, Kind, above, within
from .options import OF_SYSTEM, Options
from .points import unwritten
from .setup import (
    BOTTOM,
    CI,
    CONFIGURATIONS,
    CS,
    POLICIES,
    SARC,
    TOP,
    WRITTEN,
    Configuration,
    arrays,
    cache_of,
    highest,
    measured,
    scenario,
)

LOWEST, HIGHEST = 8, 128
"""Between which loads are looked for, in BSU of one array."""
OVERFLOWS = 0.01
"""Writes that wait, where a buffer overflows."""
SUSTAINED = "sustained_bsu"


def cells(options: Options) -> list[Cell]:
    """A search for each policy in both configurations."""
    return [
        Cell(
            {"configuration": of.name, "policy": policy},
            partial(_search, options, of, policy),
        )
        for of in CONFIGURATIONS
        for policy in POLICIES
    ]


def _search(options: Options, of: Configuration, policy: str, seeds: Sequence[int]) -> list[Row]:
    cache = cache_of(options, policy)

    written: dict[tuple[int, int], float] = {}

    def overflows(bsu: int, seed: int) -> bool:
        at = replace(of, top_bsu=bsu * options.scale)
        one = scenario(replace(options, load_percent=100.0), at, 100, cache)
        (row,) = measured(options, of, one, [seed])
        written[bsu, seed] = row[WRITTEN]
        return bool(row["waited"] > OVERFLOWS)

    step = arrays(options)
    found = []
    for seed in seeds:
        bsu = highest(partial(overflows, seed=seed), LOWEST * step, HIGHEST * step, step)
        # The lowest load is not run.
        told = {WRITTEN: written[bsu, seed]} if (bsu, seed) in written else {}
        found.append({"seed": seed, SUSTAINED: bsu * options.scale, **told})
    return found


def _column(of: Configuration, policy: str) -> tuple[str, dict[str, object]]:
    return SUSTAINED, {"configuration": of.name, "policy": policy}


def apart(table: Table) -> Found:
    """B15."""
    if (short := unwritten(table)) is not None:
        return Found([short])
    columns = (_column(of, SARC) for of in (CS, CI))
    times = table.each(lambda one, other: one / other, *columns)
    return Found([Check("SARC, cache-sensitive to insensitive", times, within(1.6, 3.0), "times")])


def furthest(table: Table) -> Found:
    """B16s."""
    if (short := unwritten(table)) is not None:
        return Found([short])
    checks, told = [], []
    for of in CONFIGURATIONS:
        for other in (TOP, BOTTOM):
            more = table.each(
                lambda own, theirs: own / theirs - 1, _column(of, SARC), _column(of, other)
            )
            checks.append(Check(f"load of SARC against {other}, {of.name}", more, above(0.0)))
        means = [
            table.mean(SUSTAINED, configuration=of.name, policy=policy).value for policy in POLICIES
        ]
        told.append(f"{of.name} {' '.join(f'{one:.0f}' for one in means)}")
    return Found(checks, f"BSU at full size, {', '.join(POLICIES)}: {'; '.join(told)}")


STATEMENTS = [
    Statement(
        id="B15",
        kind=Kind.NUMBER,
        statement="The cache-sensitive configuration takes far more load than the other",
        published="25,000 to 11,364 scaled I/Os a second, 2.2 times",
        range="1.6 to 3 times, SARC",
        judge=apart,
        turns=False,
    ),
    Statement(
        id="B16s",
        kind=Kind.ORDER,
        statement="SARC takes more load than both others before response times rise",
        published="in the abstract",
        range="the highest load at which 1 % of writes wait at most, to a BSU of an array",
        judge=furthest,
        turns=False,
    ),
]

EXPERIMENT = Experiment(
    name="sarc-saturation",
    question="How much load does each policy let the controller take?",
    source="USENIX 2005, figure 6, left, and table I",
    cells=cells,
    statements=STATEMENTS,
    reads=OF_SYSTEM - {"load_percent"},
)
