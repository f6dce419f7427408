"""Figure 6, middle and right: throughput against power, and tracks staged from the drives."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Table
from ..verdict import Check, Kind, above, at_least, below, missing
from .options import OF_SYSTEM
from .points import check, loads, plot, point, sheet, unless_unfilled
from .setup import BOTTOM, CI, CONFIGURATIONS, CS, POLICIES, SARC, STAGED, TOP, Configuration, grid

POWER = "power"
NEAR_TOP = 90


def most(table: Table, of: Configuration, policy: str) -> tuple[int, float]:
    """The load at which a policy has most power, and how much."""
    at = {load: table.mean(POWER, **point(of, load, policy)).value for load in loads(table)}
    best = max(at, key=lambda load: at[load])
    return best, at[best]


def _column(of: Configuration, policy: str, load: int) -> tuple[str, dict[str, object]]:
    return POWER, point(of, load, policy)


def largest(table: Table, of: Configuration) -> Found:
    """C02 and C03."""
    peaks = {policy: most(table, of, policy) for policy in POLICIES}
    checks = []
    for other in (TOP, BOTTOM):
        columns = (_column(of, policy, peaks[policy][0]) for policy in (SARC, other))
        gain = table.each(lambda own, theirs: own / theirs - 1, *columns)
        found = Check(f"most power of SARC against that of {other}", gain, above(0.0))
        at = (point(of, peaks[policy][0], policy) for policy in (SARC, other))
        checks.append(unless_unfilled(table, found, *at))
    told = ", ".join(f"{policy} {power:.0f} at {load} %" for policy, (load, power) in peaks.items())
    return Found(checks, f"most power, I/Os per second and ms: {told}")


def keeps(table: Table) -> Found:
    """C04."""
    checks = []
    load = min(loads(table, 80))
    peak = most(table, CS, SARC)[0]
    columns = (_column(CS, SARC, one) for one in (load, peak))
    kept = table.each(lambda now, best: now / best, *columns)
    checks.append(Check(f"SARC at {load} % to its most", kept, at_least(0.9), "times"))
    for other in (TOP, BOTTOM):
        columns = (
            _column(CS, policy, one)
            for policy in (other, SARC)
            for one in (load, most(table, CS, policy)[0])
        )
        fallen = table.each(lambda a, b, c, d: a / b - c / d, *columns)
        what = f"what {other} keeps of its most at {load} %, beyond what SARC does"
        at = (point(CS, one, policy) for policy in (SARC, other) for one in loads(table, load))
        checks.append(unless_unfilled(table, Check(what, fallen, below(0.0)), *at))
    return Found(checks)


def first(table: Table) -> Found:
    """C05."""
    if NEAR_TOP not in loads(table):
        return Found([missing(f"no run has {NEAR_TOP} % of the top load")])
    pairs = ((SARC, TOP), (SARC, BOTTOM))
    return Found([check(table, POWER, pair, above(0.0), (CI, NEAR_TOP)) for pair in pairs])


def reported(table: Table) -> Found:
    """D01."""
    told = []
    for of in CONFIGURATIONS:
        for load in loads(table):
            numbers = []
            for policy in POLICIES:
                where = point(of, load, policy)
                every, ahead, wasted = (
                    table.mean(key, **where).value for key in (STAGED, "staged_ahead", "wasted")
                )
                numbers.append(f"{policy} {every:.0f} ({ahead:.0f}, {wasted:.0%})")
            told.append(f"{of.name} {load} %: {', '.join(numbers)}")
    return Found([], "\n      " + "\n      ".join(told))


def fewest(table: Table) -> Found:
    """D02."""
    return Found(
        [
            check(table, STAGED, (SARC, other), below(0.0), (of, load))
            for of in CONFIGURATIONS
            for load in loads(table)
            for other in (TOP, BOTTOM)
        ]
    )


_statement = partial(Statement, kind=Kind.ORDER, turns=False)
EVERY = "every load that was run, up to that at which a write buffer overflows"

STATEMENTS = [
    _statement(
        id="C02",
        statement="Cache-sensitive: SARC has the most power, throughput over response time",
        published="8645, 13242, 13676 for LRU-Top, LRU-Bottom, SARC (computed from table II)",
        range=EVERY,
        judge=partial(largest, of=CS),
    ),
    _statement(
        id="C03",
        statement="Cache-insensitive: SARC has the most power",
        published="2273, 1980, 2342 (computed from table II)",
        range=EVERY,
        judge=partial(largest, of=CI),
    ),
    _statement(
        id="C04",
        statement="Cache-sensitive: at 80 % SARC keeps almost all of its power, the others less",
        published="13459, 8977, 6127 for SARC, LRU-Bottom, LRU-Top (computed from table II)",
        range="nine tenths of its most",
        judge=keeps,
    ),
    _statement(
        id="C05",
        statement=f"Cache-insensitive: at {NEAR_TOP} % SARC has most power of the three",
        published="2342, 1727, 1243 (computed from table II)",
        range=f"{NEAR_TOP} % of the top load",
        judge=first,
    ),
    Statement(
        id="D01",
        kind=Kind.INFORMATION,
        statement="Tracks that are staged for reads, a second at full size",
        published="a figure",
        range=EVERY
        + "; in brackets those that are brought beforehand, and which share of these is wasted",
        judge=reported,
        turns=False,
    ),
    _statement(
        id="D02",
        statement="SARC stages fewer tracks than both others, in both configurations",
        published="a figure",
        range=EVERY,
        judge=fewest,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Throughput over power, and tracks staged over load, with the paper's axes."""
    table = Table(outcome.runs)
    with sheet(path) as panels:
        for line, of in zip(panels, CONFIGURATIONS, strict=True):
            plot(line[0], table, of, (POWER, "iops"))
            line[0].set_xlabel("power: I/Os per second for each ms of response")
            line[0].set_ylabel("I/Os per second")
            plot(line[1], table, of, ("iops", STAGED))
            line[1].set_xlabel("I/Os per second")
            line[1].set_ylabel("tracks staged per second")
            for panel in line:
                panel.set_ylim(bottom=0)


EXPERIMENT = Experiment(
    name="sarc-fig6",
    question="Which policy has most power, and which asks most of the drives?",
    source="USENIX 2005, figure 6, middle and right",
    cells=grid,
    statements=STATEMENTS,
    draw=draw,
    reads=OF_SYSTEM,
)
