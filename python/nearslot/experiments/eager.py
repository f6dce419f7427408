"""What the experiments of eager writing have in common: one disk under a closed load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..results import Run
from ..running import compare
from ..scenario import Scenario, part
from .frame import Mean, Options

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

# Per-request overheads at which claims are reported: the published order needs about 0.5 ms.
OVERHEADS_MS = (0.0, 0.3, 0.6)

Point = tuple[str, float, int]


def scenario(options: Options, *, overhead_ms: float, dilution: float) -> Scenario:
    """One eagerly written disk, its free slots as a long run leaves them."""
    chosen = options.dilution if options.dilution is not None else dilution
    aging = 1 if options.quick else 2
    return Scenario(
        # The papers' queue of n waits, so the next request comes before the drive chooses.
        workload=part("iometer", refill="before", requests=options.requests),
        drive=f"{options.drive}:model=mechanical:overhead_ms={overhead_ms}",
        place=part("eager", dilution=chosen, aging=aging),
        seed=options.seed,
    )


def overheads(options: Options) -> tuple[float, ...]:
    """The overheads to report claims at."""
    return OVERHEADS_MS if options.overhead_ms is None else (options.overhead_ms,)


def probing(options: Options) -> Options:
    """The same for a look between measured overheads."""
    return replace(options, seeds=1, requests=max(1_000, options.requests // 2))


def crossover_step_ms(options: Options) -> float:
    """How closely to look for a crossover."""
    return 0.1 if options.quick else 0.05


class Sweep:
    """Runs of several schedulers along one axis, for some seeds, at one overhead."""

    def __init__(self, axis: str, overhead_ms: float) -> None:
        """Nothing has run yet."""
        self.axis = axis
        self.overhead_ms = overhead_ms
        self.rows: dict[Point, dict[str, Any]] = {}

    def keep(self, run: Run) -> None:
        """Adds what a run found."""
        point = (
            run.config["sched"]["name"],
            float(run.config["load"][self.axis]),
            int(run.config["seed"]),
        )
        self.rows[point] = {
            "sched": point[0],
            self.axis: point[1],
            "seed": point[2],
            "overhead_ms": self.overhead_ms,
            "throughput_rps": run.throughput_rps,
            "seek_ms": run.seek_ms,
            "rotation_ms": run.rotation_ms,
            "transfer_ms": run.transfer_ms,
            "read_wait_ms_mean": run.read_wait_ms.mean if run.read_wait_ms else None,
            "read_wait_ms_max": run.read_wait_ms.max if run.read_wait_ms else None,
            "write_wait_ms_mean": run.write_wait_ms.mean if run.write_wait_ms else None,
            "write_wait_ms_max": run.write_wait_ms.max if run.write_wait_ms else None,
        }

    def values(self) -> list[float]:
        """The values along the axis."""
        return sorted({value for _, value, _ in self.rows})

    def by_seed(self, sched: str, value: float, key: str = "throughput_rps") -> dict[int, float]:
        """One number of a scheduler at a value, by seed."""
        return {
            seed: row[key]
            for (name, at, seed), row in self.rows.items()
            if name == sched and at == value
        }

    def mean(self, sched: str, value: float, key: str = "throughput_rps") -> Mean:
        """The same over seeds."""
        return Mean.of(list(self.by_seed(sched, value, key).values()))

    def best(self, value: float) -> str:
        """The published scheduler with the highest throughput at a value."""
        return max(PUBLISHED.values(), key=lambda name: self.mean(name, value).value)


def sweeps(
    axis: str,
    options: Options,
    overheads_ms: Sequence[float],
    schedulers: Iterable[str],
    values: Iterable[float],
    *,
    dilution: float = 2.0,
    **fixed: object,
) -> dict[float, Sweep]:
    """Runs schedulers along an axis, a sweep for each overhead; one grid, so that cores are busy.

    Args:
        axis: Knob of the workload that is swept.
        options: What was asked.
        overheads_ms: Overheads of a request.
        schedulers: What is compared.
        values: Along the axis.
        dilution: Slots per block, unless the options say otherwise.
        fixed: Other knobs of the workload.
    """
    if not overheads_ms:
        return {}
    vary: dict[str, Iterable[object]] = {
        "drive.overhead_ms": overheads_ms,
        **{f"workload.{key}": [value] for key, value in fixed.items()},
        "sched": list(schedulers),
        f"workload.{axis}": list(values),
        "seed": options.all_seeds,
    }
    base = scenario(options, overhead_ms=overheads_ms[0], dilution=dilution)
    found = {overhead: Sweep(axis, overhead) for overhead in overheads_ms}
    for run in compare(base, vary=vary, series=False).runs:
        found[float(run.config["drive"]["overhead_ms"])].keep(run)
    return found
