"""The system of the study, in one place: a controller with 16 arrays under an SPC-1-like load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...running import compare
from ...runs import Run
from ...scenario import Knob, Scenario, part
from ..table import Cell, Row
from ..verdict import Where
from .options import Options

ARRAYS, DRIVES, DATA = 16, 7, 6
"""Arrays of the study, drives of each, and how many of these have data."""
CACHE_MIB = 8 * 1024
TRACK_KIB = 32
TRACK_PAGES = 8
MIB = 1 << 20
PAGE_BYTES = 4096
DESTAGED, DESTAGED_FULL = 20, 4
"""Units of the write buffer that may go to one array at a time, and complete ones."""
DRIVE_BYTES = 73.4e9
"""Of the study's drives, roughly: spans are told in shares of an array, sizes in bytes."""

LOADS = (10, 50, 80, 90, 95, 100)
QUICK_LOADS = (10, 80, 100)
"""In percent of the top load."""
SETTLED = "40%"
SHARE = "sequences"
"""The share of a cache that sequences have; 0 until the cache is full."""
STAGED = "staged"
WRITTEN = "written_buffers"
"""What is written of a run, in sizes of its write buffer."""
FILLS = 4
"""So many of these at least, where a buffer is asked how much load it takes."""


@dataclass(frozen=True)
class Configuration:
    """One of the two that the paper compares.

    Attributes:
        name: Short.
        told: Long.
        top_bsu: The top load at full size: a little below that at which a write buffer overflows.
        top_iops: The paper's top load, in scaled I/Os a second.
        full_mib: The cache at full size.
    """

    name: str
    told: str
    top_bsu: int
    top_iops: int
    full_mib: int = CACHE_MIB

    def ratio(self, options: Options) -> float:
        """Its footprint in sizes of the cache."""
        return options.ratio_cs if self.name == "CS" else options.ratio_ci

    def bsu(self, options: Options, load: float) -> int:
        """Business scaling units at a load, a whole number."""
        share = load / 100 * options.load_percent / 100
        return max(1, round(self.top_bsu / options.scale * share))

    def cache_mib(self, options: Options) -> int:
        """The cache's size at this scale."""
        return self.full_mib // options.scale

    def cache_pages(self, options: Options) -> int:
        """The same in pages."""
        return self.cache_mib(options) * MIB // PAGE_BYTES


CS = Configuration("CS", "cache-sensitive", 864, 25_000)
CI = Configuration("CI", "cache-insensitive", 400, 11_364)
CONFIGURATIONS = (CS, CI)

TOP, BOTTOM, SARC = "LRU-Top", "LRU-Bottom", "SARC"
POLICIES = (TOP, BOTTOM, SARC)


def cache_of(options: Options, policy: str) -> str:
    """The cache of a policy. LRU-Top is SARC's lists without its boundary, which is LRU."""
    if policy == BOTTOM:
        return lru_bottom(options, options.depth_percent)
    if policy == TOP:
        return _cache(options, "sarc", boundary="age")
    return _cache(options, "sarc", large_ratio=options.large_ratio, step=options.step)


def lru_bottom(options: Options, depth_percent: float) -> str:
    """LRU-Bottom that puts sequences in so far above the end."""
    return _cache(options, "lru_bottom", depth_percent=depth_percent)


def fixed_share(options: Options, percent: float) -> str:
    """SARC's lists with a boundary that does not move."""
    return _cache(options, "sarc", boundary="share", share_percent=percent)


def _cache(options: Options, name: str, **own: Knob) -> str:
    return part(
        name,
        bottom_percent=options.bottom_percent,
        **own,
        line_kib=TRACK_KIB,
        stage=options.stage,
        writes=options.writes,
        hit_us=200,
    )


def arrays(options: Options) -> int:
    """How many arrays there are at this scale."""
    return ARRAYS // options.scale


def span(options: Options, configuration: Configuration) -> float:
    """The footprint as a share of what the arrays hold."""
    bytes_of_cache = configuration.full_mib * MIB
    return bytes_of_cache * configuration.ratio(options) / (ARRAYS * DATA * DRIVE_BYTES)


def write_buffer(name: str, mib: float, before: int) -> str:
    """A write buffer before so many arrays, each of which is sent as much as one alone."""
    return part(
        name,
        size=f"{mib:g}MiB",
        destage_units=DESTAGED * before,
        full_units=DESTAGED_FULL * before,
        write_us=180,
    )


