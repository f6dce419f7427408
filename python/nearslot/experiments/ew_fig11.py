"""Figures 10 to 13: transactions on 36 drives, faster and faster.

The study's trace of TPC-C is not public; the workload `oltp` stands in for it. What these figures
say of orders and crossings can be tried with it; multiples of the trace's original rate cannot, so
rates are given in requests per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from . import arrays
from .arrays import Array, Grid, distorted, ew, mirror, sr, stripe
from .figures import curves
from .frame import Claim, Experiment, Mean, Options, Outcome, ratios

DRIVES = 36
RATES = (
    500,
    1_000,
    2_000,
    4_000,
    6_000,
    8_000,
    10_000,
    12_000,
    14_000,
    16_000,
    20_000,
    24_000,
)
QUICK_RATES = (1_000, 4_000, 10_000, 16_000)
COLLAPSED_MS = 30.0
"""Mean response beyond which a rate is not sustained: queues grow from there on."""

LARGE_BUFFER = 100_000


def eager_arrays(buffer: int = 10_000) -> dict[int, Array]:
    """Eager-writing arrays of all drives by their number of copies, dilution 2."""
    return {dm: ew(dm, DRIVES / dm / 2, 2, buffer=buffer) for dm in (1, 2, 3, 6)}


def replicas(buffer: int = 10_000) -> dict[int, Array]:
    """SR-Arrays of all drives by their number of replicas; with one they are the stripe."""
    return {1: stripe(DRIVES), **{dr: sr(DRIVES / dr, dr, buffer=buffer) for dr in (2, 3, 4)}}


def _response(grid: Grid, array: Array, rate: float) -> Mean:
    return grid.mean("response_ms", array=array.label, rate_rps=rate)


def _sustained(grid: Grid, array: Array, rates: Sequence[float]) -> float:
    """The highest rate up to which mean response stays below the collapse."""
    highest = 0.0
    for rate in rates:
        if _response(grid, array, rate).value > COLLAPSED_MS:
            break
        highest = rate
    return highest


def _best(grid: Grid, among: dict[int, Array], rate: float) -> int:
    return min(among, key=lambda key: _response(grid, among[key], rate).value)


def _lowest(grid: Grid, rates: Sequence[float]) -> Claim:
    eagerly, others = eager_arrays(), [stripe(DRIVES), mirror(DRIVES)]
    standing = [
        rate
        for rate in rates
        if _response(grid, eagerly[_best(grid, eagerly, rate)], rate).value < COLLAPSED_MS
    ]
    wins = {
        rate: _response(grid, eagerly[_best(grid, eagerly, rate)], rate).value
        < min(_response(grid, other, rate).value for other in others)
        for rate in standing
    }
    told = ", ".join(
        f"{rate:g}/s: {_response(grid, eagerly[_best(grid, eagerly, rate)], rate).value:.1f} "
        "against "
        f"{min(_response(grid, other, rate).value for other in others):.1f}"
        for rate in standing[:: max(1, len(standing) // 4)]
    )
    return Claim(
        id="F1",
        statement="An eager-writing array has the lowest response time at every arrival rate",
        published="no number (figure 11)",
        found=f"mean response in ms against the better of stripe and RAID-10: {told}",
        holds=bool(wins) and all(wins.values()),
        note=f"rates at which the eager array's mean response is below {COLLAPSED_MS:g} ms",
    )


def _sustains(grid: Grid, rates: Sequence[float]) -> Claim:
    best = max(_sustained(grid, one, rates) for one in eager_arrays().values())
    others = {one.label: _sustained(grid, one, rates) for one in (stripe(DRIVES), mirror(DRIVES))}
    better = max(others.values())
    told = ", ".join(f"{label} {rate:g}/s" for label, rate in others.items())
    return Claim(
        id="F2",
        statement="An eager-writing array sustains much higher rates than stripe and RAID-10",
        published="multiples of the original rate, not recovered",
        found=f"{best:g}/s; {told}: {best / better:.2f} times" if better else f"{best:g}/s; {told}",
        holds=best >= 1.3 * better,
        note="much higher: at least 1.3 times; the grid of rates limits the precision",
    )


def _sheds(grid: Grid, rates: Sequence[float]) -> Claim:
    eagerly, rotating = eager_arrays(), replicas()
    standing = [
        rate
        for rate in rates
        if _response(grid, eagerly[_best(grid, eagerly, rate)], rate).value < COLLAPSED_MS
    ]
    dm = [_best(grid, eagerly, rate) for rate in standing]
    dr = [_best(grid, rotating, rate) for rate in standing]
    falls = all(after <= before for before, after in pairwise(dm))
    single = next(
        (rate for rate, replicated in zip(standing, dr, strict=True) if replicated == 1), None
    )
    last = max(
        (rate for rate, copies in zip(standing, dm, strict=True) if copies >= 2), default=0.0
    )
    later = None if single is None else last > single
    return Claim(
        id="F3",
        statement="Replicas must be shed as the rate rises, later for the eager-writing array "
        "than for the SR-Array",
        published="no number (figure 11)",
        found=f"best Dm {' '.join(map(str, dm))}, best Dr {' '.join(map(str, dr))} at "
        f"{' '.join(f'{rate:g}' for rate in standing)} requests/s",
        # Who never falls to one replica cannot fall to it sooner.
        holds=later if falls else False,
        note=(
            f"SR-Array falls to one replica at {single:g}/s, the eager array has two or more up "
            f"to {last:g}/s"
            if single is not None
            else "the SR-Array keeps replicas at every rate at which the eager array stands"
        ),
    )


def _below_five(grid: Grid, rates: Sequence[float]) -> Claim:
    copied = {dm: one for dm, one in eager_arrays().items() if dm > 1}
    held = {
        one.label: max(
            (rate for rate in rates if _response(grid, one, rate).value < 5), default=0.0
        )
        for one in copied.values()
    }
    best = max(held, key=lambda label: held[label])
    return Claim(
        id="F4",
        statement="A replicated eager-writing array stays under 5 ms at a high multiple of the "
        "original rate",
        published="under 5 ms; the multiple was not recovered",
        found=f"{best} up to {held[best]:g} requests/s",
        note="for information: the original rate is not known",
    )


def _original(grid: Grid, rates: Sequence[float]) -> Claim:
    rate = rates[0]
    systems = [stripe(DRIVES), mirror(DRIVES), *eager_arrays().values()]
    told = ", ".join(f"{one.label} {_response(grid, one, rate).value:.2f}" for one in systems)
    return Claim(
        id="F9",
        statement="TPC-C at its original speed against the number of drives (figure 10)",
        published="the text of figure 10 is not available",
        found=f"mean response in ms of {DRIVES} drives at {rate:g} requests/s: {told}",
        note="for information",
    )


def _rates(options: Options) -> Sequence[float]:
    return QUICK_RATES if options.quick else RATES


def _run_systems(options: Options, systems: Sequence[Array], rates: Sequence[float]) -> Grid:
    grid = Grid()
    grid.run(options, systems, "oltp", {"rate_rps": rates}, warmup="30%")
    return grid


def run_small_buffer(options: Options) -> Outcome:
    """Every system with the base buffer."""
    rates = _rates(options)
    systems = [*replicas().values(), mirror(DRIVES), *eager_arrays().values()]
    grid = _run_systems(options, systems, rates)
    return Outcome.of(
        options,
        experiment="ew-fig11",
        claims=[
            _lowest(grid, rates),
            _sustains(grid, rates),
            _sheds(grid, rates),
            _below_five(grid, rates),
            _original(grid, rates),
        ],
        runs=grid.rows,
    )


def _second_copy(grid: Grid, rates: Sequence[float]) -> Claim:
    systems = {
        "RAID-10": (mirror(DRIVES), mirror(DRIVES, foreground=2)),
        "EW 2x9x2": (ew(2, 9, 2), ew(2, 9, 2, foreground=2)),
    }
    standing = [
        rate
        for rate in rates
        if all(
            _response(grid, one, rate).value < COLLAPSED_MS
            for pair in systems.values()
            for one in pair
        )
    ]
    costs = {
        name: [
            _response(grid, two, rate).value - _response(grid, one, rate).value for rate in standing
        ]
        for name, (one, two) in systems.items()
    }
    raid, eagerly = costs["RAID-10"], costs["EW 2x9x2"]
    told = ", ".join(
        f"{rate:g}/s: {a:.2f} and {b:.2f}"
        for rate, a, b in zip(standing, raid, eagerly, strict=True)
    )
    return Claim(
        id="F5",
        statement="A second synchronous copy costs RAID-10 more response time than the "
        "eager-writing array",
        published="no number (figure 12)",
        found=f"added mean response in ms, RAID-10 and EW 2x9x2: {told}",
        holds=bool(standing) and all(a > b for a, b in zip(raid, eagerly, strict=True)),
    )


def _between(grid: Grid, rates: Sequence[float]) -> Claim:
    raid, ddm, eagerly = mirror(DRIVES, foreground=2), distorted(9, 2), ew(2, 9, 2, foreground=2)
    standing = [rate for rate in rates if _response(grid, raid, rate).value < COLLAPSED_MS]
    middle = standing[len(standing) // 3 :]

    def at(rate: float) -> str:
        three = (_response(grid, one, rate).value for one in (raid, ddm, eagerly))
        return f"{rate:g}/s: " + " ".join(f"{value:.2f}" for value in three)

    told = ", ".join(at(rate) for rate in middle)
    ordered = all(
        _response(grid, raid, rate).value
        > _response(grid, ddm, rate).value
        > _response(grid, eagerly, rate).value
        for rate in middle
    )
    return Claim(
        id="F6",
        statement="The doubly distorted mirror lies between RAID-10 and the eager-writing array",
        published="no number (figure 12)",
        found="mean response in ms of RAID-10, doubly distorted mirror, EW 2x9x2, two "
        f"synchronous copies: {told}",
        holds=bool(middle) and ordered,
    )


def _worst(options: Options) -> tuple[Claim, Grid]:
    systems = [
        stripe(DRIVES),
        mirror(DRIVES, foreground=2),
        sr(DRIVES / 2, 2, foreground=2),
    ]
    grid = Grid()
    grid.run(options, systems, "iometer", {"depth": [4 * DRIVES], "read_share": [0.4, 0.2]})
    raid = systems[1].label
    rates = {
        share: {
            one.label: grid.mean("throughput_rps", array=one.label, read_share=share).value
            for one in systems
        }
        for share in (0.4, 0.2)
    }
    told = "; ".join(
        f"{1 - share:.0%} writes: "
        + ", ".join(f"{label} {rate:.0f}/s" for label, rate in of_share.items())
        for share, of_share in rates.items()
    )
    claim = Claim(
        id="F10",
        statement="With all copies written in the foreground and many writes, RAID-10 is the "
        "worst array",
        published="no number (predecessor, OSDI 2000)",
        found=told,
        holds=all(
            min(of_share, key=lambda label: of_share[label]) == raid for of_share in rates.values()
        ),
        note=f"{DRIVES} drives, 4 requests per drive",
    )
    return claim, grid


def _narrows(options: Options) -> Claim:
    systems = [stripe(DRIVES), mirror(DRIVES), sr(DRIVES / 2, 2)]
    queues = (4, 64)
    grid = Grid()
    grid.run(
        options,
        systems,
        "iometer",
        {"depth": [queue * DRIVES for queue in queues], "read_share": [1.0]},
    )
    best = systems[2].label

    def gap(label: str, queue: int) -> float:
        depth = queue * DRIVES
        lead = grid.by_seed("throughput_rps", array=best, depth=depth)
        return ratios(lead, grid.by_seed("throughput_rps", array=label, depth=depth)).value

    gaps = {one.label: [gap(one.label, queue) for queue in queues] for one in systems[:2]}
    told = "; ".join(f"{label} {a:.1%} and {b:.1%}" for label, (a, b) in gaps.items())
    return Claim(
        id="F11",
        statement="The gap of striping and RAID-10 to the SR-Array narrows as queues grow (reads)",
        published="no number (predecessor, OSDI 2000)",
        found=f"SR {DRIVES / 2:g}x2 ahead of {told} at {queues[0]} and {queues[1]} requests per "
        "drive",
        holds=all(b < a for a, b in gaps.values()),
    )


def run_synchronous(options: Options) -> Outcome:
    """One or two synchronous copies."""
    rates = _rates(options)
    systems = [
        mirror(DRIVES),
        mirror(DRIVES, foreground=2),
        distorted(9, 2),
        ew(2, 9, 2),
        ew(2, 9, 2, foreground=2),
    ]
    grid = _run_systems(options, systems, rates)
    worst, foreground = _worst(options)
    grid_rows = [*grid.rows, *foreground.rows]
    return Outcome.of(
        options,
        experiment="ew-fig12",
        claims=[_second_copy(grid, rates), _between(grid, rates), worst, _narrows(options)],
        runs=grid_rows,
    )


def _raises(small: Grid, large: Grid, rates: Sequence[float]) -> Claim:
    pairs = {
        "RAID-10": (mirror(DRIVES), mirror(DRIVES, buffer=LARGE_BUFFER)),
        **{
            one.label: (one, eager_arrays(LARGE_BUFFER)[dm])
            for dm, one in eager_arrays().items()
            if dm > 1
        },
        **{
            one.label: (one, replicas(LARGE_BUFFER)[dr]) for dr, one in replicas().items() if dr > 1
        },
    }
    found = {
        name: (_sustained(small, before, rates), _sustained(large, after, rates))
        for name, (before, after) in pairs.items()
    }
    told = ", ".join(f"{name} {before:g} to {after:g}" for name, (before, after) in found.items())
    return Claim(
        id="F7",
        statement="A ten times larger buffer raises the sustainable rate of every replicating "
        "system",
        published="no number (figure 13)",
        found=f"highest rates sustained, requests/s: {told}",
        holds=all(after > before for before, after in found.values()),
        note="a finite run: a backlog that the buffer still holds at its end was never paid for",
    )


def _remains(large: Grid, rates: Sequence[float]) -> Claim:
    best = max(_sustained(large, one, rates) for one in eager_arrays(LARGE_BUFFER).values())
    raid = _sustained(large, mirror(DRIVES, buffer=LARGE_BUFFER), rates)
    return Claim(
        id="F8",
        statement="The eager-writing array's advantage stays significant with the large buffer",
        published="no number (figure 13)",
        found=f"{best:g} against {raid:g} requests/s"
        + (f", {best / raid:.2f} times" if raid else ""),
        holds=best >= 1.15 * raid,
        note="significant: at least 1.15 times",
    )


def run_large_buffer(options: Options) -> Outcome:
    """The systems of figure 11 with buffers of both sizes."""
    rates = _rates(options)

    def systems(buffer: int) -> list[Array]:
        copied = [one for dm, one in eager_arrays(buffer).items()]
        return [mirror(DRIVES, buffer=buffer), *replicas(buffer).values(), *copied]

    small = _run_systems(options, systems(10_000), rates)
    large = _run_systems(options, systems(LARGE_BUFFER), rates)
    for row in large.rows:
        row["array"] += ", large buffer"
    claims_of = Grid()
    claims_of.rows = [
        {**row, "array": row["array"].removesuffix(", large buffer")} for row in large.rows
    ]
    return Outcome.of(
        options,
        experiment="ew-fig13",
        claims=[_raises(small, claims_of, rates), _remains(claims_of, rates)],
        runs=large.rows,
    )


def _draw(outcome: Outcome, path: Path) -> None:
    timed = replace(outcome, runs=[row for row in outcome.runs if "rate_rps" in row])
    curves(
        timed,
        path,
        axis="rate_rps",
        label="requests per second",
        key="response_ms",
        unit="mean response (ms)",
        ceiling=COLLAPSED_MS,
    )


SMALL_BUFFER = Experiment(
    name="ew-fig11",
    question="Which array of 36 drives answers transactions soonest as their rate rises?",
    source=f"{arrays.SOURCE}, figures 10 and 11",
    run=run_small_buffer,
    draw=_draw,
)
SYNCHRONOUS = Experiment(
    name="ew-fig12",
    question="What does a second synchronous copy cost?",
    source=f"{arrays.SOURCE}, figure 12; Yu and others, OSDI 2000",
    run=run_synchronous,
    draw=_draw,
)
BIG_BUFFER = Experiment(
    name="ew-fig13",
    question="What does a ten times larger buffer for delayed copies buy?",
    source=f"{arrays.SOURCE}, figure 13",
    run=run_large_buffer,
    draw=_draw,
)
