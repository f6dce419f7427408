"""Each claim of the study is decided on numbers that are as published, and each fault is seen.

No engine runs. Numbers are those of the text and of the independent model. A fault makes of some
points what they would be if ranges, the queue or the drive were not what they are said to be;
`test_figures.py` plants such faults in real runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from claims import SEEDS, Claims, ClaimTests, Fault, scaled
from nearslot.experiments import ClaimVerdict
from nearslot.experiments.range_writes import (
    STUDY,
    allocator,
    best,
    fig4_6,
    fig7,
    fig8,
    fig11,
    files,
    files_today,
    journal,
    model,
    overwrites,
    profile,
    reread,
    setup,
    table2,
    targets,
    today,
    zones,
)
from nearslot.experiments.range_writes.setup import DISK, GROUP, PLACE, TRACK
from nearslot.experiments.table import Row, Table


def seeded(rows: Iterable[Row]) -> Table:
    """Rows for some seeds, whose times differ by a thousandth unless they are exact."""
    found = []
    for row in rows:
        for seed in SEEDS:
            noise = 1.0 if row.get("exact") else 1 + (seed - 2) * 1e-3
            times = {key: of * noise for key, of in row.items() if key.endswith("_ms")}
            found.append({**row, **times, "seed": seed})
    return Table(found)


def write(marks: dict[str, Any], seek: float, rotation: float, transfer: float = 0.12) -> Row:
    """A point."""
    return {
        **marks,
        "seek_ms": seek,
        "rotation_ms": rotation,
        "transfer_ms": transfer,
        "pos_ms": seek + rotation,
        "sum_ms": seek + rotation + transfer,
        "service_ms": seek + rotation + transfer + 0.64,
        "failed": 0,
    }


def of_queues() -> list[Row]:
    """Figures 4 to 6 as in the independent model; where it has no number, that of fewer."""
    queues = {**model.QUEUES, (GROUP, GROUP): {1: (0.0, 0.05)}}
    queues[DISK, GROUP] = {**queues[DISK, GROUP], 64: (5.4, 0.06)}
    middle = {PLACE: (3.31, 5.56), TRACK: (3.3, 0.07), GROUP: (0.0, 0.02)}
    rows = []
    for size in setup.SIZES:
        for (span, around), parts in queues.items():
            transfer = 0.14 if span == DISK else 0.12
            for n in fig4_6.CHOICES:
                known = parts[max(one for one in parts if one <= n)]
                marks = {"span": span, "within": around, "n": n, "bytes": size}
                rows.append(write(marks, *known, transfer))
            if around == PLACE:
                for depth in fig4_6.FEW:
                    few = {"span": span, "outstanding": depth, "bytes": size}
                    rows.append(write(few, *parts[1], transfer))
        for around, known in middle.items():
            marks = {"span": setup.MIDDLE, "within": around, "n": 1, "bytes": size}
            rows.append(write(marks, *known, 0.13))
    return rows


def of_targets() -> list[Row]:
    """The model's positioning, with what makes the two times of the text of it."""
    rows = []
    for size in setup.SIZES:
        for around, values in model.OF_TARGETS.items():
            for count, positioning in zip(model.TARGETS, values, strict=True):
                rotation = positioning * (0.6 if around == PLACE else 0.1)
                marks = {"within": around, "targets": count, "bytes": size}
                of = {**marks, "model": setup.MECHANICS}
                rows.append(write(of, positioning - rotation, rotation))
                if count in targets.ENDS:
                    for kind in (setup.COMPLETE, setup.IN_A_ROW):
                        row = write({**marks, "model": kind}, positioning - rotation, rotation)
                        rows.append({**row, "service_ms": positioning + 3.4})
    return rows


def of_reads() -> list[Row]:
    """Figure 7 as in the independent model."""
    return [
        write({"n": n, "within": around, "read_share": share, "bytes": size}, positioning, 0.0)
        for size in setup.SIZES
        for (n, around), values in model.OF_READS.items()
        for share, positioning in zip(fig7.SHARES, values, strict=True)
    ]


