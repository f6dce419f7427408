"""Figure 4: throughput of the eager-writing schedulers as the queue grows, half writes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from ..figures import lines
from ..frame import Experiment, Outcome
from ..page import Chart
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, at_least, at_most, below, percent, within
from . import disk
from .disk import NAMES, PUBLISHED, RPS, sweeps
from .options import Options

DEPTHS = (2, 4, 8, 16, 32, 64, 128)
QUICK_DEPTHS = (2, 8, 32, 64)
LONG = 64
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
QUICK_SHARES = (0.1, 0.9, 1.0)
HALF = {"read_share": 0.5}
SETUP = "half reads, dilution 2"


def depths(table: Table, least: float = 0, most: float = 1e9) -> list[int]:
    """Queue lengths of the figure."""
    return [at for at in table.values("depth", **HALF) if least <= at <= most]


def leads(
    table: Table, sched: str, others: Sequence[str], at: Sequence[int]
) -> dict[tuple[str, int], Mean]:
    """How far a scheduler is ahead of others, by their name and the queue."""
    return {
        (other, depth): table.lead(RPS, {"sched": sched}, {"sched": other}, depth=depth, **HALF)
        for depth in at
        for other in others
        if other != sched
    }


def _outside(table: Table, inside: Sequence[int]) -> str:
    return disk.leaders(table, "depth", [at for at in depths(table) if at not in inside], **HALF)


def satf_ew_everywhere(table: Table) -> Found:
    """D1."""
    found = leads(table, "satf_ew", list(PUBLISHED.values()), depths(table))
    checks = [
        Check(f"SATF-EW against {NAMES[other]} at depth {depth}", lead, at_least(-0.06))
        for (other, depth), lead in found.items()
    ]
    return Found(checks, disk.leaders(table, "depth", depths(table), **HALF))


def satf_below_scan(table: Table) -> Found:
    """D2."""
    deep = depths(table, 32)
    found = leads(table, "freebw_satf", ["freebw_scan"], deep)
    gaps = {depth: lead for (_, depth), lead in found.items()}
    at = LONG if LONG in deep else deep[-1]
    checks = [Check(f"FreeBW-SATF against FreeBW-SCAN at depth {at}", gaps[at], at_most(-0.05))]
    for less, more in pairwise(deep):
        growth = table.each(
            lambda a, b, c, d: c / d - a / b,
            *(
                (RPS, {"sched": sched, "depth": depth, **HALF})
                for depth in (less, more)
                for sched in ("freebw_satf", "freebw_scan")
            ),
        )
        checks.append(Check(f"what it gains from depth {less} to {more}", growth, below(0.0)))
    short = leads(table, "freebw_satf", ["freebw_scan"], depths(table, most=31))
    outside = ", ".join(f"{percent(lead)} at {depth}" for (_, depth), lead in short.items())
    return Found(checks, outside=f"with shorter queues FreeBW-SATF against FreeBW-SCAN: {outside}")


def degenerates(table: Table) -> Found:
    """D3."""
    deep = depths(table, 32)
    one, other = (
        {"sched": "freebw_satf", "depth": deep[0]},
        {
            "sched": "freebw_satf",
            "depth": deep[-1],
        },
    )
    growth = table.lead(RPS, other, one, **HALF)
    where = {**other, **HALF}
    writes = table.each(
        lambda read, write: write / (read + write),
        ("read_wait_ms_mean", where),
        ("write_wait_ms_mean", where),
    )
    return Found(
        [
            Check(f"throughput from depth {deep[0]} to {deep[-1]}", growth, within(-0.02, 0.02)),
            Check(f"share of writes in what waits at {deep[-1]}", writes, at_least(0.75), ""),
        ]
    )


def hybrid_best(table: Table) -> Found:
    """D4."""
    middle = depths(table, 16, 64)
    found = leads(table, "freebw_hybrid", list(PUBLISHED.values()), middle)
    checks = [
        Check(f"FreeBW-Hybrid against {NAMES[other]} at depth {depth}", lead, at_least(0.0))
        for (other, depth), lead in found.items()
    ]
    return Found(checks, outside=_outside(table, middle))


def slightly_above(table: Table) -> Found:
    """D5."""
    at = LONG if LONG in depths(table) else depths(table)[-1]
    found = leads(table, "freebw_hybrid", ["satf_ew"], depths(table))
    others = ", ".join(
        f"{percent(lead)} at {depth}" for (_, depth), lead in found.items() if depth != at
    )
    lead = found["satf_ew", at]
    return Found(
        [Check(f"FreeBW-Hybrid against SATF-EW at depth {at}", lead, within(0.0, 0.05))],
        outside=others,
    )


def not_below_scan(table: Table) -> Found:
    """D6."""
    one, other = {"sched": "freebw_hybrid"}, {"sched": "freebw_scan"}
    checks = [
        Check(
            f"FreeBW-Hybrid against FreeBW-SCAN at depth {depth}",
            table.lead(RPS, one, other, depth=depth, **HALF),
            at_least(0.0),
        )
        for depth in depths(table)
    ]
    for share in table.values("read_share"):
        if share != HALF["read_share"]:
            lead = table.lead(RPS, one, other, depth=LONG, read_share=share)
            what = f"FreeBW-Hybrid against FreeBW-SCAN at a read share of {share:g}"
            checks.append(Check(what, lead, at_least(0.0)))
    return Found(checks)


def order_at_long(table: Table) -> Found:
    """D15."""
    at = LONG if LONG in depths(table) else depths(table)[-1]
    told = ", ".join(
        f"{name} {table.mean(RPS, sched=sched, depth=at, **HALF).value:.0f}"
        for name, sched in PUBLISHED.items()
    )
    return Found([], f"requests/s at depth {at}: {told}")


def free_time(table: Table) -> Found:
    """D2c: the share of rotational latency in a request's service time."""

    def share(sched: str) -> Mean:
        where = {"sched": sched, "depth": LONG, "read_share": 1.0}
        parts = ("service_overhead_ms", "seek_ms", "rotation_ms", "transfer_ms")
        return table.each(
            lambda overhead, seek, rotation, transfer: (
                rotation / (overhead + seek + rotation + transfer)
            ),
            *((key, where) for key in parts),
        )

    satf, scan = share("freebw_satf"), share("freebw_scan")
    return Found(
        [
            Check("share of the time that SATF leaves free", satf, at_most(0.35), ""),
            Check("share of the time that SCAN leaves free", scan, at_least(0.35), ""),
        ]
    )


