"""What experiments of arrays have in common: the same data on each, rows by array and load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...runs import Run
from ...scenario import Scenario, part
from ..table import Cell, simulated
from . import disk
from .disk import SOURCE
from .options import Options

__all__ = ["SOURCE", "Array", "cells", "distorted", "ew", "mirror", "scenario", "sr", "stripe"]

MS = "response_ms"
RPS = disk.RPS


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
    knobs = {"disks": disks, "copies": copies, "foreground": foreground, "buffer_chunks": buffer}
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
        "buffer_chunks": buffer,
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
        "buffer_chunks": buffer,
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
        "buffer_chunks": buffer,
    }
    label = "DDM" + _synchronous(foreground)
    return Array(label, part("distorted_mirror", **knobs), "satf_ew", 1.0, round(2 * ds * dd))


def _synchronous(foreground: int) -> str:
    return "" if foreground == 1 else f", {foreground} synchronous"


def scenario(
    options: Options,
    array: Array,
    workload: str,
    load: Mapping[str, float],
    *,
    drive: str,
    warmup: str = "auto",
    requests: int | None = None,
) -> Scenario:
    """An array under a load; its data fill the share `span` of its volume, so all hold the same."""
    knobs: dict[str, Any] = {"requests": requests or options.requests, "span": array.span, **load}
    if workload == "iometer":
        # In the papers n requests wait, so the next one arrives before the drive chooses.
        knobs["refill"] = "before"
    return Scenario(
        workload=part(workload, **knobs),
        drive=drive,
        place=array.place,
        sched=array.sched,
        warmup=warmup,
        seed=options.seed,
    )


def cells(
    options: Options,
    arrays: Iterable[Array],
    workload: str,
    loads: Iterable[Mapping[str, float]],
    *,
    warmup: str = "auto",
    **marks: object,
) -> list[Cell]:
    """Every array under every load at every overhead; `marks` tell them from others."""
    many, found = list(loads), []
    for overhead_ms in options.overheads:
        drive = disk.drive(options, overhead_ms)
        for array in arrays:
            for load in many:
                base = scenario(options, array, workload, load, drive=drive, warmup=warmup)
                of = {"overhead_ms": overhead_ms, "array": array.label, **load, **marks}
                found.append(simulated(of, base, numbers))
    return found


def numbers(run: Run) -> dict[str, Any]:
    """The numbers of a run that claims about arrays use."""
    reads, writes = run.read_response_ms, run.write_response_ms
    return {
        RPS: run.throughput_rps,
        MS: run.response_ms.mean,
        "p99_ms": run.response_ms.p99,
        "read_response_ms": reads.mean if reads else None,
        "write_response_ms": writes.mean if writes else None,
        "seek_ms": run.seek_ms,
        "rotation_ms": run.rotation_ms,
        "transfer_ms": run.transfer_ms,
        "service_overhead_ms": run.overhead_ms,
        "utilisation": run.utilisation,
    }