def of_options() -> list[Row]:
    """Figure 8 by its closed forms."""
    rows = []
    beside = 0.12 + 0.64
    for size in setup.SIZES:
        for count, took in zip(fig8.OPTIONS, (1, 1 / 2, 1 / 4, 1 / 8, 1 / 8, 0.07), strict=True):
            turn = setup.REVOLUTION_MS
            marks = {"options": count, "bytes": size}
            rotation = took * turn - beside
            row = write({**marks, "on": fig8.ONE_TRACK, "exact": True}, 0.0, rotation)
            rows.append(row)
            half = 0.07 if count == fig8.ALL else turn / 2 / int(count)
            rows.append(write({**marks, "on": fig8.ANY_PHASE}, 11.4, half))
    for n in fig8.CHOICES:
        for sched in (fig8.WHOLE, fig8.sched(fig8.ALL)):
            rows.append(write({"n": n, "sched": sched, "bytes": setup.SECTOR}, 2.0, 0.05))
    return rows


def of_best() -> list[Row]:
    """Three times at best."""
    took = {PLACE: 12.3, TRACK: 5.0, GROUP: 4.0}
    return [
        {
            **write(
                {"model": kind, "bytes": size, "span": span, "within": around, "n": n}, 0.0, 0.0
            ),
            "service_ms": took[around],
        }
        for kind in best.KINDS
        for size in setup.SIZES
        for span in setup.SPANS
        for around in setup.RANGES
        for n in best.CHOICES
    ]


def of_today() -> list[Row]:
    """Nothing is published."""
    return [
        write({"model": kind, "span": span, "within": around, "n": n}, 1.0, 1.0)
        for kind in (today.MECHANICS, today.COMPLETE)
        for span in today.SPANS
        for around in setup.RANGES
        for n in today.CHOICES
    ]


def transactions(marks: dict[str, Any], a_second: float, **more: object) -> Row:
    """A point of the journal."""
    row = {"tps": a_second, "transaction_ms": 1e3 / a_second, "read_share": 0.33, "failed": 0}
    return {**marks, **row, **more}


def of_journal() -> list[Row]:
    """The published speed-ups, a null journal a little above them, and what is not published."""
    speed = {
        journal.CACHED: {journal.NONE: 40.0, journal.PROFILE: 64.8, journal.NULL: 68.0},
        journal.UNCACHED: {journal.NONE: 30.0, journal.PROFILE: 36.0, journal.NULL: 37.0},
    }
    rows = []
    for tables, ways in speed.items():
        for way, a_second in ways.items():
            for clients in journal.CLIENTS:
                marks = {"on": journal.OWN, "tables": tables, "clients": clients, "way": way}
                rows.append(transactions(marks, a_second))
            rows.append(transactions({"on": journal.ORDERED, "tables": tables, "way": way}, 9.0))
    for row in rows:
        if row["on"] == journal.ORDERED and row["way"] == journal.NULL:
            row["tps"] = 12.0
    for wait in journal.WAITS_US:
        rotation = journal.TURN_MS - wait / 1e3
        marks = {"on": journal.OWN, "wait_us": wait}
        rows.append(transactions(marks, 40.0, commit_block_rotation_ms=rotation))
    for way in journal.ALL_WAYS:
        for tables in journal.TABLES:
            marks = {"on": journal.SAME, "tables": tables, "way": way}
            rows.append(transactions(marks, 20.0))
        for where in ({}, {"drive": journal.MODERN, "reach": ""}):
            rows.append(transactions({"on": journal.ALONE, "way": way, **where}, 60.0))
    for cache in (journal.FORCED, journal.FREE):
        for way in (journal.NONE, journal.PROFILE):
            marks = {"on": journal.OWN, "cache": cache, "way": way}
            rows.append(transactions(marks, 40.0))
    size = journal.SMALL_JOURNAL
    marks = {"on": journal.OWN, "journal": size, "way": journal.PROFILE}
    rows.append(transactions(marks, 60.0, free_blocks=size, log_wraps=11, cut_writes=0))
    return rows


def of_profile() -> list[Row]:
    """The published grid, whose cheapest skip goes around with the platter; nothing lost."""
    table = {
        "what": profile.TABLE,
        "exact": True,
        "whole": True,
        "thinks": profile.THINKS,
        "skips": profile.SKIPS,
        "last_think_ms": 80.0,
        "last_skip_kb": 600.0,
        "tracks_a_turn": 1.0,
        "cheapest_ms": 0.1,
        "dearest_ms": 8.4,
    }
    cuts = {"what": profile.CUTS, "instants": 5_000, "lost": 0, "torn": 900, "changed": 0}
    return [table, cuts]


RANGED = (files.MINI, files.GROUP)