def few_reads_left(table: Table) -> Found:
    """D3c: writes fill the queue of FreeBW-SATF, and from each of its few reads the next is far."""
    far = table.each(
        lambda satf, hybrid: satf / hybrid,
        *(
            ("gap_seek_ms", {"sched": sched, "depth": LONG, **HALF})
            for sched in ("freebw_satf", "freebw_hybrid")
        ),
    )
    where = {"sched": "freebw_satf", "depth": LONG, **HALF}
    writes = table.mean("gap_writes", **where)
    seeks = ", ".join(
        f"{name} {table.mean('gap_seek_ms', sched=sched, depth=LONG, **HALF).value:.1f}"
        for name, sched in PUBLISHED.items()
    )
    what = "seeking between reads, FreeBW-SATF to FreeBW-Hybrid"
    return Found(
        [
            Check(what, far, at_least(1.2), "times"),
            Check("writes between two reads of FreeBW-SATF", writes, within(0.9, 1.1), ""),
        ],
        f"ms of seeking from read to read: {seeks}",
    )


# Requests/s of the independent model at an overhead of 0.6 ms, by queue length.
MODEL = {
    "satf_ew": (220, 251, 281, 313, 346, 378, 411),
    "freebw_satf": (220, 262, 297, 316, 317, 317, 316),
    "freebw_scan": (214, 246, 282, 312, 333, 351, 366),
    "freebw_hybrid": (220, 254, 294, 327, 356, 385, 409),
}


def crossing(at: Sequence[float], one: Sequence[float], other: Sequence[float]) -> float:
    """Where a curve falls below another and stays there, interpolated between points.

    Before the first point if it is below at all of them; after the last if it is not below there.
    """
    ahead = [a / b - 1 for a, b in zip(one, other, strict=True)]
    if ahead[-1] >= 0:
        return at[-1] + (at[-1] - at[-2])
    for index in range(len(at) - 1, 0, -1):
        if ahead[index - 1] >= 0:
            part = ahead[index - 1] / (ahead[index - 1] - ahead[index])
            return at[index - 1] + part * (at[index] - at[index - 1])
    return at[0] - (at[1] - at[0])


def bend(values: Sequence[float]) -> int:
    """The first point after which a curve gains less than 2 %."""
    return next(index for index, value in enumerate(values) if values[-1] < 1.02 * value)


def shape(table: Table) -> Found:
    """M2."""
    at = depths(table)
    steps = range(len(at))
    names = ("freebw_satf", "freebw_scan")
    model = [dict(zip(DEPTHS, MODEL[name], strict=True)) for name in names]
    satf, scan = ([curve[depth] for depth in at] for curve in model)
    columns = [(RPS, {"sched": name, "depth": depth, **HALF}) for name in names for depth in at]
    expected, bent = crossing(steps, satf, scan), bend(satf)
    crosses = table.each(
        lambda *of: crossing(steps, of[: len(at)], of[len(at) :]) - expected, *columns
    )
    of_model = f"against the model's {at[0] * 2**expected:.0f}"
    what = f"where FreeBW-SATF falls below FreeBW-SCAN, {of_model}"
    checks = [Check(what, crosses, within(-1.0, 1.0), "doublings of the queue")]
    apart = table.each(lambda *of: float(bend(of) - bent), *columns[: len(at)])
    what = f"where FreeBW-SATF stops to grow, against the model's {at[bent]}"
    checks.append(Check(what, apart, within(-1.0, 1.0), "doublings of the queue"))
    return Found(checks)


