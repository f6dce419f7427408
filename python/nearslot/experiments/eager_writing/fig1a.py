"""Figure 1a: what a random write costs as dilution grows, one disk, no queue.

Each run begins where aging ended and writes a whole sweep, up and down: free slots are rarer behind
the arm than ahead of it, so the mean over a part of a sweep differs from that over the whole.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

from ...scenario import Scenario, part
from ..figures import stacked
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table, simulated
from ..verdict import Check, Gate, Kind, Mean, Where, at_least, at_most, below
from . import disk
from .disk import numbers, scenario
from .options import Options

DILUTIONS = (1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0)
IN_PLACE = 0.0
"""In place of a dilution."""
PARTS = ("seek_ms", "rotation_ms")

# Milliseconds of positioning in the independent model's steady state, without overhead.
MODEL = {1.05: 1.20, 1.1: 0.95, 1.25: 0.54, 1.5: 0.27, 2.0: 0.18, 3.0: 0.12, 4.0: 0.09}


def cells(options: Options) -> list[Cell]:
    """Every dilution, and writing in place."""
    dilutions = DILUTIONS if options.dilution is None else (options.dilution,)
    found = []
    for overhead_ms in options.overheads:
        for dilution in dilutions:
            writes = disk.whole_sweep(options, dilution)
            one = scenario(
                options,
                overhead_ms=overhead_ms,
                dilution=dilution,
                sched="satf_ew",
                requests=writes,
                depth=1,
                read_share=0,
            )
            marks = {"overhead_ms": overhead_ms, "dilution": dilution}
            found.append(simulated(marks, one.replace(warmup=0), numbers))
        load = part("iometer", requests=options.requests, depth=1, read_share=0)
        drive = disk.drive(options, overhead_ms)
        there = Scenario(workload=load, drive=drive, sched="fcfs", seed=options.seed)
        marks = {"overhead_ms": overhead_ms, "dilution": IN_PLACE}
        found.append(simulated(marks, there, numbers))
    return found


def _at(dilution: float) -> Where:
    return {"dilution": dilution}


def dilutions(table: Table) -> list[float]:
    """The dilutions of the grid."""
    return [value for value in table.values("dilution") if value != IN_PLACE]


def positioning(table: Table, dilution: float) -> Mean:
    """Seek and rotation of a write."""
    return table.each(lambda seek, turn: seek + turn, *((key, _at(dilution)) for key in PARTS))


def falls(table: Table) -> Found:
    """C1."""
    checks, told = [], []
    for key in PARTS:
        name = key.removesuffix("_ms")
        for less, more in pairwise(dilutions(table)):
            change = table.lead(key, _at(more), _at(less))
            checks.append(Check(f"{name} from dilution {less:g} to {more:g}", change, below(0.0)))
        means = (table.mean(key, **_at(dilution)).value for dilution in dilutions(table))
        told.append(f"{name} {' '.join(f'{value:.3f}' for value in means)}")
    at = " ".join(f"{dilution:g}" for dilution in dilutions(table))
    return Found(checks, f"{'; '.join(told)} ms at dilutions {at}")


def diminishing(table: Table) -> Found:
    """C2."""
    if not {1.1, 2.0, 4.0} <= set(dilutions(table)):
        return Found([])
    columns = [(key, _at(dilution)) for dilution in (1.1, 2.0, 4.0) for key in PARTS]
    late = table.each(lambda a, b, c, d, e, f: (c + d - e - f) / (a + b - c - d), *columns)
    own = [("service_overhead_ms", _at(2.0)), ("transfer_ms", _at(2.0))]
    share = table.each(
        lambda overhead, transfer, seek, turn: (seek + turn) / (overhead + transfer),
        *own,
        *((key, _at(2.0)) for key in PARTS),
    )
    return Found(
        [
            Check("gain from dilution 2 to 4 to that from 1.1 to 2", late, at_most(0.25), "times"),
            Check("positioning to overhead at dilution 2", share, below(1.0), "times"),
        ]
    )


def in_place(table: Table) -> Found:
    """C6."""
    if 2.0 not in dilutions(table):
        return Found([])
    columns = [(key, _at(dilution)) for dilution in (IN_PLACE, 2.0) for key in PARTS]
    times = table.each(lambda a, b, c, d: (a + b) / (c + d), *columns)
    told = f"{positioning(table, 2.0).value:.3f} ms at dilution 2, "
    told += f"{positioning(table, IN_PLACE).value:.2f} ms in place"
    return Found([Check("in place to eager", times, at_least(5.0), "times")], told)


def model(table: Table) -> Found:
    """M1."""
    told = []
    for dilution in dilutions(table):
        if dilution in MODEL:
            found = positioning(table, dilution)
            off = found.value / MODEL[dilution] - 1
            told.append(f"{dilution:g}: {found.value:.3f} ({off:+.0%})")
    return Found([], ", ".join(told))


def shape(table: Table) -> Found:
    """M1s: how steeply it falls, part by part, beside the model."""
    checks = []
    known = [dilution for dilution in dilutions(table) if dilution in MODEL]
    for less, more in pairwise(known):
        columns = [(key, _at(dilution)) for dilution in (less, more) for key in PARTS]
        expected = MODEL[more] / MODEL[less]
        found = table.each(
            lambda a, b, c, d, expected=expected: (c + d) / (a + b) / expected - 1, *columns
        )
        what = f"fall from {less:g} to {more:g}, against the model's {1 - expected:.0%}"
        checks.append(Check(what, found, Gate(-0.25, 0.25)))
    return Found(checks)


_statement = partial(Statement, kind=Kind.ORDER, published="no number (figure 1a)")
SETUP = "one write at a time, a whole sweep"

STATEMENTS = [
    _statement(
        id="C1",
        statement="Seek and rotation of an eager write both fall as dilution rises",
        range=f"dilutions of 1.05 to 4, {SETUP}",
        judge=falls,
    ),
    _statement(
        id="C2",
        statement="Diminishing return: overhead dominates at large dilutions",
        range=f"dilutions of 1.1, 2 and 4, {SETUP}",
        judge=diminishing,
        note="overhead as the paper counts it: processing and transfer",
    ),
    _statement(
        id="C6",
        statement="An eager write is far cheaper than an update in place",
        published="no number (figure 1a); an independent model gives 0.18 ms against about 9 ms",
        range=f"dilution 2, {SETUP}; far cheaper: positioning a fifth at most",
        judge=in_place,
    ),
    Statement(
        id="M1",
        kind=Kind.INFORMATION,
        statement="Positioning of an eager write is that of an independent model",
        published="1.20 0.95 0.54 0.27 0.18 0.12 0.09 ms at 1.05 1.1 1.25 1.5 2 3 4",
        range=SETUP,
        judge=model,
        note="the model has one zone of 26 slots a track, no skew, no overhead; here tracks have "
        "20 to 31 slots in eleven zones and are skewed",
    ),
    Statement(
        id="M1s",
        kind=Kind.OWN,
        statement="Positioning falls with dilution as steeply as in an independent model",
        published="not published; the model has no overhead",
        range=f"each step from 1.05 to 4, {SETUP}; within a quarter of the model's ratio",
        judge=shape,
        turns=False,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Stacked costs over dilution, as in the paper."""
    stacked(
        outcome,
        path,
        axis="dilution",
        label="dilution factor (0: in place)",
        keys={
            "service_overhead_ms": "overhead",
            "transfer_ms": "transfer",
            "seek_ms": "seek",
            "rotation_ms": "rotation",
        },
        where={},
    )


EXPERIMENT = Experiment(
    name="ew-fig1a",
    question="What does a random 4-KB write cost as dilution grows?",
    source=f"{disk.SOURCE}, figure 1a",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    needs=("pyarrow",),
)
