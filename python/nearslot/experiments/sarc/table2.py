"""Table II and the left column of figure 6: response times of three policies at six loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Table
from ..verdict import Check, Kind, above, at_least, at_most, below, missing, within
from .options import OF_SYSTEM
from .points import check, loads, plot, point, sheet, unless_unfilled
from .published import TABLE, rows
from .setup import BOTTOM, CI, CONFIGURATIONS, CS, POLICIES, SARC, TOP, Configuration, grid

OVERALL, READ, WRITE = "overall_ms", "read_ms", "write_ms"


def cuts(table: Table, of: Configuration, gates: dict[str, float], key: str) -> Found:
    """How much SARC cuts from the others at the top load."""
    top = max(loads(table))
    return Found(
        [check(table, key, (SARC, other), at_most(-cut), (of, top)) for other, cut in gates.items()]
    )


def top_sensitive(table: Table) -> Found:
    """B01."""
    at = (CS, max(loads(table)))
    return Found(
        [
            check(table, OVERALL, (TOP, BOTTOM), above(0.0), at),
            check(table, OVERALL, (SARC, BOTTOM), at_most(-0.25), at),
            check(table, OVERALL, (SARC, TOP), at_most(-0.65), at),
        ]
    )


def top_insensitive(table: Table) -> Found:
    """B02."""
    at = (CI, max(loads(table)))
    return Found(
        [
            check(table, OVERALL, (BOTTOM, TOP), above(0.0), at),
            check(table, OVERALL, (SARC, TOP), at_most(-0.1), at),
        ]
    )


def order_sensitive(table: Table) -> Found:
    """B01o."""
    return Found(
        [
            check(table, OVERALL, pair, above(0.0), (CS, load))
            for load in loads(table, 80)
            for pair in ((TOP, BOTTOM), (BOTTOM, SARC))
        ]
    )


def order_insensitive(table: Table) -> Found:
    """B02o."""
    return Found(
        [
            check(table, OVERALL, pair, above(0.0), (CI, load))
            for pair, least in (((BOTTOM, TOP), 80), ((TOP, SARC), 90))
            for load in loads(table, least)
        ]
    )


def bottom_better(table: Table) -> Found:
    """B03."""
    return Found([check(table, READ, (BOTTOM, TOP), below(0.0), (CS, at)) for at in loads(table)])


def top_better(table: Table) -> Found:
    """B04."""
    every = loads(table, 80)
    return Found([check(table, READ, (TOP, BOTTOM), below(0.0), (CI, at)) for at in every])


def never_worse(table: Table) -> Found:
    """B09: SARC against the better of the others, by 5 % or 0.1 ms."""
    checks = []
    for of in (CS, CI):
        for load in loads(table):
            for key in (READ, WRITE):
                columns = [(key, point(of, load, policy)) for policy in (SARC, TOP, BOTTOM)]
                excess = table.each(
                    lambda own, top, bottom: (
                        own - max(1.05 * min(top, bottom), min(top, bottom) + 0.1)
                    ),
                    *columns,
                )
                what = f"{key} of SARC beyond what is allowed, {of.name} at {load} %"
                found = Check(what, excess, at_most(0.0), "ms")
                checks.append(unless_unfilled(table, found, *excess.needs))
    return Found(checks)


def neither(table: Table) -> Found:
    """B10: each of the others is clearly behind SARC in one configuration."""
    top = max(loads(table))
    pairs = ((TOP, CS), (BOTTOM, CI))
    return Found(
        [check(table, READ, (other, SARC), at_least(0.05), (of, top)) for other, of in pairs]
    )


def lower_writes(table: Table) -> Found:
    """B11."""
    return Found(
        [
            check(table, WRITE, (SARC, other), below(0.0), (of, load))
            for of, other in ((CS, TOP), (CS, BOTTOM), (CI, TOP), (CI, BOTTOM))
            for load in loads(table, 90)
        ]
    )


def equal_writes(table: Table) -> Found:
    """B12."""
    least = min(loads(table))
    return Found(
        [
            check(table, WRITE, (other, SARC), within(-0.05, 0.05), (of, least))
            for of in (CS, CI)
            for other in (TOP, BOTTOM)
        ]
    )


def light_sensitive(table: Table) -> Found:
    """B13."""
    least = min(loads(table))
    return Found([check(table, READ, (TOP, BOTTOM), at_least(0.3), (CS, least))])


def light_insensitive(table: Table) -> Found:
    """B14."""
    at = (CI, min(loads(table)))
    pairs = ((TOP, SARC), (BOTTOM, SARC), (TOP, BOTTOM))
    return Found([check(table, READ, pair, within(-0.05, 0.05), at) for pair in pairs])


def _crossing(limit: float, at: Sequence[int], means: Sequence[float]) -> float:
    """The load at which a response time is reached, between two points of the grid, or its end."""
    for (low, less), (high, more) in pairwise(zip(at, means, strict=True)):
        if less <= limit < more:
            return low + (high - low) * (limit - less) / (more - less)
    return float(at[0] if means[0] > limit else at[-1])


def _is_reached(table: Table, of: Configuration, other: str) -> bool:
    """Whether SARC or another one reaches twice the lightest response of SARC, with any seed."""
    at = loads(table)
    light = table.by_seed(OVERALL, **point(of, min(at), SARC))
    heavy = [table.by_seed(OVERALL, **point(of, max(at), one)) for one in (SARC, other)]
    return any(one[seed] > 2 * less for seed, less in light.items() for one in heavy if seed in one)


NO_TWICE = "neither reaches twice the response that SARC has at the lightest"


def to_the_right(table: Table) -> Found:
    """B16: the load at which the response is twice that of SARC when there is little to do."""
    at, checks = loads(table), []
    for of in (CS, CI):
        for other in (TOP, BOTTOM):
            columns = (
                (OVERALL, point(of, load, policy)) for policy in (SARC, other) for load in at
            )

            def further(*means: float) -> float:
                own, theirs = means[: len(at)], means[len(at) :]
                limit = 2 * own[0]
                return _crossing(limit, at, own) / _crossing(limit, at, theirs) - 1

            what = f"load of SARC against {other}, {of.name}"
            found = Check(what, table.each(further, *columns), above(0.0))
            checks.append(
                found if _is_reached(table, of, other) else missing(f"{what}: {NO_TWICE}")
            )
    return Found(checks)


def side_by_side(table: Table) -> Found:
    """T2: published, here, and the ratio, as a table."""
    lines = [
        f"{'':3}{'load':>6} {'seeds':>5}  "
        + "".join(f"{name + ' r/w, published, ratio':>44}" for name in POLICIES)
    ]
    for of in (CI, CS):
        for load in loads(table):
            pieces = []
            for policy in POLICIES:
                ours = [table.mean(key, **point(of, load, policy)).value for key in (READ, WRITE)]
                paper = TABLE[of.name][load][policy]
                ratios = [one / other for one, other in zip(ours, paper, strict=True)]
                pieces.append(
                    f"{ours[0]:6.2f} /{ours[1]:6.2f}   {paper[0]:6.2f} /{paper[1]:6.2f}   "
                    f"{ratios[0]:5.2f} /{ratios[1]:5.2f}  "
                )
            seeds = len(table.by_seed(READ, **point(of, load, SARC)))
            cells = "".join(f"{piece:>44}" for piece in pieces)
            lines.append(f"{of.name:3}{load:4} % {seeds:5}  {cells}")
    return Found([], "\n" + "\n".join(lines))


_number = partial(Statement, kind=Kind.NUMBER, turns=False)
_order = partial(Statement, kind=Kind.ORDER, turns=False)
TOP_LOADS = "the top load: a little below that at which a write buffer overflows"
NO_WAIT = "writes take 0.18 ms until the buffer overflows, and then for ever longer"


def _cut(name: str, of: Configuration, key: str, published: dict[str, float]) -> Statement:
    """Half of a published cut, at the top load."""
    kind = "Reads" if key == READ else "Writes"
    told = ", ".join(f"{cut:.1%} below {other}" for other, cut in published.items())
    judge: Callable[[Table], Found] = partial(
        cuts, of=of, key=key, gates={other: cut / 2 for other, cut in published.items()}
    )
    return _number(
        id=name,
        statement=f"{kind} of SARC are far faster at the top load, {of.told}",
        published=told,
        range="at least half of each, " + TOP_LOADS,
        judge=judge,
        note=NO_WAIT if key == WRITE else "",
    )


STATEMENTS = [
    _order(
        id="B16",
        statement="SARC moves the curve of throughput and response time to the right",
        published="in the abstract",
        range="the load at twice the response that SARC has at the lightest, between points",
        judge=to_the_right,
    ),
    Statement(
        id="T2",
        kind=Kind.INFORMATION,
        statement="Table II, side by side",
        published="response times of reads / writes in ms",
        range="both configurations, every load that was run; " + TOP_LOADS,
        judge=side_by_side,
        turns=False,
    ),
    _number(
        id="B01",
        statement="Cache-sensitive, top load: SARC is far ahead of LRU-Bottom, and that of LRU-Top",
        published="33.35, 8.92, 5.18 ms overall",
        range="SARC at least 25 % below LRU-Bottom and 65 % below LRU-Top; " + TOP_LOADS,
        judge=top_sensitive,
    ),
    _order(
        id="B01o",
        statement="Cache-sensitive: LRU-Top is slower than LRU-Bottom, and that than SARC",
        published="table II",
        range="80 % of the top load and more, overall",
        judge=order_sensitive,
    ),
    _number(
        id="B02",
        statement="Cache-insensitive, top load: LRU-Bottom is behind LRU-Top, that far behind SARC",
        published="8.62, 15.26, 6.87 ms overall for LRU-Top, LRU-Bottom, SARC",
        range="SARC at least 10 % below LRU-Top; " + TOP_LOADS,
        judge=top_insensitive,
    ),
    _order(
        id="B02o",
        statement="Cache-insensitive: LRU-Bottom is slower than LRU-Top, and that than SARC",
        published="table II",
        range="overall; 80 % of the top load and more, LRU-Top and SARC from 90 % on, as published",
        judge=order_insensitive,
    ),
    _order(
        id="B03",
        statement="Cache-sensitive: LRU-Bottom is better than LRU-Top at every load",
        published="table II",
        range="reads, all loads",
        judge=bottom_better,
    ),
    _order(
        id="B04",
        statement="Cache-insensitive: LRU-Top is better than LRU-Bottom from middling loads on",
        published="table II, 80 % and more",
        range="reads, 80 % of the top load and more",
        judge=top_better,
    ),
    _cut("B05", CS, READ, {TOP: 0.837, BOTTOM: 0.390}),
    _cut("B06", CS, WRITE, {TOP: 0.852, BOTTOM: 0.448}),
    _cut("B07", CI, READ, {TOP: 0.161, BOTTOM: 0.469}),
    _cut("B08", CI, WRITE, {TOP: 0.286, BOTTOM: 0.667}),
    _order(
        id="B09",
        statement="SARC is nearly everywhere better than the better one of the others",
        published="but for 3 of 24 cells, by 0.06 ms at most",
        range="nowhere worse by more than 5 % and 0.1 ms; all loads, reads and writes",
        judge=never_worse,
    ),
    _order(
        id="B10",
        statement="Neither LRU-Top nor LRU-Bottom is good in both configurations",
        published="table II",
        range="reads 5 % behind SARC at least; " + TOP_LOADS,
        judge=neither,
    ),
    _order(
        id="B11",
        statement="What SARC saves of reads makes writes faster, too",
        published="table II",
        range="90 % of the top load and more",
        judge=lower_writes,
        note=NO_WAIT,
    ),
    _number(
        id="B12",
        statement="At a light load all three have the same write time",
        published="0.18 and 0.19 ms",
        range="10 % of the top load, within 5 %",
        judge=equal_writes,
    ),
    _number(
        id="B13",
        statement="Cache-sensitive: LRU-Top is clearly worse at a light load already",
        published="2.51 to 1.53 ms",
        range="reads, 10 % of the top load, 1.3 times at least",
        judge=light_sensitive,
    ),
    _number(
        id="B14",
        statement="Cache-insensitive: at a light load the three are close",
        published="5.15 to 5.30 ms",
        range="reads, 10 % of the top load, within 5 %",
        judge=light_insensitive,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Response time over load, ours and the paper's beside each other."""
    tables = {"here": Table(outcome.runs), "published": Table(rows())}
    with sheet(path) as panels:
        for line, of in zip(panels, CONFIGURATIONS, strict=True):
            for panel, (whose, table) in zip(line, tables.items(), strict=True):
                plot(panel, table, of, ("iops", OVERALL))
                panel.set_title(f"{of.told}, {whose}", fontsize=9)
                panel.set_xlabel("I/Os per second" + ("" if whose == "here" else ", scaled"))
                panel.set_ylim(bottom=0)
            line[0].set_ylabel("overall response time (ms)")


EXPERIMENT = Experiment(
    name="sarc-table2",
    question="What do three cache policies do to response times under an SPC-1-like load?",
    source="USENIX 2005, table II and figure 6, left",
    cells=grid,
    statements=STATEMENTS,
    draw=draw,
    reads=OF_SYSTEM,
)
