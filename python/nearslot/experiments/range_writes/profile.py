"""The table by which a log skips, as it is measured, and power cuts at every instant of a log.

What a skip costs after a think time lies on stripes: the cheapest skip grows with the think time as
the platter turns, a track a turn, and comes back a turn later.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ... import _native
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Row, Table, counted
from ..verdict import Kind, exactly, within
from .options import Options
from .setup import SOURCE

THINKS, SKIPS = 1_601, 1_201
"""The published grid: 0 to 80 ms by 50 us, 0 to 600 KB by 512 bytes."""
STEP_US, STEP_BLOCKS = 50, 1
REPEATS = 3
EVERY = 8
"""Of the table, every eighth row and column is kept, for the figure."""
QUICK_EVERY = 4
"""A quick run measures every fourth only."""

TABLE, CUTS = "table", "power cuts"
STEPS = 2_000
TURN_US = 60e6 / 7_200
BETWEEN_US = (800, 4_000)
"""Two think times within the first turn, where the cheapest skip lies in the table."""


def cells(options: Options) -> list[Cell]:
    """The table of the journal's drive; rehearsals."""
    every = QUICK_EVERY if options.quick else 1
    asked = f"{options.journal_drive} from {options.journal_block}, {options.journal_track_blocks}"
    return [
        counted({"what": TABLE}, asked, lambda _: measured(options, every)),
        counted({"what": CUTS}, f"{STEPS} steps", rehearsed),
    ]


@cache
def measured(options: Options, every: int) -> Row:
    """The table, thinned out, and what decides on it."""
    thinks, skips = (THINKS - 1) // every + 1, (SKIPS - 1) // every + 1
    cost = _native.skip_profile(
        f"{options.journal_drive}:cache=off",
        first=options.journal_block,
        blocks=1 << 17,
        think_step_us=STEP_US * every,
        thinks=thinks,
        skip_step=STEP_BLOCKS * every,
        skips=skips,
        repeats=REPEATS,
    )
    rows = [cost[row * skips : (row + 1) * skips] for row in range(thinks)]
    cheapest = [min(range(skips), key=row.__getitem__) * STEP_BLOCKS * every for row in rows]
    first, last = (cheapest[think // (STEP_US * every)] for think in BETWEEN_US)
    span = BETWEEN_US[1] - BETWEEN_US[0]
    kept = EVERY // every
    return {
        "whole": every == 1,
        "thinks": thinks,
        "skips": skips,
        "last_think_ms": (thinks - 1) * STEP_US * every / 1e3,
        "last_skip_kb": (skips - 1) * STEP_BLOCKS * every / 2,
        "tracks_a_turn": (last - first) * TURN_US / span / options.journal_track_blocks,
        "cheapest_ms": min(cost) / 1e6,
        "dearest_ms": max(cost) / 1e6,
        "kept": [[one / 1e6 for one in row[::kept]] for row in rows[::kept]],
    }


def rehearsed(seed: int) -> Row:
    """Power cuts of one run of a log."""
    instants, lost, torn, changed = _native.rehearse_log(seed, STEPS)
    return {"instants": instants, "lost": lost, "torn": torn, "changed": changed}


def is_published(table: Table) -> Found:
    """E6."""
    row = next(row for row in table.rows if row["what"] == TABLE)
    entries = row["thinks"] * row["skips"]
    turn = "by how much the cheapest skip grows in a turn"
    checks = [
        exactly("longest think time", row["last_think_ms"], within(80, 80), "ms"),
        exactly("longest skip", row["last_skip_kb"], within(600, 600), "KB"),
        exactly(turn, row["tracks_a_turn"], within(0.95, 1.05), "tracks"),
    ]
    if row["whole"]:
        checks.append(exactly("entries", entries, within(THINKS * SKIPS, THINKS * SKIPS)))
    ms = f"from {row['cheapest_ms']:.2f} to {row['dearest_ms']:.2f} ms"
    return Found(checks, f"{row['thinks']} by {row['skips']} entries, {ms}")


def nothing_lost(table: Table) -> Found:
    """E7."""
    rows = [row for row in table.rows if row["what"] == CUTS]
    of = {key: sum(row[key] for row in rows) for key in ("instants", "lost", "torn", "changed")}
    return Found(
        [
            exactly("blocks lost", of["lost"], within(0, 0)),
            exactly("scans that found something else than the first", of["changed"], within(0, 0)),
        ],
        f"{of['instants']} instants, {of['torn']} torn blocks in scans",
    )


STATEMENTS = [
    Statement(
        id="E6",
        kind=Kind.NUMBER,
        statement="The table has 0 to 80 ms by 50 us and 0 to 600 KB by 512 bytes, of 4-KB writes",
        published="1,601 by 1,201 entries (inferred)",
        range="the journal's drive, write cache off; its cheapest skip follows the platter",
        judge=is_published,
    ),
    Statement(
        id="E7",
        kind=Kind.OWN,
        statement="After a power cut the newest version of each block that was answered is back",
        published="rule of our own: a scan, and the highest sequence number",
        range="power cuts before and in the midst of every sector, which land in any order",
        judge=nothing_lost,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """What a skip costs after a think time."""
    from matplotlib.figure import Figure

    row = next(row for row in outcome.runs if row["what"] == TABLE)
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panel = figure.subplots()
    columns = list(zip(*row["kept"], strict=True))
    reach = (0, row["last_think_ms"], 0, row["last_skip_kb"])
    image = panel.imshow(columns, origin="lower", aspect="auto", extent=reach, cmap="viridis")
    panel.set_xlabel("think time (ms)")
    panel.set_ylabel("skip (KB)")
    figure.colorbar(image, label="time of the write (ms)")
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-profile",
    question="What does a skip cost after a think time, and does a log that skips come back?",
    source=f"{SOURCE}, section 6",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"journal_drive", "journal_block", "journal_track_blocks"}),
)
