"""The models behind eager writing, each compared with a Monte Carlo simulation of what it models.

The models are those of the predecessors of the array: how far the next free block of a track or of
a cylinder is (Wang et al., OSDI 1999), and what seeks and rotations cost on mirrors, stripes and
SR-Arrays (Yu et al., OSDI 2000). The Monte Carlo draws tracks, cylinders and arms and does what a
head does; it knows no formula. Seeks are linear in the distance, as the models have them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Check, Kind, Mean, Where, above, below, percent, within
from .options import Options

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

# The sectors of a track that B2 speaks of, and the time of its rotation.
SECTORS = 256
TRACK_MS = 6.0
FREE = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)

# A cylinder of the stand-in disk: slots of 4 KB, and a head switch with settling of 1.26 ms.
SLOTS = 26
SLOT_MS = 5.973 / SLOTS
TRACKS = 12
SWITCH_SLOTS = 5
SWITCH_MS = 1.261
CYLINDER_FREE = (0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.75)

BLOCK_SECTORS = 8
UNITS = (1, 2, 4, 8)
UNIT_FREE = (0.1875, 0.5)

ARMS = (2, 4, 8)
DISKS = tuple(range(2, 17))
SEEK_MS = 10.627
ROTATION_MS = 5.973

IN_SERVICE = "seek, mirror in service"

WITHIN_TRACK = 0.02
WITHIN = 0.03

# Numbers along logarithmic axes.
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 2, 4, 8, 16)

# Draws that are made at once; more would take too much memory.
_BATCH = 10_000


def skipped_on_track(
    draw: numpy.random.Generator, tracks: int, slots: int, free: int, wanted: int = 1
) -> NDArray[numpy.float64]:
    """Slots in use that a head passes until it found `wanted` free ones, on random tracks."""
    import numpy

    found = []
    for begin in range(0, tracks, _BATCH):
        keys = draw.random((min(_BATCH, tracks - begin), slots))
        least = numpy.partition(keys, free - 1, axis=1)[:, free - 1 : free]
        met = numpy.cumsum(keys <= least, axis=1)
        found.append((met >= wanted).argmax(axis=1) - (wanted - 1))
    return numpy.concatenate(found).astype(float)


def skipped_in_cylinder(
    draw: numpy.random.Generator, cylinders: int, share: float
) -> NDArray[numpy.float64]:
    """Slots until the nearest free one of a random cylinder, on this track or after a switch."""
    import numpy

    angles = numpy.arange(SWITCH_SLOTS, SWITCH_SLOTS + SLOTS) % SLOTS
    found = []
    for begin in range(0, cylinders, _BATCH):
        count = min(_BATCH, cylinders - begin)
        free = draw.random((count, TRACKS, SLOTS)) < share
        here, others = free[:, 0], numpy.take(free[:, 1:].any(axis=1), angles, axis=1)
        near = numpy.where(here.any(axis=1), here.argmax(axis=1), math.inf)
        far = numpy.where(others.any(axis=1), SWITCH_SLOTS + others.argmax(axis=1), math.inf)
        nearest = numpy.minimum(near, far)
        found.append(nearest[numpy.isfinite(nearest)])
    return numpy.concatenate(found)


def skipped_while_filling(draw: numpy.random.Generator, tracks: int) -> list[float]:
    """Slots skipped by the first write into an empty track, the second and so on, as means.

    Each write comes at a random angle and takes the next free slot, so that the free ones are not
    randomly spread for long.
    """
    import numpy

    used = numpy.zeros((tracks, SLOTS), dtype=bool)
    every = numpy.arange(tracks)
    means = []
    for _ in range(SLOTS):
        angle = draw.integers(SLOTS, size=tracks)
        ahead = (angle[:, None] + numpy.arange(SLOTS)) % SLOTS
        skipped = (~numpy.take_along_axis(used, ahead, axis=1)).argmax(axis=1)
        used[every, (angle + skipped) % SLOTS] = True
        means.append(float(skipped.mean()))
    return means


def seek_to_nearest(draw: numpy.random.Generator, requests: int, arms: int) -> float:
    """Mean distance to the nearest of some arms, each anywhere."""
    import numpy

    there = draw.random((requests, 1))
    return float(numpy.abs(draw.random((requests, arms)) - there).min(axis=1).mean())


def seek_of_served(draw: numpy.random.Generator, requests: int, arms: int) -> float:
    """The same when the nearest arm goes there and stays: arms come to have their own regions."""
    import numpy

    mirrors = 500
    every = numpy.arange(mirrors)
    heads = draw.random((mirrors, arms))
    total, settling, rounds = 0.0, 100, max(100, requests // mirrors)
    for turn in range(settling + rounds):
        there = draw.random(mirrors)
        far = numpy.abs(heads - there[:, None])
        nearest = far.argmin(axis=1)
        if turn >= settling:
            total += float(far[every, nearest].mean())
        heads[every, nearest] = there
    return total / rounds


def rotation(draw: numpy.random.Generator, requests: int, copies: int) -> tuple[float, float]:
    """Mean waits for the first of evenly spaced copies, and for the last."""
    import numpy

    angle, where = draw.random((requests, 1)), draw.random((requests, 1))
    waits = (where + numpy.arange(copies) / copies - angle) % 1.0
    return float(waits.min(axis=1).mean()), float(waits.max(axis=1).mean())


def array_latency_ms(draw: numpy.random.Generator, requests: int, disks: int) -> float:
    """Seek and rotation of reads on the SR-Array of so many disks that has the best shape."""
    found = []
    for stripe in range(1, disks + 1):
        if disks % stripe == 0:
            seek = seek_to_nearest(draw, requests, 1) / stripe
            first, _ = rotation(draw, requests, disks // stripe)
            found.append(seek * SEEK_MS + first * ROTATION_MS)
    return min(found)


def on_track(slots: int, free: float) -> float:
    """The model of B1."""
    return (slots - free) / (free + 1)


def in_cylinder(share: float) -> float:
    """The model of B3, in slots."""
    used = 1 - share
    far = used ** (SWITCH_SLOTS + TRACKS) / (1 - used**TRACKS)
    return used * (1 - used**SWITCH_SLOTS) / share + far


def of_units(share: float, unit: int) -> float:
    """The model of B4, in sectors."""
    return (1 - share) * SECTORS * BLOCK_SECTORS / (unit + share * SECTORS)


def until_left(skipped: Sequence[float], left: int) -> float:
    """Milliseconds a write when a track is filled until so many slots are left, for B5."""
    writes = SLOTS - left
    return (SWITCH_MS + SLOT_MS * sum(skipped[:writes])) / writes


Draw = Callable[[int, int], "numpy.random.Generator"]
"""The random numbers of a claim's point."""


