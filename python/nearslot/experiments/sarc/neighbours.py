"""What SARC's neighbours are published to do, as far as their parts are here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from ...running import compare
from ...scenario import Scenario, part
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Check, Kind, above, missing
from . import mixes
from .options import Options
from .points import unwritten
from .setup import MIB, PAGE_BYTES, WRITTEN, highest, write_buffer

BUFFERS = ("stow", "lrw", "wow", "cscan")
"""The one that takes most load first, as published."""
SUSTAINED = "sustained_bsu"
DISKS, ARRAYS, STRIP_KIB = 5, 2, 64
"""Of 4+P; several arrays, as a step of the load is then a fraction of what one takes."""
BUFFER_MIB = 128
"""Of an array: 32K pages."""
BUFFER_PAGES = ARRAYS * BUFFER_MIB * MIB // PAGE_BYTES
HIGHEST = 128
"""No array takes so many BSU."""
OVERFLOWS = 0.01
"""Writes that wait, where a buffer overflows."""

SIEVE, SARC = "sieve", "sarc"
MIXES = ("zipf_streams", "scans")
SIZES = ("3%", "10%")
PART = 25
"""A run of a mix has such a part of the requests that are asked for, which are of larger runs."""
LEAST = 10_000
"""Of fewer the smallest cache has no room for a group."""


def cells(options: Options) -> list[Cell]:
    """A search for each write cache; both caches on mixes of sequences and popular pages."""
    searches = [
        Cell({"of": "buffers", "policy": name}, partial(_sustained, options, name))
        for name in BUFFERS
    ]
    mixed = [
        Cell(
            {"of": "mixes", "mix": mix, "size": size, "policy": cache},
            partial(_mixed, options, mix, f"{cache}:size={size}"),
        )
        for mix in MIXES
        for size in SIZES
        for cache in (SIEVE, SARC)
    ]
    return searches + mixed


def _loaded(options: Options, buffer: str, bsu: int, seed: int) -> Scenario:
    return Scenario(
        workload=part("spc1", bsu=bsu, requests=max(1_000, options.requests // 2) * ARRAYS),
        drive=options.drive,
        place=part("raid5", disks=DISKS * ARRAYS, arrays=ARRAYS, strip_kib=STRIP_KIB),
        sched=options.sched,
        buffer=write_buffer(buffer, BUFFER_MIB * ARRAYS, ARRAYS),
        warmup="40%",
        seed=seed,
    )


def _sustained(options: Options, buffer: str, seeds: Sequence[int]) -> list[Row]:
    """The highest load at which hardly any write waits."""
    written: dict[tuple[int, int], float] = {}

    def overflows(bsu: int, seed: int) -> bool:
        one = _loaded(options, buffer, bsu, seed)
        (run,) = compare(one, vary={"seed": [seed]}, series=False, overload="run").runs
        counts = run.measures["buffer"]
        written[bsu, seed] = counts["written_pages"] / BUFFER_PAGES
        writes = sum(each.requests for each in run.stream_responses if each.op == "write")
        return counts["waited_writes"] > OVERFLOWS * writes

    found = []
    for seed in seeds:
        bsu = highest(partial(overflows, seed=seed), 1, HIGHEST * ARRAYS)
        # The lowest load is not run.
        told = {WRITTEN: written[bsu, seed]} if (bsu, seed) in written else {}
        found.append({"seed": seed, SUSTAINED: bsu, **told})
    return found


def _mixed(options: Options, mix: str, cache: str, seeds: Sequence[int]) -> list[Row]:
    rows = []
    for seed in seeds:
        one = Scenario(
            trace=mixes.made(mix, seed, max(LEAST, options.requests // PART)),
            drive=options.drive,
            replay="closed",
            depth=8,
            sched="look",
            cache=cache,
            prefetch=part("sarc", degree=options.degree),
            warmup="30%",
        )
        (run,) = compare(one, vary={"seed": [seed]}, series=False).runs
        counts = run.measures["cache"]
        missed = counts["read_misses"] / (counts["read_hits"] + counts["read_misses"])
        rows.append({"seed": seed, "response_ms": run.response_ms.mean, "missed": missed})
    return rows


def order(table: Table) -> Found:
    """N04."""
    most = max(row[SUSTAINED] for row in table.rows if SUSTAINED in row)
    if most >= HIGHEST * ARRAYS - 1:
        return Found([missing("runs are too short to fill a buffer")])
    if (short := unwritten(table)) is not None:
        return Found([short])
    checks = []
    for more, less in pairwise(BUFFERS):
        ahead = table.lead(SUSTAINED, {"policy": more}, {"policy": less})
        checks.append(Check(f"load that {more} takes beyond {less}", ahead, above(0.0)))
    means = {one: table.mean(SUSTAINED, policy=one).value / ARRAYS for one in BUFFERS}
    told = ", ".join(f"{name} {bsu:.1f}" for name, bsu in means.items())
    return Found(checks, f"BSU of an array: {told}")


def not_scan_resistant(table: Table) -> Found:
    """N06."""
    checks = []
    for mix in table.values("mix"):
        for size in SIZES:
            for key in ("response_ms", "missed"):
                at = {"mix": mix, "size": size}
                behind = table.lead(key, {"policy": SIEVE}, {"policy": SARC}, **at)
                what = f"{key} of SIEVE beyond that of SARC, {mix}, cache of {size}"
                checks.append(Check(what, behind, above(0.0)))
    return Found(checks)


_order = partial(Statement, kind=Kind.ORDER, turns=False)
STATEMENTS = [
    _order(
        id="N04",
        statement="STOW takes more load than LRW, that than WOW, and that than CSCAN",
        published="39, 70 and 96 % more throughput than LRW, WOW and CSCAN (USENIX 2009)",
        range=f"SPC-1-like load over all of {ARRAYS} arrays of 4+P, {BUFFER_MIB} MiB of buffer an "
        "array, no read cache: the highest load at which 1 % of writes wait at most",
        judge=order,
    ),
    _order(
        id="N06",
        statement="SIEVE is not scan resistant: it loses to SARC where sequences are mixed in",
        published="as a remark of its authors",
        range=f"mixes {' and '.join(MIXES)} over one drive, eight requests in flight, both with "
        f"SARC's prefetcher, caches of {' and '.join(SIZES)}: response time and reads missed",
        judge=not_scan_resistant,
    ),
]

EXPERIMENT = Experiment(
    name="sarc-neighbours",
    question="Do neighbours of SARC do here what is published of them?",
    source="STOW, USENIX 2009; SIEVE, NSDI 2024",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"drive", "requests", "sched", "degree"}),
)
