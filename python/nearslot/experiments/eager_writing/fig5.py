"""Figure 5: throughput of the eager-writing schedulers by the share of reads, queue of 64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..figures import lines
from ..frame import Experiment, Outcome
from ..page import Chart
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import (
    Check,
    Gate,
    Kind,
    Mean,
    above,
    at_least,
    at_most,
    below,
    percent,
    within,
)
from . import disk
from .disk import NAMES, PUBLISHED, RPS, sweeps
from .fig4 import crossing
from .options import Options
from .rules import Run

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
QUICK = (0.0, 0.1, 0.4, 0.5, 0.9, 0.95, 1.0)
FREE_BANDWIDTH = [name for name in PUBLISHED.values() if name.startswith("freebw")]
FIGURE: dict[str, Any] = {"of": "figure"}
BOUNDS: dict[str, Any] = {"of": "bounds"}
STARVED = {"of": "starvation"}
SETUP = "a queue of 64, dilution 2"
FLOOD = (2_000, 4_000)
"""Requests that come faster than a drive can write; twice as many take twice as long."""
FLOOD_RPS = 5_000


def _shares(table: Table, least: float = 0.0, most: float = 1.0) -> list[float]:
    found = table.values("read_share", **FIGURE)
    return [share for share in found if least <= share <= most]


def _leads(
    table: Table, sched: str, others: Sequence[str], shares: Sequence[float]
) -> dict[tuple[str, float], Check]:
    """How far a scheduler is ahead of others, without a gate."""
    return {
        (other, share): Check(
            f"{NAMES[sched]} against {NAMES[other]} at {share:g}",
            table.lead(RPS, {"sched": sched}, {"sched": other}, read_share=share, **FIGURE),
            None,
        )
        for share in shares
        for other in others
        if other != sched
    }


def _gated(checks: dict[tuple[str, float], Check], gate: Gate) -> list[Check]:
    return [replace(one, gate=gate) for one in checks.values()]


def _leaders(table: Table, inside: Sequence[float] = ()) -> str:
    shares = [share for share in _shares(table) if share not in inside]
    return disk.leaders(table, "read_share", shares, **FIGURE)


def satf_ew_everywhere(table: Table) -> Found:
    """D7."""
    found = _leads(table, "satf_ew", list(PUBLISHED.values()), _shares(table))
    return Found(_gated(found, at_least(-0.08)), _leaders(table))


def scan_worst(table: Table) -> Found:
    """D8."""
    high = _shares(table, least=0.9)
    found = _leads(table, "freebw_scan", list(PUBLISHED.values()), high)
    far = {key: one for key, one in found.items() if key[0] == "satf_ew"}
    near = {key: one for key, one in found.items() if key[0] != "satf_ew"}
    checks = [*_gated(far, at_most(-0.15)), *_gated(near, below(0.0))]
    for share in _shares(table, most=0.89):
        columns = (
            (RPS, {"sched": sched, "read_share": at, **FIGURE})
            for at in (1.0, share)
            for sched in ("freebw_scan", "satf_ew")
        )
        larger = table.each(lambda a, b, c, d: c / d - a / b, *columns)
        checks.append(Check(f"deficit at 1 beyond that at {share:g}", larger, above(0.0)))
    return Found(checks)


def meet_satf(table: Table) -> Found:
    """D9."""
    others = [name for name in PUBLISHED.values() if name != "freebw_scan"]
    at_end = [
        Check(
            f"{NAMES[name]} against SATF at 1",
            table.lead(RPS, {"sched": name}, {"sched": "satf"}, read_share=1.0, **FIGURE),
            within(-0.01, 0.01),
        )
        for name in others
    ]
    near = [
        check
        for first, name in enumerate(others)
        for check in _gated(_leads(table, name, others[first + 1 :], [0.95]), within(-0.05, 0.05))
    ]
    return Found([*at_end, *near], outside=_leaders(table, inside=[1.0]))


def few_reads(table: Table) -> Found:
    """D10."""
    checks = [
        check
        for name in FREE_BANDWIDTH
        for check in _gated(
            _leads(table, name, ["satf_ew"], _shares(table, 0.01, 0.2)), at_most(-0.05)
        )
    ]
    return Found(checks)


def modest_share(table: Table) -> Found:
    """D11."""
    middle = _shares(table, 0.4, 0.5)
    found = _leads(table, "freebw_hybrid", list(PUBLISHED.values()), middle)
    return Found(_gated(found, above(0.0)), outside=_leaders(table, middle))


def coincide(table: Table) -> Found:
    """D12."""
    found = _leads(table, "satf_ew", FREE_BANDWIDTH, [0.0])
    return Found(_gated(found, within(-0.005, 0.005)))


def bounds(table: Table) -> Found:
    """D13."""
    at = {"depth": 64, "read_share": 0.5, **BOUNDS}
    ratio = table.each(
        lambda late, usual: late / usual,
        ("write_wait_ms_mean", {"sched": "read_first", **at}),
        ("write_wait_ms_mean", {"sched": "satf_ew", **at}),
    )
    few, many = ({"sched": "write_first", "asked": count, **STARVED} for count in FLOOD)
    longer = table.each(lambda short, long: long / short, ("longest_ms", few), ("longest_ms", many))
    served = table.each(lambda count: float(count), ("early_reads", many))
    usual = table.mean("read_wait_ms_max", **{"sched": "satf_ew", **at})
    return Found(
        [
            Check(
                "longest read wait, twice the writes to half of them",
                longer,
                within(1.8, 2.2),
                "times",
            ),
            Check("reads served while writes wait", served, at_most(1.0), ""),
            Check("mean write wait of read-first to SATF-EW's", ratio, at_least(10.0), "times"),
        ],
        f"longest read wait of SATF-EW with half reads {usual.value:.0f} ms",
    )


def leans_to_writes(table: Table) -> Found:
    """D14."""
    few = {"read_share": 0.2, **BOUNDS}
    much = {"sched": "satf_ew", "dilution": 4.0, **few}
    share = table.each(
        lambda write, read: write / read, ("write_wait_ms_mean", much), ("read_wait_ms_mean", much)
    )

    def lead(dilution: float) -> Mean:
        one, other = {"sched": "satf_ew"}, {"sched": "write_first"}
        return table.lead(RPS, one, other, dilution=dilution, **few)

    checks = [
        Check("mean wait of writes to that of reads", share, at_most(0.05), "times"),
        Check("SATF-EW against write-first", lead(4.0), within(-0.02, 0.02)),
    ]
    usual = percent(lead(2.0))
    return Found(checks, outside=f"at dilution 2 SATF-EW against write-first: {usual}")


def seeks_fill_gaps(table: Table) -> Found:
    """D10c."""
    return Found(
        [
            Check(
                f"share of a gap of {NAMES[name]} that is seeking at {share:g}",
                table.mean("gap_seek_share", sched=name, read_share=share, **FIGURE),
                at_least(0.5),
                "",
            )
            for share in _shares(table, 0.01, 0.2)
            for name in FREE_BANDWIDTH
        ]
    )


def writes_in_gaps(table: Table) -> Found:
    """D11c."""
    checks = []
    for share in _shares(table, 0.4, 0.5):
        drained = table.each(
            lambda hybrid, satf: hybrid / satf - 1,
            *(
                ("write_wait_ms_mean", {"sched": sched, "read_share": share, **FIGURE})
                for sched in ("freebw_hybrid", "freebw_satf")
            ),
        )
        checks.append(
            Check(
                f"write wait of FreeBW-Hybrid to FreeBW-SATF's at {share:g}", drained, at_most(-0.5)
            )
        )
    return Found(checks)


# Requests/s of the independent model at an overhead of 0.6 ms, by share of reads.
MODEL = {
    "satf_ew": (722, 698, 650, 556, 484, 427, 378, 341, 310, 283, 260, 251, 242),
    "freebw_scan": (722, 631, 550, 440, 476, 439, 351, 294, 253, 223, 198, 187, 178),
    "freebw_hybrid": (722, 631, 550, 440, 476, 458, 385, 337, 301, 276, 257, 249, 242),
}


def shape(table: Table) -> Found:
    """M3."""
    at = _shares(table, 0.1, 0.7)
    model = {name: dict(zip(SHARES, curve, strict=True)) for name, curve in MODEL.items()}

    def apart(one: str, other: str, shares: list[float]) -> Check:
        curves = ([model[name][share] for share in shares] for name in (one, other))
        expected = crossing(shares, *curves)
        columns = (
            (RPS, {"sched": name, "read_share": share, **FIGURE})
            for name in (one, other)
            for share in shares
        )
        count = len(shares)
        found = table.each(
            lambda *of: crossing(shares, of[:count], of[count:]) - expected, *columns
        )
        what = f"share at which {NAMES[one]} falls below {NAMES[other]}, against the model's "
        return Check(f"{what}{expected:.2f}", found, within(-0.1, 0.1), "")

    checks = [
        apart("satf_ew", "freebw_hybrid", [share for share in at if share <= 0.5]),
        apart("freebw_scan", "satf_ew", [share for share in at if share >= 0.4]),
    ]
    for less, more in pairwise(share for share in at if 0.2 <= share <= 0.3):
        rise = table.each(
            lambda a, b: b / a - 1,
            *((RPS, {"sched": "freebw_scan", "read_share": s, **FIGURE}) for s in (less, more)),
        )
        what = f"FreeBW-SCAN rises from {less:g} to {more:g}, in the model by 8 %"
        checks.append(Check(what, rise, above(0.0)))
    return Found(checks)


_statement = partial(Statement, kind=Kind.ORDER, published="no number (section 4)", needs=FIGURE)

STATEMENTS = [
    _statement(
        id="D7",
        statement="SATF-EW works well at all read shares",
        range=f"read shares of 0 to 1, {SETUP}; well: not more than 8 % below any of the others",
        judge=satf_ew_everywhere,
    ),
    _statement(
        id="D8",
        statement="FreeBW-SCAN's deficit is largest at high read shares",
        range=f"read shares of 0.9 to 1, {SETUP}; at least 15 % below SATF-EW, below all others, "
        "and more so at 1 than at any share below 0.9",
        judge=scan_worst,
    ),
    _statement(
        id="D9",
        statement="All but FreeBW-SCAN approach SATF as the read share goes to 1",
        range=f"read shares of 0.95 (within 5 % of each other) and 1 (within 1 % of SATF), {SETUP}",
        judge=meet_satf,
    ),
    _statement(
        id="D10",
        statement="For few but some reads the free-bandwidth methods lose to SATF-EW",
        range=f"read shares of 0.05 to 0.2, {SETUP}; lose: at least 5 %",
        judge=few_reads,
    ),
    _statement(
        id="D11",
        statement="With a modest share of reads FreeBW-Hybrid is best",
        range=f"read shares of 0.4 and 0.5, {SETUP}",
        judge=modest_share,
    ),
    _statement(
        id="D12",
        statement="Without reads all four coincide",
        published="derived from the algorithms",
        range=f"no reads, {SETUP}; within 0.5 %",
        judge=coincide,
    ),
    _statement(
        id="D13",
        statement="Write-first can starve reads; read-first penalises writes",
        range=f"starve: {FLOOD_RPS:,} requests/s come, a tenth of them reads, and reads wait as "
        "long as writes come, so twice as long where twice as many do; penalises: ten times "
        "SATF-EW's mean wait with half reads and a queue of 64",
        judge=bounds,
        needs={},
    ),
    _statement(
        id="D14",
        statement="SATF-EW leans to write-first with much free space and many writes",
        range="dilution 4, a read share of 0.2, a queue of 64; writes wait a twentieth of reads, "
        "throughput within 2 % of write-first's",
        judge=leans_to_writes,
        needs=BOUNDS,
    ),
    _statement(
        id="D10c",
        statement="With few reads it is seeks that fill the time between reads, and little "
        "rotation is left for writes",
        range=f"read shares of 0.05 to 0.2, {SETUP}, 2,000 commands in the middle of each run",
        judge=seeks_fill_gaps,
    ),
    _statement(
        id="D11c",
        statement="The gaps of FreeBW-Hybrid take the writes that those of FreeBW-SATF leave",
        range=f"read shares of 0.4 and 0.5, {SETUP}; its writes wait half as long at most",
        judge=writes_in_gaps,
    ),
    Statement(
        id="M3",
        kind=Kind.OWN,
        statement="Over the share of reads, curves cross where those of an independent model do",
        published="not published; the model has an overhead of 0.6 ms",
        range=f"read shares of 0.1 to 0.7, {SETUP}; within 0.1 of the share",
        judge=shape,
        needs=FIGURE,
        turns=False,
    ),
]


def _flood(options: Options, sched: str, overhead_ms: float, count: int) -> Cell:
    """More writes than a drive can take, with some reads."""
    flood = {"rate_rps": FLOOD_RPS, "read_share": 0.1, "requests": count}
    base = disk.scenario(
        options, overhead_ms=overhead_ms, dilution=2.0, sched=sched, load="poisson", **flood
    )

    def run(seeds: Sequence[int]) -> list[Row]:
        rows = []
        for seed in seeds:
            done = Run.of(base.replace(seed=seed, warmup=0))
            came = done.arrivals()
            reads, writes = done.foreground("read"), done.foreground("write")
            # Reads that begin before the first write is done did not wait for writes.
            first, last = writes[0]["end_ns"], writes[-1]["start_ns"]
            waits = [one["start_ns"] - came[one["request"]] for one in reads]
            early = sum(first < one["start_ns"] < last for one in reads)
            rows.append({"seed": seed, "longest_ms": max(waits) / 1e6, "early_reads": early})
        return rows

    marks = {"overhead_ms": overhead_ms, "sched": sched, "asked": count, **STARVED}
    return Cell(marks, run)


def cells(options: Options) -> list[Cell]:
    """All shares of reads, SATF where there is nothing else, and the bounds."""
    shares = QUICK if options.quick else SHARES
    loads = [{"depth": 64, "read_share": share} for share in shares]
    alone = [{"depth": 64, "read_share": 1.0}]
    half = [{"depth": 64, "read_share": 0.5}]
    few = [{"depth": 64, "read_share": 0.2}]
    both = ("satf_ew", "write_first")
    return [
        *sweeps(options, PUBLISHED.values(), loads, series=True, **FIGURE),
        *sweeps(options, ["satf"], alone, **FIGURE),
        *sweeps(options, ("read_first", "satf_ew"), half, **BOUNDS),
        *sweeps(options, both, few, **BOUNDS),
        *sweeps(options, both, few, dilution=4.0, **BOUNDS),
        *(
            _flood(options, "write_first", overhead_ms, count)
            for overhead_ms in options.overheads
            for count in FLOOD
        ),
    ]


def draw(outcome: Outcome, path: Path) -> None:
    """Throughput over the share of reads, as in the paper."""
    lines(
        outcome,
        path,
        axis="read_share",
        label="share of reads",
        title="queue length 64, dilution 2",
        names={**PUBLISHED, "SATF": "satf"},
        where=FIGURE,
    )


EXPERIMENT = Experiment(
    name="ew-fig5",
    question="Which eager-writing scheduler gives the highest throughput at each share of reads?",
    source=f"{disk.SOURCE}, figure 5",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    chart=Chart(
        axis="read_share",
        label="share of reads",
        setup=disk.setup("a queue of 64"),
        names={**PUBLISHED, "SATF": "satf"},
        where=FIGURE,
    ),
    needs=("pyarrow",),
)
