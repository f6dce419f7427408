"""What an inspection finds, typed.

Keys carry their units; a *share* is in 0..=1; media requests are reads and writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from .warning import Warning  # noqa: A004 (the engine's word for it)


@dataclass(frozen=True, kw_only=True)
class SpanRead:
    """A part of a trace; seconds count from the first request of the whole trace.

    `to_s` is not part of it; None is the end. `busiest` says that it was found as the window of its
    length with most requests.
    """

    from_s: float
    to_s: float | None
    busiest: bool


@dataclass(frozen=True, kw_only=True)
class TimeStamps:
    """What times there are: which event was stamped, steps in ns, Unix time of the first record."""

    kind: str
    resolution_ns: int
    step_ns: int | None
    epoch_unix_ns: int | None
    spread: str | dict[str, int] | None


@dataclass(frozen=True, kw_only=True)
class Operation:
    """Requests of one operation and the bytes they are about."""

    requests: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Device:
    """One device; `end_bytes` is the first byte behind the highest one touched."""

    name: str
    requests: int
    reads: int
    writes: int
    end_bytes: int


@dataclass(frozen=True, kw_only=True)
class Client:
    """Who asked, and how often."""

    name: str
    requests: int


@dataclass(frozen=True, kw_only=True)
class Clients:
    """How many clients the trace names, and the busiest of them."""

    count: int
    busiest: list[Client]


@dataclass(frozen=True, kw_only=True)
class SizeSpread:
    """A distribution of sizes."""

    min_bytes: int
    mean_bytes: float
    p50_bytes: int
    p95_bytes: int
    max_bytes: int


@dataclass(frozen=True, kw_only=True)
class SizeCount:
    """How common a size is among media requests."""

    bytes: int
    requests: int
    share: float


@dataclass(frozen=True, kw_only=True)
class SizeOctaves:
    """Reads and writes by powers of two: a bin ends before twice its `from_bytes`."""

    from_bytes: list[int]
    reads: list[int]
    writes: list[int]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How long requests are; the most common sizes first."""

    all: SizeSpread | None
    reads: SizeSpread | None
    writes: SizeSpread | None
    common: list[SizeCount]
    octaves: SizeOctaves


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """Shares of aligned media requests, and what all offsets and lengths are multiples of."""

    by_512_share: float
    by_4k_share: float
    by_64k_share: float
    offsets_bytes: int
    lengths_bytes: int


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """How much was touched, in pages of 4 KiB, and how often again.

    Attributes:
        bytes: None if offsets are object ids, which are no addresses.
        read_pages_again_share: Of the pages read, those that were touched before: what a cache of
            any size would have held. A page counts for each request that touches it.
        written_pages_again_share: The same of the pages written.
    """

    bytes: int | None
    sampled_one_in: int
    read_pages_again_share: float | None
    written_pages_again_share: float | None
    outsized_requests: int


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """What happened in equal intervals from the first arrival on, one value an interval."""

    interval_s: float
    working_set_mib: list[float]
    rate_rps: list[float]
    throughput_mb_s: list[float]
    read_share: list[float | None]


@dataclass(frozen=True, kw_only=True)
class Dispersion:
    """Variance over mean of arrivals in windows of one length; 1 for a Poisson process."""

    window_s: float
    windows: int
    index: float


@dataclass(frozen=True, kw_only=True)
class GapOctaves:
    """Gaps by powers of two: a bin begins at `from_ns` and ends before twice that.

    Gaps of 0 are in no bin.
    """

    zero: int
    from_ns: list[int]
    gaps: list[int]


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """How requests arrive: rates, gaps, burstiness by scale."""

    mean_rps: float | None
    peak_1s_rps: float | None
    peak_100ms_rps: float | None
    gap_cv: float | None
    gap_p10_ms: float | None
    gaps: GapOctaves
    dispersion: list[Dispersion]


@dataclass(frozen=True, kw_only=True)
class Sequentiality:
    """Shares of media requests that begin where the one before ended."""

    device_share: float
    stream_share: float


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """Megabytes (10^6 bytes) per second over the span; None if all came at once."""

    mean_mb_s: float | None
    read_mb_s: float | None
    write_mb_s: float | None
    peak_1s_mb_s: float | None


