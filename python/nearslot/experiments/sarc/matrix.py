"""The matrix on which caches are judged by response time: loads, sizes and stacks, in two halves.

It was written down before the policy that it judges (docs/design/0024). A point belongs to one half
or the other by the hash of its name, so nobody chose which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...scenario import Scenario, part
from ..checkout import POSTGRES, TPCC
from . import mixes
from .options import Options
from .setup import DRIVE_BYTES, MIB

SIZES = ("1%", "3%", "10%", "30%")
# Of loads that have no end, whose footprint nobody knows: shares of the volume.
VOLUME_SHARES = (0.01, 0.05, 0.2)
MODERN = ("s3_fifo", "sieve", "w_tinylfu", "arc", "lirs", "car", "two_q", "slru", "clock")
PAPER = "sarc"
OTHERS = ("lru", PAPER, *MODERN)

# Groups that fit the smallest caches.
PREFETCH = {"sarc": "sarc:degree=8", "none": "none"}


@dataclass(frozen=True)
class Stack:
    """Drives, and what is in front of them.

    Attributes:
        name: How points name it.
        settings: Of the scenario.
        depths: Requests in flight in closed replays.
        rate_rps: What comes in open replays of mixes: about half of what it can do without a cache.
        slower: By how much the arrivals of the recorded trace are stretched.
        bsu: Units of the SPC-1-like load.
        volume: Bytes of its volume.
    """

    name: str
    settings: dict[str, str]
    depths: tuple[int, ...]
    rate_rps: float
    slower: float
    bsu: tuple[int, ...]
    volume: int


DISK = Stack("disk", {}, (1, 8), 80.0, 40.0, (1, 2), 800 * MIB)
RAID = Stack(
    "raid5",
    {"place": "raid5:disks=5:strip_kib=32", "buffer": "lrw:size=4MiB"},
    (16,),
    200.0,
    40.0,
    (3, 6),
    1600 * MIB,
)


@dataclass(frozen=True)
class Point:
    """One load on one stack with caches of one size.

    Attributes:
        load: The name of the load.
        name: The name of the point, whose hash says to which half it belongs.
        size: Of each cache, as a setting.
        settings: Of the scenario, but for the cache.
        mix: The synthetic mix that it replays, if it does.
        trace: The recorded trace that it replays, if it does.
    """

    load: str
    name: str
    size: str
    settings: dict[str, Any] = field(hash=False)
    mix: str | None = None
    trace: Path | None = None

    @property
    def half(self) -> str:
        """Which half of the matrix it belongs to."""
        return HALVES[hashlib.sha256(self.name.encode()).digest()[0] % 2]

    def scenario(self, seed: int, requests: int, cache: str) -> Scenario:
        """What is run, with this cache."""
        settings = {**self.settings, "seed": seed}
        if "workload" in settings:
            settings["workload"] += f":requests={2 * requests}"
        else:
            settings["trace"] = mixes.made(self.mix, seed, requests) if self.mix else self.trace
        return Scenario(**settings, cache=f"{cache}:size={self.size}")


HALVES = ("tuning", "held-back")


def points(drive: str, traces: str) -> list[Point]:
    """The whole matrix; of the folder of traces, those that are there.

    `spc1`, whose span is a share of the drive, is of the study's drive alone.
    """
    every = [point for mix in mixes.NAMES for point in _of_mix(drive, mix)]
    every += _of_traces(drive, Path(traces) if traces else None)
    every += _of_spc1(drive) if drive == Options.drive else []
    names = [point.name for point in every]
    assert len(set(names)) == len(names), "a name for each point"
    return every


def _stacks(drive: str) -> Iterator[tuple[Stack, dict[str, Any]]]:
    for stack in (DISK, RAID):
        yield stack, {"drive": drive, "sched": "look", "warmup": "30%", **stack.settings}


def _of_mix(drive: str, mix: str) -> Iterator[Point]:
    for stack, base in _stacks(drive):
        loads: list[tuple[str, str, dict[str, Any]]] = [
            (f"depth={depth}", "sarc", {"replay": "closed", "depth": depth})
            for depth in stack.depths
        ]
        speed = stack.rate_rps / mixes.RATE_RPS
        loads.append(("open", "sarc", {"replay": "open", "speed": speed}))
        if stack is DISK:
            deepest = {"replay": "closed", "depth": stack.depths[-1]}
            loads.append((f"depth={stack.depths[-1]}", "none", deepest))
        for size in SIZES:
            for told, prefetch, load in loads:
                name = f"{mix} {stack.name} {told} prefetch={prefetch} {size}"
                settings = {**base, **load, "prefetch": PREFETCH[prefetch]}
                yield Point(mix, name, size, settings, mix=mix)


def _recorded(folder: Path | None) -> dict[str, Path | None]:
    """The recorded traces: of a virtual machine, of TPC-C, of a database beside a build."""
    return {
        "vm": folder / "cloudphysics_vm_2h.csv" if folder else None,
        "tpcc": TPCC,
        "postgres": POSTGRES,
    }


def left_out(drive: str, traces: str) -> str:
    """Loads of the matrix that cannot be run here, and why, in words; empty if all can."""
    files = _recorded(Path(traces) if traces else None)
    missing = [name for name, file in files.items() if file is None or not file.exists()]
    told = []
    if missing:
        told.append(
            f"without the points of {', '.join(missing)}, whose recorded traces are not here: "
            "vm is in the folder of --traces, the others are in a checkout of the sources"
        )
    if drive != Options.drive:
        told.append(f"without those of spc1, whose volumes are shares of a {Options.drive}")
    return "; ".join(told)


def _of_traces(drive: str, folder: Path | None) -> Iterator[Point]:
    """Points of the recorded traces that are there."""
    of = {
        "vm": ({}, ("sarc", "none"), SIZES, True),
        "tpcc": ({"volumes": "concat", "fit": "scale"}, ("sarc",), SIZES[2:], False),
        "postgres": ({"fit": "wrap"}, ("sarc",), SIZES[::2], False),
    }
    for name, file in _recorded(folder).items():
        if file is None or not file.exists():
            continue
        fit, prefetchers, sizes, is_open = of[name]
        for stack, base in _stacks(drive):
            loads: list[tuple[str, dict[str, Any]]] = [
                (f"depth={depth}", {"replay": "closed", "depth": depth}) for depth in stack.depths
            ]
            if is_open:
                loads.append(("open", {"replay": "open", "speed": 1 / stack.slower}))
            for size in sizes:
                for told, load in loads:
                    for prefetch in prefetchers:
                        full = f"{name} {stack.name} {told} prefetch={prefetch} {size}"
                        settings = {**base, **fit, **load, "prefetch": PREFETCH[prefetch]}
                        yield Point(name, full, size, settings, trace=file)


def _of_spc1(drive: str) -> Iterator[Point]:
    """The SPC-1-like load, its volume 100, 20 and 5 times the cache."""
    for stack, base in _stacks(drive):
        drives = 4 if stack is RAID else 1
        # The span of the load is a share of the drives.
        span = stack.volume / (DRIVE_BYTES * drives)
        for bsu in stack.bsu:
            for share in VOLUME_SHARES:
                size = f"{int(stack.volume * share) // MIB}MiB"
                for prefetch in ("sarc", "none"):
                    name = f"spc1 {stack.name} bsu={bsu} prefetch={prefetch} {share:g}"
                    load = part("spc1", bsu=bsu, span=round(span, 6))
                    settings = {**base, "workload": load, "prefetch": PREFETCH[prefetch]}
                    yield Point("spc1", name, size, settings)
