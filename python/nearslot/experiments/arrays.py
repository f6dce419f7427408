"""What experiments of arrays have in common: the same data on each, rows by array and load."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..running import compare
from ..scenario import Scenario, part
from .eager import SOURCE
from .frame import Mean, Options

__all__ = ["SOURCE", "Array", "Grid", "Loads", "distorted", "ew", "mirror", "sr", "stripe"]

Loads = Mapping[str, Sequence[float]]
"""Knobs of a workload and the values that each takes in turn."""

OVERHEAD_MS = 0.0
"""Per-request overhead where nothing is said: these figures are about positions."""


@dataclass(frozen=True)
class Array:
    """A way to spend drives on one drive's worth of data.

    Attributes:
        label: As the paper writes it.
        place: The placement.
        sched: What each drive's queue is served by.
        span: Share of the volume that holds the data.
        drives: How many it takes.
    """

    label: str
    place: str
    sched: str
    span: float
    drives: int


def stripe(disks: int) -> Array:
    """Data striped over drives, each of which is mostly empty."""
    return Array(f"{disks}-way stripe", part("stripe", disks=disks), "satf", 1 / disks, disks)


def mirror(disks: int, *, copies: int = 2, foreground: int = 1, buffer: int = 10_000) -> Array:
    """Striped mirrors (RAID-10)."""
    knobs = {"disks": disks, "copies": copies, "foreground": foreground, "buffer_granules": buffer}
    label = f"RAID-10 {disks}" if copies == 2 else f"{copies} copies on {disks}"
    return Array(
        label + _synchronous(foreground), part("mirror", **knobs), "satf", copies / disks, disks
    )


def sr(ds: float, dr: int, *, foreground: int = 1, buffer: int = 10_000) -> Array:
    """Striping and rotational replicas (SR-Array)."""
    knobs: dict[str, float] = {
        "ds": ds,
        "dr": dr,
        "foreground": foreground,
        "buffer_granules": buffer,
    }
    label = f"SR {ds:g}x{dr}" + _synchronous(foreground)
    return Array(label, part("sr_array", **knobs), "satf", 1.0, round(ds * dr))


def ew(
    dm: int, ds: float, dd: float, *, foreground: int = 1, buffer: int = 10_000, aging: float = 1
) -> Array:
    """An eager-writing array, Dm x Ds x Dd."""
    knobs: dict[str, float] = {
        "dm": dm,
        "ds": ds,
        "dd": dd,
        "foreground": foreground,
        "buffer_granules": buffer,
        "aging": aging,
    }
    label = f"EW {dm}x{ds:g}x{dd:g}" + _synchronous(foreground)
    return Array(label, part("ew_array", **knobs), "satf_ew", 1.0, round(dm * ds * dd))


def distorted(ds: float, dd: float, *, foreground: int = 2, buffer: int = 10_000) -> Array:
    """Doubly distorted mirrors."""
    knobs: dict[str, float] = {
        "ds": ds,
        "dd": dd,
        "foreground": foreground,
        "buffer_granules": buffer,
    }
    label = "DDM" + _synchronous(foreground)
    return Array(label, part("distorted_mirror", **knobs), "satf_ew", 1.0, round(2 * ds * dd))


def _synchronous(foreground: int) -> str:
    return "" if foreground == 1 else f", {foreground} synchronous"


def drive(options: Options) -> str:
    """The drive as every array experiment models it."""
    overhead = OVERHEAD_MS if options.overhead_ms is None else options.overhead_ms
    return f"{options.drive}:model=mechanical:overhead_ms={overhead}"


class Grid:
    """Rows of several arrays under several loads, for some seeds."""

    def __init__(self) -> None:
        """Nothing has run yet."""
        self.rows: list[dict[str, Any]] = []

    def run(
        self,
        options: Options,
        arrays: Iterable[Array],
        workload: str,
        loads: Loads,
        *,
        warmup: str = "auto",
        **marks: object,
    ) -> None:
        """Runs every array under every combination of a workload's knobs.

        `marks` are put into each row.

        The data of an array fill `span` of its volume, so that all hold the same.
        """
        keys = list(loads)
        for array in arrays:
            base = Scenario(
                workload=f"{workload}:requests={options.requests}:span={array.span}",
                drive=str(marks.get("drive", drive(options))),
                place=array.place,
                sched=array.sched,
                warmup=warmup,
                seed=options.seed,
            )
            vary: dict[str, Iterable[object]] = {f"workload.{key}": loads[key] for key in keys}
            results = compare(base, vary={**vary, "seed": options.all_seeds}, series=False)
            points = itertools.product(*loads.values(), options.all_seeds)
            for point, run in zip(points, results.runs, strict=True):
                self.rows.append(
                    {
                        **marks,
                        "array": array.label,
                        "drives": array.drives,
                        **dict(zip([*keys, "seed"], point, strict=True)),
                        **_numbers(run),
                    }
                )

    def by_seed(self, key: str, **at: object) -> dict[int, float]:
        """One number at a point, by seed."""
        chosen = [
            row for row in self.rows if all(row.get(name) == value for name, value in at.items())
        ]
        return {row["seed"]: row[key] for row in chosen}

    def mean(self, key: str, **at: object) -> Mean:
        """The same over seeds."""
        return Mean.of(list(self.by_seed(key, **at).values()))


def _numbers(run: Any) -> dict[str, Any]:  # noqa: ANN401 (an outcome's run)
    reads, writes = run.read_response_ms, run.write_response_ms
    return {
        "throughput_rps": run.throughput_rps,
        "response_ms": run.response_ms.mean,
        "p99_ms": run.response_ms.p99,
        "read_response_ms": reads.mean if reads else None,
        "write_response_ms": writes.mean if writes else None,
        "seek_ms": run.seek_ms,
        "rotation_ms": run.rotation_ms,
        "transfer_ms": run.transfer_ms,
        "utilisation": run.utilisation,
    }
