"""The models behind eager writing, each held against a Monte Carlo of what it models.

The models are those of the predecessors of the array: how far the next free block of a track or of
a cylinder is (Wang et al., OSDI 1999), and what seeks and rotations cost on mirrors, stripes and
SR-Arrays (Yu et al., OSDI 2000). The Monte Carlo draws tracks, cylinders and arms and does what a
head does; it knows no formula. Seeks are linear in the distance, as the models have them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .frame import Claim, Experiment, Mean, Options, Outcome, percent

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Row = dict[str, Any]

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

WITHIN_TRACK = 0.02
WITHIN = 0.03

# Numbers along logarithmic axes.
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 2, 4, 8, 16)

# Draws at once, for the sake of memory.
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


def _rows(options: Options) -> list[Row]:
    import numpy

    # A point must not be so noisy that its claim is decided by the noise.
    count = max(20_000, options.requests)
    rows = []
    for seed in options.all_seeds:

        def draw(claim: int, point: int, seed: int = seed) -> numpy.random.Generator:
            return numpy.random.default_rng([seed, claim, point])

        rows += [{"seed": seed, **row} for row in _free_blocks(draw, count)]
        rows += [{"seed": seed, **row} for row in _arrays(draw, count)]
    return rows


def _free_blocks(draw: Any, count: int) -> Iterable[Row]:  # noqa: ANN401
    """Rows of B1 to B5: what was drawn, and what the model says."""
    for point, share in enumerate(FREE):
        free = round(share * SECTORS)
        found = skipped_on_track(draw(1, point), count, SECTORS, free).mean()
        yield _row("B1", "track", free / SECTORS, found, on_track(SECTORS, free))
    for point, share in enumerate(CYLINDER_FREE):
        found = skipped_in_cylinder(draw(3, point), count, share).mean()
        yield _row("B3", "cylinder", share, found, in_cylinder(share))
    for share in UNIT_FREE:
        for unit in UNITS:
            slots, wanted = SECTORS // unit, BLOCK_SECTORS // unit
            drawn = skipped_on_track(draw(4, unit), count, slots, round(share * slots), wanted)
            yield _row("B4", f"free {share:g}", unit, drawn.mean() * unit, of_units(share, unit))
    skipped = skipped_while_filling(draw(5, 0), count // 10)
    randomly = [on_track(SLOTS, SLOTS - written) for written in range(SLOTS)]
    for left in range(SLOTS):
        yield _row("B5", "filling", left, until_left(skipped, left), until_left(randomly, left))


def _arrays(draw: Any, count: int) -> Iterable[Row]:  # noqa: ANN401
    """Rows of B6 and B7."""
    yield _row("B6", "seek, one disk", 1, seek_to_nearest(draw(6, 1), count, 1), 1 / 3)
    for disks in ARMS:
        mirror, stripe = draw(6, 10 + disks), draw(6, 20 + disks)
        model = 1 / (2 * disks + 1)
        yield _row("B6", "seek, mirror", disks, seek_to_nearest(mirror, count, disks), model)
        served = seek_of_served(draw(6, 30 + disks), count, disks)
        yield _row("B6", "seek, mirror in service", disks, served, model)
        yield _row(
            "B6", "seek, stripe", disks, seek_to_nearest(stripe, count, 1) / disks, 1 / (3 * disks)
        )
        first, last = rotation(draw(6, 40 + disks), count, disks)
        yield _row("B6", "rotation, read", disks, first, 1 / (2 * disks))
        yield _row("B6", "rotation, write", disks, last, 1 - 1 / (2 * disks))
    for disks in DISKS:
        model = math.sqrt(2 * SEEK_MS * ROTATION_MS / (3 * disks))
        yield _row("B7", "SR-Array", disks, array_latency_ms(draw(7, disks), count, disks), model)


def _row(claim: str, series: str, at: float, found: float, model: float) -> Row:
    return {"claim": claim, "series": series, "at": at, "found": float(found), "model": model}


def _of(
    rows: list[Row], claim: str, series: str | None = None
) -> dict[tuple[str, float], list[Row]]:
    """Rows of a claim by series and point, a row a seed."""
    points: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        if row["claim"] == claim and series in (None, row["series"]):
            points.setdefault((row["series"], row["at"]), []).append(row)
    return points


def _apart(points: dict[tuple[str, float], list[Row]]) -> dict[tuple[str, float], Mean]:
    """How far what was drawn is from the model, relatively."""
    return {
        point: Mean.of([row["found"] / row["model"] - 1 for row in rows])
        for point, rows in points.items()
    }


def _farthest(apart: dict[tuple[str, float], Mean]) -> tuple[tuple[str, float], Mean]:
    point = max(apart, key=lambda point: abs(apart[point].value))
    return point, apart[point]


def _mean(rows: Iterable[Row], key: str = "found") -> Mean:
    return Mean.of([row[key] for row in rows])


def decide_track(rows: list[Row]) -> Claim:
    """B1."""
    (_, share), worst = _farthest(_apart(_of(rows, "B1")))
    return Claim(
        id="B1",
        statement="On a track with k of n blocks free, (n-k)/(k+1) are skipped",
        published="(n-k)/(k+1), derived from a recurrence",
        found=f"the Monte Carlo is at most {percent(worst)} away, at a free share of {share:.3g}",
        ci=worst.ci,
        holds=abs(worst.value) <= WITHIN_TRACK,
        note=f"{SECTORS} sectors, free shares {FREE[0]:g} to {FREE[-1]:g}; within 2 % holds",
    )


def decide_published_track(rows: list[Row]) -> Claim:
    """B2."""
    points = _of(rows, "B1")
    (at,) = [point for point in points if abs(point[1] - 0.2) < 0.5 / SECTORS]
    blocks = _mean(points[at])
    microseconds = blocks.value * TRACK_MS / SECTORS * 1e3
    return Claim(
        id="B2",
        statement="At 80 % utilisation about four blocks are skipped, in under 100 us",
        published="4 blocks; under 100 us, against 3 ms for half a rotation",
        found=f"{blocks.value:.2f} blocks, {microseconds:.0f} us",
        ci=blocks.ci,
        holds=3.8 <= blocks.value <= 4.0 and microseconds < 100,
        note=f"{SECTORS} sectors in {TRACK_MS:g} ms; 3.8 to 4.0 blocks holds",
    )


def decide_cylinder(rows: list[Row]) -> Claim:
    """B3."""
    (_, share), worst = _farthest(_apart(_of(rows, "B3")))
    return Claim(
        id="B3",
        statement="The nearest free block of a cylinder is as far as its model says",
        published="q(1-q^s)/(1-q) + q^(s+t)/(1-q^t)",
        found=f"the Monte Carlo is at most {percent(worst)} away, at a free share of {share:g}",
        ci=worst.ci,
        holds=abs(worst.value) <= WITHIN,
        note=f"t = {TRACKS} tracks of {SLOTS} slots, s = {SWITCH_SLOTS} slots, free shares "
        f"{CYLINDER_FREE[0]:g} to {CYLINDER_FREE[-1]:g}; within 3 % holds",
    )


def decide_units(rows: list[Row]) -> Claim:
    """B4."""
    points = _of(rows, "B4")
    _, worst = _farthest(_apart(points))
    told, falls = [], True
    for share in UNIT_FREE:
        skipped = [_mean(points[f"free {share:g}", unit]).value for unit in UNITS]
        falls = falls and all(after < before for before, after in pairwise(skipped))
        told.append(f"{' '.join(f'{value:.1f}' for value in skipped)} sectors at {share:g} free")
    return Claim(
        id="B4",
        statement="A block costs the less the larger its allocation unit, up to the block itself",
        published="(1-p)nB/(b+pn) sectors skipped",
        found=f"units of {', '.join(map(str, UNITS))} sectors: {'; '.join(told)}; at most "
        f"{percent(worst)} from the model",
        ci=worst.ci,
        holds=falls and abs(worst.value) <= WITHIN,
        note=f"blocks of {BLOCK_SECTORS} sectors, {SECTORS} a track; falling and within 3 % holds",
    )


def decide_threshold(rows: list[Row]) -> Claim:
    """B5."""
    points = _of(rows, "B5")
    cost = {left: _mean(found) for (_, left), found in points.items()}
    model = {left: found[0]["model"] for (_, left), found in points.items()}
    best = min(cost, key=lambda left: cost[left].value)
    ends = (min(cost), max(cost))
    noise = cost[best].ci or 0.0
    higher = all(cost[end].value > cost[best].value + noise + (cost[end].ci or 0.0) for end in ends)
    return Claim(
        id="B5",
        statement="When to leave a track that is being filled has an optimum between the ends",
        published="no number (figure)",
        found=f"{cost[best].value:.3f} ms a write leaving {best:g} of {SLOTS} slots free, "
        f"{cost[ends[0]].value:.3f} ms leaving none, {cost[ends[1]].value:.3f} ms after one write",
        ci=cost[best].ci,
        holds=best not in ends and higher,
        note=f"writes at random angles, {SWITCH_MS:g} ms to switch; in the model free slots lie "
        f"anywhere: {min(model.values()):.3f} ms leaving "
        f"{min(model, key=model.__getitem__):g}",
    )


def decide_seeks(rows: list[Row]) -> Claim:
    """B6."""
    apart = _apart(_of(rows, "B6"))
    told, holds, widest = [], True, Mean(0.0, None)
    for series in dict.fromkeys(series for series, _ in apart):
        own = {point: mean for point, mean in apart.items() if point[0] == series}
        (_, disks), worst = _farthest(own)
        told.append(f"{series} {percent(worst)} at {disks:g}")
        # The model is of arms anywhere; what service makes of them is told beside it.
        if series != "seek, mirror in service":
            holds = holds and abs(worst.value) <= WITHIN
            widest = max(widest, worst, key=lambda mean: abs(mean.value))
    return Claim(
        id="B6",
        statement="Seeks are S/3, S/(2D+1) on a mirror, S/(3D) on a stripe; rotation is R/(2D) to "
        "read, R - R/(2D) to write all copies",
        published="the formulas",
        found="farthest from the formulas, at D: " + "; ".join(told),
        ci=widest.ci,
        holds=holds,
        note="linear seek, within 3 % holds. S/(2D+1) takes the distances of D arms for "
        "independent; they have their target in common, which makes the nearest farther. When the "
        "nearest arm serves, arms come to have regions of their own, and it is nearer",
    )


def decide_root(rows: list[Row]) -> Claim:
    """B7."""
    points = _of(rows, "B7")

    def slope(disks: Iterable[float]) -> Mean:
        several = [points["SR-Array", count] for count in disks]
        seeds = zip(*several, strict=True)
        return Mean.of([-_slope([(row["at"], row["found"]) for row in seed]) for seed in seeds])

    every = slope(at for _, at in points)
    powers = slope(at for _, at in points if math.log2(at).is_integer())
    return Claim(
        id="B7",
        statement="The latency of an SR-Array without overhead improves as the square root of D",
        published="exponent 0.5, about",
        found=f"exponent {every.value:.3f} over D = {DISKS[0]} to {DISKS[-1]}, {powers.value:.3f} "
        "over powers of two",
        ci=every.ci,
        holds=0.4 <= every.value <= 0.6,
        note="the best Ds x Dr = D in whole numbers, which primes have only at a price; 0.4 to 0.6 "
        "holds",
    )


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line through points on paper that is logarithmic both ways."""
    logs = [(math.log(at), math.log(value)) for at, value in points]
    middle = [sum(axis) / len(logs) for axis in zip(*logs, strict=True)]
    above = math.fsum((at - middle[0]) * (value - middle[1]) for at, value in logs)
    return above / math.fsum((at - middle[0]) ** 2 for at, _ in logs)


