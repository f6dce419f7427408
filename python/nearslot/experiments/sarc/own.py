"""Mimic, a cache of our own, against SARC and the best modern policy all over a matrix of loads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from ...running import compare
from ...runs import Run
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Check, ClaimVerdict, Kind, Mean, above, at_most, percent, together
from .matrix import HALVES, MODERN, OTHERS, PAPER, SIZES, Point, left_out, points
from .options import OF_MATRIX, Options

OWN = "mimic"
MEAN, P99 = "response_ms", "response_ms_p99"
# Fractions of the other's mean response time.
WITHIN = 0.02
# A run has such a part of the requests that are asked for, which are of larger runs.
PART = 25
LEAST_REQUESTS = 1_000


def cells(options: Options) -> list[Cell]:
    """The points of the half that is asked for, or of both; of a quick run a few large caches."""
    halves = HALVES if options.half == "both" else (options.half,)
    chosen = [one for one in points(options.drive, options.traces) if one.half in halves]
    if options.quick:
        chosen = [one for one in chosen if one.size == SIZES[-1]][::12]
    return [_cell(options, point) for point in chosen]


def _cell(options: Options, point: Point) -> Cell:
    """All caches at a point, under the same requests."""

    def run(seeds: Sequence[int]) -> list[Row]:
        caches = [OWN, *OTHERS]
        rows: list[Row] = []
        for seed in seeds:
            words = [f"{cache}:size={point.size}" for cache in caches]
            found = compare(
                point.scenario(seed, max(LEAST_REQUESTS, options.requests // PART), OWN),
                vary={"cache": words},
                series=False,
                overload="run",
            )
            named = zip(caches, found.runs, strict=True)
            rows += [{"seed": seed, "cache": cache, **_numbers(one)} for cache, one in named]
        return rows

    return Cell({"point": point.name, "load": point.load, "half": point.half}, run)


def _numbers(run: Run) -> Row:
    reads = run.read_response_ms
    return {
        MEAN: run.response_ms.mean,
        P99: run.response_ms.p99,
        "read_response_ms": reads.mean if reads else None,
    }


def best_modern(table: Table, point: str) -> str:
    """The modern policy with the shortest mean response at a point."""
    return min(MODERN, key=lambda name: table.mean(MEAN, point=point, cache=name).value)


def behind(table: Table, point: str, other: str) -> Mean:
    """By which share responses take longer than with another cache, seed by seed."""
    return table.lead(MEAN, {"cache": OWN}, {"cache": other}, point=point)


def _checks(table: Table, other: Callable[[Table, str], str]) -> list[Check]:
    return [
        Check(
            f"against {other(table, point)} ({point})",
            behind(table, point, other(table, point)),
            at_most(WITHIN),
        )
        for point in table.values("point")
    ]


def _average(table: Table, key: str, other: Callable[[Table, str], str]) -> Mean:
    """Over all points: by which share the other's number exceeds ours, geometrically."""
    columns = []
    for point in table.values("point"):
        for cache in (other(table, point), OWN):
            of = {"point": point, "cache": cache}
            if None not in table.by_seed(key, **of).values():
                columns.append((key, of))
    pairs = len(columns) // 2
    return table.each(
        lambda *of: math.expm1(
            math.fsum(math.log(a / b) for a, b in zip(of[::2], of[1::2], strict=True)) / pairs
        ),
        *columns,
    )


def _paper(_: Table, __: str) -> str:
    return PAPER


def never_behind_sarc(table: Table) -> Found:
    """OWN6."""
    return Found(_checks(table, _paper))


def never_behind_modern(table: Table) -> Found:
    """OWN7."""
    return Found(_checks(table, best_modern))


def ahead_on_average(table: Table) -> Found:
    """OWN8."""
    return Found(
        [
            Check("mean response of SARC", _average(table, MEAN, _paper), above(0.0)),
            Check("of the best modern", _average(table, MEAN, best_modern), above(0.0)),
        ]
    )


def tails(table: Table) -> Found:
    """OWN9."""
    sarc, modern = (_average(table, P99, other) for other in (_paper, best_modern))
    return Found(
        [], f"p99 of SARC {percent(sarc)}, of the best modern by its mean {percent(modern)}"
    )


def winners(table: Table) -> Found:
    """OWN10."""
    wins = dict.fromkeys(OTHERS, 0)
    for point in table.values("point"):
        means = {name: table.mean(MEAN, point=point, cache=name).value for name in OTHERS}
        wins[min(means, key=lambda name: means[name])] += 1
    ordered = sorted(wins.items(), key=lambda pair: -pair[1])
    return Found([], ", ".join(f"{name} at {count}" for name, count in ordered if count))


def bounds(table: Table) -> Found:
    """OWN11."""
    both = zip(never_behind_sarc(table).checks, never_behind_modern(table).checks, strict=True)
    verdicts = [together(check.verdict for check in checks) for checks in both]
    return Found([], ", ".join(f"{one} at {verdicts.count(one)}" for one in DECIDED))


DECIDED = (ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED)
MATRIX = "the matrix of docs/design/0024, one disk and RAID-5"
_statement = partial(Statement, published="not published", range=MATRIX, turns=False)
_claim = partial(_statement, kind=Kind.OWN)

STATEMENTS = [
    _claim(
        id="OWN6",
        statement="Mimic's mean response is nowhere more than 2 % longer than SARC's",
        judge=never_behind_sarc,
    ),
    _claim(
        id="OWN7",
        statement="Mimic's mean response is nowhere more than 2 % longer than that of the best "
        "modern policy at the point",
        judge=never_behind_modern,
    ),
    _claim(
        id="OWN8",
        statement="On average over all points Mimic's mean response is shorter than SARC's, and "
        "than that of the best modern policy at each point",
        judge=ahead_on_average,
    ),
    _statement(
        id="OWN9",
        kind=Kind.INFORMATION,
        statement="By how much the 99th percentiles of others exceed Mimic's on average",
        judge=tails,
    ),
    _statement(
        id="OWN10",
        kind=Kind.INFORMATION,
        statement="At how many points which of the others has the shortest mean response",
        judge=winners,
    ),
    _statement(
        id="OWN11",
        kind=Kind.INFORMATION,
        statement="At how many points the bound of 2 % against SARC and the best modern policy "
        "holds, at how many it does not, and at how many seeds do not decide it",
        judge=bounds,
    ),
]

EXPERIMENT = Experiment(
    name="sarc-own",
    question="Where do SARC and modern policies win in response time, and is one as good as all?",
    source="ours",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"drive", "requests"}) | OF_MATRIX,
    left_out=lambda options: left_out(options.drive, options.traces),
)