def of_groups() -> list[Row]:
    """Figures 9 and 10: nothing gained by one process, half of the time by several."""
    rows = []
    for count in (files.ONE, files.SEVERAL):
        for way in files.WAYS:
            gains = count == files.SEVERAL and way in RANGED
            took = 2.0 * count / (2.0 if gains else 1.0)
            row = write({"way": way, "processes": count}, took, took)
            spread = 1_000 / count
            minis = {name: spread if at < count else 0.0 for at, name in enumerate(files.MINIS)}
            rows.append({**row, **minis, "work_s": took, "files": 1_000, "data_writes": 1_007})
            if way in RANGED:
                rows[-1]["offered"] = 1_006
    return rows


def of_fills() -> list[Row]:
    """Figure 11: a fifth better from half full on, and 70 % slower in the end."""
    rows = []
    for fill in fig11.FILLS:
        ranged = 2.0 * (1 + 0.7 * fill / fig11.FULLEST)
        for way in files.WAYS:
            took = ranged if way in RANGED else ranged * (1.2 if fill else 1.0)
            rows.append({"way": way, "fill": fill, "work_s": took})
    return rows


def of_benchmarks() -> list[Row]:
    """Table 2."""
    rows = []
    for work, (classic, ranged) in table2.PUBLISHED.items():
        for cache in table2.CACHES_KIB:
            for way in files.WAYS:
                took = ranged if way in RANGED else classic
                marks = {"work": work, "cache_kib": cache, "way": way}
                rows.append({**marks, "work_s": took, "metadata_writes": 100})
    return rows


def of_rereads() -> list[Row]:
    """Nobody is slower."""
    return [
        {
            "model": kind,
            "size_kib": size,
            "fill": fill,
            "way": way,
            "reread_s": 3.0,
            "pieces": 100,
        }
        for kind in (setup.COMPLETE, setup.MECHANICS)
        for size in reread.SIZES_KIB
        for fill in (reread.EMPTY, reread.HALF)
        for way in files.WAYS
    ]


def of_files_today() -> list[Row]:
    """Nothing is published."""
    return [
        {"load": name, "way": way, "work_s": 1.0}
        for name in files_today.LOADS
        for way in files.WAYS
    ]


def of_zones() -> list[Row]:
    """All back ends keep the rules."""
    kept = {"writes": 3_000, "failed": 0, "refused": 0, "resets": 12, "commands": 0.98}
    rows = []
    for name in zones.DRIVES:
        for depth in zones.DEPTHS:
            overtakes = 200 if name == zones.FLASH and depth > 1 else 0
            rows.append({"on": name, "depth": depth, **kept, "overtakes": overtakes})
        rows.append({"on": name, "limit": "at", **kept})
        rows.append({"on": name, "limit": "beyond", "accepted": 0})
    for name in (zones.HOST, zones.FLASH, zones.ZONED):
        rows += [{"fit": name, "depth": depth, **kept} for depth in zones.DEPTHS]
    for span in setup.SPANS:
        for n in zones.CHOICES:
            for around, sched in ((PLACE, "satf"), (TRACK, zones.FIRST), (TRACK, "satf")):
                marks = {"span": span, "within": around, "n": n, "sched": sched}
                rows.append(write(marks, 3.0, 5.5))
    return rows


def of_overwrites() -> list[Row]:
    """Each step to a wider offer makes writes sooner and reads longer."""
    costs = {
        overwrites.LINEAR: (9.0, 1.0),
        overwrites.TRACK: (5.0, 1.5),
        overwrites.MIB_1: (5.0, 1.6),
        overwrites.MIB_8: (4.0, 2.0),
        overwrites.MIB_128: (3.0, 4.0),
        overwrites.DISK: (2.0, 8.0),
        overwrites.EAGER: (2.0, 8.0),
    }
    return [
        {
            "on": on,
            "share": share,
            "depth": depth,
            **overwrites.at(way, dilution, reader),
            "write_ms": write,
            "writes_s": write,
            "read_s": read,
            "read_mb_s": 1 / read,
            "pieces": 1.0,
            "failed": 0,
        }
        for on in overwrites.PART_MIB
        for share in (overwrites.UNTOUCHED, *overwrites.SHARES)
        for depth in overwrites.DEPTHS
        for way, (write, read) in costs.items()
        for dilution in (overwrites.TIGHT, overwrites.LOOSE)
        if way != overwrites.LINEAR or dilution == overwrites.TIGHT
        for reader in overwrites.READS
    ]


