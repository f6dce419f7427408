"""What a request costs in time of processors: told of these runs, and decided by none of them.

The claims are nanoseconds of a kernel on machines of 2011 to 2025. What a run can tell is how long
its simulation took, scheduler, processes and drive together; the difference to `none`, where
nothing else differs, is the scheduler. It is as noisy as the machine is busy, so it is told and not
decided. `cargo bench -p nearslot-core --bench streams` times the scheduler alone.
"""

from __future__ import annotations

import math

from ...runs import Run
from ...scenario import Scenario
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table, simulated
from ..verdict import Kind
from .options import Options
from .setup import BFQ, NONE, SCHEDULERS

DRIVE = "null"
"""A drive that only takes its time, 100 us a request: as the kernel's null block device."""
PROCESSES = (10, 1000)
SECONDS = 20.0
LOOKED_AT = tuple(name for name in SCHEDULERS if name != "cfq")


def _cost(run: Run) -> Row:
    return {"ns": run.simulated_in_s * 1e9 / run.requests}


def cells(options: Options) -> list[Cell]:
    """Processes that read past the page cache, one request after the other."""
    found = []
    for count in PROCESSES:
        reader = {
            "name": "reader",
            "count": count,
            "file": "16MiB",
            "steps": [{"read": "4KiB", "direct": True}],
        }
        workload = {
            "name": "host",
            "process": [reader],
            "seconds": SECONDS,
            "memory": options.memory,
        }
        for sched in LOOKED_AT:
            # Without a pool, so that none waits before the scheduler.
            word = SCHEDULERS[sched].partition(":")[0]
            one = Scenario(workload=workload, drive=DRIVE, sched=word)
            found.append(simulated({"processes": count, "sched": sched}, one, _cost))
    return found


def _least(table: Table, processes: int, sched: str) -> float:
    """The least of all seeds: whatever else the machine does only makes it more."""
    found = table.by_seed("ns", processes=processes, sched=sched)
    return float(min(found.values()))


def _beyond_none(table: Table, processes: int, sched: str) -> float:
    return _least(table, processes, sched) - _least(table, processes, NONE)


def each_request(table: Table) -> Found:
    """E1."""
    pieces = []
    for count in PROCESSES:
        of = (
            f"{sched} {_beyond_none(table, count, sched):.0f}"
            for sched in LOOKED_AT
            if sched != NONE
        )
        pieces.append(f"{count} processes: {', '.join(of)}")
    return Found([], f"ns a request beyond none: {'; '.join(pieces)}")


def rates(table: Table) -> Found:
    """E2 and E3."""
    pieces = []
    for count in PROCESSES:
        of = (f"{sched} {1e6 / _least(table, count, sched):.0f}" for sched in LOOKED_AT)
        pieces.append(f"{count} processes: {', '.join(of)}")
    return Found([], f"thousands of simulated requests a second and core: {'; '.join(pieces)}")


def one_lock(table: Table) -> Found:
    """E4 to E7."""
    ratio = _least(table, PROCESSES[0], BFQ) / _least(table, PROCESSES[0], NONE)
    return Found([], f"one core and no lock: not testable; there bfq takes {ratio:.2g} times none")


def grows(table: Table) -> Found:
    """E8."""
    few, many = PROCESSES
    ratio = _beyond_none(table, many, BFQ) / _beyond_none(table, few, BFQ)
    logarithm = math.log(many) / math.log(few)
    return Found(
        [], f"{many} processes to {few}: {ratio:.2g} times; the logarithm, {logarithm:.2g} times"
    )


_RANGE = f"readers past the page cache over a drive that takes 100 us; {SECONDS:g} s"

STATEMENTS = [
    Statement(
        id="E1",
        kind=Kind.INFORMATION,
        statement="What a scheduler takes for a request",
        published="bfq 1.9 us, mq-deadline 0.7 us (manual)",
        range=_RANGE,
        judge=each_request,
    ),
    Statement(
        id="E2",
        kind=Kind.INFORMATION,
        statement="How many requests a second can be sustained (E3: with statistics)",
        published="400, 250, 80 thousand; 310, 200, 56 with statistics (manual)",
        range=_RANGE,
        judge=rates,
    ),
    Statement(
        id="E4",
        kind=Kind.INFORMATION,
        statement="What one lock for all cores costs (E5 to E7: null_blk and NVMe, 128 cores)",
        published="500 thousand of 1 million; 153 and 256 thousand; 142 and 258 thousand",
        range=_RANGE,
        judge=one_lock,
    ),
    Statement(
        id="E8",
        kind=Kind.INFORMATION,
        statement="Selection grows with the logarithm of queues",
        published="O(log n) (manual)",
        range=_RANGE,
        judge=grows,
    ),
]

EXPERIMENT = Experiment(
    name="bfq-costs",
    question="What does a request cost in time of processors?",
    source="Linux manual of BFQ; LKML 2025, batched dispatch",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"memory"}),
)
