"""Figures 7 and 8: how much of the cache sequences get, and what a page is worth on either side."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, above, at_least, at_most, below, missing, within
from .options import OF_SYSTEM, Options
from .points import check, curve, loads, plot, point, sheet, unless_unfilled
from .setup import (
    BOTTOM,
    CONFIGURATIONS,
    POLICIES,
    SARC,
    SHARE,
    TOP,
    Configuration,
    cell,
    fixed_share,
    grid,
    lru_bottom,
)

RATIO, READ, MISSES = "ratio", "read_ms", "sequence_misses"
SHARES = (2, 5, 10, 15, 20, 30, 40, 60)
DEPTHS = (2, 5, 10, 15, 20, 30, 40, 60)
QUICK_STEP = 3
FIXED_LOADS = (80, 100)
FIXED, RESIDENCE = "fixed share", "fixed residence"
TABLE2 = {"of": "table2"}


def cells(options: Options) -> list[Cell]:
    """The runs of table II, and fixed shares and depths at high loads."""
    step = QUICK_STEP if options.quick else 1
    fixed = [
        cell(options, of, load, cache, {"policy": kind, "size": size, "of": "fixed"})
        for of in CONFIGURATIONS
        for load in FIXED_LOADS
        for kind, size, cache in [
            *((FIXED, one, fixed_share(options, one)) for one in SHARES[::step]),
            *((RESIDENCE, one, lru_bottom(options, one)) for one in DEPTHS[::step]),
        ]
    ]
    of_table = [Cell({**one.marks, **TABLE2}, one.run) for one in grid(options)]
    return of_table + fixed


def _unfilled(rows: Table) -> Found | None:
    """What cannot be tested, if runs were too short: the share counts once the cache is full."""
    empty = [row["load"] for row in rows.rows if not row[SHARE]]
    if not empty:
        return None
    return Found([missing(f"runs are too short to fill the cache at {max(empty)} %")])


def between(table: Table) -> Found:
    """E01."""
    rows = table.only(**TABLE2)
    if (unfilled := _unfilled(rows)) is not None:
        return unfilled
    return Found(
        [
            check(rows, SHARE, pair, above(0.0), (of, load))
            for of in CONFIGURATIONS
            for load in loads(rows)
            for pair in ((TOP, SARC), (SARC, BOTTOM))
        ],
        _told(rows, SHARE, "{:.2f}"),
    )


def _told(rows: Table, key: str, form: str) -> str:
    pieces = []
    for of in CONFIGURATIONS:
        for policy in POLICIES:
            values = " ".join(form.format(one) for one in curve(rows, key, of, policy))
            pieces.append(f"{of.name} {policy} {values}")
    return f"{'; '.join(pieces)} at {' '.join(map(str, loads(rows)))} %"


def differs(table: Table) -> Found:
    """E02."""
    rows = table.only(**TABLE2)
    if (unfilled := _unfilled(rows)) is not None:
        return unfilled
    low, high = min(loads(rows)), max(loads(rows))
    checks = []
    for of in CONFIGURATIONS:
        columns = ((SHARE, point(of, load, SARC)) for load in (low, high))
        change = rows.each(lambda one, other: abs(other / one - 1), *columns)
        what = f"{of.name}: SEQ of SARC at {high} % against {low} %"
        checks.append(Check(what, change, at_least(0.2)))
    return Found(checks)


def near_one(table: Table) -> Found:
    """E03."""
    rows = table.only(**TABLE2)
    if (unfilled := _unfilled(rows)) is not None:
        return unfilled
    gates = {SARC: within(0.5, 2.0), BOTTOM: above(2.0), TOP: below(0.5)}
    checks = []
    for of in CONFIGURATIONS:
        for load in loads(rows, 50):
            for policy, gate in gates.items():
                ratio = rows.mean(RATIO, **point(of, load, policy))
                checks.append(Check(f"ratio of {policy}, {of.name} at {load} %", ratio, gate, ""))
    return Found(checks, _told(rows, RATIO, "{:.2f}"))


def _excess(table: Table, kind: str, size: int, of: Configuration, load: int) -> Mean:
    """How far reads with a fixed size are above those with SARC."""
    columns = (
        (READ, {**point(of, load, kind), "size": size}),
        (READ, {**point(of, load, SARC), **TABLE2}),
    )
    return table.each(lambda own, sarc: own / sarc - 1, *columns)


def no_single(table: Table, kind: str) -> Found:
    """E04 and E05: every fixed size is clearly behind SARC somewhere."""
    checks, told = [], []
    for size in table.values("size", policy=kind):
        at = {
            (of.name, load): _excess(table, kind, size, of, load)
            for of in CONFIGURATIONS
            for load in FIXED_LOADS
        }
        worst = max(at, key=lambda where: at[where].value)
        what = f"{size} % where it is worst, {worst[0]} at {worst[1]} %"
        found = Check(what, at[worst], at_least(0.02))
        every = (where for one in at.values() for where in one.needs)
        checks.append(unless_unfilled(table, found, *every))
        told.append(f"{size} %: " + " ".join(f"{one.value:+.1%}" for one in at.values()))
    points = ", ".join(f"{of.name} {load} %" for of in CONFIGURATIONS for load in FIXED_LOADS)
    return Found(checks, f"reads against SARC at {points}: {'; '.join(told)}")


def falls(table: Table) -> Found:
    """A07: the share of the cache that sequences have, and their misses."""
    checks, told = [], []
    for of in CONFIGURATIONS:
        load = max(FIXED_LOADS)
        sizes = table.values("size", policy=FIXED)
        where = point(of, load, FIXED)
        for less, more in pairwise(sizes):
            fewer = table.each(
                lambda one, other: other - one,
                (MISSES, {**where, "size": less}),
                (MISSES, {**where, "size": more}),
            )
            # A miss in a second is a hundredth of what the smallest share has.
            what = f"misses a second, {more} % against {less} %, {of.name}"
            found = Check(what, fewer, at_most(1.0), "")
            checks.append(unless_unfilled(table, found, *fewer.needs))
        means = [table.mean(MISSES, **where, size=size).value for size in sizes]
        told.append(f"{of.name} {' '.join(f'{one:.1f}' for one in means)}")
    return Found(checks, f"misses of sequences a second: {'; '.join(told)}")


def best_fixed(table: Table) -> Found:
    """E04b: the best fixed share of each configuration against SARC."""
    checks = []
    for of in CONFIGURATIONS:
        load = max(FIXED_LOADS)
        sizes = table.values("size", policy=FIXED)
        best = min(sizes, key=lambda size: _excess(table, FIXED, size, of, load).value)
        what = f"{of.name} at {load} %, {best} %"
        excess = _excess(table, FIXED, best, of, load)
        found = Check(what, excess, within(-0.05, 0.05))
        checks.append(unless_unfilled(table, found, *excess.needs))
    return Found(checks)


_statement = partial(Statement, kind=Kind.ORDER, turns=False)
STATEMENTS = [
    _statement(
        id="A07",
        statement="The more room sequences have, the fewer misses, down to none",
        published="in section III",
        range="fixed shares of 2 to 60 %, both top loads",
        judge=falls,
    ),
    _statement(
        id="E01",
        statement="LRU-Top gives sequences too much, LRU-Bottom too little, SARC is in between",
        published="figure 7",
        range="every load that was run; mean share of the cache over a run",
        judge=between,
        needs=TABLE2,
    ),
    _statement(
        id="E02",
        statement="SARC gives sequences another size at another load",
        published="figure 7",
        range="the lightest and the top load differ by more than 20 %",
        judge=differs,
        needs=TABLE2,
    ),
    _statement(
        id="E03",
        statement="What a page is worth to sequences and to the rest is alike with SARC alone",
        published="figure 8: near 1 with SARC, far above with LRU-Bottom, far below with LRU-Top",
        range="50 % of the top load and more; means over a run: 0.5 to 2, above 2, below 0.5",
        judge=near_one,
        needs=TABLE2,
        note="at 10 % there are too few misses to tell a ratio",
    ),
    _statement(
        id="E04",
        statement="No fixed share for sequences is as good as SARC everywhere",
        published="in the text of figure 8",
        range="shares of 2 to 60 %; 80 and 100 % of both top loads; 2 % behind somewhere",
        judge=partial(no_single, kind=FIXED),
    ),
    _statement(
        id="E04b",
        statement="The best fixed share of a configuration is as good as SARC, which finds it",
        published="in the text of figure 8",
        range="top loads, within 5 %",
        judge=best_fixed,
    ),
    _statement(
        id="E05",
        statement="No fixed residence of sequences is as good as SARC everywhere",
        published="in the text of figure 8",
        range="LRU-Bottom at 2 to 60 %; 80 and 100 % of both top loads; 2 % behind somewhere",
        judge=partial(no_single, kind=RESIDENCE),
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """SEQ and the ratio, as means over load: the paper draws both over time, load after load."""
    rows = Table(outcome.runs).only(**TABLE2)
    with sheet(path) as panels:
        for line, of in zip(panels, CONFIGURATIONS, strict=True):
            for key, panel in zip((SHARE, RATIO), line, strict=True):
                plot(panel, rows, of, ("load", key))
                panel.set_xlabel("load, % of the top load")
            line[0].set_ylabel("SEQ, share of the cache")
            line[0].set_ylim(0, 1)
            line[1].set_ylabel("ratio")
            line[1].set_yscale("symlog", linthresh=0.1)
            line[1].set_ylim(bottom=0)
            line[1].yaxis.set_major_formatter("{x:g}")
            line[1].axhline(1, color="grey", linewidth=0.8)


EXPERIMENT = Experiment(
    name="sarc-fig7",
    question="How much of the cache do sequences get, and is a page worth the same on both sides?",
    source="USENIX 2005, figures 7 and 8",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=OF_SYSTEM,
)
