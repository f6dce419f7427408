"""The disk experiments in one place: spans, ranges, models of the drive, and what runs tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...runs import Run
from ...scenario import Scenario, part
from ..statement import Found
from ..table import Cell, Row, Table, simulated
from ..verdict import ClaimVerdict, Gate, Mean, Where, exactly, within
from .options import Options

SOURCE = (
    "Anand, Sen, Krioukov, Popovici, Akella, Arpaci-Dusseau, Arpaci-Dusseau and Banerjee, Avoiding "
    "File System Micromanagement with Range Writes, OSDI 2008"
)

SECTOR, BLOCK = 512, 4_096
"""Sizes of writes in bytes: the paper does not say which it had."""
SIZES = (SECTOR, BLOCK)

DISK, GROUP, MIDDLE = "disk", "group", "middle group"
SPANS = (DISK, GROUP)
GROUP_BLOCKS = 4_096

PLACE, TRACK = "place", "track"
RANGES = (PLACE, TRACK, GROUP)
"""How far around its target a write may land: nowhere else is a classic write."""

REVOLUTION_MS = 60_000 / 5_400

MECHANICS, IN_A_ROW, COMPLETE = "mechanics", "costs in a row", "complete"
MODELS = (MECHANICS, IN_A_ROW, COMPLETE)
"""Arm and platters alone; with all costs of its electronics before the arm; with its electronics.

The last one overlaps these costs with each other and with the arm.
"""


def drive(options: Options, model: str = MECHANICS, size: int = SECTOR) -> str:
    """The drive of the paper; spare sectors are left out, as in the independent model."""
    if model == COMPLETE:
        return f"{options.drive}:model=complete:layout=ideal"
    in_a_row = options.fixed_ms + size // SECTOR * options.bus_ms
    overhead = options.command_ms if model == MECHANICS else round(in_a_row, 6)
    return f"{options.drive}:model=mechanical:layout=ideal:overhead_ms={overhead}"


def load(options: Options, *, span: str = GROUP, within: str, size: int, **knobs: object) -> str:
    """Random writes of a span, of one size and aligned to it, each with a range to land in."""
    begin, blocks = {
        DISK: (0, 0),
        GROUP: (options.group_block, GROUP_BLOCKS),
        MIDDLE: (options.middle_block, GROUP_BLOCKS),
    }[span]
    if within == GROUP:
        within = str(GROUP_BLOCKS) if span == DISK else "span"
    chosen = {
        "at_block": begin,
        "span_blocks": blocks,
        "within": within,
        "size": size,
        "align_blocks": size // SECTOR,
        "requests": options.requests,
        **knobs,
    }
    return part("ranges", **{key: str(value) for key, value in chosen.items()})


def numbers(run: Run) -> Row:
    """What a run tells of its mean write."""
    positioning = run.seek_ms + run.rotation_ms
    return {
        "seek_ms": run.seek_ms,
        "rotation_ms": run.rotation_ms,
        "transfer_ms": run.transfer_ms,
        "pos_ms": positioning,
        "sum_ms": positioning + run.transfer_ms,
        "service_ms": run.service_ms.mean,
        "failed": sum(run.failed.values()),
    }


def cell(marks: Where, word: str, on: str, sched: str = "satf") -> Cell:
    """A point of a grid: a load on a drive."""
    return simulated(marks, Scenario(workload=word, drive=on, sched=sched), numbers)


def choosing(
    options: Options, *, span: str, within: str, n: int, size: int, **knobs: object
) -> Cell:
    """Writes of which the drive has `n` to choose from, whenever it chooses."""
    word = load(options, span=span, within=within, size=size, depth=n, refill="before", **knobs)
    marks = {"span": span, "within": within, "n": n, "bytes": size, **knobs}
    return cell(marks, word, drive(options))


def ratio(table: Table, key: str, one: Where, other: Where) -> Mean:
    """How many times as large a number is at one point as at another, seed by seed."""
    return table.each(lambda above, below: above / below, (key, one), (key, other))


def less(table: Table, key: str, one: Where, other: Where) -> Mean:
    """By how much a number of one point is above that of another, seed by seed."""
    return table.each(lambda above, below: above - below, (key, one), (key, other))


def like(of_model: float) -> Gate:
    """Within a tenth of a number of the independent model, of which only so many digits are known.

    None of its numbers ends with a 0 that counts, so the digits that are written are those known.
    """
    decimals = len(f"{of_model:g}".partition(".")[2])
    rounding = 0.5 * 0.1 ** max(decimals, 1)
    return within(0.9 * (of_model - rounding), 1.1 * (of_model + rounding))


def side_by_side(table: Table, key: str, where: Where, model: float) -> str:
    """A number, that of the independent model, and their ratio."""
    found = table.mean(key, **where).value
    return f"{found:.2f} to {model:g} ({found / model:.2f})"


def at_both_sizes(judge: Callable[[Table], Found]) -> Callable[[Table], Found]:
    """Decides on writes of one sector, as the independent model has them, and tells of 4 KiB."""

    def judged(table: Table) -> Found:
        found = judge(table.only(bytes=SECTOR))
        large = judge(table.only(bytes=BLOCK))
        against = [check for check in large.checks if check.verdict is not ClaimVerdict.HOLDS]
        parts = against or list(large.checks[:2])
        told = large.told or "; ".join(check.told() for check in parts)
        extra = "; ".join(check.told() for check in against) if large.told and against else ""
        words = "; ".join(filter(None, (told, extra)))
        return replace(found, outside=f"with writes of 4 KiB it {says(large)}: {words}")

    return judged


def says(found: Found) -> str:
    """A verdict in a sentence."""
    undecided = found.verdict is ClaimVerdict.UNDECIDED
    return "is undecided" if undecided else str(found.verdict.value)


def landed(table: Table) -> Found:
    """A9 in these runs: none is told that others have taken all that it offered."""
    failed = sum(row["failed"] for row in table.rows)
    return Found([exactly("writes that failed", failed, within(0, 0))])
