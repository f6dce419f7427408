"""What the experiments of eager writing have in common: one disk under a closed load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from ...running import run
from ...runs import Run
from ...scenario import Scenario, part
from ..table import Cell, Table, simulated
from ..verdict import Mean
from .options import Options

SOURCE = (
    "Zhang, Yu, Krishnamurthy and Wang, Configuring and Scheduling an Eager-Writing Disk Array "
    "for a Transaction Processing Workload, FAST 2002"
)

# Under the names of the paper, in its order.
PUBLISHED = {
    "SATF-EW": "satf_ew",
    "FreeBW-SATF": "freebw_satf",
    "FreeBW-SCAN": "freebw_scan",
    "FreeBW-Hybrid": "freebw_hybrid",
}
NAMES = {
    **{sched: name for name, sched in PUBLISHED.items()},
    "write_first": "write-first",
    "read_first": "read-first",
    "satf": "SATF",
}

RPS = "throughput_rps"


def aging(options: Options, dilution: float) -> float:
    """How often the volume is overwritten before a run: twice, or as often as a whole sweep does.

    A sweep up and down writes each free slot about twice, and there are `dilution - 1` free slots
    for each block of the volume.
    """
    return 1.0 if options.quick else max(2.0, 2 * (dilution - 1))


def drive(options: Options, overhead_ms: float) -> str:
    """The drive, with this overhead of a request."""
    return f"{options.drive}:model=mechanical:overhead_ms={overhead_ms}"


def scenario(
    options: Options,
    *,
    overhead_ms: float,
    dilution: float,
    sched: str,
    load: str = "iometer",
    **knobs: Any,  # noqa: ANN401 (knobs of a workload)
) -> Scenario:
    """One eagerly written disk, its free slots as a long run leaves them."""
    chosen = options.dilution if options.dilution is not None else dilution
    # In the papers n requests wait, so the next one arrives before the drive chooses.
    closed = {"refill": "before"} if load == "iometer" else {}
    return Scenario(
        workload=part(load, **{"requests": options.requests, **closed, **knobs}),
        drive=drive(options, overhead_ms),
        place=part("eager", dilution=chosen, aging=aging(options, chosen)),
        sched=sched,
        seed=options.seed,
    )


def setup(told: str) -> Callable[[Options], str]:
    """What all runs of a figure have in common, in words; the published dilution is 2."""

    def of(options: Options) -> str:
        return f"{told}, dilution {2.0 if options.dilution is None else options.dilution:g}"

    return of


def numbers(run: Run) -> dict[str, Any]:
    """The numbers of a run that claims about one disk use."""
    found: dict[str, Any] = {
        RPS: run.throughput_rps,
        "service_overhead_ms": run.overhead_ms,
        "seek_ms": run.seek_ms,
        "rotation_ms": run.rotation_ms,
        "transfer_ms": run.transfer_ms,
        "response_ms": run.response_ms.mean,
        "wait_ms_max": run.wait_ms.max,
    }
    for op, times in (("read", run.read_wait_ms), ("write", run.write_wait_ms)):
        found[f"{op}_wait_ms_mean"] = times.mean if times else None
        found[f"{op}_wait_ms_max"] = times.max if times else None
    reads = run.read_response_ms
    found["read_response_ms_p99"] = reads.p99 if reads else None
    gaps = run.series.stretch.gaps if run.series and run.series.stretch else None
    if gaps is not None:
        found["gap_writes"] = gaps.writes_mean
        found["gap_seek_share"] = gaps.seek_ms_mean / gaps.ms_mean
        found["gap_seek_ms"] = gaps.seek_ms_mean
        found["gap_rotation_ms"] = gaps.rotation_ms_mean
    return found


def sweeps(
    options: Options,
    schedulers: Iterable[str],
    loads: Iterable[Mapping[str, Any]],
    *,
    dilution: float = 2.0,
    series: bool = False,
    overheads_ms: Iterable[float] | None = None,
    **marks: object,
) -> list[Cell]:
    """Points of schedulers under loads, at every overhead; `marks` tell them from others."""
    cells = []
    for overhead_ms in options.overheads if overheads_ms is None else overheads_ms:
        for load in loads:
            for sched in schedulers:
                base = scenario(
                    options, overhead_ms=overhead_ms, dilution=dilution, sched=sched, **load
                )
                of = {
                    "overhead_ms": overhead_ms,
                    "dilution": dilution,
                    "sched": sched,
                    **load,
                    **marks,
                }
                cells.append(simulated(of, base, numbers, series=series))
    return cells


def leader(table: Table, **at: object) -> tuple[list[str], Mean]:
    """The schedulers with the highest throughput at a point, and that throughput.

    Schedulers whose lead over the others lies within its interval count as equal.
    """
    means = {name: table.mean(RPS, sched=name, **at) for name in PUBLISHED.values()}
    best = max(means, key=lambda name: means[name].value)
    level = [best]
    for name in PUBLISHED.values():
        if name != best:
            apart = table.lead(RPS, {"sched": best}, {"sched": name}, **at)
            if apart.ci is None or apart.value <= apart.ci:
                level.append(name)
    return level, means[best]


def leaders(table: Table, axis: str, values: Iterable[float], **at: object) -> str:
    """Who leads at some values along an axis, in words."""
    told = []
    for value in values:
        level, _ = leader(table, **{axis: value}, **at)
        told.append(f"{' and '.join(NAMES[name] for name in level)} at {value:g}")
    return "the highest throughput has " + ", ".join(told) if told else ""


@cache
def free_slots(drive: str, place: str) -> int:
    """How many slots of a drive are free for eager writes."""
    import pyarrow

    asked = Scenario(
        workload=part("iometer", requests=1_000, depth=1, read_share=1.0),
        drive=drive,
        place=place,
        sched="satf_ew",
        warmup=0,
    )
    found = run(asked, series=False, commands=True)
    return int(pyarrow.table(found.commands).column("free_slots")[0].as_py())


def whole_sweep(options: Options, dilution: float) -> int:
    """Writes that take the arm over all cylinders and back: about twice the number of free slots.

    Free slots are rarer behind the arm than ahead of it, so the mean over a part of a sweep differs
    from that over the whole.
    """
    if options.quick:
        return options.requests
    place = part("eager", dilution=dilution)
    free = free_slots(drive(options, 0.0), place)
    return max(options.requests, math.ceil(2 * free / 1_000) * 1_000)
