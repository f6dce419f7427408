"""Figures 10 to 13: transactions on 36 drives, faster and faster.

The study's trace of TPC-C is not public; the workload `oltp` stands in for it. What these figures
say of orders and crossings can be tried with it; multiples of the trace's original rate cannot, so
rates are given in requests per second.

A buffer of delayed copies hides them until it is full. So a run has several times as many writes as
the buffer has room for, and its first half is not measured. The highest rate that a system sustains
is bisected for each seed, since a grid of rates would be too coarse to compare two systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from ...running import run as run_scenario
from ..figures import curves
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Check, Kind, above, at_least, below, missing
from . import arrays, disk
from .arrays import MS, RPS, Array, distorted, ew, mirror, sr, stripe
from .fig4 import crossing
from .options import Options

DRIVES = 36
RATES = (500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 14_000, 16_000, 20_000, 24_000)
QUICK_RATES = (1_000, 4_000, 10_000, 16_000)
COLLAPSED_MS = 30.0
"""Mean response beyond which a rate is not sustained: queues grow from there on."""

SMALL, LARGE = 10_000, 100_000
"""Chunks that the buffers of delayed copies have room for."""
FILLS = 4
"""So many times as many writes as the buffer has room for."""
WRITE_SHARE = 0.345
"""Of the workload."""
SETTLED = "50%"
LOWEST_RPS, HIGHEST_RPS = 250.0, 48_000.0
"""Between which sustained rates are looked for."""
PRECISION = 1.02
"""How near to the next higher rate that collapses."""

RATED = {"of": "rates"}
SEARCHED = {"of": "search"}
READ_ONLY = {"of": "reads"}
FOREGROUND = {"of": "foreground"}


def eager_arrays(buffer: int = SMALL) -> dict[int, Array]:
    """Eager-writing arrays of all drives by their number of copies, dilution 2."""
    return {dm: ew(dm, DRIVES / dm / 2, 2, buffer=buffer) for dm in (1, 2, 3, 6)}


def replicas(buffer: int = SMALL) -> dict[int, Array]:
    """SR-Arrays of all drives by their number of replicas; with one they are the stripe."""
    return {1: stripe(DRIVES), **{dr: sr(DRIVES / dr, dr, buffer=buffer) for dr in (2, 3, 4)}}


def requests(options: Options, buffer: int) -> int:
    """Requests of a run: enough to fill the buffer, but in quick runs as many as were asked for."""
    if options.quick:
        return options.requests
    return max(options.requests, math.ceil(FILLS * buffer / WRITE_SHARE))


def _rated(options: Options, systems: Sequence[Array]) -> list[Cell]:
    """Systems at every rate, with the small buffer."""
    rates = QUICK_RATES if options.quick else RATES
    return arrays.cells(
        replace(options, requests=requests(options, SMALL)),
        systems,
        "oltp",
        [{"rate_rps": rate} for rate in rates],
        warmup=SETTLED,
        **RATED,
    )


def _searched(options: Options, systems: Sequence[Array], buffer: int) -> list[Cell]:
    """The highest rate that each system sustains."""
    return [
        _search(options, one, buffer, overhead_ms)
        for overhead_ms in options.overheads
        for one in systems
    ]


def _search(options: Options, array: Array, buffer: int, overhead_ms: float) -> Cell:
    asked = requests(options, buffer)
    drive = disk.drive(options, overhead_ms)

    def collapses(rate: float, seed: int, count: int) -> bool:
        load = {"rate_rps": round(rate, 3)}
        base = arrays.scenario(
            options, array, "oltp", load, drive=drive, warmup=SETTLED, requests=count
        )
        done = run_scenario(base.replace(seed=seed), series=False, overload="run").runs[0]
        return done.response_ms.mean > COLLAPSED_MS

    def highest(seed: int) -> float:
        low, high = LOWEST_RPS, HIGHEST_RPS
        while high / low > PRECISION:
            middle = math.sqrt(low * high)
            # A rate that collapses within a tenth of the requests collapses with all, too.
            short = max(1_000, asked // 10)
            over = collapses(middle, seed, short) or collapses(middle, seed, asked)
            low, high = (low, middle) if over else (middle, high)
        return low

    def run(seeds: Sequence[int]) -> list[Row]:
        return [{"seed": seed, "sustained_rps": highest(seed)} for seed in seeds]

    marks = {"overhead_ms": overhead_ms, "array": array.label, "buffer": buffer, **SEARCHED}
    return Cell({**marks, "writes": round(asked * WRITE_SHARE)}, run)


def _ms(table: Table, array: Array, rate: float) -> float:
    return table.mean(MS, array=array.label, rate_rps=rate, **RATED).value


def _best(table: Table, among: dict[int, Array], rate: float) -> int:
    return min(among, key=lambda key: _ms(table, among[key], rate))


def _standing(table: Table, among: dict[int, Array]) -> list[float]:
    """Rates at which at least one of these arrays has not collapsed."""
    rates = table.values("rate_rps", **RATED)
    return [
        rate for rate in rates if _ms(table, among[_best(table, among, rate)], rate) < COLLAPSED_MS
    ]


def lowest(table: Table) -> Found:
    """F1."""
    eagerly, told, checks = eager_arrays(), [], []
    for rate in _standing(table, eagerly):
        best = eagerly[_best(table, eagerly, rate)]
        told.append(f"{rate:g}/s {best.label} {_ms(table, best, rate):.1f}")
        for other in (stripe(DRIVES), mirror(DRIVES)):
            lead = table.lead(
                MS, {"array": best.label}, {"array": other.label}, rate_rps=rate, **RATED
            )
            checks.append(
                Check(f"{best.label} against {other.label} at {rate:g}/s", lead, below(0.0))
            )
    return Found(checks, f"best, in ms: {', '.join(told)}")


def _fills(table: Table, buffer: int) -> list[Check]:
    """A part that cannot be tested, if the runs were too short to fill the buffer."""
    writes = min(table.values("writes", buffer=buffer, **SEARCHED))
    if writes < FILLS * buffer:
        return [missing(f"runs of {writes:,} writes cannot fill a buffer of {buffer:,}")]
    return []


def _sustained(array: Array, buffer: int) -> tuple[str, dict[str, object]]:
    return "sustained_rps", {"array": array.label, "buffer": buffer, **SEARCHED}


def _rate(table: Table, array: Array, buffer: int) -> float:
    key, where = _sustained(array, buffer)
    return table.mean(key, **where).value


def _sustains(table: Table, others: Sequence[Array], buffer: int, times: float) -> Found:
    """Whether the best eager array sustains so many times the rate of each of others."""
    eagerly = list(eager_arrays(buffer).values())
    best = max(eagerly, key=lambda one: _rate(table, one, buffer))
    checks = [
        Check(
            f"{best.label} to {other.label}",
            table.each(lambda a, b: a / b, _sustained(best, buffer), _sustained(other, buffer)),
            at_least(times),
            "times",
        )
        for other in others
    ]
    told = ", ".join(f"{one.label} {_rate(table, one, buffer):.0f}/s" for one in (best, *others))
    return Found([*checks, *_fills(table, buffer)], told)


def sustains(table: Table) -> Found:
    """F2."""
    return _sustains(table, [stripe(DRIVES), mirror(DRIVES)], SMALL, 1.3)


def sheds(table: Table) -> Found:
    """F3."""
    families = {"EW": eager_arrays(), "SR": replicas()}
    columns: dict[str, list[tuple[str, dict[str, object]]]] = {}
    rates: dict[str, list[float]] = {}
    checks, told = [], []
    for name, family in families.items():
        standing = rates[name] = _standing(table, family)
        several = {count: one for count, one in family.items() if count > 1}
        chosen = {rate: several[_best(table, several, rate)] for rate in standing}
        ends = ((standing[0], above(0.0)), (standing[-1], below(0.0)))
        for rate, gate in ends:
            lead = table.lead(
                MS,
                {"array": family[1].label},
                {"array": chosen[rate].label},
                rate_rps=rate,
                **RATED,
            )
            what = f"{family[1].label} against {chosen[rate].label} at {rate:g}/s"
            checks.append(Check(what, lead, gate))
        columns[name] = [
            (MS, {"array": array.label, "rate_rps": rate, **RATED})
            for of in (dict.fromkeys(standing, family[1]), chosen)
            for rate, array in of.items()
        ]
        best = " ".join(str(_best(table, family, rate)) for rate in standing)
        told.append(
            f"best number of copies of {name} {best} at "
            f"{' '.join(f'{rate:g}' for rate in standing)} requests/s"
        )

    def shed(name: str, of: Sequence[float]) -> float:
        at = [math.log2(rate) for rate in rates[name]]
        return crossing(at, of[: len(at)], of[len(at) :])

    count = len(columns["EW"])
    if min(len(of) for of in rates.values()) > 1:
        later = table.each(
            lambda *of: 2.0 ** (shed("EW", of[:count]) - shed("SR", of[count:])),
            *columns["EW"],
            *columns["SR"],
        )
        what = "rate at which EW sheds its copies to that at which SR does"
        checks.append(Check(what, later, above(1.0), "times"))
    return Found(checks, "; ".join(told))


def below_five(table: Table) -> Found:
    """F4."""
    rates = table.values("rate_rps", **RATED)
    held = {
        one.label: max((rate for rate in rates if _ms(table, one, rate) < 5), default=0.0)
        for dm, one in eager_arrays().items()
        if dm > 1
    }
    best = max(held, key=lambda label: held[label])
    return Found([], f"{best} up to {held[best]:g} requests/s")


def original(table: Table) -> Found:
    """F9."""
    rate = table.values("rate_rps", **RATED)[0]
    systems = [stripe(DRIVES), mirror(DRIVES), *eager_arrays().values()]
    told = ", ".join(f"{one.label} {_ms(table, one, rate):.2f}" for one in systems)
    return Found([], f"mean response in ms at {rate:g} requests/s: {told}")


def second_copy(table: Table) -> Found:
    """F5."""
    systems = [
        (mirror(DRIVES), mirror(DRIVES, foreground=2)),
        (ew(2, 9, 2), ew(2, 9, 2, foreground=2)),
    ]
    checks, told = [], []
    for rate in table.values("rate_rps", **RATED):
        every = [one for pair in systems for one in pair]
        if max(_ms(table, one, rate) for one in every) < COLLAPSED_MS:
            costs = [_ms(table, two, rate) - _ms(table, one, rate) for one, two in systems]
            told.append(f"{rate:g}/s {costs[0]:.2f} and {costs[1]:.2f}")
            columns = ((MS, {"array": one.label, "rate_rps": rate, **RATED}) for one in every)
            more = table.each(lambda a, b, c, d: (b - a) - (d - c), *columns)
            what = f"what RAID-10 pays more than EW 2x9x2 at {rate:g}/s"
            checks.append(Check(what, more, above(0.0), "ms"))
    return Found(checks, f"added ms, RAID-10 and EW 2x9x2: {', '.join(told)}")


def between(table: Table) -> Found:
    """F6."""
    order = [mirror(DRIVES, foreground=2), distorted(9, 2), ew(2, 9, 2, foreground=2)]
    rates = table.values("rate_rps", **RATED)
    standing = [rate for rate in rates if _ms(table, order[0], rate) < COLLAPSED_MS]
    checks = [
        Check(
            f"{less.label} against {more.label} at {rate:g}/s",
            table.lead(MS, {"array": less.label}, {"array": more.label}, rate_rps=rate, **RATED),
            below(0.0),
        )
        for rate in standing[len(standing) // 3 :]
        for more, less in pairwise(order)
    ]
    told = ", ".join(
        f"{rate:g}/s {' '.join(f'{_ms(table, one, rate):.2f}' for one in order)}"
        for rate in standing
    )
    return Found(checks, f"ms of RAID-10, DDM, EW 2x9x2: {told}")


WRITTEN = [stripe(DRIVES), mirror(DRIVES, foreground=2), sr(DRIVES / 2, 2, foreground=2)]
READ = [stripe(DRIVES), mirror(DRIVES), sr(DRIVES / 2, 2)]
READ_QUEUES = (4, 64)


def worst(table: Table) -> Found:
    """F10."""
    raid = {"array": WRITTEN[1].label}
    return Found(
        [
            Check(
                f"RAID-10 against {other.label} at {1 - share:.0%} writes",
                table.lead(RPS, raid, {"array": other.label}, read_share=share, **FOREGROUND),
                below(0.0),
            )
            for share in table.values("read_share", **FOREGROUND)
            for other in (WRITTEN[0], WRITTEN[2])
        ]
    )


def narrows(table: Table) -> Found:
    """F11."""
    few, many = (queue * DRIVES for queue in READ_QUEUES)
    checks = []
    for other in READ[:2]:
        columns = (
            (RPS, {"array": array.label, "depth": depth, **READ_ONLY})
            for depth in (many, few)
            for array in (READ[2], other)
        )
        change = table.each(lambda a, b, c, d: a / b - c / d, *columns)
        what = f"gap of {other.label} to {READ[2].label}, what 64 add to 4 requests per drive"
        checks.append(Check(what, change, below(0.0)))
    return Found(checks)


def raises(table: Table) -> Found:
    """F7."""
    names = {
        "RAID-10": mirror(DRIVES),
        **{one.label: one for dm, one in eager_arrays().items() if dm > 1},
        **{one.label: one for dr, one in replicas().items() if dr > 1},
    }
    checks, told = [], []
    for name, one in names.items():
        gain = table.each(lambda a, b: b / a - 1, _sustained(one, SMALL), _sustained(one, LARGE))
        checks.append(Check(f"{name} with the large buffer", gain, above(0.0)))
        rates = [_rate(table, one, buffer) for buffer in (SMALL, LARGE)]
        told.append(f"{name} {rates[0]:.0f} to {rates[1]:.0f}")
    told_all = f"sustained, requests/s: {', '.join(told)}"
    return Found([*checks, *_fills(table, SMALL), *_fills(table, LARGE)], told_all)


def remains(table: Table) -> Found:
    """F8."""
    return _sustains(table, [mirror(DRIVES)], LARGE, 1.15)


_statement = partial(Statement, kind=Kind.ORDER, published="no number (figure 11)")
_information = partial(Statement, kind=Kind.INFORMATION)
FILLED = f"{FILLS} times as many writes as the buffer has room for, the second half measured"

FIRST = [
    _statement(
        id="F1",
        statement="An eager-writing array has the lowest response time at every arrival rate",
        range="500 to 24,000 requests/s, as far as the best eager-writing array stays below "
        f"{COLLAPSED_MS:g} ms; against stripe and RAID-10",
        judge=lowest,
        needs=RATED,
    ),
    _statement(
        id="F2",
        statement="An eager-writing array sustains much higher rates than stripe and RAID-10",
        published="multiples of the original rate, not recovered",
        range=f"{FILLED}; much higher: 1.3 times",
        judge=sustains,
        needs=SEARCHED,
    ),
    _statement(
        id="F3",
        statement="Replicas must be shed as the rate rises, later for the eager-writing array "
        "than for the SR-Array",
        range="500 to 24,000 requests/s, as far as some array of the kind stands; several copies "
        "are best at the lowest rate, one at the highest, and EW sheds later",
        judge=sheds,
        needs=RATED,
    ),
    _information(
        id="F4",
        statement="A replicated eager-writing array stays under 5 ms at a high multiple of the "
        "original rate",
        published="under 5 ms; the multiple was not recovered",
        range="500 to 24,000 requests/s",
        judge=below_five,
        note="the original rate is not known",
    ),
    _information(
        id="F9",
        statement="TPC-C at its original speed against the number of drives (figure 10)",
        published="the text of figure 10 is not available",
        range=f"{DRIVES} drives",
        judge=original,
    ),
]
SECOND = [
    _statement(
        id="F5",
        statement="A second synchronous copy costs RAID-10 more response time than the "
        "eager-writing array",
        published="no number (figure 12)",
        range=f"500 to 24,000 requests/s, as far as all stay below {COLLAPSED_MS:g} ms",
        judge=second_copy,
        needs=RATED,
    ),
    _statement(
        id="F6",
        statement="The doubly distorted mirror lies between RAID-10 and the eager-writing array",
        published="no number (figure 12)",
        range="the upper two thirds of the rates at which RAID-10 stands, two synchronous copies",
        judge=between,
        needs=RATED,
    ),
    _statement(
        id="F10",
        statement="With all copies written in the foreground and many writes, RAID-10 is the "
        "worst array",
        published="no number (predecessor, OSDI 2000)",
        range=f"{DRIVES} drives, 4 requests per drive, 60 and 80 % writes",
        judge=worst,
        needs=FOREGROUND,
    ),
    _statement(
        id="F11",
        statement="The gap of striping and RAID-10 to the SR-Array narrows as queues grow (reads)",
        published="no number (predecessor, OSDI 2000)",
        range=f"{DRIVES} drives, 4 and 64 requests per drive, reads alone",
        judge=narrows,
        needs=READ_ONLY,
    ),
]
THIRD = [
    _statement(
        id="F7",
        statement="A ten times larger buffer raises the sustainable rate of every replicating "
        "system",
        published="no number (figure 13)",
        range=f"{FILLED}; buffers of {SMALL:,} and {LARGE:,} chunks",
        judge=raises,
        needs=SEARCHED,
    ),
    _statement(
        id="F8",
        statement="The eager-writing array's advantage stays significant with the large buffer",
        published="no number (figure 13)",
        range=f"{FILLED}; significant: 1.15 times RAID-10's rate",
        judge=remains,
        needs=SEARCHED,
    ),
]


def small_cells(options: Options) -> list[Cell]:
    """Every system with the base buffer."""
    alone = [stripe(DRIVES), mirror(DRIVES), *eager_arrays().values()]
    several = [one for dr, one in replicas().items() if dr > 1]
    return [*_rated(options, [*alone, *several]), *_searched(options, alone, SMALL)]


def synchronous_cells(options: Options) -> list[Cell]:
    """One or two synchronous copies, and what the predecessor compared."""
    systems = [
        mirror(DRIVES),
        mirror(DRIVES, foreground=2),
        distorted(9, 2),
        ew(2, 9, 2),
        ew(2, 9, 2, foreground=2),
    ]
    written = [{"depth": 4 * DRIVES, "read_share": share} for share in (0.4, 0.2)]
    read = [{"depth": queue * DRIVES, "read_share": 1.0} for queue in READ_QUEUES]
    return [
        *_rated(options, systems),
        *arrays.cells(options, WRITTEN, "iometer", written, **FOREGROUND),
        *arrays.cells(options, READ, "iometer", read, **READ_ONLY),
    ]


def large_cells(options: Options) -> list[Cell]:
    """The replicating systems with buffers of both sizes."""

    def systems(buffer: int) -> list[Array]:
        copied = list(eager_arrays(buffer).values())
        several = [one for dr, one in replicas(buffer).items() if dr > 1]
        return [mirror(DRIVES, buffer=buffer), *copied, *several]

    return [
        cell for buffer in (SMALL, LARGE) for cell in _searched(options, systems(buffer), buffer)
    ]


def _draw(outcome: Outcome, path: Path) -> None:
    curves(
        outcome,
        path,
        axis="rate_rps",
        label="requests per second",
        key=MS,
        unit="mean response (ms)",
        where=RATED,
        ceiling=COLLAPSED_MS,
    )


def _draw_buffers(outcome: Outcome, path: Path) -> None:
    curves(
        outcome,
        path,
        axis="buffer",
        label="chunks that the buffer has room for",
        key="sustained_rps",
        unit="highest rate sustained (requests/s)",
        where=SEARCHED,
    )


SMALL_BUFFER = Experiment(
    name="ew-fig11",
    question="Which array of 36 drives answers transactions soonest as their rate rises?",
    source=f"{arrays.SOURCE}, figures 10 and 11",
    cells=small_cells,
    statements=FIRST,
    draw=_draw,
)
SYNCHRONOUS = Experiment(
    name="ew-fig12",
    question="What does a second synchronous copy cost?",
    source=f"{arrays.SOURCE}, figure 12; Yu and others, OSDI 2000",
    cells=synchronous_cells,
    statements=SECOND,
    draw=_draw,
)
BIG_BUFFER = Experiment(
    name="ew-fig13",
    question="What does a ten times larger buffer for delayed copies buy?",
    source=f"{arrays.SOURCE}, figure 13",
    cells=large_cells,
    statements=THIRD,
    draw=_draw_buffers,
)