def of_allocators() -> list[Row]:
    """Seconds and waits of ways as they should be: ours is quickest, and reads as classic does."""
    costs = {
        allocator.OURS: (4.0, 2.0, 2.0),
        allocator.PAPER: (5.0, 2.5, 2.5),
        allocator.CLASSIC: (6.0, 3.0, 2.0),
        allocator.JOINED: (4.5, 2.2, 2.0),
    }
    return [
        {
            **where,
            "way": way,
            "work_s": work,
            "waited_ms": waited,
            "reread_s": read,
            "failed": 0,
        }
        for kept in (True, False)
        for _, where in allocator.points(kept=kept)
        for way, (work, waited, read) in costs.items()
    ]


def of_cell(key: str, by: float, way: str, *, kept: bool) -> Fault:
    """A number of one cell of a half is so many times as large."""
    halves = [where for _, where in allocator.points(kept=kept) if allocator.is_read(where)]
    return scaled(key, by, way=way, **halves[-1])


TABLES = {
    "rw-allocator": of_allocators,
    "rw-overwrites": of_overwrites,
    "rw-journal": of_journal,
    "rw-profile": of_profile,
    "rw-fig9-10": of_groups,
    "rw-fig11": of_fills,
    "rw-table2": of_benchmarks,
    "rw-reread": of_rereads,
    "rw-files-today": of_files_today,
    "rw-fig4-6": of_queues,
    "rw-targets": of_targets,
    "rw-fig7": of_reads,
    "rw-fig8": of_options,
    "rw-best": of_best,
    "rw-today": of_today,
    "rw-zones": of_zones,
}
CLAIMS = Claims(study=STUDY, tables=TABLES, seeded=seeded)


def as_if(where: dict[str, object], **marks: object) -> Fault:
    """Some points have the numbers that others have, whose marks differ in these."""
    numbers = ("_ms", "failed")

    def of(row: Row) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted(item for item in row.items() if not item[0].endswith(numbers)))

    def fault(rows: list[Row]) -> None:
        before = {of(row): dict(row) for row in rows}
        for row in rows:
            if all(row.get(mark) == value for mark, value in where.items()):
                if not marks.keys() <= row.keys():
                    continue
                other = before[of({**row, **marks})]
                row.update({key: one for key, one in other.items() if key.endswith(numbers)})

    return fault


def exchanged(one: str, other: str) -> Fault:
    """Overwrites of one way are taken for those of another."""
    names = {one: other, other: one}

    def fault(rows: list[Row]) -> None:
        for row in rows:
            if row["way"] in names and row["dilution"] != overwrites.LOOSE:
                row.update(overwrites.at(names[row["way"]], reader=row["reader"]))

    return fault


CLASSIC = as_if({"within": TRACK}, within=PLACE)
"""A range is not offered: `within=place` in place of its track."""
SEES_ONE = as_if({}, n=1)
"""The scheduler sees one request, or goes by arrival."""
NO_TARGETS = as_if({}, targets=1)
"""One of all targets is used."""

