"""Figure 8: expand and cancel with a few options, on one track.

One write follows the other, and each offers the track as a whole: the span is one track, and the
range is the span. `expand` cuts that to the first place behind each of k equally spaced points, so
with one option it is the first block of the track every time, a full turn from where the heads are.
(A load that offers places, `within=place`, would draw another block each time: half a turn.)

There the phase is fixed, since each write begins where the one before ended. Where the writes go to
tracks all over the disk it is not, and a write waits for half of what lies between two options.
"""

from __future__ import annotations

import math
from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, at_least, within
from .drawing import mean
from .options import Options
from .setup import (
    DISK,
    GROUP,
    REVOLUTION_MS,
    SECTOR,
    SIZES,
    SOURCE,
    TRACK,
    at_both_sizes,
    cell,
    drive,
    load,
)

ALL = "all"
OPTIONS = ("1", "2", "4", "8", "16", ALL)
ENOUGH = "8"
ONE_TRACK, ANY_PHASE = "one track", "tracks of the disk"
WHOLE = "satf"
"""Hierarchical-range scheduling, which must choose as expand and cancel does."""
CHOICES = (1, 4, 16)


def sched(count: str) -> str:
    """Expand and cancel with so many options."""
    return f"expand:base=satf:options={0 if count == ALL else count}"


def cells(options: Options) -> list[Cell]:
    """Writes to one track and to all tracks by options, and both schedulers with a queue."""
    found = []
    for size in SIZES:
        for count in OPTIONS:
            words = {
                ONE_TRACK: load(
                    options, within=GROUP, size=size, span_blocks=options.track_blocks, depth=1
                ),
                ANY_PHASE: load(options, span=DISK, within=TRACK, size=size, depth=1),
            }
            for where, word in words.items():
                marks = {"on": where, "options": count, "bytes": size}
                found.append(cell(marks, word, drive(options), sched(count)))
    for n in CHOICES:
        word = load(options, within=TRACK, size=SECTOR, depth=n, refill="before")
        for one in (WHOLE, sched(ALL)):
            marks = {"n": n, "sched": one, "bytes": SECTOR}
            found.append(cell(marks, word, drive(options), one))
    return found


def at(where: str, count: str) -> dict[str, object]:
    """The marks of a point, but for the size of its writes."""
    return {"on": where, "options": count}


def _share(one: float, some: float, every: float) -> float:
    """What some options gain over one, of what all do; nothing if all gain nothing."""
    return (one - some) / (one - every) if every < one else 0.0


def most_by_eight(table: Table) -> Found:
    """B7."""
    checks = []
    for where in (ONE_TRACK, ANY_PHASE):
        columns = [("rotation_ms", at(where, count)) for count in ("1", ENOUGH, ALL)]
        share = table.each(_share, *columns)
        checks.append(Check(f"{where}: gain of 8, of all", share, at_least(0.8), "of it"))
    return Found(checks, _by_options(table))


def _by_options(table: Table) -> str:
    rows = []
    for where, key in ((ONE_TRACK, "service_ms"), (ANY_PHASE, "rotation_ms")):
        of = (f"{count}: {table.mean(key, **at(where, count)).value:.2f}" for count in OPTIONS)
        rows.append(f"{where}, ms of {key.removesuffix('_ms')}: {', '.join(of)}")
    return "; ".join(rows)


def full_turn(table: Table) -> Found:
    """B8."""
    found = table.mean("service_ms", **at(ONE_TRACK, "1"))
    gate = within(0.98 * REVOLUTION_MS, 1.02 * REVOLUTION_MS)
    return Found([Check("a write to the same block", found, gate, "ms")])


def closed_forms(table: Table) -> Found:
    """M5."""
    sectors = table.only(bytes=SECTOR)
    checks = []
    for count in OPTIONS[:-1]:
        apart = REVOLUTION_MS / int(count)
        back_to_back = sectors.each(
            lambda all_, rotation, apart=apart: (
                all_ / (math.ceil((all_ - rotation) / apart) * apart) - 1
            ),
            ("service_ms", at(ONE_TRACK, count)),
            ("rotation_ms", at(ONE_TRACK, count)),
        )
        checks.append(Check(f"{ONE_TRACK}, {count}", back_to_back, within(-0.001, 0.001)))
        any_phase = sectors.each(
            lambda rotation, apart=apart: rotation / (apart / 2) - 1,
            ("rotation_ms", at(ANY_PHASE, count)),
        )
        checks.append(Check(f"{ANY_PHASE}, {count}", any_phase, within(-0.05, 0.05)))
    return Found(checks)


def alike(table: Table) -> Found:
    """B3."""
    checks = []
    for n in CHOICES:
        columns = [("pos_ms", {"n": n, "sched": one}) for one in (sched(ALL), WHOLE)]
        apart = table.each(lambda one, other: one - other, *columns)
        name = f"{n} to choose from: expanded beyond by track"
        checks.append(Check(name, apart, within(-1e-6, 1e-6), "ms"))
    return Found(checks)


STATEMENTS = [
    Statement(
        id="B7",
        kind=Kind.NUMBER,
        statement="Eight options on a track have most of the benefit",
        published="8 options; more add little",
        range="one track, and tracks of the disk; gate of our own: four fifths of what all gain",
        judge=at_both_sizes(most_by_eight),
        note="expected where the phase is not fixed: 87.5 %",
    ),
    Statement(
        id="B8",
        kind=Kind.NUMBER,
        statement="With one option each write goes to the same block and takes a full turn",
        published="a full rotation: 11.1 ms",
        range="one track; gate of our own: within 2 %",
        judge=at_both_sizes(full_turn),
    ),
    Statement(
        id="M5",
        kind=Kind.OWN,
        statement="Times are those of closed forms: whole steps between options, or half of one",
        published="ceil((x + o) / (T / k)) T / k on one track; T / 2k where the phase is any",
        range="one-sector writes, 1 to 16 options; within 0.1 % and 5 %",
        judge=closed_forms,
    ),
    Statement(
        id="B3",
        kind=Kind.OWN,
        statement="Expanded to all places, a queue is served as by track",
        published="inferred: the least cost is the same",
        range="one-sector writes in a group, track-sized ranges, 1 to 16 to choose from",
        judge=alike,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Time of a write to one track by options."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs).only(bytes=SECTOR)
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    panel = figure.subplots()
    panel.bar(list(OPTIONS), [mean(table, "service_ms", at(ONE_TRACK, count)) for count in OPTIONS])
    panel.set_xlabel("options on the track")
    panel.set_ylabel("time per write (ms)")
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-fig8",
    question="How many options on a track does a scheduler need?",
    source=f"{SOURCE}, figure 8",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"drive", "requests", "group_block", "track_blocks", "command_ms"}),
)