_statement = partial(Statement, kind=Kind.ORDER, published="no number (section 4)")


STATEMENTS = [
    _statement(
        id="D1",
        statement="SATF-EW works well at every queue length",
        range=f"queues of 2 to 128, {SETUP}; well: not more than 6 % below any of the others",
        judge=satf_ew_everywhere,
        needs=HALF,
    ),
    _statement(
        id="D2",
        statement="FreeBW-SATF is below FreeBW-SCAN, most clearly for long queues",
        range=f"queues of 32 to 128, {SETUP}; below: at least 5 % at 64",
        judge=satf_below_scan,
        needs=HALF,
    ),
    _statement(
        id="D3",
        statement="FreeBW-SATF degenerates towards read-first under load",
        range=f"queues of 32 to 128, {SETUP}",
        judge=degenerates,
        needs={**HALF, "sched": "freebw_satf"},
    ),
    _statement(
        id="D4",
        statement="FreeBW-Hybrid is best",
        range=f"queues of 16 to 64, {SETUP}",
        judge=hybrid_best,
        needs=HALF,
    ),
    _statement(
        id="D5",
        statement="FreeBW-Hybrid is only slightly above SATF-EW",
        published='"slightly"',
        range=f"a queue of 64, {SETUP}; slightly: up to 5 %",
        judge=slightly_above,
        needs=HALF,
    ),
    _statement(
        id="D6",
        statement="FreeBW-Hybrid is at least as good as FreeBW-SCAN everywhere",
        published="derived from the algorithms",
        range="queues of 2 to 128 with half reads, and all read shares with a queue of 64; "
        "dilution 2",
        judge=not_below_scan,
    ),
    _statement(
        id="D2c",
        statement="Reads by SATF leave little time free for writes, reads by SCAN much",
        range="a queue of 64, reads alone; little: less than 35 % of the time, much: more",
        judge=free_time,
        needs={"read_share": 1.0},
    ),
    _statement(
        id="D3c",
        statement="Starved writes fill the queue of FreeBW-SATF, so its few reads are far apart",
        range=f"a queue of 64, {SETUP}, 2,000 commands in the middle of each run; far: 1.2 times "
        "FreeBW-Hybrid's seeking",
        judge=few_reads_left,
        needs={**HALF, "depth": LONG},
        note="a closed load of which half is written brings one write a gap, whoever schedules",
    ),
    Statement(
        id="M2",
        kind=Kind.OWN,
        statement="Over the queue, FreeBW-SATF bends and falls below FreeBW-SCAN where an "
        "independent model does",
        published="not published; the model has an overhead of 0.6 ms",
        range=f"queues of 2 to 128, {SETUP}; within one doubling of the queue",
        judge=shape,
        needs=HALF,
        turns=False,
    ),
    Statement(
        id="D15",
        kind=Kind.INFORMATION,
        statement="Overhead decides the order: with none, FreeBW-SATF leads",
        published="not published; an independent model without overhead: SATF-EW 503, FreeBW-SATF "
        "571, FreeBW-SCAN 397, FreeBW-Hybrid 452 requests/s",
        range=f"a queue of 64, {SETUP}",
        judge=order_at_long,
    ),
]


def cells(options: Options) -> list[Cell]:
    """Half reads over the queue, and what claims need besides."""
    of_queue = QUICK_DEPTHS if options.quick else DEPTHS
    shares = QUICK_SHARES if options.quick else SHARES
    hybrid = ("freebw_hybrid", "freebw_scan")
    return [
        *sweeps(
            options,
            PUBLISHED.values(),
            [{"depth": depth, **HALF} for depth in of_queue],
            series=True,
        ),
        *sweeps(options, hybrid, [{"depth": LONG, "read_share": share} for share in shares]),
        *sweeps(options, ["freebw_satf"], [{"depth": LONG, "read_share": 1.0}]),
    ]


def draw(outcome: Outcome, path: Path) -> None:
    """Throughput over queue length, as in the paper."""
    lines(
        outcome,
        path,
        axis="depth",
        label="queue length",
        title="50 % writes, dilution 2",
        names=PUBLISHED,
        where=HALF,
        logarithmic=True,
    )


EXPERIMENT = Experiment(
    name="ew-fig4",
    question="Which eager-writing scheduler gives the highest throughput as the queue grows?",
    source=f"{disk.SOURCE}, figure 4",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    chart=Chart(
        axis="depth",
        label="queue length",
        setup=disk.setup("reads and writes half and half"),
        names=PUBLISHED,
        where=HALF,
        logarithmic=True,
    ),
)
