"""Modern back ends: appends to zones, and first fit over drives that know no range writes.

That nobody writes where another one does, over all back ends, is decided by the suite of the
engine, which has its own account of every block; here whole runs say the same of themselves.
"""

from __future__ import annotations

from ...errors import ConfigError
from ...running import compare
from ...runs import Run
from ...scenario import Scenario, part
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table, counted, simulated
from ..verdict import Check, Kind, Where, above, at_least, at_most, exactly, within
from .options import Options
from .setup import BLOCK, PLACE, SECTOR, SOURCE, SPANS, TRACK, cell, drive, load

ZONE, SPAN, LIMIT = 1_024, 8_192, 64
"""Blocks of a zone, of all zones that are written, and of an append."""

HOST, CHOOSES, FLASH = "disk", "disk that chooses", "flash"
DRIVES = (HOST, CHOOSES, FLASH)
FLASH_DRIVE = "sata-tlc-500gb:precondition=empty:cache=off"
"""A write cache would tell the ends of writes in order."""

DEPTHS = (1, 16, 64)
CHOICES = (1, 16)
FIRST = "first_fit"
ZONED = "zones"


def on(options: Options, name: str) -> str:
    """A drive with zones."""
    of = {
        HOST: options.drive,
        CHOOSES: f"{options.drive}:queue_depth=16",
        FLASH: FLASH_DRIVE,
    }
    return f"{of[name]}:zone_blocks={ZONE}:append_max_blocks={LIMIT}"


def appends(options: Options, *, size: int = 2 * BLOCK, **knobs: object) -> str:
    """Writes that offer all zones of a span, and reads of what was written."""
    chosen = {
        "within": "span",
        "span_blocks": SPAN,
        "size": size,
        "align_blocks": 1,
        "requests": options.requests,
        **knobs,
    }
    return part("ranges", **{key: str(value) for key, value in chosen.items()})


def counts(run: Run) -> Row:
    """What a run tells of its writes, and of what its drive refused."""
    of_drive = run.measures.get("drive", {})
    writes = run.operations["write"]
    return {
        "writes": writes,
        "failed": sum(run.failed.values()),
        "refused": of_drive.get("zone_refused", 0),
        "resets": of_drive.get("zone_resets", 0),
        "overtakes": of_drive.get("zone_overtakes", 0),
        "commands": of_drive.get("zone_writes", 0) / writes,
    }


def cells(options: Options) -> list[Cell]:
    """All back ends and depths; both sides of the limit; first fit against classic writes."""
    found = []
    for name in DRIVES:
        where = on(options, name)
        for depth in DEPTHS:
            word = appends(options, depth=depth, read_share=0.5)
            scenario = Scenario(workload=word, drive=where, sched="satf")
            found.append(simulated({"on": name, "depth": depth}, scenario, counts))
        word = appends(options, size=LIMIT * SECTOR, depth=16)
        scenario = Scenario(workload=word, drive=where, sched="satf")
        found.append(simulated({"on": name, "limit": "at"}, scenario, counts))
        word = appends(options, size=(LIMIT + 1) * SECTOR, depth=16)
        found.append(beyond(name, Scenario(workload=word, drive=where, sched="satf")))
    plain = {HOST: drive(options), FLASH: FLASH_DRIVE, ZONED: on(options, HOST)}
    for name, where in plain.items():
        for depth in DEPTHS:
            word = appends(options, depth=depth)
            scenario = Scenario(workload=word, drive=where, sched=FIRST)
            found.append(simulated({"fit": name, "depth": depth}, scenario, counts))
    for span in SPANS:
        for n in CHOICES:
            for around, sched in ((PLACE, "satf"), (TRACK, FIRST), (TRACK, "satf")):
                word = load(
                    options, span=span, within=around, size=SECTOR, depth=n, refill="before"
                )
                marks = {"span": span, "within": around, "n": n, "sched": sched}
                found.append(cell(marks, word, drive(options), sched))
    return found


def beyond(name: str, scenario: Scenario) -> Cell:
    """A load whose writes are a block longer than the drive appends."""
    marks = {"on": name, "limit": "beyond"}
    return counted(marks, scenario.to_toml(), lambda _seed: {"accepted": accepted(scenario)})


def accepted(scenario: Scenario) -> int:
    """Whether such writes are begun at all."""
    try:
        compare(scenario)
    except ConfigError as error:
        if "splits none" not in str(error):
            raise
        return 0
    return 1


def none(table: Table, key: str, name: str, where: Where) -> Check:
    """Nothing of a kind happened at a point, under any seed."""
    found = sum(table.by_seed(key, **where).values())
    return exactly(name, found, within(0, 0))