@dataclass(frozen=True, kw_only=True)
class Latency:
    """A distribution of traced times."""

    known: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Requests outstanding, as traced response times imply."""

    mean: float | None
    p50: int
    p95: int
    max: int


@dataclass(frozen=True, kw_only=True)
class Oddity:
    """A kind of oddity, how often, and examples."""

    kind: str
    count: int
    examples: list[str]


@dataclass(frozen=True, kw_only=True)
class LoadOverTime:
    """Rates in equal intervals from the first arrival on, one value an interval."""

    interval_s: float
    read_rps: list[float]
    write_rps: list[float]
    other_rps: list[float]
    read_mb_s: list[float]
    write_mb_s: list[float]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Cells of a map that are not empty: the n-th values of all lists are one cell.

    For an array: ``counts[cells.row, cells.column] = cells.reads``.
    """

    column: list[int]
    row: list[int]
    reads: list[int]
    writes: list[int]


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Where reads and writes of a device begin over time.

    Columns are the intervals of `Pictures.load`; rows are `row_bytes` long, the lowest begins at
    `from_bytes`.
    """

    device: str
    requests: int
    from_bytes: int
    row_bytes: int
    rows: int
    cells: Cells


@dataclass(frozen=True, kw_only=True)
class Heat:
    """Maps of the busiest devices, at most 8.

    Attributes:
        unmapped_requests: Requests of devices that have no map.
        reads_two_thirds_share: Least share of the mapped addresses in which two thirds of the reads
            begin; None without reads. `writes_two_thirds_share` is the same for writes.
    """

    maps: list[HeatMap]
    unmapped_requests: int
    reads_two_thirds_share: float | None
    writes_two_thirds_share: float | None


@dataclass(frozen=True, kw_only=True)
class Held:
    """The share of block touches that a cache would have held, one value a size of the cache."""

    touches: int
    held_share: list[float]
    standard_error: list[float]


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """What a cache would have held that drops what was touched longest ago (LRU), by its size.

    Attributes:
        sampled_one_in: Of every so many blocks one was followed; with 1 the shares are exact.
        reads: Touches by reads; the cache holds what was written, too.
        outsized_requests: Requests of more than 1 GiB, which are left out.
    """

    block_bytes: int
    sampled_one_in: int
    cache_bytes: list[int]
    all: Held
    reads: Held | None
    writes: Held | None
    outsized_requests: int


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """What the pictures of ``nearslot inspect --html`` are drawn from.

    `heat` and `reuse` are None if offsets are object ids, which are no addresses.
    """

    findings: list[str]
    load: LoadOverTime
    heat: Heat | None
    reuse: Reuse | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Inspection:
    """Everything found in a trace; the same data as ``nearslot inspect --format json``.

    Attributes:
        schema: Version of the layout.
        version: Version of nearslot.
        build: Build of nearslot, as `nearslot.__build__` says it.
        format: Format as detected or named, with its version in `format_version`.
        files: Files, per-CPU files one by one.
        notes: How the trace was understood, in words.
        hash: XXH3-128 of the records; results of runs name the same one.
        requests: Records of any operation; `limited` if reading stopped at a limit.
        span: Which part of the trace was read; None if all of it.
        span_s: First to last arrival.
        read_share: Reads among media requests; None if there are none.
        devices: Busiest first.
        response: Arrival to completion as traced; None where the trace does not tell. `service` is
            from the issue.
        lost_share: Lost events among all; 0 also where the format cannot show them.
        warnings: What to know before believing the trace.
        pictures: Load and addresses over time, and reuse; what ``--html`` draws.
    """

    schema: int
    version: str
    build: str
    format: str
    format_version: str | None
    files: list[str]
    notes: list[str]
    hash: str
    requests: int
    limited: bool
    span: SpanRead | None
    span_s: float
    time: TimeStamps
    operations: dict[str, Operation]
    read_share: float | None
    read_bytes_share: float | None
    devices: list[Device]
    clients: Clients
    sizes: Sizes
    alignment: Alignment
    footprint: Footprint
    timeline: Timeline
    arrivals: Arrivals
    sequentiality: Sequentiality
    throughput: Throughput
    response: Latency | None
    service: Latency | None
    queue: Queue | None
    anomalies: list[Oddity]
    lost_share: float
    warnings: list[Warning]
    pictures: Pictures

    def __repr__(self) -> str:
        """In one line; `to_dict` has everything."""
        files = self.files[0] if len(self.files) == 1 else f"{len(self.files)} files"
        found = f"{self.requests} requests in {self.span_s:.4g} s, {len(self.warnings)} warnings"
        return f"<nearslot.Inspection of {files} ({self.format}): {found}>"

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command as plain data."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain
