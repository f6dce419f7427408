"""Figures 8 and 9: two arrays of six drives, over the share of writes and over the queue."""

from __future__ import annotations

from itertools import pairwise

from ..figures import curves
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, above, below, missing, percent, within
from . import arrays
from .arrays import MS, RPS, ew
from .options import Options

READ_SHARES = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
QUEUES = (1, 2, 4, 8, 16, 32)
# While the buffer of delayed copies fills, copies cost nothing: that part is not measured.
FILLED = "50%"
ONE, TWO, MORE = ew(1, 3, 2), ew(2, 1.5, 2), ew(2, 1, 3)


def similar(table: Table) -> Found:
    """E5."""
    one, two = {"array": ONE.label}, {"array": TWO.label}
    return Found(
        [
            Check(
                f"2x1.5x2 against 1x3x2 at {share:.0%} reads",
                table.lead(MS, two, one, read_share=share),
                within(-0.15, 0.15),
            )
            for share in table.values("read_share")
        ]
    )


def falls(table: Table) -> Found:
    """E6."""
    shares = table.values("read_share")
    checks, told = [], []
    for array in (ONE, TWO):
        of = {"array": array.label}
        for less, more in pairwise(shares):
            change = table.lead(MS, {"read_share": less}, {"read_share": more}, **of)
            what = f"{array.label} at {less:.0%} reads against {more:.0%}"
            checks.append(Check(what, change, below(0.0)))
        means = (table.mean(MS, read_share=share, **of).value for share in shares)
        told.append(f"{array.label} {' '.join(f'{value:.2f}' for value in means)}")
    at = ", ".join(f"{share:.0%}" for share in shares)
    return Found(checks, f"{'; '.join(told)} ms at {at} reads")


def emulated(table: Table) -> Found:
    """E8."""
    return Found([missing("the engine does not serve real volumes so far")])


def overtakes(table: Table) -> Found:
    """E7: whether the array without copies gains on the others."""
    queues = table.values("queue")
    checks, told = [], []
    for other in (TWO, MORE):
        leads = {
            queue: table.lead(RPS, {"array": ONE.label}, {"array": other.label}, queue=queue)
            for queue in queues
        }
        columns = (
            (RPS, {"array": label, "queue": queue})
            for queue in (queues[-1], queues[0])
            for label in (ONE.label, other.label)
        )
        gain = table.each(lambda a, b, c, d: a / b - c / d, *columns)
        what = f"1x3x2 against {other.label}"
        checks.append(Check(f"{what} at {queues[-1]}", leads[queues[-1]], above(0.0)))
        checks.append(Check(f"what {what} gains from {queues[0]} on", gain, above(0.0)))
        told.append(f"against {other.label} {' '.join(map(percent, leads.values()))}")
    at = " ".join(map(str, queues))
    return Found(checks, f"throughput of 1x3x2 {'; '.join(told)} at {at} requests per drive")


MIX_STATEMENTS = [
    Statement(
        id="E5",
        kind=Kind.ORDER,
        statement="Six drives, dilution 2, queue of one: 1x3x2 and 2x1.5x2 have similar response "
        "times",
        published='"similar"',
        range="no to all reads, one request at a time; similar: within 15 % at each share",
        judge=similar,
        note="where nearly all are writes, 15 % is less than a tenth of a millisecond",
    ),
    Statement(
        id="E6",
        kind=Kind.ORDER,
        statement="Response time falls as the share of writes rises",
        published="no number (figure 8)",
        range="no to all reads, one request at a time, both arrays, from each share to the next",
        judge=falls,
    ),
    Statement(
        id="E8",
        kind=Kind.NUMBER,
        statement="The simulator matches the prototype closely",
        published="under 3 % of throughput (predecessor)",
        range="nothing",
        judge=emulated,
    ),
]
QUEUE_STATEMENTS = [
    Statement(
        id="E7",
        kind=Kind.ORDER,
        statement="With longer queues the array without copies overtakes, even one with more "
        "dilution",
        published="no number (figure 9)",
        range="1 to 32 requests per drive, half reads, buffers of delayed copies filled before",
        judge=overtakes,
    )
]


def mix_cells(options: Options) -> list[Cell]:
    """One request at a time, over the share of reads."""
    shares = (0.0, 0.5, 1.0) if options.quick else READ_SHARES
    loads = [{"depth": 1, "read_share": share} for share in shares]
    return arrays.cells(options, [ONE, TWO], "iometer", loads)


def queue_cells(options: Options) -> list[Cell]:
    """Half writes, over the queue of each drive."""
    return [
        cell
        for queue in ((1, 8, 32) if options.quick else QUEUES)
        for cell in arrays.cells(
            options,
            [ONE, TWO, MORE],
            "iometer",
            [{"depth": 6 * queue, "read_share": 0.5}],
            warmup=FILLED,
            queue=queue,
        )
    ]


MIX = Experiment(
    name="ew-fig8",
    question="Do copies or striping serve six drives better as the mix changes, without a queue?",
    source=f"{arrays.SOURCE}, figure 8",
    cells=mix_cells,
    statements=MIX_STATEMENTS,
    draw=lambda outcome, path: curves(
        outcome,
        path,
        axis="read_share",
        label="share of reads",
        key=MS,
        unit="mean response (ms)",
        where={},
    ),
)
QUEUE = Experiment(
    name="ew-fig9",
    question="Do copies or striping serve six drives better as queues grow?",
    source=f"{arrays.SOURCE}, figure 9",
    cells=queue_cells,
    statements=QUEUE_STATEMENTS,
    draw=lambda outcome, path: curves(
        outcome,
        path,
        axis="queue",
        label="requests per drive",
        key=RPS,
        unit="throughput (requests/s)",
        where={},
        logarithmic=True,
    ),
)