def told_at_the_end(table: Table) -> Found:
    """F1."""
    checks, told = [], []
    for name in DRIVES:
        for depth in DEPTHS:
            where = {"on": name, "depth": depth}
            checks.append(none(table, "failed", f"{name}, {depth}: failed", where))
            checks.append(none(table, "refused", f"{name}, {depth}: refused", where))
            resets = table.mean("resets", **where)
            checks.append(Check(f"{name}, {depth}: resets", resets, above(0)))
            told.append(f"{name}, {depth}: {resets.value:.0f}")
    return Found(checks, f"zones that were reset: {'; '.join(told)}")


def in_one_piece(table: Table) -> Found:
    """F2."""
    checks = []
    for name in DRIVES:
        at = {"on": name, "limit": "at"}
        commands = table.mean("commands", **at)
        checks.append(Check(f"{name}: commands of a write at the limit", commands, within(0.9, 1)))
        checks.append(none(table, "failed", f"{name}: failed at the limit", at))
        longer = {"on": name, "limit": "beyond"}
        checks.append(none(table, "accepted", f"{name}: begun beyond the limit", longer))
    return Found(checks)


def reordered(table: Table) -> Found:
    """F3."""
    checks, told = [], []
    for depth in DEPTHS:
        where = {"on": FLASH, "depth": depth}
        share = table.each(
            lambda overtakes, writes: overtakes / writes, ("overtakes", where), ("writes", where)
        )
        checks.append(none(table, "failed", f"{depth}: failed", where))
        told.append(f"{share.value:.1%} with {depth}")
    checks.append(Check(f"{depth}: share that overtook", share, at_least(0.01)))
    return Found(checks, f"appends that ended before an older one of their zone: {', '.join(told)}")


def fits(table: Table) -> Found:
    """F5."""
    checks = []
    for name in (HOST, FLASH, ZONED):
        for depth in DEPTHS:
            where = {"fit": name, "depth": depth}
            checks.append(none(table, "failed", f"{name}, {depth}: failed", where))
            checks.append(none(table, "refused", f"{name}, {depth}: refused", where))
    return Found(checks)


def no_slower(table: Table) -> Found:
    """A7."""
    checks, told = [], []
    for span in SPANS:
        for n in CHOICES:
            at = {"span": span, "n": n}
            classic, first, best = (
                {**at, "within": around, "sched": sched}
                for around, sched in ((PLACE, "satf"), (TRACK, FIRST), (TRACK, "satf"))
            )
            lead = table.lead("sum_ms", first, classic)
            checks.append(Check(f"{span}, {n}: first fit beyond classic", lead, at_most(0.03)))
            times = (table.mean("sum_ms", **where).value for where in (classic, first, best))
            told.append(f"{span}, {n}: " + ", ".join(f"{time:.2f}" for time in times))
            checks.append(none(table, "failed", f"{span}, {n}: failed", first))
    return Found(checks, f"ms classic, first fit, nearest: {'; '.join(told)}")


STATEMENTS = [
    Statement(
        id="F1",
        kind=Kind.OWN,
        statement="An append is told its place at its end, and all land at pointers",
        published="zone append, NVM Express; none is refused or lost",
        range="disks and flash, 1 to 64 in flight, half reads; every zone is used again",
        judge=told_at_the_end,
        note="the suite of the engine (tests/it/ranges/zoned.rs) has an account of every block",
    ),
    Statement(
        id="F2",
        kind=Kind.OWN,
        statement="The limit of an append is kept, and no payload is split",
        published="zone append size limit, NVM Express",
        range=f"writes of {LIMIT} blocks, which is the limit, and of one more",
        judge=in_one_piece,
    ),
    Statement(
        id="F3",
        kind=Kind.OWN,
        statement="Appends of one zone end in another order than they began, and nothing is lost",
        published="appends tolerate reordering",
        range="flash without a write cache, 64 in flight, half reads; gate of our own: 1 %",
        judge=reordered,
    ),
    Statement(
        id="F5",
        kind=Kind.OWN,
        statement="First fit serves range writes on drives that know none",
        published="our own rule",
        range="disk, flash, and the zones of a disk, 1 to 64 in flight",
        judge=fits,
    ),
    Statement(
        id="A7",
        kind=Kind.OWN,
        statement="A drive that takes the first place offered is no slower than without ranges",
        published="the minimum implementation; no number",
        range="one-sector writes, track-sized ranges, 1 and 16 to choose from; within 3 %, our own",
        judge=no_slower,
    ),
]

EXPERIMENT = Experiment(
    name="rw-zones",
    question="What do drives with zones, and drives that ignore the freedom, do with range writes?",
    source=f"{SOURCE}, its minimum implementation; NVM Express, zone append",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"drive", "requests", "group_block", "command_ms"}),
)