def _row(series: str, at: float, found: float, model: float) -> Row:
    return {"series": series, "at": at, "found": float(found), "model": model}


def _tracks(draw: Draw, count: int) -> Iterator[Row]:
    for point, share in enumerate(FREE):
        free = round(share * SECTORS)
        found = skipped_on_track(draw(1, point), count, SECTORS, free).mean()
        yield _row("track", free / SECTORS, found, on_track(SECTORS, free))


def _cylinders(draw: Draw, count: int) -> Iterator[Row]:
    for point, share in enumerate(CYLINDER_FREE):
        found = skipped_in_cylinder(draw(3, point), count, share).mean()
        yield _row("cylinder", share, found, in_cylinder(share))


def _units(draw: Draw, count: int) -> Iterator[Row]:
    for share in UNIT_FREE:
        for unit in UNITS:
            slots, wanted = SECTORS // unit, BLOCK_SECTORS // unit
            drawn = skipped_on_track(draw(4, unit), count, slots, round(share * slots), wanted)
            yield _row(f"free {share:g}", unit, drawn.mean() * unit, of_units(share, unit))


def _filling(draw: Draw, count: int) -> Iterator[Row]:
    skipped = skipped_while_filling(draw(5, 0), count // 10)
    randomly = [on_track(SLOTS, SLOTS - written) for written in range(SLOTS)]
    for left in range(SLOTS):
        yield _row("filling", left, until_left(skipped, left), until_left(randomly, left))


def _arms(draw: Draw, count: int) -> Iterator[Row]:
    yield _row("seek, one disk", 1, seek_to_nearest(draw(6, 1), count, 1), 1 / 3)
    for disks in ARMS:
        mirror, stripe = draw(6, 10 + disks), draw(6, 20 + disks)
        model = 1 / (2 * disks + 1)
        yield _row("seek, mirror", disks, seek_to_nearest(mirror, count, disks), model)
        served = seek_of_served(draw(6, 30 + disks), count, disks)
        yield _row(IN_SERVICE, disks, served, model)
        there = seek_to_nearest(stripe, count, 1) / disks
        yield _row("seek, stripe", disks, there, 1 / (3 * disks))
        first, last = rotation(draw(6, 40 + disks), count, disks)
        yield _row("rotation, read", disks, first, 1 / (2 * disks))
        yield _row("rotation, write", disks, last, 1 - 1 / (2 * disks))


def _roots(draw: Draw, count: int) -> Iterator[Row]:
    for disks in DISKS:
        model = math.sqrt(2 * SEEK_MS * ROTATION_MS / (3 * disks))
        yield _row("SR-Array", disks, array_latency_ms(draw(7, disks), count, disks), model)


DRAWN: dict[str, Callable[[Draw, int], Iterator[Row]]] = {
    "B1": _tracks,
    "B3": _cylinders,
    "B4": _units,
    "B5": _filling,
    "B6": _arms,
    "B7": _roots,
}


def cells(options: Options) -> list[Cell]:
    """What is drawn for each claim."""
    import numpy

    # A point must not be so noisy that its claim is decided by the noise.
    count = max(20_000, options.requests)

    def drawn(name: str) -> Cell:
        def run(seeds: Sequence[int]) -> list[Row]:
            rows = []
            for seed in seeds:

                def draw(claim: int, point: int, seed: int = seed) -> numpy.random.Generator:
                    return numpy.random.default_rng([seed, claim, point])

                rows += [{"seed": seed, **row} for row in DRAWN[name](draw, count)]
            return rows

        return Cell({"claim": name}, run)

    return [drawn(name) for name in DRAWN]


def _points(table: Table, claim: str) -> list[Where]:
    """The points of a claim, in their order."""
    rows = table.only(claim=claim).rows
    found = dict.fromkeys((row["series"], row["at"]) for row in rows)
    return [{"claim": claim, "series": series, "at": at} for series, at in found]


def _apart(table: Table, where: Where, limit: float) -> Check:
    """The relative deviation of the drawn values from the model."""
    off = table.each(lambda found, model: found / model - 1, ("found", where), ("model", where))
    found = replace(off, needs=({"claim": where["claim"]},))
    return Check(f"{where['series']} at {where['at']:.3g}", found, within(-limit, limit))


def _mean(table: Table, where: Where) -> Mean:
    return replace(table.mean("found", **where), needs=({"claim": where["claim"]},))


def decide_track(table: Table) -> Found:
    """B1."""
    return Found([_apart(table, where, WITHIN_TRACK) for where in _points(table, "B1")])


def decide_published_track(table: Table) -> Found:
    """B2."""
    (at,) = [
        where
        for where in _points(table, "B1")
        if abs(float(str(where["at"])) - 0.2) < 0.5 / SECTORS
    ]
    blocks = _mean(table, at)
    to_us = TRACK_MS / SECTORS * 1e3
    spread = None if blocks.ci is None else blocks.ci * to_us
    time = Mean(blocks.value * to_us, spread, blocks.needs)
    return Found(
        [
            Check("skipped", blocks, within(3.8, 4.0), "blocks"),
            Check("which takes", time, below(100.0), "us"),
        ]
    )


def decide_cylinder(table: Table) -> Found:
    """B3."""
    return Found([_apart(table, where, WITHIN) for where in _points(table, "B3")])


def decide_units(table: Table) -> Found:
    """B4."""
    checks = [_apart(table, where, WITHIN) for where in _points(table, "B4")]
    for share in UNIT_FREE:
        for less, more in pairwise(UNITS):
            one, other = (
                {"claim": "B4", "series": f"free {share:g}", "at": unit} for unit in (less, more)
            )
            change = table.lead("found", other, one)
            what = f"a unit of {more} sectors against {less}, {share:g} free"
            checks.append(Check(what, replace(change, needs=({"claim": "B4"},)), below(0.0)))
    return Found(checks)


def decide_threshold(table: Table) -> Found:
    """B5."""
    points = {where["at"]: where for where in _points(table, "B5")}
    cost = {left: _mean(table, where) for left, where in points.items()}
    best = min(cost, key=lambda left: cost[left].value)
    ends = (0, SLOTS - 1)
    checks = []
    for end in ends:
        more = table.lead("found", points[end], points[best])
        what = f"leaving {end} of {SLOTS} slots free against {best}"
        checks.append(Check(what, replace(more, needs=({"claim": "B5"},)), above(0.0)))
    told = f"{cost[best].value:.3f} ms a write leaving {best} of {SLOTS} slots free"
    return Found(checks, told)


def decide_seeks(table: Table) -> Found:
    """B6."""
    checks, served = [], []
    for where in _points(table, "B6"):
        check = _apart(table, where, WITHIN)
        # The model assumes arms at random places; the seeks of arms that serve are told beside it.
        if where["series"] != IN_SERVICE:
            checks.append(check)
        elif check.found is not None:
            served.append(f"{percent(check.found)} at {where['at']}")
    return Found(checks, outside=f"{IN_SERVICE}: {', '.join(served)}")


def decide_root(table: Table) -> Found:
    """B7."""
    points = _points(table, "B7")
    at = [float(str(where["at"])) for where in points]
    every = table.each(
        lambda *found: -_slope(list(zip(at, found, strict=True))),
        *(("found", where) for where in points),
    )
    exponent = replace(every, needs=({"claim": "B7"},))
    return Found(
        [Check(f"exponent over D = {at[0]:g} to {at[-1]:g}", exponent, within(0.4, 0.6), "")]
    )


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the straight line through points when both axes are logarithmic."""
    logs = [(math.log(at), math.log(value)) for at, value in points]
    middle = [sum(axis) / len(logs) for axis in zip(*logs, strict=True)]
    above_middle = math.fsum((at - middle[0]) * (value - middle[1]) for at, value in logs)
    return above_middle / math.fsum((at - middle[0]) ** 2 for at, _ in logs)


_statement = partial(Statement, kind=Kind.FORMULA, turns=False)

STATEMENTS = [
    _statement(
        id="B1",
        statement="On a track with k of n blocks free, (n-k)/(k+1) are skipped",
        published="(n-k)/(k+1), derived from a recurrence",
        range=f"{SECTORS} sectors, free shares {FREE[0]:g} to {FREE[-1]:g}; within 2 %",
        judge=decide_track,
    ),
    _statement(
        id="B2",
        statement="At 80 % utilisation about four blocks are skipped, in under 100 us",
        published="4 blocks; under 100 us, against 3 ms for half a rotation",
        range=f"{SECTORS} sectors in {TRACK_MS:g} ms; 3.8 to 4.0 blocks",
        judge=decide_published_track,
    ),
    _statement(
        id="B3",
        statement="The nearest free block of a cylinder is as far as its model says",
        published="q(1-q^s)/(1-q) + q^(s+t)/(1-q^t)",
        range=f"t = {TRACKS} tracks of {SLOTS} slots, s = {SWITCH_SLOTS} slots, free shares "
        f"{CYLINDER_FREE[0]:g} to {CYLINDER_FREE[-1]:g}; within 3 %",
        judge=decide_cylinder,
    ),
    _statement(
        id="B4",
        statement="A block costs the less the larger its allocation unit, up to the block itself",
        published="(1-p)nB/(b+pn) sectors skipped",
        range=f"blocks of {BLOCK_SECTORS} sectors, {SECTORS} a track; falling and within 3 %",
        judge=decide_units,
    ),
    _statement(
        id="B5",
        statement="When to leave a track that is being filled has an optimum between the ends",
        published="no number (figure)",
        range=f"writes at random angles, {SWITCH_MS:g} ms to switch",
        judge=decide_threshold,
    ),
    _statement(
        id="B6",
        statement="Seeks are S/3, S/(2D+1) on a mirror, S/(3D) on a stripe; rotation is R/(2D) to "
        "read, R - R/(2D) to write all copies",
        published="the formulas",
        range=f"linear seek, D of {', '.join(map(str, ARMS))}; within 3 %",
        judge=decide_seeks,
        note="S/(2D+1) takes the distances of D arms for independent; they have their target in "
        "common, which makes the nearest farther. When the nearest arm serves, arms come to have "
        "regions of their own, and it is nearer",
    ),
    _statement(
        id="B7",
        statement="The latency of an SR-Array without overhead improves as the square root of D",
        published="exponent 0.5, about",
        range="the best Ds x Dr = D in whole numbers, which primes have only at a price; 0.4 to "
        "0.6",
        judge=decide_root,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Models as lines, what was drawn as marks."""
    from matplotlib.figure import Figure

    panels = (
        ("B1", "one track (B1)", "share of free sectors", "sectors skipped", ("log", "log")),
        ("B3", "one cylinder (B3)", "share of free slots", "slots skipped", ("log", "log")),
        ("B5", "filling a track (B5)", "slots left free", "ms per write", ("linear", "linear")),
        ("B7", "SR-Array (B7)", "disks", "seek and rotation (ms)", ("log", "log")),
    )
    table = Table(outcome.runs)
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots(2, 2).flatten()
    for panel, (claim, title, across, up, scales) in zip(axes, panels, strict=True):
        points = sorted(_points(table, claim), key=lambda where: float(str(where["at"])))
        at = [float(str(where["at"])) for where in points]
        found = [_mean(table, where) for where in points]
        models = [table.mean("model", **where).value for where in points]
        panel.plot(at, models, label="model")
        panel.errorbar(
            at,
            [mean.value for mean in found],
            [mean.ci or 0.0 for mean in found],
            fmt="o",
            markersize=4,
            label="Monte Carlo",
        )
        panel.set(title=title, xlabel=across, ylabel=up, xscale=scales[0], yscale=scales[1])
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("{x:g}")
        if scales[0] == "log":
            panel.set_xticks([value for value in TICKS if at[0] <= value <= at[-1]], minor=False)
            panel.set_xticks([], minor=True)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="ew-models",
    question="Do the models of free blocks, seeks and rotations say what disks do?",
    source="Wang, Anderson and Patterson, Virtual Log Based File Systems for a Programmable Disk, "
    "OSDI 1999; Yu et al., Trading Capacity for Performance in a Disk Array, OSDI 2000",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    needs=("numpy",),
)