FAULTS: list[tuple[str, Fault]] = [
    ("C1", scaled("pos_ms", 0.1, outstanding=2)),
    ("C2", SEES_ONE),
    ("C2", scaled("pos_ms", 0.1, n=64, span=GROUP)),
    ("C2", scaled("pos_ms", 3.0, n=64, span=DISK)),
    ("C3", as_if({"within": PLACE}, within=TRACK)),
    ("C3", scaled("seek_ms", 3.0, span=GROUP)),
    ("C4", scaled("pos_ms", 0.8, outstanding=2)),
    ("C4", scaled("pos_ms", 1.2, outstanding=2)),
    ("C5", CLASSIC),
    ("C6", CLASSIC),
    ("C6", as_if({"within": TRACK, "span": GROUP}, within=GROUP)),
    ("C7", SEES_ONE),
    ("C7", CLASSIC),
    ("C8", scaled("pos_ms", 0.9, span=DISK, within=GROUP)),
    ("C9", as_if({"within": GROUP}, within=TRACK)),
    ("C9", as_if({"within": GROUP}, within=PLACE)),
    ("M1", CLASSIC),
    ("M1", SEES_ONE),
    ("M2", scaled("sum_ms", 1.3, span=setup.MIDDLE)),
    ("A9", lambda rows: rows[0].update(failed=1)),
    ("C10", scaled("service_ms", 0.9, within=PLACE, model=setup.COMPLETE)),
    ("C11", NO_TARGETS),
    ("C11", scaled("service_ms", 1.5, within=targets.LONG, model=setup.COMPLETE)),
    ("C12", scaled("service_ms", 0.8, within=PLACE, model=setup.COMPLETE)),
    ("C12", scaled("service_ms", 0.5, within=targets.LONG, model=setup.COMPLETE)),
    ("C13", NO_TARGETS),
    ("C13", scaled("rotation_ms", 3.0, targets=64)),
    ("C14", NO_TARGETS),
    ("C14", as_if({"within": targets.LONG, "model": setup.MECHANICS}, within=PLACE)),
    ("M3", NO_TARGETS),
    ("X1", scaled("service_ms", 2.0, within=targets.LONG, model=setup.COMPLETE)),
    ("C15", CLASSIC),
    ("C15", scaled("sum_ms", 0.9, within=TRACK, read_share=1.0)),
    ("C16", CLASSIC),
    ("C17", SEES_ONE),
    ("M4", CLASSIC),
    ("B7", as_if({"options": "8"}, options="2")),
    ("B8", scaled("service_ms", 0.5, on=fig8.ONE_TRACK, options="1")),
    ("M5", as_if({"options": "4"}, options="2")),
    ("M5", scaled("service_ms", 1.01, on=fig8.ONE_TRACK)),
    ("B3", scaled("pos_ms", 1.001, sched=fig8.WHOLE)),
    ("C18", as_if({}, within=PLACE)),
    ("E1", scaled("commit_block_rotation_ms", 0.8, wait_us=500)),
    ("E1", scaled("commit_block_rotation_ms", 1.2, wait_us=200)),
    ("E2", scaled("tps", 1.2, way=journal.PROFILE, tables=journal.UNCACHED)),
    ("E2", scaled("tps", 0.9, way=journal.PROFILE, tables=journal.UNCACHED)),
    ("E3", scaled("tps", 0.8, way=journal.PROFILE, tables=journal.CACHED)),
    ("E4", scaled("tps", 1.3, way=journal.NULL, tables=journal.CACHED)),
    ("E4", scaled("tps", 1.1, way=journal.NULL, tables=journal.UNCACHED)),
    ("E5", scaled("free_blocks", 0.9, journal=journal.SMALL_JOURNAL)),
    ("E5", scaled("log_wraps", 0.5, journal=journal.SMALL_JOURNAL)),
    ("E5", lambda rows: rows[0].update(failed=1)),
    ("E6", scaled("last_think_ms", 0.5, what=profile.TABLE)),
    ("E6", scaled("last_skip_kb", 0.5, what=profile.TABLE)),
    ("E6", scaled("tracks_a_turn", 1.1, what=profile.TABLE)),
    ("E6", scaled("skips", 2, what=profile.TABLE)),
    ("E7", lambda rows: rows[1].update(lost=1)),
    ("E7", lambda rows: rows[1].update(changed=1)),
    ("D1", scaled("work_s", 0.8, way=files.MINI)),
    ("D2", scaled("work_s", 1.8, way=files.MINI)),
    ("D2", scaled("seek_ms", 3.0, way=files.MINI)),
    ("D3", scaled("mini_0", 9.0, way=files.MINI, processes=files.SEVERAL)),
    ("D4", scaled("work_s", 1.15, way=files.MINI, fill=fig11.HALF)),
    ("D5", scaled("work_s", 1.15, way=files.MINI, fill=0.7)),
    ("D5", scaled("work_s", 0.5, fill=0.8)),
    ("D6", scaled("work_s", 2.0, fill=fig11.EMPTY)),
    ("D7", scaled("work_s", 1.1, way=files.MINI)),
    ("D8", scaled("work_s", 1.3, way=files.MINI)),
    ("D9", scaled("work_s", 0.9, way=files.MINI)),
    ("D10", scaled("offered", 1.01)),
    ("D10", scaled("offered", 0.5)),
    ("L1", of_cell("work_s", 1.3, allocator.OURS, kept=True)),
    ("L2", scaled("work_s", 1.2, way=allocator.OURS)),
    ("L3", of_cell("waited_ms", 1.3, allocator.OURS, kept=True)),
    ("L4", of_cell("reread_s", 1.3, allocator.OURS, kept=True)),
    ("L5", of_cell("reread_s", 1.05, allocator.OURS, kept=True)),
    ("O1", exchanged(overwrites.TRACK, overwrites.MIB_8)),
    ("O1", exchanged(overwrites.LINEAR, overwrites.TRACK)),
    ("O1", scaled("write_ms", 1.6, way=overwrites.DISK, depth=1, on=overwrites.TODAY)),
    ("O1", lambda rows: rows[0].update(failed=1)),
    ("O2", exchanged(overwrites.MIB_128, overwrites.DISK)),
    ("O2", scaled("read_s", 0.4, way=overwrites.DISK, depth=16, on=overwrites.PAPER)),
    ("O3", exchanged(overwrites.TRACK, overwrites.DISK)),
    ("O3", scaled("read_s", 1.4, way=overwrites.TRACK, share=4.0)),
    ("O3", scaled("write_ms", 1.3, way=overwrites.TRACK, share=0.1)),
    ("O4", exchanged(overwrites.MIB_1, overwrites.MIB_128)),
    ("O4", scaled("read_s", 1.4, way=overwrites.MIB_1, share=4.0)),
    ("O4", scaled("write_ms", 1.3, way=overwrites.MIB_1, share=0.1)),
    ("O5", scaled("write_ms", 0.9, way=overwrites.EAGER)),
    ("O5", scaled("read_s", 0.8, way=overwrites.EAGER)),
    ("D11", scaled("reread_s", 1.1, way=files.MINI, size_kib=256)),
    ("F1", lambda rows: rows[1].update(failed=1)),
    ("F1", lambda rows: rows[2].update(refused=1)),
    ("F1", scaled("resets", 0, on=zones.CHOOSES)),
    ("F2", scaled("commands", 2.0, on=zones.FLASH)),
    ("F2", lambda rows: rows[4].update(accepted=1)),
    ("F3", scaled("overtakes", 0.1)),
    ("F3", lambda rows: rows[11].update(failed=2)),
    ("F5", lambda rows: rows[15].update(failed=1)),
    ("A7", scaled("sum_ms", 1.1, sched=zones.FIRST)),
]