def scenario(options: Options, configuration: Configuration, load: float, cache: str) -> Scenario:
    """A run of the study; the cache has its size from the configuration."""
    workload = part(
        "spc1",
        bsu=configuration.bsu(options, load),
        requests=options.requests * arrays(options),
        span=round(span(options, configuration), 6),
    )
    prefetch = part(
        "sarc",
        threshold=options.threshold,
        degree=options.degree,
        trigger=options.trigger,
        remedy=options.remedy,
    )
    size = configuration.cache_mib(options)
    mib = size * options.nvs_percent / 100
    return Scenario(
        workload=workload,
        drive=options.drive,
        place=part(
            "raid5",
            disks=DRIVES * arrays(options),
            arrays=arrays(options),
            strip_kib=TRACK_KIB,
        ),
        sched=options.sched,
        cache=f"{cache}:size={size}MiB",
        prefetch=prefetch,
        buffer=write_buffer("lrw", mib, arrays(options)),
        warmup=SETTLED,
    )


def numbers(options: Options, of: Configuration, run: Run) -> dict[str, float | None]:
    """What is told of a run: of its measured part."""
    cache, prefetch, buffer = (run.measures[kind] for kind in ("cache", "prefetch", "buffer"))
    reads, writes = run.read_response_ms, run.write_response_ms
    assert reads is not None
    assert writes is not None
    written = sum(one.requests for one in run.stream_responses if one.op == "write")
    iops = run.throughput_rps * options.scale
    # Of what is counted: so much a second at full size.
    rate = options.scale / run.duration_s
    pages = of.cache_pages(options)
    bottom_pages = pages * options.bottom_percent / 100
    buffer_pages = pages * options.nvs_percent / 100
    # It has none where nothing left the cache: then no list was ever bounded.
    held = cache.get("sequence_mean_pages", 0)
    return {
        "read_ms": reads.mean,
        "write_ms": writes.mean,
        "overall_ms": run.response_ms.mean,
        "read_p99_ms": reads.p99,
        "iops": iops,
        "power": iops / run.response_ms.mean,
        "utilisation": run.utilisation,
        "read_hits": cache["read_hits"] / (cache["read_hits"] + cache["read_misses"]),
        STAGED: rate * cache["staged_pages"] / TRACK_PAGES,
        "staged_ahead": rate * prefetch["ahead_pages"] / TRACK_PAGES,
        "wasted": prefetch["wasted_pages"] / max(1, prefetch["ahead_pages"]),
        "sequence_misses": rate * cache["sequence_misses"],
        "rest_bottom_hits": rate * cache["rest_bottom_hits"],
        SHARE: held / pages,
        "ratio": 2
        * cache["sequence_misses"]
        * bottom_pages
        / max(1, held)
        / max(1, cache["rest_bottom_hits"]),
        "waited": buffer["waited_writes"] / written,
        WRITTEN: buffer["written_pages"] / buffer_pages,
    }


_KNOWN: dict[tuple[Options, Scenario, int], Row] = {}
"""Runs that were carried out, by what was asked: several figures are drawn of the same."""


def measured(options: Options, of: Configuration, one: Scenario, seeds: Sequence[int]) -> list[Row]:
    """The numbers of a scenario, a row for each seed."""
    # What does not enter a run must not part those that are the same.
    same = replace(options, seed=1, seeds=1, seeds_max=1, quick=False)
    fresh = [seed for seed in seeds if (same, one, seed) not in _KNOWN]
    if fresh:
        # That a queue grows is a result, so it must not end the run.
        runs = compare(one, vary={"seed": fresh}, series=False, overload="run").runs
        for seed, run in zip(fresh, runs, strict=True):
            _KNOWN[same, one, seed] = {"seed": seed, **numbers(options, of, run)}
    return [dict(_KNOWN[same, one, seed]) for seed in seeds]


def cell(
    options: Options,
    configuration: Configuration,
    load: float,
    cache: str,
    marks: Where,
) -> Cell:
    """A point of a grid."""
    one = scenario(options, configuration, load, cache)
    of = {"configuration": configuration.name, "load": load, **marks}
    return Cell(of, partial(measured, options, configuration, one))


def highest(overflows: Callable[[int], bool], low: int, high: int, step: int = 1) -> int:
    """The highest load that is known not to overflow, to a step; `low` does not, `high` does."""
    while high - low > step:
        middle = (low + high) // 2
        low, high = (low, middle) if overflows(middle) else (middle, high)
    return low


def loads(options: Options) -> tuple[int, ...]:
    """The loads of the grid."""
    return QUICK_LOADS if options.quick else LOADS


def grid(options: Options) -> list[Cell]:
    """Both configurations at all loads with the three policies: the runs of Table II."""
    return [
        cell(options, of, load, cache_of(options, policy), {"policy": policy})
        for of in CONFIGURATIONS
        for load in loads(options)
        for policy in POLICIES
    ]