DECISIONS = (
    decide_track,
    decide_published_track,
    decide_cylinder,
    decide_units,
    decide_threshold,
    decide_seeks,
    decide_root,
)


def run(options: Options) -> Outcome:
    """Draws everything and decides the claims."""
    rows = _rows(options)
    return Outcome.of(
        options,
        experiment="ew-models",
        claims=[decide(rows) for decide in DECISIONS],
        runs=rows,
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Models as lines, what was drawn as marks."""
    from matplotlib.figure import Figure

    panels = (
        ("B1", "one track (B1)", "share of free sectors", "sectors skipped", ("log", "log")),
        ("B3", "one cylinder (B3)", "share of free slots", "slots skipped", ("log", "log")),
        ("B5", "filling a track (B5)", "slots left free", "ms per write", ("linear", "linear")),
        ("B7", "SR-Array (B7)", "disks", "seek and rotation (ms)", ("log", "log")),
    )
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots(2, 2).flatten()
    for panel, (claim, title, across, up, scales) in zip(axes, panels, strict=True):
        points = sorted(_of(outcome.runs, claim).items())
        at = [place for (_, place), _ in points]
        found = [_mean(rows) for _, rows in points]
        panel.plot(at, [rows[0]["model"] for _, rows in points], label="model")
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
    run=run,
    draw=draw,
    needs=("numpy",),
)
