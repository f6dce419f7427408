"""GAP-SATF, a scheduler of our own, against the best published one all over figures 4 and 5."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, Where, above, at_least, at_most, missing, percent
from .disk import NAMES, PUBLISHED, RPS, sweeps
from .options import Options

# No limit on runs of writes: this variant is compared by throughput.
OWN = "gap_satf:write_run_ms=3600000"
# The default: the few reads among many writes do not wait long.
DEFAULT = "gap_satf"
EW = "satf_ew"
# The study's four, and the two bounds that it draws beside them.
RIVALS = (*PUBLISHED.values(), "read_first", "write_first")
DEPTHS = (2, 8, 32, 64, 128)
SHARES = (0.0, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0)
DILUTIONS = (1.25, 2.0, 4.0)
WITHIN = -0.01
# The default of its knob `age_limit_ms`.
AGE_LIMIT_MS = 5_000.0
AXES = ("dilution", "depth", "read_share")
READ_P99 = "read_response_ms_p99"
SMALLEST_DEPTH = 8
LEAST_SERVED = -0.1
LONGEST_OF_READS = 0.1


def cells(options: Options) -> list[Cell]:
    """All schedulers at every point of the grid."""
    step = 2 if options.quick else 1
    dilutions = DILUTIONS[::step] if options.dilution is None else (options.dilution,)
    depths = DEPTHS[::3] if options.quick else DEPTHS
    shares = SHARES[1::4] if options.quick else SHARES
    loads = [{"depth": depth, "read_share": share} for depth in depths for share in shares]
    return [
        cell
        for dilution in dilutions
        for cell in sweeps(options, [*RIVALS, OWN, DEFAULT], loads, dilution=dilution)
    ]


def points(table: Table) -> list[Where]:
    """Every point of the grid."""
    found = dict.fromkeys(tuple(row[axis] for axis in AXES) for row in table.rows)
    return [dict(zip(AXES, point, strict=True)) for point in found]


def _best(table: Table, point: Where) -> str:
    return max(RIVALS, key=lambda name: table.mean(RPS, sched=name, **point).value)


def margin(table: Table, point: Where) -> Mean:
    """Ours against the best of the others at a point, seed by seed."""
    return table.lead(RPS, {"sched": OWN}, {"sched": _best(table, point)}, **point)


def _told(point: Where) -> str:
    names = zip(("dilution", "depth", "read share"), point.values(), strict=True)
    return ", ".join(f"{name} {value:g}" for name, value in names)


def ahead(table: Table) -> Found:
    """OWN1."""
    every = points(table)
    bests = [_best(table, point) for point in every]
    columns = [
        (RPS, {"sched": sched, **point})
        for point, best in zip(every, bests, strict=True)
        for sched in (OWN, best)
    ]
    mean = table.each(
        lambda *of: (
            math.fsum(a / b - 1 for a, b in zip(of[::2], of[1::2], strict=True)) / len(every)
        ),
        *columns,
    )
    margins = {index: margin(table, point) for index, point in enumerate(every)}
    most = max(margins, key=lambda index: margins[index].value)
    told = f"{len(every)} points; best {percent(margins[most])} ({_told(every[most])})"
    return Found([Check("mean over all points", mean, above(0.0))], told)


def nowhere_behind(table: Table) -> Found:
    """OWN2."""
    checks = [
        Check(
            f"against {NAMES[_best(table, point)]} ({_told(point)})",
            margin(table, point),
            at_least(WITHIN),
        )
        for point in points(table)
    ]
    return Found(checks)


def bounded_waits(table: Table) -> Found:
    """OWN3."""
    waits = [
        (table.mean("wait_ms_max", sched=sched, **point), point)
        for sched in (OWN, DEFAULT)
        for point in points(table)
    ]
    worst, point = max(waits, key=lambda wait: wait[0].value)
    what = f"longest wait ({_told(point)})"
    return Found([Check(what, worst, at_most(AGE_LIMIT_MS), "ms")])


def few_reads(table: Table) -> list[Where]:
    """Points with the smallest share of reads and a queue that is long enough."""
    least = min(share for share in table.values("read_share") if share > 0)
    depths = {depth for depth in table.values("depth") if depth >= SMALLEST_DEPTH}
    every = points(table)
    return [of for of in every if of["read_share"] == least and of["depth"] in depths]


def short_tails(table: Table) -> Found:
    """OWN4."""
    checks = []
    ours, other = {"sched": DEFAULT}, {"sched": EW}
    for point in few_reads(table):
        columns = (READ_P99, {**ours, **point}), (READ_P99, {**other, **point})
        if any(None in table.by_seed(key, **where).values() for key, where in columns):
            checks.append(missing(f"too few reads for a p99 ({_told(point)})"))
            continue
        tails = table.each(lambda mine, theirs: mine / theirs, *columns)
        what = f"p99 of reads ({_told(point)})"
        checks.append(Check(what, tails, at_most(LONGEST_OF_READS), "times"))
        served = table.lead(RPS, ours, other, **point)
        checks.append(Check(f"requests served ({_told(point)})", served, at_least(LEAST_SERVED)))
    return Found(checks)


def price_of_tails(table: Table) -> Found:
    """OWN5."""
    every = points(table)
    margins = [
        (table.lead(RPS, {"sched": DEFAULT}, {"sched": _best(table, point)}, **point), point)
        for point in every
    ]
    worst, at = min(margins, key=lambda margin: margin[0].value)
    mean = math.fsum(margin.value for margin, _ in margins) / len(every)
    behind = sum(margin.value < WITHIN for margin, _ in margins)
    told = (
        f"{mean:+.1%} on average, at worst {percent(worst)} ({_told(at)}), more than 1 % below "
        f"at {behind} of {len(every)} points"
    )
    return Found([], told)


def lead_and_dilution(table: Table) -> Found:
    """D16."""
    at = {
        "depth": min(table.values("depth"), key=lambda depth: abs(depth - 64)),
        "read_share": min(table.values("read_share"), key=lambda share: abs(share - 0.5)),
    }
    one, other = {"sched": "freebw_hybrid"}, {"sched": "satf_ew"}
    told = ", ".join(
        f"{percent(table.lead(RPS, one, other, dilution=dilution, **at))} at {dilution:g}"
        for dilution in table.values("dilution")
    )
    return Found([], f"{told} (depth {at['depth']:g}, read share {at['read_share']:g})")


GRID = "queues of 2 to 128, read shares of 0 to 1, dilutions of 1.25 to 4"
_statement = partial(Statement, kind=Kind.OWN, published="not published", range=GRID, turns=False)

STATEMENTS = [
    _statement(
        id="OWN1",
        statement="GAP-SATF, its runs of writes not limited, is ahead of the best published "
        "scheduler on average",
        judge=ahead,
        note="its constants were chosen on this grid",
    ),
    _statement(
        id="OWN2",
        statement="GAP-SATF, its runs of writes not limited, is nowhere more than 1 % below the "
        "best published scheduler",
        judge=nowhere_behind,
    ),
    _statement(
        id="OWN3",
        statement="No read and no write waits longer than the age limit of GAP-SATF",
        judge=bounded_waits,
        note="as long as serving all that wait takes less than half of the limit",
    ),
    _statement(
        id="OWN4",
        statement="With GAP-SATF as it is by default, few reads among many writes wait far less "
        "than with SATF-EW, and nearly as many requests are served",
        range="5 % reads, queues of 8 to 128, dilutions of 1.25 to 4",
        judge=short_tails,
    ),
    _statement(
        id="OWN5",
        kind=Kind.INFORMATION,
        statement="What the short waits of few reads cost GAP-SATF against the best published "
        "scheduler",
        judge=price_of_tails,
    ),
    Statement(
        id="D16",
        kind=Kind.INFORMATION,
        statement="FreeBW-Hybrid's lead over SATF-EW grows as free space shrinks",
        published="not published; an independent model: 7 % at dilution 1.25, 0 at 3",
        range="a queue of 64, half reads",
        judge=lead_and_dilution,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """The margin at every point: depth over read share, a panel for each overhead and dilution."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    overheads = table.values("overhead_ms")
    dilutions, depths, shares = (table.values(axis) for axis in AXES)
    figure = Figure(figsize=(3 * len(dilutions), 1.9 * len(overheads)), layout="constrained")
    panels = figure.subplots(len(overheads), len(dilutions), squeeze=False)
    for line, overhead in zip(panels, overheads, strict=True):
        rows = table.only(overhead_ms=overhead)
        for panel, dilution in zip(line, dilutions, strict=True):
            values = [
                [
                    100 * margin(rows, dict(zip(AXES, (dilution, depth, share), strict=True))).value
                    for share in shares
                ]
                for depth in depths
            ]
            image = panel.imshow(
                values, origin="lower", cmap="RdBu", vmin=-12, vmax=12, aspect="auto"
            )
            panel.set_title(f"overhead {overhead:g} ms, dilution {dilution:g}", fontsize=8)
            panel.set_xticks(range(len(shares)), [f"{share:g}" for share in shares], fontsize=5)
            panel.set_yticks(range(len(depths)), [f"{depth:g}" for depth in depths], fontsize=6)
    label = "GAP-SATF, runs of writes not limited, above the best published (%)"
    figure.colorbar(image, ax=panels, label=label)
    figure.supxlabel("share of reads")
    figure.supylabel("queue length")
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="ew-own",
    question="Is there a better eager-writing scheduler than the published ones?",
    source="ours; the grid spans figures 4 and 5 of the FAST 2002 study",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
)