class TestClaims(ClaimTests):
    claims = CLAIMS
    faults = FAULTS


def test_both_sizes_are_told_and_one_sector_decides() -> None:
    def fault(rows: list[Row]) -> None:
        for row in rows:
            if row["bytes"] == setup.BLOCK and row.get("outstanding") == 2:
                row["pos_ms"] *= 0.5

    found = CLAIMS.judged("C4", fault)
    assert found.verdict is ClaimVerdict.HOLDS
    assert "with writes of 4 KiB it does not hold: disk, two to one: -50.0" in found.outside


@pytest.mark.parametrize(
    ("of_model", "low", "high"), [(8.8, 7.875, 9.735), (0.17, 0.1485, 0.1925), (2, 1.755, 2.255)]
)
def test_the_model_is_known_to_its_digits(of_model: float, low: float, high: float) -> None:
    gate = setup.like(of_model)
    assert (gate.low, gate.high) == pytest.approx((low, high))


def test_what_the_policy_leaves_open_decides_and_the_rest_is_told() -> None:
    found = CLAIMS.judged("D1", scaled("work_s", 0.5, way=files.GROUP))
    assert found.verdict is ClaimVerdict.HOLDS
    assert "offered the group it does not hold: one process: gain: +100.0" in found.outside
    assert "to classic writes in order it holds" in found.outside
    assert "to classic writes that are joined it holds" in found.outside


def test_the_half_that_was_designed_with_decides_nothing() -> None:
    for key in ("work_s", "waited_ms", "reread_s"):
        for name in ("L1", "L3", "L4", "L5"):
            fault = of_cell(key, 9.0, allocator.OURS, kept=False)
            assert CLAIMS.judged(name, fault).verdict is ClaimVerdict.HOLDS, (name, key)


def test_halves_have_every_pair_of_drive_share_and_load() -> None:
    kept, other = ([where for _, where in allocator.points(kept=half)] for half in (True, False))
    assert len(kept) == len(other) == 27
    assert not [where for where in kept if where in other]
    for half in (kept, other):
        for one, two in (("on", "fill"), ("on", "load"), ("fill", "load")):
            pairs = {(where[one], where[two]) for where in half}
            axes = {
                "on": allocator.DRIVES,
                "fill": allocator.FILLS,
                "load": tuple(allocator.LOADS),
            }
            assert len(pairs) == len(axes[one]) * len(axes[two])
